"""Guesses that may tell two data sets apart: what is tried on some of the draws, and which one is taken.

A *score* is a number for each output. A guess says one side where the score reaches a threshold, the other where it is
below another, and nothing in between; or only one of the two. Tried are

- the exact log-likelihood ratio, where the mechanism knows its density (by Neyman and Pearson no other event of the
  same probability on one side tells more); else a score learned from the draws (gradient-boosted trees);
- projections: every coordinate (of up to 16), the difference of the two means, and the same after whitening;
- hand-made sets: a small ball around either side's centre, the values that keep coming up on one side (noise that was
  forgotten or seeded), and the boundary of the support (beyond the most extreme output seen on the other side);
- for raw outputs, scores of their floating-point representation (`dperm.audit.floating`);
- the user's own.

How many are tried costs nothing: the guess taken is certified on draws that had no part in the choice.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from dperm.audit import floating
from dperm.audit.bounds import Counts, Model, lower_probability, promised, upper_probability

Score = Callable[[np.ndarray], np.ndarray]

# Coordinates that are tried one by one.
MOST_COORDINATES = 16
# Outputs a side that a score is learned from.
_TRAINING = 20_000
# A direction is made and cut on the same draws if there are so many a side for each of its numbers.
_FOR_A_NUMBER = 400
# Thresholds of a score: so many on either side of its median, down to a tail that this many of the sample lie in.
_THRESHOLDS, _THINNEST = 24, 5
# A threshold is moved by this share of the score's spread to either side, so that values which should be equal but for
# rounding stay on one side of it.
_SLACK = 1e-4
# A score with no more values than this is cut between them.
_FEW_VALUES = 12
# Guesses are compared by bounds that are wrong with this probability, far below the level at which the chosen one is
# certified: of hundreds of guesses some thin one always looks better than it is.
_CHOICE_ERROR = 1e-5
# The same in standard deviations; and how many guesses of a score are compared exactly.
_CHOICE_SIGMAS, _LOOKED_AT = 4.3, 48
# Promises this close are equal but for rounding: the first is taken.
_TIE = 1e-9
# Larger coordinates are shrunk before distances, directions and trees are made of them: squares would overflow.
_HUGE = 2.0**400


@dataclass(frozen=True)
class Event:
    """A score that a user wants tried.

    Parameters
    ----------
    words : str
        What the score is, to be followed by ">= 1.5".
    score : callable
        outputs, shape (repeats, p) -> ndarray, shape (repeats,).
    """

    words: str
    score: Score


@dataclass(frozen=True)
class Chosen:
    """The guess taken: `first` where score >= above, the other side where score < below; either may be infinite."""

    words: str
    score: Score
    above: float
    below: float
    first: str
    promise: float

    @property
    def both(self) -> bool:
        """Is either side ever guessed?"""
        return math.isfinite(self.above) and math.isfinite(self.below)

    @property
    def likelier(self) -> str:
        """The side that is guessed where the words begin."""
        return self.first if math.isfinite(self.above) else _other(self.first)

    def count(self, outputs: np.ndarray) -> np.ndarray:
        """Return how many outputs, shape (repeats, p), lie above and how many below."""
        values = _evaluate(self.score, outputs)
        return np.array([(values >= self.above).sum(), (values < self.below).sum()])

    def counts(self, data: np.ndarray, neighbour: np.ndarray, tries: tuple[int, int]) -> Counts:
        """Return right and wrong guesses, from `count` of the draws of either side and how many draws these were."""
        first, second = (data, neighbour) if self.first == "data" else (neighbour, data)
        right, wrong = int(first[0] + second[1]), int(first[1] + second[0])
        if self.both:
            return Counts(right, sum(tries), wrong, sum(tries))
        return Counts(right, tries[self.likelier != "data"], wrong, tries[self.likelier == "data"])


def _other(side: str) -> str:
    return "neighbour" if side == "data" else "data"


def choose(
    first: np.ndarray,
    second: np.ndarray,
    *,
    mechanism: Any,
    data: Any,
    neighbour: Any,
    extra: Sequence[Event],
    raw: bool,
    delta: float,
    confidence: float,
    model: Model,
    trees: bool = True,
    error: float = _CHOICE_ERROR,
) -> Chosen:
    """Return the guess that promises the best bound, if as many draws certify it as choose it.

    Without `trees` how often each value came up stands for them, which is a hundred times cheaper. Promises are bounds
    that are wrong with probability `error`.

    Scores that are made from the draws (`first` for `data`, `second` for `neighbour`) are made from one half of
    them and cut on the other, but for directions: a few numbers do not fit thousands of draws by chance. Of the
    mechanism the optional parts (`dperm.audit.target.Target`) are used; with `raw`, the outputs' floating-point
    representation is looked at. The Gaussian model takes guesses of one side only.
    """
    half, p = len(first) // 2, first.shape[1]
    fixed = list(_fixed(p, mechanism, data, neighbour, extra, raw))
    few = _FOR_A_NUMBER * p <= len(first)
    made = slice(None if few else half)
    shrunk, within = _shrunk(first, second)
    ones = [shrunk(side) for side in (first, second)]
    directions = within(_projections(*(side[made] for side in ones))) if p > 1 else []
    learned = within(_learned(*(side[:half] for side in ones), mechanism, trees=trees))
    best, value = None, -math.inf
    for candidates, start in ((fixed, 0), (directions, 0 if few else half), (learned, half)):
        for words, score in candidates:
            sides = _evaluate(score, first[start:]), _evaluate(score, second[start:])
            promise, above, below, side = _cut(*sides, delta, min(error, (1 - confidence) / 2), model)
            if promise > value + _TIE:
                best, value = Chosen(_words(words, above, below), score, above, below, side, promise), promise
    return best


def _shrunk(first: np.ndarray, second: np.ndarray) -> tuple[Callable, Callable]:
    """Return what shrinks huge coordinates, and what makes scores of shrunk outputs scores of outputs."""
    largest = np.maximum(np.abs(first).max(axis=0), np.abs(second).max(axis=0))
    if (largest <= _HUGE).all():
        return lambda outputs: outputs, list
    factor = np.where(largest > _HUGE, np.exp2(-np.floor(np.log2(np.maximum(largest, 1.0)))), 1.0)

    def within(scores):
        of = " (huge coordinates shrunk)"
        return [(words + of, lambda outputs, score=score: score(outputs * factor)) for words, score in scores]

    return lambda outputs: outputs * factor, within


def _words(words: str, above: float, below: float) -> str:
    if math.isinf(above):
        return f"{words} < {below:.6g}"
    if math.isinf(below):
        return f"{words} >= {above:.6g}"
    return f"{words} >= {above:.6g} (or, for the other side, < {below:.6g})"


def _evaluate(score: Score, outputs: np.ndarray) -> np.ndarray:
    values = np.asarray(score(outputs), dtype=np.float64)
    if values.shape != (len(outputs),):
        raise ValueError(f"a score gave the shape {values.shape} for {len(outputs)} outputs: give one number each")
    # An output that a density excludes is as telling as can be; NaN tells nothing.
    return np.nan_to_num(values, nan=0.0, posinf=np.finfo(float).max, neginf=np.finfo(float).min)


def _cut(
    first: np.ndarray, second: np.ndarray, delta: float, error: float, model: Model
) -> tuple[float, float, float, str]:
    """Return the promised bound, both thresholds and the side guessed above, of the best guess of one score."""
    first, second, tries = np.sort(first), np.sort(second), len(first)
    thresholds = _thresholds(first, second)
    # Places of an upper and of a lower threshold; none of either kind is the place after the last.
    above, below = _pairs(len(thresholds), both=model == "none")
    reached = [1 - np.searchsorted(side, thresholds, "left") / len(side) for side in (first, second)]
    upper = [np.append(shares, 0.0)[above] for shares in reached]
    lower = [np.append(1 - shares, 0.0)[below] for shares in reached]
    sides = 1 + ((above < len(thresholds)) & (below < len(thresholds)))
    best = (-math.inf, 0.0, -math.inf, "data")
    for likelier, one, other in (("data", 0, 1), ("neighbour", 1, 0)):
        right, wrong = upper[one] + lower[other], upper[other] + lower[one]
        near = _most_promising(right * tries, wrong * tries, delta * sides * tries)
        promise = _promise(right[near] * tries, wrong[near] * tries, sides[near], tries, delta, error, model)
        place = int(np.argmax(promise >= promise.max() - _TIE))
        if promise[place] > best[0] + _TIE:
            at = near[place]
            ends = np.append(thresholds, math.inf)[above[at]], np.append(thresholds, -math.inf)[below[at]]
            best = (float(promise[place]), float(ends[0]), float(ends[1]), likelier)
    return best


@functools.cache
def _pairs(thresholds: int, *, both: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return which upper and lower thresholds go together: each alone, then every pair that leaves no overlap."""
    alone, none = np.arange(thresholds), np.full(thresholds, thresholds)
    below, above = np.tril_indices(thresholds)[::-1] if both else (alone[:0], alone[:0])
    return np.concatenate([alone, none, above]), np.concatenate([none, alone, below])


def _most_promising(right: np.ndarray, wrong: np.ndarray, leaked: np.ndarray) -> np.ndarray:
    """Return the places, in their order, of the guesses that look best by a normal approximation of the bound."""
    spread = _CHOICE_SIGMAS * np.sqrt(1 / (right + 0.5) + 1 / (wrong + 0.5))
    rank = np.log((np.maximum(right - leaked, 0.0) + 0.5) / (wrong + 0.5)) - spread
    if len(rank) <= _LOOKED_AT:
        return np.arange(len(rank))
    return np.sort(np.argpartition(-rank, _LOOKED_AT)[:_LOOKED_AT])


def _promise(right, wrong, sides, tries: int, delta: float, error: float, model: Model) -> np.ndarray:
    """Return the bound (epsilon, or mu for the Gaussian model) that these counts would give; it may be negative."""
    if model == "none":
        one, two = (promised(right, many * tries, wrong, delta, error) for many in (1, 2))
        return np.where(sides == 1, one, two)
    from scipy import special

    p, q = lower_probability(right, tries, error), upper_probability(wrong, tries, error)
    value = special.ndtri(np.maximum(p, 1e-300)) - special.ndtri(np.minimum(q, 1 - 1e-16))
    return np.where((p > 0) & (q < 1), value, -math.inf)


def _thresholds(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return where to cut a score, given its sorted values on both sides; to six digits, as the words say it."""
    pooled = np.sort(np.concatenate([first, second]))
    values = np.unique(pooled)
    if len(values) <= _FEW_VALUES:
        # Written so that it cannot overflow.
        between = values[:-1] / 2 + values[1:] / 2
        return between if len(between) else values
    tail = np.geomspace(min(_THINNEST / len(pooled), 0.5), 0.5, _THRESHOLDS)
    quantiles = np.quantile(pooled, np.concatenate([tail, 1 - tail]), method="inverted_cdf")
    # Halves, and twice the share of their distance: the distance itself may be larger than any double.
    slack = 2 * _SLACK * np.subtract(*(np.quantile(pooled, [0.75, 0.25], method="inverted_cdf") / 2))
    # Beyond the other side's extremes: where the supports differ.
    ends = np.array([first[0], first[-1], second[0], second[-1]])
    with np.errstate(over="ignore"):
        cuts = np.concatenate([quantiles - slack, quantiles + slack, ends - slack, ends + slack])
    return np.unique([float(f"{cut:.6g}") for cut in cuts if math.isfinite(cut)])


def _fixed(
    p: int, mechanism: Any, data: Any, neighbour: Any, extra: Sequence[Event], raw: bool
) -> Iterator[tuple[str, Score]]:
    """Give the scores that no draw has a part in."""
    for event in extra:
        yield event.words, event.score
    density = getattr(mechanism, "log_density", None)
    if density is not None:
        yield "log-likelihood ratio", lambda outputs: density(outputs, data) - density(outputs, neighbour)
    names = getattr(mechanism, "names", None)
    for j in range(min(p, MOST_COORDINATES)):
        yield names[j] if names else "output" if p == 1 else f"coordinate {j}", lambda outputs, j=j: outputs[:, j]
    centre = getattr(mechanism, "centre", None)
    if centre is not None:
        for side, value in (("data", data), ("neighbour", neighbour)):
            yield f"distance to the noise-free output of the {side}", _distance_to(centre(value))
    if raw:
        yield from floating.scores(p, mechanism, data, neighbour)


def _learned(first: np.ndarray, second: np.ndarray, mechanism: Any, *, trees: bool) -> Iterator[tuple[str, Score]]:
    """Give the scores that are made from draws, but for directions."""
    for side, outputs in (("data", first), ("neighbour", second)):
        yield from _atoms(side, outputs)
    if getattr(mechanism, "centre", None) is None:
        for side, outputs in (("data", first), ("neighbour", second)):
            yield f"distance to the median of the {side}", _distance_to(np.median(outputs, axis=0))
    if not trees:
        yield "how often the value came up", _frequencies(first, second)
    elif getattr(mechanism, "log_density", None) is None:
        yield "score learned by gradient-boosted trees", _trained(first[:_TRAINING], second[:_TRAINING])


def _distance_to(centre: np.ndarray) -> Score:
    def distance(outputs):
        with np.errstate(over="ignore"):
            return np.linalg.norm(outputs - centre, axis=1)

    return distance


def _projections(first: np.ndarray, second: np.ndarray) -> Iterator[tuple[str, Score]]:
    """Give the difference of the means as a direction, plain and whitened (Fisher's discriminant)."""
    difference = first.mean(axis=0) - second.mean(axis=0)
    covariance = np.atleast_2d(np.cov(np.concatenate([first - first.mean(axis=0), second - second.mean(axis=0)]).T))
    ridge = 1e-9 * np.trace(covariance) / len(covariance) + np.finfo(float).tiny
    whitened = np.linalg.solve(covariance + ridge * np.eye(len(covariance)), difference)
    for direction in (difference, whitened):
        length = np.linalg.norm(direction)
        if length > 0 and np.isfinite(length):
            unit = direction / length
            shown = ", ".join(f"{x:.2f}" for x in unit[:4]) + (", ..." if len(unit) > 4 else "")
            yield f"projection on ({shown})", lambda outputs, unit=unit: outputs @ unit


def _atoms(side: str, outputs: np.ndarray) -> Iterator[tuple[str, Score]]:
    """Give the membership in the values that came up more than once on one side, if there are any."""
    keys, counts = np.unique(_keys(outputs), return_counts=True)
    repeated = keys[counts > 1]
    if len(repeated):
        words = f"(1 if the output is one of {len(repeated)} values that the {side} gave repeatedly, else 0)"
        yield words, lambda outputs: np.isin(_keys(outputs), repeated).astype(float)


def _frequencies(first: np.ndarray, second: np.ndarray) -> Score:
    """Return the logarithm of how much oftener each value came up on the first side; 0 for others."""
    keys, place = np.unique(_keys(np.concatenate([first, second])), return_inverse=True)
    seen = [np.bincount(side, minlength=len(keys)) for side in (place[: len(first)], place[len(first) :])]
    ratio = np.where(seen[0] + seen[1] > 1, np.log((seen[0] + 0.5) / (seen[1] + 0.5)), 0.0)

    def score(outputs):
        asked = _keys(outputs)
        at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return np.where(keys[at] == asked, ratio[at], 0.0)

    return score


def _keys(outputs: np.ndarray) -> np.ndarray:
    """Return a whole number for each row, equal for equal rows (and but for a chance of 1e-19 a pair for no other)."""
    # Adding 0 turns -0.0 to 0.0.
    bits = np.ascontiguousarray(outputs + 0.0).view(np.uint64)
    key = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        key = (key ^ column) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


@functools.cache
def _pools() -> ThreadpoolController:
    """Return the libraries that have threads, with scikit-learn's trees among them; to look for them takes long."""
    import sklearn.ensemble  # noqa: F401

    return ThreadpoolController()


def _trained(first: np.ndarray, second: np.ndarray) -> Score:
    """Return the score of gradient-boosted trees that tell the two sides apart."""
    # Here, because it takes a second to load, and a mechanism that knows its density has no use for it.
    from sklearn.ensemble import HistGradientBoostingClassifier

    centre = np.median(np.concatenate([first, second]), axis=0)

    distance = _distance_to(centre)

    def features(outputs):
        return np.column_stack([outputs, distance(outputs)])

    model = HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=15, early_stopping=False, random_state=0)
    with _pools().limit(limits=1):
        model.fit(features(np.concatenate([first, second])), np.repeat([1, 0], [len(first), len(second)]))

    def score(outputs):
        with _pools().limit(limits=1):
            return model.decision_function(features(outputs))

    return score
