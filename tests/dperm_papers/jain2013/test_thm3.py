"""jain2013-thm3: bounds by their words, runs by a literal Algorithm 1, and what the rows say of halting and units."""

import math
import types

import fake_jain2013
import numpy as np
import pytest
from chosen_rows import measured as of
from scipy import stats

from dperm import seeds
from dperm.domain import Budget
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting
from dperm_papers.jain2013.shared import sphere
from dperm_papers.jain2013.thm3 import experiment as thm3

BUDGET = Budget(1.0, 1e-6)


@pytest.fixture(scope="module")
def rows():
    return fake_jain2013.thm3()


def test_theorems_by_their_words():
    setting = Setting(lipschitz=2.0, feature_norm=3.0, total=500.0, radius=7.0)
    budget = Budget(0.4, 1e-5)
    printed = 7 * 9 * math.sqrt(2 * math.log(100 / 0.05)) * math.log(1e5) ** 2 / math.sqrt(500 * 0.4)
    assert thm3.theorem_3(setting, budget, 100, 0.05) == pytest.approx(printed, rel=1e-12)
    ten = (2 * 2 * 9 / 500) * math.sqrt(64) * math.log(1e5) * math.log(100 / 0.05) / 0.4
    assert thm3.theorem_10(setting, budget, 64, 100, 0.05) == pytest.approx(ten, rel=1e-12)


def test_theorem_3_does_not_depend_on_units_and_algorithm_1_does(rows):
    for s in (0.1, 10.0):
        scaled = thm3.theorem_3(Setting(1.0, s, 1e6 * s**2, 1 / s), BUDGET, 100, 0.05)
        assert scaled == pytest.approx(thm3.theorem_3(Setting(1.0, 1.0, 1e6, 1.0), BUDGET, 100, 0.05), rel=1e-12)
    for calibration in ("corrected", "tight"):
        assert of(rows, "excess", calibration=calibration)["value"].max() < 1e-12
    # B falls like 1/s, and sigma like 1/sqrt(s).
    printed = of(rows, "excess", calibration="paper")
    for form, power in (("allowed", 1.0), ("threshold", 0.5)):
        part = printed[printed["form"] == form]
        np.testing.assert_allclose(part["value"], np.abs(part["scale"] ** -power - 1), rtol=1e-9)


def test_queries_are_unit_directions_and_begin_the_longer_list():
    Z = sphere.queries(3, 50)
    lengths = np.linalg.norm(Z, axis=1)
    assert (lengths <= 1).all() and np.allclose(lengths, 1, atol=1e-14)
    np.testing.assert_array_equal(Z[:20], sphere.queries(3, 20))
    assert np.linalg.norm(sphere.target(3)) == pytest.approx(1, rel=1e-14)


def test_maxima_of_paths_by_brute_force():
    Z = sphere.queries(3, 40_000)
    found = sphere.path_maxima(Z, [7, 20_000, 40_000], 5, np.random.default_rng(1))
    xi = np.random.default_rng(1).standard_normal((5, 10))
    values = np.abs(Z @ xi.T)
    wanted = [values[:7].max(axis=0), values[:20_000].max(axis=0), values.max(axis=0), np.linalg.norm(xi, axis=1)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_grid_points_stand_once_and_the_axes_cross():
    points = thm3.grid(types.SimpleNamespace(queries=[100, 10_000], totals=[1e6, 1e8], radii=[0.1, 1.0]))
    keys = [(p["total"], p["queries"], p["radius"], p["fixed"]) for p in points]
    assert len(set(keys)) == len(keys) == 4 + 2 + 1
    for point in points:
        assert point["n"] * point["curvature"] == pytest.approx(point["total"], rel=1e-9)
    assert {p["n"] for p in points if p["fixed"] == "n"} == {10**9}


def test_printed_runs_are_those_of_a_literal_algorithm_1(rows):
    """The same noise through lines 1 to 12 of Algorithm 1, word by word."""
    total, T, C, beta = 1e8, 1000, 1.0, 0.05
    log_4 = math.log(4 / 1e-6)
    B = total * C**2 / (200 * math.sqrt(2 * math.log(2 * T / beta)) * log_4)
    epsilon0 = total / (200 * math.sqrt(B) * log_4)
    sigma = 4 / epsilon0 * math.log(2 * T / beta)
    eta = sigma / 4
    Z, w_star = sphere.queries(1, 10_000)[:T], sphere.target(1)
    rng = seeds.generator(1, "jain2013-thm3", "noise", total, T, C, "lambda", "paper")
    for repeat in range(3):
        zeta, w, counter, worst = rng.laplace(0.0, 1 / epsilon0, T), np.zeros(10), 0, 0.0
        for t in range(T):
            a_hat = w_star @ Z[t] + zeta[t]
            d_hat = a_hat - w @ Z[t]
            if abs(d_hat) > sigma and counter < B:
                answer, w, counter = a_hat, w + eta * np.sign(d_hat) * Z[t], counter + 1
            else:
                answer = w @ Z[t]
            worst = max(worst, abs(answer - w_star @ Z[t]))
        where = {"calibration": "paper", "total": total, "queries": T, "fixed": "lambda", "repeat": repeat}
        assert of(rows, "updates", **where)["value"].item() == counter
        assert of(rows, "error", **where, mechanism="pinp")["value"].item() == pytest.approx(worst, rel=1e-9)
    where = {"calibration": "paper", "total": total, "queries": T}
    assert of(rows, "allowed", **where)["value"].item() == pytest.approx(B, rel=1e-12)
    assert of(rows, "threshold", **where)["value"].item() == pytest.approx(sigma, rel=1e-12)


def test_the_answer_0_errs_by_the_largest_answer(rows):
    answers = sphere.queries(1, 10_000) @ sphere.target(1)
    found = of(rows, "error", mechanism="zero", radius=10.0)
    assert found["value"].item() == pytest.approx(10 * np.abs(answers).max(), rel=1e-12)


def test_printed_runs_halt_where_c_is_small_and_have_no_error_then(rows):
    where = {"calibration": "paper", "mechanism": "pinp", "radius": 0.1}
    assert (of(rows, "halted", **where)["value"] == 1).all()
    assert (of(rows, "error", **where)["status"] == "unknown").all()
    assert (of(rows, "error_live", **where)["status"] == "ok").all()
    others = of(rows, "halted").query("calibration != 'paper' or radius != 0.1")
    assert (others["value"] == 0).all()


def test_violations_are_live_errors_beyond_their_promise(rows):
    keys = ["calibration", "total", "queries", "radius", "fixed", "repeat"]
    wide = rows[rows["metric"].isin(["error_live", "violated"])].pivot(index=keys, columns="metric", values="value")
    sigma = of(rows, "threshold").set_index(keys[:-1])["value"]
    beyond = wide["error_live"] > 1.25 * sigma.reindex(wide.index.droplevel("repeat")).to_numpy()
    np.testing.assert_array_equal(beyond, wide["violated"])


def test_what_is_vacuous_and_what_is_capped(rows):
    own = rows[(rows["mechanism"] == "pinp") & (rows["metric"] == "allowed")]
    for row in own.itertuples():
        setting = Setting(1.0, 1.0, row.total, row.radius)
        known = pinp.constants(setting, BUDGET, queries=row.queries, beta=0.05, calibration=row.calibration)
        vacuous = known.bound < 1 or known.threshold >= row.radius / 2 or row.bound >= row.radius
        assert row.vacuous == vacuous
        assert row.capped == (row.calibration != "paper" and row.value == row.queries)
    assert set(own["vacuous"]) == {0, 1} == set(own["capped"])


def test_one_path_has_the_sd_of_a_tight_gaussian_release(rows):
    """At one direction: M is sigma times the largest |<xi, z>|, whose mean over paths is known up to the repeats."""
    part = of(rows, "error", mechanism="rkhs_gaussian", total=1e8, queries=10_000, fixed="lambda", radius=1.0)
    scale = 2 / 1e8 * 4.22467889  # analytic Gaussian factor at (1, 1e-6), Balle & Wang
    assert (part["value"] < scale * stats.chi(10).ppf(1 - 1e-9)).all()
    assert (part["value"] > scale * stats.chi(10).ppf(1e-9) * 0.5).all()


def test_rows_are_whole_and_repeat(rows):
    keys = [
        "mechanism", "calibration", "metric", "form", "row", "fixed", "total", "queries", "radius", "scale", "repeat",
    ]  # fmt: skip
    assert not rows.duplicated(keys).any()
    fake_jain2013.thm3.cache_clear()
    np.testing.assert_array_equal(rows["value"], fake_jain2013.thm3()["value"])
