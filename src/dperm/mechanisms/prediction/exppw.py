r"""ExpPW: one bit from the labels to the left of a query, by a walk that never leaves [-T, T].

The records are sorted by their points; v_0 = 0 and

    v_i = clip(v_{i-1} + 2 y_i - 1, -T, T),        V(S, x) = v_t, t the number of records up to x,
    Pr[1] = 1/(1 + exp(-eps V/2)),                 T = ceil(2 ln(2/alpha)/eps)

(erratum D4: the paper's Figure 1 is missing from its text). Runs of one label that are longer than 2T are learned, up
to an error of about alpha/2; unions of k intervals cost (k + 2) T/n more than the best of them (Lemma 5.2).

Equal points. Lemma 5.2 is false where they are sorted by (x, y): all ones come last. So x is lifted to (x, u), u
uniform on [0, 1], for every record and for the query, and `up to` is lexicographic (erratum D5). A record's key is
drawn independently of all other records. `keys=None` sorts by (x, y) instead: as private, and not accurate.

A record more or less moves V by at most 1 (a step of at most 1, and clip is monotone and 1-Lipschitz), a replaced one
by at most 2, and either moves by at most eps the log-odds of

    replace-one, "tight"     eps V/2, T as above;
    add/remove,  "tight"     eps V, T = ceil(ln(2/alpha)/eps): the same accuracy from half of the records;
    "paper"                  Section 2.2 as printed: only points < x count, a factor e^eps a step, so eps V, and the
                             bias stays within [alpha, 1 - alpha], so T = ln((1 - alpha)/alpha)/eps, no integer. Under
                             replace-one that is 2 eps: guarantee `none` (erratum D6); under add/remove it is proved.

Log-odds that move by at most eps are an eps-bounded range, so eps^2/8-zCDP an answer (Cesar & Rogers 2021), and stay
one when the keys are averaged over (docs/privacy.md, section 12, Theorem V).

Sources: dwork2018, Section 5, Lemmas 5.1 and 5.2, Theorem 5.3; errata D4, D5, D6.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit

from dperm import grid
from dperm.compiled import compiled
from dperm.domain import Budget, Guarantee, Neighbours, number, one_of

CALIBRATIONS = ("paper", "tight")

Offered = Literal["paper", "tight"]
# How far the log-odds move with a unit of V, in units of epsilon.
STEPS = {
    ("tight", "replace"): 0.5,
    ("tight", "add_remove"): 1.0,
    ("paper", "replace"): 1.0,
    ("paper", "add_remove"): 1.0,
}
# Of equal points so many at a time are sorted by insertion, and then merged.
_SHORT = 16


class Walk(NamedTuple):
    """The walk over one data set: x and keys sorted by (x, key), and v_0, .., v_n in [-T, T]."""

    x: np.ndarray
    keys: np.ndarray
    v: np.ndarray


def step(epsilon: float, calibration: Offered = "tight", neighbours: Neighbours = "replace") -> float:
    """Return by how much the log-odds of the bit move with a unit of V (epsilon/2, or epsilon (paper; add/remove))."""
    one_of("calibration", calibration, Offered)
    one_of("neighbours", neighbours, Neighbours)
    return STEPS[calibration, neighbours] * Budget(epsilon).epsilon


def guarantee(calibration: Offered = "tight", neighbours: Neighbours = "replace") -> Guarantee:
    """Return "none" for "paper" under replace-one (erratum D6), else "proved"."""
    one_of("calibration", calibration, Offered)
    one_of("neighbours", neighbours, Neighbours)
    return "none" if (calibration, neighbours) == ("paper", "replace") else "proved"


def walk_bound(
    alpha: float, epsilon: float, calibration: Offered = "tight", neighbours: Neighbours = "replace"
) -> float:
    """Return T, the end of the walk's range.

    - alpha: accuracy asked for, in (0, 1); for "paper" below 1/2.
    - Returns: an integer, except for "paper".
    - Source: dwork2018, Theorem 5.3 (under add/remove: with the step that this allows); "paper": Section 2.2.
    """
    size = step(epsilon, calibration, neighbours)
    most = 0.5 if calibration == "paper" else 1.0
    alpha = number("alpha", alpha, 0, most, remedy="it is the accuracy asked for, say 0.1")
    if calibration == "paper":
        return math.log((1 - alpha) / alpha) / size
    return float(math.ceil(math.log(2 / alpha) / size))


def prepare(x: np.ndarray, y: np.ndarray, keys: np.ndarray | None, bound: float) -> Walk:
    """Return the walk over a data set.

    - y: shape (n,); labels 0 and 1, of any type.
    - keys: shape (n,); u of each record, in [0, 1]; None sorts equal points by their labels, which is private but not
      accurate.
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    y = np.ascontiguousarray(y, dtype=np.float64)
    keys = y if keys is None else np.ascontiguousarray(keys, dtype=np.float64)
    order = np.argsort(x)
    ordered, keys = x[order], keys[order]
    _sort_runs(ordered, keys, order)
    return Walk(ordered, keys, walks(y[order][None], bound)[0])


@compiled
def _sort_runs(ordered, keys, order):
    """Put keys and records of equal points in the order of the keys; Numba's own sort takes it seconds to compile."""
    spare, spare_keys, start = np.empty(len(order), np.int64), np.empty(len(order)), 0
    for i in range(1, len(ordered) + 1):
        if i < len(ordered) and ordered[i] == ordered[start]:
            continue
        for first in range(start, i, _SHORT):
            for j in range(first + 1, min(first + _SHORT, i)):
                moved, key, k = order[j], keys[j], j
                while k > first and keys[k - 1] > key:
                    order[k], keys[k] = order[k - 1], keys[k - 1]
                    k -= 1
                order[k], keys[k] = moved, key
        width = _SHORT
        while width < i - start:
            for first in range(start, i - width, 2 * width):
                for j in range(width):
                    spare[j], spare_keys[j] = order[first + j], keys[first + j]
                j, b, last = 0, first + width, min(first + 2 * width, i)
                for k in range(first, last):
                    if j == width:
                        break
                    if b < last and keys[b] < spare_keys[j]:
                        order[k], keys[k] = order[b], keys[b]
                        b += 1
                    else:
                        order[k], keys[k] = spare[j], spare_keys[j]
                        j += 1
            width *= 2
        start = i


def walks(labels: np.ndarray, bound: float) -> np.ndarray:
    """Return v_0, .., v_n for every row of labels 0 and 1, which are in the order of their points."""
    return _walks(np.ascontiguousarray(labels), float(bound))


@compiled
def _walks(labels, bound):
    v = np.empty((labels.shape[0], labels.shape[1] + 1))
    for r in range(labels.shape[0]):
        at = 0.0
        v[r, 0] = at
        for i in range(labels.shape[1]):
            at = min(max(at + 2.0 * labels[r, i] - 1.0, -bound), bound)
            v[r, i + 1] = at
    return v


def value(walk: Walk, queries: np.ndarray, query_keys: np.ndarray | float = math.inf) -> np.ndarray:
    """Return V(S, x) for many queries; sorted ones are found fastest.

    - query_keys: shape (m,), or float; u of each query: records up to (x, u) count. Infinity takes all of the points <=
      x, minus infinity those < x.
    """
    queries = np.ascontiguousarray(queries, dtype=np.float64)
    given = np.ascontiguousarray(np.broadcast_to(np.asarray(query_keys, dtype=np.float64), queries.shape))
    return _values(walk.x, walk.keys, walk.v, queries, given)


@compiled
def _values(x, keys, v, queries, query_keys):
    """For each query the first record beyond it, by doubling steps from that of the query before it."""
    n, found = len(x), np.empty(len(queries))
    start, last, last_key = 0, -np.inf, -np.inf
    for j in range(len(queries)):
        q, u = queries[j], query_keys[j]
        if q < last or (q == last and u < last_key):
            start = 0
        last, last_key = q, u
        low, high, width = start, start, 1
        while high < n and (x[high] < q or (x[high] == q and keys[high] <= u)):
            low = high + 1
            high = min(low + width, n)
            width *= 2
        # Records before `low` count; that at `high`, if any, does not.
        while low < high:
            middle = (low + high) // 2
            if x[middle] < q or (x[middle] == q and keys[middle] <= u):
                low = middle + 1
            else:
                high = middle
        start = low
        found[j] = v[low]
    return found


def probability(
    v: np.ndarray, epsilon: float, calibration: Offered = "tight", neighbours: Neighbours = "replace"
) -> np.ndarray:
    """Return Pr[1] at values of the walk (v: V(S, x), of any shape)."""
    return expit(step(epsilon, calibration, neighbours) * np.asarray(v, dtype=np.float64))


def bits(
    v: np.ndarray, epsilon: float, calibration: Offered, neighbours: Neighbours, rngs: Sequence[np.random.Generator]
) -> np.ndarray:
    """Draw the bits of m queries exactly: epsilon is the number that the double is, and no bit is impossible."""
    size = Fraction(STEPS[calibration, neighbours]) * Fraction(epsilon)
    return grid.bits(lambda value, k: grid.logistic(size * Fraction(value), k), v.tolist(), rngs)


def release(
    x: np.ndarray,
    y: np.ndarray,
    queries: np.ndarray,
    *,
    alpha: float,
    epsilon: float,
    calibration: Offered = "tight",
    neighbours: Neighbours = "replace",
    rng: np.random.Generator,
    repeats: int = 1,
) -> np.ndarray:
    """Answer queries, each at epsilon of its own and each repeat with new keys, for simulations: bits from doubles."""
    bound = walk_bound(alpha, epsilon, calibration, neighbours)
    answers = np.empty((repeats, len(queries)), dtype=np.int8)
    for answer in answers:
        if calibration == "paper":
            v = value(prepare(x, y, None, bound), queries, -math.inf)
        else:
            v = value(prepare(x, y, rng.random(len(x)), bound), queries, rng.random(len(queries)))
        answer[:] = rng.random(len(queries)) < probability(v, epsilon, calibration, neighbours)
    return answers
