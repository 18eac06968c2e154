"""The lock of a run: held as long as its process lives, however it ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dperm.errors import RunGoingOn
from dperm_pipeline import one_run

FULL = Path("/dev/full")
HOLD = """
import sys
from dperm_pipeline import one_run
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
    process.communicate(timeout=60)


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
    other.wait(timeout=60)
    assert one_run.going_on(tmp_path) == []
    one_run.hold("quick", tmp_path)


def test_the_command_says_what_goes_on(other, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".snakemake").symlink_to(tmp_path)
    command = [sys.executable, "-m", "dperm_pipeline.one_run"]
    busy = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert busy.returncode == 1 and busy.stderr.startswith("error: another run at scale quick")
    other.communicate("\n", timeout=60)
    idle = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert (idle.returncode, idle.stdout + idle.stderr) == (0, "")


DEAF = """
import signal, subprocess, sys
from dperm_pipeline import one_run
if sys.argv[1] == "heeds":
    one_run.heed_signals()
print(subprocess.call([sys.executable, "-c", "raise SystemExit(3)"]))
look = "import signal as s; print(s.pthread_sigmask(s.SIG_BLOCK, []), s.getsignal(s.SIGTERM), s.getsignal(s.SIGINT))"
print(subprocess.run([sys.executable, "-c", look], capture_output=True, text=True).stdout)
"""


def deaf():
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])


def test_a_run_hears_of_its_jobs_ends_and_can_be_ended_but_in_the_background_not_by_ctrl_c():
    def said(what):
        command = [sys.executable, "-c", DEAF, what]
        done = subprocess.run(command, preexec_fn=deaf, capture_output=True, text=True, check=False, timeout=60)
        return done.stdout.split("\n")[:2]

    # A job that fails, and what it inherits.
    assert said("heeds") == ["3", f"set() {signal.SIG_DFL!s} {signal.SIG_IGN!s}"]
    assert said("does not") == ["0", f"{{{signal.SIGTERM!r}}} {signal.SIG_IGN!s} {signal.SIG_IGN!s}"]


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
