r"""The least number of records with which any private prediction learns d noisy labels (dwork2018, Section 2.1).

d points, labels Pr[y = b_i] = 1/2 + gamma at point i, b_i fair coins: the best function has the values b_i, and saying
1 - b_i costs 2 gamma at i. Records fall on a point with probability q. What can an (epsilon, delta)-private bit
(replace-one) know of b_i from a records (i, b_i) and c records (i, 1 - b_i)?

`dperm_papers.dwork2018.shared.best_bit` shows that label counts suffice and that all bounds on p(a, c), the probability
of the bit 1, are met at once by p(a, c) = g(a - c), g(-v) = 1 - g(v). Its reason does not hang on the labels being
noiseless: from (a, c) to (c, a) lead |a - c| replacements, so p(a, c) <= g(a - c) wherever a >= c and p is symmetric;
the mean error is a constant less the sum over a > c of (Pr[a, c] - Pr[c, a]) p(a, c), whose weights are not negative,
since b_i is the likelier label. So the least mean error is

    E w(v) with w(v) = 1 - g(v),   v = a - c,   w(-v) = 1 - w(v),

and v is a sum of n steps that are 1, -1, 0 with probabilities q (1/2 + gamma), q (1/2 - gamma), 1 - q.

**A law for each part of the bound.** Let 2 gamma s = 4 alpha with s the mass of the noisy points: no prediction's
excess is above 4 alpha, so excess alpha with confidence 11/12 means a mean of at most alpha + 4 alpha/12, a mean error
of the bits of at most 1/3. gamma = 2 alpha has s = 1 and makes labels so noisy that n ~ d/alpha^2 are needed without
privacy; gamma = 1/2 is Theorem 4.3's law of noiseless labels on few records, s = 4 alpha, and n ~ d/(epsilon alpha).
Points that share s are d (s = 1) or d - 1 (else, beside a heavy point). Any learner must do all of them: the least n is
the largest.

References
----------
dwork2018, Section 2.1 (agnostic learning), Theorems 2.2 and 4.3.
"""

import math
from collections.abc import Callable

import numpy as np

from dperm.domain import Budget
from dperm_papers.dwork2018.shared import best_bit
from dperm_papers.dwork2018.shared.counting import least

# A mean error of the bits that excess alpha with confidence 11/12 does not exceed.
MOST = 1 / 3
# Standard deviations of v that are summed over, beside a few whole steps: the rest is below rounding.
_REACH, _STEPS = 9.0, 60

# Maps v >= 0 to the error of a bit after v agreeing records more than disagreeing ones.
Bit = Callable[[np.ndarray], np.ndarray]


def private(budget: Budget) -> Bit:
    """Return the least error of an (epsilon, delta)-private bit; replace-one."""
    return lambda v: best_bit.wrong(v, budget)


def majority(v: np.ndarray) -> np.ndarray:
    """Return the error of the majority, which no prediction without privacy beats."""
    return np.where(v > 0, 0.0, 0.5)


def counts(epsilon: float) -> Bit:
    """Return the error of the exponential mechanism on label counts: odds e^{epsilon v/2}; replace-one moves v by 2."""
    return lambda v: 1 / (1 + np.exp(epsilon * v / 2))


def laws(d: int, alpha: float) -> list[tuple[float, float]]:
    """Return (q, gamma) from the noisiest labels everywhere to noiseless ones on rare points, for alpha in (0, 1/4]."""
    gammas = np.geomspace(2 * alpha, 0.5, 5)
    found = [(1 / d, float(gammas[0]))]
    return found + [(2 * alpha / float(gamma) / (d - 1), float(gamma)) for gamma in gammas[1:]]


def error(n: int, q: float, gamma: float, bit: Bit) -> float:
    """Return the mean error of a bit from n records, exactly up to rounding."""
    v, mass = differences(n, q, gamma)
    size = bit(np.abs(v))
    return float(mass @ np.where(v >= 0, size, 1 - size))


def differences(n: int, q: float, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of v and their probabilities, from the characteristic function of a step to the power n."""
    middle = round(2 * gamma * q * n)
    half = 2 ** math.ceil(math.log2(_REACH * math.sqrt(n * q) + _STEPS))
    angle = np.pi * np.arange(2 * half) / half
    ones, zeros = q * (0.5 + gamma), q * (0.5 - gamma)
    step = 1 + ones * np.expm1(1j * angle) + zeros * np.expm1(-1j * angle)
    # v less its middle, modulo 2 half.
    mass = np.fft.fft(step**n * np.exp(-1j * angle * middle)).real / (2 * half)
    place = np.arange(2 * half)
    place = np.where(place >= half, place - 2 * half, place)
    return middle + place, np.maximum(mass, 0.0)


def records(d: int, alpha: float, bit: Bit) -> int:
    """Return the least n with which a bit errs at most 1/3 of the time on every law: d >= 2, alpha in (0, 1/4]."""
    # On each law the error falls with n.
    return max(least(lambda n, q=q, gamma=gamma: error(n, q, gamma, bit) <= MOST) for q, gamma in laws(d, alpha))
