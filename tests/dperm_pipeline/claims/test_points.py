"""ORD, EQ and MON say what they state: intervals, shares of points; and err no more often than may be."""

import math

import numpy as np
import pandas as pd
import pytest
import together
from claim_points import HEAD, PAIR, claim, noise, say, table
from scipy import stats

from dperm.errors import ConfigError
from dperm_pipeline.claims import equal, monotone, ordered, points

# -- intervals -------------------------------------------------------------------------------------------------------


def point(values, *, by_rank=False, repeats=None):
    values = np.asarray(values, dtype=float)
    return points.Point("", values, len(values) if repeats is None else repeats, 0.0, by_rank)


@together.over("level", [0.9, 0.95])
@together.over("n", [2, 7, 50])
def test_student_s_interval_is_scipy_s(n, level):
    z = noise(n, n)
    expected = stats.ttest_1samp(z, 0.0).confidence_interval(level)
    assert points.interval(point(z), level) == pytest.approx((expected.low, expected.high), rel=1e-9)


@together.over("n", [6, 9, 20])
def test_wilcoxon_s_interval_holds_the_shifts_that_its_exact_test_keeps(n):
    """Brute force: mu is inside if and only if scipy's exact two-sided test of z - mu does not reject at 5 %."""
    z = noise(n, n)
    low, high = points.interval(point(z, by_rank=True), 0.95)
    width = max(high - low, 1e-6)
    for mu in (low + 1e-6 * width, high - 1e-6 * width, 0.5 * (low + high)):
        assert stats.wilcoxon(z - mu, method="exact").pvalue > 0.05
    for mu in (low - 1e-6 * width, high + 1e-6 * width):
        assert stats.wilcoxon(z - mu, method="exact").pvalue <= 0.05
    averages = [(z[i] + z[j]) / 2 for i in range(n) for j in range(i, n)]
    assert points.centre(point(z, by_rank=True)) == pytest.approx(np.median(averages))


def test_too_few_or_too_many_lost_repeats_say_nothing():
    assert points.interval(point([1.0]), 0.95) == (-math.inf, math.inf)
    assert points.interval(point(noise(0, 5), by_rank=True), 0.95) == (-math.inf, math.inf)  # 2^-4 > 5 %
    assert points.interval(point(noise(0, 18), repeats=20), 0.95) == (-math.inf, math.inf)
    assert math.isfinite(points.interval(point(noise(0, 19), repeats=20), 0.95)[0])


@pytest.mark.parametrize("by_rank", [False, True])
def test_intervals_cover_as_often_as_they_promise(by_rank):
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(2000):
        low, high = points.interval(point(rng.standard_normal(20), by_rank=by_rank), 0.95)
        inside += low <= 0 <= high
    # 95 %, and its four standard errors.
    assert abs(inside / 2000 - 0.95) < 0.02


# -- the rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shift", "margin", "verdict"),
    [
        (1.0, 0.02, "reproduced"), (-1.0, 0.02, "not reproduced"), (0.0, 0.02, "not reproduced"),
        (0.0, 0.005, "inconclusive"), (0.03, 0.02, "reproduced"), (-0.002, 0.0, "inconclusive"),
    ],
)  # fmt: skip
def test_ordered_points_hold_above_0_and_fail_below_the_margin(shift, margin, verdict):
    # An interval of half width 0.01 about the shift.
    z = noise(6)
    z = 0.01 * (z - z.mean()) / (z.std(ddof=1) / math.sqrt(20) * stats.t.ppf(0.975, 19))
    rows = table(lambda v, *_: shift + z if v == "vs_plus" else 0.0)
    found = say(ordered, rows, margin=margin)
    assert found.verdict == verdict
    assert (found.measured, found.low, found.high) == pytest.approx((shift, shift - 0.01, shift + 0.01))
    assert found.n == 20
    # What is open says what more repeats would do.
    power = "points are open, with intervals 0.02 wide for 20 repeats at the middle one"
    assert (power in found.reason) == (verdict == "inconclusive")


@pytest.mark.parametrize(
    ("above", "verdict"),
    [
        # Two of four points are level in every repeat: the others decide.
        ({0.5: 1.0, 1.0: 1.0}, "reproduced"), ({0.5: -1.0, 1.0: -1.0}, "not reproduced"),
        ({0.5: 1.0, 1.0: -1.0}, "not reproduced"), ({}, "inconclusive"),
    ],
)  # fmt: skip
def test_points_that_are_level_in_every_repeat_count_for_neither_side(above, verdict):
    rows = table(lambda v, _, e, *__: above.get(e, 0.0) if v == "vs_plus" else 0.0, epsilons=(0.1, 0.2, 0.5, 1.0))
    found = say(ordered, rows, margin=0.02, points=["epsilon"])
    assert found.verdict == verdict
    assert f"{4 - len(above)} of 4 points are level in every repeat and count for neither side" in found.reason


def test_the_offset_makes_an_order_of_non_inferiority():
    rows = table(lambda v, *_: -0.01 + 1e-3 * noise(7) if v == "vs_plus" else 0.0)
    assert say(ordered, rows).verdict == "not reproduced"
    assert say(ordered, rows, offset=-0.02).verdict == "reproduced"
    assert say(ordered, rows, offset=-0.005).verdict == "not reproduced"


@pytest.mark.parametrize(
    ("shift", "verdict"),
    [(0.0, "reproduced"), (0.0118, "reproduced"), (0.0205, "inconclusive"), (0.031, "not reproduced")],
)
def test_equal_points_hold_by_two_one_sided_tests_and_fail_by_the_interval(shift, verdict):
    z = noise(8)
    z = 0.01 * (z - z.mean()) / (z.std(ddof=1) / math.sqrt(20) * stats.t.ppf(0.975, 19))
    narrow = 0.01 * stats.t.ppf(0.95, 19) / stats.t.ppf(0.975, 19)
    assert 0.0118 + narrow < 0.0205 < 0.02 + narrow
    rows = table(lambda v, *_: 0.155 + shift + z, variants=("vs_plus",))
    found = say(equal, rows, comparisons=[{}], expected=0.155, margin=0.0205)
    assert found.verdict == verdict
    if shift > 0.03:
        assert say(equal, rows, comparisons=[{}], expected=0.155, margin=0.0205, outer=0.05).verdict == "inconclusive"


@pytest.mark.parametrize(("times", "verdict"), [(1, "reproduced"), (-1, "not reproduced")])
def test_monotone_is_the_mean_of_scipy_s_spearman(times, verdict):
    rng = np.random.default_rng(9)
    draws = {s: np.round(np.log(s) + rng.standard_normal(12), 1) for s in (0.1, 1.0, 10.0, 100.0)}
    rows = table(lambda v, d, e, s: draws[s], variants=("vs",), strengths=tuple(draws), repeats=12)
    rule = {"axis": "strength", "comparisons": [{"terms": [{"times": times}]}]}
    (found,) = points.contrasts(claim(**rule), rows)
    by_hand = [stats.spearmanr(range(4), [times * draws[s][r] for s in draws]).statistic for r in range(12)]
    np.testing.assert_allclose(found.values, by_hand)
    assert say(monotone, rows, **rule).verdict == verdict
    one = say(monotone, rows[rows["strength"] == 1.0], **rule)
    assert one.verdict == "not run" and "fewer than two values" in one.reason


def test_a_constant_path_has_no_trend_and_a_broken_one_is_left_out():
    rows = table(lambda v, d, e, s: [0.5, s, math.nan], variants=("vs",), strengths=(1.0, 2.0, 3.0), repeats=3)
    (found,) = points.contrasts(claim(axis="strength", comparisons=[{}]), rows)
    np.testing.assert_allclose(found.values, [0.0, 1.0])
    assert found.repeats == 3


@pytest.mark.parametrize(
    ("signs", "keys", "verdict"),
    [
        ("++++++++00", {}, "reproduced"), ("+++++++000", {}, "inconclusive"), ("++++++++-0", {}, "reproduced"),
        ("++++++++--", {}, "inconclusive"), ("++++++++--", {"general": True}, "reproduced"),
        ("++++++--00", {"general": True}, "reproduced"), ("+++++---00", {"general": True}, "inconclusive"),
        ("+++++-----", {}, "not reproduced"), ("++++++++00", {"hold": 0.95}, "inconclusive"),
        ("++++++----", {"reversed": 0.4, "hold": 0.6}, "reproduced"),
    ],
)  # fmt: skip
def test_verdicts_go_by_the_shares_of_points(signs, keys, verdict):
    """+ holds, - is reversed, 0 is open: by hand, at the boundaries."""
    size = dict(zip(np.linspace(0.1, 1.0, 10), signs, strict=True))
    shift = {"+": 10.0, "-": -10.0, "0": 0.0}

    def values(variant, dataset, epsilon, strength):
        z = noise(10)
        return shift[size[epsilon]] + 0.1 * (z - z.mean()) if variant == "vs_plus" else 0.0

    found = say(ordered, table(values, epsilons=tuple(size)), **keys)
    assert found.verdict == verdict
    assert f"{signs.count('+')} of 10 points are above 0, {signs.count('-')} fail" in found.reason


def test_the_middle_point_is_reported_and_lost_repeats_are_named():
    centres = {0.4: 3.0, 0.6: 1.0, 0.8: 2.0, 1.0: 9.0}
    rows = table(lambda v, d, e, s: centres[e] + 1e-3 * noise(11), variants=("vs",), epsilons=tuple(centres))
    rows.loc[rows["epsilon"].eq(1.0) & (rows["repeat"] < 2), ["value", "status"]] = [math.nan, "failed"]
    found = say(ordered, rows, comparisons=[{}])
    assert found.measured == pytest.approx(
        2.0, abs=1e-2
    ) and "at the middle point, dataset linear-200, epsilon 0.8" in (found.reason)
    assert "from 1 (dataset linear-200, epsilon 0.6" in found.reason
    assert "2 repeats lack a value, which leaves 1 points open" in found.reason
    nothing = say(ordered, rows.assign(value=math.nan, status="failed"), comparisons=[{}])
    assert nothing.verdict == "inconclusive" and nothing.measured is None and "no repeat has all" in nothing.reason


def test_wilcoxon_serves_the_data_sets_that_ask_for_it():
    """One wild repeat widens Student's interval beyond 0, not Wilcoxon's."""
    z = 1.0 + 0.1 * noise(12)
    z[0] = 60.0
    rows = table(lambda v, *_: z if v == "vs_plus" else 0.0, datasets=("linear-200", "poisson-500"))
    by_rank = {
        found.where.split()[1]: found.by_rank for found in points.contrasts(claim(wilcoxon_for=["poisson-500"]), rows)
    }
    assert by_rank == {"linear-200,": False, "poisson-500,": True}
    assert say(ordered, rows).verdict == "inconclusive"
    assert say(ordered, rows, wilcoxon_for=["linear-200", "poisson-500"]).verdict == "reproduced"
    with pytest.raises(ConfigError, match="needs dataset among the points"):
        say(ordered, rows, wilcoxon_for=["poisson-500"], points=["epsilon"], where={"dataset": ["linear-200"]})


# -- error rates -----------------------------------------------------------------------------------------------------


def simulated(shift, seed, *, common=0.0, count=20, repeats=30):
    """Twenty points; the repeats' noise is shared by the points in part, as paths share their data."""
    rng = np.random.default_rng(seed)
    z = math.sqrt(1 - common) * rng.standard_normal((count, repeats)) + math.sqrt(common) * rng.standard_normal(repeats)
    columns = {
        "strength": np.repeat(np.geomspace(0.1, 100, count), repeats), "repeat": np.tile(np.arange(repeats), count),
        "dataset": "linear-200", "epsilon": 1.0,
    }  # fmt: skip
    sides = {"vs_plus": shift + z.ravel(), "vs": 0.0}
    return pd.concat(
        [pd.DataFrame({**HEAD, **columns, "variant": name, "value": side}) for name, side in sides.items()]
    )


@pytest.mark.parametrize("common", [pytest.param(0.0, marks=pytest.mark.slow), 0.9])
def test_without_an_order_none_is_found_and_with_one_it_is(common):
    null = [say(ordered, simulated(0.0, seed, common=common), margin=0.0).verdict for seed in range(30)]
    # One interval in 40 lies above 0; however strongly the points hang together, no more verdicts than that may.
    assert null.count("reproduced") <= 3 and null.count("not reproduced") <= 3
    clear = [say(ordered, simulated(1.0, seed, common=common)).verdict for seed in range(10)]
    assert clear.count("reproduced") == 10


@pytest.mark.parametrize("common", [pytest.param(0.0, marks=pytest.mark.slow), 0.9])
def test_equality_is_neither_found_at_its_edge_nor_missed_inside(common):
    edge = [say(equal, simulated(1.0, seed, common=common), margin=1.0).verdict for seed in range(30)]
    assert edge.count("reproduced") <= 5 and edge.count("not reproduced") <= 3
    inside = [say(equal, simulated(0.0, seed, common=common), margin=1.0).verdict for seed in range(10)]
    assert inside.count("reproduced") == 10


def test_no_trend_is_found_where_there_is_none():
    verdicts = []
    for seed in range(60):
        rows = simulated(0.0, seed, count=6)
        verdicts.append(say(monotone, rows, axis="strength", comparisons=PAIR).verdict)
    assert verdicts.count("inconclusive") >= 52


@pytest.mark.parametrize(("heights", "verdict"), [((0, 0, 1, 2), "reproduced"), ((1, 1, 1, 1), "inconclusive"),
                                                  ((3, 2, 2, 2), "not reproduced")])  # fmt: skip
def test_a_formula_without_repeats_has_an_exact_trend(heights, verdict):
    path = dict(zip((0.1, 1.0, 10.0, 100.0), heights, strict=True))
    rows = table(lambda v, d, e, s: path[s], variants=("erm",), strengths=tuple(path), repeats=1)
    found = say(
        monotone, rows, axis="strength", points=["dataset"], comparisons=[{"terms": [{"constant": ["repeat"]}]}]
    )
    assert found.verdict == verdict
    expected = 0.0 if len(set(heights)) == 1 else stats.spearmanr(range(4), heights).statistic
    assert found.measured == found.low == found.high == pytest.approx(expected)
