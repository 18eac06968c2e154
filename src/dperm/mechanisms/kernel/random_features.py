r"""The kernel method of CMS11 and of Rubinstein et al.: random Fourier features, then a private linear model on them.

A continuous kernel K(x, v) = k(x - v) is the Fourier transform of a probability law (Bochner). For the Gaussian kernel
exp(-||x - v||^2/(2 h^2)) the law is N(0, I/h^2). With D frequencies omega_1 .. omega_D drawn from it (Rahimi & Recht
2007),

    z(x) = D^{-1/2} (cos <omega_1, x>, .., cos <omega_D, x>, sin <omega_1, x>, .., sin <omega_D, x>),

    E <z(x), z(v)> = K(x, v),     ||z(x)||_2 = 1 for every x,

so p = 2 D, and no bound on x is needed. The frequencies look at no record, are published with the model, and are the
same for neighbouring data sets. Given them, z maps each record to one row of length 1, so that what is private for rows
with ||z||_2 <= 1 is as private for the records, with the same neighbours. Private is

    theta = argmin sum_i l(<z(x_i), theta>, y_i) + Delta/2 ||theta||^2,     |l'| <= L,   Delta = n Lambda,

released in one of four ways (`perturbation`, `calibration`):

- objective, paper: CMS11's Algorithm 3 around Algorithm 2, delta = 0 (`dperm.mechanisms.cms11`).
- output, paper: PrivateSVM-Infinite of Rubinstein et al. 2009, delta = 0: independent Laplace noise on each of the 2 D
  coordinates, of scale

      2^{5/2} L C sqrt(D)/(n epsilon) = 2^{5/2} L sqrt(D)/(Delta epsilon),       C = n/Delta.

  Replace-one moves theta by at most 2 L/Delta in l2 (jain2013, equation 3) and so by at most sqrt(2 D) 2 L/Delta =
  2^{3/2} L sqrt(D)/Delta in l1. The printed noise is for twice that, which covers the solver's error: `proved`. Under
  add/remove, of half the move, the printed noise is kept.
- objective, tight: `dperm.mechanisms.objective`, Gaussian tilt where delta > 0.
- output, tight: `dperm.mechanisms.output`, Gaussian noise where delta > 0.

Both papers hide a vector of 2 D coordinates with delta = 0, whose noise moves a prediction by about sqrt(2 D) times
as much as one coordinate; Gaussian noise of the same l2 sensitivity does not grow with D.

Kernels that are not translation-invariant (linear, polynomial) have no such features.

Sources: jain2013, Sections 1, 2 and 6 (what it compares with); Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 3;
Rubinstein, Bartlett, Huang & Taft 2009, Algorithm 2 and Theorem 10; Rahimi & Recht 2007.
"""

import math
from typing import Literal

import numpy as np
from scipy import sparse

from dperm.domain import LEAST, MOST, Budget, Calibration, Domain, Neighbours, number, one_of
from dperm.errors import DomainViolation, InvalidBudget
from dperm.losses import Loss
from dperm.mechanisms import cms11, objective, output
from dperm.mechanisms.base import (
    Release,
    bounds_everywhere,
    budget_event,
    curvature_or_default,
    representable,
    target,
)
from dperm.noise import Laplace
from dperm.solvers import newton

CALIBRATIONS = ("paper", "tight")

Perturbation = Literal["objective", "output"]


def frequencies(columns: int, count: int, bandwidth: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the frequencies of the Gaussian kernel; they are public, and look at no record (count: D, 1 or above)."""
    number("bandwidth", bandwidth, LEAST, MOST, ends="[]", error=DomainViolation, remedy="it is a public constant")
    if count < 1:
        raise ValueError(f"count={count} must be 1 or above: it is the number of frequencies")
    return rng.standard_normal((columns, count)) / bandwidth


def features(X: np.ndarray | sparse.csr_array, omega: np.ndarray) -> np.ndarray:
    """Return z(x) of every row: cosines first, then sines, of length 1 together."""
    angles = np.asarray(X @ omega)
    return np.hstack([np.cos(angles), np.sin(angles)]) / math.sqrt(omega.shape[1])


def laplace_output(loss: Loss, domain: Domain, budget: Budget, *, count: int, curvature: float) -> Laplace:
    """Return the noise of PrivateSVM-Infinite: 2^{5/2} L sqrt(D)/(Delta epsilon) on each of 2 D coordinates.

    - budget: with delta = 0; replace-one (more than enough under add/remove).
    - Source: Rubinstein et al. 2009, Theorem 10, with kappa = 1.
    """
    if budget.delta != 0:
        raise InvalidBudget(
            f"delta={budget.delta:g}: the printed noise is for pure privacy, delta=0; take calibration='tight'"
        )
    steepest, _ = bounds_everywhere(loss, _unit(domain))
    return Laplace(representable(2**2.5 * steepest * math.sqrt(count) / (curvature * budget.epsilon), budget))


def release(
    X: np.ndarray | sparse.csr_array,
    y: np.ndarray,
    loss: Loss,
    *,
    omega: np.ndarray,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    perturbation: Perturbation = "objective",
    curvature: float | None = None,
    rng: np.random.Generator,
    repeats: int = 1,
    tolerance: float = 1e-6,
    mapped: np.ndarray | None = None,
) -> Release:
    """Release `repeats` independent linear models over the random features.

    - domain: its `y_bound`; its `x_norm` is ignored.
    - mapped: `features(X, omega)`, where many releases of the same rows share them.
    - Returns: theta of shape (repeats, 2 D): `features(Q, omega) @ theta.T` are predictions.
    """
    one_of("perturbation", perturbation, Perturbation)
    one_of("neighbours", neighbours, Neighbours)
    if calibration not in CALIBRATIONS:
        raise ValueError(f"calibration={calibration!r}: random features offer 'paper' and 'tight'")
    Z, domain = features(X, omega) if mapped is None else mapped, _unit(domain)
    fixed = {
        "domain": domain, "budget": budget, "neighbours": neighbours, "calibration": calibration,
        "curvature": curvature, "rng": rng, "repeats": repeats, "tolerance": tolerance,
    }  # fmt: skip
    if calibration == "tight":
        return (objective if perturbation == "objective" else output).release(Z, y, loss, **fixed)
    if perturbation == "objective":
        return cms11.release(Z, y, loss, perturbation="objective", **fixed)
    curvature = curvature_or_default(curvature, loss, domain, budget.epsilon)
    noise, tolerance = (
        laplace_output(loss, domain, budget, count=omega.shape[1], curvature=curvature),
        target(tolerance),
    )
    steepest, _ = bounds_everywhere(loss, domain)
    solution = newton.minimise(loss, Z, loss.targets_of(y, domain), ridge=curvature, tolerance=tolerance * steepest)
    certificate = np.repeat(solution.certificate, repeats)
    theta = solution.theta + noise.sample((repeats, Z.shape[1]), rng)
    reached = certificate <= tolerance * steepest / curvature
    # Made for a move of 4 L/Delta in l2: 2 L/Delta of the minimiser, and 2 tolerance L/Delta of the solver's error.
    return Release(theta, certificate, reached, "proved", budget_event(budget))


def _unit(domain: Domain) -> Domain:
    return Domain(x_norm=1.0, y_bound=domain.y_bound)
