"""The service over the loopback: durable single-row answers, rows in batches, and how long one request takes.

`dperm serve` with SQLite and 2 workers, as its users start it; every row is new, so every answer is charged and on disk
before it leaves. The client is this process, one connection each: it shares the machine's cores with the server.

- Single rows: 64 connections, each sends its next request when the last is answered.
- Batches: 8 connections, 100 rows a request.
- Waiting: 100 requests a second, at even times whatever is still under way; the quantile counts from when a request was
  due.

Goals: 500 answers a second, 20,000 rows a second, 99 % within 50 ms. The table says whether each is met on the wall's
clock. Beside it stands what a second of the server's processors answers, which a busy machine does not change.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

SECONDS, CONNECTIONS, WIDE, BATCH, RATE = 5.0, 64, 8, 100, 100
GOALS = {"single-row answers a second": 500, "rows a second, in batches of 100": 20_000, "ms, 99 % of requests": 50}


def model(path: Path) -> None:
    """Write a model of two features that answers a million rows."""
    from dperm import SoftMajority
    from dperm.serve import pack

    X = np.random.default_rng(0).uniform(-0.7, 0.7, (2_000, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pack(SoftMajority(epsilon=10.0, queries=1_000_000, shards=10, clip=True, classes=("no", "yes")), X, y, path)


@contextmanager
def server(file: Path, workers: int = 2) -> Iterator[tuple[int, str, int]]:
    """Start `dperm serve` with a ledger beside the model; give its port, a key and its process."""
    ledger = f"sqlite:///{file}.sqlite"
    dperm = [sys.executable, "-W", "ignore", "-m", "dperm.cli"]
    of = ["--budget-db", ledger]
    added = subprocess.run(
        [*dperm, "keys", "add", "bench", "--rate", "1000000000", "--model", str(file), *of],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    serve = [*dperm, "serve", str(file), *of, "--port", "0", "--workers", str(workers)]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as process:
        try:
            words = process.stdout.readline() if process.stdout else ""
            yield int(words.rstrip("/\n").rpartition(":")[2]), added.stdout.strip(), process.pid
        finally:
            process.send_signal(signal.SIGTERM)


async def ask(connection: tuple[asyncio.StreamReader, asyncio.StreamWriter], key: str, rows: np.ndarray) -> None:
    """Send one request and wait for its answer; an error ends the benchmark."""
    reader, writer = connection
    body = json.dumps({"rows": rows.tolist()}).encode()
    head = f"Host: bench\r\nAuthorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(b"POST /v1/predict HTTP/1.1\r\n" + head.encode() + body)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line[15:]) for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    content = await reader.readexactly(length)
    if b" 200 " not in answer[:16]:
        raise RuntimeError(content.decode().strip())


async def connected(port: int, count: int) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open connections."""
    return [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]


async def busy(port: int, key: str, connections: int, batch: int) -> float:
    """Return rows a second while every connection always asks."""
    rng, count, end = np.random.default_rng(), 0, time.perf_counter() + SECONDS

    async def one(connection) -> None:
        nonlocal count
        while time.perf_counter() < end:
            await ask(connection, key, rng.uniform(-0.7, 0.7, (batch, 2)))
            count += batch

    start = time.perf_counter()
    await asyncio.gather(*map(one, await connected(port, connections)))
    return count / (time.perf_counter() - start)


async def waits(port: int, key: str) -> np.ndarray:
    """Return the seconds from when each of some requests was due to its answer."""
    rng, free, found = np.random.default_rng(), await connected(port, CONNECTIONS), []

    async def one(due: float) -> None:
        connection = free.pop()
        await ask(connection, key, rng.uniform(-0.7, 0.7, (1, 2)))
        free.append(connection)
        found.append(time.perf_counter() - due)

    start, running = time.perf_counter() + 0.1, []
    for k in range(int(SECONDS * RATE)):
        due = start + k / RATE
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        running.append(asyncio.create_task(one(due)))
    await asyncio.gather(*running)
    return np.array(found)


def processors(pid: int) -> float:
    """Return the seconds of processor that a server's workers had so far."""
    found = 0
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        found += int(fields[11]) + int(fields[12])
    return found / os.sysconf("SC_CLK_TCK")


def measured(port: int, key: str, pid: int) -> list[tuple[float, float | None]]:
    """Return what is found for each goal, and for rates what a second of the server's processors does."""
    found: list[tuple[float, float | None]] = []
    for connections, batch in ((CONNECTIONS, 1), (WIDE, BATCH)):
        before, start = processors(pid), time.perf_counter()
        rate = asyncio.run(busy(port, key, connections, batch))
        found.append((rate, rate * (time.perf_counter() - start) / (processors(pid) - before)))
    return [*found, (1e3 * float(np.quantile(asyncio.run(waits(port, key)), 0.99)), None)]


def report() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        model(file := Path(folder, "model.dperm"))
        with server(file) as started:
            found = measured(*started)
    print("\ndperm serve, SQLite, 2 workers, over the loopback")
    for (name, goal), (value, busy_rate) in zip(GOALS.items(), found, strict=True):
        met = value <= goal if busy_rate is None else value >= goal
        beside = "" if busy_rate is None else f"   a second of processor: {busy_rate:,.0f}"
        print(f"{name:40}{value:>10,.0f}   goal {goal:,}: {'met' if met else 'MISSED'}{beside}")


if __name__ == "__main__":
    report()
