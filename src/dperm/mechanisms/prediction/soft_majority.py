r"""Soft majority: one bit from the votes of r shards, by the exponential mechanism on the counts of the labels.

With count of the r shards for label 1, and v = 2 count - r,

    Pr[1] = e^{eps v/2}/(1 + e^{eps v/2}).

A changed record changes one shard, so count by at most 1 and v by at most 2, under replace-one and add/remove alike
(`dperm.mechanisms.prediction.shards`). The log-odds are eps v/2: they move by at most eps, and log Pr[1] and log Pr[0]
each by less, in opposite directions: the bit has an eps-bounded range, which is eps^2/8-zCDP (Cesar & Rogers 2021).

With k classes, of which class j has c_j of the r votes, it is the exponential mechanism on the counts,

    Pr[j] = e^{eps c_j/2}/sum_i e^{eps c_i/2},

for two classes the same law. A changed record takes one vote away and adds one elsewhere, so that of the log-weights
eps c_j/2 one falls by eps/2, one rises by it, and none else moves: differences of any two move by eps at most, which is
an eps-bounded range, and so eps-DP, for any k (docs/privacy.md, section 12).

    calibration "tight": that, the law of Theorem 4.1's proof. Guarantee: proved.
    calibration "paper": the prose of Section 4.1, weights e^{eps count(b)}: Pr[1] = e^{eps v}/(1 + e^{eps v}), 2 eps;
    so of any number of classes.
    At the epsilon asked for its guarantee is `none` (erratum D1).

Sources: dwork2018, Section 4.1, Theorem 4.1; erratum D1.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from scipy.special import expit, softmax

from dperm import grid
from dperm.domain import Budget, Guarantee, Neighbours, number, one_of

CALIBRATIONS = ("paper", "tight")

Offered = Literal["paper", "tight"]
# How far the log-odds move with one vote, in units of epsilon.
STEPS = {"paper": 2.0, "tight": 1.0}
_GUARANTEES: dict[str, Guarantee] = {"paper": "none", "tight": "proved"}


def shards_needed(alpha: float, epsilon: float, classes: int = 2) -> int:
    """Return r = ceil(6 ln(4 (k - 1)/alpha)/epsilon), of two classes that of Theorem 4.1; alpha, the error, in (0, 1).

    Where a third of the shards or less is wrong, no wrong class has more than e^{-epsilon r/6} times the weight of the
    right one, so that all k - 1 of them have alpha/4 at most.
    """
    alpha = number("alpha", alpha, 0, 1, remedy="it is the error asked for")
    return math.ceil(6 * math.log(4 * (classes - 1) / alpha) / Budget(epsilon).epsilon)


def guarantee(calibration: Offered) -> Guarantee:
    """Return "proved" for "tight", "none" for "paper" (erratum D1)."""
    one_of("calibration", calibration, Offered)
    return _GUARANTEES[calibration]


def log_odds(count: np.ndarray | int, r: int, epsilon: float, calibration: Offered = "tight") -> np.ndarray:
    """Return log(Pr[1]/Pr[0]): eps v/2, or as printed in prose eps v."""
    one_of("calibration", calibration, Offered)
    return STEPS[calibration] * Budget(epsilon).epsilon * (2 * np.asarray(count) - r) / 2


def probability(count: np.ndarray | int, r: int, epsilon: float, calibration: Offered = "tight") -> np.ndarray:
    """Return Pr[1]; arguments as of `log_odds`."""
    return expit(log_odds(count, r, epsilon, calibration))


def bits(
    counts: np.ndarray, r: int, epsilon: float, calibration: Offered, rngs: Sequence[np.random.Generator]
) -> np.ndarray:
    """Draw the bits of m queries exactly: epsilon is the number that the double is, and no bit is impossible."""
    half = Fraction(STEPS[calibration]) * Fraction(epsilon) / 2
    return grid.bits(lambda v, k: grid.logistic(half * v, k), [2 * int(count) - r for count in counts], rngs)


def probabilities(counts: np.ndarray, epsilon: float, calibration: Offered = "tight") -> np.ndarray:
    """Return the probability of each of k classes (counts, and the result: (m, k))."""
    one_of("calibration", calibration, Offered)
    return softmax(STEPS[calibration] * Budget(epsilon).epsilon * np.asarray(counts) / 2, axis=1)


def turned(r: int, classes: int, epsilon: float, calibration: Offered = "tight") -> float:
    """Return the probability of another class than the one that all r shards vote for."""
    return float(expit(math.log(classes - 1) + log_odds(0, r, epsilon, calibration)))


def choices(
    counts: np.ndarray, epsilon: float, calibration: Offered, rngs: Sequence[np.random.Generator]
) -> np.ndarray:
    """Draw the classes of m queries exactly, as `bits` does, and of two the same by the same bits (counts: (m, k))."""
    half = Fraction(STEPS[calibration]) * Fraction(epsilon) / 2
    rows = [tuple(map(int, row)) for row in counts]
    return grid.choices(lambda row, bits: grid.tails([half * count for count in row], bits), rows, rngs)


def release(
    counts: np.ndarray,
    r: int,
    epsilon: float,
    *,
    calibration: Offered,
    neighbours: Neighbours = "replace",
    rng: np.random.Generator,
    repeats: int = 1,
) -> np.ndarray:
    """Draw the bits of m queries, `repeats` times, for simulations: from doubles, which `bits` does not.

    Every bit spends epsilon. A chance is met to within 2^-53, so that log-odds of 37 and more are certain.

    - neighbours: a count moves by at most 1 under both, so the law is the same.
    """
    one_of("neighbours", neighbours, Neighbours)
    number("repeats", repeats, 1, math.inf, ends="[)")
    counts = np.asarray(counts)
    if counts.size and not (counts.min() >= 0 and counts.max() <= r):
        raise ValueError(f"counts must lie in 0..{r}, the number of shards: {counts.min()}..{counts.max()} do not")
    return (rng.random((repeats, len(counts))) < probability(counts, r, epsilon, calibration)).astype(np.int8)
