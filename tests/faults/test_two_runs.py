"""Two runs in one folder: at one scale the second is refused, before it deletes anything; other scales go on."""

import subprocess

import pytest
from injected import CELL, ROWS, assert_healed, go, kill, process_waiting, undone, wait, waiting_at

pytestmark = pytest.mark.faults
AT_ANOTHER_SCALE = "results/quick/config.yaml"


def test_the_second_is_refused_until_the_first_ends(finished):
    undisturbed = finished.results()
    before = undone(finished, CELL)
    with waiting_at(finished):
        first = finished.start(ROWS)
        process_waiting(finished, first)
        holder = f"another run at scale tiny goes on in {finished.folder} (process {first.pid} "
        locks = sorted((finished.folder / ".snakemake/locks").iterdir())
        # By Snakemake, which cannot tell whether anybody is alive; the words before its own can.
        second = finished.run(ROWS, check=False)
        assert holder in second and "make resume" in second
        # Resuming is for what was killed: it leaves a run that goes on its lock and its files.
        assert holder in finished.make("resume", ROWS, check=False)
        assert sorted((finished.folder / ".snakemake/locks").iterdir()) == locks
        # Another scale is no obstacle. At its end Snakemake removes every lock of its own, the first run's too; and so
        # does whoever unlocks by hand.
        finished.run(AT_ANOTHER_SCALE, config=("scale=quick",))
        assert not list((finished.folder / ".snakemake").glob("locks/*"))
        assert holder in finished.run("--unlock")
        third = finished.run(ROWS, check=False)
        assert "WorkflowError" in third and third.count(holder) == 2
        assert first.poll() is None
        go(finished)
        output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output
    (finished.folder / AT_ANOTHER_SCALE).unlink()
    assert_healed(finished, undisturbed, before)


def test_two_at_the_same_moment(finished):
    undisturbed = finished.results()
    before = undone(finished, CELL)
    with waiting_at(finished):
        runs = [
            subprocess.Popen(
                finished.make_command("reproduce", ROWS), cwd=finished.folder, env=finished.environment, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )
            for _ in range(2)
        ]  # fmt: skip
        refused = wait(lambda: next((run for run in runs if run.poll() is not None), None))
        output, _ = refused.communicate(timeout=300)
        assert refused.returncode != 0
        assert "goes on in" in output or "Directory cannot be locked" in output, output
        go(finished)
        (other,) = (run for run in runs if run is not refused)
        output, _ = other.communicate(timeout=300)
    assert other.returncode == 0, output
    assert_healed(finished, undisturbed, before)


def test_a_run_that_was_killed_is_in_nobodys_way_but_by_snakemakes_lock(finished):
    undone(finished, CELL)
    with waiting_at(finished):
        first = finished.start(ROWS)
        process_waiting(finished, first)
        kill(first)
    go(finished)
    refused = finished.run(ROWS, check=False)
    assert "--unlock" in refused and "goes on in" not in refused
    assert "goes on in" not in finished.run("--unlock")
    finished.run(ROWS)
