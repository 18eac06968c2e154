"""li2021-bounds: its formulas against literal ones, its fits against cvxpy, its inequalities against brute force."""

import math
import types

import cvxpy as cp
import fake_rows
import numpy as np
import pytest
from chosen_rows import measured
from scipy import integrate, optimize, stats

from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.mechanisms.napp import noise
from dperm.mechanisms.napp.scheme import Scheme
from dperm.noise import Gaussian, SphericalLaplace
from dperm_papers.li2021.bounds import (
    bound_fits,
    budget_bounds,
    figures,
    formulas,
    risk_bounds,
    risk_rates,
    sample_bounds,
)
from dperm_papers.li2021.bounds import experiment as bounds
from dperm_papers.li2021.shared import designs
from dperm_pipeline import figures as drawing
from dperm_pipeline.experiments import Cell
from dperm_pipeline.figures import style
from dperm_pipeline.rows import Rows

PURE, APPROXIMATE = Budget(0.8), Budget(0.8, 1e-4)


@pytest.fixture(scope="module")
def rows():
    return fake_rows.li2021_bounds()


def of(rows, metric, **where):
    return measured(rows, metric, **where)["value"].to_numpy()


# Formulas


def test_lengths_of_noise_as_theorem_8_prints_them():
    zeta, r, pi, p = 2.9, 0.5, 0.05, 16
    pure = (p * zeta / (r * 0.8) * math.log(p / pi)) ** 2
    assert formulas.noise_square(PURE, p, zeta, r, pi) == pytest.approx(pure, rel=1e-14)
    gauss = 4 * p * zeta**2 / (r * 0.8) ** 2 * (r * 0.8 + math.log(2 / 1e-4)) * math.log(1 / pi)
    assert formulas.noise_square(APPROXIMATE, p, zeta, r, pi) == pytest.approx(gauss, rel=1e-14)


@pytest.mark.parametrize("pi", [0.01, 0.1, 0.5])
def test_lengths_of_noise_hold_for_the_right_laws(pi):
    """Exactly: ||b|| is Gamma(p, .), ||b||^2/sigma^2 is chi-squared."""
    scale = 1 / (0.5 * 0.8)
    pure = math.sqrt(formulas.noise_square(PURE, 16, 1.0, 0.5, pi))
    assert stats.gamma(16, scale=scale).sf(pure) <= pi
    law, *_ = noise.calibrate(
        noise.Bounds(1, 1, 1), APPROXIMATE, share=0.5, variant="erm", calibration="paper", features=16
    )
    assert stats.chi2(16).sf(formulas.noise_square(APPROXIMATE, 16, 1.0, 0.5, pi) / law.scale**2) <= pi


def test_the_length_of_gaussian_noise_fails_where_pi_is_near_1():
    law, *_ = noise.calibrate(
        noise.Bounds(1, 1, 1), APPROXIMATE, share=0.5, variant="erm", calibration="paper", features=16
    )
    assert stats.chi2(16).sf(formulas.noise_square(APPROXIMATE, 16, 1.0, 0.5, 0.9) / law.scale**2) > 0.99


def test_lemma_and_product_and_their_limits():
    assert formulas.lemma(8.0, 2.0, 3.0, 10) == pytest.approx(0.7)
    assert formulas.product(8.0, 2.0, 3.0, 10) == pytest.approx(2.8)
    assert formulas.lemma(8.0, np.inf, 3.0, 10) == pytest.approx(0.3)
    assert formulas.lemma(8.0, 2.0, np.inf, 10) == np.inf


@pytest.mark.parametrize("budget", [PURE, APPROXIMATE])
def test_theorem_8_as_proved_is_half_of_theorem_26_in_its_first_term(budget):
    """With modulus 2 Lambda0 = Delta and r = 1/2; and the second terms are equal where G = Lambda0 T^2."""
    curvature, zeta, n = 3.0, 2.0, 100
    square = formulas.noise_square(budget, 16, zeta, 0.5, 0.1)
    ours = formulas.lemma(square, curvature, 0.0, n)
    other = formulas.theorem_26(budget, 16, zeta, 0.1, curvature, 0.0, n)
    assert ours / other == pytest.approx(0.5, rel=1e-12)
    second = formulas.theorem_26(budget, 16, zeta, 0.1, curvature, 4.0, n) - other
    assert second == pytest.approx(0.5 * curvature * 4.0 / n, rel=1e-9)


@pytest.mark.parametrize("budget", [PURE, APPROXIMATE])
def test_the_records_that_equation_21_asks_for_are_the_fewest(budget):
    n = formulas.enough_records(budget, 16, 2.9, 0.5, 0.05, 2.5, 7.0, 0.3)
    constant = (2 if budget.delta == 0 else 1) * formulas.noise_square(budget, 16, 2.9, 0.5, 0.05)
    least = (7.0 + constant / 2.5) / 0.3
    assert n > least >= n - 1


# Budgets


def test_pure_noise_spends_its_share_and_the_determinant():
    for epsilon in (0.1, 1.0, 5.0):
        found = budget_bounds.tight_epsilon(SphericalLaplace(2 / epsilon), 1.0, 0.0, math.log1p(epsilon / 2))
        assert found == pytest.approx(epsilon / 2 + math.log1p(epsilon / 2), rel=1e-12)
        assert found < epsilon


def test_gaussian_noise_spends_what_a_grid_search_finds():
    from dperm.accounting import objective

    law, delta, log_det = Gaussian(9.0), 1e-4, math.log1p(0.4)
    found = budget_bounds.tight_epsilon(law, 1.0, delta, log_det)
    pair = {"log_det": log_det, "one_sided": False, "neighbours": "add_remove"}
    assert objective.objective_delta(1 / 9, epsilon=found * (1 + 1e-9), **pair) <= delta
    assert objective.objective_delta(1 / 9, epsilon=found * (1 - 1e-6), **pair) > delta


def test_the_printed_radius_spends_without_bound():
    assert budget_bounds.tight_epsilon(noise.PrintedSpherical(100.0), 1.0, 0.0, 0.1) == math.inf


def test_equation_12_solves_the_quadratic_of_its_proof():
    for epsilon, delta in ((0.1, 1e-4), (1.0, 1e-3), (10.0, 1e-6)):
        budget, t = Budget(epsilon, delta), math.sqrt(-2 * math.log(delta))
        sigma = budget_bounds.equation_12(budget)
        # (2 sigma t + 1)/(2 sigma^2) = epsilon/2
        assert (2 * sigma * t + 1) / (2 * sigma**2) == pytest.approx(epsilon / 2, rel=1e-12)
        assert budget_bounds.short_form(budget) > sigma
        law, *_ = noise.calibrate(
            noise.Bounds(1, 1, 1), budget, share=0.5, variant="erm", calibration="paper", features=3
        )
        assert law.scale == pytest.approx(budget_bounds.short_form(budget), rel=1e-12)


def test_proposition_6_misses_a_factor_2_and_fails_for_lasso(rows):
    # The largest log-determinant is that along the flattest axis.
    diagonal = np.array([[0.5, 2.0], [3.0, 0.1]])
    found = budget_bounds.log_determinant(0.01, diagonal, 2.0)
    np.testing.assert_allclose(found, np.log1p(2.0 / (0.01 + diagonal.min(axis=1))), rtol=1e-12)
    part = {"row": "proposition-6"}
    for where in ({"target": "ridge"}, {"target": "lasso", "reading": "frozen"}):
        assert of(rows, "excess", **part, form="mended", **where).max() <= 0
    assert of(rows, "excess", **part, form="mended", target="lasso", reading="fixed").min() > 1
    printed = of(rows, "excess", **part, form="printed", target="ridge", reading="fixed")
    # log(1 + x) with x = zeta3/(2 w) against x/2: above while x < 2.51.
    assert printed.max() > 0.9


def test_slips_of_the_ridge_term_the_limit_and_the_order_of_equation_18(rows):
    np.testing.assert_allclose(of(rows, "excess", row="ridge-term", form="printed"), 0, atol=1e-12)
    np.testing.assert_allclose(of(rows, "excess", row="ridge-term", form="mended"), 0.5, rtol=1e-12)
    assert of(rows, "excess", row="limit", form="mended").max() < 1e-12
    # Lambda = 10 Lambda0: all of |theta| <= 3 are below the knee; at Lambda = Lambda0 they lie on both sides.
    assert of(rows, "excess", row="limit", form="printed", multiple=10.0).max() < 1e-12
    assert of(rows, "excess", row="limit", form="printed", multiple=1.0).min() > 0.01
    growth = {form: of(rows, "growth", row="order-18", form=form) for form in ("printed", "mended")}
    assert growth["printed"].tolist() == pytest.approx([(k + 1) ** 2 / k * math.log(10) for k in range(1, 13)])
    assert growth["mended"].tolist() == pytest.approx([(1 + 1 / k) ** 2 for k in range(1, 13)])


def test_targets_are_reached_by_ridge_and_by_halved_weights_alone(rows):
    assert of(rows, "excess", row="target", form="printed", target="ridge").max() < 1e-12
    assert max(of(rows, "excess", row="target", form=form).max() for form in ("halved", "own")) < 1e-12
    # P - Lambda R = Lambda |theta|.
    assert of(rows, "excess", row="target", form="printed", target="elastic_net").min() > 0.3


# Fits


@pytest.fixture(scope="module", params=["linear-500", "logistic-500"])
def sample(request):
    design = designs.find(request.param)
    X, y = designs.training(1, "test", request.param, 2)
    return bound_fits.Sample.of(design.loss, X[:, :80], y[:, :80])


def literal(loss, eta, y):
    return 0.5 * (eta - y) ** 2 if loss == "squared" else np.logaddexp(0, -y * eta)


def test_sums_of_losses_by_their_words(sample):
    theta = np.random.default_rng(2).normal(size=(2, 3, 16))
    for r in range(2):
        for k in range(3):
            wanted = literal(sample.loss, sample.X[r] @ theta[r, k], sample.y[r]).sum()
            assert sample.losses(theta)[r, k] == pytest.approx(wanted, rel=1e-10)
    wanted = sample.losses(theta) + 2 * np.array([3.0, 2.0, 1.0]) * np.abs(theta).sum(axis=-1)
    np.testing.assert_allclose(sample.target(theta, np.array([3.0, 2.0, 1.0]), 2), wanted, rtol=1e-12)


@pytest.mark.parametrize("times", [1, 2])
def test_lasso_minimises_the_target(sample, times):
    strengths = np.array([2.0, 0.5])
    found = bound_fits.lasso(sample, strengths, times)
    for k, strength in enumerate(strengths):
        theta = cp.Variable(16)
        eta = sample.X[0] @ theta
        loss = cp.sum_squares(eta - sample.y[0]) / 2
        if sample.loss == "logistic":
            loss = cp.sum(cp.logistic(-cp.multiply(sample.y[0], eta)))
        best = cp.Problem(cp.Minimize(loss + times * strength * cp.norm1(theta))).solve(solver="CLARABEL")
        assert sample.target(found, strengths, times)[0, k] == pytest.approx(best, rel=1e-6)


def test_slack_covers_a_point_with_that_gap(sample):
    """At the lasso's minimiser moved a little, J rises by less than the slack of the gap so made."""
    strengths = np.array([0.5])
    best = bound_fits.lasso(sample, strengths, 1)
    moved = best + 1e-3 * np.random.default_rng(3).normal(size=best.shape)
    rise = sample.target(moved, strengths, 1) - sample.target(best, strengths, 1)
    assert (rise > 0).all() and (rise <= sample.slack(moved, rise, strengths, 1)).all()


def test_comparisons_have_the_sign_of_the_difference():
    measured, bound = np.array([1.0, 2.0, -1.0, 1.0, 0.0]), np.array([2.0, 1.0, -2.0, np.inf, 0.0])
    np.testing.assert_allclose(bound_fits.compared(measured, bound), [-0.5, 0.5, 0.5, -1.0, 0.0])
    assert bound_fits.compared(np.array([2.0]), np.array([1.0]), 1.5)[0] < 0
    np.testing.assert_allclose(bound_fits.squares(np.array([np.inf, 2.0]), np.array([0.0, 3.0])), 18.0)
    assert bound_fits.squares(np.array([np.inf, 2.0]), np.array([1e-3, 3.0])) == np.inf


# Risk


def test_lemma_7_by_the_literal_iteration(rows):
    """Weighted ridge by normal equations, t = 1, 2, 80, on the very data and noise of the experiment."""
    settings = types.SimpleNamespace(lambdas=[1.0], data_sets=3, refits=[1, 2, 80], gammas=[0.1])
    design, (X, y) = designs.find("linear-500"), designs.training(1, "li2021-bounds", "linear-500", 3)
    sample, strengths = bound_fits.Sample.of("squared", X, y), np.array([1.0])
    hats = {times: bound_fits.lasso(sample, strengths, times) for times in (1, 2)}
    least = {times: sample.target(hats[times], strengths, times) for times in hats}
    cell = Cell("li2021", "li2021-bounds", 1, {}, settings)
    for case in risk_bounds.cases(cell, "linear-500", design, sample, Budget(100.0, 1e-4), ["erm", "vs-moor"]):
        if case.calibration == "corrected":
            continue
        found = [row for row in risk_bounds.lemma_7(case, strengths, hats, least, settings) if row["row"] == "lemma-7"]
        floor, moor = 1 / 100.0, case.name == "vs-moor"
        for times in (1, 2):
            worst = {step: -np.inf for step in settings.refits}
            for r in range(3):
                theta, G, xy = None, X[r].T @ X[r], X[r].T @ y[r]
                hat, b = hats[times][r, 0], case.b[r]
                for t in range(1, 81):
                    own = 0.0 if theta is None else 1 / np.maximum(np.abs(theta), 1e-300)
                    w = np.full(16, floor) + (np.maximum(own, floor) - floor if moor else own)
                    tilt = b if theta is None or not moor else b * np.sign(theta)
                    theta = np.linalg.solve(G + 2 * np.diag(np.minimum(w, 1e250)), xy - tilt)
                    if t in worst:
                        risk = (
                            0.5 * np.sum((y[r] - X[r] @ theta) ** 2) + times * np.abs(theta).sum() - least[times][r, 0]
                        )
                        bound = b @ b / (2 * w.min()) + (w * hat**2).sum() - times * np.abs(hat).sum()
                        worst[t] = max(worst[t], (risk - bound) / max(abs(risk), abs(bound)))
            for step, value in worst.items():
                row = [f for f in found if f["form"] == "iteration" and f["target"] == str(times)]
                got = next(f["value"] for f in row if f["iteration"] == step)
                assert got == pytest.approx(value, abs=1e-5)


def test_bounds_hold_once_finished_and_theorem_8_as_proved_is_tighter_than_theorem_26(rows):
    assert of(rows, "excess", row="lemma-7", calibration="corrected").max() <= 0
    assert of(rows, "excess", row="lemma-7", form="iteration", target="1", iteration=80).max() <= 0
    where = {"row": "theorem-26", "form": "limit"}
    assert of(rows, "excess", **where, reading="lemma").max() < 0
    assert of(rows, "excess", **where, reading="product").max() > 0.5
    # Without MOOR R^(t) is Lambda R + Lambda0 ||theta||^2; with it a part of the floor is the target's.
    assert of(rows, "excess", row="second-term", variant="erm-moor").max() < 0
    assert abs(of(rows, "excess", row="second-term", variant="erm")).max() < 1e-12


def test_trend_is_spearmans_and_slopes_are_least_squares():
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 4, 20), rng.normal(size=20)
    assert risk_bounds.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert risk_bounds.spearman(np.ones(5), np.arange(5)) == 0.0
    x = np.log([1.0, 2.0, 8.0])
    y = np.stack([-2 * x + 1, 0.5 * x], axis=1)
    np.testing.assert_allclose(risk_rates.slope(x, y), [-2, 0.5])


# Samples


def test_expected_loss_is_an_integral():
    design = designs.find("linear-500")
    theta = design.truth.copy()
    theta[3] += 0.7
    # Along one coordinate: E (0.7 x)^2/2, the noise adding the same to both.
    wanted = integrate.quad(lambda x: 0.5 * (0.7 * x) ** 2, -0.25, 0.25)[0] / 0.5
    assert sample_bounds.expected(design, theta) == pytest.approx(wanted, rel=1e-10)


def test_quadratic_problems_are_minimised_with_zeros_where_weights_are_infinite():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(1, 40, 4)), rng.normal(size=(1, 40))
    b, w = rng.normal(size=(1, 4)), np.array([[0.3, np.inf, 1e12, 2.0]])
    problems = bound_fits.Sample.of("squared", X, y).problems
    found = sample_bounds.quadratic(problems, w, b)[0]
    assert found[1] == 0 and abs(found[2]) < 1e-9

    def value(u):
        theta = np.array([u[0], 0.0, 0.0, u[1]])
        return 0.5 * np.sum((X[0] @ theta - y[0]) ** 2) + b[0] @ theta + 0.3 * u[0] ** 2 + 2.0 * u[1] ** 2

    best = optimize.minimize(value, [0.0, 0.0], tol=1e-12)
    np.testing.assert_allclose(found[[0, 3]], best.x, atol=1e-5)


def test_larger_sets_begin_with_the_smaller_ones():
    cell, design = Cell("li2021", "x", 3, {}, None), designs.find("linear-500")
    both = sample_bounds.draw_moments(cell, design, [50, 120], 2)
    alone = sample_bounds.draw_moments(cell, design, [50], 2)
    np.testing.assert_array_equal(both[50][0], alone[50][0])
    assert (np.diagonal(both[120][0] - both[50][0], axis1=1, axis2=2) > 0).all()


def test_what_no_constant_decides_is_unknown(rows):
    zero = rows[(rows["row"] == "lemma-9") & (rows["form"] == "zero")]
    assert set(zero.loc[zero["status"] == "ok", "value"]) <= {0.0}
    assert of(rows, "violated", row="theorem-10").tolist() == [0.0] * len(of(rows, "violated", row="theorem-10"))


# The whole


def test_rows_are_whole_and_repeat(rows):
    assert set(rows["status"]) <= {"ok", "unknown"} and set(rows["mechanism"]) == {"napp"}
    keys = [name for name in rows.columns if name not in ("value", "status", "guarantee")]
    assert not rows.duplicated(keys).any()
    fake_rows.li2021_bounds.cache_clear()
    again = fake_rows.li2021_bounds()
    np.testing.assert_array_equal(rows["value"].to_numpy(), again["value"].to_numpy())


def test_an_unknown_part_is_named():
    with pytest.raises(ConfigError, match="unknown part 'risks' of li2021-bounds; known: budgets, risk"):
        bounds.run(Cell("li2021", "li2021-bounds", 1, {"part": "risks"}, None), Rows())


def test_the_corrected_scheme_is_eq_2_with_the_printed_target():
    case = next(
        case
        for case in risk_bounds.cases(
            Cell("li2021", "x", 1, {}, None), "linear-500", designs.find("linear-500"),
            bound_fits.Sample.of("squared", np.ones((1, 3, 16)), np.ones((1, 3))), PURE, [],
        )
    )  # fmt: skip
    assert case.calibration == "corrected" and case.scheme == Scheme("lasso", 1 / 0.8, moor=False, halved=True)


# Figures


def lines(axis):
    """Return x and y of each line, without those across the panel."""
    return [line.get_data() for line in axis.get_lines() if line.get_transform() == axis.transData]


def test_risk_and_bounds_are_means_over_data_sets(rows):
    with style.applied():
        figure = figures.bounds(rows)
    first = figure.axes[0]
    assert len(figure.axes) == 6 and len(lines(first)) == 12
    part = rows[(rows["axis"] == "n") & (rows["metric"] == "risk") & (rows["delta"] == 0) & (rows["variant"] == "erm")]
    part = part[part["calibration"] == "paper"]
    x, y = lines(first)[0]
    np.testing.assert_allclose(y, [part.loc[part["n"] == n, "value"].mean() for n in x])
    low, high = first.get_ylim()
    assert all(low <= np.min(y) and np.max(y) <= high for _, y in lines(first))


def test_the_budget_figure_shows_shares_noise_and_determinants(rows):
    with style.applied():
        figure = figures.budget(rows)
    spent, sigma, jacobian = figure.axes
    shares = [y for x, y in lines(spent)]
    assert len(shares) == 4
    assert all((share > 0).all() and (share < 1).all() for share in shares)
    eq12, short, tight = (y for _, y in lines(sigma))
    assert (tight < eq12).all() and (eq12 < short).all()
    assert len(lines(jacobian)) == 6 and max(np.max(y) for _, y in lines(jacobian)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["li2021-bounds", "li2021-budget"])
def test_from_a_file_and_the_same_bytes(name, rows, tmp_path):
    path = fake_rows.write(rows, tmp_path / "rows.parquet")
    for k in range(2):
        drawing.draw(name, path, svg=tmp_path / f"{k}.svg", png=tmp_path / f"{k}.png")
    assert (tmp_path / "0.svg").read_bytes() == (tmp_path / "1.svg").read_bytes()
