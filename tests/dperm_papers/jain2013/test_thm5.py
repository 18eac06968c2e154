"""Theorem 5's experiment: the laws of points, the thin algebra, and rows that say what a literal transcription says."""

import math

import cells
import numpy as np
import pandas as pd
import pytest
import together
from scipy import optimize

from dperm import seeds
from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.mechanisms.kernel import tddl
from dperm.mechanisms.kernel.constants import Setting
from dperm_papers.jain2013.thm5 import experiment as thm5
from dperm_papers.jain2013.thm5 import feature_laws
from dperm_pipeline import experiments

SETTINGS = {
    "repeats": 4, "side_repeats": 3, "totals": [300, 600], "middle_total": 600, "queries": [20, 40], "sizes": [1200],
    "curvatures": [1.0], "features": [20, 400], "exchange_totals": [10**7, 10**9], "test_rows": 30, "pool_rows": 50,
    "designs": ["ten-directions", "decaying"], "epsilon": 1.0, "delta": 1e-6, "gammas": [0.05], "dimension": 15,
    "noise_draws": 2,
    "public_points": 60,
}  # fmt: skip


def cell(part, **settings):
    return cells.cell("jain2013-thm5", SETTINGS | settings, seed=5, part=part)


@pytest.fixture(scope="module")
def rows():
    return experiments.run(cell("all"))


# -- laws ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("law", "d"), [("ten-directions", 40), ("decaying", 40), ("decaying", 5000)])
def test_rows_are_unit_vectors_beside_a_unit_w(law, d):
    rows = feature_laws.draw(law, 200, d, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(rows.phi, axis=1), 1.0)
    assert np.linalg.norm(rows.w) == pytest.approx(1.0)
    assert rows.phi.shape[1] <= min(d, 201) and rows.d == d


def test_the_basis_of_the_span_has_the_inner_products_of_the_rows(monkeypatch):
    monkeypatch.setattr(feature_laws, "BLOCK", 7)
    rows = feature_laws.draw("decaying", 12, 30, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    starts = range(0, 30, 7)
    full = np.hstack([rng.standard_normal((12, min(7, 30 - s))) / np.arange(s + 1, min(s + 7, 30) + 1) for s in starts])
    full /= np.linalg.norm(full, axis=1, keepdims=True)
    w = np.r_[np.full(10, 10**-0.5), np.zeros(20)]
    np.testing.assert_allclose(rows.phi @ rows.phi.T, full @ full.T, atol=1e-12)
    np.testing.assert_allclose(rows.phi @ rows.w, full @ w, atol=1e-12)


def test_narrow_and_wide_decaying_rows_have_one_law():
    def moments(count, d, draws):
        found = [feature_laws.draw("decaying", count, d, np.random.default_rng(k)) for k in range(draws)]
        return np.concatenate([rows.phi @ rows.w for rows in found])

    narrow, wide = moments(60, 50, 100), moments(40, 50, 150)  # 60 rows: coordinates; 40: basis
    assert np.std(narrow) == pytest.approx(np.std(wide), rel=0.06)
    assert abs(np.mean(narrow) - np.mean(wide)) < 4 * np.std(narrow) * math.sqrt(2 / 6000)


def test_half_of_w_lies_where_no_point_tells_of_it(rows):
    law = feature_laws.draw("half-outside", 50, 40, np.random.default_rng(0))
    inside = feature_laws.draw("ten-directions", 50, 40, np.random.default_rng(0))
    np.testing.assert_array_equal(law.phi, inside.phi)
    np.testing.assert_allclose([law.w @ law.w, law.outside**2], 0.5)
    # Whatever is released, w* is missed by the part outside.
    missed = rows[(rows["series"] == "outside") & (rows["metric"] == "worst")]["value"]
    assert len(missed) and (missed >= math.sqrt(0.5)).all()


def test_unknown_laws_and_narrow_spaces_are_refused():
    with pytest.raises(ConfigError, match="unknown law 'flat'"):
        feature_laws.draw("flat", 5, 20, np.random.default_rng(0))
    with pytest.raises(ConfigError, match="d=9 must be at least 10"):
        feature_laws.draw("decaying", 5, 9, np.random.default_rng(0))


# -- the algebra -----------------------------------------------------------------------------------------------------


@together.over("shape", [(40, 6), (6, 40), (12, 12)])
@together.over("radius", [0.3, 100.0])
def test_the_thin_fit_is_the_least_squares_fit_over_the_ball(shape, radius):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal(shape) / 3
    target = rng.standard_normal(shape[0])
    found = tddl.fit(thm5.thin(Z), target[None, :], radius).coefficients @ Z

    def loss(w):
        return float(((Z @ w - target) ** 2).sum())

    # Lagrange: the ridge whose solution has the length of the ball, or the shortest minimiser.
    shortest = np.linalg.pinv(Z) @ target
    if np.linalg.norm(shortest) > radius:

        def ridge(m):
            return np.linalg.solve(Z.T @ Z + m * np.eye(shape[1]), Z.T @ target)

        m = optimize.brentq(lambda m: np.linalg.norm(ridge(m)) - radius, 1e-12, 1e4, xtol=1e-14)
        shortest = ridge(m)
    np.testing.assert_allclose(found[0], shortest, atol=1e-7)
    assert np.linalg.norm(found) <= radius * (1 + 1e-9)
    assert loss(found[0]) <= loss(shortest) * (1 + 1e-9) + 1e-12


def test_the_mean_coordinate_of_the_sphere():
    u = np.random.default_rng(0).standard_normal((200_000, 7))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    assert thm5.mean_coordinate(7) == pytest.approx(np.abs(u[:, 0]).mean(), rel=5e-3)
    assert thm5.mean_coordinate(2) == pytest.approx(2 / math.pi)


def test_the_excess_of_the_hinge_loss_is_never_below_zero():
    f, exact = np.array([[0.5, -2.0], [0.9, 0.1]]), np.array([0.4, 0.2])
    positive = np.array([1.0, 0.25])
    expected = [
        (0.5 + (0.25 * 3 + 0.75 * 0)) / 2 - (0.6 + 0.25 * 0.8 + 0.75 * 1.2) / 2,
        (0.1 + 0.25 * 0.9 + 0.75 * 1.1) / 2 - (0.6 + 0.25 * 0.8 + 0.75 * 1.2) / 2,
    ]
    np.testing.assert_allclose(thm5.excess(f, exact, positive), np.maximum(expected, 0))
    np.testing.assert_allclose(thm5.hinge(f, positive), [(0.5 + 0.25 * 3) / 2, (0.1 + 0.25 * 0.9 + 0.75 * 1.1) / 2])


def test_the_loss_itself_stands_beside_its_excess(rows):
    """Corollary 6 bounds the loss, which is above that of w* by the excess: at most, for that is cut off at 0."""
    here = rows[(rows["series"] == "corollary") & (rows["mechanism"] == "tddl") & (rows["calibration"] == "paper")]
    keys = ["dataset", "curvature", "n", "variant", "repeat"]
    loss, excess = (here[here["metric"] == name].set_index(keys)["value"] for name in ("loss", "excess"))
    assert len(loss) == len(excess) and (loss > excess.loc[loss.index]).all()


def test_theorem_5s_queries_and_bound():
    assert thm5.theorem5_queries(1200.0, 1.0, 1.0, 1e-6) == round(1200 / math.sqrt(math.log(1e6)))
    assert thm5.theorem5_queries(600.0, 2.0, 0.5, 1e-6) == round(600 / math.sqrt(math.log(1e6)))
    assert thm5.theorem5_queries(0.01, 1.0, 1.0, 1e-6) == 1
    point = thm5.Point("total", "decaying", 1200.0, 323, 100, radius=2.0)
    expected = math.sqrt(2 * math.log(1e6) ** 0.5) * math.log(323 / 0.05) / math.sqrt(1200 * 0.5)
    assert thm5.theorem5_bound(point, 0.5, 1e-6, 0.05) == pytest.approx(expected)


# -- rows ------------------------------------------------------------------------------------------------------------


def test_every_series_law_and_method_has_its_rows(rows):
    assert set(rows["series"]) == {"total", "queries", "corollary", "features", "exchange", "outside"}
    assert (rows["status"] == "ok").all() and rows["value"].notna().all()
    total = rows[(rows["series"] == "total") & (rows["metric"] == "error")]
    methods = set(zip(total["mechanism"], total["variant"], total["calibration"], total["guarantee"], strict=True))
    assert methods == {
        ("tddl", "", "paper", "proved_exact"), ("tddl", "", "corrected", "proved"), ("tddl", "", "tight", "proved"),
        ("tddl", "bare", "paper", "none"), ("explicit_output", "", "tight", "proved"),
        ("cms11", "", "paper", "proved_exact"), ("trivial", "", "paper", "proved"),
    }  # fmt: skip
    assert len(total) == 2 * 2 * 7 * 4
    corollary = rows[rows["series"] == "corollary"]
    assert set(corollary["n"]) == {1200} and set(corollary["radius"]) == {2.0}
    assert (corollary["queries"] == round(1200 / math.sqrt(math.log(1e6)))).all()
    assert not rows[rows["calibration"] == "tight"]["metric"].eq("violated").any()


def test_the_same_cell_gives_the_same_rows_and_a_part_gives_its_own(rows):
    pd.testing.assert_frame_equal(experiments.run(cell("all")), rows)
    part = experiments.run(cell("corollary"))
    own = rows[rows["series"] == "corollary"].reset_index(drop=True)
    pd.testing.assert_frame_equal(part, own)
    with pytest.raises(ConfigError, match="unknown part 'none'"):
        experiments.run(cell("none"))


def test_an_error_is_that_of_a_literal_transcription():
    """One repeat of one point, with the generator replayed and explicit matrices."""
    settings = {"repeats": 1, "totals": [300], "designs": ["decaying"], "pool_rows": 20}
    found = experiments.run(cell("total", **settings))
    T, d, test = thm5.theorem5_queries(300.0, 1.0, 1.0, 1e-6), 15, 30
    rng = seeds.generator(5, "jain2013-thm5", "total", "decaying", 300.0, T, d, 1.0)
    phi = rng.standard_normal((T + test, d)) / np.arange(1, d + 1)
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    Z, fresh, w = phi[:T], phi[T:], np.r_[np.full(10, 10**-0.5), np.zeros(5)]
    setting = Setting(1.0, 1.0, 300.0, 1.0, slack=0.05 * 2 / 300)
    nu, _ = tddl.scale(setting, Budget(1.0, 1e-6), T, "paper")
    b = nu * rng.laplace(size=T)

    def ridge(m):
        return np.linalg.solve(Z.T @ Z + m * np.eye(d), Z.T @ (Z @ w + b))

    estimate = ridge(0.0)
    if np.linalg.norm(estimate) > 1:
        estimate = ridge(optimize.brentq(lambda m: np.linalg.norm(ridge(m)) - 1, 0, 1e6))
    own = found[(found["mechanism"] == "tddl") & (found["calibration"] == "paper") & (found["variant"] == "")]
    value = own.set_index("metric")["value"]
    assert value["error"] == pytest.approx(np.abs(fresh @ (estimate - w)).mean(), rel=1e-6)
    assert value["error_points"] == pytest.approx(np.abs(Z @ (estimate - w)).mean(), rel=1e-6)
    assert value["worst"] == pytest.approx(np.linalg.norm(estimate - w), rel=1e-6)
    limit = 2 * math.sqrt(2) * nu * math.log(T / 0.05)
    assert value["violated"] == float(np.abs(Z @ (estimate - w)).mean() > limit)


def test_the_mean_excess_has_the_mean_of_the_excess_and_less_spread():
    settings = {"repeats": 60, "features": [20], "designs": ["decaying"], "noise_draws": 16}
    found = experiments.run(cell("features", **settings))
    own = found[(found["radius"] == 2) & (found["calibration"] == "paper") & (found["variant"] == "")]
    one, many = (own[own["metric"] == name]["value"] for name in ("excess", "mean_excess"))
    assert len(one) == len(many) == 60
    assert abs(one.mean() - many.mean()) < 4 * math.hypot(one.sem(), many.sem())
    # Noise alone would give 1/4.
    assert 0.1 < many.std() / one.std() < 0.5


def test_the_best_number_of_queries_is_found_on_half_of_the_repeats(rows):
    swept = rows[(rows["series"] == "queries") & (rows["dataset"] == "decaying") & (rows["mechanism"] == "tddl")]
    own = swept[(swept["calibration"] == "paper") & (swept["variant"] == "")]
    table = own[own["metric"] == "error"].pivot(index="repeat", columns="queries", values="value")
    best = table.loc[[0, 2]].mean().idxmin()
    expected = (table[thm5.theorem5_queries(600.0, 1.0, 1.0, 1e-6)] / table[best]).loc[[1, 3]]
    found = own[own["metric"] == "over_best"]
    np.testing.assert_allclose(found["value"], expected)
    assert set(found["best_queries"]) == {best}


def test_pinps_answers_are_marked_vacuous_where_they_say_nothing(rows):
    exchange = rows[rows["series"] == "exchange"]
    paper = exchange[exchange["calibration"] == "paper"]
    assert set(paper[paper["total"] == 10**9]["vacuous"]) == {0}
    assert set(exchange["variant"]) == {"", "pinp-answers"} and len(exchange) == 2 * 2 * 3 * 2 * 3
    less = experiments.run(cell("exchange", exchange_totals=[1000]))
    assert set(less[less["calibration"] == "paper"]["vacuous"]) == {1}
