"""The frontier of linear models against fits that are written out here, with the same streams."""

import cells
import numpy as np
import pandas as pd
import pytest
from chosen_rows import of
from matplotlib.backends.backend_agg import FigureCanvasAgg
from sklearn.linear_model import LogisticRegression

import dperm
from dperm import seeds
from dperm.domain import Domain
from dperm_papers.frontier.linear import figures
from dperm_pipeline import experiments
from dperm_pipeline.datasets import prepared

N, TESTED, NAME = 300, 90, "frontier-linear"
SETTINGS = {
    "repeats": 9, "small_repeats": 2, "small_rows": 1000, "epsilons": [2.0], "deltas": [0.0, 1e-6],
    "tuned_delta": 1e-6, "trials": 2.0, "steps": 20, "clips": [0.1, 0.5], "rates": [8.0], "ridge": 0.01,
    "test_share": 0.3, "test_rows": 1000, "train_rows": 1000,
}  # fmt: skip


def cell(neighbours="add_remove"):
    return cells.cell(NAME, SETTINGS, seed=3, point={"dataset": "toy"}, neighbours=neighbours)


def records():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (N, 3))
    return X, np.where(X @ [3.0, -2.0, 0.0] - 0.7 + 0.3 * rng.logistic(size=N) > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("toy") / "toy.parquet")
    prepared.write(prepared.Dataset(*records(), Domain(x_norm=2.0, y_bound=1.0), "toy", {}, "binary"), path)
    found = [experiments.run(cell(relation), data=path, baseline="") for relation in ("add_remove", "replace")]
    return pd.concat([experiments.run_baseline(cells.bare(cell()), data=path), *found], ignore_index=True)


def split(repeat):
    """Training and test rows of length one with a constant, and their labels."""
    X, y = records()
    X = np.column_stack([X, np.ones(N)])
    X /= np.sqrt((X**2).sum(axis=1, keepdims=True))
    order = seeds.generator(3, NAME, "toy", "split", repeat).permutation(N)
    return X[order[TESTED:]], y[order[TESTED:]], X[order[:TESTED]], y[order[:TESTED]]


def errors(rows, **where):
    return of(rows, **where).sort_values("repeat")["value"].to_numpy()


@pytest.mark.parametrize(
    ("method", "delta", "make"),
    [("objective", 0.0, dperm.ObjectivePerturbation), ("gradient", 1e-6, dperm.NoisyGradientDescent)],
)
def test_a_row_is_the_error_of_the_estimator_with_nothing_set(rows, method, delta, make):
    expected = []
    for repeat in range(2):
        X, y, Q, target = split(repeat)
        rng = seeds.generator(3, NAME, "toy", method, "", "replace", 2.0, delta, repeat)
        model = make(epsilon=2.0, delta=delta, neighbours="replace", classes=(-1, 1), clip=True, random_state=rng)
        expected.append(np.mean(model.fit(X, y).predict(Q) != target))
    assert errors(rows, method=method, delta=delta, neighbours="replace") == pytest.approx(expected, abs=0)


def test_references_are_those_of_scikit_learn_and_of_counting(rows):
    for repeat in range(2):
        X, y, Q, target = split(repeat)
        plain = LogisticRegression(C=100.0, fit_intercept=False, tol=1e-8, max_iter=1000).fit(X, y)
        assert errors(rows, variant="logistic")[repeat] == pytest.approx(np.mean(plain.predict(Q) != target), abs=0.012)
        assert errors(rows, variant="majority")[repeat] == np.mean(target != np.sign(y.sum()))


def test_methods_stand_where_their_theorems_serve(rows):
    private = rows[rows["mechanism"] != "nonprivate"]
    assert set(private["status"]) == {"ok"} and set(private["repeat"]) == {0, 1}
    pure = set(private.loc[private["delta"] == 0, "method"])
    assert pure == {"objective", "output", "napp"}
    known = set(private["method"]) - set(private.loc[private["neighbours"] == "add_remove", "method"])
    assert known == {"approximate_minima", "stable_erm", "stable_sgd"}
    assert set(private.loc[private["guarantee"] == "none", "method"]) == {"gradient_free"}
    assert set(private["guarantee"]) == {"proved", "none"}


def test_free_tuning_takes_the_setting_of_least_test_error(rows):
    by_setting, ways = {}, {f"clip {clip:g}, rate 8/n": {"gradient_clip": clip, "steps": 20} for clip in (0.1, 0.5)}
    for setting, given in {"defaults": {}, **ways}.items():
        for repeat in range(2):
            X, y, Q, target = split(repeat)
            rng = seeds.generator(3, NAME, "toy", "gradient_free", setting, "add_remove", 2.0, 1e-6, repeat)
            step_size = 8 / len(y) if given else None
            model = dperm.NoisyGradientDescent(
                epsilon=2.0, delta=1e-6, step_size=step_size, classes=(-1, 1), random_state=rng, **given
            ).fit(X, y)
            by_setting.setdefault(setting, []).append(np.mean(model.predict(Q) != target))
    best = min(by_setting, key=lambda setting: np.mean(by_setting[setting]))
    found = errors(rows, method="gradient_free", neighbours="add_remove")
    assert found == pytest.approx(by_setting[best], abs=0)
    assert set(rows.loc[(rows["method"] == "gradient_free") & (rows["neighbours"] == "add_remove"), "setting"]) == {
        best
    }


def test_the_figure_and_the_table_show_the_rows(rows):
    figure = figures.linear(rows)
    FigureCanvasAgg(figure).draw()
    panels = [axis for axis in figure.axes if axis.lines]
    assert [axis.get_title("left").replace("\N{NO-BREAK SPACE}", " ") for axis in panels] == [
        f"toy, {relation}, δ = {delta}" for relation in ("add/remove", "replace one") for delta in ("0", "10⁻⁶")
    ]
    majority = errors(rows, variant="majority").mean()
    for axis in panels:
        assert any(np.allclose(line.get_ydata(), majority) for line in axis.lines)
    numbers, words = figures.linear_table(rows)
    line = numbers[(numbers["method"] == "NAPP") & (numbers["delta"] == 0) & (numbers["neighbours"] == "replace")]
    assert line["error_2"].item() == errors(rows, method="napp", delta=0.0, neighbours="replace").mean()
    assert len(words) == len(numbers) == 2 + 3 + 8 + 3 + 11
