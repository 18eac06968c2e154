"""li2021-simulations: its measures and fits those of a transcription, failures are counted."""

import functools
import itertools
import math

import cells
import cvxpy as cp
import fake_rows
import numpy as np
import pytest
from chosen_rows import of
from scipy import stats
from specified import words

from dperm import noise, seeds
from dperm.errors import ConfigError
from dperm.mechanisms.napp import limit
from dperm_papers.li2021.shared import designs, measures
from dperm_papers.li2021.shared.drawing_lines import LASSOS, PUBLISHED
from dperm_papers.li2021.simulations import figures
from dperm_pipeline import experiments

SETTINGS = {
    "repeats": 3, "deltas": [1e-4, 0.0], "strengths": [100.0, 0.05], "steps": 4, "budget_share": 0.5,
    "other_shares": [0.25], "test_rows": 300, "tolerance": 1e-8, "side_repeats": 2, "side_deltas": [], "side_zetas": [],
    "density_zetas": [],
}  # fmt: skip


def cell(design="linear-200", epsilon=1.0, calibration="paper", **settings):
    point = {"design": design, "epsilon": epsilon}
    return cells.cell("li2021-simulations", SETTINGS | settings, seed=3, point=point, calibration=calibration)


@functools.cache
def ran(calibration):
    return experiments.run(cell(calibration=calibration, side_zetas=["typical", "unit"]))


@pytest.fixture(scope="module")
def rows():
    return fake_rows.simulations()


@pytest.mark.parametrize("name", ["linear-200", "poisson-500", "logistic-500"])
def test_errors_are_those_of_predictions_written_out(name):
    design, rng = designs.find(name), np.random.default_rng(3)
    X, y = designs.test(1, "e", name, 1100)
    theta = design.truth + 3 * rng.standard_normal((7, 90, 16))
    theta[3, 20:60] = 0.0
    found = measures.test_error(design.loss, X, y, theta, eta_bound=7.5)
    for r, k in ((0, 0), (3, 19), (3, 40), (3, 60), (6, 89)):
        eta = X @ theta[r, k]
        expected = {
            "squared": lambda eta=eta: math.log(np.mean((y - eta) ** 2)),
            "poisson": lambda eta=eta: math.log(np.mean((y - np.minimum(np.exp(eta), math.exp(7.5))) ** 2)),
            "logistic": lambda eta=eta: np.mean(np.where(eta > 0, 1, -1) != y),
        }[design.loss]()
        assert found[r, k] == pytest.approx(expected, rel=1e-12)
    theta[1, 2, 3] = math.nan
    assert np.argwhere(np.isnan(measures.test_error(design.loss, X, y, theta, eta_bound=7.5))).tolist() == [[1, 2]]


def test_a_loss_without_an_error_is_refused():
    with pytest.raises(ConfigError, match="'hinge' has no test error"):
        measures.test_error("hinge", np.ones((2, 1)), np.ones(2), np.ones((1, 1)), eta_bound=1.0)


def test_summaries_are_t_intervals_of_what_is_left():
    values = np.random.default_rng(4).normal(size=(9, 3))
    values[2, 1] = values[:, 2] = math.nan
    values[0, 2] = 1.0
    found = measures.summary("m", values)
    for k, own in ((0, values[:, 0]), (1, np.delete(values[:, 1], 2))):
        low, high = stats.t.interval(0.95, len(own) - 1, own.mean(), stats.sem(own))
        assert found["m_mean"][k] == pytest.approx(own.mean())
        assert found["m_half"][k] == pytest.approx((high - low) / 2)
    assert found["m_mean"][2] == 1.0 and math.isnan(found["m_half"][2])


def value(rows, metric, **where):
    """The one value of a metric."""
    here = of(rows, metric=metric, **where)
    assert len(here) == 1, (metric, where, len(here))
    return here["value"].iloc[0]


def solved(objective, constraints=()):
    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    assert problem.status == cp.OPTIMAL


@pytest.mark.parametrize(
    ("method", "zeta", "zeta2"),
    [
        *((method, "range", 2.9) for method in ("erm", "erm-moor", "vs_plus", "vs_plus-moor")),
        ("erm", "typical", 1.52),
        ("vs_plus-moor", "unit", 1.0),
    ],
)
def test_a_published_fit_is_the_convex_programme_written_out(method, zeta, zeta2):
    """Linear, n = 200, epsilon = 1, Gaussian noise: the data, b, and the penalty 2 Lambda |theta| with Lambda0 = 1."""
    where = {"variant": method, "delta": 1e-4, "repeat": 1, "zeta": zeta}
    rows = ran("paper")
    X, y = (part[1] for part in designs.training(3, "li2021-simulations", "linear-200", 3))
    # Rows of the range have the seeds that they had before there were others.
    names = ("paper", "add_remove", "linear-200", 1.0, 1e-4, *([] if zeta == "range" else [zeta]))
    sigma = zeta2 * math.sqrt(2 * (0.5 + math.log(1e4))) / 0.5
    b = sigma * seeds.generator(3, "li2021-simulations", "noise", *names).standard_normal((2, 16))[1]
    b = np.abs(b) if "plus" in method else b
    strength, theta = np.geomspace(100, 0.05, 4)[2], cp.Variable(16)
    tilt = b @ (cp.abs(theta) if "plus" in method else theta)
    if "moor" in method:
        # 2 max(Lambda u, ...) of slope: 2 Lambda u up to Lambda/Lambda0, then a parabola; by its two pieces.
        inner, outer = cp.Variable(16, nonneg=True), cp.Variable(16, nonneg=True)
        penalty = cp.sum(2 * strength * inner + cp.square(outer) + 2 * strength * outer)
        limits = [cp.abs(theta) <= inner + outer, inner <= strength]
    else:
        penalty, limits = 2 * strength * cp.norm1(theta) + cp.sum_squares(theta), []
    solved(0.5 * cp.sum_squares(X @ theta - y) + tilt + penalty, limits)
    Z, targets = designs.test(3, "li2021-simulations", "linear-200", 300)
    error = math.log(np.mean((Z @ theta.value - targets) ** 2))
    assert value(rows, "error", step=2, **where) == pytest.approx(error, abs=2e-4)
    largest = np.abs(theta.value).max()
    weight = {True: max(strength / largest, 1.0), False: strength / largest + 1.0}["moor" in method]
    share = max(0.0, 1 - 1 / weight) if largest > 1e-7 else 1.0
    assert value(rows, "share", step=2, **where) == pytest.approx(share, abs=2e-4)


def test_pure_noise_of_the_density_of_equation_4(rows):
    """Without MOOR theta leaves 0 at Lambda = ||b - X'y||_inf/2; b has the radius Gamma(16, 1.52/r)."""
    rng = seeds.generator(
        1, "li2021-simulations", "noise", "paper", "add_remove", "linear-200", 1.0, 0.0, "typical-density"
    )
    b = noise.SphericalLaplace(1.52 / 0.5).sample((2, 16), rng)[1]
    X, y = (part[1] for part in designs.training(1, "li2021-simulations", "linear-200", 2))
    where = {"dataset": "linear-200", "epsilon": 1.0, "zeta": "typical-density", "variant": "erm", "repeat": 1}
    assert value(rows, "entry", **where) == pytest.approx(np.abs(b - X.T @ y).max() / 2)


@pytest.mark.parametrize(
    ("kind", "target", "zeta", "zeta2"),
    [
        *((kind, target, "range", 5.7) for kind in ("erm", "vs_plus") for target in ("lasso", "elastic_net")),
        ("vs_plus", "lasso", "typical", 1.52),
    ],
)
def test_a_corrected_fit_is_objective_perturbation_in_the_box(kind, target, zeta, zeta2):
    rows = ran("corrected")
    # What the bounds `unit` say holds for no record, so that nothing of it is proved.
    assert set(rows.loc[rows["mechanism"] == "napp", "zeta"]) == {"range", "typical"}
    where = {"variant": kind, "target": target, "delta": 1e-4, "repeat": 0, "zeta": zeta}
    assert set(rows.loc[(rows["variant"] == kind) & (rows["mechanism"] == "napp"), "guarantee"]) == {"proved_exact"}
    X, y = (part[0] for part in designs.training(3, "li2021-simulations", "linear-200", 3))
    sigma = zeta2 * math.sqrt(2 * (0.5 + math.log(1e4))) / 0.5
    names = ("corrected", "add_remove", "linear-200", 1.0, 1e-4, *([] if zeta == "range" else [zeta]))
    b = sigma * seeds.generator(3, "li2021-simulations", "noise", *names).standard_normal((3, 16))[0]
    strength, theta = np.geomspace(100, 0.05, 4)[2], cp.Variable(16)
    weight = strength + (math.sqrt(2 / math.pi) * sigma if kind == "vs_plus" else 0.0)
    ridge = 2.0 if target == "elastic_net" else 1.0
    penalty = weight * cp.norm1(theta) + ridge * cp.sum_squares(theta)
    # Where y is clipped the loss goes on linearly beyond |eta| = 0.66: Huber's function of eta less y eta.
    eta, wall = X @ theta, 0.66 if zeta == "typical" else 100.0
    fit = 0.5 * cp.sum(cp.huber(eta, wall)) - (np.clip(y, -0.86, 0.86) if zeta == "typical" else y) @ eta
    solved(fit + b @ theta + penalty, [theta >= 0, theta <= 1])
    Z, targets = designs.test(3, "li2021-simulations", "linear-200", 300)
    error = math.log(np.mean((Z @ theta.value - targets) ** 2))
    assert value(rows, "error", step=2, **where) == pytest.approx(error, abs=2e-4)


@pytest.mark.parametrize("calibration", ["paper", "corrected"])
def test_entry_is_where_the_path_leaves_zero(calibration):
    """Paths that begin a little above the Lambda of a row, and a little below: those of all rows, above and below."""

    def measured(metric, **settings):
        rows = experiments.run(cell("logistic-500", calibration=calibration, deltas=[1e-4], **settings))
        here = rows[(rows["metric"] == metric) & rows["variant"].isin(["erm", "vs_plus"]) & (rows["target"] == "lasso")]
        return here.set_index(["variant", "repeat"])["value"].sort_index()

    entries = measured("entry")
    assert len(entries) == 6 and (entries > 0).all()
    for least, factor in itertools.product((entries["erm", 0], entries["vs_plus", 1]), (1.01, 0.99)):
        empty = measured("empty", strengths=[factor * least, least / 2], steps=2)
        assert list(empty) == [float(entry < factor * least) for entry in entries]


@pytest.mark.slow
def test_what_is_only_where_it_makes_sense(rows):
    private = rows[rows["mechanism"] == "napp"]
    six = {"erm", "erm-moor", "vs", "vs-moor", "vs_plus", "vs_plus-moor"}
    for calibration, names in (("paper", six), ("corrected", {"erm", "vs_plus"}), ("tight", {"erm", "vs_plus"})):
        assert set(private.loc[private["calibration"] == calibration, "variant"]) == names
    # Of the published ones, objective perturbation with a loss of bounded gradient and the right Gaussian is one.
    proved = private[(private["calibration"] == "paper") & (private["guarantee"] != "none")]
    assert set(zip(proved["dataset"], proved["variant"], proved["delta"], strict=True)) == {
        ("logistic-500", "erm", 1e-4), ("logistic-500", "erm", 1e-3)
    }  # fmt: skip
    assert set(private.loc[private["calibration"] != "paper", "guarantee"]) == {"proved_exact"}
    assert not (private.loc[private["metric"] == "share", "calibration"] != "paper").any()
    keys = ["mechanism", "calibration", "variant", "target", "dataset", "epsilon", "delta", "repeat", "metric", "step"]
    keys.append("zeta")
    assert set(zip(private["zeta"], private["delta"], strict=True)) == {
        ("range", 1e-3),
        ("typical-density", 0.0),
        *itertools.product(("range", "typical", "unit"), (1e-4, 0.0)),
    }
    assert not rows.duplicated([*keys, "budget_share"]).any()


def test_retrieval_where_it_is_sound_is_a_formula(rows):
    ridge = rows[(rows["target"] == "ridge") & (rows["metric"] == "share_mean") & (rows["variant"] == "erm")]
    # For each of two designs, two epsilons, two bounds.
    assert len(ridge) == 2 * 2 * 2 * 5
    # zeta3 = 1 for both designs, so Lambda0 = 1/epsilon.
    least = 1 / ridge["epsilon"]
    np.testing.assert_allclose(ridge["value"], 1 - least / np.maximum(ridge["strength"], least), atol=1e-12)
    assert set(rows.loc[rows["target"] == "ridge", "mechanism"]) == {"nonprivate"}


@pytest.mark.parametrize(("metric", "better"), [("scan_auc", max), ("scan_error", min)])
def test_what_a_half_loses_to_the_best_share(rows, metric, better):
    for where in itertools.product(("paper", "corrected"), ("linear-200", "logistic-500"), (0.4, 1.0)):
        here = of(rows, zeta="range", **dict(zip(("calibration", "dataset", "epsilon"), where, strict=True)))
        values = here[here["metric"] == metric].pivot(index="repeat", columns="budget_share", values="value")
        assert list(values) == [0.25, 0.5]
        best = better(values, key=lambda share: values[share].mean())
        expected = (values[0.5] - values[best]) * (1 if better is min else -1)
        lost = here[here["metric"] == f"{metric}_loss"].set_index("repeat")["value"]
        np.testing.assert_allclose(lost.sort_index(), expected, atol=1e-12)
        assert lost.mean() >= 0


def test_the_benchmark_is_the_lasso(rows):
    X, y = designs.training(1, "li2021-simulations", "linear-200", 4)
    Z, targets = designs.test(1, "li2021-simulations", "linear-200", 300)
    for variant, factor in (("lasso", 1), ("lasso-2", 2)):
        errors = []
        for r in range(4):
            theta = cp.Variable(16)
            strength = factor * np.geomspace(100, 0.05, 5)[2]
            solved(0.5 * cp.sum_squares(X[r] @ theta - y[r]) + strength * cp.norm1(theta))
            errors.append(math.log(np.mean((Z @ theta.value - targets) ** 2)))
        where = {"variant": variant, "dataset": "linear-200", "epsilon": 1.0, "step": 2}
        assert value(rows, "error_mean", **where) == pytest.approx(np.mean(errors), abs=2e-4)


def test_a_fit_that_does_not_converge_is_counted_and_lost(monkeypatch):
    path = limit.path

    def unlucky(problems, noise, scheme, strengths, **more):
        found = path(problems, noise, scheme, strengths, **more)
        found.converged[2, 1:2] = False
        return found

    monkeypatch.setattr(limit, "path", unlucky)
    rows = experiments.run(cell(calibration="corrected"))
    failed = rows[rows["status"] == "failed"]
    assert set(failed["metric"]) == {
        "error", "auc", "zero_free", "scan_auc", "scan_error", "scan_auc_loss", "scan_error_loss"
    }  # fmt: skip
    assert set(failed["repeat"]) == {2} and failed["value"].isna().all()
    runs = rows[(rows["metric"] == "runs") & (rows["mechanism"] == "napp")]
    assert set(runs.loc[runs["step"] == 1, "value"]) == {2.0} and set(runs.loc[runs["step"] != 1, "value"]) == {3.0}
    kept = rows[(rows["metric"] == "error") & (rows["step"] == 1) & (rows["status"] == "ok")]
    mean = kept.groupby(["variant", "target", "delta"])["value"].mean()
    told = rows[(rows["metric"] == "error_mean") & (rows["step"] == 1) & (rows["mechanism"] == "napp")]
    np.testing.assert_allclose(told.set_index(["variant", "target", "delta"])["value"].sort_index(), mean.sort_index())


# What the corrected figures show: (calibration, variant, target) -> colour, marker, whether hollow, dashes.
CORRECTED = {
    ("corrected", "vs_plus", "lasso"): ("#D55E00", "^", False, (0, None)),
    ("corrected", "vs_plus", "elastic_net"): ("#D55E00", "^", True, (0, (3.2, 1.4))),
    ("tight", "vs_plus", "lasso"): ("#D55E00", "None", False, (0, (5, 1.2, 1, 1.2))),
    ("corrected", "erm", "lasso"): ("#0072B2", "o", False, (0, None)),
    ("corrected", "erm", "elastic_net"): ("#0072B2", "o", True, (0, (3.2, 1.4))),
    ("tight", "erm", "lasso"): ("#0072B2", "None", False, (0, (5, 1.2, 1, 1.2))),
}
DELTAS = {"fig4": 1e-4, "figs1": 0.0, "fig5": 1e-4, "figs2": 0.0, "fig7": 1e-4, "figs3": 0.0}


def expected(form):
    """Give what tells the rows of each line, and its look: colour, marker, whether hollow, dashes."""
    if form:
        names = ("calibration", "variant", "target")
        for key, look in CORRECTED.items():
            yield {"mechanism": "napp", **dict(zip(names, key, strict=True))}, look
    for line in LASSOS if form else (*PUBLISHED, *LASSOS):
        dashes = (0, None) if line.line is None else line.line
        yield line.where, (line.colour, line.marker or "None", bool(line.hollow), dashes)


def drawn(axis, look):
    """Return the one line of this look."""
    colour, marker, hollow, dashes = look
    face = "white" if hollow else colour
    same = [
        line for line in axis.lines
        if (line.get_color(), line.get_marker(), line.get_markerfacecolor()) == (colour, marker, face)
        and line._unscaled_dash_pattern == dashes
    ]  # fmt: skip
    assert len(same) == 1
    return same[0]


def points(rows, where, metric, delta, zeta="range"):
    """Return a line's values by falling Lambda, of the design linear-200 at epsilon = 0.4."""
    here = rows[(rows["dataset"] == "linear-200") & (rows["epsilon"] == 0.4) & (rows["metric"] == metric)]
    here = here if "lasso" in where["variant"] else here[(here["delta"] == delta) & (here["zeta"] == zeta)]
    return of(here, **where).sort_values("step")["value"].to_numpy()


@pytest.mark.parametrize("name", ["fig4", pytest.param("figs1", marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", ["", "_corrected"])
def test_selection_joins_the_mean_rates(rows, name, form):
    figure = getattr(figures, name + form)(rows)
    # Linear data with both bounds, logistic data with their own; at delta = 0 both by the density of Equation 9 too.
    titles = [axis.get_title() for axis in figure.axes[::2]]
    bounds, density = ("5.7", "1.52", "2") if form else ("2.9", "1.52", "2"), name == "figs1" and not form
    assert [title.split(", ")[2] for title in titles[:3]] == [f"ζ\xa0=\xa0{bound}" for bound in bounds]
    assert ["by density" in title for title in titles] == [False] * 3 + [True] * 2 * density
    shown = ((0, "range"), (2, "typical"), *([(6, "typical-density")] if density else ()))
    for (where, look), (k, zeta) in itertools.product(expected(form), shown):
        line = drawn(figure.axes[k], look)
        np.testing.assert_allclose(line.get_xdata(), points(rows, where, "fpr_mean", DELTAS[name], zeta))
        np.testing.assert_allclose(line.get_ydata(), points(rows, where, "tpr_mean", DELTAS[name], zeta))
        assert len(line.get_xdata()) == 5


@pytest.mark.parametrize("name", ["fig5", pytest.param("figs2", marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", ["", "_corrected"])
def test_prediction_draws_errors_over_lambda(rows, name, form):
    figure = getattr(figures, name + form)(rows)
    for where, look in expected(form):
        line = drawn(figure.axes[0], look)
        np.testing.assert_allclose(line.get_xdata()[::-1], np.geomspace(100, 0.05, 5))
        np.testing.assert_allclose(line.get_ydata()[::-1], np.exp(points(rows, where, "error_mean", DELTAS[name])))
    assert [axis.get_ylabel() for axis in figure.axes] == [
        *(["test MSE", ""] * 2), *(["misclassified", ""] * (1 if form else 2)),
        *(["test MSE", "", "misclassified", ""] if name == "figs2" and not form else ())
    ]  # fmt: skip
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


@pytest.mark.parametrize("name", ["fig7", pytest.param("figs3", marks=pytest.mark.slow)])
def test_retrieval_draws_shares_and_the_options_of_equation_13(rows, name):
    figure = getattr(figures, name)(rows)
    density = [("share", "typical-density"), None] if name == "figs3" else []
    shown = [
        ("share", "range"),
        ("share", "typical"),
        None,
        *density,
        ("share_exceeding", "range"),
        ("share_without_two", "range"),
    ]
    for axis, one in zip(figure.axes[::2], shown, strict=True):
        for where, look in expected("") if one else ():
            if "lasso" not in where["variant"]:
                found = drawn(axis, look).get_ydata()[::-1]
                np.testing.assert_allclose(found, points(rows, where, f"{one[0]}_mean", DELTAS[name], one[1]))
    assert "over J" in figure.axes[-4].get_title() and "no 2" in figure.axes[-2].get_title()


@pytest.mark.parametrize("name", ["fig7_corrected", "figs3_corrected"])
def test_sound_retrieval_is_one_line(rows, name):
    (line,) = getattr(figures, name)(rows).axes[0].lines
    np.testing.assert_allclose(line.get_ydata(), 1 - 2.5 / np.maximum(np.geomspace(0.05, 100, 5), 2.5))


def test_lost_fits_are_told(rows):
    mask = (rows["metric"] == "runs") & (rows["variant"] == "vs") & (rows["step"] == 1) & (rows["delta"] == 0.0)
    mask &= rows["zeta"] == "range"
    fewer = rows.assign(value=rows["value"].where(~mask, 3.0))
    assert mask.sum() == 4

    assert "did not converge" not in words(figures.fig4(rows))
    # Nothing failed: what ran is what was to run.
    total = int(rows.loc[(rows["metric"] == "runs") & (rows["mechanism"] == "napp"), "value"].sum())
    assert f"4 of {total} private fits did not converge and are left out" in words(figures.fig4(fewer))


def test_table_4_is_the_papers(rows):
    plain, words = figures.table4_table(rows)
    assert plain["design"].tolist() == ["linear-200", "logistic-500"]
    first, second = words.to_dict("records")
    assert first["n"] == "200" and first["x (16)"] == "Unif(−0.25, 0.25)"
    assert first["nonzero θ"] == "1 − 0.8k/7, k = 0, …, 7" and second["nonzero θ"] == "4 − 0.5k/7, k = 0, …, 7"
    assert first["y, η = ⟨x, θ⟩"] == "η + tN(0, 0.25², −0.5, 0.5)"
    # Erratum N9: the sign as printed.
    assert second["y, η = ⟨x, θ⟩"] == "Bern(1/(1 + exp(η)))"
    assert first["ε"] == "0.4, 1" and first["δ"] == "0, 10⁻⁴, 0.001" and first["repeats"] == "4"
    assert first["ζ1, ζ2, ζ3"] == "1, 2.9, 1" and first["ζ2 in Θ"] == "5.7"
    assert first["ζ of 99 % of the records"] == "1, 1.52, 1" and second["ζ of 99 % of the records"] == "2, 1, 1"
