"""The rules E and C say what they state, at their boundaries, and err no more often than they may."""

import math

import numpy as np
import pytest
import together
from claim_rows import repeats, say, stack, table, violated
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dperm.errors import DataError
from dperm_pipeline.claims import coverage, exact

# -- rule E ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("excess", "verdict"),
    [([-1.0, 0.0, 1e-9], "reproduced"), ([-1.0, 1.0000001e-9], "not reproduced"), ([0.5, -3.0], "not reproduced")],
)
def test_exact_holds_up_to_the_tolerance_at_every_point(excess, verdict):
    rows = table(*({"metric": "excess", "value": value, "p": p} for p, value in enumerate(excess)))
    found = say(exact, rows, points=["p"])
    assert found.verdict == verdict and found.n == len(excess)
    assert found.measured == found.low == found.high == max(excess)


def test_exact_names_the_worst_point():
    rows = table(*({"metric": "excess", "value": v, "p": p} for p, v in ((8, 0.25), (16, 0.5), (32, -1.0))))
    found = say(exact, rows, points=["p"])
    assert "holds at 1 of 3 grid points" in found.reason
    assert "the worst is p 16, repeat 0, where excess is 0.5 and at most 1e-09 is allowed" in found.reason


def test_exact_allows_the_certificate_of_the_same_point_only():
    excess = [{"metric": "excess", "value": 0.1, "p": 8}, {"metric": "excess", "value": 0.05, "p": 16}]
    certified = table(*excess, {"metric": "slack", "value": 0.1, "p": 8}, {"metric": "slack", "value": 0.05, "p": 16})
    assert say(exact, certified, points=["p"]).verdict == "reproduced"
    # The larger excess is certified here, the smaller one is the counterexample.
    found = say(exact, table(*excess, {"metric": "slack", "value": 0.1, "p": 8}), points=["p"])
    assert found.verdict == "not reproduced" and "the worst is p 16" in found.reason and found.measured == 0.1
    assert say(exact, table(*excess), points=["p"], tolerance=0.1).verdict == "reproduced"
    with pytest.raises(DataError, match=r"slack=-1 is below 0"):
        say(exact, table(*excess, {"metric": "slack", "value": -1.0, "p": 8}), points=["p"])


def test_exact_with_failed_points_is_open_unless_another_refutes():
    rows = stack(repeats("excess", [-1.0, math.nan, -2.0]))
    found = say(exact, rows)
    assert found.verdict == "inconclusive" and "1 of 3 runs failed" in found.reason and found.measured == -1.0
    assert say(exact, stack(repeats("excess", [1.0, math.nan]))).verdict == "not reproduced"
    nothing = say(exact, stack(repeats("excess", [math.nan])))
    assert nothing.verdict == "inconclusive" and nothing.measured is None
    # A failed certificate is as good as a failed point.
    lost = stack(repeats("excess", [-1.0, 5.0]), repeats("slack", [0.0, math.nan]))
    assert say(exact, lost).verdict == "inconclusive"


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20), st.floats(0, 5), st.integers(0, 2**31))
@settings(max_examples=15, deadline=None)
def test_exact_is_the_comparison_of_the_largest_excess(excess, tolerance, seed):
    rows = repeats("excess", excess).sample(frac=1.0, random_state=seed % 2**31)
    found = say(exact, rows, tolerance=tolerance)
    assert found.verdict == ("reproduced" if max(excess) <= tolerance else "not reproduced")
    assert found.measured == max(excess)


# -- rule C ----------------------------------------------------------------------------------------------------------


def p_value_upper(k, n, gamma):
    """P(X <= k) at rate gamma: the upper bound is at most gamma iff this is at most the level."""
    return stats.binom.cdf(k, n, gamma)


@pytest.mark.parametrize(
    ("n", "gamma"), [pytest.param(1000, 0.1, marks=pytest.mark.slow), (200, 0.5), (60, 0.9), (500, 0.01)]
)
@pytest.mark.parametrize("points", [1, 6])
def test_coverage_turns_where_the_binomial_tail_crosses_the_level(n, gamma, points):
    others = [violated(0, 2000, gamma=0.5, p=100 + other) for other in range(points - 1)]
    share = 0.05 / points
    for k in range(n + 1):
        holds, fails = p_value_upper(k, n, gamma) <= share, stats.binom.sf(k - 1, n, gamma) <= share
        expected = "reproduced" if holds else "not reproduced" if fails else "inconclusive"
        # Only around the two thresholds: all k would take long.
        near = abs(p_value_upper(k, n, gamma) - share) < 0.5 * share or abs(stats.binom.sf(k - 1, n, gamma) - share) < (
            0.5 * share
        )
        if near or k in (0, n):
            rows = stack(violated(k, n, gamma=gamma, p=8), *others)
            assert say(coverage, rows, points=["p"]).verdict == expected, k


@pytest.mark.parametrize(("k", "n"), [(0, 10), (10, 10), (3, 10), (40, 1000), (0, 1), (1, 1)])
def test_rate_bounds_are_scipy_s_exact_ones(k, n):
    low, high = coverage.rate_bounds(k, n, 0.03)
    result = stats.binomtest(k, n)
    expected = [getattr(result.proportion_ci(0.94, "exact"), side) for side in ("low", "high")]
    assert (low, high) == pytest.approx(expected, abs=1e-12)


def test_coverage_reports_the_least_favourable_point():
    rows = stack(violated(20, 1000, gamma=0.1, p=8), violated(70, 1000, gamma=0.1, p=16))
    found = say(coverage, rows, points=["p"])
    assert found.verdict == "reproduced" and found.measured == 0.07 and found.n == 1000
    assert (found.low, found.high) == coverage.rate_bounds(70, 1000, 0.025)
    assert "at most gamma at 2 of 2 points and above it at 0" in found.reason
    assert "70 violations in 1000 runs at the least favourable point, p 16, gamma 0.1" in found.reason
    worse = stack(rows, violated(300, 1000, gamma=0.2, p=8), violated(150, 1000, gamma=0.1, p=32))
    found = say(coverage, worse, points=["p"])
    assert found.verdict == "not reproduced" and found.measured == 0.3


def test_coverage_without_power_says_how_many_repeats_it_needs():
    found = say(coverage, violated(0, 1000, gamma=0.001))
    least = math.ceil(math.log(0.05) / math.log1p(-0.001))
    assert found.verdict == "inconclusive" and f"power: {least} repeats would be needed at gamma 0.001" in found.reason
    assert "more than 1e9 repeats" in say(coverage, violated(100, 1000, gamma=0.1)).reason


@together.over("rate, gamma", [(0.0, 0.01), (0.08, 0.1), (0.12, 0.1), (0.45, 0.5), (1.0, 0.9)])
def test_the_repeats_needed_decide_and_one_fewer_do_not(rate, gamma):
    n = coverage.needed(rate, gamma, 0.01)
    for count, enough in ((n, True), (n - 1, False)):
        if rate <= gamma:
            assert (p_value_upper(math.ceil(rate * count), count, gamma) <= 0.01) == enough
        else:
            assert (stats.binom.sf(math.floor(rate * count) - 1, count, gamma) <= 0.01) == enough


def test_coverage_counts_failures_against_either_side():
    assert say(coverage, violated(0, 200, gamma=0.1)).verdict == "reproduced"
    found = say(coverage, violated(0, 200, failed=25, gamma=0.1))
    assert found.verdict == "inconclusive" and "25 of 200 runs failed and count against" in found.reason
    assert found.measured == 0.0 and found.n == 200
    assert say(coverage, violated(40, 200, gamma=0.1)).verdict == "not reproduced"
    assert say(coverage, violated(22, 200, failed=178, gamma=0.1)).verdict == "inconclusive"
    assert say(coverage, violated(0, 20, failed=20, gamma=0.1)).measured is None
    assert say(coverage, violated(30, 50, failed=10, gamma=0.1)).measured == 0.75  # of the runs that gave an answer


def test_a_bound_that_may_always_fail_is_reproduced():
    assert say(coverage, violated(7, 7, gamma=1.0)).verdict == "reproduced"


@pytest.mark.parametrize(
    ("values", "gamma", "message"), [([0.5], 0.1, "0.5 must be 0 or 1"), ([1.0], 1.5, "gamma=1.5")]
)
def test_coverage_refuses_what_is_no_count(values, gamma, message):
    with pytest.raises(DataError, match=message):
        say(coverage, repeats("violated", values, gamma=gamma))


@pytest.mark.parametrize("gamma", [0.01, 0.1, 0.5])
def test_coverage_raises_few_false_alarms(gamma):
    """At the boundary, where a true bound fails with probability gamma exactly: both errors at most 5 % over points."""
    rng, trials, points, n = np.random.default_rng(7), 2000, 4, 300
    counts = rng.binomial(n, gamma, size=(trials, points))
    bounds = {int(k): coverage.rate_bounds(int(k), n, 0.05 / points) for k in np.unique(counts)}
    low = np.array([[bounds[k][0] for k in row] for row in counts.tolist()])
    high = np.array([[bounds[k][1] for k in row] for row in counts.tolist()])
    wrong, misses = (low > gamma).any(axis=1).mean(), (high < gamma).any(axis=1).mean()
    assert wrong <= 0.05 and misses <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / trials)
    # The same two probabilities without simulation.
    every = np.array([coverage.rate_bounds(k, n, 0.05 / points) for k in range(n + 1)])
    law = stats.binom.pmf(np.arange(n + 1), n, gamma)
    for mistaken in (every[:, 0] > gamma, every[:, 1] < gamma):
        assert 1 - (1 - law[mistaken].sum()) ** points <= 0.05
    # The rule as a whole says the same, on the trials with the most and the least violations and on one between.
    for trial in (counts.max(axis=1).argmax(), counts.max(axis=1).argmin(), 0):
        rows = stack(*(violated(int(k), n, gamma=gamma, p=p) for p, k in enumerate(counts[trial])))
        verdict = say(coverage, rows, points=["p"]).verdict
        assert (verdict == "not reproduced") == (low[trial] > gamma).any()


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0.01, 0.99), st.integers(0, 2**31 - 1))
@settings(max_examples=15, deadline=None)
def test_more_violations_never_help_a_coverage_claim(k, more, gamma, seed):
    order = ("not reproduced", "inconclusive", "reproduced")
    few, many = sorted((k, more))
    found = [
        say(coverage, violated(count, 60, gamma=gamma).sample(frac=1.0, random_state=seed)) for count in (few, many)
    ]
    assert order.index(found[0].verdict) >= order.index(found[1].verdict)
    assert found[0].low <= found[0].measured <= found[0].high
