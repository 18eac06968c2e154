r"""Rounds of which only some pay.

A round ends in "no" or in "yes" with further output, and is e-DP as a whole; at most B rounds end in "yes", whatever
the queries, and then nothing more is released. Then for lambda > 0, alpha = lambda + 1, the Renyi divergence of order
alpha is at most B mu/lambda, where exp(-mu) is the least of                                                `yes_cost`

    (e^e + 1)/(e^(alpha e) + e^(-lambda e)),   (e^e + 1 - e^(-lambda e)) e^(-alpha e),
    (e^e + 1 - e^(alpha e)) e^(lambda e)       (none if this is not above 0: then nothing is claimed at that order),

for any number of rounds (docs/privacy.md, section 11: exp(lambda loss - mu #yes) is a supermartingale). A "yes" that
also releases a rho-zCDP answer costs mu + lambda alpha rho.
"""

import functools
import math

from dperm.accounting.composition import checked, checked_count, converted, largest, zcdp_rho
from dperm.domain import number
from dperm.errors import InvalidBudget


def yes_cost(order: float, epsilon: float) -> float:
    r"""Return mu: what a "yes" adds to lambda times the Renyi divergence of order lambda + 1.

    Parameters
    ----------
    order : float
        lambda > 0.
    epsilon : float
        e > 0 of a round as a whole.

    Returns
    -------
    float
        Infinite where exp((lambda + 1) e) >= exp(e) + 1.

    References
    ----------
    docs/privacy.md, section 11. (Hardt & Rothblum 2010 and Gupta, Roth & Ullman 2011, Theorem 4.1, with constants.)
    """
    lam, e = order, epsilon
    # (e^e + 1 - e^((lambda + 1) e)) e^(-e) = 1 + lost
    lost = math.expm1(-e) - math.expm1(lam * e) if lam * e < 700 else -math.inf
    if lost <= -1:
        return math.inf
    pair = lam * e + math.log1p(math.exp(-(2 * lam + 1) * e)) - math.log1p(math.exp(-e))
    up = lam * e - math.log1p(math.exp(-e) * -math.expm1(-lam * e))
    down = -(lam + 1) * e - math.log1p(lost)
    return max(pair, up, down, 0.0)


def rounds_delta(epsilon: float, each: float, count: int, rho: float = 0.0) -> float:
    """Return delta of any number of rounds of which at most `count` end in "yes".

    Parameters
    ----------
    epsilon : float
        Of all together, above 0.
    each : float
        e > 0 of a round.
    count : int
        B, 1 or above.
    rho : float
        zCDP of what a "yes" releases besides; 0 or above.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    InvalidBudget
        If a number is outside its range.
    ValueError
        If `count` is no count.

    References
    ----------
    docs/privacy.md, section 11.
    """
    epsilon = number("epsilon", epsilon, 0, math.inf, error=InvalidBudget)
    each = number("each", each, 0, math.inf, error=InvalidBudget, remedy="it is the epsilon of a round")
    rho = number("rho", rho, 0, math.inf, ends="[)", error=InvalidBudget)
    count = checked_count(count)
    most = math.log1p(math.exp(-each)) / each
    return converted(lambda lam: count * (yes_cost(lam, each) + lam * (lam + 1) * rho), epsilon, most)


def rounds(epsilon: float, delta: float, count: int, share: float = 0.0) -> tuple[float, float]:
    """Return what a round, and the answer of a "yes", may spend if at most `count` rounds end in "yes".

    Parameters
    ----------
    epsilon, delta : float
        Of all together.
    count : int
        B, 1 or above.
    share : float
        In [0, 1): the answer's rho over the sum of it and e^2.

    Returns
    -------
    each : float
        e of a round.
    rho : float
        zCDP of the answer of a "yes".

    Raises
    ------
    InvalidBudget
        If epsilon or delta is outside its range.
    ValueError
        If `count` is no count or the share no share.
    """
    checked(epsilon, delta, count)
    number("share", share, 0, 1, ends="[)", remedy="it is the answers' part of the budget")
    return _rounds(float(epsilon), float(delta), int(count), float(share))


@functools.lru_cache(maxsize=1024)
def _rounds(epsilon: float, delta: float, count: int, share: float) -> tuple[float, float]:
    """Return `rounds`: a search, which the next fit with the same budget need not repeat."""

    def split(total: float) -> tuple[float, float]:
        return math.sqrt((1 - share) * total), share * total

    low = 0.1 * zcdp_rho(epsilon, delta) / count
    return split(largest(lambda total: rounds_delta(epsilon, split(total)[0], count, split(total)[1]), low, delta))
