"""Figure 3's experiment: its estimates by cvxpy, its distances by hand, and where MOOR is sound."""

import cells
import cvxpy as cp
import fake_rows
import numpy as np
import pytest
from chosen_rows import of

from dperm_papers.li2021.moor import experiment as moor
from dperm_papers.li2021.moor import figures
from dperm_papers.li2021.shared import designs
from dperm_pipeline import experiments

SETTINGS = {
    "repeats": 2, "side_repeats": 1, "side_zetas": [], "epsilons": [2.0], "strengths": [4.0, 0.25], "steps": 3,
    "budget_share": 0.5, "delta": 1e-4, "tolerance": 1e-9,
}  # fmt: skip
STRENGTHS = np.array([4.0, 1.0, 0.25])


def cell(name, **settings):
    return cells.cell("li2021-moor", SETTINGS | settings, seed=6, point={"design": name})


@pytest.fixture(scope="module", params=["linear-200", "logistic-500"])
def case(request):
    return request.param, experiments.run(cell(request.param))


def minimiser(design, X, y, penalty):
    """By cvxpy: argmin of the sum of losses and penalty(theta)."""
    theta = cp.Variable(16)
    eta = X @ theta
    loss = cp.sum_squares(y - eta) / 2 if design.loss == "squared" else cp.sum(cp.logistic(cp.multiply(-y, eta)))
    options = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    cp.Problem(cp.Minimize(loss + penalty(theta))).solve(solver=cp.CLARABEL, **options)
    return theta.value


def berhu(theta, strength, floor):
    """2 berHu: slope 2 max{Lambda, Lambda0 u}, so 2 Lambda u up to the knee k and Lambda0 u^2 + Lambda k beyond."""
    knee = strength / floor
    return cp.sum(2 * strength * cp.abs(theta) + floor * cp.square(cp.pos(cp.abs(theta) - knee)))


# Beyond the knee 2 Lambda u + Lambda0 (u - k)^2 = Lambda0 u^2 + Lambda k: the same function.
@pytest.mark.parametrize(("k", "strength"), [(1, 1.0), pytest.param(2, 4.0, marks=pytest.mark.slow), (2, 0.25)])
def test_distances_are_those_of_independent_minimisers(case, k, strength):
    name, rows = case
    design, floor = designs.find(name), 1.0 / 2.0
    X, y = designs.training(6, "li2021-moor", name, 2)
    for r in range(2):
        lasso = minimiser(design, X[r], y[r], lambda t: k * strength * cp.norm1(t))
        penalties = {
            "erm-moor": lambda t: berhu(t, strength, floor),
            "erm": lambda t: 2 * strength * cp.norm1(t) + floor * cp.sum_squares(t),
        }
        for variant, penalty in penalties.items():
            expected = np.linalg.norm(minimiser(design, X[r], y[r], penalty) - lasso)
            here = of(rows, row="figure", calibration="paper", metric="distance", variant=variant, reference=k)
            (found,) = of(here, repeat=r, strength=strength)["value"]
            assert found == pytest.approx(max(expected, moor.LEAST), abs=2e-4)


def test_moor_where_it_is_sound_is_the_lasso_without(case):
    _, rows = case
    rows = of(rows, row="figure", calibration="corrected", metric="distance")
    # kappa = Lambda0/Lambda is below 1 where Lambda is above Lambda0 = 1/2.
    assert set(of(rows, variant="erm-moor")["strength"]) == set(of(rows, variant="erm-net")["strength"]) == {4.0, 1.0}
    assert set(of(rows, variant="erm")["strength"]) == set(STRENGTHS)
    assert set(rows["repeat"]) == {0}
    for k in moor.REFERENCES:
        with_moor, without, lasso = (
            of(rows, variant=variant, strength=1.0, reference=k)["value"].item()
            for variant in ("erm-moor", "erm-net", "erm")
        )
        assert with_moor == pytest.approx(lasso, abs=2e-4)
        assert k == 2 or without > lasso + 1e-3


def test_the_same_b_stands_with_and_without_the_floor(case):
    name, rows = case
    design = designs.find(name)
    rows = of(rows, row="same-b", metric="distance", reference=2)
    assert set(rows["floor"]) == {0.0, 0.5} and set(rows["delta"]) == {1e-4}
    # The floor holds back what the noise does.
    for calibration in ("paper", "corrected"):
        with_floor, without = (of(rows, calibration=calibration, floor=f).set_index("strength") for f in (0.5, 0.0))
        assert (with_floor["value"] <= without["value"])[0.25]
    assert design.zeta3 == 1.0


def test_without_noise_the_floor_alone_keeps_an_estimate_from_its_lasso(case):
    _, rows = case
    rows = of(rows, row="no-b", metric="distance")
    for calibration, k in (("paper", 2), ("corrected", 1)):
        here = of(rows, calibration=calibration, reference=k)
        assert (of(here, floored=False)["value"] == moor.LEAST).all()
        assert (of(here, floored=True)["value"] > 1e-3).any()
    # As published it is what Figure 3 draws.
    with_floor = of(rows, calibration="paper", floored=True)["value"].to_numpy()
    drawn = of(of(case[1], row="figure", calibration="paper", metric="distance"), variant="erm", repeat=0)
    np.testing.assert_allclose(with_floor, drawn["value"], rtol=1e-6)


def test_other_bounds_move_what_hangs_on_them_alone():
    def distances(name, row):
        rows = of(experiments.run(cell(name, side_zetas=["typical", "unit"])), metric="distance", row=row)
        rows = of(rows, repeat=0, calibration="paper")
        return {zeta: of(rows, zeta=zeta)["value"].to_numpy() for zeta in ("range", "typical", "unit")}

    # zeta3 is 1 under each: without noise nothing changes, with b what zeta2 = 2.9, 1.52, 1 scales does.
    linear = distances("linear-200", "figure")
    np.testing.assert_array_equal(linear["range"], linear["typical"])
    np.testing.assert_array_equal(linear["range"], linear["unit"])
    noisy = distances("linear-200", "same-b")
    assert noisy["range"].mean() > noisy["typical"].mean() > noisy["unit"].mean()
    # Lambda0 is 1808, 47 and 1 over epsilon.
    poisson = distances("poisson-500", "figure")
    assert poisson["range"].mean() > poisson["typical"].mean() > poisson["unit"].mean()


def test_the_gain_is_the_logarithm_of_the_ratio(case):
    _, rows = case
    own = of(rows, row="figure", calibration="paper")
    keys = ["reference", "repeat", "strength"]
    gain = of(own, metric="gain", variant="erm-moor").set_index(keys)["value"].sort_index()
    far, near = (
        of(own, metric="distance", variant=v).set_index(keys)["value"].sort_index() for v in ("erm", "erm-moor")
    )
    np.testing.assert_allclose(gain, np.log(far / near))
    assert (gain > 0).any()


def test_summaries_and_uninformative_points():
    rows = experiments.run(cell("linear-200", strengths=[1e4, 0.5], steps=2, repeats=3))
    own = of(rows, row="figure", calibration="paper", variant="erm", reference=1)
    at = of(own, strength=0.5)
    values = of(at, metric="distance")["value"]
    assert of(at, metric="distance_mean")["value"].item() == pytest.approx(values.mean())
    assert of(at, metric="distance_half")["value"].item() == pytest.approx(4.302653 * values.std() / 3**0.5, rel=1e-6)
    assert of(at, metric="runs")["value"].item() == 3 and at["informative"].all()
    # At Lambda = 10^4 everything is 0: nothing to compare.
    empty = of(own, strength=1e4, metric="distance")
    assert (empty["value"] == moor.LEAST).all() and not empty["informative"].any()


def test_data_are_the_same_however_many_repeats_there_are():
    few, more = (experiments.run(cell("linear-200", repeats=n)) for n in (1, 2))
    few, more = (of(f, row="figure", calibration="paper", metric="distance", repeat=0)["value"] for f in (few, more))
    np.testing.assert_array_equal(few.to_numpy(), more.to_numpy())


@pytest.fixture(scope="module")
def rows():
    return fake_rows.moor()


def titles(figure):
    return [axis.get_title() for axis in figure.axes if axis.axison]


def test_lines_of_figure_3_are_means(rows):
    figure = figures.fig3(rows)
    assert len(figure.axes) == 6 and titles(figure)[:3] == ["linear, n = 200", "logistic, n = 500", "Poisson, n = 500"]
    for axis, k in ((figure.axes[0], 1), (figure.axes[3], 2)):
        assert len(axis.lines) == 4  # two methods, two epsilons
        for variant, line in zip(("erm-moor", "erm-moor", "erm", "erm"), axis.lines, strict=True):
            own = of(rows, row="figure", calibration="paper", dataset="linear-200", variant=variant, zeta="range")
            own = of(own, reference=k)
            matches = [
                np.allclose(
                    np.nan_to_num(line.get_ydata(), nan=1e-4), group.sort_values("strength")["value"], rtol=1e-9
                )
                for _, group in of(own, metric="distance_mean").groupby("epsilon")
            ]
            assert any(matches)
    # At Lambda = 100 the lasso and every estimate are 0.
    assert np.isnan(figure.axes[0].lines[0].get_ydata()[-1])
    assert "distance to lasso(2Λ)" in [axis.get_ylabel() for axis in figure.axes]
    assert "4 repeats" in " ".join(text.get_text() for text in figure.texts)


def test_rings_of_the_corrected_figure_lie_on_lines(rows):
    figure = figures.fig3_corrected(rows)
    axis = figure.axes[1]  # logistic
    rings = [line for line in axis.lines if line.get_marker() == "o"]
    lines = [line for line in axis.lines if line.get_linestyle() == "-"]
    assert len(rings) == len(lines) == 2
    for ring, line in zip(rings, lines, strict=True):
        y = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        kept = ~np.isnan(ring.get_ydata())
        assert kept.any()
        np.testing.assert_allclose(ring.get_ydata()[kept], [y[x] for x in ring.get_xdata()[kept]], atol=2e-4)
    # No elastic net will do for the Poisson design.
    assert {line.get_linestyle() for line in figure.axes[2].lines} == {"-"}


def test_one_design_alone_is_drawn(rows):
    figure = figures.fig3(of(rows, dataset="poisson-500"))
    assert titles(figure) == ["Poisson, n = 500"] * 2
