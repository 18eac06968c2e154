r"""tie(N): N points with n/N records each, labels 1 with probability 1/4, independently.

The best of all functions is the constant 0, in expectation 1/4. With ties sorted by (x, y) the walk meets all zeros of
a point before its ones, and every query at the point comes after the last of these; V is a Markov chain over points,

    V <- min(max(V - zeros, -T) + ones, T),     ones ~ Bin(n/N, 1/4), zeros = n/N - ones,

and E Err_S is an exact sum of binomials. With ties in random order the labels come as they are drawn, and every query
at a point still comes after the last of its records. With lifted ties the labels of a point come in random order too:
drawn, and the error on the draw is exact,

    own     a record asks with its own key, as the lifted sample's Lemma 5.2 has it;
    fresh   a record asks with a new key, as the served predictor does: the mean over all ranks among the point's keys.

References
----------
dwork2018, Lemma 5.2, Theorem 5.3; erratum D5.
"""

import numpy as np
from scipy import stats
from scipy.special import expit

from dperm.mechanisms.prediction import exppw
from dperm.solvers import intervals

SHARE = 0.25


def sorted_error(points: int, n: int, bound: float, step: float) -> float:
    """Return E Err_S of ExpPW with ties sorted by (x, y), exactly; N, the points, divides n, and T is an integer."""
    T, each = round(bound), n // points
    ones = np.arange(each + 1)
    chance = stats.binom.pmf(ones, each, SHARE)
    v = np.arange(-T, T + 1)
    # From each V to the next, for each count of ones.
    after = np.minimum(np.maximum(v[:, None] - (each - ones), -T) + ones, T)
    one = expit(step * after)
    wrong = (ones * (1 - one) + (each - ones) * one) @ chance
    passed = np.zeros((len(v), len(v)))
    np.add.at(passed, (np.repeat(np.arange(len(v)), each + 1), (after + T).ravel()), np.tile(chance, len(v)))
    law, total = np.zeros(len(v)), 0.0
    law[T] = 1.0
    for _ in range(points):
        total += law @ wrong
        law = law @ passed
    return float(total / n)


def drawn(
    points: int, n: int, bound: float, step: float, repeats: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return Err_S of ExpPW on drawn samples with lifted ties (own and fresh) and in random order, and Opt_S(Thr).

    N, the points, divides n. Opt_S is on the points as they are, the random order one for each sample.
    """
    each = n // points
    # Given its counts, a point's labels in the order of their keys are in random order: as they are drawn.
    labels = (rng.random((repeats, n)) < SHARE).astype(np.int8)
    one = expit(step * exppw.walks(labels, bound))
    own = np.where(labels == 1, 1 - one[:, 1:], one[:, 1:]).mean(axis=1)
    sums = np.concatenate([np.zeros((repeats, 1)), np.cumsum(one, axis=1)], axis=1)
    starts = np.arange(points) * each
    asked = (sums[:, starts + each + 1] - sums[:, starts]) / (each + 1)
    ones = labels.reshape(repeats, points, each).sum(axis=2, dtype=np.int64)
    last = one[:, starts + each]
    fresh, random = (
        (ones * (1 - positive) + (each - ones) * positive).sum(axis=1) / n for positive in (asked, last)
    )  # fmt: skip
    return own, fresh, random, intervals.fewest_errors(ones, each - ones, 1) / n


def sorted_population_error(n: int, bound: float, step: float) -> float:
    """Return E Err_P of ExpPW with ties sorted by (x, y) on tie(1), exactly; `bound` is an integer T."""
    ones = np.arange(n + 1)
    v = np.minimum(np.maximum(ones - n, -bound) + ones, bound)
    one = expit(step * v)
    return float(stats.binom.pmf(ones, n, SHARE) @ (SHARE * (1 - one) + (1 - SHARE) * one))


def random_population_error(n: int, bound: float, step: float) -> float:
    """Return E Err_P of ExpPW with ties in random order on tie(1), exactly: V moves n times by an independent label."""
    T = round(bound)
    v = np.arange(2 * T + 1)
    moves = np.zeros((len(v), len(v)))
    moves[v, np.minimum(v + 1, 2 * T)] += SHARE
    moves[v, np.maximum(v - 1, 0)] += 1 - SHARE
    law = np.linalg.matrix_power(moves, n)[T]
    one = expit(step * (v - T))
    return float(law @ (SHARE * (1 - one) + (1 - SHARE) * one))
