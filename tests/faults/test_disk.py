"""A disk that is full, or may not be written: said at once, nothing lost, and healed as soon as the disk is."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
import served
from injected import CELL, OTHER, ROWS, assert_healed, go, process_waiting, undone, waiting_at

from dperm import Client
from dperm.errors import ServiceError

pytestmark = pytest.mark.faults
PREPARED = "resources/prepared/breast-cancer.parquet"


def _mount(*arguments):
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", autouse=True)
def mounts(tmp_path_factory):
    """Skip where nothing can be mounted; that is a failure where DPERM_NEED_MOUNTS is set."""
    place = tmp_path_factory.mktemp("mount")
    tried = _mount("-t", "tmpfs", "-o", "size=64k", "tmpfs", place)
    if tried.returncode:
        reason = f"a disk can be mounted by root alone, on Linux: {tried.stderr.strip() or sys.platform}"
        assert not os.environ.get("DPERM_NEED_MOUNTS"), reason
        pytest.skip(reason)
    subprocess.run(["umount", place], check=True)


@contextmanager
def mounted(folder, *arguments):
    done = _mount(*arguments, folder)
    assert done.returncode == 0, done.stderr
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def full(folder, *, but=0):
    """A small disk of its own in the place of a folder, with what is in it, and room for so many bytes more.

    When it is over, its space is free: what was written since is kept.
    """
    aside = folder.with_name(folder.name + ".aside")
    shutil.copytree(folder, aside, symlinks=True)
    with mounted(folder, "-t", "tmpfs", "-o", "size=16m", "tmpfs"):
        shutil.copytree(aside, folder, symlinks=True, dirs_exist_ok=True)
        fill(folder, but=but)
        yield
        (folder / "filler").unlink()
        shutil.rmtree(aside)
        shutil.copytree(folder, aside, symlinks=True)
    shutil.rmtree(folder)
    aside.rename(folder)


def fill(folder, *, but=0):
    with (folder / "filler").open("ab", buffering=0) as file:
        while (left := space(folder) - but) > 0:
            file.write(bytes(min(left, 2**20)))


def space(folder):
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


@contextmanager
def read_only(folder):
    """Root ignores modes, so a folder is mounted on itself, to be read only."""
    with mounted(folder, "--bind", folder):
        done = _mount("-o", "remount,bind,ro", folder)
        assert done.returncode == 0, done.stderr
        yield


def assert_said(output, *words):
    """In one message, without a traceback."""
    for text in words:
        assert text in output, output
    assert "Traceback" not in output, output


def run_while_filling(project, folder):
    """A run, whose cell is about to write when the disk under a folder becomes full."""
    with full(project.folder / folder, but=2**20), waiting_at(project):
        run = project.start(ROWS)
        process_waiting(project, run)
        fill(project.folder / folder)
        go(project)
        output, _ = run.communicate(timeout=300)
        made = (project.folder / CELL).exists()
    return run.returncode, output, made


@pytest.mark.usefixtures("starts")
def test_full_when_a_result_is_written(finished):
    undisturbed = finished.results()
    before = undone(finished, CELL)
    status, output, made = run_while_filling(finished, "results")
    assert status != 0 and not made
    assert_said(output, f"{CELL}: ", "No space left on device; free some space and run again: what is finished is kept")
    finished.run(ROWS)
    assert_healed(finished, undisturbed, before)


def test_full_when_a_job_begins(finished):
    """Said before its hours of work, not after; by every job, and nothing is half-done."""
    undisturbed = finished.results()
    before = undone(finished, CELL, OTHER)
    with full(finished.folder / "results"):
        output = finished.run(ROWS, check=False)
    assert_said(
        output, f"warning: {finished.folder}/results/tiny cannot be written (No space left on device); free some"
    )
    finished.run(ROWS)
    assert_healed(finished, undisturbed, before)


FULL = full, "cannot be written (No space left on device); free some space"
READ_ONLY = read_only, "cannot be written (Read-only file system); make it writable"


# A full disk of results: the tests above.
@pytest.mark.parametrize(
    ("folders", "fault", "said"),
    [
        (("logs", "benchmarks", ".snakemake"), *FULL),
        (("results", "logs", "benchmarks", ".snakemake"), *READ_ONLY),
    ],
    ids=["full", "read only"],
)
def test_a_folder_that_cannot_be_written(finished, folders, fault, said):
    """One folder after the other; then all heals at once, whatever the failed runs have left."""
    undisturbed = finished.results()
    before = undone(finished, CELL)
    for folder in folders:
        with fault(finished.folder / folder):
            output = finished.run(ROWS, check=False)
        assert_said(output, f"{finished.folder}/{folder}", said)
        assert not (finished.folder / CELL).exists()
    finished.run(ROWS)
    assert_healed(finished, undisturbed, before)


def test_a_log_for_which_there_is_no_room_costs_no_result(finished):
    """The disk of the logs fills up while the run goes on."""
    undisturbed = finished.results()
    before = undone(finished, CELL)
    status, output, _ = run_while_filling(finished, "logs")
    assert status == 0, output
    assert_said(output)
    assert_healed(finished, undisturbed, before)


def test_prepared_data_that_may_only_be_read_are_enough_until_they_must_be_made(finished):
    undisturbed = finished.results()
    before = undone(finished, CELL)
    with read_only(finished.folder / "resources"):
        finished.run(ROWS)
    assert_healed(finished, undisturbed, before)
    undone(finished, PREPARED, CELL)
    with read_only(finished.folder / "resources"):
        output = finished.run(ROWS, check=False)
    assert_said(output, f"{finished.folder}/resources/prepared cannot be written (Read-only file system)")
    finished.run(ROWS)
    assert finished.results() == undisturbed


@pytest.mark.parametrize("folder", [".snakemake", "benchmarks"])
def test_full_where_snakemake_keeps_its_books(finished, folder):
    """While the run goes on. It may end as it likes, but a resumed one is right."""
    undisturbed = finished.results()
    before = undone(finished, CELL)
    run_while_filling(finished, folder)
    finished.make("resume", ROWS)
    assert_healed(finished, undisturbed, before)


def test_full_while_data_are_prepared(finished):
    undisturbed = finished.results()
    undone(finished, PREPARED, CELL)
    with full(finished.folder / "resources", but=2**16 + 4096):
        output = finished.run(ROWS, check=False)
    assert_said(output, "No space left on device; free some space and run again: what is finished is kept")
    finished.run(ROWS)
    assert finished.results() == undisturbed


def test_full_under_the_ledger_of_a_server(tmp_path):
    """When the server begins, and when an answer is to be written: none leaves, none is lost, and it heals."""
    folder, rows = tmp_path / "disk", [[0.1, 0.2], [-0.3, 0.1]]
    folder.mkdir()
    file, ledger = served.packed(tmp_path, "StableERM"), f"sqlite:///{folder}/ledger"
    with mounted(folder, "-t", "tmpfs", "-o", "size=4m", "tmpfs"):
        one = served.service(file, ledger)
        key = served.key(one, rate=10**9)
        one.serving.close()
        # There is no room for SQLite's own files.
        fill(folder)
        command = [
            sys.executable,
            "-m",
            "dperm.cli",
            "serve",
            file,
            "--budget-db",
            ledger,
            "--port",
            "0",
            "--workers",
            "1",
        ]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            said = server.stderr.readline()
            assert (
                said
                == f"dperm: the ledger cannot be used: {ledger}: disk I/O error; nothing was answered; trying again\n"
            )
            (folder / "filler").unlink()
            url = server.stdout.readline().split(" on ")[1].strip()
            client = Client(url, key, retries=12)
            first = client.predict_details(rows)
            assert first["charged"] == 2
            fill(folder)
            with pytest.raises(ServiceError, match="the ledger cannot be written: nothing was answered"):
                Client(url, key, retries=0).predict([[0.5, 0.5]])
            (folder / "filler").unlink()
            assert client.predict_details(rows) == first | {"charged": 0, "repeated": 2}
            # What was not answered was not charged: here charge and answer are one write.
            assert client.budget()["answered"] == 2
        finally:
            server.terminate()
            assert "Traceback" not in server.communicate()[1]
