"""Newton's method for losses of two straight pieces, against the linear program and the dual's coordinate descent."""

import numpy as np
import pytest
from scipy import sparse as scipy_sparse

from dperm.solvers import kinked, sparse


def pieces(loss, y):
    return (-np.ones(len(y)), np.ones(len(y))) if loss == "absolute" else (np.minimum(-y, 0.0), np.maximum(-y, 0.0))


def problem(kind, n, p):
    X = np.random.default_rng(0).normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if kind == "equal":
        return np.repeat(X[:1], n, axis=0), np.where(np.arange(n) % 2, 1.0, -1.0)
    if kind == "wild":
        X = X * 10.0 ** np.random.default_rng(1).uniform(-300, 0, (n, 1))
    return X, np.where(X[:, 0] > 0, 1.0, -1.0)


@pytest.mark.parametrize(("n", "p"), [(200, 3), (1, 1), (10, 40), (1000, 5)])
@pytest.mark.parametrize("kind", ["separable", "equal", "wild"])
@pytest.mark.parametrize("loss", ["absolute", "hinge"])
def test_the_bound_holds_against_coordinate_descent(loss, kind, n, p):
    X, y = problem(kind, n, p)
    w, bound = kinked.minimise(X, y, *pieces(loss, y), total=0.5, slack=1e-3)
    other = sparse.minimise(scipy_sparse.csr_matrix(X), y, loss, total=0.5, slack=1e-3, max_passes=20_000)
    assert bound <= 1e-3
    assert np.linalg.norm(w - other.dense()) <= bound + other.slack


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
@pytest.mark.parametrize("kind", ["separable", "equal", "wild"])
@pytest.mark.parametrize("total", [1e-4, 0.02, 1.0, 1e6])
def test_many_records_are_solved_at_any_reach(loss, kind, total):
    X, y = problem(kind, 20_000, 3)
    slack = 0.01 / total
    assert kinked.minimise(X, y, *pieces(loss, y), total=total, slack=slack)[1] <= slack
