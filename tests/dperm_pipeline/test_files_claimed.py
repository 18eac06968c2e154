"""An output belongs to the last job that claimed it, and is never older than what came before it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dperm.errors import Superseded
from dperm_pipeline import files

# A job that has begun, and writes when it is told to: in a process of its own, as jobs are.
JOB = """
import sys
from dperm_pipeline import files
path, text = sys.argv[1:]
with files.claimed([path]):
    print("begun", flush=True)
    sys.stdin.readline()
    files.write_text(path, text)
"""
HOUR = 3600 * 10**9


def job(path, text):
    process = subprocess.Popen(
        [sys.executable, "-c", JOB, str(path), text],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "begun\n"
    return process


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_job_writes_what_it_claimed_and_leaves_nothing_else(tmp_path):
    first, second = tmp_path / "new" / "a.txt", tmp_path / "new" / "b.txt"
    with files.claimed([first, second]):
        files.write_text(first, "1")
        files.write_text(second, "2")
    assert first.read_text() + second.read_text() == "12"
    assert entries(tmp_path / "new") == ["a.txt", "b.txt"]


def test_a_failed_job_leaves_nothing(tmp_path):
    with pytest.raises(ValueError), files.claimed([tmp_path / "a.txt"]):
        raise ValueError
    assert entries(tmp_path) == []


@pytest.mark.parametrize("order", ["while the later job works", "after the later job"])
def test_an_orphan_cannot_overwrite_what_a_later_job_makes(tmp_path, order):
    path = tmp_path / "rows.parquet"
    orphan, later = job(path, "of old code"), job(path, "of new code")
    ended = (orphan, later) if order == "while the later job works" else (later, orphan)
    errors = {process: process.communicate("go\n", timeout=60)[1] for process in ended}
    assert later.returncode == 0, errors[later]
    assert orphan.returncode != 0
    assert "another job for the same file has taken its place; nothing was written" in errors[orphan]
    assert "If this run goes on, run it again when that one has ended" in errors[orphan]
    assert path.read_text() == "of new code"
    assert entries(tmp_path) == ["rows.parquet"]


def test_an_orphan_whose_claim_was_swept_away_writes_nothing(tmp_path):
    """`make resume` removes every hidden file."""
    path = tmp_path / "rows.parquet"
    orphan = job(path, "of old code")
    for hidden in tmp_path.glob(".*"):
        hidden.unlink()
    orphan.communicate("go\n", timeout=60)
    assert orphan.returncode != 0
    assert entries(tmp_path) == []


def test_a_claim_in_the_middle_of_writing_wins(tmp_path):
    path = tmp_path / "a[1].txt"
    with pytest.raises(Superseded), files.claimed([path]), files.replacing(path) as temporary:
        temporary.write_text("old")
        later = job(path, "new")
        assert not temporary.exists()
        later.communicate("go\n", timeout=60)
    assert path.read_text() == "new"
    assert entries(tmp_path) == ["a[1].txt"]


def test_a_claim_takes_what_a_killed_job_left_and_nothing_of_others(tmp_path):
    path = tmp_path / "a.b.txt"
    killed = job(path, "x")
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=60)
    left = tmp_path / f".a.b.{'0' * 16}.txt"
    others = [tmp_path / name for name in (f".a.c.{'0' * 16}.txt", f".a.b.{'0' * 16}.csv", ".a.b.other.txt", "a.txt")]
    for file in (left, *others):
        file.touch()
    with files.claimed([path]):
        files.write_text(path, "1")
    assert entries(tmp_path) == sorted([path.name, *(other.name for other in others)])


def test_what_nobody_claimed_is_written_as_ever(tmp_path):
    with files.claimed([tmp_path / "a.txt"]):
        files.write_text(tmp_path / "b.txt", "1")
    assert entries(tmp_path) == ["b.txt"]


@pytest.fixture
def dated(tmp_path, monkeypatch):
    """A folder that Snakemake runs in; returns a function that makes a file so many hours from now."""
    monkeypatch.chdir(tmp_path)

    def make(name, hours):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        time = path.stat().st_mtime_ns + int(hours * HOUR)
        os.utime(path, ns=(time, time))
        return path

    return make


def ages(paths):
    return [path.stat().st_mtime_ns for path in paths]


def test_files_from_the_future_come_to_the_present_in_their_order(dated):
    past = [dated("results/tiny/a", -3), dated("results/tiny/b", -1)]
    names = (
        "results/tiny/c",
        "resources/prepared/d",
        "benchmarks/tiny/e",
        ".snakemake/dperm-run-tiny.lock",
        "own/f.csv",
    )
    future = [dated(name, 2 + k) for k, name in enumerate(names)]
    before = ages(past)
    assert files.undo_future_times(["own/f.csv"]) == len(names)
    assert ages(past) == before
    times = ages(future)
    assert times == sorted(set(times)) and times[0] > before[-1]
    # What is made from now on is newer.
    time.sleep(0.01)
    assert dated("results/tiny/later", 0).stat().st_mtime_ns > times[-1]
    assert files.undo_future_times(["own/f.csv"]) == 0


def test_equal_times_stay_equal(dated):
    both = [dated("results/a", 2), dated("results/b", 2)]
    os.utime(both[1], ns=(both[0].stat().st_mtime_ns,) * 2)
    files.undo_future_times()
    assert len(set(ages(both))) == 1


@pytest.mark.parametrize("earlier", ["results/input", ".snakemake/dperm-run-tiny.lock"])
def test_a_job_settles_files_if_the_clock_went_back(dated, earlier):
    """Since its input was made, or since its run began."""
    ahead, other = dated(earlier, 2), dated("results/other", 1)
    with files.claimed(["results/output"], ["results/input"]):
        files.write_text("results/output", "x")
    time.sleep(0.01)
    assert max(ages([ahead, other])) < dated("results/later", 0).stat().st_mtime_ns


def test_a_job_leaves_times_alone_else(dated):
    made, other = dated("results/input", -1), dated("results/other", 1)
    before = ages([made, other])
    with files.claimed(["results/output"], ["results/input", "results/missing"]):
        files.write_text("results/output", "x")
    assert ages([made, other]) == before


def test_a_full_disk_is_reported_with_the_name_of_the_file(tmp_path):
    with pytest.raises(OSError) as caught, files.replacing(tmp_path / "a.txt"):
        raise OSError(28, "No space left on device")
    assert caught.value.filename == str(tmp_path / "a.txt")
