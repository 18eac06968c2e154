"""One experiment through profiles/slurm on a real Slurm without accounting; jobs are lost on the way."""

import re
import shutil
import subprocess
import time

import one_node
import pytest
from slurm_runs import IMPATIENT, TARGETS, Project, SlurmJob, copy_project, end, parquet, slurm_jobs, start

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def run(slurm, tmp_path_factory):
    """A run in which one cell is cancelled and one job is given too little memory: project, output, Slurm's jobs."""
    project = copy_project(tmp_path_factory.mktemp("cluster") / "project")
    if one_node.enforces_memory():
        # Not enough to start Python; the second attempt has the usual.
        _give(project, "collect_rows", "64 * 16")
    process = start(project, "slurm", *IMPATIENT)
    try:
        cancelled = _cancel_a_cell(process)
        output = end(process)
    finally:
        process.kill()
    return project, output, slurm_jobs(), cancelled


def _give(project: Project, rule: str, megabytes: str) -> None:
    profile = project.folder / "profiles/slurm/config.yaml"
    given = rf"\g<1>{megabytes} ** (attempt - 1)"
    text, count = re.subn(rf'(  {rule}: {{mem_mb: )"\?megabytes\(\d+\)"', given, profile.read_text(encoding="utf-8"))
    assert count == 1
    profile.write_text(text, encoding="utf-8")


def _cancel_a_cell(process: subprocess.Popen) -> SlurmJob:
    while process.poll() is None:
        for job in slurm_jobs():
            if job.state == "RUNNING" and job.comment.startswith("rule_run_cell"):
                subprocess.run(["scancel", str(job.number)], check=True)
                return job
        time.sleep(0.2)
    raise AssertionError(f"no cell was ever seen running: {process.communicate(timeout=60)[0]}")


def test_the_bytes_of_a_local_run(run, local):
    there = parquet(run[0])
    assert there == parquet(local)
    assert len(there) >= 10, sorted(there)


def test_a_cancelled_job_is_submitted_again_with_twice_the_memory(run):
    _, output, jobs, cancelled = run
    first, second = [job for job in jobs if job.comment == cancelled.comment]
    assert (first.number, first.state) == (cancelled.number, "CANCELLED")
    assert second.state == "COMPLETED"
    assert second.megabytes == 2 * first.megabytes
    assert f"SLURM-job '{cancelled.number}' failed, SLURM status is: 'CANCELLED'" in output
    assert "Trying to restart job" in output


def test_a_job_out_of_memory_is_submitted_again_with_more(run):
    if not one_node.enforces_memory():
        pytest.skip("this machine has no memory cgroup (version 1), without which Slurm 22.05 limits no job's memory")
    _, output, jobs, _ = run
    first, second = [job for job in jobs if job.comment.startswith("rule_collect_rows")]
    assert (first.state, first.megabytes) == ("OUT_OF_MEMORY", 64)
    assert (second.state, second.megabytes) == ("COMPLETED", 1024)
    assert f"SLURM-job '{first.number}' failed, SLURM status is: 'OUT_OF_MEMORY'" in output


def test_attacks_go_as_one_job_and_every_job_asks_for_what_its_rule_declares(run):
    _, _, jobs, _ = run
    (audits,) = [job for job in jobs if job.comment == "rule_audits_run_audit"]
    assert audits.cores == 2
    cells = [job for job in jobs if job.comment.startswith("rule_run_cell")]
    assert {job.cores for job in cells} == {1}
    # A cell each, and one of them twice.
    assert len(cells) == len({job.comment for job in cells}) + 1


def test_logs_of_successful_jobs_are_gone_and_those_of_failed_ones_stay(run):
    project, _, jobs, _ = run
    logs = {int(path.stem) for path in (project.folder / ".snakemake/slurm_logs").rglob("*.log")}
    assert logs == {job.number for job in jobs if job.state != "COMPLETED"}


def test_any_scheduler_by_three_commands(slurm, local, tmp_path):
    project = Project(tmp_path / "project")
    shutil.copytree(local.folder, project.folder, symlinks=True)
    rows = project.folder / TARGETS[0]
    rows.unlink()
    # The profile takes its numbers from that of Slurm.
    if one_node.enforces_memory():
        _give(project, "collect_rows", "64 * 16")
    before = {job.number for job in slurm_jobs()}
    fast = ("--seconds-between-status-checks", "2")
    output = end(start(project, "cluster-generic", *fast, targets=TARGETS[:1]))
    *lost, job = [job for job in slurm_jobs() if job.number not in before]
    assert [(job.state, job.megabytes) for job in lost] == [("OUT_OF_MEMORY", 64)] * one_node.enforces_memory()
    assert job.state == "COMPLETED"
    assert f"external jobid '{job.number}'" in output
    assert rows.read_bytes() == (local.folder / TARGETS[0]).read_bytes()


def test_the_status_of_a_generic_job(run):
    _, _, jobs, cancelled = run
    done = next(job for job in jobs if job.state == "COMPLETED")
    assert [_status(run[0], number) for number in (done.number, cancelled.number, 999999)] == [
        "success", "failed", "failed",
    ]  # fmt: skip


def _status(project: Project, number: int) -> str:
    command = ["sh", "profiles/cluster-generic/status.sh", str(number)]
    return subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=True).stdout.strip()
