"""A cell that takes more memory than there is: by malloc's answer, and by the kernel's kill; the others go on."""

import os
from pathlib import Path

import pytest
from injected import CELL, EXPERIMENT, OTHER, ROWS, assert_healed, before_script, undone

# Stands before the script: what one cell asks for is refused, and another is killed by the control group that it is in.
GREEDY = """
import os, pathlib, resource, signal
import numpy
import dperm_pipeline.tables
_write = dperm_pipeline.tables.write_all

def _greedy(frames, path, **given):
    if path == {refused!r}:
        resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
        numpy.ones(2**30)
    if path == {killed!r}:
        group = {group!r}
        if group is None:
            os.kill(os.getpid(), signal.SIGKILL)
        pathlib.Path(group, "cgroup.procs").write_text(str(os.getpid()))
        numpy.ones(2**28)
    _write(frames, path, **given)

dperm_pipeline.tables.write_all = _greedy
"""
MODEST = f"{EXPERIMENT}/cells/objective.tight.add-remove/breast-cancer_epsilon-1.parquet"


@pytest.fixture
def small_group():
    """A control group of 600 MB whose processes the kernel kills beyond; None where none can be made."""
    for base in (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")):
        group = base / f"dperm-test-{os.getpid()}"
        limit = "memory.limit_in_bytes" if base.name == "memory" else "memory.max"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(600 * 2**20))
        except OSError:
            group.rmdir()
            continue
        yield group
        group.rmdir()
        return
    yield None


@pytest.mark.faults
@pytest.mark.usefixtures("starts")
def test_out_of_memory_is_one_message_and_the_other_cells_go_on(finished, small_group):
    undisturbed = finished.results()
    before = undone(finished, CELL, OTHER, MODEST)
    group = None if small_group is None else str(small_group)
    with before_script(finished, "run_cell", GREEDY.format(refused=CELL, killed=OTHER, group=group)):
        said = finished.run(ROWS, check=False)
    assert "Traceback" not in said
    # Asked for and refused: its own words.
    assert "run_cell scale=tiny experiment=kifer2012-output mechanism=output.tight.add-remove" in said
    assert "is out of memory: it held" in said
    # Killed: what its log said before it began.
    assert "mechanism=cms11.paper.add-remove scenario=breast-cancer_epsilon-1; if this is the last line, it was" in said
    assert "snakemake --set-resources run_cell:mem_mb=" in said
    assert [(finished.folder / path).exists() for path in (CELL, OTHER, MODEST)] == [False, False, True]
    made = (finished.folder / MODEST).stat().st_mtime_ns
    finished.run(ROWS)
    assert (finished.folder / MODEST).stat().st_mtime_ns == made
    assert_healed(finished, undisturbed, before)
