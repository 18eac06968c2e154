"""TDDL: nine budgets, ten draws and four calibrations on one eigendecomposition, against one fit after another.

Line 2 of Algorithm 2 (jain2013) is least squares over an RKHS ball. The naive ways take an eigendecomposition and
SciPy's root finder for each draw, or cvxpy with Clarabel.
"""

import time
from collections.abc import Callable

import cvxpy as cp
import numpy as np
from scipy import optimize
from threadpoolctl import threadpool_limits

from dperm import seeds
from dperm.domain import Budget
from dperm.mechanisms.kernel import tddl
from dperm.mechanisms.kernel.constants import Setting

T, D, SCORED, DRAWS, ROUNDS, FEW = 300, 54, 1_000, 10, 15, 3
EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
CALIBRATIONS = (("paper", False), ("corrected", False), ("tight", False), ("paper", True))
SETTING = Setting(lipschitz=1.0, feature_norm=8**0.5, total=1_000.0, radius=31.6, slack=3e-4)
GOAL = 2.0


def clock(function: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median seconds of a call, of this process's processors alone."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return float(np.median(seconds))


def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return K(Z, Z), K(Q, Z) of the cubic kernel on unit rows, and exact answers on Z."""
    rng = seeds.generator(0, "bench", "tddl")
    X = rng.normal(size=(T + SCORED + 50, D))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    K = (X @ X[:T].T + 1) ** 3
    return K[:T], K[T : T + SCORED], K[T + SCORED :].T @ rng.normal(size=50)


def by_root_finding(K: np.ndarray, target: np.ndarray, radius: float) -> np.ndarray:
    """Return the coefficients of one fit, from scratch."""
    s, U = np.linalg.eigh(K)
    s = np.maximum(s, 1e-12 * s[-1])
    g = U.T @ target

    def excess(m):
        return np.sum(s * (g / (s + m)) ** 2) - radius**2

    m = optimize.brentq(excess, 0, 1e9, xtol=1e-12) if excess(0) > 0 else 0.0
    return U @ (g / (s + m))


def by_cvxpy(K: np.ndarray, target: np.ndarray, radius: float) -> np.ndarray:
    """Return the coefficients of one fit by a conic solver."""
    L = np.linalg.cholesky(K + 1e-10 * np.eye(T))
    w = cp.Variable(T)
    cp.Problem(cp.Minimize(cp.sum_squares(L @ w - target)), [cp.norm(w, 2) <= radius]).solve(solver="CLARABEL")
    return np.linalg.solve(L.T, w.value)


def compare() -> dict[str, float]:
    """Return the seconds of everything."""
    K, cross, answers = problem()
    asked = [(Budget(epsilon, 1e-6), *how) for epsilon in EPSILONS for how in CALIBRATIONS]
    fits = len(asked) * DRAWS
    rng = seeds.generator(0, "bench", "tddl", "noise")

    def releases():
        return tddl.releases(tddl.spectrum(K), answers, SETTING, asked, rng=rng, repeats=DRAWS)

    seconds = {
        "public scales": clock(lambda: [tddl.scale(SETTING, how[0], T, *how[1:2], bare=how[2]) for how in asked], 1)
    }
    found = releases()  # compiles, too
    all_found = np.concatenate([one.coefficients for one in found])
    seconds["eigendecomposition"] = clock(lambda: np.linalg.eigh(K))
    seconds["releases"] = clock(releases)
    seconds["scoring"] = clock(lambda: all_found @ cross.T)
    target = answers + found[0].scale * rng.laplace(size=T)
    for name, way in (("SciPy", by_root_finding), ("cvxpy", by_cvxpy)):
        seconds[name] = clock(lambda way=way: way(K, target, SETTING.radius), FEW) * fits
    return seconds | {"fits": fits}


def report() -> None:
    """Print the table."""
    with threadpool_limits(1):
        s = compare()
    one, both = s["eigendecomposition"], s["eigendecomposition"] + s["scoring"]
    print(f"\nTDDL at T={T}: {s['fits']} fits ({len(EPSILONS)} budgets x {len(CALIBRATIONS)} calibrations x {DRAWS})")
    print("One thread, CPU time, median. ", end="")
    print(f"The public scales, once: {1e3 * s['public scales']:.1f} ms, not counted below.\n")
    print(f"{'':<52}{'ms':>9}{'ratio':>8}{'goal':>7}")
    print(f"{'one eigendecomposition of K(Z, Z)':<52}{1e3 * one:>9.1f}")
    print(f"{f'scoring {SCORED:,} rows with every fit':<52}{1e3 * s['scoring']:>9.1f}")
    print(f"{'all releases, over one eigendecomposition':<52}{1e3 * s['releases']:>9.1f}{s['releases'] / one:>7.2f}x")
    total = s["releases"] + s["scoring"]
    row = f"{'the same with scoring on both sides':<52}{1e3 * total:>9.1f}{total / both:>7.2f}x{f'<{GOAL:.0f}x':>7}"
    print(f"{row}  {'met' if total / both < GOAL else 'missed'}")
    for name, text in (("SciPy", "eigh and brentq a draw"), ("cvxpy", "cvxpy/Clarabel a draw")):
        text = f"{text}, extrapolated from {FEW}, over ours"
        print(f"{text:<52}{1e3 * s[name]:>9,.0f}{s[name] / s['releases']:>7,.0f}x")
