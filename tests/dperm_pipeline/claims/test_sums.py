"""What ORD, EQ and MON compare: signed sums, repeat by repeat, of the rows that a claim names."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from claim_points import PAIR, claim, noise, say, table

from dperm.errors import ConfigError, DataError
from dperm_pipeline.claims import equal, ordered, points

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
