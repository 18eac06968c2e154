"""MEAN, slopes of exact values and their differences, Holm for a claim, crossings and controls: planted truths."""

import math

import claim_rows
import numpy as np
import pandas as pd
import pytest
from claim_rows import stack
from scipy import stats

from dperm.errors import ConfigError, DataError
from dperm_pipeline.claims import crossing, ledger, select, slope, threshold, within

HEAD = {
    "paper": "dwork2018", "experiment": "dwork2018-stable", "mechanism": "stable_erm", "variant": "",
    "guarantee": "none", "calibration": "tight", "neighbours": "replace", "dataset": "abs", "status": "ok", "repeat": 0,
    "metric": "excess",
}  # fmt: skip


def table(values, **columns):
    return claim_rows.repeats("excess", values, HEAD, **columns)


def claim(**keys):
    return {"id": "D-c99", "experiment": "dwork2018-stable", "metric": "excess", "variants": {"printed": {}}, **keys}


def say(rule, rows, **keys):
    return claim_rows.decide(rule, claim(**keys), "printed", rows)


# -- MEAN ------------------------------------------------------------------------------------------------------------


def test_a_mean_has_student_s_one_sided_limits():
    values = np.random.default_rng(0).normal(-0.1, 1.0, 50)
    found = say(threshold, table(values), at_most=0.0, limits="student")
    assert found.high == pytest.approx(values.mean() + stats.t.ppf(0.95, 49) * stats.sem(values))
    assert found.low == pytest.approx(values.mean() + stats.t.ppf(0.05, 49) * stats.sem(values))


@pytest.mark.parametrize(("mean", "verdict"), [(-0.5, "reproduced"), (0.5, "not reproduced"), (0.0, "inconclusive")])
def test_verdicts_on_means(mean, verdict):
    values = np.random.default_rng(1).normal(0, 1.0, 400)
    rows = table(values - values.mean() + mean)
    found = say(threshold, rows, at_most=0.0, limits="student")
    assert found.verdict == verdict and "Student" in found.reason
    mirrored = say(threshold, rows.assign(value=-rows["value"]), at_least=0.0, limits="student")
    assert mirrored.verdict == verdict and mirrored.low == pytest.approx(-found.high)


def test_the_points_of_a_mean_share_the_level():
    values = np.random.default_rng(2).normal(0, 1.0, 100)
    values += -1.8 * stats.sem(values) - values.mean()  # one-sided p of .037: enough alone, not for one of two
    rows = table(values, n=100)
    assert say(threshold, rows, at_most=0.0, limits="student", points=["n"]).verdict == "reproduced"
    both = stack(rows, rows.assign(n=200, value=rows["value"] - 10))
    assert say(threshold, both, at_most=0.0, limits="student", points=["n"]).verdict == "inconclusive"


def test_equal_values_and_zeros_and_ones_have_student_s_limits_too():
    assert say(threshold, table([0.0] * 400), at_most=0.0, limits="student").verdict == "reproduced"
    bits = np.repeat([0.0, 1.0], [380, 20])
    found = say(threshold, table(bits), at_most=0.0, limits="student")
    assert found.high == pytest.approx(0.05 + stats.t.ppf(0.95, 399) * stats.sem(bits))


# -- slopes ----------------------------------------------------------------------------------------------------------


def test_a_slope_through_exact_values_is_a_point():
    n = np.array([100.0, 1000.0, 10_000.0])
    wobble = np.array([1.0, 1.2, 1.0])
    rows = stack(*(table([w / x], n=x) for x, w in zip(n, wobble, strict=True)))
    asked = {"axis": "n", "expected": -1.0, "margin": 0.05}
    found = say(slope, rows, exact="point", **asked)
    fitted = np.polyfit(np.log(n), np.log(wobble / n), 1)[0]
    assert found.measured == found.low == found.high == pytest.approx(fitted) and found.verdict == "reproduced"
    assert "exact values" in found.reason and say(slope, rows, **asked).verdict == "inconclusive"


def two_powers(first, second, *, repeats, sizes=(100, 300, 1000, 3000)):
    """Means n^first of stable_erm and n^second of averaged."""
    frames = []
    for place, (mechanism, exponent) in enumerate((("stable_erm", first), ("averaged", second))):
        for n in sizes:
            rng = np.random.default_rng([place, n])
            noise = rng.exponential(size=repeats) if repeats > 1 else np.ones(1)
            frames.append(table(n**exponent * noise, n=n, mechanism=mechanism))
    return stack(*frames)


DIFFERENCE = {
    "axis": "n", "side": "upper", "expected": 0.0, "margin": 0.0, "variants": {
        "printed": {"where": {"mechanism": "stable_erm"}, "against": {"mechanism": "averaged"}}
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("second", "verdict"), [(-0.2, "reproduced"), (-0.8, "not reproduced"), (-0.5, "inconclusive")]
)
def test_the_difference_of_two_slopes(second, verdict):
    found = say(slope, two_powers(-0.5, second, repeats=300), **DIFFERENCE)
    assert found.verdict == verdict and "difference of the slopes" in found.reason and found.n == 300
    assert found.low < -0.5 - second < found.high


def test_the_difference_of_exact_slopes_is_that_of_their_fits():
    found = say(slope, two_powers(-0.5, -0.25, repeats=1), exact="point", **DIFFERENCE)
    assert found.measured == pytest.approx(-0.25) and found.verdict == "reproduced"
    # One side alone has repeats: its spread counts.
    mixed = two_powers(-0.5, -0.25, repeats=200)
    first = mixed[(mixed["mechanism"] == "averaged") & (mixed["repeat"] == 0)]
    found = say(slope, stack(mixed[mixed["mechanism"] == "stable_erm"], first), **DIFFERENCE)
    assert found.low < found.measured < found.high and found.n == 200


def test_differences_of_slopes_need_both_sides():
    rows = two_powers(-0.5, -0.25, repeats=1)
    assert say(slope, rows[rows["mechanism"] == "stable_erm"], **DIFFERENCE).verdict == "not run"
    short = rows[(rows["mechanism"] == "stable_erm") | (rows["n"] > 100)]
    assert "other values of n" in say(slope, short, **DIFFERENCE).reason
    with pytest.raises(DataError, match="one side alone"):
        parts = rows.assign(p=np.where(rows["mechanism"] == "averaged", 1, 2))
        say(slope, parts, points=["p"], **DIFFERENCE)


def test_a_difference_reads_the_rows_of_both_sides():
    rule = select.settings(claim(**DIFFERENCE), "printed")
    assert ("mechanism", "in", ["stable_erm", "averaged"]) in select.filters(rule, ["abs"])
    assert "n" in select.columns(claim(**DIFFERENCE | {"against": {"n": 3}}), slope.COLUMNS)


# -- Holm for the claim ----------------------------------------------------------------------------------------------


def differences(p_values, n=30):
    """Two methods whose differences have, at point k, the one-sided p-value p_k against 0."""
    frames = []
    for k, p in enumerate(p_values):
        z = np.random.default_rng(k).standard_normal(n)
        # Mean and corrected error in the ratio of that quantile.
        z = (z - z.mean()) / z.std(ddof=1) + stats.t.isf(p, n - 1) * math.sqrt(1 / n + 1 / 3)
        frames += [table(1 + z, epsilon=k + 1.0, mechanism="objective"), table(np.ones(n), epsilon=k + 1.0)]
    return stack(*frames)


PAIRED = {
    "points": ["epsilon"], "low": 0.0, "overlap": 1 / 3, "holm": True,
    "comparisons": [{"above": {"mechanism": "objective"}, "below": {"mechanism": "stable_erm"}}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("p_values", "verdict"),
    [
        ([0.024, 0.049], "reproduced"),  # .024 <= .05/2, then .049 <= .05
        ([0.026, 0.026], "inconclusive"),  # the smaller is above .05/2
        ([0.024, 0.051], "inconclusive"),
        ([0.001, 1 - 0.026], "inconclusive"),  # against it: .026 is above .05/2
        ([0.001, 1 - 0.024], "not reproduced"),
    ],
)
def test_holm_shares_the_level_for_the_claim_too(p_values, verdict):
    found = say(within, differences(p_values), **PAIRED)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("p_values", "verdict"),
    [
        ([0.024, 0.9], "reproduced"),  # Holm: .024 <= .05/2
        ([0.026, 0.9], "inconclusive"),
        ([0.026, 1 - 0.001], "inconclusive"),  # one point is against it, the other is open
        ([1 - 0.024, 1 - 0.049], "not reproduced"),  # both are against it
    ],
)
def test_what_may_happen_needs_one_point_and_all_against_it(p_values, verdict):
    found = say(within, differences(p_values), **PAIRED, some=True)
    assert found.verdict == verdict
    with pytest.raises(ConfigError, match="some: needs holm"):
        say(within, differences(p_values), **{**PAIRED, "holm": False}, some=True)


def test_of_what_may_happen_an_open_point_is_shown():
    """Not the one that is shown to be outside, however near to the limit it lies and however narrow."""
    rng = np.random.default_rng(3)
    exact = -1e-9 + 1e-12 * rng.standard_normal(30)
    wide = 0.3 + rng.standard_normal(30)
    frames = []
    for k, values in enumerate((exact, wide)):
        frames += [table(1 + values, epsilon=k + 1.0, mechanism="objective"), table(np.ones(30), epsilon=k + 1.0)]
    found = say(within, stack(*frames), **{**PAIRED, "overlap": 0.0}, some=True)
    assert found.verdict == "inconclusive" and found.measured == pytest.approx(wide.mean())
    assert "at the most favourable point, epsilon 2" in found.reason and "for 30 repeats" in found.reason


# -- crossings -------------------------------------------------------------------------------------------------------


def rivals(ahead, *, repeats=40, noise=0.01, axis=(1, 10, 100)):
    """Predictions whose error at each number of queries is that of the model minus `ahead`."""
    rng = np.random.default_rng(5)
    model = 0.3 + 0.05 * rng.standard_normal(repeats)
    frames = [table(model, mechanism="objective", queries=0)]
    for m, gap in zip(axis, ahead, strict=True):
        frames.append(table(model - gap + noise * rng.standard_normal(repeats), mechanism="soft_majority", queries=m))
    return stack(*frames)


CROSSING = {
    "axis": "queries", "at_least": 1, "better": {"mechanism": "soft_majority"}, "worse": {"mechanism": "objective"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("ahead", "verdict", "measured"),
    [
        ((0.1, 0.05, -0.1), "reproduced", 10),
        ((0.1, -0.1, 0.2), "reproduced", 1),  # ahead again later does not count
        ((-0.1, 0.1, -0.1), "not reproduced", 0),
        ((0.1, 0.1, 0.1), "inconclusive", 100),  # no end was seen
        ((0.0, -0.1, -0.1), "inconclusive", None),
    ],
)
def test_crossings(ahead, verdict, measured):
    found = say(crossing, rivals(ahead), **CROSSING)
    assert found.verdict == verdict and found.n == 40
    if measured is not None:
        assert found.measured == found.low == found.high == measured


def test_the_interval_of_a_crossing_is_that_of_whole_repeats():
    rows = rivals((0.1, 0.0, -0.1), noise=0.02)
    table_ = rows[rows["mechanism"] == "soft_majority"].pivot(index="repeat", columns="queries", values="value")
    gap = rows[rows["mechanism"] == "objective"].set_index("repeat")["value"] - table_[10]
    z = gap.mean() / stats.sem(gap)
    found = say(crossing, rows, **CROSSING)
    # The middle gap is near 0: both ends are open.
    assert abs(z) < 1.9 and (found.low, found.high) == (1, 10) and found.measured == (10 if z > 0 else 1)
    assert found.verdict == "reproduced"


def test_crossings_without_an_answer_say_why():
    rows = rivals((0.1, 0.05, -0.1))
    assert say(crossing, rows[rows["mechanism"] == "objective"], **CROSSING).verdict == "not run"
    assert say(crossing, rows[rows["mechanism"] != "objective"], **CROSSING).verdict == "not run"
    lost = rows.assign(value=rows["value"].where(rows["repeat"] > 10))
    lost["status"] = np.where(lost["value"].isna(), "failed", "ok")
    found = say(crossing, lost, **CROSSING)
    assert found.verdict == "inconclusive" and "11 of 40 repeats lack a value" in found.reason
    few = rows.assign(value=rows["value"].where(rows["repeat"] > 0))
    few["status"] = np.where(few["value"].isna(), "failed", "ok")
    assert say(crossing, few, **CROSSING).n == 39
    with pytest.raises(DataError, match="queries must be a number"):
        say(crossing, rows.assign(queries=rows["queries"].astype(str)), **CROSSING)
    with pytest.raises(DataError, match="no rows at epsilon 2"):
        both = stack(rows.assign(epsilon=1.0), rows[rows["mechanism"] != "objective"].assign(epsilon=2.0))
        say(crossing, both, points=["epsilon"], **CROSSING)
    # At every point, and the least favourable is told.
    two = stack(rows.assign(epsilon=1.0), rivals((0.1, -0.1, -0.1)).assign(epsilon=2.0))
    found = say(crossing, two, points=["epsilon"], **CROSSING)
    assert found.verdict == "reproduced" and found.measured == 1 and "epsilon 2" in found.reason


def test_both_sides_may_run_along_the_axis():
    rows = rivals((0.1, 0.05, -0.1))
    model = rows[rows["mechanism"] == "objective"]
    along = stack(rows[rows["mechanism"] != "objective"], *(model.assign(queries=m) for m in (1, 10, 100)))
    assert say(crossing, along, **CROSSING) == say(crossing, rows, **CROSSING)


# -- controls --------------------------------------------------------------------------------------------------------


def privacy(*verdicts):
    row = {
        "mechanism": "averaged", "calibration": "tight", "variant": "laplace", "neighbours": "replace", "epsilon": 1.0,
        "delta": 0.0, "guarantee": "proved", "verdict": "holds up", "reason": "", "audit_lower_bound": 0.9,
        "draws": 10_000, "pair": "p", "attack": "a",
    }  # fmt: skip
    controls = [{**row, "variant": "half-noise", "guarantee": "none", "verdict": verdict} for verdict in verdicts]
    return pd.DataFrame([row, *controls])


@pytest.mark.parametrize(
    ("verdicts", "outcome", "words"),
    [
        (("refuted", "refuted"), "reproduced", "refutes 0 of 1"),
        (("refuted", "holds up"), "inconclusive", "1 of 2 controls were not refuted"),
        ((), "inconclusive", "there is no control with variant half-noise"),
    ],
)
def test_a_control_has_to_be_refuted(verdicts, outcome, words):
    variants = {"printed": {"ledger": {"variant": "laplace"}, "control": {"variant": "half-noise"}}}
    found = claim_rows.decide(ledger, claim(variants=variants), "printed", None, privacy=privacy(*verdicts))
    assert found.verdict == outcome and words in found.reason
    # A broken claim is refuted whatever the controls say.
    broken = privacy(*verdicts)
    broken.loc[0, "verdict"] = "refuted"
    assert (
        claim_rows.decide(ledger, claim(variants=variants), "printed", None, privacy=broken).verdict == "not reproduced"
    )
