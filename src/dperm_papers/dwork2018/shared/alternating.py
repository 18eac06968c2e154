r"""Alternating intervals: the law on which ExpPW is measured, and its exact error there.

x is uniform on [0, 1], cut into k + 1 equal segments by the ends j/(k + 1); the target is 0 on the first, 1 on the
second, and so on, a union of intervals with k ends. A label is the target's, flipped with probability `flip`: no
function does better than `flip`. k = 0 is the target 0, and with flip = 1/4 what tie(N) becomes once its points are
lifted to (x, u): so many equal points are as good as a line.

Given the sample S, Pr[1] is constant between neighbouring points, so Err_P is a finite sum over gaps,

    Err_P(M(S)) = flip + (1 - 2 flip) sum over gaps of (length) Pr[M != target],

and nothing is sampled but S. The order statistics of S in a segment of length 1/(k + 1) that holds m points are
independent of the other segments given m (the counts are multinomial), their m + 1 gaps are E_i/(E_0 + .. + E_m) of it,
E_i standard exponential: no sample has to be sorted or kept.

References
----------
dwork2018, Section 5, Theorem 5.3; erratum D5.
"""

import math

import numpy as np
from scipy.special import expit

from dperm.compiled import compiled
from dperm.mechanisms.prediction import exppw


def target(x: np.ndarray, k: int) -> np.ndarray:
    """Return the target with k ends, 0 or 1, at points x in [0, 1]."""
    return (np.minimum(np.floor(np.asarray(x) * (k + 1)), k) % 2).astype(np.int8)


def draw(n: int, k: int, flip: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return x, ascending, and y in {0, 1}; the target has k ends, and a share flip < 1/2 of the labels is wrong."""
    x = np.sort(rng.random(n))
    return x, target(x, k) ^ (rng.random(n) < flip)


def errors(
    n: int, k: int, flip: float, bound: float, step: float, repeats: int, rng: np.random.Generator
) -> np.ndarray:
    """Return Err_P of ExpPW on `repeats` independent samples, each exactly; `bound` is an integer T.

    A record takes about 10 ns with flips; without them only the 2 T records after an end are drawn.
    """
    counts = rng.multinomial(n, np.full(k + 1, 1 / (k + 1)), size=repeats)
    T = round(bound)
    one = expit(step * np.arange(-T, T + 1))
    wrong = np.stack([one, 1 - one])
    found = _exact(counts, wrong, T, rng) if flip == 0 else _flipped(counts, wrong, T, flip, rng)
    return flip + (1 - 2 * flip) * found / (k + 1)


@compiled
def _exact(counts, wrong, T, rng):
    """Without flips a walk rises or falls to its bound and stays: the gaps there are one gamma variable."""
    found = np.zeros(len(counts))
    for r in range(len(counts)):
        at = T
        for j in range(counts.shape[1]):
            label, mass, total = j % 2, 0.0, 0.0
            for i in range(counts[r, j] + 1):
                if at == 2 * T * label:
                    rest = rng.standard_gamma(counts[r, j] + 1 - i)
                    mass += rest * wrong[label, at]
                    total += rest
                    break
                gap = rng.standard_exponential()
                mass += gap * wrong[label, at]
                total += gap
                if i < counts[r, j]:
                    at += 2 * label - 1
            found[r] += mass / total
    return found


@compiled
def _flipped(counts, wrong, T, flip, rng):
    found = np.zeros(len(counts))
    for r in range(len(counts)):
        at = T
        for j in range(counts.shape[1]):
            label = j % 2
            gap = rng.standard_exponential()
            mass, total = gap * wrong[label, at], gap
            for _ in range(counts[r, j]):
                up = (label == 1) != (rng.random() < flip)
                at = min(at + 1, 2 * T) if up else max(at - 1, 0)
                gap = rng.standard_exponential()
                mass += gap * wrong[label, at]
                total += gap
            found[r] += mass / total
    return found


def promised(k: int, alpha: float, epsilon: float) -> tuple[int, int]:
    """Return Theorem 5.3's n as printed, 4(k + 2) ln(2/alpha)/(alpha eps), and mended, 2(k + 2) T/alpha, rounded up.

    For k >= 1 ends, epsilon of one answer under replace-one; they differ by the rounding of T = ceil(2 ln(2/alpha)/eps)
    (erratum D13).
    """
    printed = 4 * (k + 2) * math.log(2 / alpha) / (alpha * epsilon)
    # 2(k + 2)T/alpha is often an integer that division misses by a rounding.
    return math.ceil(printed), math.ceil(2 * (k + 2) * exppw.walk_bound(alpha, epsilon) / alpha - 1e-9)
