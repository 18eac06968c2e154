r"""Exp-mech on every pair of neighbouring data sets of a tiny domain: kifer2012, Lemma 33 and Theorem 32.

Records: x in {-1, 0, 1}^p, y in {-s, 0, s}, the corners, edges and centre of the case study's domain (Section 3.1:
the s largest entries of x have norm sqrt(s) at most, |y| <= s). Losses 1/2 (y - <x, theta>)^2 on |theta_j| <= 1.

Three facts make all data sets of up to three records a table look-up:

- (x, y) and (-x, -y) have the same loss, so one of the two stands for both;
- (0, 0) has no loss, so that a data set of fewer records is one of three, filled up with it;
- a score q(Gamma) knows a record by (x_Gamma, y) alone: for s = 2 there are 14 of these, and 14^3 scores.

Neighbours: add/remove (Definition 1).
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from dperm.domain import number
from dperm.solvers import subsets

# Records of the larger data set of a pair: a data set is a triple.
RECORDS = 3
_CHUNK = 2**15


class Changes(NamedTuple):
    """What adding one record does, over all pairs of neighbours.

    - rise, fall: largest increase and largest decrease of a score, both 0 or above.
    - spent: for each weight w, the largest |log P(Gamma; D) - log P(Gamma; D')| of the law exp(-w q).
    - gap: no score is further from its exact value.
    """

    rise: float
    fall: float
    spent: tuple[float, ...]
    gap: float
    pairs: int


def records(p: int, size: int) -> np.ndarray:
    """Return the (3^{p+1} + 1)/2 records (x, y), y in {-s, 0, s}, up to their common sign, (0, 0) first."""
    signs = np.array(list(itertools.product((0, 1, -1), repeat=p + 1)), dtype=float)
    # Of a record and its opposite the one that the product gives first: its first entry that is not 0 is 1.
    first = signs[np.arange(len(signs)), (signs != 0).argmax(axis=1)]
    return signs[first >= 0] * np.array([1.0] * p + [float(size)])


def changes(p: int, size: int, weights: tuple[float, ...]) -> Changes:
    """Go through all data sets D of up to two records and all D' with one more, for weights w of exp(-w q).

    ValueError unless s is 1 or 2 and p in [s, 5].
    """
    number("size", size, 1, 2, ends="[]", remedy="larger supports have too many data sets")
    number("p", p, size, 5, ends="[]", remedy="more features have too many data sets")
    table, gap = _scores(size)
    domain, supports = records(p, size), list(itertools.combinations(range(p), size))
    seen = np.array([_places(domain[:, [*support, p]], size) for support in supports])
    first, second = np.triu_indices(len(domain))
    rise = fall = 0.0
    spent, pairs = np.zeros(len(weights)), 0
    for a, b, c in _triples(first, second, len(domain)):
        before = table[seen[:, a], seen[:, b], 0]
        after = table[seen[:, a], seen[:, b], seen[:, c]]
        change = after - before
        rise, fall = max(rise, change.max()), max(fall, -change.min())
        for k, weight in enumerate(weights):
            ratio = _law(weight, after) - _law(weight, before)
            spent[k] = max(spent[k], np.abs(ratio).max())
        pairs += len(a)
    return Changes(float(rise), float(fall), tuple(map(float, spent)), gap, pairs)


def _triples(first: np.ndarray, second: np.ndarray, count: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Give every {a, b} with every c, in pieces."""
    step = max(1, _CHUNK // count)
    for low in range(0, len(first), step):
        a, b = first[low : low + step], second[low : low + step]
        yield np.repeat(a, count), np.repeat(b, count), np.tile(np.arange(count), len(a))


def _scores(size: int) -> tuple[np.ndarray, float]:
    """Return q of every triple of records of s features, and the largest error of one."""
    domain = records(size, size)
    table, gap = np.zeros([len(domain)] * RECORDS), 0.0
    for triple in itertools.combinations_with_replacement(range(len(domain)), RECORDS):
        X, y = domain[list(triple), :size], domain[list(triple), size]
        # Small integers: the products are exact.
        found = subsets.search(X.T @ X, X.T @ y, float(y @ y), size)
        gap = max(gap, found.gap)
        for order in itertools.permutations(triple):
            table[order] = found.scores[0]
    return table, gap


def _places(part: np.ndarray, size: int) -> np.ndarray:
    """Return where the records (x_Gamma, y) stand among those of s features."""
    known = {tuple(record): place for place, record in enumerate(records(size, size))}
    return np.array([known[tuple(r)] if tuple(r) in known else known[tuple(-r)] for r in part])


def _law(weight: float, scores: np.ndarray) -> np.ndarray:
    logits = -weight * scores
    return logits - logsumexp(logits, axis=0)
