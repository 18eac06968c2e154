"""The samplers of jain2013's interactive and non-interactive learners against what one would write first.

- The exponential mechanism on the ball, exp(c |<z, u>|): time of a draw of t = <z, u>, against rejection from uniform
  points of the ball (NumPy, all proposals at once). One batch each; c is drawn anew for every draw.
- Algorithm 1, batched and compiled, against the loop of the paper in Python with NumPy vectors; same noise, same
  answers (checked).
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dperm import seeds
from dperm.domain import Budget
from dperm.mechanisms.kernel import ball_law, pinp
from dperm.mechanisms.kernel.constants import Setting

DRAWS, NAIVE = 1_000_000, 100_000
BALLS = [(2, 1.0), (2, 100.0), (20, 5.0), (20, 20.0), (1000, 1.0), (1000, 1000.0)]
GOAL_MICROSECONDS = 1.0
# Queries, dimension, n lambda and runs of Algorithm 1.
RUNS = [(10_000, 20, 1e6, 20), (1_000_000, 20, 1e6, 3)]


def clock(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of one call, of this process's processors alone, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def rejection(c: float, d: int, rng: np.random.Generator) -> float:
    """Return seconds per accepted draw of t, from uniform points of the ball (their t alone is drawn: a Beta law)."""

    def attempt():
        t = 2 * rng.beta((d + 1) / 2, (d + 1) / 2, NAIVE) - 1
        return int((np.log(rng.random(NAIVE)) < c * (np.abs(t) - 1)).sum())

    seconds, accepted = clock(attempt)
    return seconds / accepted if accepted else np.inf


def loop(found: pinp.Constants, Phi: np.ndarray, f: np.ndarray, zeta: np.ndarray) -> np.ndarray:
    """Algorithm 1 as printed, in Python; Phi w is kept up to date instead of the sum over all updates."""
    w, count, answers = np.zeros(Phi.shape[1]), 0, np.full(len(f), np.nan)
    for t in range(len(f)):
        if count >= found.updates:
            break
        value = Phi[t] @ w
        d_hat = f[t] + zeta[t] - value
        if abs(d_hat) > found.threshold:
            w += found.step * np.sign(d_hat) * Phi[t]
            count += 1
            value = f[t] + zeta[t]
        answers[t] = value
    return answers


def interactive(T: int, r: int, total: float, repeats: int) -> tuple[float, float]:
    """Return seconds a run, of the loop and of the compiled batch."""
    rng = seeds.generator(0, "bench", "pinp", T)
    Phi = rng.standard_normal((T, r))
    Phi /= (1 + 1e-9) * np.linalg.norm(Phi, axis=1, keepdims=True)
    f = Phi[:, 0].copy()
    setting = Setting(1.0, 1.0, total, radius=1.0)
    # epsilon is large, so that there are updates to make.
    found = pinp.constants(setting, Budget(100.0, 1e-6), queries=T, calibration="paper")
    zeta = rng.laplace(0.0, found.deciding, (1, T))
    pinp.run(found, setting, Phi, f, rng=rng)  # compiles
    ours, _ = clock(lambda: pinp.run(found, setting, Phi, f, rng=rng, repeats=repeats, keep=False))
    theirs, answers = clock(lambda: loop(found, Phi, f, zeta[0]))
    same = pinp.run(found, setting, Phi, f, rng=rng, noise=(zeta, zeta, zeta)).predictions[0]
    np.testing.assert_allclose(same, answers, atol=1e-9)
    return theirs, ours / repeats


def report() -> None:
    """Print the tables."""
    print("\nexp(c |<z, u>|) on the ball: one draw of <z, u>; one thread, CPU time.\n")
    print(f"{'d':>6}{'c':>8}{'ours, us':>10}{'goal':>14}{'proposals':>11}{'rejection, us':>15}{'ratio':>12}")
    rng = seeds.generator(0, "bench", "ball")
    ball_law.heights(np.ones(2), 2, rng)  # compiles
    for d, c in BALLS:
        around = c * rng.uniform(0.9, 1.1, DRAWS)
        seconds, (_, proposals) = clock(lambda around=around, d=d: ball_law.heights(around, d, rng))
        ours, theirs = 1e6 * seconds / DRAWS, 1e6 * rejection(c, d, rng)
        verdict = "met" if ours <= GOAL_MICROSECONDS else "missed"
        shown = f"{theirs:>15.2f}{theirs / ours:>11.1f}x" if np.isfinite(theirs) else f"{'none accepted':>15}{'':>12}"
        print(f"{d:>6}{c:>8g}{ours:>10.2f}{f'<{GOAL_MICROSECONDS:g}  {verdict}':>14}{proposals.mean():>11.3f}{shown}")
    print("\nAlgorithm 1 (as printed), seconds a run:\n")
    print(f"{'T':>10}{'features':>10}{'Python, s':>12}{'ours, s':>10}{'ratio':>9}")
    for T, r, total, repeats in RUNS:
        theirs, ours = interactive(T, r, total, repeats)
        print(f"{T:>10,}{r:>10}{theirs:>12.3f}{ours:>10.4f}{theirs / ours:>8.0f}x")


if __name__ == "__main__":
    report()
