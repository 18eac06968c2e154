"""Noisy top-s has the law that it says, keeps its promise, and finds what stands apart (Theorem 8)."""

import math
from itertools import combinations, product

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_sets import law
from scipy import integrate, stats

from dperm.domain import Budget
from dperm.mechanisms.support import noisy_top, samp_agg

# ---- noisy top-s: the law of the set


def by_orderings(scores, chosen, scale):
    """P(every noisy score in `chosen` above every other), by nested adaptive quadrature over the smallest chosen."""
    noise = stats.laplace(scale=scale)
    rest = [i for i in range(len(scores)) if i not in chosen]
    total = 0.0
    for j in chosen:  # j is the smallest of the chosen

        def integrand(t, j=j):
            above = math.prod(noise.sf(t - scores[i]) for i in chosen if i != j)
            return noise.pdf(t - scores[j]) * above * math.prod(noise.cdf(t - scores[i]) for i in rest)

        low, high = min(scores) - 40 * scale, max(scores) + 40 * scale
        total += integrate.quad(integrand, low, high, points=sorted(set(scores)), limit=500, epsabs=1e-13)[0]
    return total


CASES = [
    ([0.0, 0.0], 1, 1.0),
    ([0.0, 0.4], 1, 0.3),
    ([0.2, 0.9, 0.2], 1, 0.5),
    ([1.0, 0.0, 0.5, 0.5], 2, 0.2),
    pytest.param([0.1, 0.7, 0.3, 1.0], 3, 0.4, marks=pytest.mark.slow),
    pytest.param([0.0, 0.0, 0.0, 0.0], 2, 2.0, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("scores", "size", "scale"), CASES)
def test_set_probabilities_are_those_of_brute_quadrature(scores, size, scale):
    exact = law(scores, size, scale)
    assert list(exact) == list(combinations(range(len(scores)), size))
    for chosen, value in exact.items():
        assert math.exp(value) == pytest.approx(by_orderings(scores, chosen, scale), abs=1e-9)


@pytest.mark.parametrize(("scores", "size", "scale"), CASES)
def test_sampled_sets_have_these_probabilities(scores, size, scale):
    """Chi-squared at 1e-6 over all sets."""
    draws = 40_000
    supports = noisy_top.sample(
        np.array(scores), size=size, scale=scale, rng=np.random.default_rng(7), repeats=draws
    ).tolist()
    exact = law(scores, size, scale)
    counts = np.array([sum(1 for s in supports if tuple(s) == chosen) for chosen in exact])
    assert counts.sum() == draws
    expected = draws * np.exp(list(exact.values()))
    assert stats.chisquare(counts, expected, sum_check=False).pvalue > 1e-6


@given(scores=st.lists(st.floats(-5, 5), min_size=2, max_size=6), size=st.integers(1, 5), scale=st.floats(0.01, 10))
@settings(max_examples=60, deadline=None)
def test_set_probabilities_sum_to_one(scores, size, scale):
    size = min(size, len(scores))
    assert sum(math.exp(v) for v in law(scores, size, scale).values()) == pytest.approx(1, abs=1e-12)


@given(gap=st.floats(0, 500))
def test_two_items_have_a_closed_form_also_far_in_the_tail(gap):
    """The difference of two Laplace variables exceeds g with probability (2 + g) exp(-g)/4."""
    expected = math.log((2 + gap) / 4) - gap
    assert law([0, gap], 1, 1.0)[(0,)] == pytest.approx(expected, abs=1e-11)
    assert noisy_top.log_separation(2, size=1, gap=gap)[1] == pytest.approx(expected, abs=1e-11)


def test_equal_scores_give_every_set_the_same_probability():
    assert set(np.round(list(law([3.0] * 7, 3, 0.1).values()), 11)) == {round(-math.log(35), 11)}


def test_top_takes_the_first_of_equal_values():
    values = np.array([[1.0, 3, 2, 3, 3], [0, 0, 0, 0, 0], [5, 4, 3, 2, 1], [-1, -1, 0, -1, -2]])
    assert noisy_top.top(values, 2).tolist() == [[1, 3], [0, 1], [0, 1], [0, 2]]


@given(st.lists(st.lists(st.integers(-2, 2), min_size=6, max_size=6), min_size=1, max_size=4), st.integers(1, 6))
def test_top_is_a_stable_sort(rows, size):
    expected = [sorted(sorted(range(6), key=lambda i, r=row: (-r[i], i))[:size]) for row in rows]
    assert noisy_top.top(np.array(rows, float), size).tolist() == expected


def test_no_noise_draws_the_top_and_many_repeats_extend_few(monkeypatch):
    scores = np.array([0.1, 0.9, 0.5])
    few = noisy_top.sample(scores, size=2, scale=1.0, rng=np.random.default_rng(1), repeats=5)
    monkeypatch.setattr(noisy_top, "CHUNK_ENTRIES", 6)  # several chunks
    many = noisy_top.sample(scores, size=2, scale=1.0, rng=np.random.default_rng(1), repeats=50)
    np.testing.assert_array_equal(few, many[:5])
    assert noisy_top.sample(scores, size=2, scale=0.0, rng=np.random.default_rng(1)).tolist() == [[1, 2]]


# ---- noisy top-s: privacy (Theorem 37)


@pytest.mark.parametrize(
    ("p", "size"), [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), pytest.param(4, 3, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_theorem_37_every_score_moved_by_the_sensitivity(p, size, epsilon):
    """All shifts in {-Dq, 0, Dq}^p: the printed scale holds, and so does the smaller one with min(s, p - s)."""
    rng = np.random.default_rng(0)
    Dq = 0.2
    for m in {size, min(size, p - size)}:
        scale = 2 * m * Dq / epsilon
        for scores in [np.zeros(p), rng.uniform(0, 1, p), rng.uniform(0, 20, p)]:
            base = law(scores, size, scale)
            for shift in product((-Dq, 0, Dq), repeat=p):
                moved = law(scores + shift, size, scale)
                assert max(abs(moved[chosen] - base[chosen]) for chosen in base) <= epsilon + 1e-10


@pytest.mark.parametrize(
    ("p", "size"), [(2, 1), (3, 1), (3, 2), (4, 2), (4, 3), pytest.param(6, 3, marks=pytest.mark.slow), (5, 4)]
)
def test_one_changed_vote_spends_epsilon_and_no_less_will_do(p, size):
    """Shares of k votes: all pairs of a changed vote within epsilon; with many blocks the ratio tends to epsilon."""
    epsilon, k = 1.5, 3
    votes = [np.isin(range(p), c) for c in combinations(range(p), size)]
    scale, _ = samp_agg.calibrate(
        p, size=size, blocks=k, budget=Budget(epsilon), neighbours="replace", calibration="corrected"
    )
    first = votes[0]
    others = [sum(v) for v in product(votes[:2] + votes[-1:], repeat=k - 1)]
    for rest in others:
        base = law((first + rest) / k, size, scale)
        for vote in votes[1:]:
            moved = law((vote + rest) / k, size, scale)
            assert max(abs(moved[chosen] - base[chosen]) for chosen in base) <= epsilon + 1e-10

    k = 20_000
    scale = samp_agg.sensitivity(p, size, k) / epsilon
    chosen = tuple(range(size))
    before = law((votes[-1] * (k - 1) + votes[0]) / k, size, scale)[chosen]
    after = law((votes[-1] * (k - 1) + votes[-1]) / k, size, scale)[chosen]
    assert 0.99 * epsilon < before - after <= epsilon + 1e-9


# ---- Theorem 8: all blocks agree


@pytest.mark.parametrize(("p", "size", "gap"), [(4, 1, 0.7), (4, 3, 2.0), (6, 2, 5.0), (8, 4, 12.0), (5, 2, 90.0)])
def test_separation_is_the_set_probability(p, size, gap):
    scores = np.r_[np.ones(size), np.zeros(p - size)]
    exact = law(scores, size, 1 / gap)
    success, failure = noisy_top.log_separation(p, size=size, gap=gap)
    assert success == pytest.approx(exact[tuple(range(size))], abs=1e-11)
    others = [v for chosen, v in exact.items() if chosen != tuple(range(size))]
    assert failure == pytest.approx(float(np.logaddexp.reduce(others)), abs=1e-10)


@pytest.mark.parametrize(("p", "size"), [(2, 1), (10, 9), (1000, 30), (10**6, 1), (10**6, 1000), (10**6, 500_000)])
def test_separation_without_a_gap_is_one_set_of_all(p, size):
    expected = math.lgamma(size + 1) + math.lgamma(p - size + 1) - math.lgamma(p + 1)
    success, failure = noisy_top.log_separation(p, size=size, gap=0.0)
    assert success == pytest.approx(expected, rel=1e-11, abs=1e-10)
    assert failure == pytest.approx(math.log(-math.expm1(expected)), abs=1e-11)


def test_separation_of_many_items_against_monte_carlo_and_a_fine_sum():
    p, size, gap = 10**6, 5, 16.0
    failure = math.exp(noisy_top.log_separation(p, size=size, gap=gap)[1])
    # The trapezoidal rule on a fine grid, straight from the formula with scipy's distribution.
    u = np.linspace(-40, 40, 800_001)
    smallest = size * stats.laplace.pdf(u) * stats.laplace.sf(u) ** (size - 1)
    beaten = -np.expm1((p - size) * stats.laplace.logcdf(u + gap))
    assert failure == pytest.approx(integrate.trapezoid(smallest * beaten, u), rel=1e-6)
    rng = np.random.default_rng(0)  # largest of the rest by inversion
    draws = 200_000
    largest = stats.laplace.ppf(np.exp(np.log(rng.uniform(size=draws)) / (p - size)))
    hits = int((rng.laplace(size=(draws, size)).min(axis=1) + gap < largest).sum())
    assert stats.binomtest(hits, draws, failure).pvalue > 1e-6


@given(p=st.integers(2, 10**6), size=st.integers(1, 10**6), gap=st.floats(0, 3000))
@settings(max_examples=80, deadline=None)
def test_theorem_8_bounds_the_failure_and_the_two_probabilities_sum_to_one(p, size, gap):
    size = min(size, p - 1)
    success, failure = noisy_top.log_separation(p, size=size, gap=gap)
    assert failure <= math.log(p) - gap / 2 + 1e-9
    assert math.exp(success) + math.exp(failure) == pytest.approx(1, abs=1e-11)


@pytest.mark.parametrize("shift", [-1e-3, 1e-3, 0.3])
def test_a_cliff_beside_an_edge_is_found(shift):
    """int exp(a u)/(1 + exp(K (u - shift))) du = exp(a shift) (pi/K)/sin(pi a/K); no first node is near the peak."""
    a, K = 1e3, 1e6
    found = noisy_top.log_integral(lambda u: a * u - np.logaddexp(0, K * (u - shift)), np.array([-1.0, 0.0, 1.0]))
    assert found == pytest.approx(a * shift + math.log(math.pi / K / math.sin(math.pi * a / K)), abs=1e-10)


def test_far_gaps_keep_the_leading_term():
    """For a large gap, 1 - P -> s (p - s) (2 + gap)/4 exp(-gap), until s (p - s) pairs compete."""
    for gap in (1e3, 1e5, 1e8):
        failure = noisy_top.log_separation(7, size=2, gap=gap)[1]
        assert failure + gap == pytest.approx(math.log(2 * 5 * (2 + gap) / 4), rel=1e-2)


@together.over(
    "call",
    [
        lambda: noisy_top.set_log_probabilities(np.zeros(3), size=4, scale=1.0),
        lambda: noisy_top.set_log_probabilities(np.zeros(3), size=1, scale=0.0),
        lambda: noisy_top.set_log_probabilities(np.array([0, np.nan]), size=1, scale=1.0),
        lambda: noisy_top.set_log_probabilities(np.zeros(100), size=50, scale=1.0),
        lambda: noisy_top.sample(np.zeros(3), size=0, scale=1.0, rng=np.random.default_rng()),
        lambda: noisy_top.sample(np.zeros(3), size=1, scale=-1.0, rng=np.random.default_rng()),
        lambda: noisy_top.log_separation(3, size=3, gap=1.0),
        lambda: noisy_top.log_separation(3, size=1, gap=math.inf),
    ],
)
def test_noisy_top_refuses_what_makes_no_sense(call):
    with pytest.raises(ValueError, match=r"size=|scale|scores|p=|gap="):
        call()
