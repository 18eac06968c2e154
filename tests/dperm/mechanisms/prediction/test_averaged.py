"""Averaged predictions: the clipped mean against quadrature, the least scale against enumeration, the released laws."""

import math

import numpy as np
import pytest
import together
from scipy import integrate, stats

from dperm import mechanisms
from dperm.errors import InvalidBudget
from dperm.mechanisms.prediction import averaged


@pytest.mark.parametrize("b", [1e-3, 0.03, 0.4, 3.0, 1e6])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, 3.0)])
def test_the_clipped_mean_is_the_integral(b, low, high):
    for v in low + (high - low) * np.array([0.0, 0.1, 0.5, 0.83, 1.0]):
        # E clip(v + Z, low, high) = low + int_low^high P[v + Z > t] dt.
        cuts = [v] if low < v < high else None
        tail = integrate.quad(lambda t, v=v: stats.laplace.sf(t - v, scale=b), low, high, points=cuts, limit=200)[0]
        if b < 0.1:  # pieces that quad could miss
            near = [max(low, v - 40 * b), v, min(high, v + 40 * b)]
            tail = (near[0] - low) + sum(
                integrate.quad(lambda t, v=v: stats.laplace.sf(t - v, scale=b), *near[i : i + 2])[0] for i in (0, 1)
            )
        assert averaged.expected_clip(v, b, low, high) == pytest.approx(low + tail, abs=1e-9)


def test_the_bits_mirror_each_other():
    v = np.linspace(0, 1, 11)
    p = averaged.expected_clip(v, 0.2)
    np.testing.assert_allclose(1 - p, averaged.expected_clip(1 - v, 0.2), atol=1e-15)
    assert (np.diff(p) > 0).all() and p[0] == pytest.approx(0.1 * (1 - math.exp(-5)))


@together.over("r", [1, 2, 7, 60, 900])
@together.over("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_log_ratios_are_those_of_both_bits(r, epsilon):
    for calibration in ("paper", "tight"):
        b = averaged.scale(r, epsilon, calibration, bits=True)
        p = averaged.expected_clip(np.arange(r + 1) / r, b)
        np.testing.assert_allclose(averaged.log_ratios(r, b), np.diff(np.log(p)), rtol=1e-9)
        assert np.abs(np.diff(np.log(p))).max() <= epsilon * (1 + 1e-12)
        assert np.abs(np.diff(np.log1p(-p))).max() <= epsilon * (1 + 1e-9)


@together.over("r", [1, 2, 7, 60, 900])
@together.over("epsilon", [0.01, 0.3, 1.0, 4.0])
def test_the_tight_scale_is_the_least(r, epsilon):
    tight, paper = (averaged.scale(r, epsilon, word, bits=True) for word in ("tight", "paper"))
    assert paper == 1 / (r * epsilon) and tight < paper
    # No smaller scale is private: the first ratio alone forbids it.
    below = tight * np.geomspace(1 - 1e-9, 1e-3, 40)
    assert all(averaged.log_ratios(r, b).max() > epsilon for b in below)
    if r == 1:
        one = averaged.expected_clip(1.0, tight)
        assert one == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)), rel=1e-9)


def test_what_the_tight_scale_gains():
    for epsilon, share in ((0.1, 0.997), (1.0, 0.826), (3.0, 0.299)):
        b = averaged.scale(10_000, epsilon, bits=True)
        assert b * 10_000 * epsilon == pytest.approx(share, abs=1e-3)
        s = 1 / (10_000 * b)
        assert math.log(2 * s + math.exp(-s)) == pytest.approx(epsilon)
    # Where the search would lose digits or leave the doubles, the printed scale stands.
    assert averaged.scale(1, 1e-6, bits=True) == 1e6 and averaged.scale(3, 500.0, bits=True) == 1 / 1500


def test_other_answers_are_as_printed():
    assert averaged.scale(10, 0.5) == averaged.scale(10, 0.5, "paper") == 0.2
    assert averaged.scale(10, 0.5, width=4.0) == 0.8
    assert averaged.scale(10, 0.5, width=4.0, stability=0.1) == pytest.approx(0.02)
    assert averaged.scale(10, 0.5, width=4.0, stability=9.0) == 0.8


@pytest.mark.parametrize(
    ("alpha", "epsilon", "paper", "mended"), [(0.1, 0.1, 100, 200), (0.2, 1.0, 5, 10), (0.03, 0.7, 48, 96)]
)
def test_shards(alpha, epsilon, paper, mended):
    assert averaged.shards_needed(alpha, epsilon, "paper") == paper
    assert averaged.shards_needed(alpha, epsilon, "corrected") == averaged.shards_needed(alpha, epsilon) == mended
    # The noise costs alpha/2 at most: Corollary 4.7's share of it.
    b = averaged.scale(mended, epsilon, "paper")
    assert averaged.expected_clip(0.0, b) <= alpha / 2


def test_released_bits_have_the_law_of_noise_clipping_and_a_coin():
    values, b, count = np.array([0.0, 0.3, 1.0]), 0.25, 100_000
    bits = averaged.release(values, b, rng=np.random.default_rng(0), repeats=count, bits=True)
    rng = np.random.default_rng(1)
    literal = rng.random((count, 3)) < np.clip(values + rng.laplace(0, b, (count, 3)), 0, 1)
    np.testing.assert_allclose(bits.mean(axis=0), literal.mean(axis=0), atol=0.01)
    assert bits.shape == (count, 3) and set(np.unique(bits)) == {0, 1}


def test_released_values_are_clipped_laplace():
    found = averaged.release(np.array([1.5]), 0.5, rng=np.random.default_rng(0), repeats=20_000, low=-1.0, high=2.0)
    assert found.min() == -1 and found.max() == 2
    assert (found == 2).mean() == pytest.approx(stats.laplace.sf(0.5, scale=0.5), abs=0.01)
    inside = found[(found > -1) & (found < 2)]
    at = np.linspace(-0.9, 1.9, 8)
    law = stats.laplace(loc=1.5, scale=0.5)
    expected = (law.cdf(at) - law.cdf(-1)) / (law.cdf(2) - law.cdf(-1))
    np.testing.assert_allclose([(inside <= t).mean() for t in at], expected, atol=0.015)


@together.over("r", [0, -1, 1.5, True, "3"])
def test_shards_are_counted(r):
    with pytest.raises(InvalidBudget, match="shards="):
        averaged.scale(r, 1.0)


def test_mistakes_are_named():
    with pytest.raises(InvalidBudget, match="epsilon="):
        averaged.scale(2, 0.0)
    with pytest.raises(ValueError, match="calibration='corrected'"):
        averaged.scale(2, 1.0, "corrected")
    with pytest.raises(ValueError, match="width="):
        averaged.scale(2, 1.0, width=0.0)
    with pytest.raises(ValueError, match="stability="):
        averaged.scale(2, 1.0, stability=-1.0)
    with pytest.raises(ValueError, match="alpha="):
        averaged.shards_needed(0.0, 1.0)


def test_it_is_registered():
    assert mechanisms.module("averaged") is averaged
    assert mechanisms.REGISTRY["averaged"].calibrations == ("paper", "tight")
