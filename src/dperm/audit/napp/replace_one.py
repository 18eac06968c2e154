"""Neighbours on a line for NAPP-ERM's corrected forms under replace-one (li2021; docs/privacy.md).

The forms of `erm` alone: the others differ from it in the public penalty, which no record changes.

`swap`. (1, Y) in place of (1, -Y) moves the force by 2 Y, but both curve up to the point e where the loss goes on
linearly, and cancel. A slightly shorter record (x, -Y) curves on to e/x, where (1, Y) has stopped: on (e, e/x) nearly
2 zeta of force and one whole curvature act together. Gaussian noise needs a stretch that holds more than delta, and
pays for it with force.

Neighbouring relation: replace-one.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from dperm.audit.napp import cases
from dperm.audit.napp.cases import Pair, Variant
from dperm.audit.napp.problem import Bounds, Problem
from dperm.domain import Budget

# By how much the turned record is shorter, and where the loss starts to go on linearly, against Y = 1.
_SHORTER = (1e-3, 1e-2, 0.03, 0.1, 0.2, 0.4)
_EDGES = (cases.EDGE, 0.1)


def swapped(problem: Problem) -> Iterator[Pair]:
    """Give the pairs of which one record is turned around, where only one of the two curves.

    The loss is squared with |y| <= 1, continued linearly.
    """
    for short in _SHORTER:
        at = np.nextafter(problem.eta_bound / (1 - short), 0)
        for place in cases.places(problem):
            thin, first = cases.pressed(problem, (1 - short, -1.0), 1.0, at, float(place))
            yield Pair(problem, first, thin.and_one(1.0, 1.0), f"swap: (1, 1) for ({1 - short:g}, -1)")


def _erm(budget: Budget, calibration: str, edge: float) -> Problem:
    bounds = Bounds(1.0, 1 + edge, 1.0)
    return cases.squared(budget, calibration, eta_bound=edge, bounds=bounds, neighbours="replace")


VARIANTS: Mapping[str, Variant] = {
    "erm": Variant(
        lambda *given: (pair for edge in _EDGES for pair in swapped(_erm(*given, edge))),
        lambda *given: cases.mild(*given, neighbours="replace"),
    )
}
