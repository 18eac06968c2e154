"""jain2013-queries: the promised numbers of queries against the constants, and noise laws by brute force."""

import math
import types

import fake_jain2013
import numpy as np
import pytest
from chosen_rows import measured as of
from scipy import stats

from dperm.accounting import gaussian
from dperm.domain import Budget
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting
from dperm_papers.jain2013.queries import experiment as queries
from dperm_papers.jain2013.shared import sphere
from dperm_pipeline.experiments import Cell

BUDGET = Budget(1.0, 1e-6)


@pytest.fixture(scope="module")
def rows():
    return fake_jain2013.queries()


def test_at_the_promised_number_of_queries_the_printed_error_is_a_tenth(rows):
    part = of(rows, "log_queries", calibration="paper")
    for row in part[part["value"] < 600].itertuples():
        known = pinp.constants(
            Setting(1.0, 1.0, row.total, 1.0), BUDGET, queries=math.exp(row.value), calibration="paper"
        )
        assert known.error == pytest.approx(0.1, rel=1e-9)


def test_log_t_grows_like_n_to_two_thirds_as_printed_and_like_n_corrected(rows):
    for calibration, power, margin in (("paper", 2 / 3, 1e-9), ("corrected", 1.0, 0.01), ("tight", 1.0, 0.01)):
        part = of(rows, "log_queries", calibration=calibration).sort_values("total")
        # log(2T/beta) is the power, exactly as printed.
        offset = math.log(2 / 0.05) if calibration == "paper" else 0.0
        slopes = np.diff(np.log(part["value"] + offset)) / np.diff(np.log(part["total"]))
        np.testing.assert_allclose(slopes, power, atol=margin)


def test_one_path_is_as_far_off_at_any_number_of_queries(rows):
    keys = ["n", "curvature", "repeat"]
    path = of(rows, "error", mechanism="rkhs_gaussian", variant="").set_index(keys)["value"]
    ball = of(rows, "supremum").set_index(keys)["value"]
    assert (path <= ball.reindex(path.index)).all() and (path > 0.5 * ball.reindex(path.index)).all()
    # sigma = Delta_w/a is the only thing that lambda changes.
    np.testing.assert_allclose(path.xs(1.0, level="curvature"), 1000 * path.xs(1000.0, level="curvature"), rtol=1e-12)


def test_fresh_noise_is_that_of_a_gaussian_release_of_t_answers():
    """T answers move by sqrt(T) Delta_1 together; the largest of T normal variables, by brute force."""
    settings = types.SimpleNamespace(epsilon=1.0, delta=1e-6, repeats=4000)
    found = queries.fresh(Cell("jain2013", "x", 1, {}, settings), 4, 1.0)
    sd = math.sqrt(64) * (2 / 4) / gaussian.gaussian_ratio(1.0, 1e-6)
    brute = np.abs(np.random.default_rng(1).normal(0, sd, (4000, 64))).max(axis=1)
    assert stats.ks_2samp(found, brute).pvalue > 1e-3
    assert gaussian.hockey_stick(1.0, math.sqrt(64) * 0.5 / sd) <= 1e-6


def test_vacuous_pinp_answers_0_and_is_marked(rows):
    # With lambda = 1 no n here is large enough.
    part = of(rows, "error", mechanism="pinp", curvature=1.0)
    assert (part["vacuous"] == 1).all()
    zero = of(rows, "error", mechanism="zero", curvature=1.0).set_index("n")["value"]
    np.testing.assert_allclose(part["value"], zero.reindex(part["n"]).to_numpy())
    assert (of(rows, "error", mechanism="pinp", curvature=1000.0, n=32)["vacuous"] == 0).all()


def test_the_answer_0_errs_by_the_largest_answer(rows):
    answers = sphere.queries(1, 32**3) @ sphere.target(1)
    for n in (8, 16, 32):
        found = of(rows, "error", mechanism="zero", n=n, curvature=1.0)
        assert found["value"].item() == pytest.approx(np.abs(answers[: n**3]).max(), rel=1e-12)


def test_rows_are_whole_and_repeat(rows):
    keys = ["mechanism", "calibration", "variant", "metric", "n", "curvature", "repeat"]
    assert not rows.duplicated(keys).any() and (rows["status"] == "ok").all()
    fake_jain2013.queries.cache_clear()
    np.testing.assert_array_equal(rows["value"], fake_jain2013.queries()["value"])
