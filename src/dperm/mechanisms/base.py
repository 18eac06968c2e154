"""What the batched cores share: the record of a release, and the bounds they may rely on."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.accounting import gaussian
from dperm.accounting.tilt import Record
from dperm.domain import Budget, Calibration, Domain, Guarantee, Mode, number
from dperm.errors import DomainViolation, InvalidBudget
from dperm.feasible import Region
from dperm.losses import Loss
from dperm.mechanisms.vacuous import Noise
from dperm.noise import Gaussian, SphericalLaplace

# The share of its budget that an estimator spends on hiding the solver's error where its user names none, and the
# solver's public target, as a share of zeta, with such a share and without.
SOLVER_SHARE, COVERED_TARGET, TARGET = 1e-3, 1e-9, 1e-6
# What of the noise's length a default target has to be at least; the most that such a target may come to.
_ROUNDED, _MOST_ROUNDED = 1e-12, 1e-3
# By how much the length of theta may be above the target for its distance.
_FURTHEST = 1e14
# Beyond these standard deviations of the noise that hides the solver's error a coordinate is not at a kink or a wall.
_REACH = 6
# Far beyond any use; further out, sums of squares and quotients would leave the doubles.
_LEAST, _MOST = 1e-100, 1e100
# Of a solver's target as a share of zeta: below it a gradient's rounding is in the way for any number of records.
LEAST_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Release:
    """What a batched core returns.

    - theta: shape (repeats, p); independent releases. Each of them spends the budget.
    - certificate: shape (repeats,); upper bound on the distance of each from the point that the proof speaks of, in
      units of theta.
    - converged: shape (repeats,); whether the certificate is within the public target; where it is not, nothing is
      promised of that row.
    - event: name of the `dp_accounting` event, or of ours in `dperm.accounting.events`, and its keyword arguments.
    - noise: how much there is, by public numbers; None where the core does not say.
    """

    theta: np.ndarray
    certificate: np.ndarray
    converged: np.ndarray
    guarantee: Guarantee
    event: tuple[str, dict[str, float]]
    mode: Mode = "science"
    noise: Noise | None = None


def budget_event(budget: Budget) -> tuple[str, dict[str, float]]:
    """Return the event of a release about which only its (epsilon, delta) is known."""
    return "EpsilonDeltaDpEvent", {"epsilon": budget.epsilon, "delta": budget.delta}


def searched(domain: Domain, region: Region, features: int) -> Domain:
    """Return the domain with the size of F for `theta_norm`: its own holds only if the search keeps to it."""
    return Domain(x_norm=domain.x_norm, y_bound=domain.y_bound, theta_norm=region.theta_norm(features))


# By which a loss is found to be bounded, over all theta or over some.
_UNBOUNDED, _BOUNDED = Domain(x_norm=1.0, y_bound=1.0), Domain(x_norm=1.0, y_bound=1.0, theta_norm=1.0)


def bounds(loss: Loss, domain: Domain) -> tuple[float, float]:
    """Return (zeta, lambda) of a mechanism whose theta stays within the domain's `theta_norm`.

    A GLM loss that is bounded for |u| <= R theta_norm only is read as continued linearly beyond: no theta of F meets
    the continuation, and the proof, which passes through minimisers near F, needs it (docs/privacy.md).

    - domain: as `searched` made it.
    - zeta, lam: bounds on the norm of one record's gradient and on the eigenvalues of its Hessian.
    """
    if math.isinf(domain.theta_norm):
        if not all(map(math.isfinite, loss.suprema(_UNBOUNDED))) and all(map(math.isfinite, loss.suprema(_BOUNDED))):
            raise DomainViolation(
                f"loss={loss.name!r} is bounded on a bounded set of theta only: declare the set's radius, or low and "
                "high, and y_bound; or take 'logistic' or 'smoothed_hinge' (two labels), or 'huber' (real targets)"
            )
        return bounds_everywhere(loss, domain)
    return loss.gradient_bound(domain), loss.curvature_bound(domain)


def bounds_everywhere(loss: Loss, domain: Domain) -> tuple[float, float]:
    """Return (zeta, lambda) of a mechanism that minimises over all of R^p.

    - domain: its `theta_norm` is ignored: nothing keeps the minimiser within it.
    - Raises DomainViolation: if the loss is bounded on part of R^p only: its minimiser may lie outside, where the
      bounds say nothing.
    """
    everywhere = Domain(x_norm=domain.x_norm, y_bound=domain.y_bound)
    for word, supremum in zip(("gradient", "curvature"), loss.suprema(everywhere), strict=True):
        if not math.isfinite(supremum):
            raise DomainViolation(
                f"loss={loss.name!r} has no bounded {word} over all theta, which is where this mechanism searches; "
                "take 'logistic' or 'smoothed_hinge' (two labels), or 'huber' (real targets)"
            )
    return loss.gradient_bound(everywhere), loss.curvature_bound(everywhere)


def weighted(
    X: np.ndarray, y: np.ndarray, loss: Loss, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the records that count, and their weights, which `loss` bounds; None where all of them count once."""
    return counted(X, y, loss.weights_of(weights, X.shape[0]))


def counted(X: Any, y: np.ndarray, weights: np.ndarray | None) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Return the records whose weight is above 0, with it: 0 times a slope that overflows would be no number."""
    if weights is None or (counts := weights > 0).all():
        return X, y, weights
    return X[counts], y[counts], weights[counts]


def record(loss: Loss, bounds: tuple[float, float], calibration: Calibration = "tight") -> Record:
    """Return what one record can do, for the theorems about tilts.

    - bounds: (zeta, lambda), which hold for every theta.
    - calibration: "separate" forgets that force and curvature are tied.
    """
    cap = None if calibration == "separate" else loss.cap
    return Record(*bounds, one_sided=loss.one_sided, cap=cap, weight=loss.weight_bound)


def curvature_or_default(curvature: float | None, loss: Loss, domain: Domain, epsilon: float) -> float:
    """Return the curvature asked for, or 2 lambda/epsilon, the least that kifer2012's Algorithm 1 allows.

    - epsilon: what pays for the curvature: no part of the budget that is spent on something else.
    """
    if curvature is not None:
        remedy = "it is Delta of the sum of losses; leave it out for 2 lambda/epsilon"
        return number("curvature", curvature, _LEAST, _MOST, ends="[]", error=InvalidBudget, remedy=remedy)
    # As a Python float: its division overflows to infinity in silence.
    default = 2 * bounds(loss, domain)[1] / float(epsilon)
    if not _LEAST <= default <= _MOST:
        raise InvalidBudget(
            f"epsilon={epsilon:g} makes the default curvature 2 lambda/epsilon = {default:g}, outside "
            f"[{_LEAST:g}, {_MOST:g}]; usual values of epsilon are 0.1 to 10"
        )
    return default


def check_steepness(loss: Loss, domain: Domain, curvature: float | None, epsilon: float, most: float) -> None:
    """Refuse a curvature so small that few records can make the solver miss its target: what a total fit must not do.

    - most: the largest lambda/Delta that is taken; docs/privacy.md, section 1, says what was seen at and beyond it.
    - Raises InvalidBudget: if lambda/Delta is larger. Public constants alone decide.
    """
    curvature = curvature_or_default(curvature, loss, domain, epsilon)
    lam = bounds(loss, domain)[1]
    # Room for the rounding of a curvature that was made to meet this.
    if lam > most * curvature * (1 + 1e-12):
        raise InvalidBudget(
            f"curvature={curvature:g} is too small beside lambda={lam:g}, the largest curvature of one record's loss: "
            "with clip=True no record may make fit fail, and with so little curvature a few records can keep the "
            f"solver from its target; raise curvature to {1.00001 * lam / most:g} or more"
        )


def check_nearness(least: float, modulus: float, zeta: float, tolerance: float) -> None:
    """Refuse a box so far from 0 that the last digit of theta is above the solver's target: of a total fit.

    - least: the length of its point nearest to 0.
    - modulus: m of the strong convexity; the target is a distance of tolerance zeta/m.
    - Raises DomainViolation: if the target is below 1e-14 of `least`. Fits failed from 1.1e-16 on.
    """
    most = _FURTHEST * tolerance * zeta / modulus
    if least > most:
        raise DomainViolation(
            f"low and high leave out 0, and no theta between them has a length below {least:.3g}: with clip=True no "
            f"record may make fit fail, and that is promised up to {most:.3g} here, for the last digit of a longer "
            "theta may be above the solver's target; move low and high towards 0, or raise tolerance"
        )


def target(tolerance: float) -> float:
    """Return the solver's public target, a share of zeta in [1e-12, 1]: above the rounding of a small data set."""
    remedy = "certificates hold with their rounding, which is above that; 1e-6 is usual"
    return number("tolerance", tolerance, LEAST_TOLERANCE, 1, ends="[]", remedy=remedy)


def aimed(tolerance: float | None, solver_share: float) -> float:
    """Return the solver's public target: the one asked for, or by default 1e-6, with a solver share 1e-9."""
    if tolerance is None:
        return COVERED_TARGET if solver_share > 0 else TARGET
    return target(tolerance)


def reachable(tolerance: float, length: float, budget: Budget) -> float:
    """Return a default target, or 1e-12 of the noise's length (in zeta; public): rounding leaves no finer one."""
    needed = max(tolerance, _ROUNDED * length)
    if needed > max(tolerance, _MOST_ROUNDED):
        raise InvalidBudget(
            f"epsilon={budget.epsilon:g} makes the noise {length:.3g} times as long as one record's gradient, so that "
            "no solver's target is above its rounding; raise epsilon (usual values are 0.1 to 10)"
        )
    return needed


def representable(scale: float, budget: Budget, remedy: str = "raise epsilon (usual values are 0.1 to 10)") -> float:
    """Return the scale of a noise, unless it is so large that its squares would overflow."""
    if not scale <= _MOST:
        raise InvalidBudget(
            f"epsilon={budget.epsilon:g}, delta={budget.delta:g} need noise of scale {scale:g}, above {_MOST:g}; "
            f"{remedy} or the curvature"
        )
    return scale


def checked_share(solver_share: float) -> float:
    """Return the share of the budget that hides the solver's error, or refuse it (solver_share: in [0, 1))."""
    remedy = "it is the share of the budget that hides the solver's error"
    return number("solver_share", solver_share, 0, 1, ends="[)", error=InvalidBudget, remedy=remedy)


def share_or_default(solver_share: float | None, *, printed: bool, coverable: bool = True) -> float:
    """Return an estimator's share of the budget for hiding the solver's error: as asked, or `SOLVER_SHARE` if possible.

    - printed: whether the constants are the printed ones, which know no such noise.
    - coverable: whether theta may be moved by noise and put back into its set.
    - Returns: in [0, 1); 0 leaves the release `proved_exact`.
    """
    if solver_share is not None:
        return solver_share
    return 0.0 if printed or not coverable else SOLVER_SHARE


def covering(sensitivity: float, budget: Budget) -> Gaussian | SphericalLaplace:
    """Return noise that hides a vector of this l2 sensitivity.

    - sensitivity: 2 tau for a solver that is certified to err by tau at most: under either relation two errors differ
      by no more.
    - Source: docs/privacy.md, section 5.
    """
    sensitivity = float(sensitivity)
    if budget.delta == 0:
        law, scale = SphericalLaplace, sensitivity / budget.epsilon
    else:
        law, scale = Gaussian, sensitivity / gaussian.gaussian_ratio(budget.epsilon, budget.delta)
    return law(representable(scale, budget, "raise solver_share (or leave it 0)"))


def covered(
    theta: np.ndarray, sensitivity: float, budget: Budget, rng: np.random.Generator, *, sticky: Iterable[Any] = ()
) -> np.ndarray:
    """Return what a solver found with noise that hides its error.

    - Shapes: theta (repeats, p); the result (repeats, p).
    - sticky: shape (p,); where exact minimisers have coordinates in their numbers: 0, if the penalty has a kink there,
      and walls of a box. Coordinates within `_REACH` standard deviations of the noise of one of these are put there,
      which is post-processing.
    """
    law = covering(sensitivity, budget)
    theta = theta + law.sample(theta.shape, rng)
    # E ||b||^2 = p (p + 1) scale^2 of the spherical law.
    each = law.scale * (math.sqrt(theta.shape[1] + 1) if isinstance(law, SphericalLaplace) else 1.0)
    for place in sticky:
        theta = np.where(np.abs(theta - place) <= _REACH * each, place, theta)
    return theta
