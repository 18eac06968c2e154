r"""Objective perturbation (kifer2012, Algorithm 1): minimise the empirical risk tilted by a random vector.

With l convex in <x, theta> (a GLM loss, erratum K1), a sum over records, a convex regularizer r that is
gamma-strongly convex (Section 2.2), a closed convex set F and curvature Delta > 0, the mechanism solves

    theta = argmin_{theta in F}  sum_i l(<x_i, theta>, y_i) + r(theta) + (Delta - gamma)_+/2 ||theta||^2 + <b, theta>

with b ~ noise. r and F are public. They may be non-smooth (l1) and constrain (a ball, a box, the orthant, anything
cvxpy can state): the limit theorem (kifer2012, Theorem 1 and Lemmas 18 to 21; docs/privacy.md) carries the guarantee
over from smooth regularizers on R^p that converge to r plus the indicator of F, because it depends on zeta, lambda and
Delta alone. A loss that is bounded only where |u| <= R sup_F ||theta|| (squared) is continued linearly beyond.

Write zeta >= ||grad l||, lambda >= the largest eigenvalue of the Hessian of one record's l, C = log(1 + lambda/Delta).

calibration="paper": Algorithm 1 as printed, Delta >= 2 lambda/epsilon (erratum K2) and

    delta = 0:  density of b proportional to exp(-epsilon ||b|| / (2 zeta)),
    delta > 0:  b ~ N(0, zeta^2 (8 log(2/delta) + 4 epsilon)/epsilon^2 I).

Its neighbours are add/remove (Definition 1). Read as replace-one, the same constants prove nothing (erratum K3): the
statement then says `none`.

calibration="tight": any Delta with C < epsilon; the least scale of b that is proved (`dperm.accounting.tilt`): by
Theorem 4 of docs/privacy.md for the logistic loss, whose force and curvature are tied, by Theorems 1 to 3 for others,

    delta = 0:  scale (epsilon - C)^{-1} times zeta (add/remove) or 2 zeta (replace-one),
    delta > 0:  sigma = zeta / a with a the largest ratio whose hockey-stick bound is delta.

calibration="separate", for comparison: Theorems 1 to 3 for the logistic loss as well. They bound force and curvature
separately, as if one record had both at once, and ask for more noise. Other losses: as "tight".

Weights: a record's loss may be w l with 0 <= w <= W, W public (`Loss.weight_bound`). All of the above holds with W zeta
and W lambda, for which zeta and lambda stand from here on. Force and curvature stay tied in Theorem 4, whose worst
weight is w = W (Corollary W). The record that replaces another may have another weight.

Solver error (erratum K8): the proofs speak of the exact minimiser. The solver's public target is a distance, tau =
tolerance zeta/Delta, within which theta is certified to lie: by a gradient of at most tolerance zeta, or in extended
precision. With `solver_share` = 0 the release is `proved_exact`, with the certificate. With `solver_share` > 0 (.1 % is
the estimators' default) that share of (epsilon, delta) pays for output noise with sensitivity 2 tau, which hides the
solver's error: given the exact minimiser b is known, so the error is a function of the data alone, and adaptive
composition makes the whole release `proved`.
"""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dperm import losses
from dperm.accounting import gaussian
from dperm.domain import Budget, Calibration, Domain, Guarantee, Neighbours, number, one_of
from dperm.errors import InvalidBudget
from dperm.feasible import Region, Regularizer, project
from dperm.losses import Loss
from dperm.mechanisms.base import (
    COVERED_TARGET,
    TARGET,
    Release,
    bounds,
    budget_event,
    checked_share,
    covered,
    curvature_or_default,
    reachable,
    record,
    representable,
    searched,
    target,
    weighted,
)
from dperm.mechanisms.vacuous import Noise, deviation
from dperm.noise import Gaussian, SphericalLaplace
from dperm.solvers import composite, newton

CALIBRATIONS = ("paper", "tight", "separate")

# Rounding, when a given curvature is held against the least that is allowed.
_ROUNDING = 1e-12
NOTHING, EVERYWHERE = Regularizer(), Region()


def default_curvature(loss: Loss, domain: Domain, epsilon: float) -> float:
    """Return Delta = 2 lambda/epsilon, the least that Algorithm 1 allows, for the epsilon that pays for the tilt."""
    return curvature_or_default(None, loss, domain, epsilon)


def calibrate(
    loss: Loss,
    domain: Domain,
    budget: Budget,
    *,
    curvature: float,
    calibration: Calibration,
    neighbours: Neighbours,
) -> tuple[Gaussian | SphericalLaplace, Guarantee]:
    """Return the law of b and whether our theorems prove the budget for it.

    - loss, domain: give zeta, lambda and whether l' keeps its sign. The domain's `theta_norm` must be that of the set
      searched (`base.searched`).
    """
    one_of("neighbours", neighbours, Neighbours)
    curvature = curvature_or_default(curvature, loss, domain, budget.epsilon)
    if calibration not in CALIBRATIONS:
        raise ValueError(f"calibration={calibration!r}: objective perturbation offers 'paper', 'tight' and 'separate'")
    law = SphericalLaplace if budget.delta == 0 else Gaussian
    one = record(loss, bounds(loss, domain), calibration)
    pair = {"curvature": curvature, "neighbours": neighbours}
    if calibration != "paper":
        return law(representable(one.scale(budget, **pair), budget)), "proved_exact"
    least = default_curvature(loss, domain, budget.epsilon)
    if curvature < least * (1 - _ROUNDING):
        raise InvalidBudget(
            f"curvature={curvature:g} is below 2 lambda/epsilon = {least:g}, which Algorithm 1 needs "
            f"(epsilon={budget.epsilon:g} for the tilt); raise it, or take calibration='tight'"
        )
    if budget.delta == 0:
        scale = 2 * one.zeta / budget.epsilon
    else:
        number("delta", budget.delta, gaussian.SMALLEST_DELTA, 1, ends="[)", error=InvalidBudget)
        scale = one.zeta * math.sqrt(8 * math.log(2 / budget.delta) + 4 * budget.epsilon) / budget.epsilon
    scale = representable(scale, budget)
    return law(scale), "proved_exact" if one.enough(scale, budget, **pair) else "none"


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
    tolerance: float | None = None,
    solver_share: float = 0.0,
    regularizer: Regularizer = NOTHING,
    region: Region = EVERYWHERE,
    features: int | None = None,
    columns: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> Release:
    """Release `repeats` independent minimisers of the tilted risk (kifer2012, Algorithm 1), solved as one batch.

    - X: shape (n, p); rows with ||x||_2 <= domain.x_norm; not checked here. Sparse: Huber and smoothed hinge losses, no
      regularizer but l2 and no set F; p in the millions (`dperm.solvers.sparse`).
    - loss: smooth (finite lambda on the domain).
    - curvature: Delta, of the sum of losses; by default `default_curvature` for what b may spend of epsilon. What
      `regularizer.l2` has of it is not added again.
    - tolerance: in [1e-12, 1]. Public target of the solver: theta lies within tolerance zeta/Delta of the minimiser. By
      default 1e-6; 1e-9 with a solver share, whose noise is made for it; 1e-3 where cvxpy solves
      (`solvers.composite.kind`), which certifies half as many digits; more where the noise is so long that rounding
      asks for it (`base.reachable`).
    - solver_share: in [0, 1): share of the budget that pays for noise against the solver's error; 0 adds none. The
      result is put back into a ball or box; what is within reach of that noise of a wall, or with l1 of 0, is there
      again.
    - region: F; needed for a loss that is not bounded everywhere.
    - features: the number of features, if X holds only p of them: theta is then these coordinates of a release of all,
      as of `dperm.mechanisms.cms11.release`. Not with a region, a regularizer other than l2 or a solver share.
    - columns: places of X's columns among `features`, of which all others are 0 in every record; then theta has
      `features` numbers. There the minimiser is -b/Delta, which is exact but for its own rounding. Not with a region or
      a regularizer other than l2.
    - weights: shape (n,); of the records' losses, in [0, loss.weight_bound] (DomainViolation if not); without them all
      are 1. Not with sparse X.
    """
    y = loss.targets_of(y, domain)
    X, y, weights = weighted(X, y, loss, weights)
    features = X.shape[1] if features is None else features
    if columns is not None:
        if composite.kind(regularizer, region) != "smooth":
            raise ValueError("columns go with no regularizer but l2 and with no region: pass X with all of its columns")

        def apart(*, tilt, ridge, **fixed):
            part = composite.minimise(loss, X, y, ridge=ridge, tilt=tilt[:, columns], weights=weights, **fixed)
            theta = -tilt / (ridge + regularizer.l2)
            theta[:, columns] = 0.0
            rounding = np.finfo(float).eps * np.linalg.norm(theta, axis=1)
            theta[:, columns] = part.theta
            return replace(part, theta=theta, certificate=np.hypot(part.certificate, rounding))

        return _released(
            apart, features, features, loss, domain, budget, neighbours, calibration, curvature, rng, repeats,
            tolerance, solver_share, regularizer, region,
        )  # fmt: skip
    if features != X.shape[1] and (composite.kind(regularizer, region) != "smooth" or solver_share > 0):
        raise ValueError(
            f"features={features} beside {X.shape[1]} columns of X: only l2, no region and no solver_share go with a "
            "part of the columns"
        )

    def solve(**fixed):
        return composite.minimise(loss, X, y, weights=weights, **fixed)

    return _released(
        solve, X.shape[1], features, loss, domain, budget, neighbours, calibration, curvature, rng, repeats, tolerance,
        solver_share, regularizer, region,
    )  # fmt: skip


def release_gram(
    G: np.ndarray,
    c: np.ndarray,
    *,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    curvature: float | None = None,
    rng: np.random.Generator,
    repeats: int = 1,
    tolerance: float | None = None,
    solver_share: float = 0.0,
    regularizer: Regularizer = NOTHING,
    region: Region = EVERYWHERE,
    records: tuple[np.ndarray, np.ndarray] | None = None,
) -> Release:
    """Release what `release` does with the squared loss, from X'X and X'y: all that this loss knows of the records.

    - c: shape (p,); X'y, of targets that `Loss.targets_of` has passed: here nothing of them can be checked any more.
    - records: X and y themselves, where G and c are their moments by `solvers.moments`: without them the certificate
      takes G and c as exact, and many records may miss the target.
    """

    def solve(**fixed):
        return composite.minimise_quadratic(G, c, records=records, **fixed)

    return _released(
        solve, len(G), len(G), losses.squared(), domain, budget, neighbours, calibration, curvature, rng, repeats,
        tolerance, solver_share, regularizer, region,
    )  # fmt: skip


def _released(
    solve: Callable[..., newton.Solution],
    columns: int,
    features: int,
    loss: Loss,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    curvature: float | None,
    rng: np.random.Generator,
    repeats: int,
    tolerance: float | None,
    solver_share: float,
    regularizer: Regularizer,
    region: Region,
) -> Release:
    """Draw the tilts, let `solve` minimise, and hide the solver's error if the budget has a share for it."""
    solver_share = checked_share(solver_share)
    general = composite.kind(regularizer, region) == "general"
    if solver_share > 0 and general:
        raise InvalidBudget(
            f"solver_share={solver_share:g} adds noise to theta, which then leaves a set or a structure that only "
            "cvxpy knows; leave it 0, or take a ball or a box"
        )
    tolerance = None if tolerance is None else target(tolerance)
    domain = searched(domain, region, features)
    # First for the whole of epsilon, which a message then names as it was declared.
    curvature_or_default(curvature, loss, domain, budget.epsilon)
    tilting = budget.share(1 - solver_share)
    curvature = curvature_or_default(curvature, loss, domain, tilting.epsilon)
    added = max(curvature - regularizer.l2, 0.0)
    given = {"curvature": added + regularizer.l2, "calibration": calibration, "neighbours": neighbours}
    try:
        noise, guarantee = calibrate(loss, domain, tilting, **given)
    except InvalidBudget as error:
        if solver_share == 0:
            raise
        raise InvalidBudget(
            f"{error}; of epsilon={budget.epsilon:g} solver_share={solver_share:g} leaves the tilt "
            f"{tilting.epsilon:g}, and solver_share=0 all"
        ) from error
    zeta, _ = bounds(loss, domain)
    if tolerance is None:
        usual = 1e-3 if general else COVERED_TARGET if solver_share > 0 else TARGET
        tolerance = reachable(usual, noise.length(features) / zeta, budget)
    tilt = noise.marginal((repeats, columns), features, rng)
    fixed = {"regularizer": regularizer, "region": region, "tolerance": tolerance * zeta}
    solution = solve(ridge=added, tilt=tilt, **fixed)
    theta, tau = solution.theta, tolerance * zeta / (added + regularizer.l2)
    if solver_share > 0:
        sticky = [0.0] * bool(regularizer.l1 > 0) + [region.low, region.high]
        theta = covered(theta, 2 * tau, budget.share(solver_share), rng, sticky=sticky)
        theta = project(theta, region)
        guarantee = "proved" if guarantee == "proved_exact" else guarantee
    strength = Noise(deviation(noise, features) / zeta)
    reached = solution.certificate <= tau
    return Release(theta, solution.certificate, reached, guarantee, budget_event(budget), noise=strength)
