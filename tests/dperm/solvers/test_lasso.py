"""The batched lasso against scikit-learn, cvxpy, closed forms, and its own duality gap."""

import time

import cvxpy
import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso

from dperm.errors import DataError
from dperm.solvers import lasso


def data(n=60, p=20, seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * rng.uniform(0.2, 3, p)
    return X, X[:, :3] @ np.array([2.0, -1.0, 0.5]) + noise * rng.normal(size=n)


def primal(X, y, theta, l1):
    return 0.5 * np.sum((y - X @ theta) ** 2) + l1 * np.abs(theta).sum()


def scikit(X, y, l1):
    return Lasso(alpha=l1 / len(y), fit_intercept=False, tol=1e-13, max_iter=10**6).fit(X, y).coef_


@together.over(("n", "p"), [(60, 20), (30, 80), (1, 7), (200, 1)])
@together.over("share", [0.9, 0.3, 0.03])
def test_it_finds_scikit_learns_minimiser(n, p, share):
    X, y = data(n, max(p, 3))
    X = X[:, :p]
    l1 = share * np.abs(X.T @ y).max()
    found = lasso.minimise(X, y, l1=l1, tolerance=1e-12)
    assert found.converged.all()
    np.testing.assert_allclose(found.theta[0], scikit(X, y, l1), atol=1e-5 * np.abs(found.theta).max())


def test_it_finds_cvxpys_optimum_and_the_gap_covers_the_distance_to_it():
    X, y = data(40, 60)
    for l1 in (1.0, 10.0, 60.0):
        theta = cvxpy.Variable(60)
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(y - X @ theta) / 2 + l1 * cvxpy.norm1(theta)))
        best = problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11)
        for tolerance in (1e-1, 1e-3, 1e-11):
            found = lasso.minimise(X, y, l1=l1, tolerance=tolerance)
            excess = primal(X, y, found.theta[0], l1) - best
            assert -1e-7 * best <= excess <= found.gap[0] + 1e-7 * best
            assert found.gap[0] <= tolerance / 2 * (y @ y)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 30), p=st.integers(1, 60), seed=st.integers(0, 10**6), share=st.floats(0.01, 1.2),
    sweeps=st.sampled_from([1, 5, 10_000]), integer=st.booleans(),
)  # fmt: skip
def test_the_certificate_is_a_duality_gap_and_optimality_follows(n, p, seed, share, sweeps, integer):
    """Recompute the gap from its definition; where it is nought the subgradient conditions hold."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, p)).astype(float) if integer else rng.normal(size=(n, p))  # twins and zero columns too
    y = rng.normal(size=n)
    l1 = max(share * np.abs(X.T @ y).max(), 1e-3)
    found = lasso.minimise(X, y, l1=l1, tolerance=1e-10, max_sweeps=sweeps)
    theta, r = found.theta[0], y - X @ found.theta[0]
    # Any dual point bounds the optimum from below; take scikit-learn's, so that the certificate is not its own judge.
    other = scikit(X, y, l1)
    assert found.gap[0] >= primal(X, y, theta, l1) - primal(X, y, other, l1) - 1e-12 * (y @ y)
    largest = np.abs(X.T @ r).max()
    alpha = min(max(y @ r / (r @ r), 0), l1 / max(largest, 1e-300))
    gap = primal(X, y, theta, l1) - (y @ y - np.sum((y - alpha * r) ** 2)) / 2
    assert found.gap[0] == pytest.approx(gap, rel=1e-6, abs=1e-13 * (y @ y))
    if sweeps > 5:
        assert found.converged.all()
        reached = X.T @ r / l1
        assert np.abs(reached).max() <= 1 + 1e-3
        np.testing.assert_allclose(reached[np.abs(theta) > 1e-3], np.sign(theta[np.abs(theta) > 1e-3]), atol=1e-2)


def test_orthonormal_columns_are_soft_thresholded():
    rng = np.random.default_rng(3)
    X = np.linalg.qr(rng.normal(size=(50, 20)))[0]
    y = rng.normal(size=50)
    c = X.T @ y
    found = lasso.minimise(X, y, l1=0.4, tolerance=1e-12)
    np.testing.assert_allclose(found.theta[0], np.sign(c) * np.maximum(np.abs(c) - 0.4, 0), atol=1e-6)


def test_a_penalty_above_the_largest_correlation_leaves_nothing():
    X, y = data()
    top = np.abs(X.T @ y).max()
    assert not lasso.minimise(X, y, l1=top * 1.0001).theta.any()
    assert lasso.minimise(X, y, l1=top * 0.99, tolerance=1e-12).theta.any()


def test_blocks_are_solved_each_by_itself_to_the_last_bit():
    X, y = data(120, 15)
    block = np.random.default_rng(1).integers(5, size=120)
    together = lasso.minimise(X, y, l1=3.0, block=block, blocks=6)
    for b in range(5):
        rows = block == b
        alone = lasso.minimise(X[rows], y[rows], l1=3.0)
        np.testing.assert_array_equal(together.theta[b], alone.theta[0])
        assert together.gap[b] == alone.gap[0]
    assert not together.theta[5].any()  # no row has block 5
    assert together.gap[5] == 0
    assert together.converged[5]


def test_a_solver_out_of_sweeps_says_so():
    X, y = data(30, 80)
    found = lasso.minimise(X, y, l1=0.05, tolerance=1e-12, max_sweeps=3)
    assert not found.converged[0]
    assert found.sweeps[0] == 3
    assert found.gap[0] > 0


def test_extreme_values_still_give_numbers():
    X, y = data(20, 30)
    for factor_x, factor_y in ((1e90, 1e-90), (1e-90, 1e90), (1e90, 1e90), (1e-300, 1.0)):
        found = lasso.minimise(X * factor_x, y * factor_y, l1=1.0, max_sweeps=50)
        assert np.isfinite(found.theta).all()
        assert not np.isnan(found.gap).any()


@together.over(
    ("changes", "error", "match"),
    [
        ({"l1": 0.0}, ValueError, "l1=0.0 must be"),
        ({"l1": np.nan}, ValueError, "l1=nan must be"),
        ({"tolerance": 1e-13}, ValueError, "tolerance"),
        ({"max_sweeps": 0}, ValueError, "max_sweeps"),
        ({"X": np.full((4, 2), np.nan)}, DataError, "X holds NaN"),
        ({"y": np.array([1, 2, -np.inf, 0])}, DataError, "y holds NaN, infinity"),
        ({"X": np.full((4, 2), -1e101)}, DataError, "X holds"),
        ({"y": np.ones(3)}, DataError, "shape"),
        ({"block": np.array([0, 1, 2, 1]), "blocks": 2}, DataError, "outside"),
        ({"block": np.array([0, -1, 1, 1]), "blocks": 2}, DataError, "outside"),
        ({"block": np.zeros(4)}, DataError, "integer"),
    ],
)
def test_what_makes_no_sense_is_refused(changes, error, match):
    arguments = {"X": np.ones((4, 2)), "y": np.ones(4), "l1": 1.0} | changes
    with pytest.raises(error, match=match):
        lasso.minimise(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_the_blocks_of_a_large_data_set_take_a_second():
    """n = 16,000, p = 1,000, k = 126 at Lemma 42's penalty: measured 0.05 s; generous, since cores are shared."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(16_000, 1_000))
    y = X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=16_000)
    block = rng.integers(126, size=16_000)
    lasso.minimise(X[:10], y[:10], l1=1.0)  # compiles
    start = time.perf_counter()
    found = lasso.minimise(X, y, l1=4 * 0.1 * np.sqrt(127 * np.log(1000)), block=block, blocks=126)
    assert time.perf_counter() - start < 2
    assert found.converged.all()
    assert (np.count_nonzero(found.theta[:, :5], axis=1) == 5).all()
