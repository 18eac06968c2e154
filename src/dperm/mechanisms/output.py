r"""Output perturbation: minimise the regularised empirical risk, then add noise to the minimiser.

    theta = argmin sum_i l(<x_i, theta>, y_i) + Delta/2 ||theta||^2   +   noise.

The objective is Delta-strongly convex and a record moves its gradient by at most zeta, so the minimiser moves at most

    S = zeta/Delta (add/remove),    S = 2 zeta/Delta (replace-one)

(Chaudhuri, Monteleoni & Sarwate 2011, Corollary 8, with n Lambda = Delta; kifer2012, Section 1, compares with it).

Weights: a record's loss may be w l with 0 <= w <= W, W public (`Loss.weight_bound`). Its gradient is at most W zeta
long, for which zeta stands from here on; nothing else is asked of a record.

Solver error: the solver's point is certified to lie within tau = tolerance zeta/Delta of the minimiser, a public
number, so the sensitivity of what is released is at most S + 2 tau. That is what the noise is made for, so the
statement is `proved` (erratum K8).

calibration="tight": delta = 0: density proportional to exp(-epsilon ||z|| / (S + 2 tau)); delta > 0: the analytic
Gaussian mechanism (Balle & Wang 2018). calibration="paper": the same for delta = 0 (that is CMS11's noise), for
delta > 0 the classical sigma = (S + 2 tau) sqrt(2 log(1.25/delta))/epsilon, whose statement is `none` where the exact
formula does not confirm it (large epsilon).

`publish` releases the same minimiser with integer noise from the operating system on a public grid (`dperm.grid`),
which may be published; `release` is for science.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from dperm import grid
from dperm.accounting import gaussian
from dperm.domain import Budget, Calibration, Domain, Guarantee, Neighbours, changed_gradients, number
from dperm.errors import InvalidBudget
from dperm.feasible import Region
from dperm.losses import Loss
from dperm.mechanisms import vacuous
from dperm.mechanisms.base import (
    Release,
    bounds,
    bounds_everywhere,
    budget_event,
    curvature_or_default,
    representable,
    searched,
    target,
    weighted,
)
from dperm.noise import Gaussian, SphericalLaplace
from dperm.solvers import newton

CALIBRATIONS = ("paper", "tight")


def calibrate(
    sensitivity: float, budget: Budget, *, calibration: Calibration
) -> tuple[Gaussian | SphericalLaplace, Guarantee]:
    """Return the law of noise for this l2 sensitivity, solver slack included, and whether the budget is proved."""
    if calibration not in ("paper", "tight"):
        raise ValueError(f"calibration={calibration!r}: output perturbation offers 'paper' and 'tight'")
    sensitivity = float(sensitivity)
    if budget.delta == 0:
        return SphericalLaplace(representable(sensitivity / budget.epsilon, budget)), "proved"
    if calibration == "tight":
        sigma = sensitivity / gaussian.gaussian_ratio(budget.epsilon, budget.delta)
        return Gaussian(representable(sigma, budget)), "proved"
    number("delta", budget.delta, gaussian.SMALLEST_DELTA, 1, ends="[)", error=InvalidBudget)
    ratio = budget.epsilon / math.sqrt(2 * math.log(1.25 / budget.delta))
    holds = gaussian.hockey_stick(budget.epsilon, ratio) <= budget.delta
    return Gaussian(representable(sensitivity / ratio, budget)), "proved" if holds else "none"


# Rounding of the sensitivity, of zeta and of the rows' norms, in units of the last place: a row's norm is a sum over p.
_ROUNDINGS = 64


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    *,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    curvature: float | None = None,
    rng: np.random.Generator,
    repeats: int = 1,
    tolerance: float = 1e-6,
    weights: np.ndarray | None = None,
) -> Release:
    """Release the regularised minimiser `repeats` times, with fresh noise, which covers the certificate already.

    - weights: shape (n,); of the records' losses, in [0, loss.weight_bound]; without them all are 1.
    """
    solution, sensitivity, tau, added = _minimised(
        X, y, loss, domain, budget, neighbours, curvature, tolerance, weights
    )
    noise, guarantee = calibrate(sensitivity, budget, calibration=calibration)
    theta = solution.theta + noise.sample((repeats, X.shape[1]), rng)
    certificate = np.repeat(solution.certificate, repeats)
    event = budget_event(budget)
    if isinstance(noise, Gaussian):
        event = "GaussianDpEvent", {"noise_multiplier": noise.scale / sensitivity}
    strength = added(vacuous.deviation(noise, X.shape[1]))
    return Release(theta, certificate, certificate <= tau, guarantee, event, noise=strength)


def publish(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    *,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    curvature: float | None = None,
    repeats: int = 1,
    tolerance: float = 1e-6,
    weights: np.ndarray | None = None,
) -> Release:
    """Release the regularised minimiser `repeats` times, each with fresh integer noise from the operating system.

    The sensitivity S + 2 tau is the one of `release`; `dperm.grid` adds what rounding to its grid costs, and
    calibrates. (Zero delta: independent discrete Laplace coordinates, not a spherical law.)

    - Returns: with mode="release". Where `converged` is False the statement covers nothing of that row: do not publish
      it.
    """
    grid.available()
    solution, sensitivity, tau, added = _minimised(
        X, y, loss, domain, budget, neighbours, curvature, tolerance, weights
    )
    outward = 1 + (X.shape[1] + _ROUNDINGS) * float(np.finfo(float).eps)
    vectors = np.repeat(solution.theta, repeats, axis=0)
    released = grid.add_noise(vectors, sensitivity=sensitivity * outward, budget=budget)
    certificate = np.repeat(solution.certificate, repeats)
    event = budget_event(budget) if released.rho is None else ("ZCDpEvent", {"rho": released.rho, "xi": 0.0})
    # Of the discrete laws: Laplace's scale is its mean, Gauss's its deviation, to the last digits.
    strength = added(released.step * released.scale * (math.sqrt(2) if released.rho is None else 1.0))
    return Release(released.values, certificate, certificate <= tau, "proved", event, mode="release", noise=strength)


def _minimised(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    curvature: float | None,
    tolerance: float,
    weights: np.ndarray | None,
) -> tuple[newton.Solution, float, float, Callable[[float], vacuous.Noise]]:
    """Return the minimiser, the sensitivity of what was found of it, tau, and what noise of a deviation amounts to."""
    bounds_everywhere(loss, domain)
    y = loss.targets_of(y, domain)
    X, y, weights = weighted(X, y, loss, weights)
    domain = searched(domain, Region(), X.shape[1])
    curvature = curvature_or_default(curvature, loss, domain, budget.epsilon)
    tolerance = target(tolerance)
    zeta, lam = bounds(loss, domain)
    tau = tolerance * zeta / curvature
    sensitivity = changed_gradients(neighbours) * zeta / curvature + 2 * tau
    solution = newton.minimise(loss, X, y, ridge=curvature, tolerance=tolerance * zeta, weights=weights)
    return solution, sensitivity, tau, partial(vacuous.added, zeta=zeta, lam=lam, curvature=curvature)
