"""Wilcoxon's signed-rank test, its power, and the intervals that belong to it.

The Walsh averages of n values are (z_i + z_j)/2, i <= j: their median estimates a centre (Hodges and Lehmann), their
order statistics are its interval, and the test's statistic is the number of them that are positive.
"""

import math
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np
import pandas as pd
from scipy import special

# The power of which `detectable` speaks.
POWER = 0.8


def signed_rank_p(difference: np.ndarray) -> float:
    """Return the one-sided p-value of Wilcoxon's signed-rank test that differences tend to be above 0.

    It is P(T >= the observed sum of ranks of positive differences) under random signs; 1 without a nonzero difference.
    Exact for the ranks as they are, with ties too, where `scipy.stats.wilcoxon` approximates. Infinities are tied among
    themselves, zeros are dropped.
    """
    difference = difference[difference != 0]
    if not len(difference):
        return 1.0
    # Mean ranks are multiples of 1/2: twice them are integers.
    doubled = np.rint(2 * pd.Series(np.abs(difference)).rank()).astype(int)
    return min(1.0, float(signed_rank_law(doubled)[doubled[difference > 0].sum() :].sum()))


def signed_rank_law(ranks: np.ndarray) -> np.ndarray:
    """Return P(T = t), t = 0, 1, ..., of the sum T of those ranks whose fair coin shows heads: Wilcoxon's null law."""
    return _law(tuple(np.sort(ranks).tolist())).copy()


@lru_cache(maxsize=8)
def _law(ranks: tuple[int, ...]) -> np.ndarray:
    law, reach = np.zeros(sum(ranks) + 1), 1
    law[0] = 1.0
    # Convolve the law with one coin after the other; so far it is 0 from `reach` on.
    for rank in ranks:
        low, high = law[:reach].copy(), law[rank : reach + rank]
        law[:reach] *= 0.5
        high += 0.5 * low
        reach += rank
    return law


def detectable(n: int, level: float, power: float = POWER) -> float:
    """Return the mean of n normal differences, in standard deviations, that the test detects with probability `power`.

    It is infinite if n pairs cannot reject at the (one-sided) level at all: the smallest p-value is 2^-n. Else a sample
    is rejected from the shift on that lifts the c-th largest Walsh average above 0, c being the critical value: the
    answer is a quantile of that shift over 2,000 simulated samples (fixed seed; standard error about 0.01). Above 100
    pairs the normal approximation with Wilcoxon's efficiency 3/pi serves; below, and at small levels, it promises too
    much.
    """
    if 2.0**-n > level:
        return math.inf
    if n > 100:
        return float((special.ndtri(power) - special.ndtri(level)) / math.sqrt(3 / math.pi * n))
    tail = np.cumsum(signed_rank_law(np.arange(1, n + 1))[::-1])[::-1]
    critical = int(np.argmax(tail <= level))
    z = np.random.default_rng(n).standard_normal((2000, n))
    i, j = np.triu_indices(n)
    averages = 0.5 * (z[:, i] + z[:, j])
    return float(np.quantile(-np.partition(averages, -critical, axis=1)[:, -critical], power))


def walsh_averages(values: np.ndarray) -> np.ndarray:
    """Return the Walsh averages of `values` of shape (n,); shape (n (n + 1)/2,), in no order."""
    i, j = _pairs(len(values))
    return 0.5 * (values[i] + values[j])


@cache
def averages_outside(n: int, level: float) -> int:
    """Return how many averages of n values lie outside the interval on either side: P(T < that) <= (1 - level)/2."""
    return int((np.cumsum(signed_rank_law(np.arange(1, n + 1))) <= 0.5 * (1 - level)).sum())


def order_statistics(ordered: np.ndarray, places: Sequence[int]) -> dict[int, float]:
    """Return the Walsh averages of rising values at some rising places of their order, without computing all of them.

    Averages far from the median are only counted, which is quick as long as all places are near it.
    """
    n = len(ordered)
    reach = 3.0 * float(ordered.std()) / math.sqrt(n)
    middle, slack = 0.5 * float(np.median(ordered) + ordered.mean()), 1e-9 * (float(np.abs(ordered).max()) + reach)
    low, high = middle - reach, middle + reach
    # Of the averages of value i with values i, i + 1, ... those with first[i], ..., last[i] - 1 are near.
    i = np.arange(n)
    first = np.maximum(np.searchsorted(ordered, 2 * low - ordered), i)
    last = np.maximum(np.searchsorted(ordered, 2 * high - ordered, side="right"), first)
    count, below = last - first, int((first - i).sum())
    if reach > 0 and below <= places[0] and places[-1] < below + count.sum():
        one = np.repeat(i, count)
        other = np.arange(len(one)) + np.repeat(first - np.cumsum(count) + count, count)
        near = np.partition(0.5 * (ordered[one] + ordered[other]), [place - below for place in places])
        found = {place: float(near[place - below]) for place in places}
        # Unless rounding may have moved one of them over an end, as it may for values far from 0.
        if low + slack < found[places[0]] and found[places[-1]] < high - slack:
            return found
    parted = np.partition(walsh_averages(ordered), places)
    return {place: float(parted[place]) for place in places}


@lru_cache(maxsize=4)
def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(n)
