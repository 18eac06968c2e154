"""Objective perturbation by the batched Newton solver, against one cvxpy/Clarabel fit after another and scikit-learn.

All minimise sum_i log(1 + exp(-y_i <x_i, theta>)) + ridge/2 ||theta||^2 + <b, theta>; scikit-learn can only do b = 0.
"""

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import special
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from bench.data import adult
from dperm import losses, noise, seeds
from dperm.solvers import newton

REPEATS, DELTA, TOLERANCE = 20, 1e-6, 1e-6
ROUNDS = 3
# What scikit-learn's lbfgs reaches before its own fixed test on the objective stops it.
LBFGS_AIM = 1e-3
GOALS = {"clarabel": 150.0, "lbfgs": 5.0}
SMALL_DRAWS, SMALL_GOAL = 100_000, 1_000_000 / 60


def clock(function: Callable[[], Any], rounds: int = 1) -> tuple[float, Any]:
    """Return the median time of some calls in seconds, and the last result."""
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), result


def gradient_norms(X, y, ridge, tilt, theta) -> np.ndarray:
    """||grad J||_2 of each row of theta, by code that belongs to none of the competitors."""
    theta = np.atleast_2d(theta)
    slope = -y[:, None] * special.expit(-y[:, None] * (X @ theta.T))
    return np.linalg.norm((X.T @ slope).T + ridge * theta + tilt, axis=1)


def clarabel_fits(X, y, ridge, tilt, fits: int) -> tuple[list[float], np.ndarray]:
    """Return the seconds of each fit and the minimisers; the problem is compiled once, in the first."""
    theta, b = cp.Variable(X.shape[1]), cp.Parameter(X.shape[1])
    risk = cp.sum(cp.logistic(-cp.multiply(y, X @ theta)))
    problem = cp.Problem(cp.Minimize(risk + ridge / 2 * cp.sum_squares(theta) + b @ theta))
    seconds, found = [], []
    for r in range(fits):
        b.value = tilt[r]
        seconds.append(clock(lambda: problem.solve(solver="CLARABEL"))[0])
        found.append(theta.value)
    return seconds, np.array(found)


def lbfgs_fit(X, y, ridge) -> tuple[float, float, float]:
    """Return tol, seconds and gradient norm of the loosest lbfgs fit within LBFGS_AIM, else of the most exact."""
    for tol in 10.0 ** -np.arange(4, 13):
        model = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=tol, max_iter=10_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # judged by the gradient, below
            seconds, _ = clock(lambda model=model: model.fit(X, y), ROUNDS)
        norm = float(gradient_norms(X, y, ridge, 0.0, model.coef_)[0])
        if norm <= LBFGS_AIM:
            break
    return float(tol), seconds, norm


def compare(X, y, epsilon: float, *, full: bool) -> list[tuple]:
    """Return the table's rows: method, fits timed, seconds per fit, largest gradient norm, ratio, goal."""
    loss = losses.logistic()
    ridge = 2 * 0.25 / epsilon
    sigma = math.sqrt(8 * math.log(2 / DELTA) + 4 * epsilon) / epsilon
    tilt = noise.Gaussian(sigma).sample((REPEATS, X.shape[1]), seeds.generator(0, "bench", "newton", epsilon))

    def batched(tolerance):
        return newton.minimise(loss, X, y, ridge=ridge, tilt=tilt, tolerance=tolerance)

    def untilted(tolerance):
        return newton.minimise(loss, X, y, ridge=ridge, tolerance=tolerance)

    rows = []
    ours, solution = clock(lambda: batched(TOLERANCE), ROUNDS)
    norm = gradient_norms(X, y, ridge, tilt, solution.theta).max()
    rows.append(
        (f"dperm, {REPEATS} tilted fits in one batch", f"{REPEATS} x {ROUNDS}", ours / REPEATS, norm, None, None)
    )
    fits = REPEATS if full else 3
    seconds, theta = clarabel_fits(X, y, ridge, tilt, fits)
    norm = gradient_norms(X, y, ridge, tilt[:fits], theta).max()
    total = seconds[0] + (REPEATS - 1) * float(np.mean(seconds[1:]))
    name = f"cvxpy/Clarabel, tilted{'' if full else f', {REPEATS} extrapolated from {fits}'}"
    rows.append((name, fits, total / REPEATS, norm, total / ours, GOALS["clarabel"]))

    tol, theirs, reached = lbfgs_fit(X, y, ridge)
    ours, solution = clock(lambda: batched(reached), ROUNDS)
    norm = gradient_norms(X, y, ridge, tilt, solution.theta).max()
    rows.append(
        (f"dperm, {REPEATS} tilted fits, as exact as lbfgs", f"{REPEATS} x {ROUNDS}", ours / REPEATS, norm, None, None)
    )
    rows.append(
        (
            f"scikit-learn lbfgs, no tilt, tol={tol:.0e}",
            ROUNDS,
            theirs,
            reached,
            theirs * REPEATS / ours,
            GOALS["lbfgs"],
        )
    )
    alone, solution = clock(lambda: untilted(reached), ROUNDS)
    norm = gradient_norms(X, y, ridge, 0.0, solution.theta).max()
    rows.append(("dperm, one fit without tilt, as exact as lbfgs", ROUNDS, alone, norm, theirs / alone, None))
    return rows


def small_draws() -> tuple[float, float]:
    """Return fits per second and the largest gradient norm for n=200, p=2 (what an audit asks for a million of)."""
    rng = seeds.generator(0, "bench", "newton", "small")
    X = rng.normal(size=(200, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] + 0.3 > 0, 1.0, -1.0)
    tilt = rng.normal(0, 11, (SMALL_DRAWS, 2))
    seconds, found = clock(
        lambda: newton.minimise(losses.logistic(), X, y, ridge=0.5, tilt=tilt, tolerance=1e-8), ROUNDS
    )
    return SMALL_DRAWS / seconds, float(found.gradient_norm.max())


def report(epsilons: list[float], *, full: bool) -> None:
    """Print the tables."""
    X, y, name = adult()
    with threadpool_limits(1):
        for epsilon in epsilons:
            print(
                f"\nObjective perturbation, logistic, epsilon={epsilon:g}, delta={DELTA:g}, n={len(X)}, p={X.shape[1]}"
            )
            print(f"Data: {name}. One thread. The gradient is that of the sum over records.\n")
            print(f"{'method':<54}{'fits timed':>11}{'ms per fit':>12}{'gradient':>10}{'ratio':>9}{'goal':>7}")
            for method, fits, seconds, norm, ratio, goal in compare(X, y, epsilon, full=full):
                slower = "" if ratio is None else f"{ratio:.1f}x"
                aim = "" if goal is None else f">{goal:.0f}x"
                print(f"{method:<54}{fits!s:>11}{1e3 * seconds:>12.1f}{norm:>10.1e}{slower:>9}{aim:>7}")
        draws, norm = small_draws()
    print("\nratio: time per fit over that of the dperm batch above it; in the last row, of lbfgs over this one fit.")
    print(f"\nn=200, p=2: {draws:,.0f} fits per second, gradient {norm:.1e} (a million a minute: {SMALL_GOAL:,.0f})")
