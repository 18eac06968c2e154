"""Certificates with targets at the rounding of their solvers, against the gradients in extended precision."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from designs import on_sphere, targets_of
from scipy import sparse

from dperm import ObjectivePerturbation, OutputPerturbation, losses
from dperm.domain import Budget, Domain
from dperm.feasible import Region, Regularizer
from dperm.mechanisms import objective, output
from dperm.solvers import composite, newton
from dperm.solvers import objective as risk
from dperm.solvers.objective import SINGLE_MARGIN

TOLERANCES = [1e-6, 1e-10, 1e-12, 1e-13, 1e-14, 1e-15, 1e-17]
pytestmark = pytest.mark.usefixtures("longer_numbers")


def data(loss, n, p, seed):
    rng = np.random.default_rng(seed)
    X = on_sphere(rng, n, p)
    return X, targets_of(loss, X @ rng.normal(size=p), rng), rng.normal(0, 5, (4, p))


def gradient(loss, X, y, ridge, tilt, theta):
    """The gradient at each theta; numbers of 64 bits make it right far beyond doubles."""
    X, y, tilt, theta = (values.astype(np.longdouble) for values in (X, y, tilt, theta))
    return np.array([X.T @ loss.derivative(X @ t, y) + ridge * t + b for t, b in zip(theta, tilt, strict=True)])


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 64 * 7, 64 * 128, 64 * 131 + 5])
def test_a_careful_gradient_is_within_its_bound_wherever_blocks_end(n, counted):
    """Against plain sums of numbers of 64 bits, each record as often as it counts; the bound is not much wider."""
    loss, (X, y, tilt) = losses.logistic(), data(losses.logistic(), n, 3, seed=n)
    counts = np.random.default_rng(n).integers(1, 4, n) if counted else np.ones(n, int)
    theta = np.random.default_rng(1).normal(size=(4, 3))
    true = gradient(loss, np.repeat(X, counts, axis=0), np.repeat(y, counts), 0.5, tilt, theta)
    for kind in (np.float64, np.longdouble):
        given = counts.astype(float) if counted else None
        found, bound = risk.Objective(loss, X, y, 0.5, counts=given).carefully(theta.T, tilt.T, kind)
        off = np.linalg.norm((found.T - true).astype(float), axis=1)
        assert found.dtype == np.float64 and (off <= bound).all()
        assert (bound <= 1e-13 * (n + 10)).all()


@pytest.mark.usefixtures("unrefined")
@pytest.mark.parametrize("name", ["squared", "logistic", "poisson", "huber", "smoothed_hinge"])
@pytest.mark.parametrize(("n", "p"), [(300, 5), (5000, 30)])
def test_newtons_norm_is_never_below_the_true_one(name, n, p):
    loss = losses.make(name)
    X, y, tilt = data(loss, n, p, seed=n)
    for tolerance in TOLERANCES:
        found = newton.minimise(loss, X, y, ridge=0.5, tilt=tilt, tolerance=tolerance)
        true = np.linalg.norm(gradient(loss, X, y, 0.5, tilt, found.theta).astype(float), axis=1)
        assert (true <= found.gradient_norm).all()
        # Where the tolerance can be met it is, and far below nothing is said to be.
        assert (found.gradient_norm <= max(tolerance, n * 1e-12)).all()
    assert (found.gradient_norm > tolerance).all()


@pytest.mark.usefixtures("unrefined")
@pytest.mark.parametrize("name", ["squared", "logistic"])
@pytest.mark.parametrize("kind", ["l1", "box", "ball"])
def test_certificates_with_a_regularizer_or_a_set_are_never_below_the_true_norm(name, kind):
    loss, low, high, radius, l1 = losses.make(name), -np.inf, np.inf, np.inf, 0.0
    if kind == "l1":
        l1 = 3.0
    elif kind == "box":
        low, high = -0.3, 0.4
    else:
        radius = 0.5
    X, y, tilt = data(loss, 2000, 8, seed=1)
    for tolerance in TOLERANCES:
        found = composite.minimise(
            loss, X, y, ridge=0.5, tilt=tilt, tolerance=tolerance, regularizer=Regularizer(l1=l1),
            region=Region(low=low, high=high, radius=radius),
        )  # fmt: skip
        g, theta = gradient(loss, X, y, 0.5, tilt, found.theta), found.theta
        if kind == "ball":
            size = np.sqrt((theta.astype(np.longdouble) ** 2).sum(axis=1, keepdims=True))
            outward = np.where(size >= radius * (1 - 1e-12), np.maximum(-(g * theta).sum(axis=1, keepdims=True), 0), 0)
            left = g + outward * theta / size**2
        else:
            left = np.where(theta != 0, g + l1 * np.sign(theta), np.sign(g) * np.maximum(np.abs(g) - l1, 0))
            left = np.where(theta == low, np.minimum(left, 0), np.where(theta == high, np.maximum(left, 0), left))
        assert (np.linalg.norm(left.astype(float), axis=1) <= found.gradient_norm).all()
        assert (found.gradient_norm <= max(tolerance, 1e-8)).all()


@pytest.mark.parametrize("name", ["huber", "smoothed_hinge"])
def test_sparse_certificates_bound_the_distance_at_the_least_tolerance(name):
    loss = losses.make(name)
    X, y, tilt = data(loss, 400, 12, seed=2)
    exact = newton.minimise(loss, X, y, ridge=2.0, tilt=tilt, tolerance=1e-13)
    for tolerance in (1e-6, 1e-9, 1e-12):
        found = composite.minimise(loss, sparse.csr_matrix(X), y, ridge=2.0, tilt=tilt, tolerance=tolerance)
        away = np.linalg.norm(found.theta - exact.theta, axis=1)
        assert (away <= found.certificate + exact.certificate).all()


@pytest.mark.parametrize("tolerance", [9e-13, 1e-14, 1e-300])
def test_targets_below_rounding_are_refused_by_name(tolerance):
    X, y = np.zeros((10, 2)), np.resize([-1.0, 1.0], 10)
    fixed = {
        "domain": Domain(x_norm=1.0), "budget": Budget(1.0), "neighbours": "add_remove", "calibration": "tight",
        "rng": np.random.default_rng(0), "tolerance": tolerance,
    }  # fmt: skip
    message = rf"tolerance={tolerance:g} must be a number in \[1e-12, 1\]; certificates .* rounding.*1e-6 is usual"
    for core in (objective.release, output.release):
        with pytest.raises(ValueError, match=message):
            core(X, y, losses.logistic(), **fixed)
    for estimator in (ObjectivePerturbation, OutputPerturbation):
        with pytest.raises(ValueError, match=message):
            estimator(epsilon=1.0, classes=(-1, 1), tolerance=tolerance).fit(X, y)


@pytest.mark.usefixtures("unrefined")
@pytest.mark.parametrize("p", [3, 30])
@pytest.mark.parametrize("name", ["squared", "logistic", "poisson", "huber", "smoothed_hinge"])
def test_equal_records_that_are_merged_are_the_same_problem(name, p, monkeypatch):
    """Against every record on its own; norms are never below the true ones."""
    loss, kinds = losses.make(name), 12
    X, y, tilt = data(loss, kinds, p, seed=p)
    counts = np.random.default_rng(p).integers(1, 60, kinds)
    X, y = np.repeat(X, counts, axis=0), np.repeat(y, counts)
    assert len(risk.merged(X, y)[0]) == kinds
    for tolerance in TOLERANCES:
        found = newton.minimise(loss, X, y, ridge=0.5, tilt=tilt, tolerance=tolerance)
        true = np.linalg.norm(gradient(loss, X, y, 0.5, tilt, found.theta).astype(float), axis=1)
        assert (true <= found.gradient_norm).all()
        assert (found.gradient_norm <= max(tolerance, 1e-9)).all()
        with monkeypatch.context() as patch:
            patch.setattr(risk, "MERGED", 0.0)
            apart = newton.minimise(loss, X, y, ridge=0.5, tilt=tilt, tolerance=tolerance)
        assert (np.linalg.norm(found.theta - apart.theta, axis=1) <= found.certificate + apart.certificate).all()


@pytest.mark.parametrize("multiple", [1.0, 1.02])
def test_rows_that_are_alike_round_alike_in_single_precision(multiple, monkeypatch):
    """Before, just above where single precision is allowed, the preconditioner's factorisation raised."""
    monkeypatch.setattr(risk, "MERGED", 0.0)
    n, p = 1000, 25
    row = np.random.default_rng(0).normal(size=p)
    X = np.repeat(row[None] / np.linalg.norm(row), n, axis=0)
    ridge = multiple * SINGLE_MARGIN * float(np.finfo(np.float32).eps) * float(np.vdot(X, X))
    tilt = np.random.default_rng(1).normal(size=(3, p))
    found = newton.minimise(losses.huber(), X, np.zeros(n), ridge=ridge, tilt=tilt, tolerance=1e-6)
    assert (found.gradient_norm <= 1e-6).all()


def huber_minimiser(rows, targets, n, knee, ridge, tilt):
    """The minimiser in rational numbers, n records of each of two kinds: of nine quadratics the one that fits."""
    rows = [[Fraction(value) for value in row] for row in rows]
    targets, tilt, knee, ridge = *([*map(Fraction, each)] for each in (targets, tilt)), Fraction(knee), Fraction(ridge)
    for sides in itertools.product((-1, 0, 1), repeat=2):
        a = [[ridge, Fraction(0)], [Fraction(0), ridge]]
        b = [-value for value in tilt]
        for side, row, target in zip(sides, rows, targets, strict=True):
            for i in range(2):
                b[i] += n * row[i] * (-side * knee if side else target)
                for j in range(2):
                    a[i][j] += 0 if side else n * row[i] * row[j]
        det = a[0][0] * a[1][1] - a[0][1] * a[1][0]
        theta = [(b[0] * a[1][1] - b[1] * a[0][1]) / det, (a[0][0] * b[1] - a[1][0] * b[0]) / det]
        left = [row[0] * theta[0] + row[1] * theta[1] - target for row, target in zip(rows, targets, strict=True)]
        if all(side * r >= knee if side else abs(r) <= knee for side, r in zip(sides, left, strict=True)):
            return theta
    raise AssertionError("none of the nine fits")


@pytest.mark.parametrize("merged", [0.0, risk.MERGED])
def test_a_margin_that_rounding_puts_beyond_a_knee_counts_in_the_certificate(merged, monkeypatch):
    """Both residuals are computed just outside Huber's knee, where l'' = 0, and are truly inside, where it is 1."""
    monkeypatch.setattr(risk, "MERGED", merged)
    hexes = (
        "0x1.f59f53cc54626p-1 0x1.09b5fefebf3fep-13 0x1.f5b6e3ae27199p-1 -0x1.f7256169f2390p-14 "
        "0x1.0a3b3aca92eb7p+20 0x1.2c580d96ea2f8p+19"
    )
    values = np.array([float.fromhex(value) for value in hexes.split()])
    rows, start = values[:4].reshape(2, 2), values[4:]
    n, ridge, ulp = 100_000, 0.001, float(np.spacing(1e6))
    inside = round(0.01 / ulp) * ulp
    knee = inside - 1e-3 * ulp
    margins = rows @ start
    targets = np.array([margins[0] - inside, margins[1] + inside])
    tilt = -(n * knee * (rows[0] - rows[1]) + ridge * start)
    found = newton.minimise(
        losses.huber(knee), np.repeat(rows, n, axis=0), np.repeat(targets, n),
        ridge=ridge, tolerance=2e-7 * knee, tilt=tilt[None], start=start,
    )  # fmt: skip
    best = huber_minimiser(rows, targets, n, knee, ridge, tilt)
    away = math.hypot(*(float(Fraction(t) - s) for t, s in zip(found.theta[0], best, strict=True)))
    assert away <= found.certificate[0]
    assert found.gradient_norm[0] <= 2e-7 * knee
