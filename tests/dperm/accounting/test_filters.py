"""How many answers fit, against closed forms, exact arithmetic and dp-accounting."""

import itertools
import math

import mpmath
import numpy as np
import pytest
import together
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from dperm.accounting import composition, filters
from dperm.errors import InvalidBudget
from dperm.mechanisms.prediction.ledger import PredictionLedger


@pytest.mark.parametrize("accountant", filters.ACCOUNTANTS)
@given(
    epsilon=st.floats(0.01, 20), delta=st.floats(1e-12, 0.1), answers=st.integers(1, 20_000)
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_prices_numbers_and_totals_are_inverse_to_each_other(accountant, epsilon, delta, answers):
    how = {"bounded_range": True, "accountant": accountant}
    each = filters.each(epsilon, delta, answers, **how)
    assert filters.capacity(epsilon, delta, each, **how) >= answers
    assert filters.capacity(epsilon, delta, each * 1.001, **how) <= answers
    assert filters.spent(each, answers, delta, **how) == pytest.approx(epsilon, rel=1e-5)


@given(epsilon=st.floats(0.05, 10), delta=st.floats(1e-12, 0.1), each=st.floats(1e-3, 3), wide=st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_best_accountant_speaks(epsilon, delta, each, wide):
    names = filters.ACCOUNTANTS if wide else filters.ACCOUNTANTS[:-1]
    alone = [filters.capacity(epsilon, delta, each, bounded_range=wide, accountant=name) for name in names]
    assert filters.capacity(epsilon, delta, each, bounded_range=wide) == max(alone)
    # Nothing that is only known to be e-DP has more answers than its worst case allows.
    assert max(alone[:3]) <= alone[3]


def test_dp_accounting_on_laplace_answers_lies_below_what_pure_answers_may_cost():
    each, k, delta = 0.1, 50, 1e-6
    laplace = privacy_loss_distribution.from_laplace_mechanism(1 / each, value_discretization_interval=1e-3)
    found = laplace.self_compose(k).get_epsilon_for_delta(delta)
    assert 0.5 * filters.spent(each, k, delta) < found <= filters.spent(each, k, delta)
    # One answer: the closed form of the Laplace mechanism, 1 - exp((eps - e)/2).
    one = privacy_loss_distribution.from_laplace_mechanism(1 / each, value_discretization_interval=1e-5)
    assert one.get_delta_for_epsilon(0.05) == pytest.approx(-math.expm1((0.05 - each) / 2), rel=1e-3)


def test_the_event_of_a_ledger_is_worth_its_budget():
    each, k, delta = 0.05, 500, 1e-6
    total = filters.spent(each, k, delta, bounded_range=True)
    orders = np.concatenate([np.linspace(1.1, 10, 300), np.linspace(10.5, 200, 800)])
    accountant = rdp_privacy_accountant.RdpAccountant(orders)
    accountant.compose(PredictionLedger(total, delta, each=each, bounded_range=True).event)
    assert total == pytest.approx(accountant.get_epsilon(delta), rel=1e-3)


def test_the_tails_that_optimal_delta_leaves_out_are_nothing():
    each, k = 0.01, 4000
    j = np.arange(k + 1)
    mass = stats.binom.pmf(j, k, special.expit(each))
    for epsilon in (0.0, 0.3, 3.0, 6.0):
        whole = mass @ -np.expm1(np.minimum(0.0, epsilon - (2 * j - k) * each))
        assert composition.optimal_delta(epsilon, each, k) == pytest.approx(whole, rel=1e-9, abs=1e-300)


def exact(epsilon, each, k):
    """delta by 40 digits for the first term, and ratios of neighbouring ones, of which 1e5 err by 1e-10 together."""
    with mpmath.workdps(40):
        start, e = math.floor((k + epsilon / each) / 2) + 1, mpmath.mpf(each)
        first = mpmath.loggamma(k + 1) - mpmath.loggamma(start + 1) - mpmath.loggamma(k - start + 1)
        first -= start * mpmath.log1p(mpmath.exp(-e)) + (k - start) * mpmath.log1p(mpmath.exp(e))
        j = np.arange(start, min(k, math.ceil(k * special.expit(each) + 8 * math.sqrt(k))) + 1)
        relative = np.concatenate([[0.0], np.cumsum(np.log((k - j[:-1]) / (j[:-1] + 1)) + each)])
        return float(mpmath.exp(first)) * math.fsum(np.exp(relative) * -np.expm1(epsilon - (2 * j - k) * each))


@pytest.mark.parametrize("k", [1000, 10**6, 87_654_321, 10**8])
def test_the_rounding_of_the_optimum_is_proved_up_to_its_last_count(k):
    slack = composition.optimal_rounding(k)
    for epsilon, delta in ((1.0, 1e-6), (0.3, 1e-9)):
        each = filters.each(epsilon, delta, k, accountant="optimal")
        assert 0.9999 * delta < exact(epsilon, each, k) <= delta
        for price in (each, 1.1 * each, 0.7 * each):
            assert abs(composition.optimal_delta(epsilon, price, k) / exact(epsilon, price, k) - 1) <= slack
    assert slack < 4e-6


def test_beyond_its_last_count_the_optimum_does_not_speak():
    k, how = 10**8 + 1, {"accountant": "optimal"}
    others = ("basic", "advanced", "zcdp")
    assert filters.each(1.0, 1e-6, k) == max(filters.each(1.0, 1e-6, k, accountant=name) for name in others)
    price = filters.each(1.0, 1e-6, 10**10)
    assert exact(1.0, price, 10**8) < 1e-6 and filters.capacity(1.0, 1e-6, price) >= 10**10
    assert filters.capacity(1.0, 1e-6, price, **how) == 10**8
    assert filters.spent(price, k, 1e-6) == filters.spent(price, k, 1e-6, accountant="zcdp")
    for call in (lambda: filters.each(1.0, 1e-6, k, **how), lambda: filters.spent(1e-5, k, 1e-6, **how)):
        with pytest.raises(ValueError, match="answers=100000001: accountant='optimal' counts up to 10\\^8"):
            call()
    with pytest.raises(ValueError, match="k=100000001 is more than the 10\\^8 releases"):
        composition.optimal_delta(1.0, 1e-5, k)


def test_closed_forms():
    assert filters.capacity(1.0, 0.0, 0.125) == 8
    assert filters.spent(0.125, 8, 0.0) == 1.0
    k, each, delta = 300, 0.01, 1e-6
    advanced = each * math.sqrt(2 * k * math.log(1e6)) + k * each * math.expm1(each)
    assert filters.spent(each, k, delta, accountant="advanced") == pytest.approx(advanced)
    # rho-zCDP is at most (rho + 2 sqrt(rho log(1/delta)), delta)-DP, and that is near.
    rho = k * each**2 / 8
    bun = rho + 2 * math.sqrt(rho * math.log(1e6))
    total = filters.spent(each, k, delta, accountant="bounded_range", bounded_range=True)
    assert 0.8 * bun < total <= bun
    assert filters.spent(each, 0, delta) == 0


@pytest.mark.parametrize("wide", [False, True])
def test_more_answers_never_cost_less(wide):
    counts = [1, 2, 5, 10, 50, 200, 1000]
    for name in filters.ACCOUNTANTS if wide else filters.ACCOUNTANTS[:-1]:
        totals = [filters.spent(0.03, k, 1e-6, bounded_range=wide, accountant=name) for k in counts]
        assert all(a < b for a, b in itertools.pairwise(totals))


@together.over(
    "call, words",
    [
        (lambda: filters.each(1.0, 0.0, 10, accountant="zcdp"), "delta=0 allows accountant='basic' alone"),
        (lambda: filters.each(1.0, 1e-6, 10, accountant="bounded_range"), "needs answers of bounded range"),
        (lambda: filters.each(1.0, 1e-6, 10, accountant="best"), "is not one of basic, advanced"),
        (lambda: filters.each(1.0, 1e-6, 0), "k=0 must be an integer"),
        (lambda: filters.each(1.0, 1e-6, 2**60), "at most 2\\^53"),
        (lambda: filters.capacity(0.0, 1e-6, 0.1), "epsilon=0.0 must be"),
        (lambda: filters.capacity(1.0, 1e-6, -1.0), "each=-1.0 must be"),
        (lambda: filters.capacity(1.0, 1.5, 0.1), "delta=1.5 must be"),
        (lambda: filters.capacity(1.0, 1e-301, 0.1), "at least 1e-300"),
    ],
)
def test_what_is_refused(call, words):
    with pytest.raises((InvalidBudget, ValueError), match=words):
        call()
