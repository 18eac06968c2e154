r"""Products of X with a few vectors, in pairs of doubles: far beyond `numpy.longdouble`, by vector registers.

A sum of k products a_i b_i is kept as s + c. Each product is exact as two doubles (Dekker), each addition to s is too
(Knuth), and their errors, sizes u |a_i b_i| and u |s|, are added up in c (Ogita, Rump and Oishi 2005, Algorithm 5.3).
These additions alone round: s + c is off by at most

    2 (k + 2)^2 u^2 sum_i |a_i b_i|,        u = 2^-53,

and by 6 times the least double for each product near it. A second half of the b_i, no larger than u |b_i|, goes into c
with one product and one addition more, which the bound has room for: c rounds at most k + 2 times what adds up to at
most (k + 2) u sum_i |a_i b_i|. All of it is IEEE arithmetic in a fixed order: the same bytes anywhere.

Source: Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26 (2005), Algorithms 3.3 and 5.3, Proposition 5.5.
"""

import numpy as np

from dperm.compiled import compiled

# Rows side by side in registers and in the cache.
_LANES = 64
# The unit in which errors of up to 2^25 products may be bounded, whatever long doubles a machine has.
UNIT = max(float(np.finfo(np.longdouble).eps), 2.0**-80)
# Veltkamp's: halves of a double whose products with each other are exact.
_SPLIT = 2.0**27 + 1


def margins(X: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return X theta, rounded once to extended precision (theta (p, k) in doubles; the result (n, k))."""
    found = np.empty((2, len(X), theta.shape[1]))
    _margins(np.ascontiguousarray(X), np.ascontiguousarray(theta), found[0], found[1])
    return _whole(found)


def gradient(X: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Return X' slopes, rounded once to extended precision (slopes (n, k), doubles or longer; the result (p, k))."""
    high = slopes.astype(float, copy=False)
    found = np.zeros((2, slopes.shape[1], X.shape[1]))
    _gradient(np.ascontiguousarray(X), np.ascontiguousarray(high), (slopes - high).astype(float), found[0], found[1])
    return _whole(found).T


def two_sum(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded sums and their errors (Knuth)."""
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def _whole(halves: np.ndarray) -> np.ndarray:
    return halves[0].astype(np.longdouble) + halves[1]


@compiled
def _halves(a):
    """Return two numbers of half as many digits, which add up to a."""
    large = _SPLIT * a
    above = large - (large - a)
    return above, a - above


@compiled
def _added(s, a, b, above, below):
    """Return s + a b, and what rounding took from the sum and from the product (above, below: the halves of b)."""
    upper, lower = _halves(a)
    product = a * b
    error = ((upper * above - product) + upper * below + lower * above) + lower * below
    total = s + product
    part = total - s
    return total, (s - (total - part)) + (product - part), error


@compiled
def _margins(X, theta, high, low):
    n, p = X.shape
    # Columns of a few rows at a time: what one loop runs over is independent, and in order in memory.
    block, s, c = np.empty((p, _LANES)), np.empty(_LANES), np.empty(_LANES)
    for first in range(0, n, _LANES):
        rows = min(_LANES, n - first)
        block[:] = 0.0
        for i in range(rows):
            for j in range(p):
                block[j, i] = X[first + i, j]
        for k in range(theta.shape[1]):
            s[:] = 0.0
            c[:] = 0.0
            for j in range(p):
                b = theta[j, k]
                above, below = _halves(b)
                x = block[j]
                for i in range(_LANES):
                    s[i], rounded, error = _added(s[i], x[i], b, above, below)
                    c[i] += rounded + error
            for i in range(rows):
                high[first + i, k], low[first + i, k] = s[i], c[i]


@compiled
def _gradient(X, slopes, rests, high, low):
    n, p = X.shape
    for i in range(n):
        x = X[i]
        for k in range(slopes.shape[1]):
            b, rest = slopes[i, k], rests[i, k]
            above, below = _halves(b)
            s, c = high[k], low[k]
            for j in range(p):
                s[j], rounded, error = _added(s[j], x[j], b, above, below)
                c[j] += rounded + (error + x[j] * rest)
