"""All subsets of s features at once, against SciPy's lsq_linear on one subset after another.

Both minimise 1/2 ||y - X_Z theta||^2 over a box; ours on the Gram matrix, lsq_linear on the columns of X.
"""

import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import lsq_linear
from threadpoolctl import threadpool_limits

from dperm import seeds
from dperm.solvers import subsets

SIZES, FULL = ((100, 2), (200, 2), (60, 3)), ((200, 3),)
RECORDS, FEW, ROUNDS, BOUND = 500, 50, 3, 1.0
# True coefficients of this size: the first leaves nearly every solution inside the box, the second puts many on it.
TRUTHS = {"inside": 0.5, "at the bounds": 20.0}
GOAL_MICROSECONDS, GOAL_SECONDS = 1.0, 1.5


def clock(function: Callable[[], object]) -> float:
    """Return the seconds of one call, of this process's processors alone."""
    start = time.process_time()
    function()
    return time.process_time() - start


def problem(p: int, truth: float) -> tuple[np.ndarray, np.ndarray]:
    """Return X (RECORDS, p) with entries in [-1, 1] and y of five of its columns, with noise."""
    rng = seeds.generator(0, "bench", "subsets", p)
    X = rng.uniform(-1, 1, (RECORDS, p))
    return X, truth * X[:, :5] @ rng.choice([-1.0, 1.0], 5) + 0.1 * rng.normal(size=RECORDS)


def compare(p: int, s: int, truth: float) -> tuple[float, float, float, float]:
    """Return microseconds a subset, ours and lsq_linear's, our gap, and the largest difference beyond it."""
    X, y = problem(p, truth)
    G, c, yy = X.T @ X, X.T @ y, float(y @ y)
    found = subsets.search(G, c, yy, s, bound=BOUND, records=RECORDS)  # compiles, too
    ours = min(clock(lambda: subsets.search(G, c, yy, s, bound=BOUND, records=RECORDS)) for _ in range(ROUNDS))
    rng = seeds.generator(0, "bench", "subsets", "few")
    few = rng.choice(len(found.scores), FEW, replace=False)
    chosen = [list(subsets.subset(int(index), p, s)) for index in few]
    costs = []

    def one_after_another():
        costs[:] = [lsq_linear(X[:, Z], y, (-BOUND, BOUND), method="bvls").cost for Z in chosen]

    theirs = clock(one_after_another)
    beyond = float(np.maximum(np.abs(found.scores[few] - costs) - found.gap, 0).max())
    return 1e6 * ours / len(found.scores), 1e6 * theirs / FEW, found.gap, beyond


def report(*, full: bool) -> None:
    """Print the table."""
    print(f"\nBox-constrained least squares on all subsets, n={RECORDS}, |theta_j| <= {BOUND:g}; one thread, CPU time")
    print(f"goal: at most {GOAL_MICROSECONDS:g} us a subset, and C(200,3) within {GOAL_SECONDS:g} s\n")
    print(f"{'p':>4}{'s':>3}{'subsets':>11}  {'solutions':<15}{'us a subset':>12}{'seconds':>9}", end="")
    print(f"{'lsq_linear us':>15}{'ratio':>9}{'gap':>10}{'differ beyond':>15}")
    with threadpool_limits(1):
        for p, s in SIZES + (FULL if full else ()):
            for name, truth in TRUTHS.items():
                ours, theirs, gap, beyond = compare(p, s, truth)
                subsets_here = subsets.count(p, s)
                print(
                    f"{p:>4}{s:>3}{subsets_here:>11,}  {name:<15}{ours:>12.3f}{ours * subsets_here / 1e6:>9.3f}", end=""
                )
                print(f"{theirs:>15.0f}{theirs / ours:>8,.0f}x{gap:>10.1e}{beyond:>15.1e}")
