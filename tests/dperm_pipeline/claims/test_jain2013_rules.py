"""BOUND, UPPER, PROB at each point, ratios within a margin: planted truths get the verdict that they are."""

import math
from pathlib import Path

import claim_rows
import numpy as np
import pandas as pd
import pytest
import together
import yaml
from scipy import stats

from dperm.errors import ConfigError, DataError
from dperm_pipeline import claims, tables
from dperm_pipeline.claims import bound, coverage, exact, ordered, select, slope, within
from dperm_pipeline.claims import catalogue as catalogue_of

SCHEMA = Path(__file__).parents[3] / "workflow/schemas/claims.schema.yaml"
HEAD = {
    "paper": "jain2013", "experiment": "jain2013-thm5", "mechanism": "tddl", "variant": "", "calibration": "paper",
    "neighbours": "replace", "guarantee": "proved_exact", "dataset": "no-data", "status": "ok", "vacuous": 0,
}  # fmt: skip
SIZES = (100, 300, 1000, 3000)


def line(constant, *, sizes=SIZES, growth=0.0, repeats=100, expr=lambda n: n**-0.5, vacuous=(), seed=0, **columns):
    """Rows whose measure is constant n^growth expr(n) E with E exponential of mean 1."""
    frames = []
    for place, n in enumerate(sizes):
        rng = np.random.default_rng([seed, place])
        value = constant * n**growth * expr(n) * rng.exponential(size=repeats)
        row = {"bound": expr(n), "n": n, **columns, "vacuous": int(n in vacuous)}
        frames.append(claim_rows.repeats("error", value, HEAD, **row))
    return claim_rows.stack(*frames)


def claim(**keys):
    base = {"id": "J-c99", "experiment": "jain2013-thm5", "metric": "error", "variants": {"printed": {}}}
    return {**base, **keys}


def say(rule, rows, **keys):
    return claim_rows.decide(rule, claim(**keys), "printed", rows)


# -- BOUND -----------------------------------------------------------------------------------------------------------


@together.over("n", [20, 71, 72, 100, 250])
@together.over("beta", [0.05, 0.2])
def test_the_ranks_cover_the_quantile_at_95_percent(n, beta):
    low, high = bound.limits(n, beta)
    # P(c_(k) < q) = P(at least k of n repeats lie below q), each with probability 1 - beta.
    law = stats.binom(n, 1 - beta)
    if high <= n:
        assert law.sf(high - 1) <= 0.025 < law.sf(high - 2)
    else:
        assert law.sf(n - 1) > 0.025
    if low:
        assert law.cdf(low - 1) <= 0.025 < law.cdf(low)
    assert (bound.limits(72, 0.05)[1], bound.limits(71, 0.05)[1]) == (72, 72)  # 71: beyond the last


def test_the_upper_limit_covers_the_quantile_as_often_as_it_says():
    rng, rank = np.random.default_rng(3), bound.limits(100, 0.05)[1]
    limit = np.sort(rng.exponential(size=(4000, 100)), axis=1)[:, rank - 1]
    assert np.mean(limit >= -math.log(0.05)) >= 0.975 - 3 * math.sqrt(0.025 * 0.975 / 4000)


def test_a_bound_with_one_constant_is_reproduced():
    # The quantile does not grow, but a slope of at most 0.05 has to be shown: small spread, many values.
    rows = line(2.0, sizes=[10**k for k in range(2, 8)], repeats=400)
    found = say(bound, rows, axes=["n"])
    assert found.verdict == "reproduced" and found.n == 400
    assert found.low < 2 * -math.log(0.05) < found.high
    assert found.measured == pytest.approx(2 * -math.log(0.05), rel=0.35)


def test_a_constant_that_grows_refutes():
    found = say(bound, line(2.0, growth=0.3), axes=["n"])
    assert found.verdict == "not reproduced" and "shown to grow" in found.reason


def test_a_large_constant_or_a_short_axis_is_inconclusive():
    sizes = [10**k for k in range(2, 8)]
    assert say(bound, line(500.0, sizes=sizes, repeats=400), axes=["n"]).verdict == "inconclusive"
    assert say(bound, line(500.0, sizes=sizes, repeats=400), axes=["n"], at_most=5000).verdict == "reproduced"
    assert say(bound, line(2.0, sizes=sizes[:3], repeats=400), axes=["n"]).verdict == "inconclusive"
    # 71 repeats have no upper limit of the 0.95-quantile at 95 %.
    few = say(bound, line(2.0, sizes=sizes, repeats=71), axes=["n"])
    assert few.verdict == "inconclusive" and math.isinf(few.high)


def test_vacuous_points_are_left_out_and_counted():
    # The constant would grow from the vacuous sizes on.
    good = line(2.0, sizes=[10**k for k in range(3, 8)], repeats=400)
    bad = line(0.001, sizes=(10, 30, 100), repeats=400, vacuous=(10, 30, 100))
    found = say(bound, pd.concat([good, bad]), axes=["n"])
    assert found.verdict == "reproduced" and "3 of 8 grid points are vacuous" in found.reason
    grown = say(bound, pd.concat([good, bad.assign(vacuous=0)]), axes=["n"])
    assert grown.verdict == "not reproduced"
    allof = say(bound, bad, axes=["n"])
    assert allof.verdict == "inconclusive" and "3 of 3" in allof.reason


def test_a_bound_of_zero_below_a_measure_refutes():
    rows = line(2.0, sizes=[10**k for k in range(2, 8)], repeats=400)
    zero = rows.assign(bound=0.0)
    found = say(bound, zero, axes=["n"])
    assert found.verdict == "not reproduced" and "the bound is 0" in found.reason
    assert say(bound, zero.assign(value=0.0), axes=["n"]).verdict == "inconclusive"  # 0 has no slope


def test_every_axis_and_every_other_value_is_a_line_of_its_own():
    sizes = [10**k for k in range(2, 8)]
    rows = pd.concat([line(2.0, sizes=sizes, repeats=4000, d=d, seed=d) for d in (1, 10, 100, 1000)])
    assert say(bound, rows, axes=["n", "d"]).verdict == "reproduced"
    steep = pd.concat([line(2.0 * d**0.5, sizes=sizes, repeats=4000, d=d, seed=d) for d in (1, 10, 100, 1000)])
    assert say(bound, steep, axes=["n", "d"]).verdict == "not reproduced"
    assert say(bound, steep, axes=["n"], points=["d"]).verdict == "reproduced"


def test_another_column_may_hold_the_bound_and_a_failed_run_leaves_the_claim_open():
    rows = line(2.0, sizes=[10**k for k in range(2, 8)], repeats=400).rename(columns={"bound": "reread"})
    assert say(bound, rows, axes=["n"], bound="reread").verdict == "reproduced"
    with pytest.raises(ConfigError, match="no column bound"):
        say(bound, rows, axes=["n"])
    rows.loc[0, "status"] = "failed"
    found = say(bound, rows, axes=["n"], bound="reread")
    assert found.verdict == "inconclusive" and "1 of 2400 runs failed" in found.reason
    with pytest.raises(DataError, match="at least 0"):
        say(bound, rows.assign(value=-1.0), axes=["n"], bound="reread")
    with pytest.raises(DataError, match="must be a number of at least 0"):
        say(bound, rows.assign(reread=math.nan), axes=["n"], bound="reread")


def test_the_growth_may_be_that_of_another_metric():
    sizes = [10**k for k in range(2, 8)]
    rows = line(2.0, sizes=sizes, repeats=400)
    clipped = rows.assign(value=0.0, metric="excess")
    both = pd.concat([rows, clipped])
    keys = {"metric": "excess", "axes": ["n"]}
    assert say(bound, both, **keys).verdict == "inconclusive"  # zeros have no slope
    assert say(bound, both, **keys, growth="error").verdict == "reproduced"
    steep = pd.concat([line(2.0, sizes=sizes, growth=0.3, repeats=400), clipped])
    assert say(bound, steep, **keys, growth="error").verdict == "not reproduced"


# -- UPPER, and a slope's lower end ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("growth", "side", "verdict"),
    [
        (-0.5, "upper", "reproduced"), (-0.9, "upper", "reproduced"), (-0.2, "upper", "not reproduced"),
        (-0.5, "lower", "inconclusive"), (-0.1, "lower", "reproduced"), (-0.9, "lower", "not reproduced"),
        (-0.9, None, "not reproduced"),
    ],
)  # fmt: skip
def test_a_slope_may_be_bounded_on_one_side(growth, side, verdict):
    rows = line(1.0, sizes=[10**k for k in range(2, 8)], growth=growth, expr=lambda n: 1.0, repeats=400, seed=1)
    keys = {"side": side} if side else {}
    margin = 0.0 if side == "lower" else 0.05
    found = say(slope, rows, axis="n", expected=-0.5, margin=margin, **keys)
    assert found.verdict == verdict
    assert found.low < growth < found.high


def test_a_slope_needs_the_values_that_the_claim_asks_for():
    rows = line(1.0, sizes=(100, 1000, 10000), repeats=400)
    keys = {"axis": "n", "expected": -0.5, "margin": 0.2}
    assert say(slope, rows, **keys).verdict == "reproduced"
    assert say(slope, rows, least_values=4, **keys).verdict == "not run"
    vacuous = line(1.0, sizes=(1000, 10**4, 10**5, 10**6, 10**7), vacuous=(1000, 10**4), repeats=400)
    found = say(slope, vacuous, least_values=4, without={"vacuous": 1}, **keys)
    assert found.verdict == "inconclusive" and "2 of 5 points are vacuous" in found.reason
    found = say(slope, vacuous, least_values=3, without={"vacuous": 1}, **keys)
    assert found.verdict == "reproduced" and "2 of 5 points are vacuous" in found.reason
    found = say(slope, vacuous.assign(vacuous=1), without={"vacuous": 1}, **keys)
    assert found.verdict == "inconclusive" and "5 of 5" in found.reason


# -- PROB, EXACT -----------------------------------------------------------------------------------------------------


def violations(count, repeats, points=4):
    values = np.arange(repeats) < count
    return claim_rows.stack(*(claim_rows.repeats("violated", values, HEAD, gamma=0.05, n=n) for n in range(points)))


def test_seventy_two_repeats_suffice_at_each_point():
    keys = {"metric": "violated", "points": ["n"], "level": 0.025, "apart": True}
    assert say(coverage, violations(0, 72), **keys).verdict == "reproduced"
    assert say(coverage, violations(0, 71), **keys).verdict == "inconclusive"
    assert say(coverage, violations(0, 72), **{**keys, "apart": False}).verdict == "inconclusive"
    assert say(coverage, violations(10, 72), **keys).verdict == "not reproduced"
    assert say(coverage, violations(0, 72, points=3), least_values=4, **keys).verdict == "inconclusive"


@pytest.mark.parametrize(("excess", "verdict"), [(-0.1, "reproduced"), (0.05, "inconclusive"), (0.3, "not reproduced")])
def test_an_excess_within_its_own_interval_decides_nothing(excess, verdict):
    rows = claim_rows.repeats("excess", [excess], HEAD)
    assert say(exact, rows, metric="excess", undecided=0.2).verdict == verdict


# -- ORDER, ratios ---------------------------------------------------------------------------------------------------


def errors(ratio, *, epsilons=(0.1, 0.5), splits=10, spread=0.05):
    frames = []
    for place, epsilon in enumerate(epsilons):
        rng = np.random.default_rng(place)
        base, own = rng.lognormal(sigma=1.0, size=splits), rng.lognormal(sigma=spread, size=splits)
        for mechanism, value in (("tddl", base), ("cms11", base * ratio[place] * own)):
            frames.append(claim_rows.repeats("error", value, HEAD, mechanism=mechanism, epsilon=epsilon))
    return claim_rows.stack(*frames)


LOG = [{"above": {"mechanism": "cms11"}, "below": {"mechanism": "tddl"}, "log": True}]


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        ((1.5, 1.5), "reproduced"), ((1.5, 1.1), "inconclusive"),
        ((1.5, 0.9), "not reproduced"), ((0.9, 0.9), "not reproduced"),
    ],
)  # fmt: skip
def test_every_point_has_to_hold(ratio, verdict):
    rows = errors(ratio)
    found = say(ordered, rows, points=["epsilon"], comparisons=LOG, offset=math.log(1.1), every=True)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        ((1.0, 1.02), "reproduced"), ((1.1, 1.0), "inconclusive"),
        ((1.0, 1.4), "not reproduced"), ((0.5, 0.5), "reproduced"),
    ],
)  # fmt: skip
def test_a_ratio_may_be_at_most_its_margin(ratio, verdict):
    found = say(within, errors(ratio), points=["epsilon"], comparisons=LOG, high=math.log(1.1))
    assert found.verdict == verdict
    both = say(within, errors(ratio), points=["epsilon"], comparisons=LOG, high=math.log(1.1), low=-math.log(1.1))
    assert both.verdict == ("not reproduced" if ratio == (0.5, 0.5) else verdict)
    power = f"its interval is {found.high - found.low:.2g} wide for {found.n} repeats (half as wide takes four times"
    assert (power in found.reason) == (verdict == "inconclusive")


def test_the_interval_is_students_and_wider_by_the_overlap():
    rows = errors((1.0,), epsilons=(0.1,))
    logs = np.log(rows["value"]).to_numpy().reshape(2, -1)
    values = logs[1] - logs[0]
    plain = stats.t.interval(0.95, 9, values.mean(), values.std(ddof=1) / math.sqrt(10))
    found = say(within, rows, points=["epsilon"], comparisons=LOG, high=1.0)
    assert (found.low, found.high) == pytest.approx(plain)
    wide = say(within, rows, points=["epsilon"], comparisons=LOG, high=1.0, overlap=71_012 / 500_000)
    factor = math.sqrt((1 / 10 + 71_012 / 500_000) / (1 / 10))
    assert wide.high - wide.low == pytest.approx(factor * (plain[1] - plain[0]))


def test_holm_shares_the_level_among_the_points_against_the_claim():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(10)
    values = (values - values.mean()) / values.std(ddof=1)
    shift = stats.t.ppf(1 - 0.015, 9) / math.sqrt(10)  # two-sided p = 0.03 at one point
    frame = [
        claim_rows.repeats("error", values + shift * (epsilon == 0.1), HEAD, epsilon=epsilon) for epsilon in (0.1, 0.5)
    ]
    keys = {"comparisons": [{}], "high": 0.0}
    assert say(within, frame[0], points=["epsilon"], **keys).verdict == "not reproduced"
    assert say(within, pd.concat(frame), points=["epsilon"], **keys).verdict == "inconclusive"


# -- the catalogue ---------------------------------------------------------------------------------------------------


def entry(**keys):
    return {
        "id": "J-c19", "paper": "jain2013", "place": "Theorem 5", "statement": "x", "experiment": "jain2013-thm5",
        "figure": "jain2013-thm5", "datasets": ["no-data"], "metric": "error",
        "variants": {"printed": {"where": {"d": 1}}}, **keys,
    }  # fmt: skip


def written(tmp_path, *entries):
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump(list(entries)))
    return path


def test_a_claim_goes_all_the_way_from_its_file_to_a_verdict(tmp_path):
    entries = [
        entry(test="bound", axes=["n"], bound="reread", variants={"printed": {"where": {"d": 1}}}),
        entry(id="J-c20", test="within", points=["n"], comparisons=[{}], high=0.0),
    ]
    catalogue = catalogue_of.load(written(tmp_path, *entries), SCHEMA)
    assert {"reread", "n", "vacuous"} <= set(select.columns(catalogue[0], claims.TESTS["bound"].COLUMNS))
    rows = line(2.0, sizes=[10**k for k in range(2, 8)], repeats=400, d=1).rename(columns={"bound": "reread"})
    rows = rows.assign(title="", mechanism="tddl", epsilon=0.1, delta=1e-6, seed=0)
    tables.write(rows, tmp_path / "rows.parquet", metadata={})
    claims.judge(
        catalogue, {"jain2013-thm5": tmp_path / "rows.parquet"}, tmp_path / "c.parquet", unavailable={}, metadata={}
    )
    found = claims.read(tmp_path / "c.parquet")
    assert list(found["verdict"]) == ["reproduced", "not reproduced"]
