r"""Neighbours on a line made for each variant of NAPP-ERM (li2021): what is attacked, with its reason.

Neighbouring relation: add/remove; the neighbour holds one record more. For replace-one: `replaced`.

`gap` (MOOR, N4). {(0, 0)} has no curvature: S is flat on (0, Lambda/Lambda0), so theta jumps from 0 to Lambda/Lambda0
as |b| passes 2 Lambda, and is never between. With (1, 0) beside it, it often is.

`sign` (VS, N3). On {(0, 0)} theta < 0 never happens: b < 0 pushes to the side that theta^(1) took, which is the upper
one; b > 0 pulls to 0. With (1, -1), theta^(1) < 0 for all b > -1, and b in (-1, 1 - 2 Lambda) leaves theta below 0.

`support` (VS+, N2). b > 0 only shrinks: {(0, 0)} releases 0 whatever b is; with (1, 1), theta > 0 iff b < 1 - 2 Lambda.

`wall` (all that is ordinary objective perturbation). A record (1, -Y) has its full force, zeta2 = Y + e, and full
curvature just below the point e where the loss goes on linearly. Thin records (x small, y = Y) push theta there
without curving; `place` is where the noise then lies, for Gaussian noise out to its tail. log(1 + zeta3/(2 Lambda0))
and the shift by zeta act together. Poisson alike, with y = 0. Logistic has no such point: places of theta are tried.
SVM's smoothed hinge has it at 0, where a record (1, 1) just above has force -1 and curvature 1.

`outside` (N10, N12). A count of a Poisson model twenty times as large as the |l'| that its noise is made for, 1808, the
largest mean of li2021's simulations, and a row of norm sqrt(15) of a logistic one whose noise is made for ||x|| <= 1,
where lawful records (1, 0), or thin ones, hold against it.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm.audit.napp import problem as line
from dperm.audit.napp.problem import Problem, Records, records
from dperm.domain import Budget
from dperm.mechanisms.napp.noise import Bounds
from dperm.noise import Gaussian

# Where the squared loss starts to go on linearly: small against Y = 1.
EDGE = 0.02
# Share of 2 Lambda0 that the pushing records' curvature may have: records are only counted, so many are no matter.
_THIN = 1e-4
# zeta1 of Adult's rows: 15 features of at most 1.
_ADULT = math.sqrt(15)
# zeta2 = zeta3 of Poisson means up to e^7.5, the largest of li2021's simulations, and a count far outside.
_RANGE = Bounds(1.0, 1808.0, 1808.0)
_COUNT = 20 * _RANGE.zeta2
_PLACES = 5
_UNIT = Bounds(1.0, 1.0, 1.0)
# Lambda, small: the smallest of li2021's path is 0.05.
_SMALL = 0.1


class Pair(NamedTuple):
    """A problem and two neighbours."""

    problem: Problem
    data: Records
    neighbour: Records
    words: str


class Variant(NamedTuple):
    """What stands under one name in the ledger, by budget and calibration.

    `pairs` gives Pairs, each to be attacked; `probe` the problem whose own draws are held against its law.
    """

    pairs: Callable[[Budget, str], Iterator[Pair]]
    probe: Callable[[Budget, str], Problem]


NOBODY = records((0.0, 0.0))
# Data that leave theta free on both sides; for logistic with signs, for Poisson with counts.
PROBES = {
    "squared": records((1.0, 0.5), (0.6, -0.9), (-0.8, 0.7)),
    "logistic": records((1.0, 1.0), (0.6, -1.0), (-0.8, 1.0)),
    "smoothed_hinge": records((1.0, 1.0), (0.6, -1.0), (-0.8, 1.0)),
    "poisson": records((1.0, 2.0), (0.6, 0.0), (-0.8, 1.0)),
}


def places(problem: Problem) -> np.ndarray:
    """Return where the noise may lie when the record meets it: its middle, and if Gaussian as far as delta's tail."""
    law = line.symmetric(problem)
    if not isinstance(law, Gaussian):
        return np.zeros(1)
    return np.linspace(0.0, 1.0 - special.ndtri(problem.budget.delta), _PLACES) * law.scale


def pressed(problem: Problem, record: tuple[float, float], top: float, at: float, place: float) -> tuple:
    """Return thin records, and them with `record` (x, y), so that with it b = -place puts theta at `at` > 0.

    `top` is y of the thin records: they pull up.
    """
    point = np.array([at])
    alone = records(record)
    push = float((line.force(problem, point, alone) + line.slope(problem, point))[0]) + place
    unit = -float(line.force(problem, np.zeros(1), records((1.0, top)))[0])
    number = max(1.0, math.ceil(push**2 / (unit**2 * _THIN * 2 * problem.floor)))
    x = push / (number * unit)
    for _ in range(60):
        # A fixed point: at x t the pull is a little less than at 0.
        pull = -float(line.force(problem, point, records((x, top)))[0]) / x
        x = push / (number * pull)
    data = records((x, top), count=number)
    return data, data.and_one(*record)


def walled(problem: Problem, words: str) -> Iterator[Pair]:
    """Give the pairs whose record has its full force and its full curvature where the noise lies."""
    record, top = ((problem.bounds.zeta1, 0.0), math.floor(problem.bounds.zeta2)) if problem.loss == "poisson" else (
        (problem.bounds.zeta1, -1.0), 1.0
    )  # fmt: skip
    at = problem.eta_bound if math.isfinite(problem.eta_bound) else 1.0
    at = np.nextafter(at / problem.bounds.zeta1, 0)
    for place in places(problem):
        yield Pair(problem, *pressed(problem, record, top, at, float(place)), f"wall, {words}")


def squared(budget: Budget, calibration: str, **form: Any) -> Problem:
    """Return the squared loss with |y| <= 1, continued linearly from `EDGE` on."""
    form = {"bounds": Bounds(1.0, 1 + EDGE, 1.0), "eta_bound": EDGE, **form}
    return Problem("squared", budget=budget, calibration=calibration, **form)


def wide(budget: Budget, calibration: str, **form: Any) -> Problem:
    """Return the squared loss with |y| <= 1, continued linearly from 1 on, and Lambda = Lambda0."""
    made = Problem("squared", Bounds(1.0, 2.0, 1.0), budget, calibration, **{"eta_bound": 1.0, **form})
    return replace(made, strength=made.floor) if "strength" not in form else made


def mild(budget: Budget, calibration: str, **form: Any) -> Problem:
    """Return `wide` with a small Lambda, for events that Lambda is in the way of."""
    return wide(budget, calibration, strength=_SMALL, **form)


def gap(problem: Problem) -> Iterator[Pair]:
    """Give the pair whose data leave a gap between 0 and Lambda/Lambda0 (problem: with MOOR)."""
    words = "gap: theta in (0, Lambda/Lambda0), where the penalty has no curvature, with (1, 0) beside (0, 0)"
    yield Pair(problem, NOBODY, NOBODY.and_one(1.0, 0.0), words)


def signed(problem: Problem) -> Pair:
    """Return the pair of which one side never gives theta < 0 (problem: VS, on both sides of 0)."""
    return Pair(problem, NOBODY, NOBODY.and_one(1.0, -1.0), "sign: theta < 0, with (1, -1) beside (0, 0)")


def _sign(problem: Problem) -> Iterator[Pair]:
    yield signed(problem)


def _support(problem: Problem) -> Iterator[Pair]:
    yield Pair(problem, NOBODY, NOBODY.and_one(1.0, 1.0), "support: theta > 0, with (1, 1) beside (0, 0)")


def _plain(words: str, **form: Any) -> Variant:
    def make(budget, calibration):
        return squared(budget, calibration, **form)

    return Variant(
        lambda budget, calibration: walled(make(budget, calibration), words),
        lambda budget, calibration: mild(budget, calibration, **form),
    )


def _printed(pairs: Callable[[Problem], Iterator[Pair]], make: Callable[..., Problem], **form: Any) -> Variant:
    return Variant(lambda *given: pairs(make(*given, **form)), lambda *given: make(*given, **form))


def _net(budget: Budget, calibration: str) -> Problem:
    """Return an elastic net with Lambda kappa = Lambda0: MOOR's valid form."""
    made = squared(budget, calibration, target="elastic_net", moor=True, kappa=0.5)
    return replace(made, strength=2 * made.floor)


def recycled(budget: Budget, calibration: str) -> Problem:
    """Return ridge with Lambda = 2 Lambda0, recycled: its modulus is public, and the noise gets what it leaves."""
    made = squared(budget, calibration, target="ridge", retrieval="recycle")
    return replace(made, strength=2 * made.floor)


def _unclipped(budget: Budget, calibration: str) -> Iterator[Pair]:
    made = _poisson(budget, calibration)
    for times in (1, 10, 20, 40):
        number = times * _RANGE.zeta2
        data = records((1.0, 0.0), count=number)
        words = f"outside: y = {_COUNT:.0f} beside {number:.0f} records (1, 0), for zeta2 = {_RANGE.zeta2:.0f}"
        yield Pair(made, data, data.and_one(1.0, _COUNT), words)


def _poisson(budget: Budget, calibration: str) -> Problem:
    """Return Poisson regression with counts of 20 times 1808, whose noise is made for |l'| <= 1808."""
    return Problem("poisson", _RANGE, budget, calibration, strength=_SMALL, y_bound=_COUNT)


def _clipped(budget: Budget, calibration: str) -> Problem:
    """Return Poisson counts y <= 2, the loss continued linearly beyond |eta| <= log 2: |l'| <= 2, l'' <= 2."""
    return Problem(
        "poisson", Bounds(1.0, 2.0, 2.0), budget, calibration, strength=_SMALL, eta_bound=math.log(2),
        y_bound=2.0,
    )  # fmt: skip


def _long(budget: Budget, calibration: str) -> Problem:
    """Return Adult's rows, whose noise is made for ||x|| <= 1."""
    return Problem("logistic", _UNIT, budget, calibration, strength=_SMALL, x_norm=_ADULT, y_bound=None)


def _long_row(made: Problem, words: str) -> Iterator[Pair]:
    """Give the pairs that a row as long as Adult's is added to."""
    for eta in (EDGE, 1.0):
        for place in places(made):
            data = pressed(made, (_ADULT, -1.0), 1.0, eta / _ADULT, float(place))
            yield Pair(made, *data, words)


def _adult(budget: Budget, calibration: str) -> Problem:
    return Problem("logistic", Bounds(_ADULT, 1.0, _ADULT**2 / 4), budget, calibration, strength=_SMALL, y_bound=None)


def hinge(budget: Budget, calibration: str) -> Problem:
    """Return NAPP-ERM without MOOR for the SVM's smoothed hinge: |l'| <= 1, l'' <= 1 (li2021, Section 6)."""
    return Problem("smoothed_hinge", _UNIT, budget, calibration, strength=_SMALL, y_bound=None)


def _hinged(budget: Budget, calibration: str) -> Iterator[Pair]:
    made = hinge(budget, calibration)
    for at in (1e-3, EDGE):
        for place in places(made):
            # The record pulls up: what makes it count twice is noise that pushes down.
            data = pressed(made, (1.0, 1.0), 1.0, at, -float(place))
            yield Pair(made, *data, "wall, smoothed hinge: full force and full curvature just above theta = 0")


def _boxed(budget: Budget, calibration: str, **form: Any) -> Problem:
    """Return the published VS inside one orthant, Theta = [0, 1]."""
    return squared(budget, calibration, variant="vs", box=(0.0, 1.0), **form)


_ORTHANT = Variant(
    lambda *given: walled(_boxed(*given), "VS in Theta = [0, 1]"),
    lambda budget, calibration: replace(mild(budget, calibration, variant="vs"), box=(0.0, 1.0)),
)
_ERM = _plain("NAPP-ERM without MOOR, lasso")
_BOTH_SIDES = {"variant": "vs", "box": (-1.0, 1.0)}
# As published. "-moor": with MOOR.
PRINTED: Mapping[str, Variant] = {
    "erm": _ERM,
    "erm-moor": _printed(gap, wide, moor=True),
    "vs": _printed(_sign, mild, **_BOTH_SIDES),
    "vs-moor": Variant(
        lambda *given: (
            pair
            for pairs, make in ((_sign, mild), (gap, wide))
            for pair in pairs(make(*given, moor=True, **_BOTH_SIDES))
        ),
        lambda *given: mild(*given, moor=True, **_BOTH_SIDES),
    ),
    "vs-orthant": _ORTHANT,
    "vs-moor-orthant": _printed(gap, wide, variant="vs", moor=True, box=(0.0, 2.0)),
    "vs_plus": _printed(_support, mild, variant="vs_plus"),
    "vs_plus-moor": _printed(_support, mild, variant="vs_plus", moor=True),
    "erm-unclipped": Variant(_unclipped, _poisson),
    "erm-unscaled": Variant(
        lambda *given: _long_row(_long(*given), "outside: a row of norm sqrt(15) where zeta1 = 1"), _long
    ),
    "erm-hinge": Variant(_hinged, hinge),
}
# The valid forms: docs/papers/li2021.md.
CORRECTED: Mapping[str, Variant] = {
    "erm": _ERM,
    "erm-moor": Variant(
        lambda *given: walled(_net(*given), "MOOR on an elastic net with Lambda kappa = Lambda0"),
        _net,
    ),
    "vs": _plain("VS as NAPP-ERM in Theta = [0, 1]", variant="vs", box=(0.0, 1.0)),
    "vs_plus": _plain("VS+ as NAPP-ERM with a public lasso", variant="vs_plus"),
    "erm-recycled": Variant(lambda *given: walled(recycled(*given), "ridge, Lambda = 2 Lambda0, recycled"), recycled),
    "erm-clipped": Variant(lambda *given: walled(_clipped(*given), "Poisson, clipped and continued"), _clipped),
    "erm-scaled": Variant(
        lambda *given: _long_row(_adult(*given), "wall, logistic: a row of norm sqrt(15), and zeta1 = sqrt(15)"), _adult
    ),
    "erm-hinge": Variant(_hinged, hinge),
}


def find(name: str, calibration: str) -> Variant:
    """Return what a name of `PRINTED`, or of `CORRECTED` for the other calibrations, stands for in the ledger."""
    return (PRINTED if calibration == "paper" else CORRECTED)[name]
