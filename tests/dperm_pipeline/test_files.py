"""Files are whole or absent, belong to the last job that claimed them, and are never older than what came before."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dperm.errors import Superseded
from dperm_pipeline import files


def entries(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_text_arrives_in_utf8_and_nothing_else_is_left(tmp_path):
    files.write_text(tmp_path / "new" / "folder" / "a.txt", "ε = 1\n")
    assert (tmp_path / "new" / "folder" / "a.txt").read_bytes() == "ε = 1\n".encode()
    assert entries(tmp_path / "new" / "folder") == ["a.txt"]


def test_the_temporary_path_lies_beside_the_target_hidden_and_with_its_suffix(tmp_path):
    target = tmp_path / "rows.parquet"
    with files.replacing(target) as temporary:
        assert temporary.parent == target.parent  # the same file system, so the rename is atomic
        assert temporary.suffix == ".parquet"
        assert temporary.name.startswith(".")
        assert not target.exists()
        temporary.write_bytes(b"x")
    assert entries(tmp_path) == ["rows.parquet"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_failure_leaves_no_trace_and_the_old_file(tmp_path, error, old):
    target = tmp_path / "a.txt"
    if old is not None:
        target.write_bytes(old)
    with pytest.raises(error), files.replacing(target) as temporary:
        temporary.write_bytes(b"half")
        raise error
    assert entries(tmp_path) == ([] if old is None else ["a.txt"])
    assert old is None or target.read_bytes() == old


def test_a_failing_rename_leaves_no_temporary_file(tmp_path):
    target = tmp_path / "taken"
    target.mkdir()
    (target / "inside").touch()
    with pytest.raises(OSError), files.replacing(target) as temporary:
        temporary.write_bytes(b"x")
    assert entries(tmp_path) == ["taken"]
    assert entries(target) == ["inside"]


def test_a_writer_that_forgets_its_file_is_an_error_and_keeps_the_old_one(tmp_path):
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    with pytest.raises(FileNotFoundError), files.replacing(target) as temporary:
        temporary.unlink()
    assert target.read_bytes() == b"old"


def test_other_files_of_the_folder_are_never_clobbered(tmp_path):
    others = {".a.txt": b"1", ".a.tmp.txt": b"2", "a": b"3", "a.txt.part": b"4"}
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
    with files.replacing(tmp_path / "a.txt") as one, files.replacing(tmp_path / "a.txt") as two:
        assert one != two
        one.write_bytes(b"one")
        two.write_bytes(b"two")
    assert (tmp_path / "a.txt").read_bytes() == b"one"  # the outer one is renamed last
    assert {name: (tmp_path / name).read_bytes() for name in others} == others
    assert entries(tmp_path) == sorted([*others, "a.txt"])


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_permissions_follow_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        files.write_text(tmp_path / "a.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o666 & ~umask


KILLED = """
import sys, time
from dperm_pipeline import files
with files.replacing(sys.argv[1]) as temporary:
    temporary.write_text("half of the new")
    print("written", flush=True)
    time.sleep(60)
"""


def test_kill_minus_nine_in_the_middle_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with subprocess.Popen([sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "written\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert target.read_text() == "old"
    assert all(name == "a.txt" or name.startswith(".") for name in entries(tmp_path))
    files.write_text(target, "new")
    assert target.read_text() == "new"


def test_a_reader_never_sees_half_a_file(tmp_path):
    target = tmp_path / "a.txt"
    whole = ["a" * 200_000, "b" * 100_000]
    files.write_text(target, whole[0])
    seen, done = [], threading.Event()

    def watch():
        while not done.is_set():
            seen.append(target.read_text())

    reader = threading.Thread(target=watch)
    reader.start()
    try:
        for turn in range(60):
            files.write_text(target, whole[turn % 2])
    finally:
        done.set()
        reader.join()
    assert set(seen) <= set(whole)
    assert len(set(seen)) == 2


# -- claims on outputs -----------------------------------------------------------------------------------------------

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
