r"""The mean error of ExpPW on alternating intervals, over all samples of n records, as a sum.

The law is that of `alternating`: k + 1 equal segments, labels 0, 1, 0, .., a share `flip` of them wrong. Within a
segment look at the walk so that right labels lead up: u = V on segments of label 1, -V on those of label 0, so that u
changes its sign at an end. Each record moves u by +1 with probability 1 - flip, else by -1, within [-T, T]: a Markov
chain with matrix P. The rank of a query among the N records of its segment is uniform on 0..N, so its mean probability
of the wrong bit, from u at the start, is

    C_N(u) = 1/(N + 1) sum_{j <= N} P^j c (u),      c(u) = 1/(1 + e^{step u}),

and the mean excess error is (1 - 2 flip)/(k + 1) times the sum over segments of the mean of C_N. N is binomial(n,
1/(k + 1)); the first segment starts at u = 0, the second where the first one's records left the walk, its sign changed,
N_1 and N_2 multinomial together. For k = 1 that is all, and exact. Later segments start from the stationary law one
segment before: with d(N) the probability that walks from both ends have not met after N records, which bounds the
distance of any two laws, the mean excess so found is off by at most (1 - 2 flip)/(k + 1) (k - 1) (E d(N))^2, for counts
of a multinomial law are negatively associated. `mean_excess` returns both.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import expit

from dperm.compiled import compiled

# Counts less probable than this are left out.
_NEGLIGIBLE = 1e-16


class Chain(NamedTuple):
    """The walk within a segment, for up to N records.

    - costs: shape (N + 1, 2T + 1); C_N(u), u = -T..T.
    - first, later: shape (N + 1, 2T + 1); the law of u after so many records, from 0, and from the stationary law with
      its sign changed.
    - apart: shape (N + 1,); d(N).
    """

    flip: float
    costs: np.ndarray
    first: np.ndarray
    later: np.ndarray
    apart: np.ndarray


def chain(T: int, step: float, flip: float, records: int) -> Chain:
    """Return the walk within a segment of up to `records` records; flip is in [0, 1/2), `step` as of `exppw.step`."""
    u = np.arange(-T, T + 1)
    # Detailed balance: a step up is (1 - flip)/flip times as probable as one down.
    stationary = (u == T).astype(float) if flip == 0 else (flip / (1 - flip)) ** (T - u).astype(float)
    stationary /= stationary.sum()
    starts = np.stack([(u == 0).astype(float), stationary[::-1]])
    first, later = _laws(starts, flip, records)
    return Chain(flip, _costs(expit(-step * u), flip, records), first, later, _unmet(2 * T, flip, records))


@compiled
def _laws(starts, flip, records):
    """The law of u after 0..N records, from each start."""
    size = starts.shape[1]
    found = np.zeros((starts.shape[0], records + 1, size))
    for s in range(starts.shape[0]):
        # Entry by entry: Numba takes two seconds to compile the assignment of a row.
        for i in range(size):
            found[s, 0, i] = starts[s, i]
        for j in range(records):
            for i in range(size):
                mass = found[s, j, i]
                found[s, j + 1, min(i + 1, size - 1)] += (1 - flip) * mass
                found[s, j + 1, max(i - 1, 0)] += flip * mass
    return found


@compiled
def _costs(cost, flip, records):
    size = len(cost)
    found, total, now, then = np.empty((records + 1, size)), cost.copy(), cost.copy(), cost.copy()
    for i in range(size):
        found[0, i] = cost[i]
    for j in range(1, records + 1):
        for i in range(size):
            then[i] = (1 - flip) * now[min(i + 1, size - 1)] + flip * now[max(i - 1, 0)]
        now, then = then, now
        for i in range(size):
            total[i] += now[i]
            found[j, i] = total[i] / (j + 1)
    return found


@compiled
def _unmet(width, flip, records):
    """The walks from both ends meet once one of them has been pushed back `width` times: follow their two places."""
    found = np.ones(records + 1)
    # Both move alike until one is at a wall: state (lower end, gap).
    law = np.zeros((width + 1, width + 1))
    law[0, width] = 1.0
    for j in range(1, records + 1):
        new = np.zeros((width + 1, width + 1))
        for low in range(width + 1):
            for gap in range(1, width + 1 - low):
                mass = law[low, gap]
                if mass == 0.0:
                    continue
                if low + gap == width:
                    new[low + 1, gap - 1] += (1 - flip) * mass
                else:
                    new[low + 1, gap] += (1 - flip) * mass
                if low == 0:
                    new[0, gap - 1] += flip * mass
                else:
                    new[low - 1, gap] += flip * mass
        new[:, 0] = 0.0
        law = new
        found[j] = law.sum()
        if found[j] < 1e-18:
            found[j:] = 0.0
            break
    return found


def mean_excess(walk: Chain, n: int, k: int) -> tuple[float, float]:
    """Return the mean excess error over all samples of n records, and how far off it is at most: 0 for k = 1 end.

    `walk` holds at least as many records as a segment may have, but for a probability of 1e-16.
    """
    counts, weights = _window(n, 1 / (k + 1))
    costs, middle = walk.costs, walk.costs.shape[1] // 2
    total, off = float(weights @ costs[counts, middle]), 0.0
    if k == 1:
        # The other segment has all other records.
        total += float(np.einsum("c,cu,cu", weights, walk.first[counts, ::-1], costs[n - counts]))
    else:
        joint = _second(n, 1 / k, counts, weights, costs)
        second, later = (float(np.sum(laws[counts, ::-1] * joint)) for laws in (walk.first, walk.later))
        total += second + (k - 1) * later
        off = (k - 1) * float(weights @ walk.apart[counts]) ** 2
    share = (1 - 2 * walk.flip) / (k + 1)
    return share * total, share * off


def _window(n: int, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts of Bin(n, p) that matter, and their probabilities."""
    spread = math.ceil(9 * math.sqrt(n * p * (1 - p))) + 5
    counts = np.arange(max(0, math.floor(n * p) - spread), min(n, math.ceil(n * p) + spread) + 1)
    weights = stats.binom.pmf(counts, n, p)
    kept = weights > _NEGLIGIBLE
    return counts[kept], weights[kept]


def _second(n, p, counts, weights, costs) -> np.ndarray:
    """Return the mean of C_N2(u) over N2 ~ Bin(n - N1, p), times the probability of N1: shape (counts, 2T + 1)."""
    found = np.empty((len(counts), costs.shape[1]))
    for row, (count, weight) in enumerate(zip(counts, weights, strict=True)):
        others, chances = _window(n - count, p)
        found[row] = weight * (chances @ costs[others])
    return found


def least_records(T: int, step: float, flip: float, k: int, alpha: float) -> tuple[int, float]:
    """Return the least n at which the mean excess error, with what it may be off, is at most alpha, and the mean there.

    The mean falls with n, so n is found by halving. ValueError if no n does: walks at T err with probability
    1/(1 + e^{step T}), and that alone costs more than alpha.
    """
    if (1 - 2 * flip) * expit(-step * T) >= alpha:
        raise ValueError(
            f"T={T} leaves an error of {expit(-step * T):g}, too much for alpha={alpha:g}; take a larger T"
        )
    high, walk = 16, chain(T, step, flip, 64)
    most = len(walk.costs) - 1
    while sum(mean_excess(walk, high, k)) > alpha:
        high *= 2
        # The next try's records in a segment, with all counts that matter.
        needed = high // (k + 1) + 10 * math.isqrt(high) + 60
        if needed > most:
            del walk  # both at once would take twice the memory
            walk, most = chain(T, step, flip, needed), needed
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sum(mean_excess(walk, middle, k)) <= alpha else (middle, high)
    return high, mean_excess(walk, high, k)[0]
