r"""Renyi differential privacy of private predictions (dwork2018, Section 3; Mironov 2017).

"We note that our definitions and many of the results can be immediately extended to more refined notions of
differential privacy such as those based on Renyi divergence." A prediction algorithm M is (a, rho)-Renyi private if for
all neighbours S, S' and every query x

    D_a(M(S, x) || M(S', x)) = log E_{o ~ M(S', x)} (P[M(S, x) = o]/P[M(S', x) = o])^a/(a - 1) <= rho,     a > 1.

The curves of the library's answers, each attained by a worst pair; both directions, replace-one as their epsilon is:

    laplace         an answer that moves by gamma, noise Lap(gamma/epsilon) (averaged, stable ERM and SGD):
                    log(a e^{(a - 1) epsilon} + (a - 1) e^{-a epsilon}) - log(2 a - 1), over a - 1;
    gaussian        the same with noise N(0, s^2): a (gamma/s)^2/2;
    bounded_range   a bit whose log-odds move by epsilon (soft majority, ExpPW): the largest over x in [0, epsilon] of
                    two outcomes with the log ratios x and x - epsilon; at most a epsilon^2/8 (Cesar & Rogers 2021);
    pure            any epsilon-DP answer: the log ratios epsilon and -epsilon, randomised response,
                    (log cosh((a - 1/2) epsilon) - log cosh(epsilon/2))/(a - 1); at most a epsilon^2/2 (Bun & Steinke
                    2016).

Answers to adaptive queries add their curves. A curve rho(a) is (epsilon, delta)-DP for every a > 1 with

    epsilon = rho(a) + log(1 - 1/a) - log(a delta)/(a - 1)

(Canonne, Kamath & Steinke 2020, Proposition 12; `total_epsilon` takes the least).
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize

from dperm.accounting.composition import checked
from dperm.domain import number

# Curve: order a > 1 -> D_a.
Curve = Callable[[float], float]
# Logarithms of a - 1 that are looked at.
_LOWEST, _HIGHEST = -12.0, 14.0
_GRID = 201


def laplace(order: float, epsilon: float) -> float:
    """Return D_a of two Laplace answers that are epsilon times the noise's scale apart.

    Parameters
    ----------
    order : float
        a, above 1.
    epsilon : float
        Above 0.
    """
    _order(order)
    first = math.log(order / (2 * order - 1)) + (order - 1) * epsilon
    second = math.log((order - 1) / (2 * order - 1)) - order * epsilon
    return float(np.logaddexp(first, second)) / (order - 1)


def gaussian(order: float, ratio: float) -> float:
    """Return D_a = a ratio^2/2 of two Gaussian answers that are `ratio` standard deviations apart.

    Parameters
    ----------
    order : float
        a, above 1.
    ratio : float
        0 or above.
    """
    _order(order)
    return order * ratio**2 / 2


def bounded_range(order: float, epsilon: float) -> float:
    """Return the largest D_a of two bits whose log ratios lie in an interval of length epsilon.

    Parameters
    ----------
    order : float
        a, above 1.
    epsilon : float
        Above 0.

    References
    ----------
    Cesar & Rogers 2021, Lemma 3.4, for the bound a epsilon^2/8.
    """
    _order(order)
    x = np.linspace(0, epsilon, _GRID)
    best = int(np.argmax(_two_outcomes(order, x, x - epsilon)))
    ends = x[max(best - 1, 0)], x[min(best + 1, _GRID - 1)]
    found = optimize.minimize_scalar(
        lambda at: -_two_outcomes(order, at, at - epsilon), bounds=ends, method="bounded", options={"xatol": 1e-12}
    )
    return float(-found.fun)


def pure(order: float, epsilon: float) -> float:
    """Return D_a of randomised response, the largest of an epsilon-DP answer.

    Parameters
    ----------
    order : float
        a, above 1.
    epsilon : float
        Above 0.
    """
    _order(order)
    return (_log_cosh((order - 0.5) * epsilon) - _log_cosh(epsilon / 2)) / (order - 1)


def divergence(order: float, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return D_a(P || Q) of finite laws, summed over the last axis.

    Parameters
    ----------
    order : float
        a, above 1.
    p, q : ndarray
        Probabilities, of one shape.

    Returns
    -------
    ndarray
        Infinite where Q has no mass and P has.
    """
    _order(order)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, order * np.log(p) - (order - 1) * np.log(q), -np.inf)
    return np.logaddexp.reduce(terms, axis=-1) / (order - 1)


def total_epsilon(curve: Curve, delta: float, answers: int = 1) -> float:
    """Return the least epsilon that the curve proves for so many answers together, at any order.

    Parameters
    ----------
    curve : callable
        Order to D_a, of one answer.
    delta : float
        In [1e-300, 1).
    answers : int
        1 or more; queries may be adaptive.

    Returns
    -------
    float
        Valid whatever the rounding of the best order.
    """
    checked(1.0, delta, answers)

    def epsilon(power: float) -> float:
        order = 1 + math.exp(power)
        return at_order(order, answers * curve(order), delta)

    grid = np.linspace(_LOWEST, _HIGHEST, 105)
    best = int(np.argmin([epsilon(power) for power in grid]))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = optimize.minimize_scalar(epsilon, bounds=ends, method="bounded", options={"xatol": 1e-9})
    return max(0.0, float(found.fun))


def at_order(order: float, rho: float, delta: float) -> float:
    """Return the epsilon that D_a <= rho proves at delta; below 0 says that delta alone is enough.

    Parameters
    ----------
    order : float
        a, above 1.
    rho : float
        Bound on D_a.
    delta : float
        In (0, 1).

    References
    ----------
    Canonne, Kamath & Steinke 2020, Proposition 12.
    """
    _order(order)
    return rho + math.log1p(-1 / order) - math.log(order * delta) / (order - 1)


def _two_outcomes(order: float, high: np.ndarray | float, low: np.ndarray | float) -> np.ndarray:
    """Return D_a of two outcomes with these log ratios P/Q, high >= 0 >= low, of which P and Q sum to 1."""
    high, low = np.asarray(high, float), np.asarray(low, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Logarithms of 1 - e^low, e^high - 1 and their sum: the outcomes' shares of Q, without overflow.
        first, second = np.log(-np.expm1(low)), high + np.log(-np.expm1(-high))
        both = high + np.log(-np.expm1(low - high))
        found = np.logaddexp(first - both + order * high, second - both + order * low) / (order - 1)
    # For ratios that are both 1 any Q will do.
    return np.where(high > low, found, 0.0)


def _log_cosh(x: float) -> float:
    """Return log cosh x for x >= 0, right to the last digits near 0 and far out."""
    return x + math.log1p(math.exp(-2 * x)) - math.log(2) if x > 1 else math.log1p(2 * math.sinh(x / 2) ** 2)


def _order(order: float) -> None:
    number("order", order, 1, math.inf, remedy="it is the order a of the Renyi divergence")
