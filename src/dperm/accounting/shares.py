r"""What each of k releases about the same records may spend, so that all of them together stay within one budget.

    of Gaussian releases   of ratios mu_j they are together exactly as private as one of ratio sqrt(sum mu_j^2) (Dong,
                           Roth & Su 2022, Corollary 3.3), so each may have a/sqrt(k), a = `gaussian_ratio(epsilon,
                           delta)`;
    of any releases        each (e, d)-DP: with probability 1 - (1 - d)^k <= k d one of them fails, and else they are k
                           randomised responses at worst, of which `composition.optimal_delta` is the exact delta
                           (Kairouz, Oh & Viswanath 2015, Theorem 3.3). d = delta/(2k) leaves it delta/2. With delta = 0
                           that is e = epsilon/k, which is never more.

And what one of k rows of a person may spend, where the promise is for persons: `of_member`.

Neighbouring relation: that of the releases, the same for all. The mechanisms that are shared among are those of
kifer2012 (docs/privacy.md, section 9).
"""

import math

from dperm.accounting import composition
from dperm.accounting.gaussian import SMALLEST_DELTA, gaussian_ratio, hockey_stick
from dperm.domain import Budget
from dperm.errors import InvalidBudget

# What is left for the rounding of sums of squares.
_ROUNDING = 1e-12


def of_gaussians(budget: Budget, k: int) -> Budget:
    """Return an (e, d) whose Gaussian ratio is a/sqrt(k), rounded down; d < delta where e would be below epsilon/k.

    Parameters
    ----------
    budget : Budget
        Of all releases together; delta above 0.
    k : int
        How many there are, 1 or above.

    Returns
    -------
    Budget
        Of each.

    Raises
    ------
    InvalidBudget
        If that leaves no d above 1e-300.

    References
    ----------
    Dong, Roth & Su 2022, Corollary 3.3.
    """
    if k == 1:
        return budget
    most = gaussian_ratio(budget.epsilon, budget.delta) * (1 - _ROUNDING) / math.sqrt(k)
    basic = budget.epsilon / k
    if gaussian_ratio(basic, budget.delta) > most:
        # So large a delta allows more than `most` at no epsilon at all: it shrinks as well.
        each = budget.epsilon / math.sqrt(k)
        delta = float(hockey_stick(each, most)) * (1 - 1e-9)
        if delta < SMALLEST_DELTA:
            raise InvalidBudget(
                f"epsilon={budget.epsilon:g}, delta={budget.delta:g} for {k} Gaussian releases leave each no delta of "
                f"{SMALLEST_DELTA:g} or above; take fewer of them, or a larger budget"
            )
        return Budget(each, delta)
    low, high = basic, budget.epsilon
    # Bisection keeps to the side that is safe: ratios grow with epsilon.
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_ratio(middle, budget.delta) <= most else (low, middle)
    return Budget(low, budget.delta)


def of_any(budget: Budget, k: int) -> Budget:
    """Return an (e, d) that k releases may spend each, whatever they are.

    Parameters
    ----------
    budget : Budget
        Of all releases together.
    k : int
        How many there are, 1 or above.

    Returns
    -------
    Budget
        Of each.

    Raises
    ------
    InvalidBudget
        If delta leaves each less than 1e-300.

    References
    ----------
    Kairouz, Oh & Viswanath 2015, Theorem 3.3.
    """
    basic = budget.epsilon / k
    if k == 1 or not budget.delta:
        return Budget(basic, budget.delta)
    if budget.delta / (2 * k) < SMALLEST_DELTA:
        raise InvalidBudget(
            f"delta={budget.delta:g} leaves each of {k} releases less than {SMALLEST_DELTA:g}; take 0 for pure "
            "privacy, or a larger delta, say 1e-6"
        )
    room, rounding = budget.delta / 2, 1 + composition.optimal_rounding(k)
    each = composition.largest(lambda e: rounding * composition.optimal_delta(budget.epsilon, e, k), basic, room)
    return Budget(max(basic, each), budget.delta / (2 * k))


def of_member(budget: Budget, k: int) -> Budget:
    """Return an (e, d) for one row that promises the budget for k of them: e = epsilon/k and d by group privacy.

    Parameters
    ----------
    budget : Budget
        For all rows of a person together, under add/remove of the person.
    k : int
        How many these are at most, 1 or above.

    Returns
    -------
    Budget
        With k e <= epsilon and d (e^{k e} - 1)/(e^e - 1) <= delta, both rounded down.

    Raises
    ------
    InvalidBudget
        If epsilon is so large that no d above 0 is left.

    References
    ----------
    Vadhan 2017, Lemma 2.2; docs/privacy.md, section 16.
    """
    if k == 1:
        return budget
    each = budget.epsilon / k * (1 - _ROUNDING)
    # (e^e - 1)/(e^{k e} - 1) without overflow.
    share = math.exp(-(k - 1) * each) * math.expm1(-each) / math.expm1(-k * each)
    delta = budget.delta * share * (1 - _ROUNDING)
    if budget.delta and delta < SMALLEST_DELTA:
        raise InvalidBudget(
            f"epsilon={budget.epsilon:g}, delta={budget.delta:g} for {k} rows of a person leave no delta for one row; "
            "take fewer rows, or a smaller epsilon"
        )
    return Budget(each, delta)


def together(multipliers: list[float]) -> float:
    """Return the noise multiplier of one Gaussian release that is as private as these together.

    Parameters
    ----------
    multipliers : list of float
        Standard deviations over sensitivities, 1/mu_j, each above 0.

    References
    ----------
    Dong, Roth & Su 2022, Corollary 3.3.
    """
    return 1 / math.sqrt(sum(1 / multiplier**2 for multiplier in multipliers))
