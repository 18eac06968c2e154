"""What all rules on rows share: which rows they read, what they refuse, how they resample."""

import math

import numpy as np
import pandas as pd
import pytest
from claim_rows import SLOPE, VANISH, claim, falling, power_law, repeats, say, stack, violated

from dperm.errors import ConfigError, DataError
from dperm_pipeline.claims import coverage, exact, select, slope, threshold, vanishing

RULES = {"exact": exact, "coverage": coverage, "slope": slope, "vanishing": vanishing, "threshold": threshold}


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
