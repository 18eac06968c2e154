"""A cell that takes more memory than there is: by malloc's answer, and by the kernel's kill; the others go on."""

import os
from pathlib import Path

import pytest

# Of one cell, before it computes anything: too much within its own limit, and within a control group that kills.
GREEDY = """
    if cell["mechanism"] == "output":
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
        np.ones(2**30)
    if cell["mechanism"] == "cms11":
        import os, pathlib, signal
        group = {group!r}
        if group is None:
            os.kill(os.getpid(), signal.SIGKILL)
        pathlib.Path(group, "cgroup.procs").write_text(str(os.getpid()))
        np.ones(2**28)
"""
CELL = "results/tiny/kifer2012-output/cells/{}/breast-cancer_epsilon-1.parquet"
GREEDY_CELLS = [CELL.format("output.tight.add-remove"), CELL.format("cms11.paper.add-remove")]


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
def test_out_of_memory_is_one_message_and_the_other_cells_go_on(finished, small_group):
    undisturbed = finished.results()
    for path in GREEDY_CELLS:
        (finished.folder / path).unlink()
    # An edit of what a cell does runs all cells again, so that it is seen which of them go on.
    module = "src/dperm/experiments/kifer2012/output.py"
    good = (finished.folder / module).read_text(encoding="utf-8")
    head = '    problem, settings = _problem(cell, data), cell["settings"]\n    minimum'
    greedy = GREEDY.format(group=None if small_group is None else str(small_group))
    finished.edit(module, head, greedy + head)
    said = finished.run(*GREEDY_CELLS, CELL.format("objective.tight.add-remove"), check=False)
    assert "Traceback" not in said
    # Asked for and refused: its own words.
    assert "run_cell scale=tiny experiment=kifer2012-output mechanism=output.tight.add-remove" in said
    assert "is out of memory: it held" in said
    # Killed: what its log said before it began.
    assert "mechanism=cms11.paper.add-remove scenario=breast-cancer_epsilon-1; if this is the last line, it was" in said
    assert "snakemake --set-resources run_cell:mem_mb=" in said
    assert not any((finished.folder / path).exists() for path in GREEDY_CELLS)
    assert (finished.folder / CELL.format("objective.tight.add-remove")).exists()
    (finished.folder / module).write_text(good, encoding="utf-8")
    finished.run()
    assert finished.results() == undisturbed
