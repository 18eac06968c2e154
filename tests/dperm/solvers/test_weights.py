"""Weighted risks: the minimisers, and certificates that hold with the rounding of the weights."""

import math
from fractions import Fraction

import numpy as np
import pytest
import together
from designs import on_sphere, targets_of
from scipy import optimize, sparse

from dperm import losses
from dperm.feasible import Region, Regularizer
from dperm.solvers import composite, newton

LOSSES = ["squared", "logistic", "capped_logistic", "poisson", "huber", "smoothed_hinge"]
KINDS = {
    "smooth": (Regularizer(), Region()),
    "gram": (Regularizer(l1=0.5), Region(low=-0.3)),
    "ball": (Regularizer(), Region(radius=0.4)),
    "faces": (Regularizer(l1=0.5), Region(radius=0.4, high=0.3)),
    "general": (Regularizer(), Region(constraints=lambda theta: [theta[0] <= 0.1])),
}


def data(loss, n, p, seed):
    rng = np.random.default_rng(seed)
    X = on_sphere(rng, n, p)
    y = targets_of(loss, X @ rng.normal(size=p), rng)
    return X, y, rng.normal(0, 2, (4, p)), 10 ** rng.uniform(-3, 2, n)


@together.over("name", LOSSES)
@together.over("p", [3, 30])
def test_the_weighted_minimiser_by_scipy(name, p):
    """Through exact Hessians and through conjugate gradients."""
    loss = losses.make(name)
    X, y, tilt, w = data(loss, 70, p, seed=p)
    found = newton.minimise(loss, X, y, ridge=2.0, tilt=tilt, tolerance=1e-9, weights=w)
    assert (found.gradient_norm <= 1e-9).all()
    for theta, b in zip(found.theta, tilt, strict=True):
        there = optimize.minimize(
            lambda t, b=b: w @ loss.value(X @ t, y) + t @ t + b @ t,
            np.zeros(p),
            jac=lambda t, b=b: X.T @ (w * loss.derivative(X @ t, y)) + 2 * t + b,
            method="BFGS",
            options={"gtol": 1e-8, "maxiter": 2_000},
        )
        np.testing.assert_allclose(theta, there.x, atol=1e-5)


@together.over(
    ("name", "kind", "tolerance"),
    # What cvxpy minimises is no nearer than its own tolerance allows.
    [*((name, kind, 1e-9) for name in LOSSES for kind in KINDS if kind != "general"), ("logistic", "general", 1e-3)],
)
def test_whole_weights_are_repeated_records_within_the_certificates(name, kind, tolerance):
    loss, (regularizer, region) = losses.make(name), KINDS[kind]
    X, y, tilt, _ = data(loss, 40, 4, seed=1)
    times = np.random.default_rng(2).integers(0, 5, 40)
    how = {"ridge": 3.0, "tilt": tilt, "tolerance": tolerance, "regularizer": regularizer, "region": region}
    weighted = composite.minimise(loss, X, y, weights=times.astype(float), **how)
    repeated = composite.minimise(loss, np.repeat(X, times, axis=0), np.repeat(y, times), **how)
    apart = np.linalg.norm(weighted.theta - repeated.theta, axis=1)
    assert (apart <= weighted.certificate + repeated.certificate).all()
    assert (weighted.certificate <= tolerance / 3).all()
    assert np.abs(weighted.theta - composite.minimise(loss, X, y, **how).theta).max() > 1e-3


@pytest.mark.usefixtures("longer_numbers", "unrefined")
@together.over("name", LOSSES)
@together.over("kind", ["smooth", "squared-gram"])
def test_no_certificate_is_below_the_true_gradient(name, kind):
    """At targets down to rounding; without refinement, which certifies a distance alone."""
    loss = losses.make(name)
    X, y, tilt, w = data(loss, 300, 5, seed=3)
    # A wall that nobody reaches: the solver is another, the minimiser the same.
    region = Region() if kind == "smooth" else Region(low=-1e6)
    long = [values.astype(np.longdouble) for values in (X, y, tilt, w)]
    for tolerance in (1e-6, 1e-10, 1e-12, 1e-13, 1e-15):
        found = composite.minimise(
            loss, X, y, ridge=0.5, tilt=tilt, tolerance=tolerance, weights=w, region=region, regularizer=Regularizer()
        )
        for theta, b, known in zip(found.theta.astype(np.longdouble), long[2], found.gradient_norm, strict=True):
            slope = long[3] * loss.derivative(long[0] @ theta, long[1])
            true = np.linalg.norm((long[0].T @ slope + 0.5 * theta + b).astype(float))
            assert true <= known <= max(2 * tolerance, 1e-9)


@pytest.mark.usefixtures("longer_numbers")
@together.over("region", [Region(), Region(low=-1e6)])
def test_heavy_records_are_certified_beyond_what_doubles_tell(region, monkeypatch):
    """The squared loss on one feature, in rational numbers: gradients of 1e10 and a target of 1e-6."""
    rng = np.random.default_rng(4)
    X, y, w = rng.uniform(0.5, 1, (50, 1)), rng.uniform(-1, 1, 50), 10 ** rng.uniform(8, 10.6, 50)
    exact = [[Fraction(float(value)) for value in values.ravel()] for values in (X, y, w)]
    top = sum(k * x * t for x, t, k in zip(*exact, strict=True)) - 1
    true = top / (sum(k * x * x for x, _, k in zip(*exact, strict=True)) + 1)
    how = {
        "ridge": 1.0, "tilt": np.ones((1, 1)), "tolerance": 1e-6, "weights": w, "region": region,
        "regularizer": Regularizer(),
    }  # fmt: skip
    found = composite.minimise(losses.squared(), X, y, **how)
    apart = abs(Fraction(float(found.theta[0, 0])) - true)
    assert apart <= Fraction(float(found.certificate[0])) and found.certificate[0] <= 1e-6
    for solver in (newton, composite):
        monkeypatch.setattr(solver, "refine_all", lambda *given: None)
    assert composite.minimise(losses.squared(), X, y, **how).certificate[0] > 1e-6
    monkeypatch.undo()


@together.over("loss", ["logistic", "poisson", "huber"])
def test_weights_of_any_size_are_one_problem(loss):
    """All of J times 1e-20 or 1e20."""
    loss = losses.make(loss)
    X, y, tilt, w = data(loss, 50, 3, seed=5)
    plain = newton.minimise(loss, X, y, ridge=1.0, tilt=tilt, tolerance=1e-9, weights=w).theta
    for size in (1e-20, 1e20):
        given = {"ridge": size, "tilt": size * tilt, "tolerance": 1e-9 * size, "weights": size * w}
        np.testing.assert_allclose(newton.minimise(loss, X, y, **given).theta, plain, atol=1e-8)


def test_what_is_no_weight_is_refused():
    X, y = np.eye(3), np.ones(3)
    for wrong in ([1.0, -1.0, 0.0], [1.0, 1.0], [1.0, math.nan, 1.0], [1.0, math.inf, 1.0]):
        for region in (Region(), Region(radius=1.0)):
            with pytest.raises(ValueError, match="must be 3 finite numbers of 0 or above"):
                composite.minimise(
                    losses.logistic(), X, y, ridge=1.0, tolerance=1e-6, weights=np.array(wrong), region=region
                )
    with pytest.raises(ValueError, match="weights go with no sparse X"):
        composite.minimise(losses.huber(), sparse.csr_array(X), y, ridge=1.0, tolerance=1e-6, weights=np.ones(3))
