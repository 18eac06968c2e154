r"""What releases that are chosen one after another may spend together (docs/privacy.md, section 15, Theorem Y).

Each is (epsilon_i, delta_i)-DP given all before, and both numbers may depend on what was seen before; a filter refuses
the release that would leave the budget (epsilon, delta). Three ways to add up, one of which is chosen beforehand:

    basic   sum epsilon_i <= epsilon and sum delta_i <= delta; sums in the decimals that were written, so that ten times
            0.1 is 1;
    renyi   sum delta_i <= delta/2, and sum R_a(epsilon_i), turned into epsilon at delta/2, at most epsilon, where
            R_a(e) is the Renyi divergence of order a of randomised response, the largest of any e-DP release. A
            release that is rho_i-zCDP, such as Gaussian noise, adds a rho_i to this sum and nothing to the other one.
            a is fixed beforehand: that which allows the most small releases;
    gaussian
            sum delta_i <= delta/2, and one Gaussian release of ratio (sum mu_i^2)^{1/2} (dperm.accounting.gaussian) is
            (epsilon, delta/2)-DP: the exact curve of Gaussian releases. One whose sensitivity is mu_i deviations of
            its Gaussian noise adds mu_i^2 to this sum and nothing to the other one; any other one adds m(epsilon_i)^2
            with m(e) = 2 Phi^{-1}(1/(1 + e^{-e})): randomised response with odds e^e is a function of such noise.

Neighbouring relation: the same one for all.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

import numpy as np
from dp_accounting.rdp import rdp_privacy_accountant as dp_renyi
from scipy import optimize, special

from dperm.accounting import renyi
from dperm.accounting.gaussian import gaussian_ratio, hockey_stick
from dperm.domain import Budget, one_of
from dperm.errors import InvalidBudget

Accountant = Literal["basic", "renyi", "gaussian"]
_ORDERS = 1 + np.geomspace(0.1, 1e4, 200)
# Above that of any budget.
_LARGEST_RATIO = 1e7
# What sums of divergences may be rounded by.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Cost(Budget):
    """What one release costs.

    Parameters
    ----------
    epsilon, delta : float
    rho : float or None
        Where the release is rho-zCDP. The same relation.
    mu : float or None
        Where it is a function of Gaussian noise alone: sensitivity/sigma; it is mu^2/2-zCDP then. The same relation.
    """

    rho: float | None = None
    mu: float | None = None


class Spent(NamedTuple):
    """What releases spend together.

    Parameters
    ----------
    epsilon, delta : float
        What they cost together. All are (epsilon, delta)-DP if neither their budgets nor their number were chosen by
        what earlier ones released; chosen on the way, they are what the filter's total says, and these two numbers are
        the loss that this course of events may have had (Theorem Y).
    fits : bool
        Whether the filter lets them.
    """

    epsilon: float
    delta: float
    fits: bool


def spent(total: Budget, releases: Iterable[Cost] | Mapping[Cost, int], accountant: Accountant = "basic") -> Spent:
    """Return what releases spend together, and whether that is within `total`.

    Parameters
    ----------
    total : Budget
    releases : iterable of Cost, or mapping of Cost to int
        In any order; or how many there are of each.
    accountant : {"basic", "renyi", "gaussian"}
        Chosen before the first release.

    Raises
    ------
    InvalidBudget
        If `renyi` or `gaussian` is asked for a total that leaves it nothing (`check`).

    References
    ----------
    Rogers, Roth, Ullman & Vadhan 2016, Theorem 3.6 (basic); Feldman & Zrnic 2021, Theorem 4.5 (Renyi filter); Smith &
    Thakurta 2022 (Gaussian filter).
    """
    one_of("accountant", accountant, Accountant)
    made = Counter(releases)
    if accountant == "basic":
        epsilon = _exact((one.epsilon, many) for one, many in made.items())
        delta = _exact((one.delta, many) for one, many in made.items())
        fits = epsilon <= _written(total.epsilon) and delta <= _written(total.delta)
        return Spent(float(epsilon), float(delta), fits)
    check(total, accountant)
    if not made:
        return Spent(0.0, 0.0, True)
    together = _by_divergence if accountant == "renyi" else _by_ratio
    epsilon, leaks = together(total, made)
    fits = epsilon <= total.epsilon and leaks <= _written(total.delta) / 2
    return Spent(epsilon, float(leaks) + total.delta / 2, fits)


def check(total: Budget, accountant: Accountant) -> None:
    """Refuse a budget of which an accountant has nothing to give.

    Parameters
    ----------
    total : Budget
    accountant : {"basic", "renyi", "gaussian"}

    Raises
    ------
    InvalidBudget
        If delta = 0 for another one than `basic`, or no order of `renyi` allows a release.
    """
    if accountant == "basic":
        return
    if total.delta == 0:
        raise InvalidBudget(
            f"delta=0 leaves accountant={accountant!r} nothing; take accountant='basic', or allow some delta"
        )
    if accountant == "renyi":
        renyi_order(total)


def _by_divergence(total: Budget, made: Mapping[Cost, int]) -> tuple[float, Fraction]:
    """Return epsilon at delta/2 of what is left of releases without their leaks, and the leaks' chance."""
    order = renyi_order(total)
    added = [(*_divergence(order, one), many) for one, many in made.items()]
    divergence = math.fsum(many * each for each, _, many in added) * (1 + _ROUNDING)
    return _converted(order, divergence, total.delta / 2), _exact((leak, many) for _, leak, many in added)


def _by_ratio(total: Budget, made: Mapping[Cost, int]) -> tuple[float, Fraction]:
    """Return the same by the ratio of one Gaussian release that all of them are functions of."""
    added = [(*_ratio(one), many) for one, many in made.items()]
    ratio = math.sqrt(math.fsum(many * each**2 for each, _, many in added)) * (1 + _ROUNDING)
    leaks = _exact((leak, many) for _, leak, many in added)
    found = _epsilon_of(ratio, total.delta / 2)
    # The root is rounded: whether it is within the budget is asked of the curve itself.
    if ratio <= gaussian_ratio(total.epsilon, total.delta / 2):
        return min(found, total.epsilon), leaks
    return max(found, math.nextafter(total.epsilon, math.inf)), leaks


def _epsilon_of(ratio: float, delta: float) -> float:
    """Return the epsilon at `delta` of one Gaussian release, rounded up."""
    if hockey_stick(0.0, ratio) <= delta:
        return 0.0
    if ratio > _LARGEST_RATIO:
        return math.inf
    # Its zCDP has epsilon = rho + 2 (rho log(1/delta))^{1/2}, which is more.
    rho = ratio**2 / 2
    most = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    found = optimize.brentq(lambda epsilon: hockey_stick(epsilon, ratio) - delta, 0.0, most, xtol=1e-12, rtol=1e-12)
    return min(most, found * (1 + 1e-9) + 1e-11)


@functools.cache
def renyi_order(total: Budget) -> float:
    """Return the order a at which the most small releases fit into a budget.

    Parameters
    ----------
    total : Budget
        With delta > 0.

    Returns
    -------
    float
        Above 1.

    Raises
    ------
    InvalidBudget
        If no order allows a release.
    """
    # A small release costs a epsilon_i^2/2.
    allowed = [(total.epsilon - _converted(a, 0.0, total.delta / 2, least=-math.inf)) / a for a in _ORDERS]
    if max(allowed) <= 0:
        raise InvalidBudget(f"epsilon={total.epsilon} is too little for accountant='renyi' at this delta; take 'basic'")
    return float(_ORDERS[int(np.argmax(allowed))])


def _converted(order: float, divergence: float, delta: float, least: float = 0.0) -> float:
    """Return epsilon at `delta` of what has this Renyi divergence."""
    if divergence > 0:
        (epsilon, _) = dp_renyi.compute_epsilon([order], [divergence], delta)
        return max(least, float(epsilon))
    return max(least, math.log1p(-1 / order) - math.log(delta * order) / (order - 1))


@functools.lru_cache(maxsize=4096)
def _divergence(order: float, cost: Cost) -> tuple[float, float]:
    """Return what a release adds to both sums of `renyi`."""
    pure = renyi.pure(order, cost.epsilon)
    rho = cost.rho if cost.mu is None else cost.mu**2 / 2
    concentrated = math.inf if rho is None else order * rho
    return (concentrated, 0.0) if concentrated <= pure else (pure, cost.delta)


@functools.lru_cache(maxsize=4096)
def _ratio(cost: Cost) -> tuple[float, float]:
    """Return the mu of a release, and its leak."""
    # 1/(1 + e^{-e}) is 1 in a double for e of 37 and more; its other tail is exact. Near 1/2 no digits are left of a
    # tiny e; m is concave, and its slope at 0 is (pi/2)^{1/2}.
    tiny = math.sqrt(math.pi / 2) * cost.epsilon
    pure = (tiny if tiny < 1e-6 else -2 * special.ndtri(special.expit(-cost.epsilon))) * (1 + _ROUNDING)
    return (cost.mu, 0.0) if cost.mu is not None and cost.mu <= pure else (float(pure), cost.delta)


def _written(value: float) -> Fraction:
    """Return the number as it is written: a fraction, for sums of decimals round as the caller's thread has it."""
    return Fraction(repr(float(value)))


def _exact(values: Iterable[tuple[float, int]]) -> Fraction:
    """Return the sum of numbers as they are written, each so many times."""
    return sum((many * _written(value) for value, many in values), Fraction(0))


def difference(total: float, part: float) -> Fraction:
    """Return what is left of a number, as they are written; 0 at least.

    Parameters
    ----------
    total, part : float
    """
    return max(Fraction(0), _written(total) - _written(part))


def of_group(epsilon: float, delta: float, size: int) -> tuple[float, float]:
    """Return what (epsilon, delta) for one record promises for `size` of them.

    Parameters
    ----------
    epsilon, delta : float
    size : int
        1 or above.

    Returns
    -------
    epsilon, delta : float
        size epsilon, and delta (e^{size epsilon} - 1)/(e^epsilon - 1), at most 1.

    References
    ----------
    Dwork & Roth 2014, Theorem 2.2; Vadhan 2017, Lemma 2.2.
    """
    if size == 1 or epsilon == 0:
        return float(epsilon), float(min(1.0, size * delta))
    # (e^{size epsilon} - 1)/(e^epsilon - 1), of which both may overflow.
    with np.errstate(over="ignore"):
        factor = float(np.exp(np.float64((size - 1) * epsilon)) * math.expm1(-size * epsilon) / math.expm1(-epsilon))
    return size * epsilon, min(1.0, delta * factor) if delta else 0.0
