"""Quadratics over a ball: cvxpy, arbitrary precision, closed forms, optimality, and points that try to do better."""

import cvxpy as cp
import mpmath
import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.errors import DataError
from dperm.solvers import ball

# p, rows behind G (fewer than p: singular), condition number of the rows, radius, ridge
PROBLEMS = [
    (1, 3, 1.0, 0.5, 0.1),
    (5, 20, 1.0, 0.5, 0.0),
    (5, 3, 1.0, 1.0, 0.0),
    (5, 3, 1.0, 100.0, 0.0),
    (12, 30, 1e4, 1.0, 0.0),
    (30, 60, 1.0, 2.0, 1e-3),
    (30, 60, 1.0, 1e6, 0.0),
    (30, 10, 1.0, np.inf, 0.5),
    (8, 40, 1.0, 1e-3, 0.0),
]


def problem(p, n, condition=1.0, seed=0, repeats=20):
    """A and G = A'A, c in the range of G, its last row 0."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, p)) * np.geomspace(1 / condition, 1, p)
    c = rng.normal(size=(repeats, n)) @ A
    c[-1] *= repeats == 1
    return A, A.T @ A, c


def value(theta, G, c, ridge):
    return 0.5 * np.einsum("ri,ij,rj->r", theta, G, theta) - (c * theta).sum(axis=1) + 0.5 * ridge * (theta**2).sum(1)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize(("p", "n", "condition", "radius", "ridge"), PROBLEMS)
def test_it_is_as_good_as_cvxpy_and_as_near_where_there_is_one_minimiser(p, n, condition, radius, ridge):
    A, G, c = problem(p, n, condition)
    found = ball.minimise(G, c, radius=radius, ridge=ridge)
    theta, slope = cp.Variable(p), cp.Parameter(p)
    total = 0.5 * cp.sum_squares(A @ theta) - slope @ theta + 0.5 * ridge * cp.sum_squares(theta)
    conic = cp.Problem(cp.Minimize(total), [cp.norm2(theta) <= radius] if np.isfinite(radius) else [])
    theirs = np.empty(c.shape)
    for r in range(len(c)):
        slope.value = c[r]
        conic.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
        theirs[r] = theta.value
    # Clarabel's point may lie outside the ball by its tolerance.
    excess = value(found.theta, G, c, ridge) - value(theirs, G, c, ridge)
    assert np.abs(excess).max() <= 1e-6 * max(1.0, np.abs(c).max() * min(radius, 1.0))
    if (n >= p or ridge) and condition == 1:
        # On the sphere Clarabel's theta is off by the root of its gap, 2e-6 by 50 digits (`reference`): ours is checked
        # against those below.
        assert np.abs(found.theta - theirs).max() <= 1e-5


def reference(G, c, radius, ridge):
    """theta and mu by bisection with 50 digits; G without eigenvalues 0."""
    with mpmath.workdps(50):
        w, V = mpmath.eigsy(mpmath.matrix(G.tolist()) + mpmath.mpf(ridge) * mpmath.eye(len(c)))
        d = V.T * mpmath.matrix(c.tolist())

        def theta(mu):
            return mpmath.matrix([d[j] / (w[j] + mu) for j in range(len(c))])

        low, high = mpmath.mpf(0), mpmath.norm(d) / radius
        if mpmath.norm(theta(low)) > radius:
            for _ in range(150):
                middle = (low + high) / 2
                low, high = (middle, high) if mpmath.norm(theta(middle)) > radius else (low, middle)
        return np.array([float(x) for x in V * theta(low)]), float(low)


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize("condition", [1.0, 1e3])
@pytest.mark.parametrize("radius", [1e-6, 0.3, 1e6])
@pytest.mark.parametrize("p", [1, 5, pytest.param(12, marks=pytest.mark.slow)])
def test_it_agrees_with_arbitrary_precision_in_any_units(scale, condition, radius, p):
    _, G, c = problem(p, 20, condition, seed=3, repeats=3)
    found = ball.minimise(scale * G, scale * c, radius=radius, ridge=1e-3 * scale)
    for r in range(3):
        theta, mu = reference(scale * G, scale * c[r], radius, 1e-3 * scale)
        assert np.linalg.norm(found.theta[r] - theta) <= 1e-10 * np.linalg.norm(theta)
        assert abs(found.multiplier[r] - mu) <= 1e-12 * scale * (np.linalg.norm(c) / radius + np.linalg.norm(G))


@together.over("p, n, condition, radius, ridge", PROBLEMS)
def test_the_optimality_condition_holds_to_rounding(p, n, condition, radius, ridge):
    """(G + (ridge + mu) I) theta = c with mu >= 0, and mu = 0 or ||theta|| = radius."""
    _, G, c = problem(p, n, condition, seed=1)
    found = ball.minimise(G, c, radius=radius, ridge=ridge)
    size = np.abs(c).max() + np.linalg.norm(G, 2) * np.linalg.norm(found.theta, axis=1).max()
    left = found.theta @ G + (ridge + found.multiplier[:, None]) * found.theta - c
    assert np.abs(left).max() <= 1e-13 * size
    norms = np.linalg.norm(found.theta, axis=1)
    assert (norms <= radius).all() and (found.multiplier >= 0).all()
    assert ((found.multiplier == 0) | (norms >= radius * (1 - 1e-14))).all()
    assert (found.subgradient_norm <= 1e-13 * size).all()
    assert not found.theta[-1].any() and found.multiplier[-1] == 0


@together.over("curvature", [1e-6, 1.0, 3.0])
def test_on_a_multiple_of_the_identity_it_is_a_projection(curvature):
    c = np.random.default_rng(2).normal(size=(50, 4))
    found = ball.minimise(curvature * np.eye(4), curvature * c, radius=1.5)
    norms = np.linalg.norm(c, axis=1)
    np.testing.assert_allclose(found.theta, c * np.minimum(1.0, 1.5 / norms)[:, None], rtol=1e-13)
    np.testing.assert_allclose(found.multiplier, curvature * np.maximum(norms / 1.5 - 1, 0), rtol=1e-12)
    assert 0 < (found.multiplier == 0).sum() < 50
    again = ball.minimise(np.eye(4), found.theta, radius=1.5).theta
    np.testing.assert_allclose(again, found.theta, rtol=1e-14)


@pytest.mark.parametrize("radius", ["finite", np.inf])
def test_inside_a_ball_a_singular_quadratic_gives_the_least_norm_solution(radius):
    """Where c is in the range of G but for rounding, rounding must not carry theta off to the sphere."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = int(rng.integers(2, 30))
        X = rng.normal(size=(int(rng.integers(1, p)), p))
        X *= rng.uniform(0.01, 1, size=(len(X), 1))
        y = rng.normal(size=(4, len(X)))
        least = y @ np.linalg.pinv(X).T
        norms = np.linalg.norm(least, axis=1)
        found = ball.minimise(X.T @ X, y @ X, radius=3 * norms.max() if radius == "finite" else radius)
        assert (np.linalg.norm(found.theta - least, axis=1) <= 1e-7 * norms).all()
        assert not found.multiplier.any()


def test_a_slope_without_curvature_leads_to_the_sphere():
    flat = np.diag([1.0, 0.0])
    found = ball.minimise(flat, np.array([[0.0, 1.0], [0.0, 0.0], [0.3, 1e-9]]), radius=2.0)
    # In the last theta_1 = 0.3/(1 + mu) with mu of the order of 1e-9.
    np.testing.assert_allclose(found.theta, [[0.0, 2.0], [0.0, 0.0], [0.3, np.sqrt(4 - 0.09)]], atol=1e-8)
    assert (found.subgradient_norm <= 1e-15).all()
    # Newton starts at mu = 0, where the last coordinate is 0/0.
    start = ball.minimise(np.diag([1.0, 0.5, 0.0]), np.array([[0.8, 0.4, 0.0]]), radius=1.0)
    assert start.multiplier[0] > 0.01 and start.subgradient_norm[0] <= 1e-15 and start.theta[0, 2] == 0
    nowhere = ball.minimise(flat, np.array([[1.0, 1.0]]), radius=np.inf)
    assert nowhere.subgradient_norm[0] >= 1 and nowhere.certificate[0] == np.inf
    np.testing.assert_array_equal(nowhere.theta, [[1.0, 0.0]])
    linear = ball.minimise(np.zeros((3, 3)), np.array([[3.0, 0.0, -4.0], [0.0, 0.0, 0.0]]), radius=10.0)
    np.testing.assert_allclose(linear.theta, [[6.0, 0.0, -8.0], [0.0, 0.0, 0.0]], rtol=1e-14)


@pytest.mark.parametrize("radius", [1e-4, 0.3, 10.0])
def test_newton_needs_few_steps(radius, monkeypatch):
    """Bisection would get there too, in fifty."""
    monkeypatch.setattr(ball, "STEPS", 15)
    _, G, c = problem(10, 30, 1e3, seed=4)
    norms = np.linalg.norm(c, axis=1)
    found = ball.minimise(G, c, radius=radius)
    assert (found.multiplier > 0).sum() >= 10
    assert (found.subgradient_norm <= 1e-13 * (norms + np.linalg.norm(G) * radius)).all()


def test_a_batch_gives_what_each_problem_gives_alone():
    _, G, c = problem(6, 9)
    spectrum = ball.decompose(G)
    for ridge, radius in ((0.0, 0.3), (2.0, 0.3), (2.0, np.inf)):
        together = ball.minimise(spectrum, c, radius=radius, ridge=ridge)
        np.testing.assert_array_equal(together.theta, ball.minimise(G, c, radius=radius, ridge=ridge).theta)
        for r in range(len(c)):
            alone = ball.minimise(G, c[r : r + 1], radius=radius, ridge=ridge)
            np.testing.assert_allclose(together.theta[r], alone.theta[0], rtol=1e-10, atol=1e-14)
            np.testing.assert_allclose(together.multiplier[r], alone.multiplier[0], rtol=1e-10)
    assert ball.minimise(G, c[:0], radius=1.0).theta.shape == (0, 6)


def test_one_matrix_for_each_problem():
    parts = [problem(4, 9, seed=k, repeats=1) for k in range(5)]
    G, c = np.array([part[1] for part in parts]), np.concatenate([part[2] for part in parts])
    together = ball.minimise(ball.decompose(G), c, radius=0.3, ridge=0.1)
    for k in range(5):
        alone = ball.minimise(G[k], c[k : k + 1], radius=0.3, ridge=0.1)
        np.testing.assert_allclose(together.theta[k], alone.theta[0], rtol=1e-12)
    assert (together.subgradient_norm <= 1e-13 * np.abs(c).max()).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.floats(1e-3, 10), st.floats(1e-3, 10))
@settings(max_examples=60, deadline=None)
def test_no_point_of_the_ball_does_better_and_the_certificate_is_a_distance(seed, p, radius, ridge):
    rng = np.random.default_rng(seed)
    _, G, c = problem(p, 3, seed=seed, repeats=1)
    found = ball.minimise(G, c, radius=radius, ridge=ridge, modulus=0.0)
    others = rng.normal(size=(200, p))
    length = np.where(rng.uniform(size=200) < 0.5, 1 - 1e-15, rng.uniform(size=200))
    others *= (radius * length / np.linalg.norm(others, axis=1))[:, None]
    best = value(found.theta, G, c, ridge)[0]
    assert (best <= value(others, G, c, ridge) + 1e-12 * (1 + abs(best))).all()
    # Of any point of the ball: its residual over the modulus bounds its distance from the minimiser.
    residual = ball.subgradient_norm(others, others @ G + ridge * others - c, radius)
    assert (np.linalg.norm(others - found.theta, axis=1) <= residual / ridge * (1 + 1e-9) + 1e-9).all()


def test_the_certificate_divides_by_all_the_strong_convexity_declared():
    _, G, c = problem(3, 9)
    least = np.linalg.eigvalsh(G)[0]
    found = ball.minimise(G, c, radius=0.2, ridge=0.5, modulus=least)
    np.testing.assert_array_equal(found.certificate, found.subgradient_norm / (0.5 + least))
    assert np.isinf(ball.minimise(G, c, radius=0.2).certificate).all()


def test_the_least_subgradient_is_that_of_a_search_over_the_normal_cone():
    rng = np.random.default_rng(5)
    theta, gradient = rng.normal(size=(2, 40, 3))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    t = np.linspace(0, 10, 20_001)[:, None, None]
    brute = np.linalg.norm(gradient + t * theta, axis=2).min(axis=0)
    np.testing.assert_allclose(ball.subgradient_norm(2.0 * theta, gradient, 2.0), brute, atol=1e-3)
    inside = ball.subgradient_norm(1.9 * theta, gradient, 2.0)
    np.testing.assert_allclose(inside, np.linalg.norm(gradient, axis=1), rtol=1e-14)
    assert np.isinf(ball.subgradient_norm(2.1 * theta, gradient, 2.0)).all()
    assert np.isinf(ball.subgradient_norm(theta, np.full((40, 3), np.nan), 2.0)).all()


@together.over(
    "changed, error, message",
    [
        ({"radius": 0.0}, ValueError, "radius=0"),
        ({"radius": np.nan}, ValueError, "radius=nan"),
        ({"ridge": -1.0}, ValueError, "ridge=-1"),
        ({"modulus": np.inf}, ValueError, "modulus=inf"),
        ({"c": np.zeros(3)}, DataError, r"c has shape \(3,\); give \(R, p\)"),
        ({"c": np.zeros((2, 4))}, DataError, r"G has shape \(3, 3\); give \(4, 4\)"),
        ({"G": np.zeros((0, 0)), "c": np.zeros((2, 0))}, DataError, "p >= 1"),
        ({"G": np.full((3, 3), np.nan)}, DataError, "G holds NaN"),
        ({"c": np.full((2, 3), 1e101)}, DataError, "c holds NaN, infinity or an entry above 1e[+]100"),
    ],
)
def test_what_does_not_fit_is_refused(changed, error, message):
    arguments = {"G": np.eye(3), "c": np.zeros((2, 3)), "radius": 1.0, **changed}
    with pytest.raises(error, match=message):
        ball.minimise(arguments.pop("G"), arguments.pop("c"), **arguments)


@together.over("radius", [1e-3, 0.5, 20.0, np.inf])
@together.over("p", [1, 7, 40])
def test_the_secular_equation_alone_agrees_with_the_whole(p, radius):
    rng = np.random.default_rng(p)
    w = np.where(rng.random(p) < 0.3, 0.0, rng.exponential(size=p) ** 3)
    w[0] = 1.0
    d = rng.normal(size=(15, p)) * np.sqrt(w)
    theta, mu = ball.diagonal(w, d, radius)
    whole = ball.minimise(np.diag(w), d, radius=radius)
    np.testing.assert_allclose(theta, whole.theta, rtol=1e-7, atol=1e-9 * min(radius, 1.0))
    np.testing.assert_allclose(mu, whole.multiplier, rtol=1e-7, atol=1e-9)
    assert (np.linalg.norm(theta, axis=1) <= radius * (1 + 1e-14)).all()


def test_the_secular_equation_over_fifty_orders_of_magnitude():
    w = np.geomspace(1e-25, 1e25, 60)
    d = np.random.default_rng(0).normal(size=(20, 60)) * np.sqrt(w)
    for radius in (1e-10, 1.0, 1e10):
        theta, mu = ball.diagonal(w, d, radius)
        norms = np.linalg.norm(theta, axis=1)
        assert (norms <= radius * (1 + 1e-13)).all() and (norms[mu > 0] >= radius * (1 - 1e-12)).all()
        np.testing.assert_allclose(theta, d / (w + mu[:, None]), rtol=1e-12)


@together.over("condition", [1.0, 30.0, 1e3])
def test_minimisers_over_two_balls_are_as_near_as_is_said(condition):
    """Of balls a hundredth apart, so that no rounding is in the way; the bound is met within a factor of the worst."""
    rng = np.random.default_rng(1)
    modulus, radius, short = 0.3, 2.0, 0.02
    values = np.geomspace(modulus, modulus * condition, 6)
    turn, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    G = (turn * values) @ turn.T
    # Slopes along every mix of the stiffest and the flattest direction, the worst for Kantorovich's inequality.
    mixes = np.linspace(0, np.pi / 2, 200)
    c = 1e3 * modulus * (np.cos(mixes)[:, None] * turn[:, 0] + condition * np.sin(mixes)[:, None] * turn[:, -1])
    c = np.vstack([c, 0.01 * c, rng.normal(size=(200, 6)) * 10 * condition])
    larger, smaller = (ball.minimise(G, c, radius=r) for r in (radius, radius - short))
    on_sphere = smaller.multiplier > 0
    assert on_sphere.sum() > 300
    away = modulus * np.linalg.norm(larger.theta - smaller.theta, axis=1)[on_sphere]
    free = np.linalg.norm(smaller.theta, axis=1)[on_sphere]
    bound = ball.between(radius, short, free, modulus * condition, modulus)
    assert (away <= bound).all()
    assert away.max() >= modulus * short * (1 - 1e-9)
