"""Bounds on the distance from NAPP-ERM's minimiser, against the minimiser in 50 digits; totals of many equal rows."""

import mpmath
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import dperm
from dperm.mechanisms.napp import certify, losses
from dperm.mechanisms.napp.certify import Composite, certified, polished, refined
from dperm.mechanisms.napp.scheme import Scheme, convexity

FREE = (np.full(2, -np.inf), np.full(2, np.inf))


def penalty_slope(scheme, strength, u):
    """P'(u) and P''(u), u > 0, of a halved scheme; its weights and its power are the public doubles."""
    weight, power = mpmath.mpf((2 - scheme.gamma) / 2 * strength), mpmath.mpf(1 - scheme.gamma)
    constant, floor = mpmath.mpf(scheme.kappa * strength), mpmath.mpf(scheme.floor)
    below = 2 * (weight * u**power + constant * u), 2 * (weight * power * u ** (power - 1) + constant)
    if not scheme.moor:
        return below[0] + 2 * floor * u, below[1] + 2 * floor
    return below if below[0] >= 2 * floor * u else (2 * floor * u, 2 * floor)


def loss_slopes(name, eta_bound, u, y):
    inside = max(min(u, eta_bound), -eta_bound)
    slope, second = (mpmath.exp(inside) - y, mpmath.exp(inside)) if name == "poisson" else (inside - y, mpmath.mpf(1))
    return slope, second if inside == u else mpmath.mpf(0)


def distance(name, eta_bound, rows, targets, counts, tilt, added, scheme, strength, theta):
    """The distance of theta from the minimiser over R^p, by damped Newton in 50 digits."""
    p = len(theta)
    rows, tilt, added = rows.tolist(), list(map(mpmath.mpf, tilt.tolist())), list(map(mpmath.mpf, added.tolist()))
    start = [mpmath.mpf(float(value)) for value in theta]

    def smooth(point):
        gradient, H = list(tilt), mpmath.zeros(p)
        for row, y, count in zip(rows, targets.tolist(), counts.tolist(), strict=True):
            slope, second = loss_slopes(name, mpmath.mpf(eta_bound), mpmath.fdot(map(mpmath.mpf, row), point), y)
            for i in range(p):
                gradient[i] += count * slope * mpmath.mpf(row[i])
                for j in range(p):
                    H[i, j] += count * second * mpmath.mpf(row[i]) * mpmath.mpf(row[j])
        return gradient, H

    gradient, _ = smooth(start)
    # A coordinate at 0 stays there where its l1 norm holds it; else a bridge's own slope says where it starts.
    signs, point = [], list(start)
    for j in range(p):
        held = start[j] == 0 and abs(gradient[j]) <= added[j]
        signs.append(0 if held else int(mpmath.sign(start[j])) or -int(mpmath.sign(gradient[j])))
        if start[j] == 0 and not held:
            height = penalty_slope(scheme, strength, mpmath.mpf(1))[0]
            point[j] = signs[j] * ((abs(gradient[j]) - added[j]) / height) ** (1 / (1 - mpmath.mpf(scheme.gamma))) / 2
    moving = [j for j in range(p) if signs[j]]

    def residual(point):
        gradient, H = smooth(point)
        for j in moving:
            slope, second = penalty_slope(scheme, strength, abs(point[j]))
            gradient[j] += signs[j] * (slope + added[j])
            H[j, j] += second
        return gradient, H

    for _ in range(300):
        gradient, H = residual(point)
        left = mpmath.norm([gradient[j] for j in moving]) if moving else mpmath.mpf(0)
        if left < mpmath.mpf(10) ** -30:
            break
        system = mpmath.matrix([[H[i, j] for j in moving] for i in moving])
        step = mpmath.lu_solve(system, mpmath.matrix([-gradient[j] for j in moving]))
        length = mpmath.mpf(1)
        while True:
            trial = list(point)
            for j, moved in zip(moving, step, strict=True):
                trial[j] += length * moved
            if all(trial[j] * signs[j] > 0 for j in moving):
                there = residual(trial)[0]
                if mpmath.norm([there[j] for j in moving]) < left:
                    break
            length /= 2
            assert length > 1e-30
        point = trial
    assert left < mpmath.mpf(10) ** -30
    assert all(signs[j] or abs(gradient[j]) <= added[j] for j in range(p))
    return mpmath.norm([t - s for t, s in zip(start, point, strict=True)])


# 16,384 records are summed at once: the larger number is of two such blocks.
@pytest.mark.parametrize("n", [3_000, pytest.param(17_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["squared", "poisson"])
@pytest.mark.parametrize(
    ("scheme", "added"),
    [
        *((Scheme("bridge", 0.05, False, gamma, halved=True), 0.0) for gamma in (0.1, 0.5, 0.99)),
        (Scheme("bridge", 0.05, False, 0.5, halved=True), 2.0),
        (Scheme("bridge", 0.05, True, 0.1, halved=True), 0.0),
        (Scheme("elastic_net", 0.05, True, kappa=0.1, halved=True), 0.0),
    ],
    ids=["gamma .1", "gamma .5", "gamma .99", "vector of l1", "MOOR", "elastic net, MOOR"],
)
def test_the_bound_holds_where_doubles_cannot_tell(scheme, added, name, n):
    """Many records of three kinds; the aim is below what sums in doubles certify."""
    rng = np.random.default_rng(n)
    eta_bound, strength, p = 0.5, 0.1, 2
    rows = rng.normal(size=(3, p))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    targets, counts = np.array([0.0, 1.0, 0.25]), np.array([n - n // 3 - 10, n // 3, 10])
    X, y = np.repeat(rows, counts, axis=0), np.repeat(targets, counts)
    loss = losses.make(name, eta_bound)
    refined_at_all = False
    for _ in range(2):
        tilt, weights = rng.normal(0, 10, p), added * np.array([1.0, 2.0])
        problem = Composite(loss, X, y, tilt[None], weights[None], scheme, strength, FREE)
        theta, _ = polished(problem, np.zeros((1, p)), 0.0)
        bend = float(np.exp(eta_bound)) if name == "poisson" else 1.0
        before = problem.known(theta, bend)[0]
        near, bound = refined(problem.of(0), theta[0], 1e-14)
        with mpmath.workdps(50):
            away = distance(name, eta_bound, rows, targets, counts, tilt, weights, scheme, strength, near)
            assert away <= bound / mpmath.mpf(float(convexity(scheme, strength)))
        assert bound <= 1e-9
        refined_at_all |= bound < 0.1 * before
    assert refined_at_all


def test_repeats_together_are_certified_as_each_alone(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (60, 2))
    y, tilt, added = np.where(X[:, 0] > 0, 1.0, -1.0), rng.normal(0, 3, (40, 2)), rng.uniform(0, 1, (40, 2))
    scheme, start = Scheme("lasso", 0.25, moor=False, halved=True), np.zeros((40, 2))
    problem = Composite(losses.make("logistic"), X, y, tilt, added, scheme, 0.5, FREE)
    # Sixteen at a time.
    monkeypatch.setattr(certify, "ENTRIES", 16 * 60)
    theta, known = certify.certified(problem, start, 1e-9, 0.25)
    assert (known <= 1e-9).all() and (theta != 0).any() and (start == 0).all()
    for repeat in range(40):
        alone, its = certify.certified(problem.of([repeat]), start[[repeat]], 1e-9, 0.25)
        np.testing.assert_allclose(theta[[repeat]], alone, rtol=0, atol=1e-12)
        assert known[repeat] == pytest.approx(its[0], abs=1e-12)


def test_the_bounds_are_the_same_bytes_on_any_number_of_threads():
    """Before, the products that look in doubles were left to as many threads as there were."""
    rng, n, p = np.random.default_rng(0), 4_096, 300
    X, y, free = rng.normal(size=(n, p)) / np.sqrt(p), rng.choice([-1.0, 1.0], n), np.full(p, np.inf)
    scheme = Scheme("lasso", 0.25, moor=False, halved=True)
    problem = Composite(losses.make("logistic"), X, y, np.zeros((8, p)), 0.0, scheme, 2.0, (-free, free))
    for theta in rng.normal(size=(5, 8, p)):
        found = []
        for threads in (1, 2):
            with threadpool_limits(threads, "blas"):
                found.append(certified(problem, theta, 1e9, 0.25)[1].tobytes())
        assert found[0] == found[1]


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="no longer numbers here to hold doubles against")
@pytest.mark.parametrize("n", [1, 300, 5_000])
@pytest.mark.parametrize("name", ["squared", "logistic", "poisson", "smoothed_hinge"])
def test_both_looks_are_above_the_true_norm_where_doubles_see_none(name, n):
    """The tilt takes away what sums in doubles find, so that all that is left is what they round."""
    rng, p, scheme = np.random.default_rng(n), 20, Scheme("lasso", 0.25, moor=False, halved=True)
    loss, bend = losses.make(name, 2.0), {"logistic": 0.25, "poisson": float(np.exp(2.0))}.get(name, 1.0)
    X, box = rng.normal(size=(n, p)) / np.sqrt(p), (np.full(p, -np.inf), np.full(p, np.inf))
    y = rng.choice([-1.0, 1.0], n) if loss.targets == "binary" else rng.uniform(0, 2, n)
    rows, shares = X.astype(np.longdouble), []
    for point in rng.normal(size=(20, 1, p)):
        whole = Composite(loss, X, y, np.zeros((1, p)), 0.0, scheme, 2.0, box)
        problem = Composite(loss, X, y, -whole.residual(point), 0.0, scheme, 2.0, box)
        slopes = loss.derivative((rows * point).sum(axis=1), y.astype(np.longdouble))
        own = np.sign(point) * 2 * (1 + np.longdouble(0.25) * np.abs(point))
        true = np.linalg.norm(((slopes[:, None] * rows).sum(axis=0) + own + problem.tilt).astype(float))
        at_once, longer = (problem.known(point, bend, aim)[0] for aim in (1.0, 0.0))
        assert true <= longer < at_once <= (n + 10) * 1e-12
        shares.append(np.linalg.norm(problem.residual(point)) / true)
    assert min(shares) < 0.5


@pytest.mark.parametrize("n", [3_000, 30_000])
@pytest.mark.parametrize("loss", ["squared", "poisson"])
@pytest.mark.parametrize(
    "given",
    [
        *({"penalty": "bridge", "gamma": gamma} for gamma in (0.1, 0.5, 0.99)),
        {"penalty": "bridge", "gamma": 0.5, "variant": "vs_plus"},
        {"penalty": "bridge", "gamma": 0.5, "variant": "vs_plus", "calibration": "paper"},
        {"penalty": "lasso", "variant": "vs_plus", "calibration": "paper"},
        {"penalty": "bridge", "gamma": 0.5, "moor": True, "calibration": "paper"},
        {"penalty": "elastic_net", "kappa": 0.1, "moor": True, "calibration": "paper"},
    ],
    ids=lambda given: " ".join(map(str, given.values())),
)
@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
def test_thousands_of_equal_rows_do_not_keep_a_bridge_from_its_target(given, loss, n):
    """Before, bridges were a SolverError from 3,000 records on."""
    model = dperm.NAPP(
        loss=loss, epsilon=8.0, y_bound=0.5, eta_bound=0.25, strength=0.1, clip=True, random_state=0, **given
    ).fit(np.ones((n, 2)), np.zeros(n))
    assert model.privacy_.total
