"""Coordinate descent on a Gram matrix, against one cvxpy/Clarabel fit after another on the same Gram matrix.

Both minimise 1/2 <theta, G theta> - <c_r, theta> + ridge/2 ||theta||^2 + l1 ||theta||_1 with c_r = X'y - b_r: the
elastic net under objective perturbation, repeated with fresh tilts b_r.
"""

import time
from collections.abc import Callable

import cvxpy as cp
import numpy as np
from threadpoolctl import threadpool_limits

from dperm import seeds
from dperm.solvers import gram

FEATURES, RECORDS_A_FEATURE, REPEATS, FEW = (10, 50, 100, 200), 20, 500, 5
ROUNDS = 5
RIDGE, L1, TILT = 0.5, 2.0, 1.0
REFERENCE, TOLERANCE = 1e-11, 1e-8
GOAL = 200.0


def clock(function: Callable[[], object]) -> float:
    """Return the seconds of one call, of this process's processors alone."""
    start = time.process_time()
    function()
    return time.process_time() - start


def problem(p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return G (p, p) and c (REPEATS, p): rows in the unit ball, every other true coefficient 0."""
    rng = seeds.generator(0, "bench", "coordinate_descent", p)
    X = rng.normal(size=(RECORDS_A_FEATURE * p, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    truth = np.where(np.arange(p) % 2, rng.normal(size=p), 0.0)
    y = X @ truth + 0.1 * rng.normal(size=len(X))
    return X.T @ X, X.T @ y - rng.normal(0, TILT, (REPEATS, p))


def clarabel_fits(G: np.ndarray, c: np.ndarray) -> tuple[float, float, np.ndarray]:
    """Return seconds a fit, those of them that Clarabel itself counts, and the minimisers, one for each row of c.

    The problem is compiled once, in a fit that is not counted.
    """
    theta, linear = cp.Variable(len(G)), cp.Parameter(len(G))
    quadratic = cp.quad_form(theta, cp.psd_wrap(G)) / 2 + RIDGE / 2 * cp.sum_squares(theta)
    fit = cp.Problem(cp.Minimize(quadratic - linear @ theta + L1 * cp.norm1(theta)))
    seconds, inside, found = [], [], []
    for row in (c[0], *c):
        linear.value = row
        seconds.append(clock(lambda: fit.solve(solver="CLARABEL")))
        inside.append(fit.solver_stats.solve_time)
        found.append(theta.value)
    return float(np.median(seconds[1:])), float(np.median(inside[1:])), np.array(found[1:])


def compare(p: int, *, fits: int) -> list[tuple[str, float, float, float | None, float, float | None]]:
    """Return the table's rows: how, seconds a fit, of those in the solver, passes, error, how many times faster."""
    G, c = problem(p)

    def ours(tolerance):
        return gram.minimise(G, c, ridge=RIDGE, l1=L1, tolerance=tolerance)

    exact = ours(REFERENCE)  # compiles too
    theirs, inside, theta = clarabel_fits(G, c[:fits])
    error = float(np.linalg.norm(theta - exact.theta[:fits], axis=1).max())
    rows = [("cvxpy/Clarabel", theirs, inside, None, error, None)]
    # The certificate bounds the error from above: at this tolerance every fit of ours is as exact as Clarabel's.
    for how, tolerance in (("as exact", RIDGE * error), (f"to {TOLERANCE:g}", TOLERANCE)):
        found = ours(tolerance)
        assert (found.subgradient_norm <= tolerance).all()
        seconds = float(np.median([clock(lambda t=tolerance: ours(t)) for _ in range(ROUNDS)])) / REPEATS
        error = float(np.linalg.norm(found.theta - exact.theta, axis=1).max())
        rows.append((f"dperm, {how}", seconds, seconds, float(found.iterations.mean()), error, theirs / seconds))
    return rows


def report(*, full: bool) -> None:
    """Print the table."""
    fits = 20 if full else FEW
    print(f"\nElastic net on a Gram matrix, ridge={RIDGE:g}, l1={L1:g}, n={RECORDS_A_FEATURE}p; {REPEATS} tilts in one")
    print(f"batch of ours, {fits} Clarabel fits. One thread, CPU time, median.\n")
    print(
        f"{'p':>5}  {'method':<18}{'us a fit':>10}{'in solver':>11}{'passes':>8}{'error':>10}{'faster':>8}{'goal':>7}"
    )
    with threadpool_limits(1):
        for p in FEATURES:
            for method, seconds, inside, passes, error, ratio in compare(p, fits=fits):
                tail = "" if ratio is None else f"{passes:>8.1f}{error:>10.1e}{ratio:>7,.0f}x"
                goal = f"{f'>{GOAL:.0f}x':>7}" if "as exact" in method else ""
                tail = tail or f"{'':>8}{error:>10.1e}"
                print(f"{p:>5}  {method:<18}{1e6 * seconds:>10,.1f}{1e6 * inside:>11,.1f}{tail}{goal}")
    print(
        f"\nerror: greatest distance from the minimisers to {REFERENCE:g}. 'as exact': our certificate, an upper bound"
    )
    print(f"on the error, is at most Clarabel's error; 'to {TOLERANCE:g}': the norm of a subgradient.")
