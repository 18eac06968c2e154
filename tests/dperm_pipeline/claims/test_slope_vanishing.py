"""The rules S and V say what they state, at their boundaries, and err no more often than they may."""

import math

import numpy as np
import pytest
import together
from claim_rows import SLOPE, VANISH, falling, power_law, repeats, say, stack, table
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.errors import DataError
from dperm_pipeline.claims import slope, vanishing

# -- rule S ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exponent", "n", "verdict"),
    [(3.0, 400, "reproduced"), (2.5, 400, "not reproduced"), (3.5, 400, "not reproduced"), (3.05, 10, "inconclusive")],
)
def test_slope_verdicts(exponent, n, verdict):
    found = say(slope, power_law(exponent, n=n), **SLOPE)
    assert found.verdict == verdict and found.n == n and found.low < found.measured < found.high
    assert f"95 % bootstrap interval [{found.low:.3g}, {found.high:.3g}]" in found.reason
    assert ("power: its interval is" in found.reason) == (verdict == "inconclusive")


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


@together.over(
    "last, verdict",
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
