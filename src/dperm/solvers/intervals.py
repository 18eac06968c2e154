r"""Unions of intervals with at most k ends (Thr_{N,k}): the one with the fewest errors, in O(nk).

    f(x) = 1 where the number of ends a_1 < a_2 < .. <= x is odd,

so k = 1 are the thresholds, k = 2 one interval. Over the different points in order, with D_s(g) the fewest errors on
the first g of them by functions that have used s ends,

    D_s(g) = min(D_s(g - 1), D_{s-1}(g - 1)) + (ones at point g if s is even, zeros at it if s is odd),

and the fewest errors are min over s <= k of D_s. "At most k": erratum D13.

Sources: dwork2018, Section 5; erratum D13.
"""

import numpy as np

from dperm.compiled import compiled

# Errors that no sample has.
_NEVER = np.iinfo(np.int64).max // 2


def minimise(x: np.ndarray, y: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Return the ends of a union of intervals with the fewest errors.

    - x: shape (n,); finite points, in any order; ties are welcome.
    - y: shape (n,); labels 0 and 1.
    - ends: shape (at most k,); points of the sample, rising; as few as the fewest errors need.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y)
    order = np.argsort(x)
    ordered = x[order]
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(x), 1), bool), ordered[1:] != ordered[:-1]]))
    if not len(starts):
        return np.empty(0), 0
    ones = np.add.reduceat((y[order] == 1).astype(np.int64), starts)
    sizes = np.diff(np.append(starts, len(x)))
    choices, fewest = _traced(ones, sizes - ones, int(k))
    used, ends = int(np.argmin(fewest)), []
    s = used
    for g in range(len(starts) - 1, -1, -1):
        if choices[g, s]:
            ends.append(ordered[starts[g]])
            s -= 1
    return np.array(ends[::-1]), int(fewest[used])


@compiled
def _traced(ones, zeros, k):
    """D_s at the end, and at each point whether its best way there took an end."""
    best = np.full(k + 1, _NEVER)
    best[0] = 0
    choices = np.zeros((len(ones), k + 1), dtype=np.uint8)
    for g in range(len(ones)):
        for s in range(k, -1, -1):
            if s > 0 and best[s - 1] < best[s]:
                best[s] = best[s - 1]
                choices[g, s] = 1
            if best[s] < _NEVER:
                best[s] += ones[g] if s % 2 == 0 else zeros[g]
    return choices, best


def fewest_errors(ones: np.ndarray, zeros: np.ndarray, k: int) -> np.ndarray:
    """Return the fewest errors of at most k ends, from each sample's ones and zeros at its points, in their order."""
    return _fewest(np.ascontiguousarray(ones, dtype=np.int64), np.ascontiguousarray(zeros, dtype=np.int64), int(k))


@compiled
def _fewest(ones, zeros, k):
    found = np.empty(len(ones), dtype=np.int64)
    best = np.empty(k + 1, dtype=np.int64)
    for r in range(len(ones)):
        best[:] = _NEVER
        best[0] = 0
        for g in range(ones.shape[1]):
            for s in range(k, -1, -1):
                if s > 0:
                    best[s] = min(best[s], best[s - 1])
                best[s] += ones[r, g] if s % 2 == 0 else zeros[r, g]
        found[r] = best.min()
    return found


def inside(x: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the function with these ends at points, shape (n,); 0 or 1."""
    return (np.searchsorted(ends, x, side="right") % 2).astype(np.int8)
