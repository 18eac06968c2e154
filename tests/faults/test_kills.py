"""kill -9 of Snakemake, of a job, of both: the rest goes on, and a resumed run gives the same bytes."""

import os
import signal
from pathlib import Path

import pytest
from injected import (
    CELL,
    OTHER,
    ROWS,
    assert_healed,
    ended,
    go,
    hidden,
    kill,
    process_waiting,
    undone,
    wait,
    waiting_at,
)  # fmt: skip

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("starts")]


def orphaned(project):
    """Kill Snakemake while a job of other code, with other values, waits in the middle; return that job's process."""
    with waiting_at(project, change='rows.assign(value=rows["value"] + 1)'):
        run = project.start(ROWS)
        orphan = process_waiting(project, run)
        kill(run)
    return orphan


def test_of_snakemake_alone_its_orphan_spoils_nothing(finished):
    """The orphan is of other code than the run that resumes, and ends last: what it has must not become a result."""
    undisturbed = finished.results()
    before = undone(finished, CELL)
    orphan = orphaned(finished)
    assert not ended(orphan)
    finished.make("resume", ROWS)
    assert_healed(finished, undisturbed, before)
    go(finished)
    wait(lambda: ended(orphan))
    assert_healed(finished, undisturbed, before)
    assert "Nothing to be done" in finished.run(ROWS)


def test_of_snakemake_alone_an_orphan_that_ends_first_is_not_taken_as_done(finished):
    undisturbed = finished.results()
    before = undone(finished, CELL)
    orphan = orphaned(finished)
    go(finished)
    wait(lambda: ended(orphan))
    assert (finished.folder / CELL).read_bytes() != undisturbed[CELL]
    finished.make("resume", ROWS)
    assert_healed(finished, undisturbed, before)


def test_of_one_job_the_others_go_on(finished):
    undisturbed = finished.results()
    before = undone(finished, CELL, OTHER)
    with waiting_at(finished, while_writing=True):
        run = finished.start(ROWS)
        os.kill(process_waiting(finished, run), signal.SIGKILL)
        output, _ = run.communicate(timeout=300)
    assert run.returncode != 0
    assert "died with <Signals.SIGKILL: 9>" in output or "returned non-zero exit status 137" in output, output
    assert CELL in output
    assert (finished.folder / OTHER).read_bytes() == undisturbed[OTHER]
    assert not (finished.folder / CELL).exists()
    # What it was writing is taken away by the job that takes its place; no `make resume` is needed.
    assert len(hidden(finished)) == 2
    finished.run(ROWS)
    assert_healed(finished, undisturbed, before)


def server_of(run):
    """The process that forks the jobs of a run, if there is one."""
    children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"server.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_of_what_forks_the_jobs_nothing_is_lost(finished, starts):
    """The job that runs goes on, and those after it start Python themselves."""
    undisturbed = finished.results()
    before = undone(finished, CELL, OTHER)
    with waiting_at(finished):
        run = finished.start(ROWS, cores=1)
        job = process_waiting(finished, run)
        servers = server_of(run)
        assert len(servers) == (starts == "forked")
        for server in servers:
            os.kill(server, signal.SIGKILL)
            wait(lambda server=server: ended(server))
        assert not ended(job)
        go(finished)
        output, _ = run.communicate(timeout=300)
    assert run.returncode == 0, output
    assert_healed(finished, undisturbed, before)


def test_of_everything_at_once(finished):
    undisturbed = finished.results()
    before = undone(finished, CELL, OTHER)
    with waiting_at(finished, while_writing=True):
        run = finished.start(ROWS)
        process_waiting(finished, run)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate(timeout=60)
    assert not (finished.folder / CELL).exists()
    finished.make("resume", ROWS)
    assert_healed(finished, undisturbed, before)
