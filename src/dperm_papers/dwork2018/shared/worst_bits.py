r"""The exact delta of m bits, each with its own likelihood ratio, and of the best adaptive choice of them.

One bit of an e-DP, or e-bounded-range, mechanism has log-odds that differ by at most e between neighbours:

    randomised response    Pr[1] = expit(e) against expit(-e): ratios e and -e, the worst that e-DP allows;
    bounded range          Pr[1] = expit(t) against expit(t - e): ratios within an interval of length e, for every t:
                           a soft majority at margin v (t = e v/2), ExpPW's bit at v.

Of m such bits the number J of ones tells everything, and delta(eps) = E_P (1 - exp(eps - loss))_+, a binomial sum.

**Adaptive.** An analyst who picks t anew for every bit, by the loss so far, gets V_m(0) of

    V_0(l) = (1 - exp(eps - l))_+,    V_k(l) = max_t E_P V_{k-1}(l + loss of a bit at t).

V_k is convex in z = exp(-l) and falls, so that the chord between two points of a grid lies above it: the recursion on a
grid, with chords, gives an upper bound on what any adaptive attack with these t achieves. (Bounded range composes worse
adaptively than not: Dong, Durfee & Rogers 2020. For e-DP randomised response is the best choice at every step.)

References
----------
dwork2018, Definition 1.1; Kairouz, Oh & Viswanath 2015; docs/privacy.md, section 12, Theorem T.
"""

import math

import numpy as np
from scipy import special, stats

# Where the worst t is looked for; points of the grid in a step of length e.
OFFSETS = np.array([-3, -2, -1, -0.5, -0.25, -0.1, -0.03, 0, 0.03, 0.1, 0.25, 0.5, 1, 2, 3])
_FINE = 16
_TEETH = 101


def bits_delta(epsilon: float, m: int, log_odds: float, step: float) -> float:
    """Return delta of m bits with log-odds t under P and t - step under Q; t = e, step = 2 e is randomised response."""
    one, zero = _losses(log_odds, step)
    # Ones that lose more than epsilon; beyond 20 sqrt(m) above their mean lies less than e^-800 (Hoeffding).
    low = max(0, math.floor((epsilon - m * zero) / (one - zero)))
    J = np.arange(low, min(m, math.ceil(m * special.expit(log_odds) + 20 * math.sqrt(m))) + 1)
    loss = J * one + (m - J) * zero
    return float(stats.binom.pmf(J, m, special.expit(log_odds)) @ -np.expm1(np.minimum(epsilon - loss, 0.0)))


def worst_delta(epsilon: float, m: int, each: float, *, bounded_range: bool) -> float:
    """Return the largest delta of m like bits, over a fine grid of t; without range, that of randomised response."""
    if not bounded_range:
        return bits_delta(epsilon, m, each, 2 * each)
    found = [bits_delta(epsilon, m, each / 2 + offset, each) for offset in OFFSETS]
    best = int(np.argmax(found))
    # J has steps, so delta has teeth over t: a fine grid, not a descent.
    low, high = (OFFSETS[min(max(best + k, 0), len(found) - 1)] for k in (-1, 1))
    fine = [bits_delta(epsilon, m, each / 2 + offset, each) for offset in np.linspace(low, high, _TEETH)]
    return max(*found, *fine)


def adaptive_delta(epsilon: float, m: int, each: float) -> float:
    """Return an upper bound, some per cent too large, on delta of every adaptive choice of m bits among `OFFSETS`."""
    width = each / _FINE
    reach = math.ceil(4 * each * math.sqrt(m) / width)
    grid = width * np.arange(-reach, math.ceil(epsilon / width) + reach + 1)
    value = np.maximum(0.0, -np.expm1(epsilon - grid))
    moves = [_move(t, each, width) for t in each / 2 + OFFSETS]
    for _ in range(m):
        best = np.zeros(len(grid))
        # Below the grid its first value is an upper bound, above it 1.
        around = np.concatenate([np.full(_FINE + 1, value[0]), value, np.ones(_FINE + 2)])
        for move in moves:
            total = sum(weight * around[_FINE + 1 + by : _FINE + 1 + by + len(grid)] for by, weight in move)
            np.maximum(best, total, out=best)
        value = best
    return float(value[reach])


def _move(t: float, each: float, width: float) -> list[tuple[int, float]]:
    """Grid steps and weights of a bit: between two points z is linear, in the same way everywhere."""
    found, one = [], special.expit(t)
    for mass, loss in zip((one, 1 - one), _losses(t, each), strict=True):
        below = math.floor(loss / width)
        share = math.expm1(-(loss - below * width)) / math.expm1(-width)
        found += [(below, mass * (1 - share)), (below + 1, mass * share)]
    return found


def _losses(log_odds, step):
    """log P/Q of a one and of a zero."""
    one = special.log_expit(log_odds) - special.log_expit(log_odds - step)
    return one, one - step
