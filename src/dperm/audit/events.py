"""Events that may tell two data sets apart: what is tried on the first half of the draws, and which one is taken.

A *score* is a number for each output; an event is a tail of a score. Tried are

- the exact log-likelihood ratio, where the mechanism knows its density (by Neyman and Pearson no other event of the
  same probability on one side tells more); else a score learned from the draws (gradient-boosted trees);
- projections: every coordinate (of up to 16), the difference of the two means, and the same after whitening;
- hand-made sets: a small ball around either side's centre, the values that keep coming up on one side (noise that was
  forgotten or seeded), and the boundary of the support (beyond the most extreme output seen on the other side);
- for raw outputs, scores of their floating-point representation (`dperm.audit.floating`);
- the user's own.

How many are tried costs nothing: the one taken is certified on draws that had no part in the choice.
"""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from dperm.audit import floating
from dperm.audit.bounds import Model, lower_probability, upper_probability

Score = Callable[[np.ndarray], np.ndarray]

# Coordinates that are tried one by one.
MOST_COORDINATES = 16
# Outputs a side that a score is learned from.
_TRAINING = 20_000
# Thresholds of a score: so many on either side of its median, down to a tail that this many of the sample lie in.
_THRESHOLDS, _THINNEST = 24, 5
# A threshold is moved by this share of the score's spread to either side, so that values which should be equal but for
# rounding stay on one side of it.
_SLACK = 1e-4
# A score with no more values than this is cut between them.
_FEW_VALUES = 12
# Events are compared by bounds that are wrong with this probability, far below the level at which the chosen one is
# certified: of hundreds of events some thin one always looks better than it is.
_CHOICE_ERROR = 1e-5
# Promises this close are equal but for rounding (an event and its complement often are): the first is taken.
_TIE = 1e-9


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
    """The event taken, score >= threshold if `upper`, else score < threshold, and the side where it is likelier."""

    words: str
    score: Score
    threshold: float
    upper: bool
    likelier: str

    def count(self, outputs: np.ndarray) -> int:
        """Return how many outputs, shape (repeats, p), the event holds."""
        above = _evaluate(self.score, outputs) >= self.threshold
        return int(above.sum()) if self.upper else int((~above).sum())


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
    tries: int,
) -> Chosen:
    """Return the event that promises the best bound, certified on `tries` draws a side.

    Scores that are made from the draws (`first` for `data`, `second` for `neighbour`) are made from one half of
    them and cut on the other. Of the mechanism the optional parts (`dperm.audit.target.Target`) are used; with
    `raw`, the outputs' floating-point representation is looked at.
    """
    half = len(first) // 2
    # (words, score, whether the whole sample may cut it)
    fixed = list(_fixed(first.shape[1], mechanism, data, neighbour, extra, raw))
    learned = list(_learned(first[:half], second[:half], mechanism, data, neighbour))
    best, value = None, -math.inf
    for candidates, start in ((fixed, 0), (learned, half)):
        for words, score in candidates:
            sides = _evaluate(score, first[start:]), _evaluate(score, second[start:])
            promise, threshold, upper, likelier = _cut(*sides, delta, confidence, model, tries)
            if promise > value + _TIE:
                sign = ">=" if upper else "<"
                best, value = Chosen(f"{words} {sign} {threshold:.6g}", score, threshold, upper, likelier), promise
    return best


def _evaluate(score: Score, outputs: np.ndarray) -> np.ndarray:
    values = np.asarray(score(outputs), dtype=np.float64)
    if values.shape != (len(outputs),):
        raise ValueError(f"a score gave the shape {values.shape} for {len(outputs)} outputs: give one number each")
    # An output that a density excludes is as telling as can be; NaN tells nothing.
    return np.nan_to_num(values, nan=0.0, posinf=np.finfo(float).max, neginf=np.finfo(float).min)


def _cut(
    first: np.ndarray, second: np.ndarray, delta: float, confidence: float, model: Model, tries: int
) -> tuple[float, float, bool, str]:
    """Return the promised bound, threshold, tail and likelier side of the best event of one score."""
    first, second = np.sort(first), np.sort(second)
    thresholds = _thresholds(first, second)
    shares = [1 - np.searchsorted(side, thresholds, "left") / len(side) for side in (first, second)]
    best = (-math.inf, 0.0, True, "data")
    for upper in (True, False):
        p, q = shares if upper else (1 - shares[0], 1 - shares[1])
        for likelier, one, other in (("data", p, q), ("neighbour", q, p)):
            promise = _promise(one * tries, other * tries, tries, delta, confidence, model)
            place = int(np.argmax(promise >= promise.max() - _TIE))
            if promise[place] > best[0] + _TIE:
                best = (float(promise[place]), float(thresholds[place]), upper, likelier)
    return best


def _promise(hits, other_hits, tries: int, delta: float, confidence: float, model: Model) -> np.ndarray:
    """Return the bound (epsilon, or mu for the Gaussian model) that these counts would give; it may be negative."""
    error = min(_CHOICE_ERROR, (1 - confidence) / 2)
    p, q = lower_probability(hits, tries, error), upper_probability(other_hits, tries, error)
    if model == "gaussian":
        from scipy import special

        value = special.ndtri(np.maximum(p, 1e-300)) - special.ndtri(np.minimum(q, 1 - 1e-16))
        return np.where((p > 0) & (q < 1), value, -math.inf)
    # Below delta nothing is proved; the larger p, the nearer it is.
    return np.where(p > delta, np.log(np.maximum(p - delta, 1e-300) / q), p - 1e6)


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
    spread = np.subtract(*np.quantile(pooled, [0.75, 0.25], method="inverted_cdf"))
    with np.errstate(over="ignore"):
        slack = _SLACK * spread
    # Beyond the other side's extremes: where the supports differ.
    ends = np.array([first[0], first[-1], second[0], second[-1]])
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
    for j in range(min(p, MOST_COORDINATES)):
        yield ("output" if p == 1 else f"coordinate {j}"), lambda outputs, j=j: outputs[:, j]
    centre = getattr(mechanism, "centre", None)
    if centre is not None:
        for side, value in (("data", data), ("neighbour", neighbour)):
            yield f"distance to the noise-free output of the {side}", _distance_to(centre(value))
    if raw:
        yield from floating.scores(p, mechanism, data, neighbour)


def _learned(
    first: np.ndarray, second: np.ndarray, mechanism: Any, data: Any, neighbour: Any
) -> Iterator[tuple[str, Score]]:
    """Give the scores that are made from draws."""
    for side, outputs in (("data", first), ("neighbour", second)):
        yield from _atoms(side, outputs)
    if getattr(mechanism, "centre", None) is None:
        for side, outputs in (("data", first), ("neighbour", second)):
            yield f"distance to the median of the {side}", _distance_to(np.median(outputs, axis=0))
    if first.shape[1] > 1:
        yield from _projections(first, second)
    if getattr(mechanism, "log_density", None) is None:
        yield "score learned by gradient-boosted trees", _trained(first[:_TRAINING], second[:_TRAINING])


def _distance_to(centre: np.ndarray) -> Score:
    return lambda outputs: np.linalg.norm(outputs - centre, axis=1)


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

    def features(outputs):
        return np.column_stack([outputs, np.linalg.norm(outputs - centre, axis=1)])

    model = HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=15, early_stopping=False, random_state=0)
    with _pools().limit(limits=1):
        model.fit(features(np.concatenate([first, second])), np.repeat([1, 0], [len(first), len(second)]))

    def score(outputs):
        with _pools().limit(limits=1):
            return model.decision_function(features(outputs))

    return score
