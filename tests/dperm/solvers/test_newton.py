"""The batched Newton solver against closed forms, other solvers, arbitrary precision and its own certificate."""

import os
import subprocess
import sys

import cvxpy as cp
import mpmath
import numpy as np
import pytest
import together
from designs import on_sphere, targets_of
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm import losses
from dperm.solvers import directions, newton, objective

SMOOTH = ["squared", "logistic", "poisson", "huber", "smoothed_hinge"]
FEW, MANY = 3, 30  # features below and above directions.EXACT_FEATURES: both routes


def data(name, n, p, seed=0):
    """A random problem whose targets are of the kind the loss declares, rows in the unit ball."""
    rng, loss = np.random.default_rng(seed), losses.make(name)
    X = on_sphere(rng, n, p)
    y = targets_of(loss, X @ rng.normal(size=p), rng)
    return X, 3 * y if loss.targets == "real" else y


def gradient(loss, X, y, ridge, tilt, theta):
    """grad J, repeat by repeat and without the solver's code."""
    return np.array(
        [X.T @ loss.derivative(X @ t, y) + ridge * t + b for t, b in zip(theta, np.atleast_2d(tilt), strict=True)]
    )


def conic(name, margin, y):
    """The loss summed over records as a cvxpy expression, written from its definition."""
    z = cp.multiply(y, margin)
    width = 0.5
    return {
        "squared": lambda: cp.sum_squares(margin - y) / 2,
        "logistic": lambda: cp.sum(cp.logistic(-z)),
        "poisson": lambda: cp.sum(cp.exp(margin)) - y @ margin,
        "huber": lambda: cp.sum(cp.huber(margin - y, 1.0)) / 2,
        "smoothed_hinge": lambda: cp.sum(cp.huber(cp.pos(1 + width - z), 2 * width)) / (4 * width),
    }[name]()


@pytest.mark.parametrize("p", [FEW, MANY])
@pytest.mark.parametrize("name", SMOOTH)
def test_agrees_with_clarabel(name, p):
    X, y = data(name, 60, p, seed=2)
    tilt = np.random.default_rng(3).normal(0, 2, (2, p))
    ours = newton.minimise(losses.make(name), X, y, ridge=0.8, tilt=tilt, tolerance=1e-9).theta
    theta, b = cp.Variable(p), cp.Parameter(p)
    problem = cp.Problem(cp.Minimize(conic(name, X @ theta, y) + 0.4 * cp.sum_squares(theta) + b @ theta))
    for r in range(2):
        b.value = tilt[r]
        # Beyond this Clarabel itself stops at "inaccurate"; before it, its own error is above 1e-6.
        problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        assert problem.status == cp.OPTIMAL
        assert np.abs(ours[r] - theta.value).max() <= 1e-6


@pytest.mark.parametrize("p", [FEW, MANY])
def test_squared_loss_is_the_ridge_regression(p):
    X, y = data("squared", 50, p)
    tilt = np.random.default_rng(0).normal(0, 2, (4, p))
    solution = newton.minimise(losses.squared(), X, y, ridge=0.1, tilt=tilt, tolerance=1e-10)
    expected = np.linalg.solve(X.T @ X + 0.1 * np.eye(p), (X.T @ y - tilt).T).T
    assert np.allclose(solution.theta, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("p", [FEW, MANY])
@pytest.mark.parametrize("name", SMOOTH)
def test_batched_equals_one_by_one_and_in_small_chunks(name, p, monkeypatch):
    loss = losses.make(name)
    X, y = data(name, 120, p)
    tilt = np.random.default_rng(6).normal(0, 4, (9, p))
    together = newton.minimise(loss, X, y, ridge=0.5, tilt=tilt, tolerance=1e-9).theta
    alone = [newton.minimise(loss, X, y, ridge=0.5, tilt=b[None], tolerance=1e-9).theta[0] for b in tilt]
    monkeypatch.setattr(newton, "CHUNK_ENTRIES", 2 * 120)
    assert newton.chunk(120) == 2
    chunked = newton.minimise(loss, X, y, ridge=0.5, tilt=tilt, tolerance=1e-9).theta
    for other in (np.array(alone), chunked):
        assert np.linalg.norm(together - other, axis=1).max() <= 2 * 1e-9 / 0.5


def exact_minimiser(X, y, ridge, tilt):
    """The logistic minimiser to 40 digits, by Newton from 0 (a few records: no line search needed)."""
    n, p = X.shape
    with mpmath.workdps(50):
        x, theta = mpmath.matrix(X.tolist()), mpmath.zeros(p, 1)
        for _ in range(60):
            slope, bend = ridge * theta + mpmath.matrix(tilt.tolist()), ridge * mpmath.eye(p)
            for i in range(n):
                row = x[i, :]
                weight = 1 / (1 + mpmath.exp(y[i] * (row * theta)[0]))
                slope -= y[i] * weight * row.T
                bend += weight * (1 - weight) * row.T * row
            step = mpmath.lu_solve(bend, slope)
            theta -= step
            if mpmath.norm(step) < 1e-40:
                return theta
    raise AssertionError("the reference did not converge")


@pytest.mark.parametrize("exact_features", [0, 24])
def test_certificate_bounds_the_distance_to_a_fifty_digit_solution(exact_features, monkeypatch):
    monkeypatch.setattr(directions, "EXACT_FEATURES", exact_features)
    X, y = data("logistic", 12, FEW, seed=7)
    tilt = np.random.default_rng(8).normal(0, 1, (2, FEW))
    truth = [exact_minimiser(X, y, 0.2, b) for b in tilt]
    seen = []
    for tolerance, steps in [(3.0, 100), (1e-1, 100), (1e-3, 100), (1e-6, 100), (1e-12, 100), (1e-12, 1), (1e-12, 3)]:
        found = newton.minimise(
            losses.logistic(), X, y, ridge=0.2, tilt=tilt, tolerance=tolerance, max_iterations=steps
        )
        assert (found.certificate == found.gradient_norm / 0.2).all()
        for r in range(2):
            with mpmath.workdps(50):
                distance = float(mpmath.norm(mpmath.matrix(found.theta[r].tolist()) - truth[r]))
            assert distance <= found.certificate[r] + 1e-14
            seen.append(distance)
    assert max(seen) > 0.05 and min(seen) < 1e-10  # the bound was tried both far from the solution and at it


@together.over("name", SMOOTH)
@together.over("p", [FEW, MANY])
@together.over("n", [1, 2, 25, 300])
def test_reaches_the_tolerance_on_awkward_designs(name, p, n):
    """Extreme tilts, duplicated and zero columns, fewer records than features, one record."""
    loss = losses.make(name)
    X, y = data(name, n, p, seed=n)
    X[:, 1] = X[:, 0]
    X[:, 2] = 0
    tilt = np.random.default_rng(9).normal(0, 1, (6, p)) * np.array([0, 1, 1e2, 1e4, 1e4, 1e4])[:, None]
    solution = newton.minimise(loss, X, y, ridge=1.0, tilt=tilt, tolerance=1e-7)
    assert (solution.gradient_norm <= 1e-7).all()
    assert np.linalg.norm(gradient(loss, X, y, 1.0, tilt, solution.theta), axis=1).max() <= 1.1e-7
    assert np.allclose(solution.theta[:, 2], -tilt[:, 2], rtol=1e-9, atol=1e-7)  # no data: theta_j = -b_j / ridge


@pytest.mark.parametrize("p", [1, FEW, MANY])
def test_separable_classes_with_a_tiny_ridge(p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, p))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    for ridge in (1e-4, 1e-8):
        solution = newton.minimise(losses.logistic(), X, y, ridge=ridge, tolerance=1e-9)
        assert solution.gradient_norm[0] <= 1e-9
        assert (y * (X @ solution.theta[0]) > 0).all()


@pytest.mark.parametrize("p", [FEW, MANY])
def test_hessians_that_are_singular_to_rounding(p):
    """Equal columns and a ridge that vanishes beside their squares: no factorisation may fail, nothing be hidden."""
    X, y = data("logistic", 50, p)
    X *= 1e3
    X[:, 1] = X[:, 0]
    tilt = np.random.default_rng(0).normal(size=(3, p))
    tilt[:, 1] = tilt[:, 0]
    found = newton.minimise(losses.logistic(), X, y, ridge=1e-12, tilt=tilt, tolerance=1e-6)
    true = np.linalg.norm(gradient(losses.logistic(), X, y, 1e-12, tilt, found.theta), axis=1)
    assert (np.abs(found.gradient_norm - true) < 1e-6 * true + 1e-6).all()  # what sums of 50 rows of norm 1000 round
    assert (found.gradient_norm < np.linalg.norm(X.T @ y / 2 - tilt, axis=1)).all()  # better than theta = 0


def test_rows_far_above_the_unit_ball_and_features_of_very_different_size():
    X, y = data("logistic", 200, MANY)
    X *= np.logspace(-6, 3, MANY)
    tilt = np.random.default_rng(0).normal(0, 3, (5, MANY))
    solution = newton.minimise(losses.logistic(), X, y, ridge=1e-2, tilt=tilt, tolerance=1e-7)
    assert (solution.gradient_norm <= 1e-7).all()


@pytest.mark.parametrize("start", [0.0, 50.0, -1e4])
@pytest.mark.parametrize("p", [1, FEW, MANY])
@pytest.mark.parametrize("name", ["huber", "smoothed_hinge"])
def test_jumping_curvature_from_any_start(name, p, start):
    """Far out every l'' is zero, and a full Newton step overshoots the whole kneed region."""
    loss = losses.make(name, **({"knee": 0.01} if name == "huber" else {"width": 0.01}))
    X, y = data(name, 300, p, seed=11)
    tilt = np.random.default_rng(12).normal(0, 10, (5, p))
    solution = newton.minimise(
        loss, X, y, ridge=1e-2, tilt=tilt, start=np.full(p, start), tolerance=1e-8, max_iterations=400
    )
    assert (solution.gradient_norm <= 1e-8).all()


def test_directions_get_more_exact_where_steps_are_cut_short():
    """A support vector machine with wide rows: half-solved directions do not end within a hundred steps here."""
    X, y = data("smoothed_hinge", 30, MANY)
    tilt = np.random.default_rng(1).normal(0, 0.03, (8, MANY))
    solution = newton.minimise(losses.smoothed_hinge(), 30 * X, y, ridge=2e-3, tilt=tilt, tolerance=1e-7)
    assert (solution.gradient_norm <= 1e-7).all()


@pytest.mark.slow
def test_narrow_bands_do_not_shrink_the_steps_to_nothing():
    """Steps that merely decrease J stop short of the next jump of l'' again and again, far from the solution."""
    X, y = data("smoothed_hinge", 300, MANY, seed=11)
    tilt = np.random.default_rng(12).normal(0, 10, (20, MANY))
    loss = losses.smoothed_hinge(width=0.001)
    solution = newton.minimise(loss, X, y, ridge=1e-3, tilt=tilt, tolerance=1e-8, max_iterations=2000)
    assert (solution.gradient_norm <= 1e-8).all()


def test_no_records_leave_the_tilt_alone():
    tilt = np.random.default_rng(0).normal(size=(4, 5))
    solution = newton.minimise(losses.logistic(), np.empty((0, 5)), np.empty(0), ridge=0.3, tilt=tilt, tolerance=1e-6)
    assert (solution.theta == -tilt / 0.3).all()
    assert (solution.certificate <= 1e-14).all()


def test_shapes_for_one_untilted_many_and_no_repeats():
    X, y = data("logistic", 40, FEW)
    for tilt, repeats in [(None, 1), (np.zeros((6, FEW)), 6), (np.zeros((0, FEW)), 0)]:
        found = newton.minimise(losses.logistic(), X, y, ridge=1.0, tilt=tilt, tolerance=1e-8)
        assert found.theta.shape == (repeats, FEW)
        assert found.certificate.shape == found.gradient_norm.shape == found.iterations.shape == (repeats,)


@pytest.mark.parametrize("p", [FEW, MANY])
def test_starting_at_the_solution_costs_no_step(p):
    X, y = data("logistic", 100, p)
    tilt = np.random.default_rng(0).normal(size=(3, p))
    first = newton.minimise(losses.logistic(), X, y, ridge=0.5, tilt=tilt, tolerance=1e-9)
    again = newton.minimise(losses.logistic(), X, y, ridge=0.5, tilt=tilt, tolerance=1e-8, start=first.theta)
    assert (first.iterations > 0).all() and (again.iterations == 0).all()
    assert (again.theta == first.theta).all()


@pytest.mark.parametrize("p", [FEW, MANY])
def test_says_when_it_did_not_converge(p):
    """One step is not enough: the norm reported is the true one, above the tolerance."""
    X, y = data("logistic", 200, p)
    tilt = np.random.default_rng(0).normal(0, 20, (5, p))
    loss = losses.logistic()
    found = newton.minimise(loss, X, y, ridge=0.1, tilt=tilt, tolerance=1e-10, max_iterations=1)
    true = np.linalg.norm(gradient(loss, X, y, 0.1, tilt, found.theta), axis=1)
    assert (found.gradient_norm > 1e-10).all() and (found.iterations == 1).all()
    assert np.allclose(found.gradient_norm, true, rtol=1e-9)


@together.over("p", [FEW, MANY])
@together.over("name", SMOOTH)
def test_a_tolerance_below_rounding_ends_near_rounding(name, p):
    X, y = data(name, 100, p)
    tilt = np.random.default_rng(0).normal(0, 3, (5, p))
    found = newton.minimise(losses.make(name), X, y, ridge=0.5, tilt=tilt, tolerance=1e-300)
    true = np.linalg.norm(gradient(losses.make(name), X, y, 0.5, tilt, found.theta), axis=1)
    assert (true < 1e-12).all() and (found.gradient_norm < 1e-10).all() and (found.iterations < 60).all()


def test_single_precision_curvature_changes_the_path_and_not_the_end(monkeypatch):
    X, y = data("logistic", 500, MANY)
    tilt = np.random.default_rng(0).normal(0, 10, (5, MANY))
    run = {"ridge": 0.5, "tilt": tilt, "tolerance": 1e-9}
    assert objective.Objective(losses.logistic(), X, y, 0.5).design.dtype == np.float32
    single = newton.minimise(losses.logistic(), X, y, **run)
    monkeypatch.setattr(objective, "SINGLE_MARGIN", np.inf)
    double = newton.minimise(losses.logistic(), X, y, **run)
    assert (single.theta != double.theta).any()
    assert np.linalg.norm(single.theta - double.theta, axis=1).max() <= 2e-9 / 0.5


@pytest.mark.parametrize(("name", "ridge"), [("logistic", 1e-6), ("poisson", 1.0)])
def test_double_precision_where_single_could_misdirect(name, ridge):
    X, y = data(name, 500, MANY)
    assert objective.Objective(losses.make(name), X, y, ridge).design is X


@pytest.mark.parametrize("ridge", [1e-9, 0.7])
@pytest.mark.parametrize("name", ["squared", "logistic", "poisson"])
def test_value_gradient_and_curvature_are_derivatives_of_each_other(name, ridge):
    """Central differences; n spans several row blocks and the ridges use double and single precision."""
    X, y = data(name, 3000, 5)
    rng = np.random.default_rng(0)
    theta, tilt, v = rng.normal(size=(5, 4)), rng.normal(size=(5, 4)), rng.normal(size=(5, 4))
    J, h = objective.Objective(losses.make(name), X, y, ridge), 1e-5
    here, ahead, back = (J.evaluate(theta + t * v, tilt) for t in (0, h, -h))
    assert np.allclose((ahead.value - back.value) / (2 * h), (here.gradient * v).sum(axis=0), rtol=1e-6)
    bent = J.curvature_times(here.weights, v)
    assert np.allclose((ahead.gradient - back.gradient) / (2 * h), bent, rtol=1e-5, atol=1e-4)
    shared = J.tilted(J.evaluate(theta[:, :1], np.zeros((5, 1))), tilt)
    again = J.evaluate(np.repeat(theta[:, :1], 4, axis=1), tilt)
    for field, array in vars(again).items():
        assert np.allclose(getattr(shared, field), array, rtol=1e-12, atol=0), field
    dense = [J.curvature(here.weights[:, r]) @ v[:, r] for r in range(4)]
    assert np.allclose(np.transpose(dense), bent, rtol=1e-5, atol=1e-4)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(SMOOTH),
    n=st.integers(1, 40),
    p=st.sampled_from([1, 2, 5, 26]),
    repeats=st.integers(1, 5),
    ridge=st.floats(1e-2, 1e2),
    size=st.floats(0, 1e3),
    seed=st.integers(0, 2**32 - 1),
)
def test_gradient_norm_at_the_solution_is_within_the_tolerance(name, n, p, repeats, ridge, size, seed):
    loss = losses.make(name)
    X, y = data(name, n, p, seed)
    tilt = np.random.default_rng(seed).normal(0, 1, (repeats, p)) * size
    solution = newton.minimise(loss, X, y, ridge=ridge, tilt=tilt, tolerance=1e-7)
    true = np.linalg.norm(gradient(loss, X, y, ridge, tilt, solution.theta), axis=1)
    assert (solution.gradient_norm <= 1e-7).all()
    assert (true <= 1.1e-7).all()


PROGRAM = """
import hashlib, numpy as np
from dperm import losses
from dperm.solvers import newton
digest = hashlib.sha256()
for p in (3, 120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, p)) / p
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    tilt = rng.normal(0, 5, (30, p))
    found = newton.minimise(losses.logistic(), X, y, ridge=0.5, tilt=tilt, tolerance=1e-6)
    for array in vars(found).values():
        digest.update(array.tobytes())
print(digest.hexdigest())
"""


def test_bytes_do_not_depend_on_the_number_of_threads():
    seen = set()
    for threads in ("1", "2"):
        env = {**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
        seen.add(done.stdout)
    assert len(seen) == 1 and len(seen.pop().strip()) == 64


@together.over(
    ("change", "message"),
    [
        ({"loss": losses.hinge()}, "loss='hinge' has a kink.*smoothed_hinge"),
        ({"loss": losses.absolute()}, "loss='absolute' has a kink.*huber"),
        ({"ridge": 0.0}, "ridge=0.0 must be a finite number above 0"),
        ({"ridge": np.nan}, "ridge=nan"),
        ({"tolerance": 0.0}, "tolerance=0.0 must be"),
        ({"tolerance": np.inf}, "tolerance=inf must be"),
        ({"max_iterations": 0}, "max_iterations=0 must be at least 1"),
        ({"y": np.ones(4)}, r"X has shape \(5, 2\) and y \(4,\)"),
        ({"X": np.ones(5)}, r"X has shape \(5,\)"),
        ({"tilt": np.ones(2)}, r"tilt has shape \(2,\): it must be \(repeats, 2\)"),
        ({"tilt": np.ones((3, 4))}, r"tilt has shape \(3, 4\)"),
        ({"start": np.ones(3)}, r"start has shape \(3,\): it must be \(2,\) or \(1, 2\)"),
        ({"X": np.full((5, 2), np.nan)}, "X holds values that are not finite"),
        ({"y": np.full(5, np.inf)}, "y holds values"),
        ({"tilt": np.full((1, 2), np.nan)}, "tilt holds values"),
        ({"loss": losses.poisson(), "start": np.full(2, 1e4)}, "overflows at the start"),
    ],
)
def test_errors_name_what_is_wrong(change, message):
    call = {"loss": losses.logistic(), "X": np.ones((5, 2)), "y": np.ones(5), "ridge": 1.0, "tolerance": 1e-6, **change}
    with pytest.raises(ValueError, match=message):
        newton.minimise(**call)
