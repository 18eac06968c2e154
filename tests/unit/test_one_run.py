"""The lock of a run: held as long as its process lives, however it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dperm import one_run
from dperm.errors import RunGoingOn

FULL = Path("/dev/full")
HOLD = """
import sys
from dperm import one_run
one_run.hold(sys.argv[1], sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the lock of scale quick."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, "quick", str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_run_is_refused_and_told_what_to_do(other, tmp_path):
    with pytest.raises(RunGoingOn) as refused:
        one_run.hold("quick", tmp_path)
    for words in ("scale quick", f"process {other.pid} ", "wait until it ends", "make resume"):
        assert words in str(refused.value)
    assert one_run.going_on(tmp_path) == [str(refused.value)]


def test_another_scale_is_not_in_the_way(other, tmp_path):
    one_run.hold("tiny", tmp_path)
    one_run.hold("tiny", tmp_path)
    assert len(one_run.going_on(tmp_path)) == 1  # one's own is not another's


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_holds_nothing(other, tmp_path, how):
    os.kill(other.pid, how)
    other.wait()
    assert one_run.going_on(tmp_path) == []
    one_run.hold("quick", tmp_path)


def test_the_command_says_what_goes_on(other, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".snakemake").symlink_to(tmp_path)
    command = [sys.executable, "-m", "dperm.one_run"]
    busy = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert busy.returncode == 1 and busy.stderr.startswith("error: another run at scale quick")
    other.communicate("\n")
    idle = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (idle.returncode, idle.stdout + idle.stderr) == (0, "")


def test_without_locks_one_is_warned(tmp_path, monkeypatch, capsys):
    def none(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(one_run.fcntl, "flock", none)
    one_run.hold("paper", tmp_path)
    assert "No locks available" in capsys.readouterr().err


def test_a_folder_is_fit_to_write_on_even_if_it_is_not_there_yet(tmp_path):
    assert one_run.unwritable(tmp_path / "new" / "folder") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not FULL.exists(), reason="Linux only")
def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(one_run.tempfile, "TemporaryFile", lambda dir: FULL.open("wb"))
    why = one_run.unwritable(tmp_path)
    assert str(tmp_path) in why and "No space left" in why and "free some space" in why
