"""The frontier of more than two classes against fits that are written out here, with the same streams."""

import ast
import inspect

import cells
import numpy as np
import pandas as pd
import pytest

import dperm
from dperm import seeds
from dperm.domain import Domain
from dperm_papers.frontier.multiclass import figures
from dperm_papers.frontier.shared import drawing
from dperm_pipeline import experiments
from dperm_pipeline.datasets import prepared

N, TESTED, NAME = 300, 90, "frontier-multiclass"
SETTINGS = {
    "repeats": 9, "small_repeats": 2, "small_rows": 1000, "epsilons": [2.0], "deltas": [0.0, 1e-6], "tuned_delta": 1e-6,
    "labels": 40, "committee_rows": 1000, "steps": 20, "clips": [0.5], "rates": [8.0], "ridge": 0.01,
    "test_share": 0.3, "test_rows": 1000, "train_rows": 1000,
}  # fmt: skip


def cell(neighbours="add_remove"):
    return cells.cell(NAME, SETTINGS, seed=3, point={"dataset": "toy"}, neighbours=neighbours)


def records():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (N, 2))
    return X, (X @ [[4.0, -2.0, -2.0], [0.0, 3.0, -3.0]]).argmax(axis=1).astype(float)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("toy") / "toy.parquet")
    prepared.write(prepared.Dataset(*records(), Domain(x_norm=2.0, y_bound=2.0), "toy", {}, "multiclass"), path)
    found = [experiments.run(cell(relation), data=path, baseline="") for relation in ("add_remove", "replace")]
    return pd.concat([experiments.run_baseline(cells.bare(cell()), data=path), *found], ignore_index=True)


def split(repeat):
    X, y = records()
    X = np.column_stack([X, np.ones(N)])
    X /= np.sqrt((X**2).sum(axis=1, keepdims=True))
    order = seeds.generator(3, NAME, "toy", "split", repeat).permutation(N)
    return X[order[TESTED:]], y[order[TESTED:]], X[order[:TESTED]], y[order[:TESTED]]


def one_vs_rest(**given):
    return dperm.PrivateOneVsRest(dperm.OutputPerturbation(neighbours="replace", clip=True), **given)


def soft_majority(**given):
    return dperm.SoftMajority(queries=40, neighbours="replace", clip=True, **given)


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.parametrize(
    ("method", "make", "most"), [("output_rest", one_vs_rest, TESTED), ("soft_majority", soft_majority, 40)]
)
def test_a_row_is_the_error_of_the_estimator_with_nothing_set(rows, method, make, most):
    here = rows[(rows["method"] == method) & (rows["delta"] == 1e-6) & (rows["neighbours"] == "replace")]
    for repeat, value in zip(here["repeat"], here["value"], strict=True):
        X, y, Q, target = split(repeat)
        rng = seeds.generator(3, NAME, "toy", method, "", "replace", 2.0, 1e-6, repeat)
        model = make(epsilon=2.0, delta=1e-6, classes=(0, 1, 2), random_state=rng).fit(X, y)
        assert value == np.mean(model.predict(Q[:most]) != target[:most])
    assert sorted(here["repeat"]) == [0, 1]


def test_methods_and_references_and_what_is_drawn(rows):
    private = rows[rows["mechanism"] != "nonprivate"]
    assert set(private.loc[private["delta"] == 0, "method"]) == {"output_rest", "objective_rest"}
    assert set(private.loc[private["guarantee"] == "none", "method"]) == {"gradient_free"}
    assert set(private["status"]) == {"ok"}
    plain, most = (rows.loc[rows["variant"] == name, "value"] for name in ("multinomial", "majority"))
    # Labels are an exact function of the rows; the constant and the length that is divided out leave it so.
    assert plain.max() < 0.06 and most.min() > 0.4
    assert figures.multiclass(rows).axes
    numbers, _ = figures.multiclass_table(rows)
    assert set(numbers["method"]) >= {"PreconditionedGradientDescent", "SoftMajority (labels for some rows)"}


def test_the_code_to_copy_makes_each_estimator_as_the_rows_have_it():
    """Read as Python: a call of a public estimator with its budget, relation and classes, and nothing else set."""
    assert set(drawing.LOOKS) - set(drawing.CODE) == {"output_search", "gradient_search", "gradient_free"}
    for name, code in drawing.CODE.items():
        filled = code.format(epsilon=1.0, delta=1e-6, neighbours="replace")
        call = ast.parse(filled, mode="eval").body.func.value
        model = getattr(dperm, call.func.attr)
        given = {word.arg: word.value for word in call.keywords}
        inner = call.args[0] if call.args else call
        assert {word.arg for word in inner.keywords} >= {"neighbours", "clip"}, name
        assert ast.literal_eval(given["epsilon"]) == 1.0 and ast.literal_eval(given["delta"]) == 1e-6
        assert set(given) <= set(inspect.signature(model).parameters), name
