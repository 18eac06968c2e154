"""Walsh averages (z_i + z_j)/2, i <= j: their median estimates a centre, their order statistics are its interval."""

import math
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

from dperm_pipeline.claims.paired import signed_rank_law


def averages(values: np.ndarray) -> np.ndarray:
    """Return the averages of `values` of shape (n,); shape (n (n + 1)/2,), in no order."""
    i, j = _pairs(len(values))
    return 0.5 * (values[i] + values[j])


@cache
def outside(n: int, level: float) -> int:
    """Return how many averages of n values lie outside the interval on either side: P(T < that) <= (1 - level)/2."""
    return int((np.cumsum(signed_rank_law(np.arange(1, n + 1))) <= 0.5 * (1 - level)).sum())


def at(ordered: np.ndarray, places: Sequence[int]) -> dict[int, float]:
    """Return order statistics of the Walsh averages, which are not sorted for that, nor all computed.

    - ordered: shape (n,); values, rising.
    - places: rising, from 0. Averages far from the median are only counted, which is quick as long as all places are
      near.
    - Returns: from places to averages.
    """
    n = len(ordered)
    reach = 3.0 * float(ordered.std()) / math.sqrt(n)
    middle, slack = 0.5 * float(np.median(ordered) + ordered.mean()), 1e-9 * (float(np.abs(ordered).max()) + reach)
    low, high = middle - reach, middle + reach
    # Of the averages of value i with those from i on, places first[i] to last[i] - 1 are near.
    own = np.arange(n)
    first = np.maximum(np.searchsorted(ordered, 2 * low - ordered), own)
    last = np.maximum(np.searchsorted(ordered, 2 * high - ordered, side="right"), first)
    count, below = last - first, int((first - own).sum())
    if reach > 0 and below <= places[0] and places[-1] < below + count.sum():
        one = np.repeat(own, count)
        other = np.arange(len(one)) + np.repeat(first - np.cumsum(count) + count, count)
        near = np.partition(0.5 * (ordered[one] + ordered[other]), [place - below for place in places])
        found = {place: float(near[place - below]) for place in places}
        # Up to rounding of what was counted.
        if low + slack < found[places[0]] and found[places[-1]] < high - slack:
            return found
    parted = np.partition(averages(ordered), places)
    return {place: float(parted[place]) for place in places}


@lru_cache(maxsize=4)
def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(n)
