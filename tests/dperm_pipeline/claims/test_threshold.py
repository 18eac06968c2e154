"""The rule threshold says what it states, at its boundaries, and errs no more often than it may."""

import math

import numpy as np
import pytest
from claim_rows import repeats, say, stack
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dperm.errors import ConfigError
from dperm_pipeline.claims import select, threshold

# -- thresholds ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "limit", "verdict"),
    [
        (0.9, {"at_least": 0.9}, "reproduced"),
        (0.8999, {"at_least": 0.9}, "not reproduced"),
        (0.9, {"at_most": 0.9}, "reproduced"),
        (0.9001, {"at_most": 0.9}, "not reproduced"),
    ],
)
@pytest.mark.parametrize("n", [1, 5])
def test_threshold_at_its_boundary(value, limit, verdict, n):
    found = say(threshold, repeats("ratio", [value] * n), metric="ratio", **limit)
    assert found.verdict == verdict and found.measured == found.low == found.high == value and found.n == n


@pytest.mark.parametrize(("mean", "verdict"), [(1.0, "reproduced"), (0.9, "inconclusive"), (0.8, "not reproduced")])
def test_threshold_verdicts(mean, verdict):
    z = np.random.default_rng(3).standard_normal(50)
    rows = repeats("ratio", mean + 0.1 * (z - z.mean()) / z.std(ddof=1), p=64)
    found = say(threshold, rows, metric="ratio", at_least=0.9)
    assert found.verdict == verdict and found.measured == pytest.approx(mean)
    # Of near-normal values Student's bounds are close.
    half = stats.t.ppf(0.95, 49) * 0.1 / math.sqrt(50)
    assert found.measured - found.low == pytest.approx(half, rel=0.15)
    assert found.high - found.measured == pytest.approx(half, rel=0.15)
    mirrored = say(threshold, rows.assign(value=-rows["value"]), metric="ratio", at_most=-0.9)
    assert mirrored.verdict == verdict and mirrored.measured == pytest.approx(-mean)


def test_threshold_holds_at_every_point_with_bonferroni():
    z = np.random.default_rng(4).standard_normal(80)
    z = (z - z.mean()) / z.std(ddof=1) / 10
    rows = stack(*(repeats("ratio", mean + z, p=p) for p, mean in ((64, 1.0), (256, 0.94), (1024, 1.2))))
    found = say(threshold, rows, metric="ratio", at_least=0.9, points=["p"])
    assert found.verdict == "reproduced" and found.measured == pytest.approx(0.94)
    assert "at 3 of 3 points and shown not to be at 0" in found.reason and "point, p 256" in found.reason
    alone = say(threshold, rows[rows["p"] == 256], metric="ratio", at_least=0.9, points=["p"])
    assert found.low < alone.low < alone.measured
    worse = say(threshold, stack(rows, repeats("ratio", 0.8 + z, p=2048)), metric="ratio", at_least=0.9, points=["p"])
    assert worse.verdict == "not reproduced" and "point, p 2048" in worse.reason


def test_zeros_and_ones_have_the_exact_bounds():
    found = say(threshold, repeats("right_support", [1.0] * 20), metric="right_support", at_least=0.95)
    assert found.verdict == "inconclusive" and found.low == pytest.approx(0.05 ** (1 / 20)) and found.high == 1.0
    assert found.reason.endswith(
        "power: its interval is 0.14 wide for 20 repeats (half as wide takes four times as many)"
    )
    found = say(threshold, repeats("right_support", [1.0] * 60), metric="right_support", at_least=0.95)
    assert found.verdict == "reproduced"


@pytest.mark.slow
def test_threshold_bounds_cover_skewed_values():
    trials, mean = 150, math.exp(0.5**2 / 2)
    rng = np.random.default_rng(9)
    found = [
        say(threshold, repeats("ratio", rng.lognormal(0, 0.5, size=30)), metric="ratio", at_most=mean)
        for _ in range(trials)
    ]
    # 5 % a side and 3 standard errors.
    assert np.mean([one.verdict == "not reproduced" for one in found]) <= 0.104
    assert np.mean([one.verdict == "reproduced" for one in found]) <= 0.104


def test_threshold_bounds_reach_further_on_the_side_of_the_long_tail():
    values = np.random.default_rng(2).exponential(size=40)
    found = say(threshold, repeats("ratio", values), metric="ratio", at_most=1.0)
    assert found.high - found.measured > 1.2 * (found.measured - found.low)
    # The percentiles of m* fall short there.
    percentile = np.quantile(select.resample(values, np.random.default_rng(0)), 0.95)
    assert found.high > percentile


def test_threshold_of_the_share_beyond_a_number_leaving_rows_out():
    rows = stack(
        repeats("entry", [9.0] * 2 + [11.0] * 98, epsilon=0.4), repeats("entry", [1.0] * 100, epsilon=0.8, n=500)
    )
    rows["n"] = rows["n"].fillna(200)
    keys = {"metric": "entry", "beyond": 10.0, "points": ["epsilon"]}
    found = say(threshold, rows, at_least=0.9, without={"epsilon": [0.8], "n": [500]}, **keys)
    interval = stats.binomtest(98, 100).proportion_ci(0.9)
    assert found.verdict == "reproduced" and found.measured == 0.98
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    # Only what matches all of the columns is left out.
    assert (
        say(threshold, rows, at_least=0.9, without={"epsilon": [0.8], "n": [200]}, **keys).verdict == "not reproduced"
    )


def test_threshold_with_failures_or_a_wrong_claim():
    rows = repeats("ratio", [1.0, 1.1, math.nan, 1.2])
    found = say(threshold, rows, metric="ratio", at_least=0.1)
    assert found.verdict == "inconclusive" and "1 of 4 runs failed" in found.reason and found.n == 3
    assert say(threshold, repeats("ratio", [math.nan]), metric="ratio", at_least=0.1).verdict == "inconclusive"
    for limits in ({}, {"at_least": 0.1, "at_most": 0.2}):
        with pytest.raises(ConfigError, match="give one of them"):
            say(threshold, rows, metric="ratio", **limits)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=12), st.floats(-50, 50), st.integers(0, 2**31 - 1))
@settings(max_examples=15, deadline=None)
def test_threshold_bounds_enclose_the_mean_s_side_and_agree_with_the_verdict(values, limit, seed):
    rows = repeats("ratio", values)
    found = say(threshold, rows.sample(frac=1.0, random_state=seed), metric="ratio", at_least=limit)
    assert found == say(threshold, rows, metric="ratio", at_least=limit)
    assert found.low <= found.high and min(values) - 1e-9 <= found.measured <= max(values) + 1e-9
    expected = "reproduced" if found.low >= limit else "not reproduced" if found.high < limit else "inconclusive"
    assert found.verdict == expected
