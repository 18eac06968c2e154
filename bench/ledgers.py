"""Turns a second of the stores behind `state=`: a file, SQLite, PostgreSQL. A turn sees charge and answer onto disk.

One row a turn, one thread and then two processes on the same ledger. The stores take turns in each round, so that all
see the same machine; the median of some rounds, and the ratio to the file. A server of PostgreSQL is started for it,
with its data on the disk that the files are on; without one that line is missing.
"""

import contextlib
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from dperm import ExpPW

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
TURNS, ROUNDS, RECORDS = 100, 5, 200


def model(state: str) -> ExpPW:
    """Return a model whose answers cost next to nothing."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (RECORDS, 3))
    return ExpPW(epsilon=5.0, queries=100_000, classes=(0, 1), state=state).fit(X, (X[:, 0] > 0).astype(int))


def asks(state: str, seed: int, start, done) -> None:
    """Ask in one process, from the moment when all are ready."""
    one, rows = model(state), np.random.default_rng(seed).uniform(-0.5, 0.5, (TURNS, 3))
    one.predict(rows[:1])
    start.wait()
    for row in rows[1:]:
        one.predict(row[None])
    done.wait()


def seconds(state: str, processes: int) -> float:
    """Return the seconds of a turn, with so many processes on one ledger."""
    context = multiprocessing.get_context("fork")
    start, done = context.Barrier(processes + 1), context.Barrier(processes + 1)
    children = [context.Process(target=asks, args=(state, seed, start, done)) for seed in range(processes)]
    for child in children:
        child.start()
    start.wait()
    begun = time.perf_counter()
    done.wait()
    found = (time.perf_counter() - begun) / (processes * (TURNS - 1))
    for child in children:
        child.join()
    return found


def report() -> None:
    """Print the table."""
    import ledgers

    warnings.simplefilter("ignore")
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = None
        with contextlib.suppress(TypeError, subprocess.SubprocessError):
            url = stack.enter_context(ledgers.server())
        kinds = [kind for kind in ledgers.STORES if url or kind != "postgres"]
        found: dict[tuple[str, int], list[float]] = {(kind, k): [] for kind in kinds for k in (1, 2)}
        for turn in range(ROUNDS):
            for kind, k in found:
                place = ledgers.Place(kind, folder, url)
                found[kind, k].append(seconds(place(f"{kind}{turn}{k}"), k))
    print(f"\n{TURNS} turns of one row, each on disk before the next; median of {ROUNDS} rounds, wall clock\n")
    print(f"{'':<12}{'processes':>10}{'turns/s':>10}{'to the file':>13}")
    for (kind, k), times in found.items():
        ratio = statistics.median(file / own for file, own in zip(found["file", k], times, strict=True))
        print(f"{kind:<12}{k:>10}{1 / statistics.median(times):>10.0f}{ratio:>12.2f}x")


if __name__ == "__main__":
    report()
