"""profiles/slurm on a real Slurm with accounting, by sacct and by squeue; what one sees of a job that goes wrong."""

import shutil
import subprocess

import pytest
from slurm_runs import EXPERIMENT, IMPATIENT, TARGETS, Project, end, slurm_jobs, start

pytestmark = pytest.mark.cluster
BY_SACCT = ("--slurm-status-command", "sacct", *IMPATIENT)


def test_a_failure_is_told_with_its_place_and_mended(slurm_with_accounting, local, tmp_path):
    project = Project(tmp_path / "project")
    shutil.copytree(local.folder, project.folder, symlinks=True)
    rows = project.folder / TARGETS[0]
    rows.unlink()
    script = "workflow/scripts/collect_rows.py"
    intact = (project.folder / script).read_text(encoding="utf-8")
    line = next(line for line in intact.splitlines() if line.startswith("with logged("))
    project.edit(script, line, f'{line}\n    from dperm.errors import DpermError; raise DpermError("wrong on purpose")')

    output = end(start(project, "slurm", "--retries", "0", *BY_SACCT, targets=TARGETS[:1]), status=1)
    (failed,) = slurm_jobs()
    assert f"SLURM-job '{failed.number}' failed, SLURM status is: 'FAILED'" in output
    assert "error: wrong on purpose" in output
    # Where to read on: the job's own log, and Slurm's.
    assert f"logs/tiny/{EXPERIMENT}/collect.log" in output
    assert f".snakemake/slurm_logs/rule_collect_rows/tiny_{EXPERIMENT}/{failed.number}.log" in output
    assert not rows.exists()

    (project.folder / script).write_text(intact, encoding="utf-8")
    output = end(start(project, "slurm", *IMPATIENT, targets=TARGETS[:1]))
    assert rows.read_bytes() == (local.folder / TARGETS[0]).read_bytes()
    command = ["sacct", "-X", "--noheader", "--parsable2", "--format=JobIDRaw,State,JobName"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    states = [line.split("|") for line in said]
    assert [state for _, state, _ in states] == ["FAILED", "COMPLETED"]
    assert all(name.startswith("dperm_") for _, _, name in states)
