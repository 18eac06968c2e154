r"""NAPP-VS with noise cut off at a point c < 0 (li2021, Equations 8, 9 and 10; erratum N2).

    theta = argmin_{theta in Theta} sum_i l(<x_i, theta>, y_i) + P(theta) + b'|theta|,   b of NAPP-ERM's law given b > c

in every coordinate; P is that of `dperm.mechanisms.napp` without MOOR. c = 0 is its VS+ and c = -infinity its VS; what
lies between is offered here.

calibration="paper" draws that, with the printed law, and promises nothing: where b cannot be, there are values that
theta cannot have, and which values these are depends on the data.

calibration="corrected" runs what is left of it with a proof: Gaussian noise, Theta within one orthant, and a c so low
that it is hardly ever met. Let A be {b > c}, beta = P(not A) before the cut. A law given A is beta away from the law
itself in total variation, and so are the laws of theta. So if the uncut mechanism is (epsilon, delta')-private,

    P(theta in E | D) <= e^epsilon P(theta in E | D') + delta' + (1 + e^epsilon) beta

of the cut one, which is (epsilon, delta)-private with delta' = delta/2 and (1 + e^epsilon) beta <= delta/2. Its uncut
mechanism is NAPP-VS in one orthant, calibration `corrected` (docs/privacy.md, section 10, Theorem N), where b'|theta|
is linear. c that is nearer to 0 is refused.

Neighbours: add/remove, and replace-one for `corrected`. The statement is of the exact minimiser (`proved_exact`), with
the solver's certificate.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from dperm.domain import Budget, Calibration, Domain, Neighbours, number
from dperm.errors import InvalidBudget
from dperm.mechanisms import napp
from dperm.mechanisms.base import TARGET, Release, budget_event
from dperm.mechanisms.napp import limit, losses
from dperm.mechanisms.napp.certify import Composite, certified
from dperm.mechanisms.napp.noise import PrintedSpherical
from dperm.mechanisms.napp.validity import orthant
from dperm.noise import Gaussian, SphericalLaplace

CALIBRATIONS = ("paper", "corrected")

# Vectors drawn at once of a law whose coordinates are not independent, and how many may all miss {b > c}.
_BLOCK, _MISSES = 4096, 1 << 22
_GAP = 1e-9


@dataclass(frozen=True)
class Truncated:
    """A law that is symmetric in every coordinate, given that every coordinate is above `point`, c <= 0."""

    law: Gaussian | SphericalLaplace | PrintedSpherical
    point: float

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw vectors along the last axis of `shape`."""
        if isinstance(self.law, Gaussian):
            # Coordinates are independent: by inversion.
            below = special.ndtr(self.point / self.law.scale)
            return self.law.scale * special.ndtri(below + (1 - below) * rng.random(shape))
        found, wanted, missed = [], math.prod(shape[:-1]), 0
        while wanted > 0:
            drawn = self.law.sample((_BLOCK, shape[-1]), rng)
            above = drawn[(drawn > self.point).all(axis=1)][:wanted]
            wanted, missed = wanted - len(above), 0 if len(above) else missed + _BLOCK
            found.append(above)
            if missed >= _MISSES:
                raise ValueError(f"point={self.point:g}: next to no vector of {shape[-1]} features lies above it")
        return np.concatenate([np.empty((0, shape[-1])), *found]).reshape(shape)


def cut(law: Gaussian, point: float, features: int) -> float:
    """Return beta = P(some b_j <= c) of independent coordinates."""
    return float(-np.expm1(features * special.log_ndtr(-point / law.scale)))


def highest(law: Gaussian, beta: float, features: int) -> float:
    """Return the largest c with P(some b_j <= c) <= beta (beta: in (0, 1))."""
    return float(law.scale * special.ndtri(-math.expm1(math.log1p(-beta) / features)))


@dataclass(frozen=True)
class Plan:
    """Everything about a release that does not depend on the data: the uncut mechanism's plan, and the law of b."""

    base: napp.Plan
    law: Truncated


def plan(
    loss: str,
    features: int,
    *,
    strength: float,
    point: float,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    penalty: str = "lasso",
    share: float = 0.5,
    eta_bound: float = math.inf,
    low: float | np.ndarray = -math.inf,
    high: float | np.ndarray = math.inf,
    bounds: napp.Bounds | None = None,
) -> Plan:
    """Return what `release` would do, without looking at any data; arguments and errors are those of `release`."""
    if calibration not in CALIBRATIONS:
        raise ValueError(f"calibration={calibration!r} is not one of {', '.join(map(repr, CALIBRATIONS))}")
    number("point", point, -math.inf, 0, remedy="it is c; 0 is variant='vs_plus' of `napp`, -inf its 'vs'")
    uncut = budget
    if calibration == "corrected":
        if budget.delta == 0:
            raise InvalidBudget(
                "delta=0 with calibration='corrected': what b cannot be shows in theta at any c (erratum N2), so no "
                "epsilon holds; give a delta above 0"
            )
        uncut = Budget(budget.epsilon, budget.delta / 2)
    base = napp.plan(
        loss, features, penalty=penalty, strength=strength, domain=domain, budget=uncut, neighbours=neighbours,
        calibration=calibration, variant="vs", share=share, eta_bound=eta_bound, low=low, high=high, bounds=bounds,
    )  # fmt: skip
    if calibration == "corrected":
        beta = budget.delta / 2 / (1 + math.exp(min(budget.epsilon, 700.0)))
        valid = highest(base.law, beta, features)
        if point > valid:
            raise InvalidBudget(
                f"point={point:g} is met with a probability that delta={budget.delta:g} does not cover: take {valid:g} "
                "or below, or variant='vs' of `napp`"
            )
    return Plan(base, Truncated(base.law, point))


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: str,
    *,
    strength: float,
    point: float,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    rng: np.random.Generator,
    repeats: int = 1,
    penalty: str = "lasso",
    share: float = 0.5,
    eta_bound: float = math.inf,
    low: float | np.ndarray = -math.inf,
    high: float | np.ndarray = math.inf,
    bounds: napp.Bounds | None = None,
) -> Release:
    """Release `repeats` estimates with b cut at c = point < 0 (li2021, Equations 8 to 10, Section 3.5; erratum N2)."""
    made = plan(
        loss, X.shape[1], strength=strength, point=point, domain=domain, budget=budget, neighbours=neighbours,
        calibration=calibration, penalty=penalty, share=share, eta_bound=eta_bound, low=low, high=high, bounds=bounds,
    )  # fmt: skip
    base, noise = made.base, made.law.sample((repeats, X.shape[1]), rng)
    continued = losses.make(loss, eta_bound)
    y = continued.targets_of(y, domain)
    proved = calibration == "corrected"
    # The cut law is not symmetric: in an orthant of other signs b'|theta| tilts to the other side.
    noise = noise * orthant(base.box) if proved else noise
    problems = limit.problems(loss, X[None], y[None], eta_bound=eta_bound)
    found = limit.path(
        problems, noise, base.scheme, np.array([strength]), variant="erm" if proved else "vs",
        extra_l1=base.extra_l1, box=base.box, tolerance=_GAP,
    )  # fmt: skip
    theta, converged = found.theta[:, 0].copy(), found.converged[:, 0].copy()
    certificate = np.full(repeats, math.inf)
    if proved:
        aim = TARGET * base.bounds.zeta12
        composite = Composite(continued, X, y, noise, base.extra_l1, base.scheme, strength, base.box)
        theta, known = certified(composite, theta, aim, base.bend)
        certificate, converged = known / base.modulus, known <= aim
    return Release(theta, certificate, converged, "proved_exact" if proved else "none", budget_event(budget))
