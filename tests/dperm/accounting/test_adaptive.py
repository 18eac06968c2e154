"""Filters against every strategy that they let through, by brute force over leaky randomised responses."""

import decimal
import itertools
import math

import numpy as np
import pytest
from dp_accounting.dp_event import GaussianDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dperm.accounting import adaptive
from dperm.accounting.adaptive import Cost
from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import Budget
from dperm.errors import InvalidBudget


def leaky_response(cost):
    """Return the probabilities of each outcome on both sides: the most telling release of this (epsilon, delta)."""
    right, kept = 1 / (1 + math.exp(-cost.epsilon)), 1 - cost.delta
    return [(cost.delta, 0.0), (kept * right, kept * (1 - right)), (kept * (1 - right), kept * right)]


def gaussian_noise(cost, ratio=None):
    """Return the same of Gaussian noise, of which is told in which of seven cells it lies."""
    edges = np.array([-np.inf, -2, -1, 0, 1, 2, 3, np.inf])
    cells = [np.diff(stats.norm.cdf(edges, loc)) for loc in (ratio or cost.mu, 0)]
    return list(zip(*cells, strict=True))


def worst(total, options, accountant, rounds, made=(), p=1.0, q=1.0, noise=gaussian_noise):
    """Return the largest delta, at the total's epsilon, of any way to choose releases as one goes."""
    found = max(0.0, p - math.exp(total.epsilon) * q)
    for one in options:
        if rounds == 0 or not adaptive.spent(total, [*made, one], accountant).fits:
            continue
        outcomes = leaky_response(one) if one.mu is None else noise(one)
        then = [worst(total, options, accountant, rounds - 1, (*made, one), p * a, q * b, noise) for a, b in outcomes]
        found = max(found, sum(then))
    return found


@pytest.mark.parametrize("accountant", ["basic", "renyi", "gaussian"])
@pytest.mark.parametrize("delta", [0.02, 0.3])
def test_no_strategy_spends_more(accountant, delta):
    options = [Cost(0.2), Cost(0.5, 0.01), Cost(0.3, 0.05)]
    for epsilon in (0.6, 1.0, 2.0):
        total = Budget(epsilon, delta)
        try:
            spent = worst(total, options, accountant, rounds=4)
        except InvalidBudget:
            assert accountant == "renyi" and epsilon < 2 and delta < 0.1
            continue
        assert spent <= delta + 1e-12


@pytest.mark.parametrize("accountant", ["renyi", "gaussian"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.8, 0.1), (1.0, 0.3), (2.0, 0.02)])
def test_no_strategy_spends_more_with_gaussian_noise(epsilon, delta, accountant):
    total, options = Budget(epsilon, delta), [Cost(0.2), Cost(0.5, 0.05, mu=0.3), Cost(1.5, 0.3, mu=0.8)]
    assert 0 < worst(total, options, accountant, rounds=3) <= delta


@pytest.mark.parametrize("accountant", ["renyi", "gaussian"])
def test_a_mu_that_is_too_small_is_noticed(accountant):
    """Power: the filter is told Gaussian noise of ratio .25, the noise has 1.5."""
    total, one = Budget(1.0, 0.3), Cost(1.0, 0.1, mu=0.25)
    assert worst(total, [one], accountant, 3, noise=lambda cost: gaussian_noise(cost, 1.5)) > 0.3


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 8.0])
def test_the_ratio_of_a_pure_release_is_the_least_that_holds(epsilon):
    """The trade-off of Gaussian noise lies below that of randomised response, and meets it where it bends."""
    total = Budget(epsilon, 1e-6)
    mu = gaussian_ratio(adaptive.spent(total, [Cost(epsilon)], "gaussian").epsilon, 5e-7)
    errors = np.linspace(0, 1, 1001)
    bend = 1 / (1 + math.exp(epsilon))
    response = np.where(errors <= bend, 1 - math.exp(epsilon) * errors, math.exp(-epsilon) * (1 - errors))
    assert np.all(stats.norm.cdf(stats.norm.isf(errors) - mu) <= response + 1e-9)
    assert stats.norm.cdf(stats.norm.isf(bend) - mu) == pytest.approx(bend, rel=1e-6)


@pytest.mark.parametrize(("ratio", "count"), [(0.02, 500), (0.12, 10), (0.5, 1)])
def test_gaussian_releases_are_added_up_as_by_their_exact_curve(ratio, count):
    total = Budget(4.0, 2e-5)
    exact = PLDAccountant(value_discretization_interval=1e-4)
    exact.compose(GaussianDpEvent(1 / ratio), count)
    found = adaptive.spent(total, [Cost(3.0, 1e-6, mu=ratio)] * count, "gaussian")
    assert found.fits and found.delta == 1e-5
    assert found.epsilon == pytest.approx(exact.get_epsilon(1e-5), rel=2e-3)
    assert found.epsilon < adaptive.spent(total, [Cost(3.0, 1e-6, mu=ratio)] * count, "renyi").epsilon


def test_gaussian_releases_fill_the_budget_to_its_end():
    total = Budget(3.0, 1e-5)
    allowed = (gaussian_ratio(3.0, 5e-6) / 0.1) ** 2
    many = math.floor(allowed)
    assert adaptive.spent(total, [Cost(2.0, 1e-6, mu=0.1)] * many, "gaussian").fits
    over = adaptive.spent(total, [Cost(2.0, 1e-6, mu=0.1)] * (many + 1), "gaussian")
    assert not over.fits and over.epsilon > 3.0


def test_a_mu_above_that_of_randomised_response_is_not_taken():
    assert adaptive.spent(Budget(1.0, 0.9), [Cost(0.01, 0.3, mu=0.8)], "gaussian").delta == 0.75


def test_gaussian_releases_are_added_up_by_their_noise():
    """Descents at (.5, 1e-6): six by their epsilons, and by hand as many as the order's divergence allows."""
    total, one = Budget(3.0, 1e-5), Cost(0.5, 1e-6, mu=gaussian_ratio(0.5, 1e-6))
    a = adaptive.renyi_order(total)
    left = 3.0 - math.log1p(-1 / a) + math.log(5e-6 * a) / (a - 1)
    many = math.floor(left / (a * one.mu**2 / 2))
    assert many > 20
    assert adaptive.spent(total, [one] * many, "renyi").fits
    assert not adaptive.spent(total, [one] * (many + 1), "renyi").fits
    assert not adaptive.spent(total, [one] * 7, "basic").fits


def test_a_filter_that_forgets_the_leaks_is_noticed():
    """Power: pure costs in the sums, leaks in the releases."""
    total, one = Budget(1.0, 0.02), Cost(0.5, 0.05)
    assert adaptive.spent(total, [Cost(0.5)] * 2).fits and not adaptive.spent(total, [one] * 2).fits
    assert worst(Budget(1.0, 0.2), [one], "basic", 2) > 0.02


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_sums_are_those_of_the_decimals_that_were_written(thousandths):
    epsilon = sum(thousandths) / 1000
    releases = [Cost(one / 1000) for one in thousandths]
    assert adaptive.spent(Budget(epsilon), releases).fits
    assert not adaptive.spent(Budget(np.nextafter(epsilon, 0) - 1e-9), releases).fits


def test_sums_do_not_depend_on_the_callers_decimal_context():
    with decimal.localcontext(decimal.Context(prec=2)):
        assert not adaptive.spent(Budget(1.3), [Cost(0.104)] * 13).fits
    assert not adaptive.spent(Budget(1.0), [Cost(1.0), Cost(1e-29)]).fits


def test_many_small_releases_fit_into_more_under_renyi():
    total = Budget(3.0, 1e-5)
    many = [Cost(0.01)] * 1_000
    assert not adaptive.spent(total, many, "basic").fits
    found = adaptive.spent(total, many, "renyi")
    assert found.fits and found.delta == 5e-6
    # By hand: the order's divergence of 1,000 randomised responses, turned into epsilon.
    a, r = adaptive.renyi_order(total), 1 / (1 + math.exp(-0.01))
    divergence = 1_000 * math.log(r**a * (1 - r) ** (1 - a) + (1 - r) ** a * r ** (1 - a)) / (a - 1)
    assert found.epsilon == pytest.approx(divergence + math.log1p(-1 / a) - math.log(5e-6 * a) / (a - 1), rel=1e-9)


def test_what_a_group_is_promised_is_what_a_chain_of_neighbours_gives():
    for (epsilon, delta), size in itertools.product([(0.1, 1e-6), (1.0, 1e-3)], (1, 2, 5)):
        chained = (0.0, 0.0)
        for _ in range(size):
            chained = chained[0] + epsilon, chained[1] * math.exp(epsilon) + delta
        assert adaptive.of_group(epsilon, delta, size) == pytest.approx(chained)
    # Both quotients of a sum of powers overflow here.
    assert adaptive.of_group(800.0, 1e-9, 2) == (1600.0, 1.0) and adaptive.of_group(800.0, 0.0, 2) == (1600.0, 0.0)


@pytest.mark.parametrize("accountant", ["basic", "renyi", "gaussian"])
@pytest.mark.parametrize("epsilon", [5.0, 709.0, 720.0, 800.0, 1e12])
def test_what_is_no_privacy_at_all_does_not_fit(accountant, epsilon):
    """Before, `renyi` let any release of an epsilon above 710 in, for an overflow made its cost less than nothing."""
    found = adaptive.spent(Budget(3.0, 1e-5), [Cost(epsilon)], accountant)
    assert not found.fits and found.epsilon > 3.0


@pytest.mark.parametrize("accountant", ["renyi", "gaussian"])
@pytest.mark.parametrize("epsilon", [1e-20, 1e-16, 1e-12, 1e-7, 7e-7, 9e-7, 1e-5])
def test_tiny_releases_cost_what_they_spend(accountant, epsilon):
    """So many are 0.1-zCDP together, an epsilon of about 2.3; before, `gaussian` took none for those below 1e-16."""
    many = int(0.2 / epsilon**2)
    few, more = (adaptive.spent(Budget(3.0, 1e-5), {Cost(epsilon): k}, accountant) for k in (many // 10, 4 * many))
    assert few.fits and not more.fits and few.epsilon > 0.5


def test_a_delta_and_an_epsilon_are_needed():
    for accountant in ("renyi", "gaussian"):
        with pytest.raises(InvalidBudget, match="delta=0"):
            adaptive.check(Budget(1.0), accountant)
    with pytest.raises(InvalidBudget, match="too little"):
        adaptive.renyi_order(Budget(1e-6, 1e-9))
