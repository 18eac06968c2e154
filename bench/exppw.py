"""ExpPW's walk and the dynamic programme of intervals, against the same written in NumPy's own words, in the same run.

The naive walk of a data set sorts with lexsort and steps through a Python loop; its queries are found by searchsorted,
twice, for a tie needs its keys searched too. Many walks at once step through columns. The naive dynamic programme steps
through points with vectors over the ends: 10 ends are 5 intervals.

The goals are compared with the least of three runs, on the wall and in this process's processor time; the former is
only as good as the machine is idle.
"""

import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits

from bench.samp_agg import clock
from dperm import seeds
from dperm.mechanisms.prediction import exppw
from dperm.solvers import intervals

RECORDS, QUERIES, WALKS, BOUND = 10**6, 10**6, 1000, 60.0
POINTS, ENDS = 10**5, 10
# Seconds of preparing, of sorted queries, of the walks, of the dynamic programme.
GOALS = (0.5, 0.2, 0.02, 1.0)


def naive_prepare(x: np.ndarray, y: np.ndarray, keys: np.ndarray, bound: float) -> exppw.Walk:
    """Return what `exppw.prepare` does."""
    order = np.lexsort((keys, x))
    v, at = [0.0], 0.0
    for label in y[order].tolist():
        at = max(-bound, min(bound, at + 2.0 * label - 1.0))
        v.append(at)
    return exppw.Walk(x[order], keys[order], np.array(v))


def naive_value(walk: exppw.Walk, queries: np.ndarray, query_keys: np.ndarray) -> np.ndarray:
    """Return what `exppw.value` does."""
    low, high = np.searchsorted(walk.x, queries, "left"), np.searchsorted(walk.x, queries, "right")
    for j in np.flatnonzero(high > low):
        low[j] += np.searchsorted(walk.keys[low[j] : high[j]], query_keys[j], "right")
    return walk.v[low]


def naive_walks(labels: np.ndarray, bound: float) -> np.ndarray:
    """Return what `exppw.walks` does."""
    v = np.zeros((labels.shape[0], labels.shape[1] + 1))
    for i in range(labels.shape[1]):
        v[:, i + 1] = np.clip(v[:, i] + 2.0 * labels[:, i] - 1.0, -bound, bound)
    return v


def naive_errors(x: np.ndarray, y: np.ndarray, k: int) -> int:
    """Return the fewest errors, of points that are all different."""
    best = np.full(k + 1, np.inf)
    best[0] = 0
    odd = np.arange(k + 1) % 2
    for label in y[np.argsort(x)].tolist():
        best[1:] = np.minimum(best[1:], best[:-1])
        best += odd != label
    return int(best.min())


def errors(x: np.ndarray, y: np.ndarray, k: int) -> int:
    """Return the errors of the union of intervals that `intervals.minimise` finds."""
    return intervals.minimise(x, y, k)[1]


def clocks(function: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of one call: on the wall, and of this process's processors."""
    start = time.perf_counter()
    busy = clock(function)
    return time.perf_counter() - start, busy


def compare() -> list[tuple[str, float, float, float, float]]:
    """Return name, goal, our seconds by both clocks and naive ones of each task; the answers must be equal."""
    rng = seeds.generator(0, "bench", "exppw")
    # Half of the records share a thousand points.
    x = np.where(rng.random(RECORDS) < 0.5, rng.integers(1000, size=RECORDS) / 1000, rng.random(RECORDS))
    y, keys = (x > 0.5).astype(float), rng.random(RECORDS)
    walk = exppw.prepare(x, y, keys, BOUND)
    asked, query_keys = np.sort(rng.permutation(x)[:QUERIES]), rng.random(QUERIES)
    labels = (rng.random((WALKS, WALKS)) < 0.3).astype(np.int8)
    points = rng.random(POINTS)
    wrong = (np.floor(points * (ENDS + 1)) % 2 != (rng.random(POINTS) < 0.2)).astype(int)
    tasks = (
        (f"prepare {RECORDS:,}", exppw.prepare, naive_prepare, (x, y, keys, BOUND)),
        (f"{QUERIES:,} sorted queries", exppw.value, naive_value, (walk, asked, query_keys)),
        (f"{WALKS:,} walks of {WALKS:,}", exppw.walks, naive_walks, (labels, BOUND)),
        (f"{ENDS} ends, n={POINTS:,}", errors, naive_errors, (points, wrong, ENDS)),
    )
    found = []
    for (name, ours, naive, given), goal in zip(tasks, GOALS, strict=True):
        np.testing.assert_equal(ours(*given), naive(*given))
        runs = [clocks(lambda ours=ours, given=given: ours(*given)) for _ in range(3)]
        wall, busy = (min(times) for times in zip(*runs, strict=True))
        found.append((name, goal, wall, busy, clock(lambda naive=naive, given=given: naive(*given))))
    return found


def report() -> None:
    """Print the table."""
    print("\nExpPW, one thread; half of the records are tied; naive and ratio: CPU time\n")
    print(f"{'task':<28}{'goal s':>8}{'wall s':>10}{'CPU s':>10}{'naive s':>10}{'ratio':>9}  goal")
    with threadpool_limits(1):
        for name, goal, wall, busy, naive in compare():
            said = ", ".join(f"{key} {'met' if s <= goal else 'MISSED'}" for key, s in (("wall", wall), ("CPU", busy)))
            print(f"{name:<28}{goal:>8g}{wall:>10.4f}{busy:>10.4f}{naive:>10.3f}{naive / busy:>8,.1f}x  {said}")
