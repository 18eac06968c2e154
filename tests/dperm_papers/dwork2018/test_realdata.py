"""The experiment on real data: votes as scikit-learn's, probabilities against draws, budgets, splits."""

import functools

import cells
import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier

from dperm.accounting import filters
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError
from dperm.mechanisms.prediction import exppw, shards
from dperm_papers.dwork2018.realdata import committee
from dperm_papers.dwork2018.realdata import experiment as realdata
from dperm_papers.dwork2018.realdata.settings import Settings
from dperm_pipeline import experiments
from dperm_pipeline.datasets import prepared
from dperm_pipeline.experiments import Cell

SETTINGS = {
    "repeats": 3, "side_repeats": 1, "draws": 2, "epsilons": [0.5, 5.0], "epsilon": 5.0, "delta": 1e-6, "alpha": 0.1,
    "queries": [1, 50], "fine_queries": [7], "radius": 2.0, "radii": [1.0, 2.0], "ridge": 0.01, "test_share": 0.25,
    "test_rows": 60, "train_rows": 200, "walk_features": {"digits": "first"},
}  # fmt: skip


def cell(**settings):
    return cells.cell("dwork2018-realdata", SETTINGS | settings, seed=5, point={"dataset": "digits"})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """300 rows, separable but for a tenth of the labels; the first feature has few values."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (300, 3))
    X[:, 0] = np.round(4 * X[:, 0]) / 4
    y = np.where((X[:, 0] + 0.3 * X[:, 1] > 0) ^ (rng.random(300) < 0.1), 1.0, -1.0)
    told = {"files": {}, "versions": {}, "data_dependent": []}
    dataset = prepared.Dataset(X, y, Domain(1.0, 1.0), "digits", told, "binary", ("first", "second", "third"))
    path = tmp_path_factory.mktemp("data") / "digits.parquet"
    prepared.write(dataset, path)
    return path


@pytest.fixture(scope="module")
def rows(data):
    return experiments.run(cell(), data=str(data), baseline="")


@pytest.mark.parametrize(("n", "r"), [(120, 3), (120, 30), (60, 30)])
def test_votes_are_those_of_scikit_learn_on_the_same_shards(n, r, monkeypatch):
    monkeypatch.setattr(committee, "BLOCK", 200)  # several blocks
    rng = np.random.default_rng(r)
    X, queries = rng.standard_normal((n, 6)), rng.standard_normal((40, 6))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    parts = shards.assign(n, r, neighbours="replace", rng=np.random.default_rng(1))
    models = shards.fit_shards(
        RidgeClassifier(alpha=1.0, fit_intercept=False), X, (y + 1) / 2, parts, rng=np.random.default_rng(2)
    )
    # RidgeClassifier turns labels 0, 1 into -1, +1; a shard with one label is a constant on either side.
    expected = shards.votes(models, queries)
    np.testing.assert_array_equal(committee.counts(X, y, parts, queries), expected)
    if r == 30 and n == 60:
        assert any(isinstance(model, shards.Constant) for model in models)


def test_the_sign_of_a_noisy_answer():
    answers, rng = np.array([-1.0, -0.01, 0.0, 0.3, 5.0]), np.random.default_rng(3)
    drawn = (answers[:, None] + rng.laplace(0, 0.7, (5, 100_000)) > 0).mean(axis=1)
    np.testing.assert_allclose(realdata.above_zero(answers, 0.7), drawn, atol=0.006)


def test_query_keys_are_averaged_over_exactly():
    rng = np.random.default_rng(4)
    x, queries = rng.integers(0, 4, 60).astype(float), np.array([-1.0, 0.0, 1.5, 3.0, 3.0, 9.0])
    walk = exppw.prepare(x, rng.random(60) < 0.5 + 0.1 * x, rng.random(60), 3.0)
    grid = (np.arange(20_000) + 0.5) / 20_000
    expected = [exppw.probability(exppw.value(walk, np.full(20_000, q), grid), 0.8).mean() for q in queries]
    np.testing.assert_allclose(realdata.over_keys(walk, queries, 0.8), expected, atol=2e-4)


def test_every_method_spends_the_budget_of_its_point_and_no_more(rows):
    private = rows[rows["mechanism"] != "objective"]
    bounded = private["mechanism"].isin(["soft_majority", "exppw"])
    for (epsilon, m, each), part in private.groupby(["epsilon", "queries", "each"]):
        for kind in bounded[part.index].unique():
            spent = functools.partial(filters.spent, each, int(m), 1e-6, bounded_range=bool(kind))
            assert spent() <= epsilon * (1 + 1e-6)
            assert filters.spent(each * 1.01, int(m), 1e-6, bounded_range=bool(kind)) > epsilon
    assert set(rows["delta"]) == {1e-6} and set(rows["neighbours"]) == {"replace"}
    assert (rows["guarantee"] != "none").all()


def test_shards_are_as_many_as_printed_but_no_smaller_than_twenty_records(rows):
    soft = rows[(rows["mechanism"] == "soft_majority") & (rows["series"] == "epsilon")].set_index("epsilon")["shards"]
    # ceil(6 ln 40/5) = 5 of the price of one answer, slightly above 5; 200 records to train on allow 10.
    assert set(soft.loc[5.0]) <= {4, 5} and set(soft.loc[0.5]) == {10}
    assert rows.loc[rows["mechanism"] == "averaged", "shards"].between(2, 10).all()


def test_errors_are_those_of_answers_that_are_drawn(data):
    """One split by the estimators' own parts: bits drawn from the votes, signs of noisy answers."""
    one = Cell("dwork2018", "dwork2018-realdata", 5, {"dataset": "digits"}, Settings(**SETTINGS), files={"data": data})
    split = next(realdata.splits(one))
    assert split.X.shape == (200, 4) and split.Q.shape == (60, 4)
    assert np.linalg.norm(split.X, axis=1).max() <= 1 + 1e-12 and len(np.unique(split.X[:, 3])) == 1
    rng = np.random.default_rng(6)
    votes = realdata.Committee(split, lambda r: np.random.default_rng(r))
    for measured in (realdata.by_soft_majority, realdata.by_average):
        columns, error = measured(split, votes, Budget(2.0, 1e-6), 1, 0.1)
        r, each = columns["shards"], columns["each"]
        positive = votes.counts(r) / r
        noise = rng.laplace(0, realdata.averaged.scale(r, each, "tight", bits=True), (4000, 60))
        chance = {
            "soft_majority": 1 / (1 + np.exp(-each * (2 * votes.counts(r) - r) / 2)),
            "averaged": np.clip(positive + noise, 0, 1),
        }[columns["mechanism"]]
        bits = rng.random((4000, 60)) < chance
        assert error == pytest.approx((bits != (split.target > 0)).mean(), abs=0.006)


def test_series_and_references(rows, data):
    assert set(rows["series"]) == {"epsilon", "queries", "radius"}
    counts = rows.groupby(["series", "mechanism"]).size()
    assert counts["epsilon", "objective"] == 2 * 3 * 2 and counts["queries", "objective"] == 2 * 3
    assert counts["queries", "exppw"] == 3 * 2 and counts["radius", "stable_sgd"] == 1 * 2
    # Soft majority at the numbers between too, and no other.
    own = rows[rows["series"] == "queries"].groupby("mechanism")["queries"].unique()
    assert sorted(own["soft_majority"]) == [1, 7, 50] and sorted(own["averaged"]) == [1, 50]
    # One release of the model serves as many queries as anyone asks: the same number in both series.
    model = rows[(rows["mechanism"] == "objective") & (rows["epsilon"] == 5.0)]
    model = model.set_index(["series", "calibration", "repeat"])["value"].sort_index()
    assert model["queries"].equals(model["epsilon"])
    assert not model["queries", "tight"].equals(model["queries", "separate"])
    base = experiments.run_baseline(cell(), data=str(data))
    means = base.groupby("variant")["value"].mean()
    assert means["logistic"] < 0.3 < means["majority"] and len(base) == 2 * 3
    again = experiments.run(cell(), data=str(data), baseline="")
    assert rows["value"].equals(again["value"])
    # Fewer errors with a larger budget, more with more queries.
    soft = rows[rows["mechanism"] == "soft_majority"].groupby(["series", "epsilon", "queries"])["value"].mean()
    assert soft["epsilon", 5.0, 1] < soft["epsilon", 0.5, 1] and soft["queries", 5.0, 1] < soft["queries", 5.0, 50]


def test_a_feature_has_to_be_named(data):
    for named, words in (({"adult": "age"}, "'digits' is missing"), ({"digits": "age"}, "'age' is not a feature")):
        with pytest.raises(ConfigError, match=words):
            experiments.run(cell(walk_features=named), data=str(data), baseline="")
