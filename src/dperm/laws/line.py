r"""Two laws on a line with known distribution functions: the union of intervals that tells them apart best.

An interval (a, b] has the probability F(b) - F(a) under either law, known but for rounding. For a union S of intervals
and any delta

    P(S) <= e^epsilon Q(S) + delta,   hence   epsilon >= log((P(S) - delta)/Q(S)),

so every S gives a bound that holds with certainty, however thin the tail where it lies; a poor grid only makes it lower
than it could be.

How S is found. Cut the line at quantiles of both laws, from tails of 1e-30 to the middle. On pieces of the line the
laws are finite, and `finite.best_event` picks the best union of pieces: those with log P/Q > t, for the best t. Pieces
where log P/Q jumps, and those at the ends of the union, are cut further, until that gains nothing.

Atoms. An output with a probability of its own is a piece of its own from the start.

Rounding. Every value of F (or of 1 - F in the upper half) is taken to be off by up to 1e-12 of itself, P(S) is lowered
and Q(S) raised by the sum of these errors over the ends of S: the bound holds as long as cdf and sf are that accurate.
Without `sf` the upper half is 1 - F, off by up to 1e-12 in absolute terms. What is 0 in a double counts as 1e-300, so
disjoint supports give a large bound (at most 690) and not an infinite one.
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dperm.laws.finite import best_event

# What a value of cdf or sf may be off by, relative to itself: rounding of the argument z costs z^2 1e-16 in a tail.
_ERROR = 1e-12
# By how much cdf + sf may miss 1 before one of the two is wrong.
_SUM = 1e-9
# By how much of itself a tail may go the wrong way.
_FALL = 1e-6
# What rounds to 0 may be this large.
_LEAST = 1e-300
# Thinnest tail that is looked at, with and without a survival function.
_DEEPEST, _DEEPEST_WITHOUT_SF = 1e-30, 1e-9
# A piece's probability is known if it is this many times its error.
_KNOWN = 10
# A piece is cut into `_CUT`. Pieces are cut where log P/Q jumps by more than a step, the steepest first and so many at
# most; all of the event if it has few.
_CUT, _STEP, _MOST_CUTS, _FEW = 8, 0.01, 400, 4
# Rounds of cutting: at most, before a lack of gain ends them, and what is no gain.
_ROUNDS, _SURE, _GAIN = 20, 4, 1e-10
# A quantile's level may be off by this share of itself.
_NEAR = 1e-3
# Farthest from 0 that a quantile is sought.
_FARTHEST = 1e150


class Bound(NamedTuple):
    """What intervals prove of two laws: a lower bound on epsilon at the delta that was asked for.

    `reversed` says that the event, the output in one of the intervals (low, high], is likelier under the second
    law. Its probability is rounded down on the likelier side, and up on the other.
    """

    epsilon: float
    reversed: bool
    intervals: np.ndarray
    probability: float
    other_probability: float


@dataclass(frozen=True)
class Law:
    """A law on a line: P(at or below) and P(above) each of some points, accurate relative to themselves.

    `atoms` have a probability of their own, under this law or the one it is compared with.
    """

    cdf: Callable[[np.ndarray], np.ndarray]
    sf: Callable[[np.ndarray], np.ndarray] | None = None
    atoms: tuple[float, ...] = ()

    @property
    def deepest(self) -> float:
        """Return the thinnest tail that is looked at."""
        return _DEEPEST if self.sf is not None else _DEEPEST_WITHOUT_SF

    def tails(self, points: np.ndarray) -> np.ndarray:
        """Return (P(<= point), P(> point)), shape (2, points); the points are finite."""
        lower = _values("cdf", self.cdf, points)
        if self.sf is None:
            return np.stack([lower, 1.0 - lower])
        upper = _values("sf", self.sf, points)
        if not (np.abs(lower + upper - 1) <= _SUM).all():
            raise ValueError(
                "cdf + sf is not 1: sf must be the probability of an output above the point, for all points"
            )
        return np.stack([lower, upper])

    def tail(self, points: np.ndarray, upper: bool) -> np.ndarray:
        """Return P(> point) if `upper`, else P(<= point), shape (points,)."""
        if upper and self.sf is not None:
            return _values("sf", self.sf, points)
        lower = _values("cdf", self.cdf, points)
        return 1.0 - lower if upper else lower

    @functools.cached_property
    def quantiles(self) -> np.ndarray:
        """Return points that cut the law evenly: in steps of 1/400 of probability, of a tenth of a decade in tails."""
        steps = int(10 * -math.log10(self.deepest))
        levels = np.unique(np.concatenate([np.linspace(0, 0.5, 201)[1:], np.geomspace(self.deepest, 0.5, steps + 1)]))
        reach = 1.0
        while (ends := self.tails(np.array([-reach, reach])))[0, 0] > self.deepest or ends[1, 1] > self.deepest:
            reach *= 4
            if reach > _FARTHEST:
                raise ValueError(
                    f"cdf does not tend to 0 and 1 within {_FARTHEST:g} of 0: it must be a law on the line"
                )
        return np.concatenate([_inverse(self, levels, reach, upper) for upper in (False, True)])

    def between(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return P(low < output <= high) and its error, of the tails at both ends, each of shape (2, pieces).

        From whichever tail is thinner, or as 1 less both where they are apart.
        """
        below, above = high[0] - low[0], low[1] - high[1]
        wide = 1.0 - low[0] - high[1]
        in_lower, in_upper = high[0] <= 0.5, low[1] <= 0.5
        mass = np.where(in_lower, below, np.where(in_upper, above, wide))
        # Relative to the values that were used; a tail that is 1 less the other one is off by as much as that.
        used = np.where(in_lower, low[0] + high[0], np.where(in_upper, low[1] + high[1], low[0] + high[1]))
        if self.sf is None:
            used = np.where(in_lower, used, 1.0)
        error = _ERROR * used + _LEAST
        if not (mass >= -_FALL * used - _LEAST).all():
            raise ValueError("cdf falls, or sf rises, from one point to the next: no law does")
        return np.maximum(mass, 0.0), error


def lower_bound(first: Law, second: Law, delta: float) -> Bound:
    """Return the largest lower bound on epsilon that a union of intervals proves, in either direction.

    ValueError if cdf, or cdf and sf together, are those of no law.
    """
    # An atom is a piece of its own: (the double below it, itself].
    atoms = np.asarray(first.atoms, dtype=np.float64)
    alone = np.concatenate([atoms, np.nextafter(atoms, -np.inf)])
    points = np.unique(np.concatenate([first.quantiles, second.quantiles, alone]))
    tails = [_with_ends(law.tails(points)) for law in (first, second)]
    forth = _search((first, second), points, tails, delta, False)
    back = _search((second, first), points, tails[::-1], delta, True)
    # For a symmetric pair both find the same but for rounding, and the event must not depend on that.
    return back if back.epsilon > forth.epsilon + _GAIN else forth


def _values(name: str, function: Callable, points: np.ndarray) -> np.ndarray:
    values = np.asarray(function(points), dtype=np.float64)
    if values.shape != points.shape:
        raise ValueError(f"{name} gave the shape {values.shape} for {points.size} points: it must give one value each")
    if not ((values >= 0) & (values <= 1 + _ERROR)).all():
        raise ValueError(f"{name} gave a value outside [0, 1]: it must be a probability")
    return values


def _inverse(law: Law, levels: np.ndarray, reach: float, upper: bool) -> np.ndarray:
    """Return for each level a point whose lower (or upper) tail is about that level, by bisection."""
    low, high = np.full(len(levels), -reach), np.full(len(levels), reach)
    # Down to 1e-20 of the unit, however far the tails reach.
    for _ in range(70 + 2 * int(math.log2(reach))):
        middle = 0.5 * (low + high)
        tail = law.tail(middle, upper)
        # Only where the grid is cut depends on it.
        if (np.abs(tail - levels) <= _NEAR * levels).all():
            break
        right = tail > levels if upper else tail < levels
        low, high = np.where(right, middle, low), np.where(right, high, middle)
    return 0.5 * (low + high)


def _search(
    laws: tuple[Law, Law], points: np.ndarray, tails: Sequence[np.ndarray], delta: float, reverse: bool
) -> Bound:
    """Return the best bound for events that are likelier under the first law, refining the grid as long as it helps.

    `tails` are those of both laws at -inf, at the points and at inf.
    """
    best = None
    for turn in range(_ROUNDS):
        (p, p_error), (q, q_error) = (law.between(at[:, :-1], at[:, 1:]) for law, at in zip(laws, tails, strict=True))
        # Piece by piece as careful as with the whole in the end: one thinner than its error counts for nothing.
        value, chosen = best_event(np.maximum(p - p_error, 0.0), q + q_error, delta)
        # Pieces that rounding alone keeps out join in, so that the event is not torn to shreds.
        known = np.stack([p > _KNOWN * p_error, q > _KNOWN * q_error])
        inside = known.all(axis=0) & (p + p_error >= math.exp(value) * (q - q_error))
        inside[chosen] = True
        _fill_holes(inside, ~known.all(axis=0))
        found = _certified(laws, points, tails, inside, delta, reverse)
        gained = best is None or found.epsilon > best.epsilon + _GAIN
        best = found if gained else best
        finer = _cut(points, _to_cut(inside, chosen, known, p, q))
        if len(finer) == len(points) or not (gained or turn < _SURE):
            break
        tails = [_finer_tails(law, points, at, finer) for law, at in zip(laws, tails, strict=True)]
        points = finer
    return best


def _with_ends(inner: np.ndarray) -> np.ndarray:
    """Return tails with those at -inf and inf, which are known."""
    every = np.empty((2, inner.shape[1] + 2))
    every[:, 0], every[:, 1:-1], every[:, -1] = (0.0, 1.0), inner, (1.0, 0.0)
    return every


def _finer_tails(law: Law, points: np.ndarray, tails: np.ndarray, finer: np.ndarray) -> np.ndarray:
    """Return the tails at the points of a finer grid, of which those at `points` are known."""
    new = np.ones(len(finer), dtype=bool)
    new[np.searchsorted(finer, points)] = False
    inner = np.empty((2, len(finer)))
    inner[:, new], inner[:, ~new] = law.tails(finer[new]), tails[:, 1:-1]
    return _with_ends(inner)


def _fill_holes(inside: np.ndarray, unknown: np.ndarray) -> None:
    """Let runs of pieces thinner than rounding join the event where it lies on both sides of them."""
    if not (unknown & ~inside).any():
        return
    outside = ~inside & ~unknown
    place = np.arange(len(inside))
    # Nearest piece on either side that is surely in or surely out.
    sure = inside | outside
    left = np.maximum.accumulate(np.where(sure, place, -1))
    right = np.minimum.accumulate(np.where(sure, place, len(inside))[::-1])[::-1]
    between = ~sure & (left >= 0) & (right < len(inside))
    inside[between] = inside[left[between]] & inside[right[between]]


def _certified(
    laws: tuple[Law, Law],
    points: np.ndarray,
    tails: Sequence[np.ndarray],
    inside: np.ndarray,
    delta: float,
    reverse: bool,
) -> Bound:
    """Return what the union of the chosen pieces proves; as disjoint intervals, shape (k, 2)."""
    edges = np.concatenate([[-np.inf], points, [np.inf]])
    turns = np.diff(np.concatenate([[0], inside.astype(int), [0]]))
    low, high = np.flatnonzero(turns == 1), np.flatnonzero(turns == -1)
    parts = [law.between(at[:, low], at[:, high]) for law, at in zip(laws, tails, strict=True)]
    (p, p_error), (q, q_error) = ((math.fsum(mass), math.fsum(error)) for mass, error in parts)
    # Probabilities of the union, as far as rounding lets us claim them.
    p, q = max(p - p_error, 0.0), min(q + q_error, 1.0)
    epsilon = math.log((p - delta) / q) if p - delta > q else 0.0
    return Bound(epsilon, reverse, np.column_stack([edges[low], edges[high]]), p, q)


def _to_cut(inside: np.ndarray, chosen: np.ndarray, known: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Mark the pieces to cut: at the ends of the event, the chosen if few, and where log P/Q jumps."""
    cuts = np.zeros(len(p), dtype=bool)
    # Neighbours among the pieces that rounding has not swallowed; between them may lie others.
    thick = np.flatnonzero(known.any(axis=0))
    ends = np.flatnonzero(inside[thick[1:]] != inside[thick[:-1]])
    cuts[thick[ends]], cuts[thick[ends + 1]] = True, True
    if len(chosen) <= _FEW:
        cuts[chosen] = True
    both = np.flatnonzero(known.all(axis=0))
    jump = np.abs(np.diff(np.log(p[both]) - np.log(q[both])))
    steep = np.flatnonzero(jump > _STEP)
    steep = steep[np.argsort(-jump[steep], kind="stable")[:_MOST_CUTS]]
    cuts[both[steep]], cuts[both[steep + 1]] = True, True
    cuts[np.flatnonzero(~known.any(axis=0))] = False
    return cuts


def _cut(points: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return the points with the marked pieces cut evenly; the two outermost pieces have no middle."""
    inner = np.flatnonzero(cuts[1:-1])
    shares = np.arange(1, _CUT) / _CUT
    low, high = points[inner], points[inner + 1]
    return np.unique(np.concatenate([points, (low[:, None] + (high - low)[:, None] * shares).ravel()]))
