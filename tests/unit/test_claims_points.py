"""ORD, EQ and MON say what they state: signed sums, intervals, shares of points; and err no more often than may be."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from dperm import claims, tables
from dperm.claims import catalogue as catalogue_of
from dperm.claims import equal, monotone, ordered, points, weakest
from dperm.errors import ConfigError, DataError

SCHEMA = Path(__file__).parents[2] / "workflow/schemas/claims.schema.yaml"
HEAD = {
    "paper": "li2021", "experiment": "li2021-simulations", "mechanism": "napp", "calibration": "paper",
    "neighbours": "add_remove", "guarantee": "none", "delta": 1e-4, "status": "ok", "metric": "auc",
}  # fmt: skip
PAIR = [{"above": {"variant": "vs_plus"}, "below": {"variant": "vs"}}]


def table(
    values, *, variants=("vs_plus", "vs"), datasets=("linear-200",), epsilons=(1.0,), strengths=(0.1,), repeats=20
):
    """Rows; `values(variant, dataset, epsilon, strength)` gives one number a repeat, NaN for a failed run."""
    frames = []
    for variant, dataset, epsilon, strength in itertools.product(variants, datasets, epsilons, strengths):
        value = np.broadcast_to(np.asarray(values(variant, dataset, epsilon, strength), dtype=float), repeats)
        columns = {"variant": variant, "dataset": dataset, "epsilon": epsilon, "strength": strength, "value": value}
        frames.append(pd.DataFrame({**HEAD, **columns, "repeat": np.arange(repeats)}))
    frame = pd.concat(frames, ignore_index=True)
    return frame.assign(status=np.where(frame["value"].isna(), "failed", "ok"))


def claim(**keys):
    base = {
        "id": "N-c99", "paper": "li2021", "place": "x", "statement": "x", "experiment": "li2021-simulations",
        "figure": "li2021-fig4", "metric": "auc", "points": ["dataset", "epsilon", "strength"],
        "comparisons": PAIR, "variants": {"printed": {}},
    }  # fmt: skip
    return {**base, **keys}


def say(rule, rows, **keys):
    return rule.decide(claim(**keys), "printed", rows)


def noise(seed, repeats=20):
    return np.random.default_rng(seed).standard_normal(repeats)


# -- intervals -------------------------------------------------------------------------------------------------------


def point(values, *, by_rank=False, repeats=None):
    values = np.asarray(values, dtype=float)
    return points.Point("", values, len(values) if repeats is None else repeats, 0.0, by_rank)


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("n", [2, 7, 50])
def test_student_s_interval_is_scipy_s(n, level):
    z = noise(n, n)
    expected = stats.ttest_1samp(z, 0.0).confidence_interval(level)
    assert points.interval(point(z), level) == pytest.approx((expected.low, expected.high), rel=1e-9)


@pytest.mark.parametrize("n", [6, 9, 20])
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


# -- signed sums -----------------------------------------------------------------------------------------------------


def brute(rows, terms, keys):
    """A transcription: for each point and repeat, look every term up by itself."""
    found = {}
    for key, group in rows.groupby([*keys, "repeat"]):
        total = 0.0
        for times, where in terms:
            value = group
            for name, wanted in where.items():
                value = value[value[name] == wanted]
            total += times * (value["value"].item() if value["status"].item() == "ok" else math.nan)
        found.setdefault(key[:-1], []).append(total)
    return found


def test_terms_are_summed_repeat_by_repeat_whatever_the_order_of_rows():
    rng = np.random.default_rng(2)
    variants = ("vs_plus", "vs", "erm")
    rows = table(
        lambda *_: rng.standard_normal(8), variants=variants, epsilons=(0.4, 1.0), strengths=(1.0, 10.0), repeats=8
    )
    rows.loc[rows.index[5], ["value", "status"]] = [math.nan, "failed"]
    weights = [(1.0, {"variant": "vs_plus"}), (-2.5, {"variant": "vs"}), (0.5, {"variant": "erm"})]
    terms = [{"times": times, "where": where} for times, where in weights]
    rule = claim(comparisons=[{"terms": terms}])
    expected = brute(rows, weights, rule["points"])
    for shuffled in (rows, rows.sample(frac=1.0, random_state=3), rows.astype({"variant": "category"})):
        for found, values in zip(points.contrasts(rule, shuffled), expected.values(), strict=True):
            np.testing.assert_allclose(found.values, [v for v in values if not math.isnan(v)])
            assert found.repeats == 8
    assert [len(found.values) for found in points.contrasts(rule, rows)] == [7, 8, 8, 8]


def test_a_difference_of_differences_across_an_axis():
    rows = table(lambda v, d, e, s: {"vs_plus": 1.0, "vs": 3.0}[v] * e + noise(4), epsilons=(0.4, 1.0))
    terms = [
        {"times": sign * outer, "where": {"variant": variant, "epsilon": epsilon}}
        for variant, sign in (("vs", 1), ("vs_plus", -1))
        for epsilon, outer in ((1.0, 1), (0.4, -1))
    ]
    found = points.contrasts(claim(points=["dataset"], comparisons=[{"terms": terms}]), rows)
    assert len(found) == 1
    np.testing.assert_allclose(found[0].values, 0.6 * (3.0 - 1.0))


def test_a_benchmark_has_one_value_for_all_repeats_and_points():
    rows = table(
        lambda v, d, e, s: s + e + np.arange(5), variants=("vs",), epsilons=(0.4, 1.0), strengths=(1.0, 9.0), repeats=5
    )
    lasso = table(
        lambda v, d, e, s: 100 * s, variants=("lasso",), epsilons=(math.inf,), strengths=(1.0, 9.0), repeats=1
    )
    rows = pd.concat([rows, lasso], ignore_index=True)
    terms = [
        {"times": -1, "where": {"variant": "lasso"}, "constant": ["epsilon", "repeat"]},
        {"where": {"variant": "vs"}},
    ]
    rule = claim(comparisons=[{"terms": terms}])
    for found, (epsilon, strength) in zip(
        points.contrasts(rule, rows), itertools.product((0.4, 1.0), (1.0, 9.0)), strict=True
    ):
        np.testing.assert_allclose(found.values, strength + epsilon + np.arange(5) - 100 * strength)
    several = pd.concat([rows, lasso.assign(repeat=1)], ignore_index=True)
    with pytest.raises(DataError, match="several repeats"):
        points.contrasts(rule, several)
    with pytest.raises(ConfigError, match="every term is constant along epsilon"):
        points.contrasts(claim(comparisons=[{"terms": terms[:1]}]), rows)


@pytest.mark.parametrize(
    ("error", "verdict"), [(0.1539, "reproduced"), (0.156, "inconclusive"), (0.158, "not reproduced")]
)
def test_a_benchmark_alone_is_exact(error, verdict):
    rows = table(lambda *_: error, variants=("lasso",), repeats=1)
    alone = {"comparisons": [{"terms": [{"constant": ["repeat"]}]}], "expected": 0.152, "margin": 0.002, "outer": 0.005}
    found = say(equal, rows, **alone)
    assert found.verdict == verdict and found.measured == found.low == found.high == error and found.n == 1
    # A single repeat that is one of many says nothing.
    assert say(equal, rows, **{**alone, "comparisons": [{}]}).verdict == "inconclusive"


def test_comparisons_have_their_own_rows_metric_margin_and_logarithm():
    rows = table(
        lambda v, d, e, s: math.e if v == "vs_plus" else 1.0, datasets=("linear-200", "logistic-500"), repeats=4
    )
    rows["metric"] = np.where(rows["dataset"] == "linear-200", "test_mse", "misclassification")
    both = [
        {**PAIR[0], "metric": "test_mse", "log": True, "margin": 0.02, "where": {"dataset": ["linear-200"]}},
        {**PAIR[0], "metric": "misclassification", "margin": 0.005, "where": {"dataset": ["logistic-500"]}},
    ]
    first, second = points.contrasts(claim(comparisons=both), rows)
    np.testing.assert_allclose(first.values, 1.0)
    np.testing.assert_allclose(second.values, math.e - 1.0)
    assert (first.margin, second.margin) == (0.02, 0.005)
    assert first.where == "vs_plus - vs (test mse), dataset linear-200, epsilon 1, strength 0.1"
    with pytest.raises(DataError, match="must be above 0 to have a logarithm"):
        points.contrasts(claim(comparisons=both), rows.assign(value=-1.0))


def test_conditions_on_one_column_hold_together():
    rows = table(lambda v, d, e, s: e, epsilons=(0.4, 0.6, 1.0), variants=("vs",), repeats=3)
    rule = claim(where={"epsilon": [0.4, 0.6]}, comparisons=[{"where": {"epsilon": [0.6, 1.0]}}])
    assert [found.where for found in points.contrasts(rule, rows)] == ["dataset linear-200, epsilon 0.6, strength 0.1"]


def test_a_term_without_rows_is_not_run_and_two_values_are_refused():
    rows = table(lambda *_: noise(5))
    found = say(ordered, rows, comparisons=[*PAIR, {"above": {"variant": "erm"}, "below": {"variant": "vs"}}])
    assert found.verdict == "not run" and found.reason == "there are no rows of auc with variant erm"
    with pytest.raises(DataError, match="two values"):
        say(ordered, rows, comparisons=[{"terms": [{}]}])


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


@pytest.mark.parametrize("common", [0.0, 0.9])
def test_without_an_order_none_is_found_and_with_one_it_is(common):
    null = [say(ordered, simulated(0.0, seed, common=common), margin=0.0).verdict for seed in range(30)]
    # One interval in 40 lies above 0; however strongly the points hang together, no more verdicts than that may.
    assert null.count("reproduced") <= 3 and null.count("not reproduced") <= 3
    clear = [say(ordered, simulated(1.0, seed, common=common)).verdict for seed in range(10)]
    assert clear.count("reproduced") == 10


@pytest.mark.parametrize("common", [0.0, 0.9])
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


# -- a summary of others ---------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["reproduced", "reproduced"], "reproduced"), (["reproduced", "inconclusive"], "inconclusive"),
        (["inconclusive", "not reproduced"], "not reproduced"), (["reproduced", "not run"], "inconclusive"),
        (["not run", "not run"], "not run"), (["reproduced"], "inconclusive"),
    ],
)  # fmt: skip
def test_a_summary_is_as_strong_as_its_weakest_member(verdicts, expected):
    names = ["N-c43", "N-c44"]
    records = [{"id": n, "variant": "printed", "verdict": v} for n, v in zip(names, verdicts, strict=False)]
    records += [{"id": "N-c43", "variant": "corrected", "verdict": "not reproduced"}]
    found = weakest.decide({"members": names, "variants": {"printed": {}}}, "printed", records)
    assert found.verdict == expected and found.n == len(verdicts)


@pytest.mark.parametrize(("half", "expected"), [("reproduced", "reproduced"), ("not reproduced", "not reproduced")])
def test_the_halves_of_a_member_count(half, expected):
    records = [{"id": "N-c44", "variant": "printed", "verdict": "reproduced"}]
    records += [{"id": "N-c44", "variant": "printed-over-contrast", "verdict": half}]
    records += [{"id": "N-c44", "variant": "corrected-over-contrast", "verdict": "not reproduced"}]
    found = weakest.decide({"members": ["N-c44"], "variants": {"printed": {}}}, "printed", records)
    assert found.verdict == expected and found.n == 2 and f"N-c44-over-contrast {half}" in found.reason


# -- through the catalogue -------------------------------------------------------------------------------------------


def judged(tmp_path, entries, rows):
    (tmp_path / "claims.yaml").write_text(json.dumps(entries))
    catalogue = catalogue_of.load(tmp_path / "claims.yaml", SCHEMA)
    tables.write(rows, tmp_path / "rows.parquet", metadata={})
    out = tmp_path / "claims.parquet"
    claims.judge(
        catalogue,
        {"li2021-simulations": tmp_path / "rows.parquet"},
        out,
        unavailable={"adult": "no mirror"},
        metadata={},
    )
    return claims.read(out)


def test_data_sets_are_pooled_where_they_are_points_and_apart_where_not(tmp_path):
    rows = table(
        lambda v, d, e, s: (1.0 if d == "linear-200" else -1.0) * (v == "vs_plus") + 0.01 * noise(13),
        datasets=("linear-200", "linear-500", "logistic-500"),
    )
    both = ["linear-200", "linear-500"]
    entries = [
        # A summary may stand before what it sums up.
        {**claim(id="N-c01", test="weakest", members=["N-c02", "N-c03"]), "datasets": both},
        claim(id="N-c02", test="ordered", datasets=both, margin=0.02),
        claim(
            id="N-c03", test="ordered", datasets=[*both, "digits", "adult"], margin=0.02, points=["epsilon", "strength"]
        ),
    ]
    for name in ("comparisons", "points", "metric", "datasets"):
        entries[0].pop(name)
    found = judged(tmp_path, entries, rows)
    assert found["id"].tolist() == ["N-c01", "N-c02", *["N-c03"] * 4]
    assert found["dataset"].tolist() == ["", "", "adult", "digits", *both]
    assert found["verdict"].tolist() == [
        "not reproduced", "not reproduced", "not run", "not run", "reproduced", "not reproduced",
    ]  # fmt: skip
    assert "1 of 2 points are above 0, 1 fail" in found["reason"][1]
    assert "unavailable: no mirror" in found["reason"][2] and "not in this scale's grid" in found["reason"][3]


def test_only_the_rows_that_a_claim_is_about_are_read(tmp_path, monkeypatch):
    rows = table(lambda *_: noise(14), datasets=("linear-200", "linear-500"), epsilons=(0.4, 1.0))
    rows = pd.concat([rows, rows.assign(metric="other")], ignore_index=True)
    seen = []

    def decide(claim, variant, rows):
        seen.append(rows)
        return claims.Verdict("inconclusive", "")

    monkeypatch.setattr(ordered, "decide", decide)
    entry = claim(test="ordered", datasets=["linear-200"], variants={"printed": {"where": {"epsilon": [1.0]}}})
    judged(tmp_path, [entry], rows)
    assert [len(frame) for frame in seen] == [40]
    assert set(seen[0].columns) == {
        "dataset", "epsilon", "strength", "variant", "repeat", "metric", "value", "status",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"comparisons": [{"above": {"variant": "vs"}}]}, "below"),
        ({"comparisons": [{"better": {"variant": "vs"}}]}, "unknown key 'better'"),
        ({"comparisons": [{**PAIR[0], "terms": [{}]}]}, "comparisons"),
        ({"comparisons": [{"terms": [{"times": 0}]}]}, "times"),
        ({"metric": None}, "comparisons.0: metric is missing"),
        ({"comparisons": None}, "comparisons is missing, for the variant 'printed' too: ordered needs it"),
        ({"test": "monotone"}, "axis is missing"),
        ({"test": "weakest"}, "members is missing"),
        ({"test": "weakest", "members": ["N-c98"]}, "'N-c98' is no claim"),
    ],
)
def test_mistakes_in_a_claim_about_points_are_named(tmp_path, change, message):
    entry = {**claim(test="ordered", datasets=["linear-200"]), **change}
    entry = {name: value for name, value in entry.items() if value is not None}
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump([entry]))
    with pytest.raises(ConfigError, match=message):
        catalogue_of.load(tmp_path / "claims.yaml", SCHEMA)
