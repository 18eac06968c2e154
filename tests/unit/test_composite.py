"""The front door of the solvers: every loss, regularizer and set against cvxpy, and certificates that hold."""

import math

import cvxpy as cp
import numpy as np
import pytest

from dperm import losses
from dperm.errors import ConfigError
from dperm.feasible import Region, Regularizer
from dperm.solvers import composite

pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")

N, P, R, RIDGE = 40, 5, 3, 1.5
LASSO, ELASTIC = Regularizer(l1=2.0), Regularizer(l1=1.0, l2=0.7)
SIMPLEX = Region(constraints=lambda theta: [theta >= 0, cp.sum(theta) == 1])
FUSED = Regularizer(expression=lambda theta: 3.0 * cp.norm1(cp.diff(theta)))
NUCLEAR = Regularizer(expression=lambda theta: 2.0 * cp.normNuc(cp.reshape(theta[:4], (2, 2), order="F")))
CASES = {
    "ridge": (Regularizer(), Region(), "smooth"),
    "lasso": (LASSO, Region(), "gram"),
    "elastic net": (ELASTIC, Region(), "gram"),
    "box": (Regularizer(), Region(low=-0.2, high=0.3), "gram"),
    "lasso in the orthant": (LASSO, Region(low=0.0), "gram"),
    "ball": (Regularizer(l2=0.7), Region(radius=0.5), "ball"),
    "lasso in a ball": (LASSO, Region(radius=0.5), "general"),
    "box in a ball": (Regularizer(), Region(radius=0.5, low=-0.3), "general"),
    "simplex": (Regularizer(), SIMPLEX, "general"),
    "fused lasso": (FUSED, Region(), "general"),
    "nuclear norm": (NUCLEAR, Region(), "general"),
}
LOSSES = {"squared": losses.squared(), "logistic": losses.logistic(), "huber": losses.huber(0.5)}


def problem(loss, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, P)) / 2
    y = X @ rng.normal(size=P) + 0.3 * rng.normal(size=N)
    y = np.where(y > 0, 1.0, -1.0) if loss.targets == "binary" else y
    return X, y, rng.normal(size=(R, P))


def stated(loss, X, y, b, regularizer, region, ridge=RIDGE):
    """The same problem in cvxpy, from the formulas of the losses and not from ours."""
    theta = cp.Variable(X.shape[1])
    u = X @ theta
    if loss.name == "squared":
        total = 0.5 * cp.sum_squares(u - y)
    elif loss.name == "logistic":
        total = cp.sum(cp.logistic(-cp.multiply(y, u)))
    else:
        total = 0.5 * cp.sum(cp.huber(u - y, 0.5))
    total += 0.5 * (ridge + regularizer.l2) * cp.sum_squares(theta) + b @ theta + regularizer.l1 * cp.norm1(theta)
    constraints = []
    if regularizer.expression is not None:
        total += regularizer.expression(theta)
    if math.isfinite(region.radius):
        constraints.append(cp.norm2(theta) <= region.radius)
    if math.isfinite(region.low):
        constraints.append(theta >= region.low)
    if math.isfinite(region.high):
        constraints.append(theta <= region.high)
    if region.constraints is not None:
        constraints += region.constraints(theta)
    tight = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    cp.Problem(cp.Minimize(total), constraints).solve(solver=cp.CLARABEL, **tight)
    return theta.value


# cvxpy in every step of prox-Newton takes seconds: one loss for each such case, the squared loss for all.
PAIRS = [
    (case, name)
    for k, case in enumerate(CASES)
    for name in LOSSES
    if CASES[case][2] != "general" or name in ("squared", list(LOSSES)[1 + k % 2])
]


@pytest.mark.parametrize(("case", "name"), PAIRS)
def test_it_finds_what_cvxpy_finds(case, name):
    loss = LOSSES[name]
    regularizer, region, kind = CASES[case]
    assert composite.kind(regularizer, region) == kind
    X, y, tilt = problem(loss)
    found = composite.minimise(
        loss, X, y, ridge=RIDGE, tilt=tilt, tolerance=1e-9, regularizer=regularizer, region=region
    )
    expected = np.array([stated(loss, X, y, b, regularizer, region) for b in tilt])
    assert np.abs(found.theta - expected).max() < (2e-5 if kind == "general" else 1e-6)
    # The certificate is an upper bound on the distance, and small. The fast solvers' is below cvxpy's own error.
    away = np.linalg.norm(found.theta - expected, axis=1)
    assert (away <= found.certificate + (0.0 if kind == "general" else 1e-6)).all()
    assert (found.certificate < (1e-3 if kind == "general" else 1e-8)).all()


@pytest.mark.parametrize("case", ["lasso", "box", "ball"])
@pytest.mark.parametrize("loss", [LOSSES["squared"], LOSSES["logistic"]], ids=["squared", "logistic"])
def test_cvxpy_and_the_fast_solvers_are_interchangeable(case, loss, monkeypatch):
    regularizer, region, _ = CASES[case]
    X, y, tilt = problem(loss, seed=1)
    fixed = {"ridge": RIDGE, "tilt": tilt, "tolerance": 1e-9, "regularizer": regularizer, "region": region}
    fast = composite.minimise(loss, X, y, **fixed)
    monkeypatch.setattr(composite, "kind", lambda *_: "general")
    slow = composite.minimise(loss, X, y, **fixed)
    assert np.abs(fast.theta - slow.theta).max() < 2e-5


@pytest.mark.parametrize("case", ["lasso", "box", "ball"])
def test_a_batch_is_what_each_would_be_alone(case):
    regularizer, region, _ = CASES[case]
    loss = losses.logistic()
    X, y, tilt = problem(loss)
    fixed = {"ridge": RIDGE, "tolerance": 1e-9, "regularizer": regularizer, "region": region}
    batch = composite.minimise(loss, X, y, tilt=tilt, **fixed)
    for r in range(R):
        alone = composite.minimise(loss, X, y, tilt=tilt[r : r + 1], **fixed)
        assert np.abs(alone.theta[0] - batch.theta[r]).max() < 1e-9


def test_chunks_change_nothing(monkeypatch):
    loss = losses.huber(0.5)
    X, y, tilt = problem(loss)
    fixed = {"ridge": RIDGE, "tilt": tilt, "tolerance": 1e-9, "regularizer": LASSO}
    whole = composite.minimise(loss, X, y, **fixed)
    monkeypatch.setattr(composite, "CHUNK_BYTES", 1)
    assert np.abs(composite.minimise(loss, X, y, **fixed).theta - whole.theta).max() < 1e-9


def test_the_l1_norm_gives_exact_zeros_and_the_box_exact_bounds():
    loss = losses.logistic()
    X, y, tilt = problem(loss)
    found = composite.minimise(loss, X, y, ridge=RIDGE, tilt=tilt, tolerance=1e-9, regularizer=Regularizer(l1=6.0))
    assert 0 < (found.theta == 0).sum() < found.theta.size
    box = composite.minimise(loss, X, y, ridge=RIDGE, tilt=tilt, tolerance=1e-9, region=Region(low=-0.1, high=0.1))
    assert (np.abs(box.theta) <= 0.1).all() and (np.abs(box.theta) == 0.1).any()


@pytest.mark.parametrize("case", ["lasso", "ball", "fused lasso"])
def test_without_records_the_tilt_alone_decides(case):
    regularizer, region, _ = CASES[case]
    tilt = np.array([[3.0, -0.5, 0.1, 0.0, -4.0]])
    loss = losses.logistic()
    found = composite.minimise(
        loss, np.zeros((0, P)), np.zeros(0), ridge=RIDGE, tilt=tilt, tolerance=1e-9, regularizer=regularizer,
        region=region,
    )  # fmt: skip
    expected = stated(losses.squared(), np.zeros((1, P)), np.zeros(1), tilt[0], regularizer, region)
    assert np.abs(found.theta[0] - expected).max() < 1e-5


def test_too_few_steps_are_said_by_the_certificate():
    loss = losses.logistic()
    X, y, tilt = problem(loss)
    fixed = {"ridge": 1e-3, "tilt": 20 * tilt, "tolerance": 1e-9, "regularizer": LASSO}
    found = composite.minimise(loss, X, y, **fixed, max_iterations=1)
    exact = composite.minimise(loss, X, y, **fixed)
    assert (found.gradient_norm > 1e-9).any() and (exact.gradient_norm <= 1e-9).all()
    assert (np.linalg.norm(found.theta - exact.theta, axis=1) <= found.certificate * (1 + 1e-9)).all()


def test_what_is_not_convex_or_does_not_fit_is_refused():
    loss = losses.logistic()
    X, y, tilt = problem(loss)
    with pytest.raises(ConfigError, match="not convex by cvxpy's rules"):
        composite.minimise(
            loss, X, y, ridge=1.0, tolerance=1e-6, regularizer=Regularizer(expression=lambda z: -cp.norm1(z))
        )
    with pytest.raises(ConfigError, match=r"cannot be stated in cvxpy: .*nothing"):
        composite.minimise(loss, X, y, ridge=1.0, tolerance=1e-6, region=Region(constraints=lambda z: nothing))  # noqa: F821
    with pytest.raises(ValueError, match="their sum above 0"):
        composite.minimise(loss, X, y, ridge=0.0, tolerance=1e-6, regularizer=LASSO)
    with pytest.raises(ValueError, match=r"need \(n, p\), \(n,\), \(R, p\)"):
        composite.minimise(loss, X, y, ridge=1.0, tolerance=1e-6, regularizer=LASSO, tilt=tilt[:, :2])
