r"""Sums over records of generalised linear losses l(eta_i, y_i), with l' and l'', in loops that vector registers serve.

    squared           (y - eta)^2/2
    logistic          log(1 + exp(-y eta)),                                    y = -1 or 1
    poisson           exp(eta) - y eta,                                        y = 0, 1, 2, ...
    smoothed_hinge    (1 - t)^2/2 on 0 < t = y eta <= 1, 1/2 - t below, 0 above   y = -1 or 1; li2021, section 6

and each may go on linearly beyond |eta| <= bound. Compiled IEEE arithmetic in a fixed order: the same bytes anywhere.
The exponential is exp(u) = 2^k exp(u - k log 2) with Taylor's polynomial of degree 13 on |.| <= log(2)/2 (within two
units in the last place); the logarithms of the logistic loss are taken of products of many 1 + exp(-|eta|) at once.
"""

import numpy as np

from dperm.compiled import compiled, inlined

LOSSES = {"squared": 0, "logistic": 1, "poisson": 2, "smoothed_hinge": 3}
_SQUARED, _LOGISTIC, _POISSON = 0, 1, 2

# Adding this rounds a double to an integer, and leaves the integer in its lowest bits.
_ROUNDER = 1.5 * 2.0**52
_LOG2_E = 1.4426950408889634
# log 2 in two parts, of which the first times any exponent is exact.
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Within these the result is a normal number.
_LEAST, _MOST = -708.0, 709.0
# Products of this many factors between 1 and 2 are finite; so many products side by side.
_FACTORS, _LANES = 1000, 64


@compiled
def exponential(u, out, bits):
    """Write exp(u), u cut to [-708, 709], to `out`; `bits` is work space of the same length."""
    whole = bits.view(np.int64)
    for i in range(len(u)):
        bits[i] = min(max(u[i], _LEAST), _MOST) * _LOG2_E + _ROUNDER
    for i in range(len(u)):
        k = bits[i] - _ROUNDER
        r = (min(max(u[i], _LEAST), _MOST) - k * _LOG2_HIGH) - k * _LOG2_LOW
        s = r * (1 / 6227020800) + 1 / 479001600
        s = s * r + 1 / 39916800
        s = s * r + 1 / 3628800
        s = s * r + 1 / 362880
        s = s * r + 1 / 40320
        s = s * r + 1 / 5040
        s = s * r + 1 / 720
        s = s * r + 1 / 120
        s = s * r + 1 / 24
        s = s * r + 1 / 6
        s = s * r + 0.5
        s = s * r + 1.0
        out[i] = s * r + 1.0
    for i in range(len(u)):
        whole[i] = (whole[i] + 1023) << 52  # the double 2^k
    for i in range(len(u)):
        out[i] *= bits[i]


@compiled
def evaluate(code, bound, eta, y, slope, second, work):
    """Return the sum of l over records; write l' and l''. `work`: four rows of the same length.

    NaN in eta gives a sum that is NaN or meaningless; overflow of Poisson's stops at exp(709).
    """
    inside, first, other, ones = work[0], work[1], work[2], work[3]
    for i in range(len(eta)):
        inside[i] = min(max(eta[i], -bound), bound)
        ones[i] = 1.0
    if code == _LOGISTIC:
        total = _logistic(inside, y, slope, second, first, other, ones)
    elif code == _POISSON:
        exponential(inside, second, first)
        for i in range(len(eta)):
            slope[i] = second[i] - y[i]
        total = np.dot(second, ones) - np.dot(y, inside)
    elif code == _SQUARED:
        for i in range(len(eta)):
            slope[i] = inside[i] - y[i]
            second[i] = 1.0
        total = 0.5 * np.dot(slope, slope)
    else:
        for i in range(len(eta)):
            short = 1 - y[i] * inside[i]
            share = min(max(short, 0.0), 1.0)
            slope[i] = -y[i] * share
            second[i] = 1.0 if share == short and short < 1 else 0.0
            first[i] = share * (short - 0.5 * share)
        total = np.dot(first, ones)
    if bound < np.inf:
        for i in range(len(eta)):
            first[i] = eta[i] - inside[i]
            second[i] = second[i] if first[i] == 0 else 0.0
        total += np.dot(slope, first)
    return total


@inlined
def _logistic(eta, y, slope, second, small, bits, ones):
    n = len(eta)
    for i in range(n):
        second[i] = -abs(eta[i])
    exponential(second, small, bits)
    for i in range(n):
        bits[i] = 1 + small[i]
    np.divide(ones, bits, second)
    for i in range(n):
        z = y[i] * eta[i]
        share = second[i]
        slope[i] = -y[i] * (share if z < 0 else small[i] * share)
        second[i] = small[i] * share * share
        small[i] = max(-z, 0.0)
    return np.dot(small, ones) + _log_product(bits)


@inlined
def _log_product(factors):
    """Return the sum of the logarithms of numbers in [1, 2]."""
    n, total, product = len(factors), 0.0, np.ones(_LANES)
    for block in range(0, n, _LANES):
        if block + _LANES <= n:
            for k in range(_LANES):
                product[k] *= factors[block + k]
        else:
            for k in range(n - block):
                product[k] *= factors[block + k]
        if (block // _LANES) % _FACTORS == _FACTORS - 1:
            total += np.log(product).sum()
            for k in range(_LANES):
                product[k] = 1.0
    return total + np.log(product).sum()
