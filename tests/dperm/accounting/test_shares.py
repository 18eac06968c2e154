"""Shares of one budget: what they compose to, by other people's accountants and by enumeration."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant

from dperm.accounting import shares
from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import Budget
from dperm.errors import InvalidBudget


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(1.0, 1e-6, 3), (0.2, 1e-4, 10), (5.0, 1e-8, 7), (0.1, 1e-3, 900)])
def test_gaussian_releases_of_these_shares_spend_the_whole_and_no_more(epsilon, delta, k):
    share = shares.of_gaussians(Budget(epsilon, delta), k)
    each = gaussian_ratio(share.epsilon, share.delta)
    whole = gaussian_ratio(epsilon, delta)
    assert whole * (1 - 1e-6) <= math.sqrt(k) * each <= whole
    # Of 900 releases even e = 0 with all of delta would have too large a ratio: before, there was no share.
    assert epsilon / k < share.epsilon < epsilon and 0 < share.delta <= delta
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    accountant.compose(dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(1 / each), k))
    assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=5e-3)
    assert shares.together([1 / each] * k) == pytest.approx(1 / (math.sqrt(k) * each), rel=1e-12)


def worst(e, d, k):
    """Return the laws of k releases of the worst (e, d)-DP mechanism: with probability d it tells the data set."""
    each = [(d, 0.0), (0.0, d)]
    each += [((1 - d) * p, (1 - d) * q) for p, q in ((1, math.exp(-e)), (math.exp(-e), 1))]
    total = 1 + math.exp(-e)
    each = [(p / total, q / total) if i > 1 else (p, q) for i, (p, q) in enumerate(each)]
    return np.array([np.prod(one, axis=0) for one in itertools.product(each, repeat=k)])


@pytest.mark.parametrize(("epsilon", "delta", "k"), [(1.0, 1e-2, 3), (0.1, 0.05, 5), (2.0, 0.2, 6), (1.0, 0.0, 4)])
def test_any_releases_of_these_shares_stay_within_the_whole(epsilon, delta, k):
    """By enumeration of all outcomes of k releases."""
    share = shares.of_any(Budget(epsilon, delta), k)
    p, q = worst(share.epsilon, share.delta, k).T
    spent = np.maximum(p - math.exp(epsilon) * q, 0).sum()
    assert 0.9 * delta <= spent + 1e-15 and spent <= delta + 1e-12
    assert share.epsilon >= epsilon / k
    if not delta:
        assert share == Budget(epsilon / k, 0.0)


def test_many_releases_get_more_than_an_equal_part():
    assert shares.of_any(Budget(1.0, 1e-6), 1000).epsilon > 5 / 1000


@pytest.mark.parametrize("delta", [1e-306, 1e-300, 5e-300])
def test_a_delta_too_small_to_share_is_named(delta):
    """Before, SciPy spoke of f(a) and f(b)."""
    with pytest.raises(InvalidBudget, match=r"delta=.* leaves each of 3 releases less than 1e-300; take 0 for pure"):
        shares.of_any(Budget(1.0, delta), 3)


def test_one_release_has_all_of_it():
    for of in (shares.of_any, shares.of_gaussians):
        assert of(Budget(1.0, 1e-6), 1) == Budget(1.0, 1e-6)
