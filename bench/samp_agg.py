"""Samp-Agg's lassos on all blocks in one call, against scikit-learn's Lasso on one block after another.

Both minimise 1/2 ||y_b - X_b theta||^2 + Lambda ||theta||_1 on the same k = sqrt(n) blocks with Lambda of kifer2012,
Lemma 42. scikit-learn stops at its own duality gap, tol ||y_b||^2, ours at half of ours: the same certificate.
"""

import time
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import Lasso
from threadpoolctl import threadpool_limits

from dperm import seeds
from dperm.domain import Budget
from dperm.mechanisms.support import samp_agg
from dperm.solvers import lasso

# n, p, s; the last is the goal's.
CASES, FEW, TOLERANCE, SIGMA = ((4_000, 200, 3), (16_000, 1_000, 5)), 5, 1e-6, 0.5
GOAL_SECONDS = 1.0


def clock(function: Callable[[], object]) -> float:
    """Return the seconds of one call, of this process's processors alone."""
    start = time.process_time()
    function()
    return time.process_time() - start


def problem(n: int, p: int, s: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X (n, p) with entries -1 and 1, and y of its first s columns with noise, clipped to [-s, s]."""
    rng = seeds.generator(0, "bench", "samp_agg", n, p)
    X = 2.0 * rng.integers(0, 2, (n, p)) - 1.0
    return X, np.clip(X[:, :s].sum(axis=1) + SIGMA / 2 * rng.normal(size=n), -s, s)


def compare(n: int, p: int, s: int) -> tuple[int, float, float, float, float]:
    """Return k, seconds of a whole selection, of its lassos, of scikit-learn's, and the largest disagreement."""
    X, y = problem(n, p, s)
    k = int(n**0.5)
    penalty, block = samp_agg.paper_penalty(SIGMA, n / k, p), samp_agg.partition(n, k)

    def select():
        return samp_agg.select(
            X, y, size=s, budget=Budget(1.0), neighbours="replace", calibration="paper", penalty=penalty, blocks=k,
            rng=seeds.generator(0, "bench", "samp_agg", "noise"), tolerance=TOLERANCE,
        )  # fmt: skip

    def lassos():
        return lasso.minimise(X, y, l1=penalty, block=block, blocks=k, tolerance=TOLERANCE)

    select()  # compiles, too
    whole = min(clock(select) for _ in range(3))
    ours = min(clock(lassos) for _ in range(3))
    found, theirs, apart = lassos(), 0.0, -np.inf
    for b in range(FEW):
        A, t = X[block == b], y[block == b]
        peer = Lasso(alpha=penalty / len(t), fit_intercept=False, tol=TOLERANCE, max_iter=100_000)
        theirs += clock(lambda A=A, t=t, peer=peer: peer.fit(A, t))

        def objective(theta, A=A, t=t):
            return 0.5 * np.sum((t - A @ theta) ** 2) + penalty * np.abs(theta).sum()

        apart = max(apart, (objective(found.theta[b]) - objective(peer.coef_)) / (t @ t))
    return k, whole, ours, theirs / FEW * k, apart


def report() -> None:
    """Print the table."""
    print(f"\nSamp-Agg: the lassos of all blocks, one thread, CPU time; scikit-learn's from {FEW} blocks")
    print(f"goal: a whole selection at n=16,000, p=1,000 within {GOAL_SECONDS:g} s\n")
    print(
        f"{'n':>7}{'p':>6}{'s':>3}{'blocks':>8}{'selection s':>13}{'lassos s':>10}{'scikit-learn s':>16}{'ratio':>8}",
        end="",
    )
    print(f"{'worse by':>10}")
    with threadpool_limits(1):
        for n, p, s in CASES:
            k, whole, ours, theirs, apart = compare(n, p, s)
            print(f"{n:>7,}{p:>6,}{s:>3}{k:>8}{whole:>13.3f}{ours:>10.3f}{theirs:>16.3f}", end="")
            print(f"{theirs / ours:>7,.1f}x{apart:>10.1e}")
    print("\nworse by: how much higher our objective is at most, as a share of ||y||^2 (negative: ours is lower).")
