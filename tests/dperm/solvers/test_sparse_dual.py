"""Dual coordinate descent for sparse rows, against scikit-learn, cvxpy, Newton's method and the gap as defined."""

import tracemalloc

import cvxpy as cp
import numpy as np
import pytest
import together
from scipy import sparse, stats
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from dperm import losses, noise
from dperm.domain import Budget, Domain
from dperm.feasible import Region
from dperm.mechanisms import cms11, objective
from dperm.solvers import newton
from dperm.solvers import sparse as solver

N, D = 90, 40
RNG = np.random.default_rng(7)
# Columns 30 to 39 are touched by no row.
X = sparse.random_array((N, D - 10), density=0.15, rng=RNG, format="csr")
X = sparse.csr_array(sparse.hstack([X, sparse.csr_array((N, 10))]))
X = sparse.csr_array(X / np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-9)[:, None])
LABEL = np.where(X @ RNG.normal(size=D) + 0.3 * RNG.normal(size=N) > 0, 1.0, -1.0)
TARGET = {"hinge": LABEL, "smoothed_hinge": LABEL}
REAL = X @ RNG.normal(size=D) * 2 + RNG.normal(size=N)
TILT = RNG.normal(size=(3, D)) * 4


def target(name):
    return TARGET.get(name, REAL)


def stated(name, u, y):
    """The loss in cvxpy's words, summed."""
    words = {
        "squared": lambda: cp.sum_squares(u - y) / 2,
        "huber": lambda: cp.sum(cp.huber(u - y, 1.0)) / 2,
        "absolute": lambda: cp.norm1(u - y),
        "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(y, u))),
    }
    return words[name]()


@pytest.mark.parametrize("total", [0.3, 5.0])
@pytest.mark.parametrize("name", ["squared", "huber", "absolute", "hinge"])
def test_minimiser_under_a_tilt_is_cvxpy_s(name, total):
    w = cp.Variable(D)
    y = target(name)
    risk = stated(name, X.toarray() @ w, y) + total / 2 * cp.sum_squares(w) + TILT[0] @ w
    problem = cp.Problem(cp.Minimize(risk))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    fit = solver.minimise(X, y, name, total=total, slack=1e-5, tilt=TILT[0])
    assert fit.slack <= 1e-5
    np.testing.assert_allclose(fit.dense(), w.value, atol=2e-4)


def test_least_squares_is_scikit_learn_s():
    fit = solver.minimise(X, REAL, "squared", total=0.7, slack=1e-9)
    other = Ridge(alpha=0.7, fit_intercept=False, tol=1e-13, solver="cholesky").fit(X.toarray(), REAL)
    np.testing.assert_allclose(fit.dense(), other.coef_, atol=1e-8)
    np.testing.assert_allclose(fit.predict(X), other.predict(X.toarray()), atol=1e-8)
    assert fit.norm == pytest.approx(np.linalg.norm(other.coef_), abs=1e-8)


@pytest.mark.parametrize("total", [0.1, 2.0])
def test_hinge_is_linear_svc_s(total):
    fit = solver.minimise(X, LABEL, "hinge", total=total, slack=1e-7)
    fixed = {"loss": "hinge", "fit_intercept": False, "tol": 1e-8, "max_iter": 10**6, "random_state": 0}
    other = LinearSVC(C=1 / total, **fixed).fit(X.toarray(), LABEL)
    np.testing.assert_allclose(fit.dense(), other.coef_[0], atol=1e-5)


@pytest.mark.parametrize("name", ["huber", "smoothed_hinge", "squared"])
def test_all_tilts_at_once_are_newton_s(name, monkeypatch):
    loss = losses.make(name, **({"knee": 0.4} if name == "huber" else {}))
    other = newton.minimise(loss, X.toarray(), target(name), ridge=0.5, tolerance=1e-9, tilt=TILT)
    for repeats in (32, 2):
        monkeypatch.setattr(solver, "CHUNK_REPEATS", repeats)
        fit = solver.minimise(X, target(name), loss, total=0.5, slack=1e-8, tilt=TILT)
        assert (fit.slack <= 1e-8).all() and fit.weights.shape == (3, len(fit.columns))
        assert (np.linalg.norm(fit.dense() - other.theta, axis=1) <= fit.slack + other.certificate + 1e-12).all()
        np.testing.assert_allclose(fit.norm, np.linalg.norm(fit.dense(), axis=1), rtol=1e-12)
        np.testing.assert_allclose(fit.predict(X[:7]), (X[:7] @ fit.dense().T).T, atol=1e-13)


def test_inactive_columns_are_exact():
    fit = solver.minimise(X, REAL, "huber", total=3.0, slack=0.1, tilt=TILT)
    assert not set(fit.columns) & set(range(30, 40)) and len(fit.columns) == 30
    np.testing.assert_array_equal(fit.dense()[:, 30:], -TILT[:, 30:] / 3.0)
    untilted = solver.minimise(X, REAL, "huber", total=3.0, slack=0.1)
    assert not untilted.dense()[30:].any()


@pytest.mark.parametrize("name", ["huber", "hinge", "absolute", "smoothed_hinge"])
def test_gap_is_primal_minus_dual_at_any_point(name):
    """The sum of Fenchel-Young terms against P(w) - D(alpha), D with conjugates taken on a grid of u."""
    loss, y, total = losses.make(name), target(name), 0.8
    fit = solver.minimise(X, y, loss, total=total, slack=1e-9, tilt=TILT[0], max_passes=2)
    w, alpha = fit.dense(), fit.dual
    assert fit.slack > 1e-6
    np.testing.assert_allclose(total * w, -(TILT[0] + X.T @ alpha), atol=1e-12)
    primal = loss.value(X @ w, y).sum() + total / 2 * w @ w + TILT[0] @ w
    grid, conjugate = np.linspace(-60, 60, 240_001), 0.0
    for a, t in zip(alpha, y, strict=True):
        u = np.append(grid, t)  # where `absolute` has its kink
        conjugate += (a * u - loss.value(u, t)).max()
    dual = -conjugate - total / 2 * w @ w
    assert fit.gap == pytest.approx(primal - dual, abs=1e-4)
    exact = solver.minimise(X, y, loss, total=total, slack=1e-8, tilt=TILT[0])
    assert np.linalg.norm(exact.dense() - w) <= fit.slack + exact.slack


def test_empty_rows_repeated_entries_and_no_rows():
    doubled = sparse.csr_matrix((np.ones(4), [1, 1, 0, 2], [0, 2, 2, 4]), shape=(3, 4))
    y = np.array([1.0, -1.0, 1.0])
    for name in ("hinge", "huber"):
        fit = solver.minimise(doubled, y, name, total=0.5, slack=1e-8)
        plain = solver.minimise(sparse.csr_array(doubled.toarray()), y, name, total=0.5, slack=1e-8)
        np.testing.assert_allclose(fit.dense(), plain.dense(), atol=1e-7)
    assert doubled.nnz == 4
    none = solver.minimise(sparse.csr_array((0, 4)), np.zeros(0), "huber", total=2.0, slack=1e-3, tilt=np.ones(4))
    np.testing.assert_array_equal(none.dense(), -0.5 * np.ones(4))


@together.over(
    "change, word",
    [
        ({"loss": "logistic"}, "clipped lines"), ({"loss": "hinge", "y": REAL}, "-1 and 1"), ({"total": 0.0}, "total"),
        ({"slack": np.inf}, "slack"), ({"y": REAL[:3]}, "shape"), ({"tilt": np.ones(3)}, "tilt"),
        ({"tilt": np.full(D, np.nan)}, "not finite"), ({"max_passes": 0}, "max_passes"),
    ],
)  # fmt: skip
def test_bad_input(change, word):
    given = {"loss": "huber", "y": REAL, "total": 1.0, "slack": 0.1, **change}
    with pytest.raises(ValueError, match=word):
        solver.minimise(X, given.pop("y"), given.pop("loss"), **given)


def test_millions_of_columns_take_little_memory():
    d, n = 3_000_000, 400
    rng = np.random.default_rng(0)
    wide = sparse.csr_array((np.ones(n * 30), rng.integers(d, size=n * 30), np.arange(0, 30 * n + 1, 30)), shape=(n, d))
    y = rng.normal(size=n)
    solver.minimise(X, REAL, "huber", total=1.0, slack=0.1)  # compiled
    tracemalloc.start()
    fit = solver.minimise(wide, y, "huber", total=1.0, slack=0.1)
    fit.predict(wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(fit.columns) == len(np.unique(wide.indices)) and fit.weights.shape == fit.columns.shape
    # A place for each column, four bytes; not one double for each.
    assert peak < 6 * d


def test_some_coordinates_have_the_law_of_the_whole():
    law, size = noise.SphericalLaplace(0.5), 4000
    whole = law.sample((size, 30), np.random.default_rng(1))[:, :4]
    part = law.marginal((size, 4), 30, np.random.default_rng(2))
    for statistic in (lambda b: b[:, 0], lambda b: np.linalg.norm(b, axis=1), lambda b: b[:, 0] * b[:, 1]):
        assert stats.ks_2samp(statistic(whole), statistic(part)).pvalue > 1e-3
    # ||b||^2 = r^2 (m/p) in the mean, E r^2 = p (p + 1) scale^2.
    assert np.mean(part**2) == pytest.approx(31 * 0.25, rel=0.06)
    for law in (noise.SphericalLaplace(0.5), noise.Gaussian(0.5)):
        same = (law.marginal((3, 5), 5, np.random.default_rng(3)), law.sample((3, 5), np.random.default_rng(3)))
        np.testing.assert_array_equal(*same)
        with pytest.raises(ValueError, match="at least 5"):
            law.marginal((3, 5), 4, np.random.default_rng(3))


UNIT = Domain(x_norm=1.0)


def released(X, y, which, repeats=3, **more):
    fixed = {"domain": UNIT, "neighbours": "replace", "curvature": 4.0, "rng": np.random.default_rng(5), **more}
    if which == "cms11":
        budget = Budget(1.5, 0.0)
        return cms11.release(X, y, losses.huber(1.0), budget=budget, calibration="paper", repeats=repeats, **fixed)
    budget = Budget(1.5, 1e-6)
    return objective.release(X, y, losses.huber(1.0), budget=budget, calibration="tight", repeats=repeats, **fixed)


@pytest.mark.parametrize("which", ["cms11", "objective"])
def test_a_release_from_sparse_rows_is_that_from_dense_ones(which):
    ours, dense = released(X, REAL, which), released(X.toarray(), REAL, which)
    assert ours.converged.all() and ours.theta.shape == (3, D)
    assert (ours.guarantee, ours.event) == (dense.guarantee, dense.event) and ours.guarantee == "proved_exact"
    assert (np.linalg.norm(ours.theta - dense.theta, axis=1) <= ours.certificate + dense.certificate + 1e-12).all()


def test_output_perturbation_takes_sparse_rows_too():
    fixed = {"perturbation": "output"}
    ours, dense = (released(rows, REAL, "cms11", **fixed) for rows in (X, X.toarray()))
    np.testing.assert_allclose(ours.theta, dense.theta, atol=1e-5)


@pytest.mark.parametrize("which", ["cms11", "objective"])
def test_a_release_of_some_columns_has_the_law_of_the_whole(which):
    touched = sparse.csr_array(X.toarray()[:, :30])
    rng = {"repeats": 1500, "tolerance": 1e-4}
    whole = released(X, REAL, which, **rng).theta
    part = released(touched, REAL, which, features=D, **rng, rng=np.random.default_rng(6)).theta
    for j in (0, 7, 29):
        assert stats.ks_2samp(whole[:, j], part[:, j]).pvalue > 1e-3
    assert stats.ks_2samp(*(np.linalg.norm(theta[:, :30], axis=1) for theta in (whole, part))).pvalue > 1e-3


def test_a_part_of_the_columns_needs_a_plain_problem():
    for change in ({"solver_share": 0.1}, {"region": Region(radius=1.0)}):
        with pytest.raises(ValueError, match="features"):
            released(X.toarray(), REAL, "objective", features=D + 1, **change)
    with pytest.raises(ValueError, match="sparse X"):
        released(X, REAL, "objective", region=Region(radius=1.0))
