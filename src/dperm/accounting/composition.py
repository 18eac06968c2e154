r"""What many releases cost together: Theorem 11 of jain2013 and its inverse, concentrated privacy, and the optimum.

Every function speaks of adaptive composition under one neighbouring relation, that of the sensitivities it is given.

    Theorem 11 (Dwork, Rothblum & Vadhan 2010): k releases, each e-DP, are (e', delta')-DP with
        e' = sqrt(2 k log(1/delta')) e + k e (exp(e) - 1);                                              `advanced`
    concentrated privacy (Bun & Steinke 2016), rho adds up: rho = e^2/2 for an e-DP release, e^2/8 for one of e-bounded
        range such as the exponential mechanism exp(e q/(2 S)) (Cesar & Rogers 2021), S^2/(2 sigma^2) for a Gaussian;
    rho-zCDP is (eps, delta)-DP with                                                                    `zcdp_delta`
        delta = min_{alpha > 1} exp((alpha - 1)(alpha rho - eps)) (1 - 1/alpha)^alpha / (alpha - 1)
        (Canonne, Kamath & Steinke 2020, Proposition 12);
    k randomised responses, each e-DP, are the worst of all k e-DP releases (Kairouz, Oh & Viswanath 2015):
        delta(eps) = sum_j Binomial(j; k, e^e/(1 + e^e)) (1 - exp(eps - (2j - k) e))_+.                 `optimal_delta`
"""

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, special

from dperm.accounting.gaussian import SMALLEST_DELTA
from dperm.domain import integer, number
from dperm.errors import InvalidBudget

# Every root is stepped inward by this, far above the rounding of what it is a root of.
_INWARD = 1e-12
# The rounding of `optimal_delta` is proved, and tested, up to here.
MOST_OPTIMAL = 10**8


def checked(epsilon: float, delta: float, k: int) -> tuple[float, float, int]:
    """Return an epsilon, a delta and a number of releases as Python's, or refuse what nothing can be composed to.

    Parameters
    ----------
    epsilon, delta : float
    k : int

    Returns
    -------
    epsilon, delta : float
    k : int

    Raises
    ------
    InvalidBudget
        If epsilon or delta is outside its range.
    ValueError
        If k is no count.
    """
    epsilon = number("epsilon", epsilon, 0, math.inf, error=InvalidBudget, remedy="usual values are 0.1 to 10")
    remedy = "composition needs some: say 1e-6"
    delta = number("delta", delta, SMALLEST_DELTA, 1, ends="[)", error=InvalidBudget, remedy=remedy)
    return epsilon, delta, checked_count(k)


def checked_count(k: int) -> int:
    """Return a number of releases as Python's, or refuse it.

    Parameters
    ----------
    k : int

    Raises
    ------
    ValueError
        If it is none, or below 1.
    """
    return integer("k", k, 1, "it counts the releases")


def advanced(epsilon: float, delta: float, k: int) -> float:
    """Return e' of Theorem 11: what k releases cost together.

    Parameters
    ----------
    epsilon : float
        Above 0; of each release.
    delta : float
        delta' in [1e-300, 1), of all together.
    k : int
        1 or above.

    Returns
    -------
    float
        May be infinite.

    Raises
    ------
    InvalidBudget
        If epsilon or delta is outside its range.
    ValueError
        If k is no count.

    References
    ----------
    jain2013, Theorem 11.
    """
    epsilon, delta, k = checked(epsilon, delta, k)
    growth = math.expm1(epsilon) if epsilon < 700 else math.inf
    return math.sqrt(2 * k * math.log(1 / delta)) * epsilon + k * epsilon * growth


def inverted(epsilon: float, delta: float, k: int) -> float:
    """Return the epsilon that each of k releases may spend: Theorem 11 inverted, or epsilon/k where that is larger.

    Parameters
    ----------
    epsilon : float
        Above 0; of all together.
    delta : float
        In [1e-300, 1).
    k : int
        1 or above.

    Returns
    -------
    float
        `advanced(result, delta, k) <= epsilon`, or the result is epsilon/k (basic composition, which needs no delta);
        relative error 1e-11, downwards.

    Raises
    ------
    InvalidBudget
        If epsilon or delta is outside its range.
    ValueError
        If k is no count.

    References
    ----------
    jain2013, Theorem 11; erratum J6.
    """
    epsilon, delta, k = checked(epsilon, delta, k)
    # The root lies below that of the first term alone.
    high = epsilon / math.sqrt(2 * k * math.log(1 / delta))
    root = (
        optimize.brentq(lambda e: advanced(e, delta, k) / epsilon - 1, high * 1e-8, high, xtol=high * 1e-15)
        if advanced(high * 1e-8, delta, k) < epsilon
        else 0.0
    )
    return max(root * (1 - _INWARD), epsilon / k)


def zcdp_delta(epsilon: float, rho: float) -> float:
    r"""Return the least delta known of rho-zCDP at this epsilon.

    Parameters
    ----------
    epsilon : float
        Above 0.
    rho : float
        0 or above.

    Returns
    -------
    float
        In [0, 1]; an upper bound whatever the rounding of the minimiser alpha.

    Raises
    ------
    InvalidBudget
        If epsilon or rho is outside its range.

    References
    ----------
    Canonne, Kamath & Steinke 2020, Proposition 12.
    """
    epsilon = number("epsilon", epsilon, 0, math.inf, error=InvalidBudget)
    rho = number("rho", rho, 0, math.inf, ends="[)", error=InvalidBudget)
    return converted(lambda order: rho * order * (order + 1), epsilon, math.inf)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho with `zcdp_delta(epsilon, rho) <= delta`, rounded down.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        In [1e-300, 1).

    Raises
    ------
    InvalidBudget
        If epsilon or delta is outside its range.
    """
    checked(epsilon, delta, 1)
    return _zcdp_rho(float(epsilon), float(delta))


@functools.lru_cache(maxsize=1024)
def _zcdp_rho(epsilon: float, delta: float) -> float:
    # By rho + 2 sqrt(rho log(1/delta)) <= epsilon (Bun & Steinke 2016) the least, by E loss <= rho about the most.
    need = math.log(1 / delta)
    low = epsilon**2 / (math.sqrt(need + epsilon) + math.sqrt(need)) ** 2
    return largest(lambda rho: zcdp_delta(epsilon, rho), low, delta)


def pure(epsilon: float) -> float:
    """Return rho of an epsilon-DP release: epsilon^2/2.

    Parameters
    ----------
    epsilon : float

    References
    ----------
    Bun & Steinke 2016, Proposition 3.3.
    """
    return 0.5 * float(epsilon) ** 2


def bounded_range(epsilon: float) -> float:
    """Return rho of an epsilon-bounded-range release, such as exp(epsilon q/(2 S)) over scores q: epsilon^2/8.

    Parameters
    ----------
    epsilon : float
        The log ratios of the probabilities lie in an interval of this length.

    References
    ----------
    Cesar & Rogers 2021, Lemma 3.4.
    """
    return float(epsilon) ** 2 / 8


def optimal_delta(epsilon: float, each: float, k: int) -> float:
    """Return the exact delta of k randomised responses, the worst of all compositions of k releases.

    Parameters
    ----------
    epsilon : float
        Of all together; 0 or above.
    each : float
        e of each release, above 0.
    k : int
        In 1..10^8: beyond, the logarithms of factorials are too large for doubles.

    Returns
    -------
    float
        Relative error at most `optimal_rounding(k)`.

    Raises
    ------
    InvalidBudget
        If epsilon or e is outside its range.
    ValueError
        If k is no count, or above 10^8.

    References
    ----------
    Kairouz, Oh & Viswanath 2015, Theorem 3.3 (delta = 0).
    """
    epsilon = number("epsilon", epsilon, 0, math.inf, ends="[)", error=InvalidBudget)
    each = number("each", each, 0, math.inf, error=InvalidBudget, remedy="it is the epsilon of each release")
    k = checked_count(k)
    if k > MOST_OPTIMAL:
        raise ValueError(f"k={k} is more than the 10^8 releases of which the optimum can be computed; take zCDP")
    # Only j with a loss above epsilon count, and those 20 sqrt(k) above the mean have together less than e^-800.
    low = max(0, math.floor((k + epsilon / each) / 2))
    high = min(k, math.ceil(k * special.expit(each) + 20 * math.sqrt(k)))
    j = np.arange(low, high + 1)
    gain = epsilon - (2 * j - k) * each
    log_choose = special.gammaln(k + 1) - special.gammaln(j + 1) - special.gammaln(k - j + 1)
    log_mass = log_choose + j * special.log_expit(each) + (k - j) * special.log_expit(-each)
    return float(np.sum(np.exp(log_mass) * -np.expm1(np.minimum(gain, 0.0))))


def optimal_rounding(k: int) -> float:
    r"""Return what the relative error of `optimal_delta` is at most.

    With u = 2^-53 and a = k (log k + 1), all up to u: log k! is (k + 1/2) log(k + 1) - k - 1 + ..., of which the
    logarithm, the product and two sums are rounded: 5 u a. Those of j and k - j are together at most as large, by
    convexity: 5 u a. Two subtractions: 2 u a. j log p + (k - j) log q, k log 2 at most near the mean: 3 u a. That makes
    15. The rest, exponentials of no more than 700, gains and sums of positive terms, is below 1e-9.

    Parameters
    ----------
    k : int
        In 1..10^8.

    Returns
    -------
    float
        3.5e-6 at 10^8.
    """
    return 16 * 2.0**-53 * k * (math.log(k) + 1) + 1e-9


def converted(log_moment: Callable[[float], float], epsilon: float, most: float) -> float:
    """Return the least delta that a bound on the moments of the privacy loss proves.

    Parameters
    ----------
    log_moment : callable
        Of lambda > 0: a bound on log E_P exp(lambda loss), convex; infinite where there is none.
    epsilon : float
    most : float
        Largest lambda that is looked at; infinite for all.

    Returns
    -------
    float
        In [0, 1]; valid whatever the rounding of the best lambda.

    References
    ----------
    Canonne, Kamath & Steinke 2020, Proposition 12.
    """

    def log_delta(power: float) -> float:
        lam = math.exp(power)
        moment = log_moment(lam)
        if moment == math.inf:
            return 1e300
        return moment - lam * epsilon + lam * math.log(lam) - (lam + 1) * math.log1p(lam)

    if most == 0:
        return 1.0
    # Convex in lambda, so with one minimum; every lambda gives a valid delta.
    high = min(math.log(most), 40.0) if most < math.inf else 40.0
    low = min(-20.0, high - 1)
    best = optimize.minimize_scalar(log_delta, bounds=(low, high), method="bounded", options={"xatol": 1e-7})
    return math.exp(min(0.0, best.fun))


def largest(delta_of: Callable[[float], float], low: float, delta: float) -> float:
    """Return the largest x with delta_of(x) <= delta, rounded down.

    Parameters
    ----------
    delta_of : callable
        Grows with x, from 0.
    low : float
        A first guess, above 0.
    delta : float
        In [1e-300, 1).

    Returns
    -------
    float
        About 1e-9 below the root, relatively.
    """
    while delta_of(low) > delta:
        low /= 16
    high = 2 * low
    while delta_of(high) <= delta:
        low, high = high, 2 * high
    goal = math.log(delta)

    def excess(x: float) -> float:
        return math.log(max(delta_of(x), SMALLEST_DELTA)) - goal

    root, step = optimize.brentq(excess, low, high, xtol=1e-12 * low, rtol=1e-10), 1e-9
    while step == 1e-9 or delta_of(root) > delta:
        root, step = root * (1 - step), 2 * step
    return float(root)
