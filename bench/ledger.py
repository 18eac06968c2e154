"""The ledger of answers: 10^6 charges, with and without a journal, beside what one would write first.

- Naive: after every answer the epsilon of all answers so far is computed by zCDP and compared with the budget, and the
  new number of answers is written to disk (fsync) before the next. Timed over fewer answers: seconds each do not
  depend on their number.
- Memory: what the process holds more after 10^6 charges (the cache of answers is the predictor's).
- Times are the least of three runs, of the clock on the wall and of this process's processors: with a journal, the
  first counts the waits for the disk too.
- Accounting: the largest price at which 10^6 answers fit, by every accountant, and back.

Goal: 2 microseconds a charge, memory constant. The table says whether each is met.
"""

import os
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from dperm.accounting import filters
from dperm.mechanisms.prediction.ledger import PredictionLedger

ANSWERS, NAIVE = 1_000_000, 500
EPSILON, DELTA = 1.0, 1e-6
GOAL_MICROSECONDS, GOAL_BYTES, RUNS = 2.0, 4096, 3


def charged(ledger: PredictionLedger, answers: int) -> tuple[float, float]:
    """Return the seconds of one charge, of so many: on the wall, and of this process's processors."""
    charge = ledger.charge
    start, busy = time.perf_counter(), time.process_time()
    for _ in range(answers):
        charge()
    return (time.perf_counter() - start) / answers, (time.process_time() - busy) / answers


def naive(answers: int, write: bool, path: Path) -> float:
    """Return the seconds of one charge where the total is computed anew, and perhaps written, each time."""
    each = filters.each(EPSILON, DELTA, ANSWERS, accountant="zcdp")
    with path.open("wb", buffering=0) as file:
        start = time.perf_counter()
        for k in range(1, answers + 1):
            if filters.spent(each, k, DELTA, accountant="zcdp") > EPSILON:
                raise RuntimeError("the budget is spent")
            if write:
                file.write(b"%d\n" % k)
                os.fsync(file.fileno())
        return (time.perf_counter() - start) / answers


def held(action: Callable[[], object]) -> int:
    """Return the bytes that Python holds more after an action than before it."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    action()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return after - before


def goals(wall: float, busy: float, grown: int) -> str:
    """Say which goals are met, of the seconds of a charge by both clocks and of the bytes held after all."""
    times = ", ".join(
        f"{clock} {'met' if seconds * 1e6 <= GOAL_MICROSECONDS else 'MISSED'}"
        for clock, seconds in (("wall", wall), ("CPU", busy))
    )
    memory = "met" if grown <= GOAL_BYTES else "MISSED"
    return f"{GOAL_MICROSECONDS:g} us: {times}; constant memory: {memory}"


def report() -> None:
    """Print the tables."""
    budget = {"answers": ANSWERS, "bounded_range": True}
    print(f"\n{ANSWERS:,} answers within epsilon = {EPSILON:g}, delta = {DELTA:g}: time of a charge")
    print(f"{'':24}{'us, wall':>10}{'us, CPU':>9}{'naive':>8}{'ratio':>8}{'bytes held':>12}  goals")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in (("in memory", None), ("journal, on disk", Path(folder) / "journal")):
            runs = []
            for run in range(RUNS):
                own_path = path and path.with_name(f"journal{run}")
                with PredictionLedger(EPSILON, DELTA, path=own_path, **budget) as ledger:
                    runs.append(charged(ledger, ANSWERS))
            wall, busy = (min(found) for found in zip(*runs, strict=True))
            other = naive(NAIVE, path is not None, Path(folder) / "naive")
            with PredictionLedger(EPSILON, DELTA, path=path, **budget) as again:
                grown = held(lambda again=again: charged(again, ANSWERS))
            line = f"{name:24}{wall * 1e6:>10.2f}{busy * 1e6:>9.2f}{other * 1e6:>8.0f}{other / wall:>8.0f}{grown:>12,}"
            print(f"{line}  {goals(wall, busy, grown)}")
    print(f"\n{'accountant':16}{'price':>12}{'answers':>12}{'ms':>9}")
    for name in filters.ACCOUNTANTS:
        how = {"bounded_range": name == "bounded_range", "accountant": name}
        start = time.perf_counter()
        price = filters.each(EPSILON, DELTA, ANSWERS, **how)
        count = filters.capacity(EPSILON, DELTA, price, **how)
        print(f"{name:16}{price:>12.3e}{count:>12,}{1e3 * (time.perf_counter() - start):>9.1f}")
