r"""Z'Z of many records, right to the last digit of a double: sums that do not round where it counts.

A sum of n products in doubles is off by up to n u of its size, u = 2^-53; but a score, or a gradient, has to be right
up to a fraction of *one* record, whatever n is. So column j is scaled by a power of two t_j, to |z| <= 1, and cut,

    z = H + M + L,   H a multiple of 2^-20,   M one of 2^-41 with |M| <= 2^-21,   |L| <= 2^-42   (all exact),

    Z'Z = H'H + (H'M + M'H) + (H'L + L'H + M'M) + (M'L + L'M + L'L)

(Ozaki and others 2012). The terms of H'H are multiples of 2^-40 and at most 1, those of H'M of 2^-61 and at most 2^-21,
those of M'M of 2^-82 and at most 2^-42. So over a block of N = 2^12 records every partial sum is a double: the products
of matrices are exact in any order of summation, and so is H'M + M'H. The blocks are added by exact sums of two numbers
(Knuth), whose errors go to a second sum.

The error, per record and in units of t_j t_k. What is left out, the last bracket: 2^-62 + 2^-84. H'L and L'H, of terms
up to 2^-42: 2 N u 2^-42 = 2^-82. The second sum has K = n/N parts, each at most 2 u n + 3 N 2^-42, and is off by K u of
their sum: 2 K^2 u^2 + 3 K u 2^-42, which is below 2^-62 up to K = 2^21. That is 2^-60 with much room, so that for
n <= 2^33

    |computed - Z'Z|_jk <= u |Z'Z|_jk + n 2^-60 t_j t_k,     t_j <= 2 max_i |z_ij|,

the first for the last rounding. Underflow is left out.

Sources: Ozaki, Ogita, Oishi and Rump, Numer. Algorithms 59 (2012) (products of matrices without rounding).
"""

import math

import numpy as np

from dperm.solvers.blas import one_thread
from dperm.solvers.compensated import two_sum

# Records whose exact sums fit into a double; and where the pieces are cut.
_BLOCK, _HIGH, _MIDDLE = 2**12, 2.0**20, 2.0**41
# 2^-60 t_j t_k, each t at most twice the largest entry.
OFF = 4 * 2.0**-60


def exact(Z: np.ndarray) -> np.ndarray:
    """Return Z'Z, off by at most u |Z'Z|_jk + OFF n max_i |z_ij| max_i |z_ik|, u = 2^-53; n <= 2^33, |z| <= 1e100."""
    n, p = Z.shape
    if n == 0:
        return np.zeros((p, p))
    largest = np.maximum(Z.max(axis=0), -Z.min(axis=0))
    # largest = m 2^e with m in [1/2, 1); a power of two that is itself a double.
    exponents = np.maximum(np.frexp(largest)[1], -1000)
    scale = np.ldexp(1.0, -exponents)
    high, low = np.zeros((p, p)), np.zeros((p, p))
    with one_thread():
        for start in range(0, n, _BLOCK):
            part = Z[start : start + _BLOCK] * scale
            H = np.rint(part * _HIGH) / _HIGH
            part -= H
            M = np.rint(part * _MIDDLE) / _MIDDLE
            part -= M
            crossed, little = H.T @ M, H.T @ part
            high, lost = two_sum(high, H.T @ H)
            high, also = two_sum(high, crossed + crossed.T)
            low += lost + also + (little + little.T + M.T @ M)
    return np.ldexp(high + low, exponents[:, None] + exponents)


def gradient_off(X: np.ndarray, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return how far moments by `exact` move the gradient X'(X theta - y), beside their last rounding; shape (R,)."""
    (n, p), widest, highest = X.shape, float(np.abs(X).max(initial=0.0)), float(np.abs(y).max(initial=0.0))
    sizes = p * widest * np.linalg.norm(theta, axis=1) + math.sqrt(p) * highest
    return n * OFF * widest * sizes
