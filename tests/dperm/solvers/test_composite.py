"""The front door of the solvers: every loss, regularizer and set against cvxpy, and certificates that hold."""

import math

import cvxpy as cp
import numpy as np
import pytest
import together

from dperm import losses
from dperm.errors import ConfigError
from dperm.feasible import Region, Regularizer
from dperm.solvers import composite, general

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
    "lasso in a ball": (LASSO, Region(radius=0.5), "faces"),
    "box in a ball": (Regularizer(), Region(radius=0.5, low=-0.3), "faces"),
    "lasso in a box in a ball": (LASSO, Region(radius=0.3, low=-0.1, high=0.25), "faces"),
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
    assert np.abs(found.theta - expected).max() < 2e-5
    # The certificate is an upper bound on the distance, and small: below cvxpy's own error.
    away = np.linalg.norm(found.theta - expected, axis=1)
    assert (away <= found.certificate + 2e-5).all()
    assert (found.certificate < (1e-4 if kind == "general" else 1e-8)).all()


@pytest.mark.slow
@pytest.mark.parametrize("case", ["lasso", "box", "ball", "lasso in a box in a ball"])
@pytest.mark.parametrize("loss", [LOSSES["squared"], LOSSES["logistic"]], ids=["squared", "logistic"])
def test_cvxpy_and_the_fast_solvers_are_interchangeable(case, loss, monkeypatch):
    regularizer, region, _ = CASES[case]
    X, y, tilt = problem(loss, seed=1)
    fixed = {"ridge": RIDGE, "tilt": tilt, "tolerance": 1e-9, "regularizer": regularizer, "region": region}
    fast = composite.minimise(loss, X, y, **fixed)
    monkeypatch.setattr(composite, "kind", lambda *_: "general")
    slow = composite.minimise(loss, X, y, **fixed)
    assert np.abs(fast.theta - slow.theta).max() < 2e-5


@pytest.mark.parametrize("case", ["lasso", "box", "ball", "lasso in a box in a ball"])
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


@pytest.mark.parametrize(
    ("p", "total", "size"),
    [
        (5, 1.0, 1.0),
        *(pytest.param(*given, marks=pytest.mark.slow) for given in ((100, 1.0, 100.0), (100, 1000.0, 1.0))),
        (30, 1.0, 1e4),
    ],
)
def test_certificates_of_cvxpy_are_above_the_distance_from_an_exact_projection(p, total, size):
    """Projections on a simplex by sorting. Value less dual value is negative in three of these, which certifies 0."""
    points = size * np.random.default_rng(0).normal(size=(10, p))
    ranked = -np.sort(-points, axis=1)
    excess = (np.cumsum(ranked, axis=1) - total) / np.arange(1, p + 1)
    last = (ranked > excess).sum(axis=1) - 1
    exact = np.maximum(points - excess[np.arange(10), last][:, None], 0.0)
    simplex = Region(constraints=lambda theta: [theta >= 0, cp.sum(theta) == total])
    found = general.minimise(np.eye(p), points, Regularizer(), simplex)
    away = np.linalg.norm(found.theta - exact, axis=1)
    assert (away < 1e-7 * max(total, size)).all()
    # A certificate may not be far above what Clarabel's digits are worth either: sqrt(1e-10) of the size of theta.
    assert (away <= np.sqrt(2 * found.gap)).all() and (np.sqrt(2 * found.gap) < 2e-4 * (1 + size + total)).all()


@together.over(("regularizer", "region", "message"), [
    (lambda z: -cp.norm1(z), None, "regularizer: its expression is not convex by cvxpy's rules"),
    (lambda z: 0.5, None, "regularizer: it must return a scalar cvxpy expression .* and returned a float"),
    (lambda z: None, None, "and returned a NoneType"),
    (lambda z: z, None, r"scalar cvxpy expression .* returned shape \(5,\)"),
    (lambda z: cp.sum_squares(z - cp.Variable(5, boolean=True)), None, "a variable is boolean or integer"),
    (None, Region(constraints=lambda z: nothing), "constraints: it cannot be stated in cvxpy .*nothing"),  # noqa: F821
    (None, Region(constraints=lambda z: z >= 0), "constraints: it must return a list .* returned a Inequality"),
    (None, Region(constraints=lambda z: [cp.sum(z)]), "constraints: .* returned a list of Sum"),
    (None, Region(constraints=lambda z: [cp.norm1(z) >= 1]), "constraints: the set is not convex by cvxpy's rules"),
    (None, Region(constraints=lambda z: [z == cp.Variable(5, integer=True)]), "a variable is boolean or integer"),
    (None, Region(constraints=lambda z: [z >= 1, cp.sum(z) <= 0]), r"shape \(5,\) meets them: the feasible"),
    (None, Region(radius=0.3, constraints=lambda z: [z >= 0, cp.sum(z) == 1]), "within the declared radius=0.3: the f"),
    (None, Region(low=0.0, high=0.1, constraints=lambda z: [cp.sum(z) == 1]), "declared low=0, high=0.1: the feasible"),
])  # fmt: skip
@together.over("loss", [LOSSES["squared"], LOSSES["logistic"]])
def test_what_users_state_wrongly_is_refused_by_name(regularizer, region, message, loss):
    X, y, tilt = problem(loss)
    stated = {"regularizer": Regularizer(expression=regularizer), "region": region}
    for rows in (slice(None), slice(0)):  # the message knows nothing of the records
        with pytest.raises(ConfigError, match=message):
            composite.minimise(loss, X[rows], y[rows], ridge=1.0, tolerance=1e-6, tilt=tilt, **stated)


def test_what_does_not_fit_is_refused():
    loss = losses.logistic()
    X, y, tilt = problem(loss)
    with pytest.raises(ValueError, match="their sum above 0"):
        composite.minimise(loss, X, y, ridge=0.0, tolerance=1e-6, regularizer=LASSO)
    with pytest.raises(ValueError, match=r"need \(n, p\), \(n,\), \(R, p\)"):
        composite.minimise(loss, X, y, ridge=1.0, tolerance=1e-6, regularizer=LASSO, tilt=tilt[:, :2])
