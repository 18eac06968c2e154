"""Files are whole or absent: the old one survives failures, kills and concurrent readers."""

import os
import signal
import stat
import subprocess
import sys
import threading

import pytest

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
