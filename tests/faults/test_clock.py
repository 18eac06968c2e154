"""Clocks that jump, and workers whose clock is hours off: Snakemake goes by times, results must not."""

import os

import pytest
from injected import CELL, ROWS, assert_healed, before_script, go, hidden, process_waiting, undone, waiting_at

pytestmark = pytest.mark.faults
HOURS = 2 * 3600 * 10**9
# What a job writes bears the time of a clock that is off.
WORKER = """
import os
import dperm_pipeline.tables
_write = dperm_pipeline.tables.write_all

def _off(frames, path, **given):
    _write(frames, path, **given)
    time = os.stat(path).st_mtime_ns + {off}
    os.utime(path, ns=(time, time))

dperm_pipeline.tables.write_all = _off
"""


def shift(project, by, *, but=()):
    """Every file that was made bears a time of a clock that was off; those that people edit do not."""
    for folder in ("results", "resources/prepared", "benchmarks", "logs", ".snakemake"):
        for path in (path for path in (project.folder / folder).rglob("*") if not {*but} & {*path.parts}):
            time = path.stat().st_mtime_ns + by
            os.utime(path, ns=(time, time))


@pytest.mark.parametrize("off", [-HOURS, HOURS], ids=["behind", "ahead"])
def test_a_worker_whose_clock_is_off(finished, off):
    """Behind, its output would be older than its input; ahead, what is made of its output would be."""
    undisturbed = finished.results()
    before = undone(finished, CELL)
    with before_script(finished, "run_cell", WORKER.format(off=off)):
        finished.run(ROWS)
        assert_healed(finished, undisturbed, before)
        assert finished.jobs(ROWS) == []


def test_the_clock_goes_back_in_a_run(finished):
    """While a job is at work: what it is made from seems to be made in the future, as seen from when it ends."""
    undisturbed = finished.results()
    undone(finished, CELL)
    with waiting_at(finished):
        run = finished.start(ROWS)
        process_waiting(finished, run)
        shift(finished, HOURS)
        go(finished)
        output, _ = run.communicate(timeout=300)
    assert run.returncode == 0, output
    assert finished.results() == undisturbed
    assert finished.jobs(ROWS) == []


def test_the_clock_goes_back_between_runs(finished):
    undisturbed = finished.results()
    shift(finished, HOURS)
    undone(finished, CELL)
    finished.run(ROWS)
    assert finished.results() == undisturbed
    assert finished.jobs(ROWS) == []


def test_nothing_stale_survives_a_clock_that_went_back(finished):
    """What was made while the clock was ahead looks newer than what is made, or edited, after it was put right."""
    # As if it had been put ahead after the first jobs.
    shift(finished, HOURS, but=("baselines", "prepared"))
    assert finished.jobs() == []
    catalogue = finished.folder / "resources/claims/kifer2012.yaml"
    catalogue.write_text(catalogue.read_text(encoding="utf-8") + "# An edit.\n", encoding="utf-8")
    judged = "judge the claims at scale tiny"
    assert judged in finished.jobs() and judged not in finished.jobs("--rerun-triggers", "mtime")
    # A cell of other code is made, and the run ends before its rows are collected.
    finished.edit("src/dperm/mechanisms/output.py", "import math", "import math\n\nUNUSED = 1")
    old = (finished.folder / CELL).read_bytes()
    finished.run(CELL)
    assert (finished.folder / CELL).read_bytes() != old
    (left,) = finished.jobs(ROWS)
    assert left == "kifer2012-output: collect rows"


def test_nothing_half_done_is_taken_as_done_after_a_jump(finished):
    """A kill, and the clock goes back before the run is resumed."""
    undisturbed = finished.results()
    undone(finished, CELL)
    with waiting_at(finished, while_writing=True):
        run = finished.start(ROWS)
        process_waiting(finished, run)
        os.killpg(run.pid, 9)
        run.communicate(timeout=60)
    go(finished)
    shift(finished, HOURS)
    finished.make("resume", ROWS)
    assert finished.results() == undisturbed
    assert hidden(finished) == []
