"""Coordinate descent on Gram matrices against cvxpy/Clarabel, brute force, and its own certificate."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.errors import DataError
from dperm.solvers import gram

INF = np.inf
# name: (records per feature, ridge, l1, low, high); strings stand for arrays of shape (p,).
CASES = {
    "plain": (4.0, 0.3, 0.0, -INF, INF),
    "lasso": (4.0, 0.0, 2.0, -INF, INF),
    "elastic_net": (4.0, 0.5, 1.0, -INF, INF),
    "box": (4.0, 0.2, 0.0, -0.3, 0.4),
    "box_l1": (4.0, 0.2, 0.7, -0.3, 0.4),
    "box_away_from_0": (4.0, 0.2, 0.7, 0.1, 0.4),
    "orthant": (4.0, 0.2, 0.0, 0.0, INF),
    "orthant_l1": (4.0, 0.0, 0.5, -INF, 0.0),
    "arrays": (4.0, 0.1, "l1", "low", "high"),
    "rank_deficient": (0.4, 0.1, 0.3, -INF, INF),
    "rank_deficient_box": (0.4, 0.05, 0.0, -0.5, 0.5),
}


def problem(name, p, repeats=3, seed=0):
    """G (p, p), c (repeats, p) and the keywords of a case."""
    density, ridge, l1, low, high = CASES[name]
    rng = np.random.default_rng([seed, p])
    X = rng.normal(size=(max(1, int(density * p)), p))
    y = X @ (rng.normal(size=p) * (rng.random(p) < 0.5)) + rng.normal(size=len(X))
    arrays = {
        "l1": np.where(rng.random(p) < 0.3, 0.0, rng.exponential(3.0, p)),
        "low": np.where(rng.random(p) < 0.3, -INF, -rng.random(p)),
        "high": np.where(rng.random(p) < 0.3, INF, rng.random(p)),
    }
    l1, low, high = (arrays.get(value, value) if isinstance(value, str) else value for value in (l1, low, high))
    c = X.T @ y + rng.normal(0, 3, (repeats, p))
    return X.T @ X, c, {"ridge": ridge, "l1": l1, "low": low, "high": high}


def objective(theta, G, c, *, ridge, l1, low=None, high=None):
    """P, written from its definition."""
    return 0.5 * theta @ G @ theta - c @ theta + ridge / 2 * theta @ theta + np.sum(l1 * np.abs(theta))


def clarabel(G, c, *, ridge, l1, low, high):
    """The minimiser, by an interior point method."""
    p = len(c)
    low, high, l1 = (np.broadcast_to(value, p) for value in (low, high, l1))
    theta = cp.Variable(p)
    value = cp.quad_form(theta, cp.psd_wrap(G + ridge * np.eye(p))) / 2 - c @ theta + l1 @ cp.abs(theta)
    below, above = np.flatnonzero(low > -INF), np.flatnonzero(high < INF)
    bounds = [theta[below] >= low[below]] * bool(len(below)) + [theta[above] <= high[above]] * bool(len(above))
    fit = cp.Problem(cp.Minimize(value), bounds)
    fit.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert fit.status == cp.OPTIMAL
    return theta.value


def distance_to_subdifferential(theta, gradient, l1, low, high):
    """For one coordinate, min |g + l1 v + w| over v in the subdifferential and w in the normal cone: a linear scan."""
    signs = [np.sign(theta)] if theta != 0 else np.linspace(-1, 1, 2001)
    cone = [0.0]
    if theta == low:
        cone = np.concatenate([cone, -np.linspace(0, 20, 2001)])
    if theta == high:
        cone = np.concatenate([cone, np.linspace(0, 20, 2001)])
    return np.abs(gradient + l1 * np.asarray(signs)[:, None] + np.asarray(cone)).min()


@pytest.mark.parametrize("p", [1, 7, 40])
@pytest.mark.parametrize("name", CASES)
def test_agrees_with_clarabel_and_the_certificate_bounds_the_distance(name, p):
    G, c, case = problem(name, p)
    modulus = max(0.0, float(np.linalg.eigvalsh(G)[0]) * (1 - 1e-9))
    exact = gram.minimise(G, c, tolerance=1e-10, modulus=modulus, **case)
    assert exact.subgradient_norm.max() <= 1e-10
    rough = gram.minimise(G, c, tolerance=0.3, modulus=modulus, max_iterations=2, **case)
    for r in range(len(c)):
        theirs = clarabel(G, c[r], **case)
        assert np.abs(exact.theta[r] - theirs).max() <= 1e-6
        assert np.linalg.norm(rough.theta[r] - theirs) <= rough.certificate[r] + 1e-6
        excess = objective(rough.theta[r], G, c[r], **case) - objective(exact.theta[r], G, c[r], **case)
        assert excess <= rough.certificate[r] * rough.subgradient_norm[r] / 2 + 1e-9


@pytest.mark.parametrize("case", [(1.0, -1.0, 1.0), (0.5, 0.0, INF), (2.0, -0.5, 0.5), (0.0, -1.0, 0.25)])
def test_small_problems_by_trying_every_face(case):
    """Each coordinate is 0, at a bound, or free with a sign; the best feasible solution of all 5^p systems wins."""
    l1, low, high = case
    rng = np.random.default_rng(3)
    X = rng.normal(size=(5, 3))
    G, c, ridge = X.T @ X, rng.normal(0, 4, (4, 3)), 0.1
    found = gram.minimise(G, c, ridge=ridge, l1=l1, low=low, high=high, tolerance=1e-12)
    for r in range(len(c)):
        best, at = INF, None
        for kinds in itertools.product((0.0, low, high, "+", "-"), repeat=3):
            if any(isinstance(kind, float) and np.isinf(kind) for kind in kinds):
                continue
            free = np.array([isinstance(kind, str) for kind in kinds])
            theta = np.array([0.0 if isinstance(kind, str) else kind for kind in kinds])
            sign = np.array([{"+": 1.0, "-": -1.0}.get(kind, 0.0) for kind in kinds])
            A = G + ridge * np.eye(3)
            rest = c[r] - l1 * sign - A @ theta
            theta[free] = np.linalg.solve(A[np.ix_(free, free)], rest[free])
            value = objective(theta, G, c[r], ridge=ridge, l1=l1)
            if (theta >= low).all() and (theta <= high).all() and value < best:
                best, at = value, theta
        np.testing.assert_allclose(found.theta[r], at, atol=1e-11)


def test_orthogonal_features_have_a_closed_form():
    d, c = np.array([1.0, 2.0, 4.0, 5.0]), np.array([[3.0, -3.0, 0.5, 40.0]])
    found = gram.minimise(np.diag(d), c, ridge=1.0, l1=1.0, low=-INF, high=2.0, tolerance=0.0)
    np.testing.assert_array_equal(found.theta, [[1.0, -2 / 3, 0.0, 2.0]])
    assert found.subgradient_norm == pytest.approx(0, abs=1e-15)


@settings(deadline=None)  # the first call compiles
@given(
    theta=st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]),
    gradient=st.floats(-10, 10),
    l1=st.sampled_from([0.0, 0.5, 3.0]),
    low=st.sampled_from([-INF, -1.0, 0.0]),
    high=st.sampled_from([INF, 1.0, 0.0]),
)
def test_least_subgradient_by_a_scan(theta, gradient, l1, low, high):
    found = gram.subgradient_norm(np.full((1, 1), theta), np.full((1, 1), gradient), l1, low, high)[0]
    if not low <= theta <= high:
        assert found == INF
    else:
        # The scan's grid is 0.01 at its widest.
        assert found == pytest.approx(distance_to_subdifferential(theta, gradient, l1, low, high), abs=6e-3)


def test_subgradient_norm_is_that_of_the_coordinates_together():
    theta, gradient = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]), np.array([[5.0, -1.0, -9.0], [0.5, -5.0, 3.0]])
    # l1 = 1: |5| - 1 = 4 at 0; -1 + 1 = 0; at the bound 2 only a positive g + 1 counts.
    np.testing.assert_allclose(gram.subgradient_norm(theta, gradient, 1.0, -INF, 2.0), [4.0, np.hypot(4.0, 4.0)])
    broken = np.where(np.eye(2, 3, dtype=bool), np.nan, gradient)
    assert (gram.subgradient_norm(theta, broken, 1.0, -INF, 2.0) == INF).all()


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    p=st.integers(1, 12),
    density=st.sampled_from([0.3, 1.0, 3.0]),
    ridge=st.sampled_from([0.0, 1e-3, 1.0]),
    l1=st.sampled_from([0.0, 0.1, 5.0]),
    box=st.sampled_from([(-1.0, 1.0), (0.0, 1.0), (-0.1, 3.0), (0.5, 0.5), (-2.0, 0.0)]),
)
def test_no_feasible_perturbation_is_better(seed, p, density, ridge, l1, box):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(max(1, int(density * p)), p))
    c = rng.normal(0, 3, (1, p))
    found = gram.minimise(X.T @ X, c, ridge=ridge, l1=l1, low=box[0], high=box[1], tolerance=1e-9)
    theta = found.theta[0]
    assert found.subgradient_norm[0] <= 1e-9
    assert (theta >= box[0]).all() and (theta <= box[1]).all()
    least = objective(theta, X.T @ X, c[0], ridge=ridge, l1=l1)
    for scale in (1e-3, 0.1, 2.0):
        for _ in range(10):
            other = np.clip(theta + scale * rng.normal(size=p) * (rng.random(p) < 0.5), *box)
            # A subgradient of norm s allows P to fall by s times the distance.
            slack = 1e-9 * np.linalg.norm(other - theta) + 1e-12 * (1 + abs(least))
            assert objective(other, X.T @ X, c[0], ridge=ridge, l1=l1) >= least - slack


@pytest.mark.parametrize("name", ["elastic_net", "box", "rank_deficient"])
def test_a_batch_gives_the_bytes_of_one_at_a_time(name):
    G, c, case = problem(name, 30, repeats=7)
    start = np.random.default_rng(1).normal(size=c.shape)
    batch = gram.minimise(G, c, tolerance=1e-9, start=start, **case)
    own = gram.minimise(np.repeat(G[None], 7, axis=0), c, tolerance=1e-9, start=start, **case)
    for r in range(7):
        alone = gram.minimise(G, c[r : r + 1], tolerance=1e-9, start=start[r], **case)
        for field in ("theta", "certificate", "subgradient_norm", "iterations"):
            assert getattr(batch, field)[r] == pytest.approx(getattr(alone, field)[0], rel=0, abs=0)
            assert getattr(own, field)[r].tobytes() == getattr(alone, field)[0].tobytes()


def test_each_problem_may_have_its_own_matrix():
    G, c = np.stack([problem("box", 6, seed=seed)[0] for seed in range(3)]), problem("box", 6)[1]
    found = gram.minimise(G, c, ridge=0.1, l1=0.4, low=-0.2, high=0.3, tolerance=1e-11)
    for r in range(3):
        theirs = clarabel(G[r], c[r], ridge=0.1, l1=0.4, low=-0.2, high=0.3)
        assert np.abs(found.theta[r] - theirs).max() <= 1e-6


def test_the_reported_norm_is_that_of_the_point_returned():
    G, c, case = problem("arrays", 25)
    for most in (1, 3, 8, 10_000):
        found = gram.minimise(G, c, tolerance=1e-8, max_iterations=most, **case)
        gradient = found.theta @ G + case["ridge"] * found.theta - c
        norm = gram.subgradient_norm(found.theta, gradient, case["l1"], case["low"], case["high"])
        np.testing.assert_allclose(found.subgradient_norm, norm, rtol=1e-6, atol=1e-11)
        np.testing.assert_array_equal(found.certificate, found.subgradient_norm / case["ridge"])


def test_a_good_start_saves_passes_and_a_start_outside_moves_into_the_box():
    G, c, case = problem("box_l1", 30)
    cold = gram.minimise(G, c, tolerance=1e-9, **case)
    warm = gram.minimise(G, c, tolerance=1e-9, start=cold.theta, **case)
    assert (warm.iterations == 0).all() and (warm.theta == cold.theta).all()
    far = gram.minimise(G, c, tolerance=1e-9, start=np.full(30, 100.0), **case)
    np.testing.assert_allclose(far.theta, cold.theta, atol=1e-8)


def test_badly_conditioned_problems_end_in_few_passes():
    """Condition number 1e7: coordinate descent alone takes 2 to 3 million passes to 1e-6."""
    rng = np.random.default_rng(5)
    p = 40
    basis = np.linalg.qr(rng.normal(size=(p, p)))[0]
    G = (basis * np.logspace(0, 7, p)) @ basis.T
    G = (G + G.T) / 2
    truth = np.where(rng.random((3, p)) < 0.5, 0.0, rng.normal(size=(3, p)))
    found = gram.minimise(G, truth @ G, l1=1e-3, low=-1.0, high=1.5, modulus=0.9, tolerance=1e-7)
    assert (found.subgradient_norm <= 1e-7).all()
    assert (found.iterations <= 5_000).all()


def test_tolerance_0_stops_at_rounding():
    G, c, case = problem("elastic_net", 40, repeats=20)
    found = gram.minimise(G, c, tolerance=0.0, **case)
    assert found.subgradient_norm.max() <= 1e-11
    assert found.iterations.max() < 1_000


@pytest.mark.slow
def test_coordinates_without_curvature():
    """G = 0: the minimiser of -c theta + l1 |theta| is a bound, 0, or does not exist."""
    c = np.array([[3.0, -3.0, 0.5, 1.0]])
    found = gram.minimise(np.zeros((4, 4)), c, l1=1.0, low=[-2.0, -2.0, -2.0, 0.25], high=4.0, tolerance=1e-12)
    np.testing.assert_array_equal(found.theta, [[4.0, -2.0, 0.0, 0.25]])
    assert found.subgradient_norm == 0 and found.certificate == INF
    endless = gram.minimise(np.zeros((4, 4)), c, l1=1.0, tolerance=1e-12)
    assert endless.subgradient_norm == pytest.approx(np.hypot(2, 2))
    still = gram.minimise(np.zeros((1, 1)), np.zeros((1, 1)), start=np.array([0.7]), tolerance=1e-12)
    assert still.theta == 0.7 and still.subgradient_norm == 0


def test_without_a_minimiser_nothing_is_raised():
    G = np.ones((2, 2))  # P falls without end along (1, -1)
    found = gram.minimise(G, np.array([[1.0, -1.0]]), tolerance=1e-9, max_iterations=500)
    assert found.subgradient_norm[0] > 0.1


def test_no_problems_give_no_solutions():
    found = gram.minimise(np.eye(3), np.empty((0, 3)), tolerance=1e-9)
    assert found.theta.shape == (0, 3) and found.certificate.shape == (0,)
    assert gram.minimise(np.empty((0, 3, 3)), np.empty((0, 3)), tolerance=1e-9).theta.shape == (0, 3)


@together.over(
    ("changed", "error", "text"),
    [
        ({"G": np.eye(3)}, DataError, "G has shape"),
        ({"G": np.full((2, 2), np.nan)}, DataError, "G holds NaN"),
        ({"G": np.ones((3, 2, 2))}, DataError, "G has shape"),
        ({"c": np.zeros(2)}, DataError, "c has shape"),
        ({"c": np.full((1, 2), 1e101)}, DataError, "c holds NaN"),
        ({"start": np.zeros(3)}, DataError, "start has shape"),
        ({"start": np.array([0.0, np.inf])}, DataError, "start holds NaN"),
        ({"ridge": -1e-9}, ValueError, "ridge=-1e-09"),
        ({"ridge": np.nan}, ValueError, "ridge=nan"),
        ({"modulus": -1.0}, ValueError, "modulus=-1"),
        ({"tolerance": -1.0}, ValueError, "tolerance=-1"),
        ({"max_iterations": 0}, ValueError, "max_iterations=0"),
        ({"l1": -1.0}, ValueError, "l1=-1"),
        ({"l1": np.array([0.0, np.nan])}, ValueError, "l1="),
        ({"l1": np.zeros(3)}, ValueError, "l1 has shape"),
        ({"low": 1.0, "high": 0.0}, ValueError, "low=1"),
        ({"low": np.nan}, ValueError, "low=nan"),
        ({"low": INF}, ValueError, "low=inf"),
    ],
)
def test_refuses_what_does_not_fit(changed, error, text):
    given = {"G": np.eye(2), "c": np.zeros((1, 2)), "tolerance": 1e-9, **changed}
    with pytest.raises(error, match=text):
        gram.minimise(given.pop("G"), given.pop("c"), **given)


def test_subgradient_norm_refuses_shapes_that_differ():
    with pytest.raises(ValueError, match="theta and gradient"):
        gram.subgradient_norm(np.zeros((2, 3)), np.zeros((2, 2)))
