"""Wilcoxon's test, its power and its intervals, against SciPy, against all signs and against all Walsh averages."""

import itertools
import math

import numpy as np
import pytest
import together
from scipy import stats

from dperm_pipeline.claims import points, wilcoxon


@together.over("n", [1, 2, 5, 9, 30, 50])
def test_the_signed_rank_p_is_scipy_s_exact_one_without_ties(n):
    rng = np.random.default_rng(n)
    for shift in (-0.7, 0.0, 0.7):
        d = rng.standard_normal(n) + shift
        expected = stats.wilcoxon(d, alternative="greater", method="exact").pvalue
        assert wilcoxon.signed_rank_p(d) == pytest.approx(expected, rel=1e-10, abs=1e-15)


@together.over("d", [[1, 1, -1, 2, 2, 3], [0, 0, 1, -1, 5], [4, 4, 4, 4], [-2, 2, -2, 2, 7, 1, 0], [0, 0], []])
def test_the_signed_rank_p_is_the_share_of_all_sign_patterns_with_ties(d):
    d = np.array(d, dtype=float)
    nonzero = np.abs(d[d != 0])
    ranks = stats.rankdata(nonzero)
    observed = ranks[d[d != 0] > 0].sum()
    sums = [ranks[np.array(signs, dtype=bool)].sum() for signs in itertools.product((0, 1), repeat=len(nonzero))]
    assert wilcoxon.signed_rank_p(d) == pytest.approx(np.mean([s >= observed - 1e-9 for s in sums]), abs=1e-12)


def test_the_smallest_p_is_two_to_the_minus_n_and_the_two_sides_overlap_in_the_observed_value_only():
    d = np.arange(1.0, 8.0)
    assert wilcoxon.signed_rank_p(d) == pytest.approx(2.0**-7)
    assert wilcoxon.signed_rank_p(-d) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "level"), [(30, 0.05 / 16), (30, 0.05), (15, 0.05 / 4), (9, 0.05 / 16), (110, 0.05 / 16)]
)
def test_the_detectable_effect_is_detected_with_the_stated_power(n, level):
    rng = np.random.default_rng(11)
    effect = wilcoxon.detectable(n, level)
    found = np.mean([wilcoxon.signed_rank_p(effect + rng.standard_normal(n)) <= level for _ in range(1500)])
    assert found == pytest.approx(0.8, abs=0.035)  # 3 standard errors of either simulation


def test_too_few_pairs_detect_nothing():
    assert wilcoxon.detectable(8, 0.05 / 16) == math.inf  # 2^-8 > 0.0031
    assert math.isfinite(wilcoxon.detectable(9, 0.05 / 16))
    assert wilcoxon.detectable(0, 0.05) == math.inf


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy": lambda rng, n: rng.standard_t(1.2, size=n),
    "skewed": lambda rng, n: rng.exponential(size=n) ** 3,
    "tied": lambda rng, n: rng.integers(0, 3, size=n).astype(float),
    "equal": lambda rng, n: np.full(n, 0.3),
    "far": lambda rng, n: 1e9 + rng.normal(size=n),
}


@together.over("law", LAWS)
@together.over("n", [2, 5, 30, 200])
def test_the_middle_of_the_walsh_averages_is_that_of_all_of_them_sorted(law, n):
    values = np.sort(LAWS[law](np.random.default_rng(n), n))
    averages = np.sort([0.5 * (values[i] + values[j]) for i in range(n) for j in range(i, n)])
    count = len(averages)
    for share in (0.01, 0.06, 0.3):
        reach = int(share * count)
        places = sorted({(count - 1) // 2, count // 2, count // 2 - reach, min(count - 1, count // 2 + reach)})
        assert wilcoxon.order_statistics(values, places) == {place: averages[place] for place in places}


def test_a_point_s_interval_and_centre_are_order_statistics_of_its_walsh_averages():
    values = np.random.default_rng(3).normal(0.2, 1.0, 60)
    point = points.Point("", values, 60, 0.0, True)
    averages = np.sort(wilcoxon.walsh_averages(values))
    assert points.centre(point) == np.median(averages)
    for level in (0.8, 0.9, 0.95):
        low, high = points.interval(point, level)
        assert math.isclose((averages < low).sum(), (averages > high).sum())
        assert low in averages and high in averages
    assert points.interval(point, 0.8)[0] > points.interval(point, 0.9)[0] > points.interval(point, 0.95)[0]
