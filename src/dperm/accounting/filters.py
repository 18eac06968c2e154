r"""How many equally priced answers fit into a budget, what each may cost, and what they cost together (dwork2018).

Every answer is `each`-DP given all before, whichever query is asked next; the price is fixed before the first answer.
Then the number of answers that (epsilon, delta) allows is a constant, and the largest that any of these accountants
allows is allowed (docs/privacy.md, section 12, Theorem T):

    basic          k each <= epsilon, delta = 0;
    advanced       sqrt(2 k log(1/delta)) each + k each (exp(each) - 1) <= epsilon (Dwork & Roth, Theorem 3.20);
    zcdp           k each^2/2-zCDP, converted as by Canonne, Kamath & Steinke (2020);
    optimal        the exact delta of k randomised responses, the worst of all pure releases (Kairouz, Oh & Viswanath
                   2015): what an accountant of privacy loss distributions finds for them; of up to 10^8 answers;
    bounded_range  k each^2/8-zCDP (Cesar & Rogers 2021), for answers whose log ratios lie in an interval of length
                   `each`, such as a bit whose log-odds move by `each`: never for others.

Nothing here depends on the neighbouring relation, as long as it is the same one for all prices.
"""

import functools
import math
from collections.abc import Callable

from scipy import optimize

from dperm.accounting import composition
from dperm.accounting.gaussian import SMALLEST_DELTA
from dperm.domain import LARGEST_EPSILON, Budget, number
from dperm.errors import InvalidBudget

ACCOUNTANTS = ("basic", "advanced", "zcdp", "optimal", "bounded_range")
# More answers than anyone asks for; a search ends here.
MOST_ANSWERS = 2**53


def accountants(delta: float, bounded_range: bool, accountant: str | None = None) -> tuple[str, ...]:
    """Return the accountants that may speak.

    Parameters
    ----------
    delta : float
        In [0, 1); at 0 only basic composition says anything.
    bounded_range : bool
        Whether log ratios lie in an interval of length `each`, not only within +-`each`.
    accountant : str, optional
        The only one wanted.

    Raises
    ------
    InvalidBudget
        If delta is no delta, or the one wanted is not valid for it.
    ValueError
        If there is none of that name, or the answers are not of bounded range.
    """
    number("delta", delta, 0, 1, ends="[)", error=InvalidBudget, remedy="take 0 for pure privacy, else say 1e-6")
    if 0 < delta < SMALLEST_DELTA:
        raise InvalidBudget(f"delta={delta} must be 0, or at least {SMALLEST_DELTA:g}")
    if accountant is None:
        if delta == 0:
            return ("basic",)
        return ACCOUNTANTS if bounded_range else ACCOUNTANTS[:-1]
    if accountant not in ACCOUNTANTS:
        raise ValueError(f"accountant={accountant!r} is not one of {', '.join(ACCOUNTANTS)}; None takes the best")
    if accountant == "bounded_range" and not bounded_range:
        raise ValueError("accountant='bounded_range' needs answers of bounded range; take 'optimal'")
    if accountant != "basic" and delta == 0:
        raise InvalidBudget(f"delta=0 allows accountant='basic' alone, not {accountant!r}; allow some delta, say 1e-6")
    return (accountant,)


def capacity(
    epsilon: float, delta: float, each: float, *, bounded_range: bool = False, accountant: str | None = None
) -> int:
    """Return how many answers fit into a budget.

    Parameters
    ----------
    epsilon : float
        Above 0; of all answers together.
    delta : float
        0, or in [1e-300, 1).
    each : float
        Above 0; epsilon of an answer.
    bounded_range : bool
    accountant : str, optional
        One of `ACCOUNTANTS`; None takes the best that is valid.

    Returns
    -------
    int
        0 or above: no more than are proved to fit. At most 2^53, of "optimal" at most 10^8.

    Raises
    ------
    InvalidBudget
        If epsilon, delta or `each` is outside its range.
    ValueError
        If the accountant is not one of these, or not valid for such answers.

    References
    ----------
    docs/privacy.md, section 12, Theorem T.
    """
    epsilon, each = Budget(epsilon).epsilon, checked_price(each)
    names = accountants(delta, bounded_range, accountant)
    most = 0
    for name in names:
        # The exact count last, from what the others found: it is a search over sums.
        start = max(most, 1)
        most = max(most, _CAPACITY[name](epsilon, delta, each, start))
    return most


def each(
    epsilon: float, delta: float, answers: int, *, bounded_range: bool = False, accountant: str | None = None
) -> float:
    """Return the largest price at which so many answers fit into a budget, rounded down.

    Parameters
    ----------
    epsilon : float
        Above 0; of all answers together.
    delta : float
        0, or in [1e-300, 1).
    answers : int
        1 or above.
    bounded_range : bool
    accountant : str, optional
        One of `ACCOUNTANTS`; None takes the best that is valid.

    Returns
    -------
    float
        epsilon of an answer; `capacity` of it is at least `answers`.

    Raises
    ------
    InvalidBudget
        If epsilon or delta is outside its range.
    ValueError
        If `answers` is no count, or the accountant is not one of these, or not valid for such or so many answers.
    """
    epsilon = Budget(epsilon).epsilon
    composition.checked_count(answers)
    if answers > MOST_ANSWERS:
        raise ValueError(f"answers={answers} must be at most 2^53")
    names = _speaking(accountants(delta, bounded_range, accountant), answers)
    return max(_price(name, float(epsilon), float(delta), int(answers)) for name in names)


def spent(
    each: float, answers: int, delta: float, *, bounded_range: bool = False, accountant: str | None = None
) -> float:
    """Return the epsilon of so many answers together, rounded up.

    Parameters
    ----------
    each : float
        Above 0; epsilon of an answer.
    answers : int
        0 or above; 0 answers cost nothing.
    delta : float
        0, or in [1e-300, 1).
    bounded_range : bool
    accountant : str, optional
        One of `ACCOUNTANTS`; None takes the best that is valid.

    Returns
    -------
    float
        0 or above.

    Raises
    ------
    InvalidBudget
        If `each` or delta is outside its range.
    ValueError
        If `answers` is no count, or the accountant is not one of these, or not valid for such or so many answers.
    """
    each = checked_price(each)
    names = accountants(delta, bounded_range, accountant)
    if answers == 0:
        return 0.0
    composition.checked_count(answers)
    names = _speaking(names, answers)
    return min(_SPENT[name](each, delta, int(answers)) for name in names)


def rho(each: float, bounded_range: bool) -> float:
    """Return the zCDP of one answer: each^2/8 of bounded range, else each^2/2.

    Parameters
    ----------
    each : float
    bounded_range : bool
    """
    return composition.bounded_range(each) if bounded_range else composition.pure(each)


def checked_price(each: float) -> float:
    """Return the price of an answer as Python's number, or refuse it: the square of np.int8(12) is below 0.

    Parameters
    ----------
    each : float
        Above 0.
    """
    remedy = "it is the epsilon of one answer"
    return number("each", each, 0, LARGEST_EPSILON, ends="(]", error=InvalidBudget, remedy=remedy)


def _speaking(names: tuple[str, ...], answers: int) -> list[str]:
    """Leave out the optimum where its rounding is not proved."""
    left = [name for name in names if name != "optimal" or answers <= composition.MOST_OPTIMAL]
    if not left:
        raise ValueError(
            f"answers={answers}: accountant='optimal' counts up to 10^8; None takes the best of the others"
        )
    return left


def _last(fits: Callable[[int], bool], start: int, most: int = MOST_ANSWERS) -> int:
    """Largest count that fits, of a condition that holds up to some count and never beyond; 0 if none."""
    if not fits(1):
        return 0
    low, high = (start, 2 * start) if fits(start) else (1, start)
    while high <= most and fits(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _optimal_delta(epsilon: float, each: float, k: int) -> float:
    """The exact delta, rounded up."""
    return composition.optimal_delta(epsilon, each, k) * (1 + composition.optimal_rounding(k))


def _zcdp_capacity(epsilon: float, delta: float, each: float, start: int, *, bounded_range: bool = False) -> int:
    total, one = composition.zcdp_rho(epsilon, delta), rho(each, bounded_range)
    return _last(lambda k: k * one <= total, start)


def _zcdp_each(epsilon: float, delta: float, k: int, *, bounded_range: bool = False) -> float:
    return math.sqrt(composition.zcdp_rho(epsilon, delta) / (k * rho(1.0, bounded_range))) * (1 - 1e-12)


def _zcdp_spent(each: float, delta: float, k: int, *, bounded_range: bool = False) -> float:
    total = k * rho(each, bounded_range)
    high = total + 2 * math.sqrt(total * math.log(1 / delta))  # Bun & Steinke 2016, Proposition 1.3
    return _least(lambda epsilon: composition.zcdp_delta(epsilon, total), high, delta)


def _least(delta_of: Callable[[float], float], high: float, delta: float) -> float:
    """Least epsilon with delta_of(epsilon) <= delta, rounded up; delta_of falls, and `high` serves."""
    low = high * 1e-9
    if delta_of(low) <= delta:
        return low

    def excess(epsilon: float) -> float:
        return math.log(max(delta_of(epsilon), SMALLEST_DELTA)) - math.log(delta)

    high *= 1 + 1e-9
    root = optimize.brentq(excess, low, high, xtol=1e-13 * high, rtol=1e-12) if excess(high) < 0 else high
    step = 1e-9
    while delta_of(root) > delta:
        root, step = root * (1 + step), 2 * step
    return root


def _optimal_spent(each: float, delta: float, k: int) -> float:
    # As k each: nothing is left of delta.
    return _least(lambda epsilon: _optimal_delta(epsilon, each, k), k * each, delta)


def _optimal_each(epsilon: float, delta: float, k: int) -> float:
    low = max(epsilon / k, _zcdp_each(epsilon, delta, k)) * (1 - 1e-9)
    return composition.largest(lambda e: _optimal_delta(epsilon, e, k), low, delta)


def _advanced_each(epsilon: float, delta: float, k: int) -> float:
    # Theorem 3.20 alone: basic composition has a name of its own.
    high = epsilon / math.sqrt(2 * k * math.log(1 / delta))
    # The price at which e' is epsilon: `largest` wants what must not exceed delta.
    return composition.largest(lambda e: delta * composition.advanced(e, delta, k) / epsilon, high / 2, delta)


_CAPACITY = {
    "basic": lambda epsilon, delta, each, start: _last(lambda k: k * each <= epsilon, start),
    "advanced": lambda epsilon, delta, each, start: _last(
        lambda k: composition.advanced(each, delta, k) <= epsilon, start
    ),
    "zcdp": _zcdp_capacity,
    "optimal": lambda epsilon, delta, each, start: _last(
        lambda k: _optimal_delta(epsilon, each, k) <= delta,
        min(start, composition.MOST_OPTIMAL),
        composition.MOST_OPTIMAL,
    ),
    "bounded_range": functools.partial(_zcdp_capacity, bounded_range=True),
}
_EACH = {
    "basic": lambda epsilon, delta, k: epsilon / k * (1 - 1e-12),
    "advanced": _advanced_each,
    "zcdp": _zcdp_each,
    "optimal": _optimal_each,
    "bounded_range": functools.partial(_zcdp_each, bounded_range=True),
}
_SPENT = {
    "basic": lambda each, delta, k: each * k,
    "advanced": composition.advanced,
    "zcdp": _zcdp_spent,
    "optimal": _optimal_spent,
    "bounded_range": functools.partial(_zcdp_spent, bounded_range=True),
}


@functools.lru_cache
def _price(name: str, epsilon: float, delta: float, answers: int) -> float:
    """Return `each` by one accountant: a search, which the next fit with the same budget need not repeat."""
    return _EACH[name](epsilon, delta, answers)
