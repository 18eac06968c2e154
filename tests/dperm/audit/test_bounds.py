"""Counts to bounds: Clopper-Pearson by brute force, and both ways from a bound to its p-value and back."""

import itertools
import math

import numpy as np
import pytest
import together
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from dperm.accounting import gaussian
from dperm.audit import bounds
from dperm.audit.bounds import Counts

ERRORS = (0.3, 0.025, 1e-5)


@together.over("error", ERRORS)
@together.over(("hits", "tries"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (4_000, 10_000)])
def test_limits_solve_the_binomial_equations(hits, tries, error):
    """At the lower limit `hits` or more happen with probability `error`, at the upper one `hits` or fewer."""
    low, high = bounds.lower_probability(hits, tries, error), bounds.upper_probability(hits, tries, error)
    assert low <= hits / tries <= high
    assert low == 0 if hits == 0 else stats.binom.sf(hits - 1, tries, low) == pytest.approx(error, rel=1e-8)
    assert high == 1 if hits == tries else stats.binom.cdf(hits, tries, high) == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("tries", [1, 7, 30])
def test_limits_err_no_more_often_than_they_say(tries, error):
    """All outcomes summed, for many true probabilities."""
    hits = np.arange(tries + 1)
    low, high = bounds.lower_probability(hits, tries, error), bounds.upper_probability(hits, tries, error)
    for truth in np.linspace(0.001, 0.999, 97):
        mass = stats.binom.pmf(hits, tries, truth)
        assert mass[low > truth].sum() <= error * (1 + 1e-9)
        assert mass[high < truth].sum() <= error * (1 + 1e-9)


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("sides", ["one", "both"])
def test_the_bound_errs_no_more_often_than_it_says(sides, delta):
    """Every outcome of 24 draws summed, of the mechanism that spends (epsilon, delta) to the last bit.

    With probability delta it tells its side, else with probability `speaks` a bit that is right with odds e^epsilon.
    Whoever guesses repeats what it says; or only where it says "data".
    """
    draws, error = 24, 0.1
    # Right and wrong guesses; the draws of which a guess can be right.
    hits, others, of = np.meshgrid(*(np.arange(draws + 1),) * 3, indexing="ij")
    if sides == "both":
        hits, others, of = (axis[:, :, draws] for axis in (hits, others, of))
    bound = np.zeros(hits.shape)
    for tries in range(1, draws + 1):
        bound = np.where(of == tries, bounds.promised(hits, tries, others, delta, error), bound)
    for epsilon, speaks in itertools.product((0.3, 1.0, 2.0), (0.1, 0.5, 1.0)):
        right = delta + (1 - delta) * speaks / (1 + math.exp(-epsilon))
        wrong = (1 - delta) * speaks / (1 + math.exp(epsilon))
        if sides == "both":
            chance = stats.binom.pmf(hits + others, draws, min(right + wrong, 1.0))
            chance *= stats.binom.pmf(hits, hits + others, right / (right + wrong))
        else:
            chance = stats.binom.pmf(of, draws, 0.5) * stats.binom.pmf(hits, of, right)
            chance *= stats.binom.pmf(others, draws - of, wrong)
        assert chance.sum() == pytest.approx(1)
        assert chance[bound > epsilon].sum() <= error


def test_a_bound_by_hand():
    """100 right guesses and none wrong at 95 %: the share of right ones is at least 0.05^(1/100)."""
    low = 0.05 ** (1 / 100)
    counts = Counts(100, 100, 0, 100)
    assert bounds.epsilon_bound(counts, delta=0.0, confidence=0.95) == pytest.approx(math.log(low / (1 - low)))
    # At delta = 0.1 a twentieth of the error is for how often the guess is right: 0.0025^(1/100) of the draws at least.
    left, right = 0.0475 ** (1 / 100), 0.0025 ** (1 / 100)
    by_hand = math.log(left / (1 - left)) + math.log(1 - 0.1 / right)
    assert bounds.epsilon_bound(counts, delta=0.1, confidence=0.95) == pytest.approx(by_hand)
    assert bounds.epsilon_bound(Counts(10, 100, 0, 100), delta=0.1, confidence=0.95) == 0
    share = 0.025 ** (1 / 100)
    mu = special.ndtri(share) - special.ndtri(1 - share)
    assert bounds.mu_bound(counts, confidence=0.95) == pytest.approx(mu)
    epsilon = bounds.epsilon_bound(counts, delta=1e-3, confidence=0.95, model="gaussian")
    assert gaussian.hockey_stick(epsilon, mu) == pytest.approx(1e-3)


counts_of_draws = st.integers(1, 5_000).flatmap(
    lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(0, n), st.just(n)).map(lambda t: Counts(*t))
)


@given(counts_of_draws, st.floats(0.01, 8), st.sampled_from([0.0, 1e-6, 0.01]), st.sampled_from(["none", "gaussian"]))
def test_the_p_value_is_where_the_bound_crosses_the_claim(counts, epsilon, delta, model):
    if model == "gaussian" and delta == 0:
        delta = 1e-9
    p = bounds.p_value(counts, epsilon=epsilon, delta=delta, model=model)
    assert 0 < p <= 1

    def bound(error):
        return bounds.epsilon_bound(counts, delta=delta, confidence=1 - error, model=model)

    if 1e-12 < p < 0.99:
        assert bound(p * (1 + 1e-3)) >= epsilon * (1 - 1e-9)
        assert bound(p * (1 - 1e-3)) <= epsilon * (1 + 1e-9)
    elif p >= 0.99:
        assert bound(0.9) <= epsilon * (1 + 1e-9)


@given(counts_of_draws, st.floats(0.01, 5), st.floats(0.01, 5))
def test_a_larger_claim_is_never_more_surprising(counts, first, second):
    small, large = sorted((first, second))
    assert bounds.p_value(counts, epsilon=large, delta=0.0) <= 1
    assert bounds.p_value(counts, epsilon=small, delta=0.0) <= bounds.p_value(counts, epsilon=large, delta=0.0) + 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (3.0, 1e-2), (8.0, 1e-9)])
def test_gaussian_epsilon_undoes_the_analytic_gaussian_mechanism(epsilon, delta):
    mu = gaussian.gaussian_ratio(epsilon, delta)
    assert bounds.gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-7)
    assert bounds.gaussian_epsilon(0.0, delta) == 0


def test_an_infinite_claim_is_never_refuted():
    assert bounds.p_value(Counts(100, 100, 0, 100), epsilon=math.inf, delta=0.0) == 1
    assert bounds.p_value(Counts(100, 100, 0, 100), epsilon=math.inf, delta=1e-6, model="gaussian") == 1


@together.over("values", [(-1, 10, 0, 10), (11, 10, 0, 10), (0, 0, 0, 10), (1, 10, 12, 10)])
def test_impossible_counts_are_refused(values):
    with pytest.raises(ValueError, match=r"hits=.*must be between 0 and the draws"):
        Counts(*values)


@together.over(
    "arguments, words",
    [
        ({"delta": 1.0, "confidence": 0.95}, "delta=1.0"),
        ({"delta": 0.0, "confidence": 1.0}, "confidence=1.0"),
        ({"delta": 0.0, "confidence": 0.95, "model": "gaussian"}, "no finite epsilon at delta = 0"),
        ({"delta": 0.0, "confidence": 0.95, "model": "laplace"}, "model='laplace' is not one of"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        bounds.epsilon_bound(Counts(1, 10, 0, 10), **arguments)
