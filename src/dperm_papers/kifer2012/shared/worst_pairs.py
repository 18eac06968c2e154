"""Pairs of data sets on the line that tell objective perturbation's laws apart the most, by a search over targets.

A pair has at most two records a side. Huber: the target of the record that differs runs over the noise's range, and far
beyond it; logistic and squared loss: over what their domains allow. There is a common record or none. For Gaussian
noise all pairs are compared on a rough cut, at the epsilon where the worst there spends all of delta; the worst is then
computed exactly, and again at the epsilon that it spends. For gamma noise all of them are exact.

Neighbours: add/remove (adding: D + d against D; removing: D against D + d), or replace-one.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import optimize

from dperm.domain import Budget, Domain, Neighbours
from dperm.laws.quadrature import Law, Noise, Pair
from dperm.losses import Loss
from dperm.noise import Gaussian, SphericalLaplace
from dperm_papers.kifer2012.shared import quadrature

# Records of a data set: (x, y).
Records = tuple[tuple[float, float], ...]
# A target so far off that a Huber loss pulls with full force wherever theta is.
_FAR = 1e6
# Targets of the record that differs, in units of the noise's scale over Delta.
_TARGETS = {Gaussian: np.linspace(0, 8, 41), SphericalLaplace: np.array([0.0, 0.5, 1.0, 2.0, 4.0, 8.0])}
# Points of the cut that pairs are compared by before the best is computed exactly.
_ROUGH = 1000
# Log-ratios so near each other are equal.
_TIE = 1e-9
# How near the epsilon that the worst spends there is found, in epsilons, and how often the exact worst is looked for.
_NEAR, _ROUNDS = 1e-3, 5


class Case(NamedTuple):
    """A mechanism on the line that a claim is about.

    `domain` is of a record, with a bound on theta where the loss needs one; `l1` the weight of |theta|; `low` and
    `high` bound the set.
    """

    row: str
    loss: Loss
    domain: Domain
    l1: float = 0.0
    low: float = -math.inf
    high: float = math.inf

    def zeta_and_lambda(self) -> tuple[float, float]:
        """Return the bounds on one record's gradient and curvature."""
        return self.loss.gradient_bound(self.domain), self.loss.curvature_bound(self.domain)

    def law(self, records: Records, curvature: float, noise: Noise) -> Law:
        """Return the law of theta on a data set."""
        return quadrature.law(self.loss, records, curvature, noise, l1=self.l1, low=self.low, high=self.high)


def worst(
    case: Case, curvature: float, noise: Noise, budget: Budget, neighbours: Neighbours
) -> dict[str, tuple[str, Pair]]:
    """Return for each direction the pair that spends most, in words, and its laws, the likelier one first.

    What is spent is the least epsilon at the budget's delta, at delta = 0 the sup of the log-ratio. Add/remove has the
    directions `adding` and `removing`, replace-one only `either`: the relation is symmetric.
    """
    pairs = _pairs(case, curvature, noise, neighbours)
    laws = {records: case.law(records, curvature, noise) for pair in pairs for records in pair}
    if not budget.delta:
        exact = [(pair, Pair(*(laws[records] for records in pair))) for pair in pairs]
        return _steepest(exact, budget.epsilon, neighbours)
    back = [pair[::-1] for pair in pairs]
    directions = {"either": pairs + back} if neighbours == "replace" else {"removing": pairs, "adding": back}
    reach = (10 * noise.scale + 4 * case.zeta_and_lambda()[0] + case.l1) / curvature
    low, high = max(-reach, case.low), min(reach, case.high)
    # A bend inside a piece would be smeared over it.
    bends = np.unique([t for law in laws.values() for t in law.kinks if low <= t <= high])
    points = np.union1d(np.linspace(low, high, _ROUGH), bends)
    masses = {records: law.masses(points) for records, law in laws.items()}
    return {name: _likeliest(ordered, laws, masses, budget) for name, ordered in directions.items()}


def _steepest(
    exact: Sequence[tuple[tuple[Records, Records], Pair]], epsilon: float, neighbours: Neighbours
) -> dict[str, tuple[str, Pair]]:
    """Return for each direction the pair with the largest log-ratio; of equal ones, that with the most mass there."""
    back = [(records[::-1], pair.reversed()) for records, pair in exact]
    directions = {"removing": exact, "adding": back} if neighbours == "add_remove" else {"either": [*exact, *back]}
    found = {}
    for name, pairs in directions.items():
        largest = np.array([pair.largest() for _, pair in pairs])
        ties = np.flatnonzero(largest >= largest.max() - _TIE)
        at = min(epsilon, 0.9 * float(largest.max()))
        # To nine digits, so that rounding breaks no tie.
        records, pair = pairs[max(ties, key=lambda k: float(f"{pairs[k][1].delta(at):.9e}"))]
        found[name] = _words(records), pair
    return found


def _likeliest(
    ordered: Sequence[tuple[Records, Records]],
    laws: Mapping[Records, Law],
    masses: Mapping[Records, np.ndarray],
    budget: Budget,
) -> tuple[str, Pair]:
    """Return the pair that spends most at delta: the worst on a rough cut where the worst there spends it all."""
    # Points that are no atoms are pieces without mass.
    held = np.any([mass > 0 for mass in masses.values()], axis=0)
    p, q = (np.stack([masses[pair[side]][held] for pair in ordered]) for side in (0, 1))

    def deltas(epsilon: float) -> np.ndarray:
        return np.maximum(p - math.exp(epsilon) * q, 0).sum(axis=1)

    epsilon, tried = 0.0, {}
    if deltas(0.0).max() > budget.delta:
        high = budget.epsilon
        while deltas(high).max() > budget.delta:
            high *= 2
        epsilon = optimize.brentq(lambda e: deltas(e).max() - budget.delta, 0.0, high, xtol=_NEAR * budget.epsilon)
    for _ in range(_ROUNDS):
        k = int(np.argmax(deltas(epsilon)))
        if k in tried:
            break
        pair = Pair(*(laws[records] for records in ordered[k]))
        epsilon = pair.epsilon(budget.delta)
        tried[k] = (epsilon, pair)
    best = max(tried, key=lambda k: tried[k][0])
    return _words(ordered[best]), tried[best][1]


def _pairs(case: Case, curvature: float, noise: Noise, neighbours: Neighbours) -> list[tuple[Records, Records]]:
    """Return the pairs of data sets that are searched; of add/remove the first lacks the record."""
    if case.loss.targets == "binary":
        singles = [((1.0, 1.0),), ((0.5, 1.0),)]
        opposite = [((1.0, -1.0),), ((-0.5, 1.0),)]
        if neighbours == "replace":
            return [(one, other) for one in singles for other in (*singles, *opposite) if one != other]
        return [(common, (*common, *one)) for common in ((), *singles, *opposite) for one in singles]
    if case.low > -math.inf or case.high < math.inf:
        records = [(1.0, float(y)) for y in np.linspace(-1, 1, 9)]
        return [(common, (*common, one)) for common in ((), ((1.0, 1.0),), ((1.0, -1.0),)) for one in records]
    sizes = [*map(float, _TARGETS[type(noise)] * noise.scale / curvature), _FAR]
    # Every pair has a mirror image with the targets' signs turned, also with an l1 and with a common record at 0.
    if neighbours == "replace":
        # The other record at 0, or pulling with full force, towards the first or away from it.
        others = [(y, other) for y in sizes for other in (0.0, _FAR, -_FAR) if y != other]
        return [(((1.0, y),), ((1.0, other),)) for y, other in others]
    return [(common, (*common, (1.0, y))) for common in ((), ((1.0, 0.0),)) for y in sizes]


def _words(pair: tuple[Records, Records]) -> str:
    sets = ["{" + ", ".join(f"({x:g}, {y:.4g})" for x, y in records) + "}" for records in pair]
    return " and ".join(sets)
