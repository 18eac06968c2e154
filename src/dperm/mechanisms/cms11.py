r"""The two mechanisms of Chaudhuri, Monteleoni & Sarwate 2011 (CMS11), with their original constants.

The paper minimises a mean, J(f) = 1/n sum_i l(<x_i, f>, y_i) + Lambda/2 ||f||^2, for ||x|| <= 1, |l'| <= 1, l'' <= c.
Here the objective is n J, a sum: our curvature is Delta = n Lambda, our zeta is 1 and our lambda is c (other zeta and
lambda by rescaling l and x). In these terms n drops out:

Algorithm 1 (`perturbation="output"`): theta = argmin n J + z, density of z proportional to exp(-beta ||z||),

    beta = n Lambda epsilon/2 = Delta epsilon/(2 zeta).

Algorithm 2 (`perturbation="objective"`): theta = argmin J + <b, f>/n + Delta_CMS/2 ||f||^2, density of b proportional
to exp(-beta ||b||) with beta = epsilon'/2 (here epsilon'/(2 zeta), for a sum tilted by b itself),

    epsilon' = epsilon - log(1 + 2c/(n Lambda) + c^2/(n Lambda)^2) = epsilon - 2 log(1 + lambda/Delta),

and Delta_CMS = 0 if epsilon' > 0; else Delta_CMS = c/(n (e^{epsilon/4} - 1)) - Lambda, which raises our curvature to
Delta = lambda/(e^{epsilon/4} - 1), and epsilon' = epsilon/2.

Neighbours are replace-one, n is public, delta = 0 (Theorems 6 and 9 there). Our own theorem asks for
k zeta/scale + log(1 + lambda/Delta) <= epsilon with k = 2, so Algorithm 2 pays the determinant's part twice, and holds.

neighbours="add_remove": with a curvature of the sum (Delta, not Lambda) nothing above depends on n. One record's
gradient changes in place of two, so the 2 zeta of both scales is zeta; all else stays as printed, and our theorem
(k = 1) confirms it. Paid once, as add/remove allows, the determinant's part would make Algorithm 2
`objective` with calibration="tight"; Algorithm 1 is `output`.

The proofs (docs/privacy.md, section 9) speak of the exact minimiser (erratum K8): the statement is `proved_exact`, with
the solver's certificate. `dperm.mechanisms.output` and `.objective` are the same mechanisms with other neighbours,
delta > 0, tight constants and cover for the solver's error. (kifer2012, Section 1, starts from Algorithm 2; jain2013
compares with CMS11.)
"""

import math
from typing import Literal, NamedTuple

import numpy as np

from dperm.domain import Budget, Calibration, Domain, Guarantee, Neighbours, changed_gradients, one_of
from dperm.errors import InvalidBudget
from dperm.losses import Loss
from dperm.mechanisms.base import (
    Release,
    bounds_everywhere,
    budget_event,
    curvature_or_default,
    record,
    representable,
    target,
)
from dperm.noise import SphericalLaplace
from dperm.solvers import composite

CALIBRATIONS = ("paper",)

Perturbation = Literal["output", "objective"]


class Calibrated(NamedTuple):
    """The law of z or b (scale 1/beta) and the curvature Delta of the sum that is minimised, Delta_CMS included."""

    noise: SphericalLaplace
    curvature: float
    guarantee: Guarantee


def default_curvature(loss: Loss, domain: Domain, epsilon: float) -> float:
    """Return lambda/(e^{epsilon/4} - 1), at which Algorithm 2 spends half of epsilon on the tilt."""
    # Past 700 a double overflows; no such budget is meant seriously.
    return bounds_everywhere(loss, domain)[1] / math.expm1(min(float(epsilon) / 4, 700.0))


def calibrate(
    loss: Loss,
    domain: Domain,
    budget: Budget,
    *,
    perturbation: Perturbation,
    curvature: float | None = None,
    neighbours: Neighbours = "replace",
) -> Calibrated:
    """Return noise and curvature of Algorithm 1 or 2 (Theorems 6 and 9 of the paper)."""
    one_of("perturbation", perturbation, Perturbation)
    if budget.delta != 0:
        raise InvalidBudget(
            f"delta={budget.delta:g}: CMS11 is for pure privacy, delta=0; take 'objective' or 'output' for delta > 0"
        )
    zeta, lam = bounds_everywhere(loss, domain)
    moved = changed_gradients(neighbours) * zeta
    if curvature is None:
        curvature = default_curvature(loss, domain, budget.epsilon)
    curvature = curvature_or_default(curvature, loss, domain, budget.epsilon)
    if perturbation == "output":
        scale = representable(moved / (curvature * budget.epsilon), budget)
        return Calibrated(SphericalLaplace(scale), curvature, "proved_exact")
    rest = budget.epsilon - 2 * math.log1p(lam / curvature)
    if rest <= 0:
        curvature = curvature_or_default(default_curvature(loss, domain, budget.epsilon), loss, domain, budget.epsilon)
        rest = budget.epsilon / 2
    scale = representable(moved / rest, budget)
    holds = record(loss, (zeta, lam)).enough(scale, budget, curvature=curvature, neighbours=neighbours)
    return Calibrated(SphericalLaplace(scale), curvature, "proved_exact" if holds else "none")


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    *,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    perturbation: Perturbation = "objective",
    curvature: float | None = None,
    rng: np.random.Generator,
    repeats: int = 1,
    tolerance: float = 1e-6,
    features: int | None = None,
) -> Release:
    """Release `repeats` independent draws of CMS11's Algorithm 1 or 2.

    - X: shape (n, p); rows with ||x||_2 <= domain.x_norm; not checked here. Sparse: squared, Huber and hinge losses
      alone, p in the millions (`dperm.solvers.sparse`).
    - features: the number of features, if X holds only p of them: theta is then these coordinates of a release of all.
      Exactly so if X holds every column that is not zero throughout, as the minimiser is -b/Delta on the others; which
      columns these are may depend on the records, and is not for publication.
    """
    one_of("neighbours", neighbours, Neighbours)
    if calibration != "paper":
        raise ValueError(
            f"calibration={calibration!r}: CMS11 offers 'paper'; 'objective' and 'output' offer the same, 'tight'"
        )
    tolerance = target(tolerance)
    fixed = {"perturbation": perturbation, "curvature": curvature, "neighbours": neighbours}
    noise, curvature, guarantee = calibrate(loss, domain, budget, **fixed)
    zeta, _ = bounds_everywhere(loss, domain)
    y = loss.targets_of(y, domain)
    drawn = noise.marginal((repeats, X.shape[1]), X.shape[1] if features is None else features, rng)
    tilt = drawn if perturbation == "objective" else None
    solution = composite.minimise(loss, X, y, ridge=curvature, tilt=tilt, tolerance=tolerance * zeta)
    theta = solution.theta if perturbation == "objective" else solution.theta + drawn
    certificate = np.broadcast_to(solution.certificate, (repeats,)).copy()
    return Release(theta, certificate, certificate <= tolerance * zeta / curvature, guarantee, budget_event(budget))
