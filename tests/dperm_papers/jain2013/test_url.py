"""jain2013-url: a linear machine in many columns, and noise on those that a row touches."""

import cells
import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from dperm.domain import Domain
from dperm_papers.jain2013.shared import accuracy
from dperm_papers.jain2013.url import experiment as url
from dperm_papers.jain2013.url.settings import Settings
from dperm_pipeline import experiments
from dperm_pipeline.datasets import prepared
from dperm_pipeline.experiments import Cell

SETTINGS = {
    "row_splits": {"url-5700": [120, 30, 60]}, "repeats": 2, "draws": 3, "epsilons": [1.0, 5.0], "totals": [5.0, 50.0],
    "queries": [10, 25], "public_points": 25, "query_epsilons": [1.0], "large_queries": 25, "large_splits": 1,
    "path_rows": 20, "libsvm_rows": 80, "libsvm_splits": 1, "delta": 1e-6,
}  # fmt: skip


def cell(**settings):
    return cells.cell("jain2013-url", SETTINGS | settings, seed=3, point={"dataset": "url-5700"})


def splits(path, count):
    made = Cell("jain2013", "jain2013-url", 3, {"dataset": "url-5700"}, Settings(**SETTINGS), files={"data": path})
    return accuracy.splits(made, made.data, count)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Rows of eight ones among 3,231,961 columns, the first of which tells the label."""
    rng, n = np.random.default_rng(0), 210
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    columns = np.sort(rng.choice(np.arange(2, 600), size=(n, 8)), axis=1)
    columns[:, 0] = y > 0
    X = sparse.csr_array((np.ones(8 * n), columns.ravel() * 5000, 8 * np.arange(n + 1)), shape=(n, 3_231_961))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()), np.diff(X.indptr))
    where = tmp_path_factory.mktemp("url") / "data.parquet"
    data = prepared.Dataset(X, y, Domain(x_norm=1.0, y_bound=1.0), "url-5700", {}, "binary")
    prepared.write(data, where)
    return str(where)


def test_rows(path):
    rows = experiments.run(cell(), data=path, baseline="")
    assert set(rows["penalty"]) == {"5", "50"} and set(rows["total"]) == {5.0, 50.0}
    tddl = rows[(rows["mechanism"] == "tddl") & (rows["metric"] == "accuracy")]
    assert tddl.groupby(["queries", "epsilon"]).size().to_dict() == {(10, 1.0): 16, (25, 1.0): 16, (25, 5.0): 16}
    assert rows["value"].between(0, 1).all()
    assert rows["value"].equals(experiments.run(cell(), data=path, baseline="")["value"])


@pytest.mark.parametrize("total", [5.0, 50.0])
def test_the_machine_is_scikit_learn_s(path, total):
    for repeat, split in enumerate(splits(path, 2)):
        model = url.fit_machine(split, total)
        machine = LinearSVC(C=1 / total, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=200_000)
        machine.fit(split.X, split.y)
        w = machine.coef_.ravel()
        assert np.abs(model.predict(split.Q) - split.Q @ w).max() <= model.setting.slack + 1e-6
        assert model.setting.slack == pytest.approx(2 / total / 20), repeat


def test_noise_has_the_linear_kernel_as_covariance(path):
    split = next(splits(path, 1))
    near = split.Q[:6]
    drawn = url.noise_margins(near, np.random.default_rng(0), 3000)
    np.testing.assert_allclose(drawn.T @ drawn / 3000, (near @ near.T).toarray(), atol=0.1)


def test_the_majority(path):
    found = experiments.run_baseline(cell(), data=path)
    found = found[found["variant"] == "majority"]
    for repeat, split in enumerate(splits(path, 2)):
        share = (split.target < 0).mean()
        assert (split.y < 0).mean() > 0.5
        assert found.loc[found["repeat"] == repeat, "value"].item() == pytest.approx(share)


def test_libsvm_with_its_bias(path):
    """On its own fewer rows, at the n C of all of them: rows themselves instead of their products."""
    found = experiments.run_baseline(cell(), data=path)
    found = found[found["variant"] == "libsvm"]
    split = next(splits(path, 1))
    assert list(found["repeat"]) == [0, 0] and list(found["penalty"]) == ["5", "50"]
    for total, value in zip(found["total"], found["value"], strict=True):
        machine = SVC(C=120 / 80 / total, kernel="linear").fit(split.X[:80].toarray(), split.y[:80])
        assert value == pytest.approx(machine.score(split.Q.toarray(), split.target))
