"""Objective perturbation of sparse rows: the bytes of dense ones but for rounding, total where those are."""

import math
import warnings

import numpy as np
import pytest
from scipy import sparse

from dperm import ObjectivePerturbation, losses
from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation
from dperm.feasible import Region
from dperm.mechanisms import objective


def records(n=300, p=40):
    """Rows of a few features each; the last ten columns, and some rows, are nobody's."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (n, p)) * (rng.random((n, p)) < 0.1)
    X[:, -10:] = X[::50] = 0.0
    return X, (X[:, 0] + 0.1 * rng.standard_normal(n) > 0).astype(int)


SQUARED = {"loss": "squared", "y_bound": 1.0}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"delta": 1e-6, "fit_intercept": True, "neighbours": "replace"},
        {"l2": 3.0, "curvature": 2.0, "solver_share": 0.0},
        {"loss": "smoothed_hinge", "calibration": "paper"},
        {"l1": 0.5},
        {"radius": 1.0, "fit_intercept": True},
        SQUARED | {"low": -0.5, "high": 0.5},
    ],
)
def test_sparse_rows_are_as_dense_ones(given):
    X, y = records()
    labels = {} if given.get("loss") == "squared" else {"classes": (0, 1)}
    for clip, form in ((False, sparse.csr_array), (True, sparse.csc_matrix)):
        rows = X.copy()
        rows[5] *= 30.0 if clip else 1.0
        made = [
            ObjectivePerturbation(**given, **labels, clip=clip, random_state=3).fit(Z, y) for Z in (rows, form(rows))
        ]
        size = np.abs(made[0].coef_).max()
        np.testing.assert_allclose(made[1].coef_, made[0].coef_, rtol=1e-12, atol=1e-12 * size)
        np.testing.assert_allclose(made[1].intercept_, made[0].intercept_, rtol=1e-12, atol=1e-12 * size)
        assert made[0].privacy_ == made[1].privacy_
        np.testing.assert_allclose(made[1].predict(form(X)), made[0].predict(X), rtol=1e-9)


@pytest.mark.parametrize("given", [{}, {"l2": 3.0, "delta": 1e-6, "fit_intercept": True}, {"loss": "smoothed_hinge"}])
def test_a_large_sparse_table_is_solved_for_on_its_own_columns(given, monkeypatch):
    """The minimiser of all columns but for twice the solver's public target, here 1e-9 zeta/Delta."""
    X, y = records()
    given = {"classes": (0, 1), "curvature": 2.0, "random_state": 3, **given}
    dense = ObjectivePerturbation(**given).fit(X, y)
    monkeypatch.setattr("dperm.mechanisms.estimators.objective.LARGE", 0)
    thin = ObjectivePerturbation(**given).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=2e-9)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, atol=2e-9)


def test_no_sparse_row_makes_fit_fail_and_no_row_at_all_is_as_good():
    """Rows with NaN, infinity and numbers near the largest double; no records; records without an entry."""
    X, y = records()
    X[1:4, 0] = math.nan, math.inf, 1.7e308
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows, labels in ((X, y), (X[:0], y[:0]), (0 * records()[0], y)):
            given = {"classes": (0, 1), "clip": True, "curvature": 10.0, "random_state": 0}
            made = [ObjectivePerturbation(**given).fit(Z, labels) for Z in (rows, sparse.csr_array(rows))]
            assert made[1].privacy_.total
            np.testing.assert_allclose(made[1].coef_, made[0].coef_, rtol=1e-11)
    with pytest.raises(DomainViolation, match="rows longer than x_norm=1"):
        ObjectivePerturbation(classes=(0, 1)).fit(sparse.csr_array(30 * records()[0]), y)


def test_a_column_that_no_record_has_is_its_noise_over_delta():
    """A million columns cost what the touched ones cost."""
    X, y = sparse.csr_array(([0.5, -0.5], ([0, 1], [7, 999_999])), shape=(2, 10**6)), np.array([0, 1])
    model = ObjectivePerturbation(classes=(0, 1), delta=1e-6, curvature=4.0, solver_share=0.0, random_state=0).fit(X, y)
    drawn = -4.0 * model.coef_[0]
    law, _ = objective.calibrate(
        losses.logistic(), Domain(1.0), Budget(1.0, 1e-6), curvature=4.0, calibration="tight", neighbours="add_remove"
    )
    assert np.delete(drawn, [7, 999_999]).std() == pytest.approx(law.scale, rel=5e-3)
    assert np.count_nonzero(model.coef_) == 10**6
    with pytest.raises(ValueError, match="columns go with no regularizer but l2"):
        objective.release(
            np.zeros((2, 1)), np.ones(2), losses.logistic(), domain=Domain(1.0), budget=Budget(1.0), curvature=1.0,
            neighbours="replace", calibration="tight", rng=np.random.default_rng(0), region=Region(radius=1.0),
            features=3, columns=np.array([1]),
        )  # fmt: skip
