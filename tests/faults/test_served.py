"""The service when its processes are killed, its disk is full, clocks jump, or two servers have one ledger.

Always: what is on disk covers every answer that anybody has; a row has one answer for ever; no budget is overdrawn. The
ledger is read here as its file is, by SQLite alone.
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import injected
import pytest
import served

from dperm import Client
from dperm.errors import BudgetExhausted

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(sys.platform != "linux", reason="the server is for Linux"),
    pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning"),
]
WORKERS = Path(__file__).with_name("served_workers.py")
# One whose charge and answers are one write, and one whose charge is written before its learners run.
KILLS = {"StableERM": 120, "SoftMajority": 72}


def on_disk(ledger):
    """Answers written off, the names of rows that have one, and new rows of all keys."""
    with contextlib.closing(sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)) as connection:
        lines = [text for (text,) in connection.execute("SELECT line FROM dperm_ledger ORDER BY number")][1:]
    spent, names, used = 0, [], 0
    for kind, *said in (json.loads(line[: line.rindex(" ")]) for line in lines):
        if kind == "spent":
            assert said[0] > spent
            spent = said[0]
        elif kind == "told":
            names += [name for name, _ in said[1]]
        elif kind == "used":
            used += said[1]
    assert len(set(names)) == len(names)
    return spent, len(names), used


class Analysts:
    """Threads that ask, new rows and old ones, and know what they were told."""

    def __init__(self, urls, keys):
        self.told, self.charged, self.failed, self.over = {}, 0, [], False
        self._lock, self._end = threading.Lock(), threading.Event()
        self._threads = [
            threading.Thread(target=self._ask, args=(Client(url, key, timeout=60, retries=12), k))
            for k, (url, key) in enumerate(zip(urls, keys, strict=True))
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        for thread in self._threads:
            thread.join()
        assert self.failed == []

    def _ask(self, client, k):
        draw = random.Random(k)
        try:
            while not self._end.is_set():
                with self._lock:
                    known = list(self.told)
                rows = [draw.choice(known) for _ in range(draw.randrange(3)) if known]
                rows += [(draw.uniform(-0.6, 0.6), draw.uniform(-0.6, 0.6)) for _ in range(draw.randrange(3))]
                try:
                    found = client.predict_details(rows or [(0.0, 0.0)])
                except BudgetExhausted:
                    self.over = True
                    continue
                self._note(rows or [(0.0, 0.0)], found)
        except Exception as error:
            self.failed.append(error)

    def _note(self, rows, found):
        with self._lock:
            self.charged += found["charged"]
            for row, answer in zip(rows, found["answers"], strict=True):
                assert self.told.setdefault(row, answer) == answer, row

    def same(self, ask):
        """Everything that was told is told again."""
        rows = list(self.told)
        for at in range(0, len(rows), 500):
            assert list(ask(rows[at : at + 500])) == [self.told[row] for row in rows[at : at + 500]]

    def covered(self, ledger):
        """All that was told until now is on disk now, and is charged there."""
        with self._lock:
            told = len(self.told)
        spent, named, _ = on_disk(ledger)
        assert told <= named <= spent
        return spent


@pytest.mark.limit(600)
@pytest.mark.parametrize("name", KILLS)
def test_workers_are_killed_at_random_points(name, tmp_path):
    """Two at once on one ledger, under clocks that jump; one of them, or both, at any moment from their first on."""
    ledger = tmp_path / "ledger"
    file = served.packed(tmp_path, name, queries=100_000)
    keys = [served.key(served.service(file, f"sqlite:///{ledger}"), f"{k}", rate=10**9) for k in range(3)]
    words = [sys.executable, "-W", "ignore", WORKERS, file, f"sqlite:///{ledger}"]
    zygote = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    draw, killed = random.Random(0), 0

    def start():
        zygote.stdin.write("\n")
        zygote.stdin.flush()
        return int(zygote.stdout.readline())

    try:
        url = f"http://127.0.0.1:{int(zygote.stdout.readline())}"
        both = [start(), start()]
        with Analysts([url] * 3, keys) as analysts:
            # A busy machine answers less between two kills: then there are more of them.
            while killed < KILLS[name] or len(analysts.told) <= KILLS[name]:
                time.sleep(draw.uniform(0.0, 0.6))
                for k in draw.choice([[0], [1], [0, 1]]):
                    os.kill(both[k], signal.SIGKILL)
                    both[k], killed = start(), killed + 1
                analysts.covered(ledger)
    finally:
        zygote.communicate()
    spent, _, used = on_disk(ledger)
    assert used == spent
    # A row whose answer was lost after its charge is charged again when it is asked again.
    lost = 0 if name == "StableERM" else 3 * 3 * killed
    assert analysts.charged <= used <= analysts.charged + lost
    one = served.service(file, f"sqlite:///{ledger}")
    analysts.same(lambda rows: one.fitted.predict([list(row) for row in rows]).tolist())
    assert on_disk(ledger)[0] == spent == one.ledger.answered


@pytest.mark.limit(600)
def test_two_servers_on_one_ledger_are_killed_and_spend_one_budget(tmp_path):
    """As a user starts them; of each the worker is killed, then all of it, and it is started anew."""
    ledger, most = tmp_path / "ledger", 600
    file, where = served.packed(tmp_path, "SoftMajority", queries=most), f"sqlite:///{ledger}"
    keys = [served.key(served.service(file, where), f"{k}", rate=10**9) for k in range(4)]
    servers = [served.started(file, where, "--workers", "1") for _ in range(2)]
    urls = [url for _, url in servers]
    try:
        with Analysts(urls * 2, keys) as analysts:
            for k in (0, 1):
                process, url = servers[k]
                (worker,) = served.workers(process)
                os.kill(worker, signal.SIGKILL)
                while worker in served.workers(process) or not served.workers(process):
                    time.sleep(0.05)
                analysts.covered(ledger)
                both = served.workers(process)
                process.kill()
                process.communicate()
                assert served.gone(both)
                servers[k] = served.started(file, where, "--workers", "1", "--port", url.rstrip("/").rpartition(":")[2])
                assert analysts.covered(ledger) <= most
            injected.wait(lambda: analysts.over)
        spent = on_disk(ledger)[0]
        assert len(analysts.told) <= spent <= most and spent >= most - 1
        for url in urls:
            client = Client(url, keys[0])
            assert client.budget()["answered"] == spent
            analysts.same(lambda rows, client=client: client.predict(rows).tolist())
        assert on_disk(ledger)[0] == spent
    finally:
        for process, _ in servers:
            process.terminate()
            assert "Traceback" not in process.communicate()[1]
