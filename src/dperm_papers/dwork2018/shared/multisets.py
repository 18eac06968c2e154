r"""ExpPW on all small data sets: every pair of neighbours, every query, the exact law of the bit.

A data set is a multiset of records (x, y), x in {1, .., N}: counts (zeros, ones) at each point. The law of V(S, x) is a
row vector over -T, .., T, multiplied by one matrix for each point before x, and one for x itself:

    lifted   all orders of a point's records are equally likely, and at x itself the query's key has each of the ranks
             0, .., g among the keys of its g records with probability 1/(g + 1);
    sorted   a point's zeros, then its ones (ties by (x, y)), at x too;
    strict   the same before x, and nothing at x (Section 2.2: points < x).

Data sets that differ by the replacement of one record are B + t and B + t' for some B with one record less, those that
differ by one record more B and B + t: so the greatest log ratio over all pairs is found from the bases B.

References
----------
dwork2018, Lemma 5.1, Section 2.2; errata D4, D5, D6.
"""

import itertools

import numpy as np
from scipy.special import log_expit

RULES = ("lifted", "sorted", "strict")


def data_sets(points: int, most: int) -> np.ndarray:
    """Return all multisets of at most `most` records as counts of zeros and ones at each of N points."""
    kinds = 2 * points
    found = [
        np.bincount(np.array(chosen, dtype=int), minlength=kinds)
        for n in range(most + 1)
        for chosen in itertools.combinations_with_replacement(range(kinds), n)
    ]
    return np.array(found).reshape(-1, points, 2)


def _steps(T: int) -> tuple[np.ndarray, np.ndarray]:
    """The matrices of a zero and of a one on row vectors over -T, .., T."""
    places = np.arange(2 * T + 1)
    down, up = np.zeros((2, 2 * T + 1, 2 * T + 1))
    down[places, np.maximum(places - 1, 0)] = 1
    up[places, np.minimum(places + 1, 2 * T)] = 1
    return down, up


def at_a_point(zeros: int, ones: int, T: int, rule: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what a point's records do to the law of V, for a query further right and for one at this point."""
    down, up = _steps(T)
    if rule != "lifted":
        passed = np.linalg.matrix_power(down, zeros) @ np.linalg.matrix_power(up, ones)
        return passed, passed if rule == "sorted" else np.eye(2 * T + 1)
    # The law after i zeros and j ones, times the chance that the first i + j records are such.
    partly = {(0, 0): np.eye(2 * T + 1)}
    asked = partly[0, 0] / (zeros + ones + 1)
    for i, j in itertools.product(range(zeros + 1), range(ones + 1)):
        if i + j == 0:
            continue
        left, here = zeros + ones - i - j + 1, 0.0
        if i > 0:
            here = here + partly[i - 1, j] @ down * ((zeros - i + 1) / left)
        if j > 0:
            here = here + partly[i, j - 1] @ up * ((ones - j + 1) / left)
        partly[i, j] = here
        asked = asked + here / (zeros + ones + 1)
    return partly[zeros, ones], asked


def laws(counts: np.ndarray, T: int, rule: str) -> np.ndarray:
    """Return the law of V(S, x) on -T, .., T for all data sets of `data_sets` and all queries."""
    most = int(counts.sum(axis=(1, 2)).max())
    matrices = {
        (a, b): at_a_point(a, b, T, rule) for a in range(most + 1) for b in range(most + 1 - a)
    }  # fmt: skip
    passed = np.zeros((len(counts), 2 * T + 1))
    passed[:, T] = 1
    found = np.empty((len(counts), counts.shape[1], 2 * T + 1))
    for g in range(counts.shape[1]):
        for pair in np.unique(counts[:, g], axis=0):
            here = (counts[:, g] == pair).all(axis=1)
            through, at = matrices[int(pair[0]), int(pair[1])]
            found[here, g] = passed[here] @ at
            passed[here] = passed[here] @ through
    return found


def families(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the bases B, which have fewer records than the most, and of B + t for each record t."""
    flat = counts.reshape(len(counts), -1)
    place = {tuple(row): i for i, row in enumerate(flat.tolist())}
    bases = np.flatnonzero(flat.sum(axis=1) < flat.sum(axis=1).max())
    one_more = np.eye(flat.shape[1], dtype=int)
    return bases, np.array([[place[tuple(row)] for row in (flat[i] + one_more).tolist()] for i in bases])


def greatest_ratios(law: np.ndarray, step: float, bases: np.ndarray, larger: np.ndarray) -> dict[str, float]:
    """Return max |log Pr_S[b]/Pr_S'[b]| over bits, queries and pairs, by relation, and `range` of a replaced pair.

    `range` is the greatest difference of the log-odds: its bound makes the range of the privacy loss bounded.
    """
    T = (law.shape[2] - 1) // 2
    at = step * np.arange(-T, T + 1)
    # Both from their own sums: 1 - Pr[1] would lose digits.
    logs = np.stack([np.log(law @ np.exp(log_expit(sign * at))) for sign in (1, -1)])
    odds = logs[0] - logs[1]
    replaced = max(float(np.ptp(bit[larger], axis=1).max()) for bit in logs)
    added = max(float(np.abs(bit[larger] - bit[bases][:, None]).max()) for bit in logs)
    return {"replace": replaced, "add_remove": added, "range": float(np.ptp(odds[larger], axis=1).max())}


def greatest_moves(law: np.ndarray, bases: np.ndarray, larger: np.ndarray) -> dict[str, float]:
    """Return how far V moves at most, by relation, where it is a number (ties sorted, or points < x)."""
    v = np.argmax(law, axis=2)
    return {
        "replace": float(np.ptp(v[larger], axis=1).max()),
        "add_remove": float(np.abs(v[larger] - v[bases][:, None]).max()),
    }
