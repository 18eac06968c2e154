r"""NAPP-ERM with 2 and 16 features (li2021, erratum N1): the small ball at 0 exactly, and the mechanism's own draws.

The ball. Logistic loss, ridge with weight w = max(Lambda, Lambda0), no record against one (e_1, y = 1). Then

    theta = -b/(2 w) without it,   b_D(theta) = sigma(-theta_1) e_1 - 2 w theta with it,

and the density of theta is that of b there times the Jacobian (2 w)^{p-1} (2 w + h sigma'(theta_1)), h = 0 or 1. For
||b|| ~ Gamma(k, s), uniform direction,

    f(b) = Gamma(p/2)/(2 pi^{p/2}) ||b||^{1-p} gamma_{k,s}(||b||),

with the printed k = 1 infinite at 0 once p >= 2: P(||theta|| <= a) = 1 - e^{-2 w a/s} falls like a without the record
and like a^p with it, so that their ratio has no bound. With k = p it is e^{1/(2 s)} at most, times the Jacobian's.
P with the record is a quadrature over (theta_1, ||theta_{-1}||).

The draws (`drawn`). Sixteen features, the records' x along the first, the mechanism's own sampler and solver; events
are chosen on draws of their own.

Neighbouring relation: add/remove.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm.audit import columns
from dperm.audit.events import Event
from dperm.audit.linear_targets import LinearData
from dperm.audit.napp import cases
from dperm.audit.napp.problem import FEATURES, Problem
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.mechanisms.napp.noise import Bounds, PrintedSpherical

# P(||theta|| <= a) without the record: with it, 16 features make it all but 0.
_SEEN = 0.01
_NODES = 200
# A release with 16 features takes a third of a millisecond, most of it for its certificate.
_SHARE, _LEAST_DRAWS, _MOST_DRAWS = 50, 800, 10_000
_LOGISTIC = Bounds(1.0, 1.0, 0.25)
# Half of the smallest Lambda of li2021's path: theta = 0 is then a small cube of b.
_SMALL = 0.025


def exact_ball(budget: Budget, calibration: str, features: int) -> dict[str, Any]:
    """Return the exact attack, delta = 0, that sees whether theta is in a small ball at 0, as `columns.on_a_line`."""
    problem = Problem("logistic", _LOGISTIC, budget, calibration, target="ridge", strength=_SMALL, y_bound=None)
    weight = max(problem.strength, problem.floor)
    law = problem.plan(features).law
    shape = 1 if isinstance(law, PrintedSpherical) else features
    radius = law.scale * float(special.gammaincinv(shape, _SEEN)) / (2 * weight)
    p, q = _SEEN, with_record(radius, weight, shape, law.scale, features)
    found = columns.over_outcomes(lambda inside: np.array([inside, 1 - inside]), p, q, delta=budget.delta)
    return {**found, "attack": "exact law of a ball", "event": f"||theta|| <= {radius:.4g}"}


def with_record(radius: float, weight: float, shape: float, scale: float, features: int) -> float:
    """Return P(||theta|| <= radius) with the record (e_1, 1) alone, p >= 2, ||b|| ~ Gamma(shape, scale), `weight` w.

    The radius is so small that b_D(theta) = 0 lies outside.
    """
    nodes, gauss = np.polynomial.legendre.leggauss(_NODES)
    # theta = radius t (cos a, sin a e), a from 0 to pi.
    t, a = (nodes[:, None] + 1) / 2, math.pi * (nodes[None, :] + 1) / 2
    first, rest = radius * t * np.cos(a), radius * t * np.sin(a)
    length = np.hypot(special.expit(-first) - 2 * weight * first, 2 * weight * rest)
    log_f = special.gammaln(features / 2) - math.log(2) - features / 2 * math.log(math.pi)
    log_f = (
        log_f - (features - shape) * np.log(length) - length / scale - shape * math.log(scale) - special.gammaln(shape)
    )
    # The sphere that theta_{-1}'s direction lies on: 2 points for p = 2.
    log_sphere = math.log(2) + (features - 1) / 2 * math.log(math.pi) - special.gammaln((features - 1) / 2)
    log_volume = (features - 1) * np.log(radius * t) + (features - 2) * np.log(np.sin(a)) + log_sphere
    curved = special.expit(first) * special.expit(-first)
    log_det = (features - 1) * math.log(2 * weight) + np.log(2 * weight + curved)
    return float(gauss @ np.exp(log_f + log_volume + log_det) @ gauss * radius * math.pi / 4)


def neighbours(label: float) -> tuple[LinearData, LinearData]:
    """Return a record without features, whose y changes nothing, alone and with (e_1, label) beside it."""
    X = np.zeros((2, FEATURES))
    X[1, 0] = 1.0
    return (X[:1], np.ones(1)), (X, np.array([1.0, label]))


def drawn(
    row: Mapping[str, Any], calibration: str, draws: int, confidence: float, rng: np.random.Generator
) -> tuple[str, dict[str, Any]]:
    """Return in words, and as `columns.sampled`, the attack by sampling the mechanism's own code with 16 features.

    The job's `draws` would take too long at p = 16: there are fewer.
    """
    made = (PRINTED if calibration == "paper" else CORRECTED)[row["variant"]]
    problem = made.make(Budget(row["epsilon"], row["delta"]), calibration)

    def draw(data, repeats, rng):
        return problem.released(*data, repeats, rng)

    data, neighbour = neighbours(made.label)
    found = columns.sampled(
        Target(draw=draw, centre=lambda _: np.zeros(FEATURES)), data, neighbour, delta=row["delta"],
        draws=min(draws, max(_LEAST_DRAWS, min(draws // _SHARE, _MOST_DRAWS))), confidence=confidence, rng=rng,
        events=made.events(problem),
    )  # fmt: skip
    return f"{FEATURES} features, {made.words}", found


def _logistic(budget: Budget, calibration: str) -> Problem:
    return Problem("logistic", _LOGISTIC, budget, calibration, strength=_SMALL, y_bound=None)


def _in_gap(problem: Problem) -> tuple[Event, ...]:
    end = problem.strength / problem.floor

    def score(outputs):
        # Away from 0 and from the end by more than a solver may miss.
        first = np.abs(outputs[:, 0]) / end
        return ((first > 0.01) & (first < 0.99)).astype(float)

    return (Event("1 if theta_1 is in the gap, else 0:", score),)


class Draws(NamedTuple):
    """What is drawn with sixteen features.

    `make` maps budget and calibration to the problem, `label` is y of the record that differs, `events` maps the
    problem to events besides the sampler's own.
    """

    make: Callable[[Budget, str], Problem]
    label: float
    words: str
    events: Callable[[Problem], tuple[Event, ...]] = lambda problem: ()


_SIGN, _SUPPORT = "sign: theta_1 < 0, with (e_1, -1)", "support: theta_1 > 0, with (e_1, 1)"
_HALF_LINES = "half-lines, with (e_1, 1)"
_BALL = Draws(_logistic, 1.0, "ball: theta = 0, with (e_1, 1)")
PRINTED: Mapping[str, Draws] = {
    "erm": _BALL,
    "erm-moor": Draws(cases.PRINTED["erm-moor"].probe, 0.0, "gap: theta_1 in it, with (e_1, 0)", _in_gap),
    "vs": Draws(cases.PRINTED["vs"].probe, -1.0, _SIGN),
    "vs-moor": Draws(cases.PRINTED["vs-moor"].probe, -1.0, _SIGN),
    "vs_plus": Draws(cases.PRINTED["vs_plus"].probe, 1.0, _SUPPORT),
    "vs_plus-moor": Draws(cases.PRINTED["vs_plus-moor"].probe, 1.0, _SUPPORT),
}
CORRECTED: Mapping[str, Draws] = {
    "erm": _BALL,
    **{name: Draws(cases.CORRECTED[name].probe, 1.0, _HALF_LINES) for name in ("erm-moor", "vs", "vs_plus")},
}
