"""The flip law: the law of thresholds against enumeration and sampling, mean excesses against both."""

import itertools
import math

import numpy as np
import pytest
import together
from scipy import stats

from dperm.mechanisms.prediction import averaged
from dperm_papers.dwork2018.shared import flips


def by_enumeration(on_left, on_right):
    """P[first least prefix sum] by all labels, as steps from the middle."""
    found = {}
    for wrong in itertools.product((0, 1), repeat=on_left + on_right):
        walk, chance = [0], 1.0
        for i, flipped in enumerate(wrong):
            label = flipped if i < on_left else 1 - flipped
            chance *= 0.2 if flipped else 0.8
            walk.append(walk[-1] + 2 * label - 1)
        place = int(np.argmin(walk)) - on_left
        found[place] = found.get(place, 0.0) + chance
    return found


@together.over("counts", [(0, 0), (3, 2), (0, 4), (4, 0), (5, 6)])
def test_the_place_of_the_least_sum(counts):
    left, right = flips.places().ends(*counts)
    own = {-k: chance for k, chance in enumerate(left)} | {k: right[k] for k in range(1, len(right))}
    for place, chance in by_enumeration(*counts).items():
        assert own.pop(place) == pytest.approx(chance, abs=1e-15)
    assert all(abs(chance) < 1e-15 for chance in own.values())


def test_long_walks_have_all_their_mass():
    for counts in ((200, 300), (10_000, 10_000)):
        left, right = flips.places().ends(*counts)
        assert left.sum() + right.sum() == pytest.approx(1.0, abs=1e-13)


def test_thresholds_minimise_the_empirical_error():
    rng = np.random.default_rng(0)
    x, y = rng.random((200, 7)), rng.integers(2, size=(200, 7))
    for points, labels, t in zip(x, y, flips.erm(x, y), strict=True):
        errors = [((points >= a) != labels).sum() for a in np.append(points, 1.0)]
        assert ((points >= t) != labels).sum() == min(errors)


def test_drawn_thresholds_have_the_law_of_fitted_ones():
    m, rng = flips.MANY, np.random.default_rng(1)
    drawn = flips.thresholds(m, (4000,), rng)
    x = rng.random((4000, m))
    fitted = flips.erm(x, (x >= 0.5) ^ (rng.random(x.shape) < flips.FLIP))
    assert stats.ks_2samp(drawn, fitted).pvalue > 1e-3
    assert flips.thresholds(30, (2, 3), rng).shape == (2, 3)


def test_excess_is_the_integral():
    drawn, b = np.array([[0.1, 0.45, 0.45, 0.8], [0.6, 0.7, 0.9, 1.0]]), 0.3
    x = (np.arange(100_000) + 0.5) / 100_000
    for row, found in zip(drawn, flips.excesses(drawn, b), strict=True):
        one = averaged.expected_clip((row[:, None] <= x).mean(axis=0), b)
        wrong = np.where(x >= 0.5, 0.8 * (1 - one) + 0.2 * one, 0.8 * one + 0.2 * (1 - one))
        assert found == pytest.approx(wrong.mean() - 0.2, abs=1e-5)
    # Without noise: the mean error of the thresholds, for their errors are absolute losses of bits.
    np.testing.assert_allclose(flips.excesses(drawn, 0.0), flips.error(drawn).mean(axis=1) - 0.2)


@pytest.mark.parametrize(("m", "r", "b"), [(1, 3, 0.5), (2, 5, 0.1), (25, 8, 0.2), (1500, 20, 0.01)])
def test_mean_excess_is_the_mean_of_excesses(m, r, b):
    drawn = flips.thresholds(m, (6000, r), np.random.default_rng(2))
    for scale in (0.0, b):
        values = flips.excesses(drawn, scale)
        assert abs(values.mean() - flips.mean_excess(m, r, scale)) < 5 * values.std() / math.sqrt(len(values))


def test_one_record():
    # Label 1 at x makes the threshold x, label 0 makes it 1: 0.6 E|t - 1/2| = 0.6 (0.5/4 + 0.5/2).
    assert flips.mean_excess(1, 1, 0.0) == pytest.approx(0.225, abs=1e-12)


def test_both_laws_meet():
    below, above = flips.mean_excess(flips.MANY - 1, 5, 0.1), flips.mean_excess(flips.MANY, 5, 0.1)
    assert above == pytest.approx(below, rel=1e-4) and above < below


def test_least_records_and_the_best_split():
    alpha, epsilon = 0.1, 1.0
    for calibration in ("paper", "tight"):
        r, m = flips.best_split(alpha, epsilon, calibration)
        least = {}
        for shards in range(4, 40):
            b = averaged.scale(shards, epsilon, calibration, bits=True)
            least[shards] = flips.least_records(alpha, shards, b) * shards
            if shards == r:
                assert flips.mean_excess(m, r, b) <= alpha < flips.mean_excess(m - 1, r, b)
        assert r * m == min(least.values())
    with pytest.raises(ValueError, match="shards=1"):
        flips.least_records(0.1, 1, 1.0)


def test_agnostic_size_is_enough_for_another_law():
    # One point x, labels 1 with probability 0.55: error 0.45 or 0.55.
    alpha, beta = 0.1, 0.05
    m = flips.agnostic_size(alpha, beta)
    assert m == math.ceil(800 * math.log(80)) and stats.binom.cdf(m // 2, m, 0.55) <= beta
