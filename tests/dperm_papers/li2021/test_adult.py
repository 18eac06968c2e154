"""Figure 6 of li2021 from records to misclassification, against cvxpy on the objective as it stands in the text."""

import math
from dataclasses import replace

import cells
import cvxpy
import fake_rows
import numpy as np
import pytest
from specified import assert_nothing_overlaps, assert_ticks_are_apart, words

from dperm import seeds
from dperm.domain import Domain
from dperm.mechanisms.napp.literal import literal
from dperm.mechanisms.napp.scheme import Scheme
from dperm_papers.li2021.adult import experiment as adult
from dperm_papers.li2021.adult import figures
from dperm_pipeline import experiments
from dperm_pipeline.datasets import prepared
from dperm_pipeline.figures import style

SETTINGS = {
    "repeats": 3, "epsilons": [5.0, 50.0], "deltas": [1e-4], "lambdas": [0.1, 3.0], "budget_share": 0.5,
    "tolerance": 1e-9, "test_share": 0.25, "literal_repeats": 2, "literal_epsilons": [5.0], "literal_strength": 1.0,
    "augmented_rows": 400, "iterations": 3,
}  # fmt: skip
P, NORM = 4, 2.0


def cell(calibration="paper", name="toy", **settings):
    return cells.cell("li2021-adult", SETTINGS | settings, seed=3, point={"dataset": name}, calibration=calibration)


def bare(**settings):
    return cells.bare(cell(**settings))


def records(seed=0, n=240):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(-1, 1, (n, P - 1)), np.ones(n)])
    y = np.where(X @ np.array([2.0, -1.0, 0.0, 0.5]) + rng.logistic(size=n) > 0, 1.0, -1.0)
    return X, y


def write(path, X, y, split=None, name="toy"):
    bounds = Domain(x_norm=NORM, y_bound=1.0)
    prepared.write(prepared.Dataset(X, y, bounds, name, {}, "binary", split=split), path)
    return str(path)


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """240 records whose last 60 are the source's test set."""
    X, y = records()
    return write(tmp_path_factory.mktemp("toy") / "toy.parquet", X, y, np.repeat(["train", "test"], [180, 60]))


# Which of the records are trained on, and which are the test: as the file says, or a quarter in a drawn order.
SAID = np.arange(180), np.arange(180, 240)
DRAWN = np.split(seeds.generator(3, "li2021-adult", "toy", "split").permutation(240), [60])[::-1]


def minimised(penalty, tilt=None, train=SAID[0]):
    X, y = (values[train] for values in records())
    theta = cvxpy.Variable(P)
    loss = cvxpy.sum(cvxpy.logistic(-cvxpy.multiply(y, X @ theta)))
    problem = cvxpy.Problem(cvxpy.Minimize(loss + penalty(theta) + (0 if tilt is None else tilt @ theta)))
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-7, tol_gap_rel=1e-7, tol_feas=1e-7)
    return theta.value


def error(theta, test=SAID[1]):
    X, y = (values[test] for values in records())
    return np.mean(np.where(X @ theta > 0, 1.0, -1.0) != y)


def normals(calibration, epsilon, repeats=3):
    """The standard draws of a cell at one budget."""
    rng = seeds.generator(3, "li2021-adult", "toy", "noise", calibration, "add_remove", epsilon, 1e-4)
    return rng.standard_normal((repeats, P))


@pytest.fixture(scope="module")
def published(toy):
    return experiments.run(cell(), data=toy, baseline="")


def values(frame, variant, epsilon, strength):
    here = frame[(frame["variant"] == variant) & (frame["epsilon"] == epsilon) & (frame["strength"] == strength)]
    return here.sort_values("repeat")["value"].to_numpy()


@pytest.mark.parametrize("strength", [0.1, 3.0])
@pytest.mark.parametrize("epsilon", [5.0, 50.0])
def test_published_fits_minimise_the_penalties_of_the_text(published, strength, epsilon):
    """Lambda0 = 1/epsilon; Gaussian b for zeta1 = zeta2 = 1 and half of epsilon; the slope 2 Lambda (N6)."""
    floor, half = 1 / epsilon, epsilon / 2
    sigma = math.sqrt(2 * (half + math.log(1e4))) / half
    knee = strength / floor

    def summed(theta):
        return 2 * strength * cvxpy.norm1(theta) + floor * cvxpy.sum_squares(theta)

    def moor(theta):  # slope 2 max{Lambda, Lambda0 u}
        beyond = cvxpy.pos(cvxpy.abs(theta) - knee)
        return 2 * strength * cvxpy.norm1(theta) + floor * cvxpy.sum_squares(beyond)

    for repeat, z in enumerate(sigma * normals("paper", epsilon)):
        for suffix, penalty in (("", summed), ("-moor", moor)):
            found = values(published, f"erm{suffix}", epsilon, strength)[repeat]
            assert found == pytest.approx(error(minimised(penalty, z)), abs=1e-12)
            plus = minimised(lambda theta, own=penalty, z=z: own(theta) + np.abs(z) @ cvxpy.abs(theta))
            assert values(published, f"vs_plus{suffix}", epsilon, strength)[repeat] == pytest.approx(error(plus))


@pytest.mark.parametrize("strength", [0.1, 3.0])
@pytest.mark.parametrize("parts", [SAID, DRAWN], ids=["the file's split", "a share set aside"])
def test_corrected_fits_minimise_the_lasso_with_noise_for_the_declared_bound(toy, tmp_path, strength, parts):
    """zeta1 = 2, zeta3 = 1: Lambda0 = 1/epsilon here too; VS+ has a lasso of sqrt(2/pi) sigma."""
    train, test = parts
    data = toy if parts is SAID else write(tmp_path / "toy.parquet", *records())
    epsilon, half = 50.0, 25.0
    frame = experiments.run(cell("corrected", epsilons=[epsilon]), data=data, baseline="")
    assert set(frame["variant"]) == {"erm", "vs_plus"} and set(frame["guarantee"]) == {"proved_exact"}
    sigma = NORM * math.sqrt(2 * (half + math.log(1e4))) / half
    floor = NORM**2 / 4 / epsilon
    for repeat, z in enumerate(sigma * normals("corrected", epsilon)):
        for variant, extra in (("erm", 0.0), ("vs_plus", math.sqrt(2 / math.pi) * sigma)):
            theta = minimised(
                lambda t, extra=extra: (strength + extra) * cvxpy.norm1(t) + floor * cvxpy.sum_squares(t), z, train
            )
            assert values(frame, variant, epsilon, strength)[repeat] == pytest.approx(error(theta, test), abs=1e-12)


def test_every_method_epsilon_lambda_and_repeat_has_one_row(published):
    keys = ["variant", "epsilon", "strength", "repeat"]
    published = published[published["metric"] == "error"]
    assert len(published) == 6 * 2 * 2 * 3 and not published.duplicated(keys).any()
    assert (published["status"] == "ok").all() and set(published["guarantee"]) == {"none"}
    assert set(published["variant"]) == {"erm", "vs", "vs_plus", "erm-moor", "vs-moor", "vs_plus-moor"}


@pytest.mark.parametrize("moor", [False, True])
def test_drawn_rows_are_those_of_the_algorithm_to_the_letter(published, moor):
    """zeta = 1: Lambda0 = 1/epsilon; T = 3 and n_e = 400, as the settings say."""
    (X, y), names = (values[SAID[0]] for values in records()), ("toy", "literal", 5.0, 1e-4)
    half = 2.5
    sigma = math.sqrt(2 * (half + math.log(1e4))) / half
    b = np.abs(sigma * seeds.generator(3, "li2021-adult", *names, "noise").standard_normal((2, P)))
    here = published[(published["metric"] == "literal_error") & (published["variant"] == f"vs_plus{'-moor' * moor}")]
    for repeat, found in enumerate(here.sort_values("repeat")["value"]):
        theta = literal(
            "logistic", X, y, b[repeat], Scheme("lasso", 1 / 5.0, moor=moor), 1.0, variant="vs_plus", rows=400, steps=3,
            rng=seeds.generator(3, "li2021-adult", *names, "rows", repeat),
        )[-1]  # fmt: skip
        assert found == pytest.approx(error(theta), abs=1e-12)


def test_what_did_not_converge_has_failed(toy, monkeypatch):
    path = adult.limit.path

    def second_fails(*args, **keys):
        found = path(*args, **keys)
        return replace(found, converged=found.converged & (np.arange(len(found.theta)) != 1)[:, None])

    monkeypatch.setattr(adult.limit, "path", second_fails)
    frame = experiments.run(cell(epsilons=[5.0]), data=toy, baseline="")
    frame = frame[frame["metric"] == "error"]
    assert ((frame["status"] == "failed") == (frame["repeat"] == 1)).all()
    assert (frame["value"].isna() == (frame["repeat"] == 1)).all()


@pytest.mark.parametrize("parts", [SAID, DRAWN], ids=["the file's split", "a share set aside"])
def test_the_benchmarks_are_the_lasso_with_lambda_and_with_twice_that(toy, tmp_path, parts):
    data = toy if parts is SAID else write(tmp_path / "toy.parquet", *records())
    frame = experiments.run_baseline(bare(), data=data)
    assert (frame["mechanism"] == "nonprivate").all() and len(frame) == 4
    for name, times in (("lasso", 1), ("lasso-2", 2)):
        for strength in (0.1, 3.0):
            theta = minimised(lambda theta, w=times * strength: w * cvxpy.norm1(theta), train=parts[0])
            assert values(frame, name, math.inf, strength) == pytest.approx([error(theta, parts[1])], abs=1e-12)


def test_records_are_counted_and_held_against_the_paper(tmp_path):
    X, y = records()
    split = np.repeat(["train", "test"], [180, 60])
    path = write(tmp_path / "adult.parquet", X, y, split, name="adult")
    frame = experiments.run_baseline(bare(name="adult"), data=path)
    counts = frame[frame["metric"] == "records"].set_index("row")["value"]
    excess = frame[frame["metric"] == "excess"].set_index("row")["value"]
    assert counts["train, above $50K"] == ((split == "train") & (y > 0)).sum() and counts.sum() == 240
    assert excess["test, at most $50K"] == 11_360 - counts["test, at most $50K"] > 0
    assert sum(adult.COUNTS["adult"].values()) == 30_162 + 15_060


# Figure 6: means over epsilon, both lassos, what the text states, and what is missing.
DRAW = {"paper": figures.fig6, "corrected": figures.fig6_corrected}


@pytest.fixture(scope="module")
def rows():
    """Made up, in the shape of the real rows: these need Adult."""
    return fake_rows.li2021_adult()


def curves(axis):
    return [line for line in axis.lines if len(line.get_xdata()) == 3]


@pytest.mark.parametrize(("which", "count"), [("paper", 6), ("corrected", 4)])
def test_lines_are_the_means_of_adult_at_each_lambda(rows, which, count):
    figure = DRAW[which](rows)
    assert [axis.get_title() for axis in figure.axes] == ["adult, Λ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.1",
                                                          "adult, Λ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}1"]  # fmt: skip
    own = rows[(rows["dataset"] == "adult") & (rows["mechanism"] == "napp")]
    own = own[(own["calibration"] == "paper") == (which == "paper")]
    for axis, strength in zip(figure.axes, (0.1, 1.0), strict=True):
        here = own[own["strength"] == strength]
        means = {tuple(np.round(g, 12)) for g in here.groupby(["calibration", "variant", "epsilon"])["value"].mean()
                 .unstack().to_numpy()}  # fmt: skip
        assert {tuple(np.round(line.get_ydata(), 12)) for line in curves(axis)} == means and len(means) == count
        levels = rows[(rows["dataset"] == "adult") & (rows["mechanism"] == "nonprivate")]
        levels = set(levels.loc[levels["strength"] == strength, "value"])
        flat = [line.get_ydata()[0] for line in axis.lines if len(line.get_xdata()) == 2]
        assert set(flat) == levels and len(levels) == 2
        stated = [line.get_ydata()[0] for line in axis.lines if len(line.get_xdata()) == 1]
        assert stated == [0.155, 0.152]


def test_a_stand_in_is_named_and_not_held_against_adult_s_numbers(rows):
    figure = figures.fig6(rows[rows["dataset"] == "breast-cancer"])
    assert all(axis.get_title().startswith("breast-cancer") for axis in figure.axes)
    assert "Adult is not among the rows: breast-cancer stands in for it" in words(figure)
    assert "stands in" not in words(figures.fig6(rows))
    assert not any(len(line.get_xdata()) == 1 for axis in figure.axes for line in axis.lines)


def test_failures_are_said_and_left_out(rows):
    mask = (rows["variant"] == "vs") & (rows["dataset"] == "adult") & (rows["repeat"] == 0)
    assert "converge" not in words(figures.fig6(rows))
    assert "6 of 144 values did not converge and are left out" in words(figures.fig6(fake_rows.fail(rows, mask)))


@pytest.mark.parametrize("which", ["paper", pytest.param("corrected", marks=pytest.mark.slow)])
@pytest.mark.parametrize("epsilons", [(0.1, 1.0), tuple(np.arange(1, 11) / 10)])
def test_no_text_leaves_the_figure_or_covers_another(which, epsilons):
    with style.applied():
        figure = DRAW[which](fake_rows.li2021_adult(epsilons=epsilons))
        assert_nothing_overlaps(figure)
    assert_ticks_are_apart(figure)
