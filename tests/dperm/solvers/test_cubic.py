"""The cubic support vector machine against LIBLINEAR, Clarabel, the plain solver, and its own certificate."""

import itertools
import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC

from dperm import kernels
from dperm.errors import DataError, DomainViolation, SolverError
from dperm.solvers import cubic, kernel, patterns
from dperm_pipeline.datasets.synthetic import covertype_like

R = math.sqrt(8)


def one_hot(n, seed=0, numbers=3, kinds=(2, 4)):
    """Unit rows of some numbers (a few of them 0) and one indicator of each kind, labels with a weak signal."""
    rng = np.random.default_rng([seed, n])
    X = [rng.random((n, numbers)) * (rng.random((n, numbers)) < 0.9)]
    X += [np.eye(kind)[rng.integers(kind, size=n)] for kind in kinds]
    X = np.concatenate(X, axis=1)
    X /= np.maximum(np.linalg.norm(X, axis=1), 1e-9)[:, None]
    y = np.sign(X @ rng.normal(size=X.shape[1]) + 0.3 * rng.normal(size=n))
    return sparse.csr_array(X), np.where(y == 0, 1.0, y)


def explicit(fit, d):
    """The weights on all columns of the explicit map."""
    w = np.zeros(math.comb(d + 3, 3))
    w[fit.columns] = fit.weights
    return w


def primal(phi, y, w, total):
    return np.maximum(1 - y * (phi @ w), 0).sum() + total / 2 * w @ w


def dual(X, y, alpha, total):
    v = y * alpha
    return alpha.sum() - v @ (((X @ X.T).toarray() + 1) ** 3 @ v) / (2 * total)


@pytest.mark.slow
@pytest.mark.parametrize("total", [0.3, 5.0, 1000.0])
def test_against_clarabel(total):
    X, y = one_hot(90)
    phi = kernels.monomials(X)
    fit = cubic.minimise(X, y, total=total, slack=1e-5)
    w = explicit(fit, X.shape[1])
    used = np.unique(phi.indices)
    variable = cp.Variable(len(used))
    margins = cp.multiply(y, phi[:, used] @ variable)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - margins)) + total / 2 * cp.sum_squares(variable)))
    problem.solve(solver=cp.CLARABEL)
    assert fit.gap >= 0 and fit.slack <= 1e-5
    assert primal(phi, y, w, total) <= problem.value + fit.gap + 1e-6 * problem.value
    np.testing.assert_allclose(w[used], variable.value, atol=2e-4 * max(1, fit.norm))


@pytest.mark.slow
@pytest.mark.parametrize("C", [0.001, 0.25])
def test_against_liblinear_on_covertypes_structure(C):
    data = covertype_like(2000, 3)
    phi = sparse.csr_matrix(kernels.monomials(data.X))
    used, indices = np.unique(phi.indices, return_inverse=True)
    narrow = sparse.csr_matrix((phi.data, indices.astype(np.int32), phi.indptr.astype(np.int32)))
    fit = cubic.minimise(data.X, data.y, total=1 / C, slack=2 * R * C / 20)
    theirs = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-7, max_iter=200_000).fit(narrow, data.y)
    apart = np.linalg.norm(explicit(fit, 54)[used] - theirs.coef_[0])
    assert apart <= fit.slack + 1e-4 * fit.norm
    np.testing.assert_allclose(fit.predict(data.X), narrow @ theirs.coef_[0], atol=R * (fit.slack + 1e-4 * fit.norm))


def test_weights_norm_and_predictions_are_of_the_explicit_map():
    X, y = one_hot(200)
    Z, _ = one_hot(150, seed=8)
    # The first forty rows have one soil only: most patterns of Z were never met.
    fit = cubic.minimise(X[:40], y[:40], total=0.7, slack=1e-3)
    w = explicit(fit, X.shape[1])
    np.testing.assert_allclose(fit.predict(Z), kernels.monomials(Z) @ w, atol=1e-12)
    np.testing.assert_allclose(fit.predict(Z.toarray()), fit.predict(Z), atol=1e-15)
    assert fit.norm == pytest.approx(np.linalg.norm(w))
    by_dual = kernels.monomials(X[:40]).T @ (y[:40] * fit.dual) / 0.7
    np.testing.assert_allclose(w, by_dual, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(1, 80),
    st.floats(-2.5, 3),
    st.floats(-4, 0),
    st.integers(0, 4),
    st.sampled_from([(), (3,), (2, 4)]),
)
def test_the_certificate_bounds_the_distance(seed, n, exponent, share, numbers, kinds):
    """w* by a fit at a slack far smaller, itself checked by primal and dual formed from the whole kernel matrix."""
    if not kinds:
        numbers += 1
    X, y = one_hot(n, seed, numbers, kinds) if numbers or kinds else one_hot(n, seed)
    total = 10.0**exponent
    wanted = 10.0**share * 2 * R / total
    phi = kernels.monomials(X)
    fit, best = (cubic.minimise(X, y, total=total, slack=slack) for slack in (wanted, 1e-4 * R / total))
    w, star = explicit(fit, X.shape[1]), explicit(best, X.shape[1])
    assert fit.dual.min() >= 0 and fit.dual.max() <= 1
    assert fit.slack <= wanted and fit.slack == pytest.approx(math.sqrt(2 * fit.gap / total))
    assert np.linalg.norm(w - star) <= fit.slack + best.slack
    value = primal(phi, y, w, total)
    assert value - dual(X, y, fit.dual, total) <= fit.gap + 1e-11 * max(value, n)


@pytest.mark.parametrize("few", [0, 20, 512])
def test_every_way_to_the_end_is_certified(monkeypatch, few):
    """By descent alone, by both, and by the kernel matrix at once."""
    X, y = one_hot(400, seed=2)
    monkeypatch.setattr(cubic, "FEW", few)
    total, slack = 3.0, 2 * R / 3 / 20
    fit = cubic.minimise(X, y, total=total, slack=slack)
    best = kernel.minimise(kernels.polynomial(), X, y, "hinge", total=total, slack=1e-4)
    assert fit.slack <= slack
    np.testing.assert_allclose(fit.predict(X), best.predict(X), atol=R * (fit.slack + best.slack))
    # And no less sure of itself than it may be.
    assert np.abs(fit.predict(X) - best.predict(X)).max() > 0


def test_a_fit_is_the_same_every_time_and_follows_its_rows():
    X, y = one_hot(300, seed=5)
    fit, again = (cubic.minimise(X, y, total=2.0, slack=1e-3) for _ in range(2))
    np.testing.assert_array_equal(fit.weights, again.weights)
    mixed = np.random.default_rng(1).permutation(300)
    other = cubic.minimise(X[mixed], y[mixed], total=2.0, slack=1e-5)
    np.testing.assert_allclose(explicit(other, 9), explicit(fit, 9), atol=fit.slack + other.slack)
    np.testing.assert_allclose((y * fit.dual).sum(), (y[mixed] * other.dual).sum(), atol=0.5)


def test_stored_zeros_duplicates_and_other_types_make_no_difference():
    X, y = one_hot(60, seed=4)
    dense = cubic.minimise(X.toarray(), y, total=2.0, slack=1e-5)
    doubled = sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    for other in (doubled, sparse.coo_array(X), sparse.csr_matrix(X)):
        fit = cubic.minimise(sparse.csr_array(other), y, total=2.0, slack=1e-5)
        np.testing.assert_allclose(fit.predict(X), dense.predict(X), atol=2 * R * 1e-5)
    assert doubled.nnz == 2 * X.nnz


def test_rows_are_grouped_by_their_columns():
    X, _ = one_hot(500)
    grouped = patterns.group(X)
    dense = X.toarray()
    for pattern, (low, high) in enumerate(itertools.pairwise(grouped.starts)):
        columns = grouped.columns[pattern, 1:] - 1
        assert (np.diff(columns) > 0).all()
        rows = dense[grouped.rows[low:high]]
        np.testing.assert_array_equal(rows[:, columns], grouped.z[low:high, 1:])
        assert np.count_nonzero(np.delete(rows, columns, axis=1)) == 0
    assert (grouped.z[:, 0] == 1).all() and sorted(grouped.rows) == list(range(500))


def test_places_are_the_columns_of_the_explicit_map():
    X = sparse.csr_array((np.ones(3), [0, 1_500_000, 2_999_999], [0, 3]), shape=(1, 3_000_000))
    places = patterns.group(X).places()
    assert set(places.ravel().tolist()) == set(kernels.monomials(X).indices.tolist())
    assert places.max() == math.comb(3_000_000 + 2, 3) + math.comb(3_000_000 + 1, 2) + 3_000_000


def test_bad_input_is_named():
    X, y = one_hot(30)
    minimise = cubic.minimise
    for labels in (y[:-1], np.where(y > 0, 1.0, 0.0), y * np.nan):
        with pytest.raises(DataError, match="y must be 30 labels"):
            minimise(X, labels, total=1.0, slack=1.0)
    with pytest.raises(DomainViolation, match=r"X has rows longer than x_norm=0\.9"):
        minimise(X, y, total=1.0, slack=1.0, x_norm=0.9)
    assert minimise(2 * X, y, total=1.0, slack=1.0, x_norm=2.0).norm > 0
    with pytest.raises(DomainViolation, match="x_norm=0"):
        minimise(X, y, total=1.0, slack=1.0, x_norm=0.0)
    broken = X.copy()
    broken.data[3] = np.nan
    with pytest.raises(DataError, match="NaN or infinity"):
        minimise(broken, y, total=1.0, slack=1.0)
    for name in ("total", "slack", "max_epochs"):
        with pytest.raises(ValueError, match=f"{name}=0"):
            minimise(X, y, **{"total": 1.0, "slack": 1.0, name: 0})


def test_what_is_not_reached_is_an_error(monkeypatch):
    X, y = one_hot(400, seed=1)
    monkeypatch.setattr(cubic, "FEW", 0)
    with pytest.raises(SolverError, match=r"slack=1e-05 was not certified within 3 epochs;"):
        cubic.minimise(X, y, total=0.5, slack=1e-5, max_epochs=3)
    with pytest.raises(SolverError, match=r"slack=1e-30 was not certified and may be below rounding"):
        cubic.minimise(X, y, total=0.5, slack=1e-30)


def test_rows_without_shared_patterns_are_sent_to_the_other_solver():
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 60), density=0.5, rng=rng, format="csr")
    with pytest.raises(
        DataError, match=r"the 3000 rows have 3000 patterns of .* too little is shared by rows; solve by the kernel"
    ):
        cubic.minimise(X / 60, np.ones(3000), total=1.0, slack=1.0)
    with pytest.raises(DataError, match=r"3000001 columns .* solve by the kernel"):
        cubic.minimise(sparse.csr_array((2, 3_000_001)), np.ones(2), total=1.0, slack=1.0)
