"""A whole run under random kills ends in the bytes of an undisturbed one; `make test-kills SCALE=quick`."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from project_copies import copy_whole

pytestmark = pytest.mark.kills

SCALE = os.environ.get("SCALE", "quick")
# Seconds between two kills.
EVERY = 20
# So many in a row without a new result: the run would never end.
IN_VAIN = 20


def kill(way: Callable[[int, int], None], whom: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        way(whom, signal.SIGKILL)


def members(group: int) -> list[int]:
    """Return the processes of a group: Snakemake, what forks its jobs, and the jobs."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # Behind the name in brackets: state, parent, group.
            if int(stat.read_text().rpartition(")")[2].split()[2]) == group:
                found.append(int(stat.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return sorted(found)


def broken_off(project, pause: float, rng: random.Random) -> bool:
    """Resume the run; kill one process of it, and then all; return whether it ended before that."""
    command, quiet = project.make_command("resume", scale=SCALE), subprocess.DEVNULL
    run = subprocess.Popen(
        command, cwd=project.folder, env=project.environment, stdout=quiet, stderr=quiet, start_new_session=True
    )
    try:
        try:
            return run.wait(rng.uniform(0, pause)) != 0
        except subprocess.TimeoutExpired:
            kill(os.kill, rng.choice(members(run.pid)))
        try:
            return run.wait(rng.uniform(0, pause)) != 0
        except subprocess.TimeoutExpired:
            return True
    finally:
        # Jobs of a Snakemake that was killed are in its group still.
        kill(os.killpg, run.pid)
        run.wait()


@pytest.mark.limit(2800)
def test_whatever_is_killed_every_twenty_seconds(tmp_path):
    undisturbed, killed = copy_whole(tmp_path / "undisturbed"), copy_whole(tmp_path / "killed")
    undisturbed.run(config=(f"scale={SCALE}",), timeout=1350)
    expected = undisturbed.results()
    assert len(expected) > 100
    shutil.rmtree(undisturbed.folder)
    rng, kills, vain, found = random.Random(0), 0, 0, 0
    while broken_off(killed, EVERY, rng):
        kills += 1
        before, found = found, len(killed.results())
        vain = vain + 1 if found == before else 0
        assert vain < IN_VAIN, f"{vain} kills in a row without a new result, after {kills}"
    assert kills > 0 and killed.results() == expected
