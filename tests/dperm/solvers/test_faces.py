"""An l1 norm and a box within a ball: the least norm of a subgradient shows that a point is the minimiser."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dperm.solvers import ball, faces, gram

R = 4


def problem(seed, p, spread):
    """A quadratic whose eigenvalues spread over so many powers of ten, and slopes of any size."""
    rng = np.random.default_rng(seed)
    V, _ = np.linalg.qr(rng.normal(size=(p, p)))
    values = 10.0 ** rng.uniform(0, spread, p)
    values[0] = 1.0
    G = (V * values) @ V.T
    return 0.5 * (G + G.T), rng.normal(size=(R, p)) * 10.0 ** rng.uniform(-2, 6, (R, 1))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    seed=st.integers(0, 10**6), p=st.integers(1, 20), spread=st.floats(0, 5), l1=st.sampled_from([0.0, 0.1, 100.0]),
    low=st.sampled_from([0.0, -1e-3, -0.5, -np.inf]), high=st.sampled_from([1e-3, 0.5, np.inf]),
    radius=st.floats(1e-3, 1e3),
)  # fmt: skip
def test_every_problem_is_solved(seed, p, spread, l1, low, high, radius):
    G, c = problem(seed, p, spread)
    target = 1e-9 * (1 + np.abs(c).max() + np.linalg.norm(G) * min(radius, np.abs(c).max()))
    found = faces.minimise(G, c, radius=radius, modulus=0.9, tolerance=target, l1=l1, low=low, high=high)
    assert (found.subgradient_norm <= target).all()
    assert (found.theta >= low).all() and (found.theta <= high).all()
    assert (np.linalg.norm(found.theta, axis=1) <= radius * (1 + 1e-14)).all()
    again = faces.subgradient_norm(found.theta, found.theta @ G - c, radius, l1, low, high)
    assert (again <= 2 * target).all()


def test_without_one_of_its_parts_it_is_the_solver_of_the_other():
    G, c = problem(1, 6, 2.0)
    given = {"modulus": 0.9, "tolerance": 1e-10}
    pieces = {"l1": 3.0, "low": -0.2, "high": 0.4}
    wide = faces.minimise(G, c, radius=1e9, **given, **pieces).theta
    assert_allclose(wide, gram.minimise(G, c, **given, **pieces).theta, atol=1e-9)
    free = faces.minimise(G, c, radius=0.3, **given).theta
    assert_allclose(free, ball.minimise(G, c, radius=0.3).theta, atol=1e-9)


def test_the_residual_is_no_smaller_than_the_distance_and_tells_what_is_outside():
    """m ||theta - theta*|| is at most the least norm of a subgradient of what is m-strongly convex."""
    G, c = problem(2, 5, 1.0)
    pieces = {"l1": 0.3, "low": -0.3, "high": 0.6}
    best = faces.minimise(G, c, radius=0.7, modulus=0.9, tolerance=1e-11, **pieces).theta
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-3, 0.1):
        near = np.clip(best + size * rng.normal(size=best.shape), -0.3, 0.6)
        near *= 0.7 / np.maximum(np.linalg.norm(near, axis=1, keepdims=True), 0.7)
        away = np.linalg.norm(near - best, axis=1)
        assert (faces.subgradient_norm(near, near @ G - c, 0.7, **pieces) >= 0.9 * away * (1 - 1e-9)).all()
    outside = np.full((R, 5), 0.5)
    assert np.isinf(faces.subgradient_norm(outside, outside @ G - c, 0.7, **pieces)).all()
