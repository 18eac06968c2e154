"""Filters against every strategy that they let through, by brute force over leaky randomised responses."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.accounting import adaptive
from dperm.domain import Budget
from dperm.errors import InvalidBudget


def worst(total, options, accountant, rounds, made=(), p=1.0, q=1.0):
    """Return the largest delta, at the total's epsilon, of any way to choose releases as one goes."""
    found = max(0.0, p - math.exp(total.epsilon) * q)
    for one in options:
        if rounds == 0 or not adaptive.spent(total, [*made, one], accountant).fits:
            continue
        right = 1 / (1 + math.exp(-one.epsilon))
        kept = 1 - one.delta
        outcomes = [(one.delta, 0.0), (kept * right, kept * (1 - right)), (kept * (1 - right), kept * right)]
        then = [worst(total, options, accountant, rounds - 1, (*made, one), p * a, q * b) for a, b in outcomes]
        found = max(found, sum(then))
    return found


@pytest.mark.parametrize("accountant", ["basic", "renyi"])
@pytest.mark.parametrize("delta", [0.02, 0.3])
def test_no_strategy_spends_more(accountant, delta):
    options = [Budget(0.2), Budget(0.5, 0.01), Budget(0.3, 0.05)]
    for epsilon in (0.6, 1.0, 2.0):
        total = Budget(epsilon, delta)
        try:
            spent = worst(total, options, accountant, rounds=4)
        except InvalidBudget:
            assert accountant == "renyi" and epsilon < 2 and delta < 0.1
            continue
        assert spent <= delta + 1e-12


def test_a_filter_that_forgets_the_leaks_is_noticed():
    """Power: pure costs in the sums, leaks in the releases."""
    total, one = Budget(1.0, 0.02), Budget(0.5, 0.05)
    assert adaptive.spent(total, [Budget(0.5)] * 2).fits and not adaptive.spent(total, [one] * 2).fits
    assert worst(Budget(1.0, 0.2), [one], "basic", 2) > 0.02


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30))
def test_sums_are_those_of_the_decimals_that_were_written(thousandths):
    epsilon = sum(thousandths) / 1000
    releases = [Budget(one / 1000) for one in thousandths]
    assert adaptive.spent(Budget(epsilon), releases).fits
    assert not adaptive.spent(Budget(np.nextafter(epsilon, 0) - 1e-9), releases).fits


def test_many_small_releases_fit_into_more_under_renyi():
    total = Budget(3.0, 1e-5)
    many = [Budget(0.01)] * 1_000
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


def test_renyi_needs_a_delta_and_an_epsilon():
    with pytest.raises(InvalidBudget, match="delta=0"):
        adaptive.renyi_order(Budget(1.0))
    with pytest.raises(InvalidBudget, match="too little"):
        adaptive.renyi_order(Budget(1e-6, 1e-9))
