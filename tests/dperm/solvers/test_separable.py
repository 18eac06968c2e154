"""Kernels of separable penalties and losses, against brute force, quadrature, NumPy's exponential and cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import integrate

from dperm.mechanisms.napp import limit
from dperm.mechanisms.napp.scheme import Scheme
from dperm.solvers import berhu, pointwise
from dperm.solvers.blas import one_thread

CASES = 60


def coefficients(rng):
    """Return v, a, c, d, some of them 0."""
    return rng.exponential(size=4) * (rng.random(4) < 0.7)


def bounds(rng):
    low, high = np.sort(rng.normal(0, 2, 2))
    return (low if rng.random() < 0.6 else -np.inf), (high if rng.random() < 0.6 else np.inf)


@pytest.mark.parametrize("seed", range(5))
def test_the_penalty_is_the_integral_of_its_slope(seed):
    rng = np.random.default_rng(seed)
    v, a, c, d = coefficients(rng)
    u = rng.normal(0, 3)
    expected = v * abs(u) + integrate.quad(lambda t: max(a + c * t, d * t), 0, abs(u), limit=200)[0]
    assert berhu.penalty(u, v, a, c, d) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_the_minimiser_beats_a_fine_grid():
    rng = np.random.default_rng(0)
    for _ in range(CASES):
        v, a, c, d = coefficients(rng)
        low, high = bounds(rng)
        h, q = 0.3 + rng.exponential(), rng.normal(0, 3)
        found = berhu.argmin(h, q, v, a, c, d, low, high)
        assert low <= found <= high

        def value(u, h=h, q=q, own=(v, a, c, d)):
            return 0.5 * h * u * u - q * u + berhu.penalty(u, *own)

        grid = np.clip(np.append(np.linspace(-12, 12, 20_001), found + np.array([-1e-6, 1e-6])), low, high)
        assert value(found) <= min(value(u) for u in grid) + 1e-12


def test_without_a_minimiser_the_answer_is_infinite_or_a_bound():
    assert berhu.argmin(0.0, 2.0, 0.5, 1.0, 0.0, 0.0, -np.inf, np.inf) == np.inf
    assert berhu.argmin(0.0, -2.0, 0.5, 1.0, 0.0, 0.0, -3.0, np.inf) == -3.0
    assert berhu.argmin(0.0, 1.5, 0.5, 1.0, 0.0, 0.0, -np.inf, np.inf) == 0.0


def quadratic(rng, p):
    A = rng.normal(size=(2 * p, p))
    return A.T @ A, rng.normal(0, 10, p)


def berhu_in_cvxpy(theta, v, a, c, d):
    """P as cvxpy knows it: beyond the knee a/(d - c) the slope grows by d - c more."""
    u, total = cp.abs(theta), 0
    for j in range(theta.size):
        total += (v[j] + a[j]) * u[j] + c[j] / 2 * cp.square(theta[j])
        if d[j] > c[j]:
            total += (d[j] - c[j]) / 2 * cp.square(cp.pos(u[j] - a[j] / (d[j] - c[j])))
    return total


@pytest.mark.parametrize("seed", range(6))
def test_descent_finds_the_minimiser_and_the_gap_bounds_the_excess(seed):
    rng, p = np.random.default_rng(seed), 6
    H, q = quadratic(rng, p)
    v, a, c, d = (4 * rng.exponential(size=p) * (rng.random(p) < 0.7) for _ in range(4))
    d += 0.05  # P is to grow faster than linearly: else the gap is infinite away from the minimiser
    low, high = np.full(p, -1.0 if seed % 2 else -np.inf), np.full(p, 0.5 if seed % 3 else np.inf)
    theta = cp.Variable(p)
    quadratic_part = cp.quad_form(theta, cp.psd_wrap(H)) / 2 - q @ theta
    limits = [theta[j] >= low[j] for j in range(p) if low[j] > -np.inf]
    limits += [theta[j] <= high[j] for j in range(p) if high[j] < np.inf]
    problem = cp.Problem(cp.Minimize(quadratic_part + berhu_in_cvxpy(theta, v, a, c, d)), limits)
    optimum = problem.solve(solver="CLARABEL")

    def value(u):
        return 0.5 * u @ H @ u - q @ u + berhu.penalties(u, v, a, c, d)

    for _ in range(20):  # any point of the box, not the last ones of a descent alone
        point = np.clip(rng.normal(0, 2, p), low, high)
        own = berhu.gap(point, H @ point - q, v, a, c, d, low, high)
        assert value(point) - optimum <= own + 1e-6
        # A cut of the box at the level set keeps the minimiser; the bottom of <H u, u>/2 is 0, the tilt -q.
        least, most = np.empty(p), np.empty(p)
        berhu.level_box(value(point), -q, v, a, low, high, least, most)
        assert (least <= theta.value + 1e-6).all() and (theta.value <= most + 1e-6).all()
        assert value(point) - optimum <= berhu.gap(point, H @ point - q, v, a, c, d, least, most) + 1e-6
    found, g = np.clip(np.zeros(p), low, high), H @ np.clip(np.zeros(p), low, high) - q
    berhu.descend(H, v, a, c, d, low, high, 1e-12, 10_000, False, found, g)
    assert np.allclose(g, H @ found - q, atol=1e-9)
    assert berhu.gap(found, g, v, a, c, d, low, high) <= 1e-11
    assert value(found) <= optimum + 1e-6
    assert np.allclose(found, theta.value, atol=1e-3)


def test_the_level_set_makes_the_gap_of_a_lasso_finite_and_keeps_it_valid():
    rng, p = np.random.default_rng(3), 4
    H, q = quadratic(rng, p)
    v, zero, a, point = np.zeros(p), np.zeros(p), np.abs(q) + 1, rng.normal(size=p)
    free = np.full(p, np.inf)
    value = 0.5 * point @ H @ point - q @ point + (a * np.abs(point)).sum()  # the minimum is 0, at 0
    least, most = np.empty(p), np.empty(p)
    berhu.level_box(value, -q, v, a, -free, free, least, most)
    assert berhu.gap(point, H @ point - q, v, a, zero, zero, -free, free) == np.inf
    assert value <= berhu.gap(point, H @ point - q, v, a, zero, zero, least, most) < np.inf
    berhu.level_box(value, 2 * a, v, a, -free, free, least, most)  # the tilt wins: nothing is known
    assert np.isinf(least).all() and np.isinf(most).all()


def test_an_ill_conditioned_quadratic_is_solved_by_steps_on_its_faces():
    rng, p = np.random.default_rng(4), 30
    basis, _ = np.linalg.qr(rng.normal(size=(p, p)))
    H, q, ones = basis @ np.diag(10.0 ** np.linspace(-3, 3, p)) @ basis.T, rng.normal(size=p), np.ones(p)
    penalty = 0 * ones, 0.1 * ones, 0 * ones, 1e-3 * ones, -np.inf * ones, np.inf * ones
    theta, g = np.zeros(p), -q
    passes = berhu.descend(H, *penalty, 1e-8, 10_000, False, theta, g)
    assert passes < 1000  # descent alone would need about a million
    assert berhu.gap(theta, H @ theta - q, *penalty) < 1e-7


def test_settled_descent_ends_at_the_minimum_whatever_gap_is_asked_for():
    """With bends of P where the first step on a face crosses them: a gap of 1e-3 alone leaves the root of it."""
    rng, p, ones = np.random.default_rng(7), 16, np.ones(16)
    wide, left = (-np.inf * ones, np.inf * ones), {True: 0.0, False: 0.0}
    for _ in range(300):
        H, q = quadratic(rng, p)
        a, d = rng.uniform(0, 10) * ones, rng.uniform(0, 30) * ones
        least, most = wide if rng.random() < 0.5 else (0 * ones, 0.3 * ones)
        for settle in left:
            theta, g = np.zeros(p), -q
            berhu.descend(H, 0 * ones, a, 0 * ones, d, least, most, 1e-3, 10_000, settle, theta, g)
            there = [berhu.argmin(H[j, j], H[j, j] * theta[j] - (H[j] @ theta - q[j]), 0.0, a[j], 0.0, d[j], least[j],
                                  most[j]) for j in range(p)]  # fmt: skip
            left[settle] = max(left[settle], np.abs(there - theta).max())
    assert left[True] < 1e-13 and left[False] > 1e-6


def test_the_exponential_is_within_two_units_in_the_last_place():
    rng = np.random.default_rng(5)
    u = np.concatenate([rng.uniform(-708, 709, 5000), rng.normal(0, 1e-3, 1000), [0.0, -0.0, 1.0, 709.0, -708.0]])
    out = np.empty(len(u))
    pointwise.exponential(u, out, np.empty(len(u)))
    assert (np.abs(out - np.exp(u)) <= 2 * np.spacing(np.exp(u))).all()
    pointwise.exponential(np.array([-1e9, 1e9]), out[:2], np.empty(2))
    assert out[:2] == pytest.approx([np.exp(-708), np.exp(709)], rel=1e-15)


def reference(loss, eta, y):
    """l, l' and l'' by NumPy, from the definitions."""
    t = 1 - y * eta
    return {
        "squared": lambda: ((y - eta) ** 2 / 2, eta - y, np.ones_like(eta)),
        "poisson": lambda: (np.exp(eta) - y * eta, np.exp(eta) - y, np.exp(eta)),
        "logistic": lambda: (
            np.logaddexp(0, -y * eta),
            -y / (1 + np.exp(y * eta)),
            1 / (2 + np.exp(eta) + np.exp(-eta)),
        ),
        "smoothed_hinge": lambda: (
            np.where(t < 0, 0, np.where(t < 1, t**2 / 2, t - 0.5)),
            -y * np.clip(t, 0, 1),
            ((t > 0) & (t < 1)).astype(float),
        ),
    }[loss]()


@pytest.mark.parametrize("bound", [np.inf, 1.5])
@pytest.mark.parametrize("loss", pointwise.LOSSES)
def test_losses_and_their_linear_continuation(loss, bound):
    rng = np.random.default_rng(6)
    for n in (1, 63, 64, 130, 1000):
        eta = rng.normal(0, 3, n)
        y = {"squared": rng.normal(0, 2, n), "poisson": rng.poisson(3, n) * 1.0}.get(loss, rng.choice([-1.0, 1.0], n))
        inside = np.clip(eta, -bound, bound)
        value, slope, second = reference(loss, inside, y)
        got = np.empty(n), np.empty(n)
        with one_thread():
            total = pointwise.evaluate(pointwise.LOSSES[loss], bound, eta, y, *got, np.empty((4, n)))
        assert total == pytest.approx((value + slope * (eta - inside)).sum(), rel=1e-12)
        assert np.allclose(got[0], slope, rtol=1e-12, atol=1e-14)
        assert np.allclose(got[1], np.where(inside == eta, second, 0), rtol=1e-12, atol=1e-14)


def test_many_records_do_not_overflow_the_product_of_the_logistic_loss():
    n = 200_003
    zeros = np.zeros(n)
    total = pointwise.evaluate(1, np.inf, zeros, np.ones(n), np.empty(n), np.empty(n), np.empty((4, n)))
    assert total == pytest.approx(n * np.log(2), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_curved_gap_bounds_the_excess_and_is_finite_where_the_penalty_grows_but_linearly(seed):
    rng, p = np.random.default_rng(seed), 6
    H, q = quadratic(rng, p)
    v, a, c, d = (4 * rng.exponential(size=p) * (rng.random(p) < 0.7) for _ in range(4))
    c[:3] = d[:3] = 0.0
    box = np.full(p, -1.0 if seed % 2 else -np.inf), np.full(p, np.inf)
    best, g = np.clip(np.zeros(p), *box), H @ np.clip(np.zeros(p), *box) - q
    berhu.descend(H, v, a, c, d, *box, 1e-14, 10_000, False, best, g)

    exact = berhu.penalty.py_func

    def excess(u):
        """In extended precision, and relative to the point of descent: cancellation leaves enough."""
        u, at = u.astype(np.longdouble), best.astype(np.longdouble)
        outer = (exact(u[j], v[j], a[j], c[j], d[j]) - exact(at[j], v[j], a[j], c[j], d[j]) for j in range(p))
        return (u - at) @ (0.5 * H @ (u + at) - q) + sum(outer)

    mu = np.linalg.eigvalsh(H)[0]
    for size in 10.0 ** np.arange(-7, 1):
        point = np.clip(best + size * rng.normal(size=p), *box)
        own = berhu.curved_gap(point, H @ point - q, v, a, c, d, *box, 0.999 * mu)
        assert excess(point) <= own < np.inf
    assert berhu.curved_gap(best, g, v, a, c, d, *box, 0.999 * mu) < 1e-11
    # More curvature than there is would promise too much at some point.
    broken = [np.clip(best + rng.normal(size=p), *box) for _ in range(50)]
    assert any(excess(u) > berhu.curved_gap(u, H @ u - q, v, a, c, d, *box, 40 * np.trace(H)) for u in broken)


@pytest.mark.parametrize("seed", range(4))
def test_rounding_does_not_keep_a_fit_from_its_target(seed):
    """A lasso in a wide box, where losses, noise and penalty cancel: Fenchel's gap is above the target by rounding."""
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(-0.5, 0.5, (200, 6)), np.where(rng.random(200) < 0.5, 1.0, -1.0)
    b, held = rng.normal(size=6), limit.problems("logistic", X, y)
    fixed = {"variant": "erm", "box": (-100.0, 100.0), "tolerance": 1e-9, "floors": np.zeros((1, 1))}

    def fit(size):
        found = limit.path(held, size * b[None], Scheme("lasso", 1.0, moor=False), np.array([2.0]), **fixed)
        theta = found.theta[0, 0].astype(np.longdouble)
        return found, theta, _lasso(theta, X, y, size * b, 4.0)[0]

    low, high = 0.0, 100.0
    for _ in range(20):
        size = (low + high) / 2
        low, high = (size, high) if fit(size)[2] > 0 else (low, size)
    found, theta, value = fit(low)
    assert 0 < value < 0.1 and found.converged.all()
    free = np.flatnonzero((theta != 0) & (np.abs(theta) < 100))
    better = theta.copy()
    for _ in range(4):
        margin = X @ better
        H = (X[:, free].T / ((1 + np.exp(margin)) * (1 + np.exp(-margin)))) @ X[:, free]
        step = np.linalg.solve(H.astype(float), _lasso(better, X, y, low * b, 4.0)[1][free].astype(float))
        better[free] -= step
    assert np.abs(step).max() < 1e-12
    assert value - _lasso(better, X, y, low * b, 4.0)[0] <= found.gap[0, 0] * value


@pytest.mark.parametrize("seed", range(4))
def test_a_fit_is_polished_where_losses_and_penalty_cancel(seed):
    """Then rounding in F is large beside F: a line search that weighs it by F shortens the last steps by luck."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (500, 6))
    y = rng.poisson(np.exp(X @ np.full(6, 0.5))).astype(float)
    held, b, ridge = limit.problems("poisson", X, y), rng.normal(0, 5, 6), Scheme("ridge", 1e-3, True)

    def fit(strength):
        found = limit.path(held, b[None], ridge, np.array([strength]), variant="erm", tolerance=1e-10).theta[0, 0]
        eta = X @ found
        return found, np.exp(eta).sum() - y @ eta + b @ found + strength * found @ found

    low, high = 1e-3, 1e6
    assert fit(low)[1] < -100 and fit(high)[1] > 100
    worst = 0.0
    for _ in range(40):
        strength = (low + high) / 2
        theta, value = fit(strength)
        low, high = (strength, high) if value < 0 else (low, strength)
        second = np.exp(X @ theta)
        step = np.linalg.solve(
            (X.T * second) @ X + 2 * strength * np.eye(6), X.T @ (second - y) + b + 2 * strength * theta
        )
        worst = max(worst, np.abs(step).max())
    assert abs(value) < 1e-6 and worst < 1e-12


def _lasso(theta, X, y, b, weight):
    """Value and gradient of the smooth side at theta, in extended precision."""
    margin = y * (X @ theta)
    value = np.logaddexp(np.longdouble(0), -margin).sum() + b @ theta + weight * np.abs(theta).sum()
    return value, X.T @ (-y / (1 + np.exp(margin))) + b + weight * np.sign(theta)
