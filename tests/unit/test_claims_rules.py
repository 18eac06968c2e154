"""The rules E, C, S, V and threshold say what they state, at their boundaries, and err no more often than they may."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dperm.claims import coverage, exact, select, slope, threshold, vanishing
from dperm.errors import ConfigError, DataError

HEAD = {
    "paper": "kifer2012", "experiment": "kifer2012-table1", "mechanism": "objective", "variant": "",
    "calibration": "tight", "neighbours": "replace", "guarantee": "proved", "dataset": "ext", "epsilon": 1.0,
    "delta": 0.0, "repeat": 0, "status": "ok",
}  # fmt: skip
RULES = {"exact": exact, "coverage": coverage, "slope": slope, "vanishing": vanishing, "threshold": threshold}


def table(*records):
    return pd.DataFrame([HEAD | record for record in records])


def repeats(metric, values, **columns):
    """Rows of one point; a repeat whose value is NaN failed."""
    frame = pd.DataFrame({"metric": metric, "value": np.asarray(values, dtype=float), **columns})
    frame["repeat"] = np.arange(len(frame))
    frame = frame.assign(**{name: value for name, value in HEAD.items() if name not in frame})
    return frame.assign(status=np.where(frame["value"].isna(), "failed", "ok"))


def stack(*frames):
    return pd.concat(frames, ignore_index=True)


def claim(**keys):
    variants = keys.pop("variants", {"mended": {}})
    return {"id": "K-c99", "experiment": "kifer2012-table1", "variants": variants, **keys}


def say(rule, rows, variant="mended", **keys):
    return rule.decide(claim(**keys), variant, rows)


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


def violated(k, n, failed=0, **columns):
    return repeats("violated", [1.0] * k + [0.0] * (n - k - failed) + [math.nan] * failed, **columns)


def p_value_upper(k, n, gamma):
    """P(X <= k) at rate gamma: the upper bound is at most gamma iff this is at most the level."""
    return stats.binom.cdf(k, n, gamma)


@pytest.mark.parametrize(("n", "gamma"), [(1000, 0.1), (200, 0.5), (60, 0.9), (500, 0.01)])
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


@pytest.mark.parametrize(("rate", "gamma"), [(0.0, 0.01), (0.08, 0.1), (0.12, 0.1), (0.45, 0.5), (1.0, 0.9)])
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


# -- rule S ----------------------------------------------------------------------------------------------------------


def power_law(exponent, *, axis=(8, 16, 32, 64), n=60, spread=0.3, seed=0, **columns):
    """Lognormal repeats whose mean is exactly x^exponent in expectation."""
    rng = np.random.default_rng(seed)
    noise = rng.lognormal(-(spread**2) / 2, spread, size=(len(axis), n))
    return stack(
        *(repeats("excess_risk", float(x) ** exponent * z, p=x, **columns) for x, z in zip(axis, noise, strict=True))
    )


SLOPE = {"metric": "excess_risk", "axis": "p", "expected": 3.0, "margin": 0.1}


@pytest.mark.parametrize(
    ("exponent", "n", "verdict"),
    [(3.0, 400, "reproduced"), (2.5, 400, "not reproduced"), (3.5, 400, "not reproduced"), (3.05, 10, "inconclusive")],
)
def test_slope_verdicts(exponent, n, verdict):
    found = say(slope, power_law(exponent, n=n), **SLOPE)
    assert found.verdict == verdict and found.n == n and found.low < found.measured < found.high
    assert f"95 % bootstrap interval [{found.low:.3g}, {found.high:.3g}]" in found.reason


def test_slope_is_least_squares_and_its_interval_near_the_delta_method_s():
    rows = power_law(3.0, n=400)
    found = say(slope, rows, **SLOPE)
    means = rows.groupby("p")["value"].mean()
    assert found.measured == pytest.approx(np.polyfit(np.log(means.index), np.log(means), 1)[0], rel=1e-12)
    x = np.log(means.index.to_numpy())
    x -= x.mean()
    errors = rows.groupby("p")["value"].std() / math.sqrt(400) / means
    half = 1.96 * math.sqrt((x / (x @ x)) ** 2 @ errors**2)
    assert found.low == pytest.approx(found.measured - half, abs=0.15 * half)
    assert found.high == pytest.approx(found.measured + half, abs=0.15 * half)


@pytest.mark.slow
def test_the_slope_s_interval_covers():
    hits, trials = 0, 100
    for seed in range(trials):
        found = say(slope, power_law(1.0, axis=(8, 16, 32), n=40, seed=seed), **SLOPE | {"expected": 1.0})
        hits += found.low <= 1.0 <= found.high
        assert found.verdict != "not reproduced"
    assert hits / trials >= 0.86  # 0.95, less a percentile bootstrap's shortfall at 40 repeats and 3 standard errors


@pytest.mark.parametrize(
    ("local", "verdict"),
    [
        ((0.4, 0.6), "reproduced"),  # both ends on the boundary
        ((0.39, 0.6), "inconclusive"),
        ((0.2, 0.39), "not reproduced"),
        ((0.2, 0.4), "inconclusive"),  # touches
        ((0.61, 0.9), "not reproduced"),
    ],
)
def test_exact_values_are_judged_by_the_range_of_local_slopes(local, verdict):
    values = 5.0 * np.exp(np.log(2.0) * np.cumsum([0.0, *local]))
    rows = table(*({"metric": "ratio", "value": v, "p": p} for p, v in zip((8, 16, 32), values, strict=True)))
    found = say(slope, rows, metric="ratio", axis="p", expected=0.5, margin=0.1)
    assert found.verdict == verdict and found.n == 1 and "range of local slopes" in found.reason
    assert (found.low, found.high) == pytest.approx(local) and found.measured == pytest.approx(np.mean(local))


def test_slopes_hold_at_every_point_and_the_worst_is_reported():
    rows = stack(power_law(3.0, n=400, gamma=0.1), power_law(2.0, n=400, gamma=0.5, seed=1))
    found = say(slope, rows, points=["gamma"], **SLOPE)
    assert found.verdict == "not reproduced" and found.measured == pytest.approx(2.0, abs=0.1)
    assert "at 1 of 2 points and apart from it at 1" in found.reason and "point, gamma 0.5" in found.reason
    variants = {"mended": {"where": {"gamma": [0.1]}}, "printed": {"where": {"gamma": 0.5}, "expected": 2.0}}
    for variant in variants:  # a variant has its own rows and may have its own exponent
        assert say(slope, rows, variant, points=["gamma"], variants=variants, **SLOPE).verdict == "reproduced"


def test_slope_without_an_answer_says_why():
    rows = power_law(3.0, n=400)
    one = say(slope, rows[rows["p"] == 8], **SLOPE)
    assert one.verdict == "not run" and "p has the one value 8 only" in one.reason
    negative = say(slope, stack(rows, repeats("excess_risk", [-1.0, 0.5], p=128)), **SLOPE)
    assert negative.verdict == "inconclusive" and "the mean with p 128 is -0.25, which has no log" in negative.reason
    single = say(slope, stack(rows, repeats("excess_risk", [128.0**3], p=128)), **SLOPE)
    assert single.verdict == "inconclusive" and "p 128 has a single repeat" in single.reason
    failed = say(slope, stack(rows, repeats("excess_risk", [128.0**3, 128.0**3, math.nan], p=128)), **SLOPE)
    assert failed.verdict == "inconclusive" and "1 of 1603 runs failed" in failed.reason and failed.n == 2
    gone = say(slope, stack(rows, repeats("excess_risk", [math.nan], p=128)), **SLOPE)
    assert gone.verdict == "inconclusive" and "no run succeeded with p 128" in gone.reason
    partly = stack(rows.assign(gamma=0.1), power_law(3.0, axis=(8,), gamma=0.5))
    assert say(slope, partly, points=["gamma"], **SLOPE).verdict == "inconclusive"
    with pytest.raises(DataError, match=r"p=0 must be above 0"):
        say(slope, stack(rows, repeats("excess_risk", [1.0], p=0)), **SLOPE)
    with pytest.raises(DataError, match=r"axis p must be a number"):
        say(slope, rows.assign(p=rows["p"].astype(str)), **SLOPE)


def test_resampled_means_without_a_logarithm_widen_the_interval():
    rows = stack(repeats("excess_risk", [5.0, -3.0], p=8), repeats("excess_risk", [8.0, 8.0], p=16))
    found = say(slope, rows, **SLOPE)
    assert (found.low, found.high) == (-math.inf, math.inf) and found.verdict == "inconclusive"


@given(st.floats(-3, 3), st.floats(0.01, 100), st.integers(0, 2**31 - 1))
@settings(max_examples=15, deadline=None)
def test_slope_follows_a_change_of_units_and_of_exponent(shift, unit, seed):
    """value -> unit * value * p^shift adds `shift` to the slope and both ends, and moves no verdict with its target."""
    rows = power_law(1.0, axis=(4, 8, 16), n=10)
    base = say(slope, rows, **SLOPE | {"expected": 1.0})
    moved = rows.assign(value=unit * rows["value"] * rows["p"].astype(float) ** shift)
    found = say(slope, moved.sample(frac=1.0, random_state=seed), **SLOPE | {"expected": 1.0 + shift})
    assert found.verdict == base.verdict
    assert [found.measured, found.low, found.high] == pytest.approx(
        [base.measured + shift, base.low + shift, base.high + shift], abs=1e-9
    )


# -- rule V ----------------------------------------------------------------------------------------------------------

VANISH = {"metric": "risk", "axis": "n"}


@pytest.mark.parametrize(
    ("last", "verdict"),
    [
        (0.1, "reproduced"),
        (0.1000001, "inconclusive"),
        (0.5, "inconclusive"),
        (0.5000001, "not reproduced"),
        (0.0, "reproduced"),
        (3.0, "not reproduced"),
    ],
)
def test_vanishing_at_its_boundaries(last, verdict):
    rows = table(*({"metric": "risk", "value": v, "n": n} for n, v in ((4, 1.0), (16, 9.0), (256, last))))
    found = say(vanishing, rows, **VANISH)
    assert found.verdict == verdict and found.n == 1 and found.measured == found.low == found.high == last


def falling(ratio, *, n=60, seed=0, **columns):
    rng = np.random.default_rng(seed)
    return stack(
        repeats("risk", 2.0 * rng.exponential(size=n), n=4, **columns),
        repeats("risk", 2.0 * ratio * rng.exponential(size=n), n=256, **columns),
    )


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(0.05, "reproduced"), (0.1, "inconclusive"), (0.4, "inconclusive"), (0.9, "not reproduced")]
)
def test_vanishing_verdicts(ratio, verdict):
    found = say(vanishing, falling(ratio), **VANISH)
    assert found.verdict == verdict and found.low < found.measured < found.high and found.n == 60
    assert f"from n 4 to 256 it falls to {found.measured:.3g}, between {found.low:.3g} and" in found.reason


@pytest.mark.slow
def test_vanishing_s_bounds_cover_and_raise_few_false_alarms():
    trials = 120
    found = [say(vanishing, falling(0.5, seed=seed), **VANISH) for seed in range(trials)]
    # One-sided 95 % bounds; a percentile bootstrap of 60 exponentials errs a little more; 3 standard errors are 0.06.
    assert np.mean([one.verdict == "not reproduced" for one in found]) <= 0.11
    assert np.mean([one.high < 0.5 for one in found]) <= 0.11
    assert np.mean([one.low <= 0.5 <= one.high for one in found]) >= 0.82


def test_vanishing_holds_at_every_point():
    rows = stack(falling(0.02, p=30), falling(0.9, p=60, seed=1), falling(0.02, p=120, seed=2))
    found = say(vanishing, rows, points=["p"], **VANISH)
    assert found.verdict == "not reproduced" and "point, p 60" in found.reason and found.low > 0.5
    assert say(vanishing, rows[rows["p"] != 60], points=["p"], **VANISH).verdict == "reproduced"


def test_vanishing_without_an_answer_says_why():
    rows = falling(0.01)
    one = say(vanishing, rows[rows["n"] == 4], **VANISH)
    assert one.verdict == "not run" and "n has the one value 4 only" in one.reason
    zero = say(vanishing, rows.assign(value=0.0), **VANISH)
    assert zero.verdict == "inconclusive" and "the means at the ends of n are 0 and 0" in zero.reason
    assert say(vanishing, stack(rows, repeats("risk", [0.0], n=512)), **VANISH).verdict == "inconclusive"
    partly = stack(rows.assign(p=30), rows[rows["n"] == 4].assign(p=60))
    found = say(vanishing, partly, points=["p"], **VANISH)
    assert found.verdict == "inconclusive" and "no ratio at p 60: n has the one value 4 only" in found.reason
    lost = rows.assign(status=np.where(rows.index == 70, "failed", "ok"))
    found = say(vanishing, lost, **VANISH)
    assert found.verdict == "inconclusive" and "1 of 120 runs failed at the ends" in found.reason
    # Between the ends a failure is beside the point.
    assert say(vanishing, stack(rows, repeats("risk", [math.nan], n=16)), **VANISH).verdict == "reproduced"


@given(st.floats(1e-3, 1e3), st.integers(0, 2**31 - 1), st.floats(0.01, 2.0))
@settings(max_examples=15, deadline=None)
def test_vanishing_does_not_depend_on_units_or_what_lies_between(unit, seed, ratio):
    rows = falling(ratio, n=8)
    base = say(vanishing, rows, **VANISH)
    other = stack(rows.assign(value=unit * rows["value"]), repeats("risk", [7.0, -7.0], n=32))
    found = say(vanishing, other.sample(frac=1.0, random_state=seed), **VANISH)
    assert [found.measured, found.low, found.high] == pytest.approx([base.measured, base.low, base.high], rel=1e-9)
    assert found.verdict == base.verdict


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
    found = say(threshold, repeats("right_support", [1.0] * 60), metric="right_support", at_least=0.95)
    assert found.verdict == "reproduced"


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


# -- what all rules share --------------------------------------------------------------------------------------------

COMMON = {
    "exact": ({"points": ["p"]}, lambda: repeats("excess", [-1.0, -0.5], p=[8, 16])),
    "coverage": ({"points": ["p"]}, lambda: stack(*(violated(9, 50, gamma=0.3, p=p) for p in (8, 16)))),
    "slope": (SLOPE | {"points": ["gamma"]}, lambda: stack(*(power_law(2.95, gamma=g, n=9) for g in (0.1, 0.5)))),
    "vanishing": (VANISH | {"points": ["p"]}, lambda: stack(*(falling(0.1, p=p, n=9) for p in (8, 16)))),
    "threshold": (
        {"metric": "risk", "at_most": 1.0, "points": ["n"]},
        lambda: falling(0.5, n=9),
    ),
}


@pytest.fixture(params=sorted(COMMON))
def case(request):
    keys, rows = COMMON[request.param]
    return RULES[request.param], keys, rows()


def test_no_rows_are_not_run(case):
    rule, keys, rows = case
    nothing = say(rule, rows.iloc[:0], **keys)
    assert nothing.verdict == "not run" and nothing.measured is None and "there are no rows of" in nothing.reason
    elsewhere = say(rule, rows, **keys, variants={"mended": {"where": {"mechanism": ["output", "gaussian"]}}})
    assert elsewhere.verdict == "not run" and "with mechanism output or gaussian" in elsewhere.reason


def test_a_rule_reads_its_own_rows_only(case):
    rule, keys, rows = case
    alone = say(rule, rows, **keys)
    noise = stack(rows.assign(mechanism="output", value=rows["value"] * 0), rows.assign(metric="other"))
    where = {"mended": {"where": {"mechanism": "objective", "epsilon": [1.0, 2.0]}}}
    assert say(rule, stack(noise, rows), **keys, variants=where) == alone


def test_neither_the_order_of_rows_nor_other_points_nor_categories_change_a_verdict(case):
    rule, keys, rows = case
    expected = say(rule, rows, **keys)
    for seed in range(3):
        assert say(rule, rows.sample(frac=1.0, random_state=seed), **keys) == expected
    for name in ("mechanism", "dataset", "metric", "status"):
        rows[name] = pd.Categorical(rows[name], categories=["unused", *sorted(set(rows[name]))])
    assert say(rule, rows, **keys) == expected
    wide = say(rule, rows, **keys | {"points": [*keys["points"], "mechanism"]})
    assert wide.verdict == expected.verdict and "mechanism objective" in wide.reason


def test_rows_that_contradict_the_claim_are_refused(case):
    rule, keys, rows = case
    with pytest.raises(DataError, match=r"has two values at .*repeat 0; add to points or where"):
        say(rule, stack(rows, rows.assign(mechanism="output")), **keys)
    with pytest.raises(ConfigError, match=r"K-c99: the rows of kifer2012-table1 have no column 'm'"):
        say(rule, rows, **keys | {"points": ["m"]})
    with pytest.raises(ConfigError, match=r"have no column 'colour'"):
        say(rule, rows, **keys, variants={"mended": {"where": {"colour": 1}}})
    axis = keys["points"][0]
    with pytest.raises(DataError, match=rf"have no {axis}; choose others by where"):
        say(rule, rows.assign(**{axis: np.where(rows.index == 0, np.nan, rows[axis])}), **keys)


def test_the_columns_that_a_claim_reads_suffice(case):
    rule, keys, rows = case
    variants = {"mended": {"where": {"mechanism": "objective"}}}
    needed = select.columns(claim(variants=variants, **keys), rule.COLUMNS)
    assert len(needed) == len(set(needed)) and "paper" not in needed
    assert say(rule, rows[needed], **keys, variants=variants) == say(rule, rows, **keys, variants=variants)


def test_resampling_in_blocks_has_the_bootstrap_s_moments():
    values = np.random.default_rng(0).exponential(size=700)  # several blocks
    sample = select.resample(values, np.random.default_rng(1))
    assert sample.shape == (select.RESAMPLES,)
    error = values.std() / math.sqrt(len(values))
    assert sample.mean() == pytest.approx(values.mean(), abs=4 * error / 100)
    assert sample.std() == pytest.approx(error, rel=0.04)


def test_quantiles_are_rounded_outwards_and_undefined_ones_count_against():
    sample = np.arange(100.0)
    assert (select.lower(sample, 0.05), select.upper(sample, 0.05)) == (4.0, 95.0)
    few = np.where(sample < 5, np.nan, sample)
    assert (select.lower(few, 0.05), select.upper(few, 0.05)) == (-math.inf, math.inf)
    assert select.lower(np.where(sample < 4, np.nan, sample), 0.05) == 4.0
