"""A real server: its workers die, its watcher dies, signals come; what was answered stays answered."""

import os
import signal
import socket
import sqlite3
import sys
import time

import pytest
import served

from dperm import Client
from dperm.cli import main
from dperm.errors import ServiceError


@pytest.mark.slow
def test_whoever_dies_what_was_answered_stays(tmp_path):
    file, ledger = served.packed(tmp_path, "StableERM"), f"sqlite:///{tmp_path / 'ledger'}"
    key = served.key(served.service(file, ledger), share=10)
    process, url = served.started(file, ledger)
    try:
        client, rows = Client(url, key), [[0.1, 0.2], [-0.3, 0.1], [0.5, 0.5]]
        first = client.predict_details(rows)
        assert first["charged"] == 3
        both = served.workers(process)
        assert len(both) == 2
        os.kill(both[0], signal.SIGKILL)
        # Whichever worker is left, or begins anew, has them from the ledger.
        again = [client.predict_details(rows) for _ in range(5)]
        assert all(one == first | {"charged": 0, "repeated": 3} for one in again)
        while both[0] in served.workers(process) or len(served.workers(process)) < 2:
            time.sleep(0.05)
        both = served.workers(process)
        process.kill()
        assert process.wait(10) == -signal.SIGKILL and served.gone(both)
    finally:
        process.kill()
        process.communicate()
    process, url = served.started(file, ledger, "--workers", "1")
    try:
        assert Client(url, key).predict_details(rows) == first | {"charged": 0, "repeated": 3}
        assert Client(url, key).budget()["yours"] == {"share": 10, "used": 3, "remaining": 7}
        one = served.workers(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0 and served.gone(one)
    finally:
        process.kill()
        words = process.communicate()[1]
    assert words == ""
    # A ledger of other terms: no worker can begin, and the watcher says so once and ends.
    other = served.packed(tmp_path, "StableERM", queries=7)
    process, words = served.started(other, ledger)
    assert process.returncode == 2 and "is the journal of other answers" in words and "Traceback" not in words


def test_an_address_that_is_taken_and_a_file_that_is_none(tmp_path, capsys):
    file = served.packed(tmp_path, "StableERM")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(file), "--budget-db", str(tmp_path / "ledger"), "--port", port]) == 2
    assert "cannot listen there" in capsys.readouterr().err
    file.write_bytes(b"")
    assert main(["serve", str(file), "--budget-db", str(tmp_path / "ledger")]) == 2
    assert "is no model file of dperm" in capsys.readouterr().err
    assert not (tmp_path / "ledger").exists()


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_ledger_that_was_put_back_or_deleted_ends_the_server(tmp_path, workers):
    """Nobody goes on by himself, not even by a new worker: that would be a second budget."""
    file, path = served.packed(tmp_path, "StableERM"), tmp_path / "ledger"
    key = served.key(served.service(file, f"sqlite:///{path}"))
    process, url = served.started(file, str(path), "--workers", workers)
    try:
        client = Client(url, key, retries=0)
        copy = tmp_path / "copy"
        with sqlite3.connect(path) as before, sqlite3.connect(copy) as backup:
            before.backup(backup)
        assert client.predict_details([[0.1, 0.2]])["charged"] == 1
        for rest in ("-wal", "-shm"):
            (tmp_path / f"ledger{rest}").unlink(missing_ok=True)
        copy.replace(path)
        with pytest.raises(ServiceError, match="nothing was answered"):
            client.predict([[0.1, 0.2]])
        assert process.wait(60) == 2
    finally:
        process.kill()
        process.communicate()
    # Deleted while it runs.
    process, url = served.started(file, str(path), "--workers", workers)
    try:
        for left in tmp_path.glob("ledger*"):
            left.unlink()
        with pytest.raises(ServiceError, match="nothing was answered"):
            Client(url, key, retries=0).predict([[0.1, 0.2]])
        assert process.wait(60) == 2 and not path.exists()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_no_module_of_the_folder_is_run(tmp_path, monkeypatch):
    file = served.packed(tmp_path, "StableERM")
    (tmp_path / "uvicorn.py").write_text("raise SystemExit('run')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    process, url = served.started(file, "ledger", "--workers", "1")
    try:
        assert url.startswith("http"), url
        process.terminate()
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the server is for Linux")
