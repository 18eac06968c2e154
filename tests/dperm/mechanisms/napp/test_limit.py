"""Fixed points and reweighting of NAPP-ERM, against cvxpy, SciPy and a transcription of the printed steps."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
import together
from scipy import optimize
from threadpoolctl import threadpool_limits

from dperm.errors import DataError, DomainViolation
from dperm.mechanisms.napp.limit import path, problems, reweighted
from dperm.mechanisms.napp.scheme import Scheme, penalty, weights
from dperm.solvers import pointwise

LOSSES = tuple(pointwise.LOSSES)
N, P, SETS = 60, 5, 2
STRENGTHS = np.array([6.0, 2.0, 0.3])
MOOR, SUM = Scheme("lasso", 1.5, True), Scheme("lasso", 1.5, False)
SCHEMES = {
    "moor": MOOR,
    "sum": SUM,
    "halved": Scheme("lasso", 1.5, True, halved=True),
    "ridge": Scheme("ridge", 1.5, True),
    "elastic_net": Scheme("elastic_net", 0.4, True, kappa=0.5),
    "elastic_net_sum": Scheme("elastic_net", 0.4, False, kappa=0.5),
    "bridge_1": Scheme("bridge", 1.5, True, gamma=1.0),
    "bridge_0": Scheme("bridge", 1.5, False, gamma=0.0),
}


def data(loss, sets=SETS, n=N, p=P, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (sets, n, p))
    eta = X @ np.where(np.arange(p) % 2, 1.5, 0.0)
    if loss == "squared":
        return X, eta + 0.3 * rng.normal(size=eta.shape)
    if loss == "poisson":
        return X, rng.poisson(np.exp(eta)).astype(float)
    return X, np.where(rng.random(eta.shape) < 1 / (1 + np.exp(-eta)), 1.0, -1.0)


def noise(repeats=SETS, p=P, scale=4.0, seed=1):
    return np.random.default_rng(seed).normal(0, scale, (repeats, p))


def losses_at(loss, eta, y, bound):
    """The sum over records, by NumPy and from the definitions."""
    inside = np.clip(eta, -bound, bound)
    own = {
        "squared": lambda e: ((y - e) ** 2 / 2, e - y),
        "poisson": lambda e: (np.exp(e) - y * e, np.exp(e) - y),
        "logistic": lambda e: (np.logaddexp(0, -y * e), -y / (1 + np.exp(y * e))),
        "smoothed_hinge": lambda e: (
            np.where(y * e > 1, 0, np.where(y * e > 0, (1 - y * e) ** 2 / 2, 0.5 - y * e)),
            -y * np.clip(1 - y * e, 0, 1),
        ),
    }[loss]
    value, slope = own(inside)
    step = np.where(eta == inside, 0.0, eta - inside)
    return (value + slope * step).sum()


def objective(loss, X, y, theta, scheme, strength, *, tilt=0.0, l1=0.0, bound=np.inf):
    own = losses_at(loss, X @ theta, y, bound) + np.sum(tilt * theta) + np.sum(l1 * np.abs(theta))
    return own + penalty(scheme, strength, theta).sum()


def optimum(loss, X, y, scheme, strength, *, tilt=0.0, l1=0.0, bound=np.inf, box=None):
    """The minimiser and the minimum by cvxpy; the loss continued beyond the bound is an infimal convolution."""
    theta = cp.Variable(P)
    eta, extra, limits = X @ theta, 0, []
    if bound < np.inf:
        inside, up, down = cp.Variable(len(y)), cp.Variable(len(y), nonneg=True), cp.Variable(len(y), nonneg=True)
        limits = [eta == inside + up - down, cp.abs(inside) <= bound]
        slope = {
            "squared": lambda e: e - y,
            "poisson": lambda e: np.exp(e) - y,
            "logistic": lambda e: -y / (1 + np.exp(y * e)),
            "smoothed_hinge": lambda e: -y * np.clip(1 - y * e, 0, 1),
        }[loss]
        eta, extra = inside, slope(bound) @ up - slope(-bound) @ down
    risk = {
        "squared": lambda: cp.sum_squares(y - eta) / 2,
        "poisson": lambda: cp.sum(cp.exp(eta)) - y @ eta,
        "logistic": lambda: cp.sum(cp.logistic(-cp.multiply(y, eta))),
        "smoothed_hinge": lambda: cp.sum(cp.huber(cp.pos(1 - cp.multiply(y, eta)), 1)) / 2,
    }[loss]()
    floor, size = scheme.floor, cp.abs(theta)
    share = 0.5 if scheme.halved else 1.0
    if scheme.target == "ridge":
        own = max(strength, floor) * cp.sum_squares(theta)
    elif scheme.gamma == 0:
        own = (strength + floor) * cp.sum_squares(theta)
    elif not scheme.moor:
        own = 2 * share * strength * cp.sum(size) + (strength * scheme.kappa + floor) * cp.sum_squares(theta)
    else:
        # Beyond the knee the slope 2 max(Lambda + Lambda kappa u, Lambda0 u) grows by 2 (Lambda0 - Lambda kappa) more.
        own = 2 * share * strength * cp.sum(size) + strength * scheme.kappa * cp.sum_squares(theta)
        room = floor - strength * scheme.kappa
        if room > 0:
            own += room * cp.sum_squares(cp.pos(size - share * strength / room))
    linear = np.broadcast_to(tilt, P) @ theta + np.broadcast_to(l1, P) @ size
    if box is not None:
        limits += [theta >= box[0], theta <= box[1]]
    problem = cp.Problem(cp.Minimize(risk + extra + own + linear), limits)
    problem.solve(solver="CLARABEL")
    return theta.value, problem.value


def agrees(loss, scheme, variant, *, bound=np.inf, box=None, extra=0.0):
    X, y = data(loss)
    b = np.abs(noise()) if variant == "vs_plus" else noise()
    own = problems(loss, X, y, bound)
    found = path(own, b, scheme, STRENGTHS, variant=variant, extra_l1=extra, box=box, tolerance=1e-10)
    assert found.converged.all()
    for r in range(SETS):
        for s, strength in enumerate(STRENGTHS):
            terms = {"l1": b[r] + extra} if variant == "vs_plus" else {"tilt": b[r], "l1": extra}
            theta, value = optimum(loss, X[r], y[r], scheme, strength, **terms, bound=bound, box=box)
            ours = objective(loss, X[r], y[r], found.theta[r, s], scheme, strength, **terms, bound=bound)
            assert ours <= value + 1e-6 * abs(value)
            assert np.allclose(found.theta[r, s], theta, atol=2e-3)
            if box is not None:
                assert ((box[0] <= found.theta) & (found.theta <= box[1])).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("variant", ["erm", "vs_plus"])
@pytest.mark.parametrize("moor", [MOOR, SUM], ids=["moor", "sum"])
def test_fixed_points_are_the_minimisers(loss, variant, moor):
    agrees(loss, moor, variant)


@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme(name):
    agrees("logistic", SCHEMES[name], "erm")
    agrees("squared", SCHEMES[name], "vs_plus")


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("loss", LOSSES)
def test_in_a_box_with_a_bound_on_eta_and_more_l1(loss):
    agrees(loss, MOOR, "erm", box=(0.0, 1.0), extra=1.0)
    agrees(loss, SUM, "vs_plus", box=(np.linspace(-1, 0.1, P), 0.5))
    agrees(loss, MOOR, "erm", bound=1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_bounds_the_excess_far_from_the_minimiser(loss):
    X, y = data(loss)
    own, b = problems(loss, X, y), noise()
    rough = path(own, b, MOOR, STRENGTHS, variant="erm", tolerance=0.9)
    exact = path(own, b, MOOR, STRENGTHS, variant="erm", tolerance=1e-11)
    for r, s in np.ndindex(rough.gap.shape):
        far, best = (
            objective(loss, X[r], y[r], found.theta[r, s], MOOR, STRENGTHS[s], tilt=b[r]) for found in (rough, exact)
        )
        assert far - best <= rough.gap[r, s] * abs(far) + 1e-9
    assert rough.gap.max() > 1e-5 or loss == "squared"  # whose passes end at the minimum of a face
    assert (exact.gap <= 1e-11).all()


def by_hand(loss, X, y, b, scheme, strength, *, variant, steps):
    """The printed iteration: each step an unconstrained smooth problem with weights of theta^2."""
    theta = None
    for _ in range(steps):
        w = np.broadcast_to(weights(scheme, strength, theta), b.shape)
        tilt = b if theta is None or variant == "erm" else b * np.sign(theta)
        if loss == "squared":
            theta = np.linalg.solve(X.T @ X + 2 * np.diag(w), X.T @ y - tilt)
        else:

            def value(u, w=w, tilt=tilt):
                return losses_at(loss, X @ u, y, np.inf) + tilt @ u + w @ u**2

            # BFGS in coordinates where the weights are of one size.
            unit = 1 / np.sqrt(1 + w)
            found = optimize.minimize(lambda z, f=value, unit=unit: f(unit * z), np.zeros(len(b)), tol=1e-10)
            theta = unit * found.x
    return theta


@pytest.mark.parametrize("variant", ["erm", "vs", "vs_plus"])
@pytest.mark.parametrize(
    "loss, steps", [("squared", 1), ("squared", 2), ("squared", 9), ("logistic", 3), ("poisson", 3)]
)
def test_reweighting_is_the_printed_iteration(loss, steps, variant):
    X, y = data(loss)
    b = np.abs(noise()) if variant == "vs_plus" else noise()
    own = problems(loss, X, y)
    for scheme in (*SCHEMES.values(), Scheme("bridge", 1.5, True, gamma=1.5)) if loss == "squared" else (MOOR,):
        found = reweighted(own, b, scheme, STRENGTHS, variant=variant, steps=steps)
        assert found.converged.all()
        for r in range(SETS):
            for s, strength in enumerate(STRENGTHS):
                theta = by_hand(loss, X[r], y[r], b[r], scheme, strength, variant=variant, steps=steps)
                assert np.allclose(found.theta[r, s], theta, rtol=1e-4, atol=1e-4 if loss != "squared" else 1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_reweighting_goes_to_the_fixed_point(loss):
    X, y = data(loss)
    own, b = problems(loss, X, y), noise()
    for scheme in (MOOR, SUM, SCHEMES["elastic_net"], SCHEMES["halved"], SCHEMES["ridge"]):
        there = path(own, b, scheme, STRENGTHS, variant="erm", extra_l1=0.5, tolerance=1e-12)
        early, late = (
            reweighted(own, b, scheme, STRENGTHS, variant="erm", extra_l1=0.5, steps=steps) for steps in (20, 400)
        )
        early, late = (np.abs(found.theta - there.theta).max() for found in (early, late))
        assert late < 1e-4 or late < min(0.2 * early, 2e-2)  # slowly, where a zero is just one


def test_other_bridges_settle_at_stationary_points():
    X, y = data("squared")
    own, b, scheme = problems("squared", X, y), noise(), Scheme("bridge", 1.5, True, gamma=0.5)
    theta = reweighted(own, b, scheme, STRENGTHS, variant="erm", steps=2000).theta
    for r in range(SETS):
        for s, strength in enumerate(STRENGTHS):
            u = theta[r, s]
            left = X[r].T @ (X[r] @ u - y[r]) + b[r] + 2 * u * weights(scheme, strength, u)
            assert np.abs(left[np.abs(u) > 1e-3]).max(initial=0) < 1e-3
    with pytest.raises(ValueError, match="reweighted"):
        path(own, b, scheme, STRENGTHS, variant="erm")


@pytest.mark.parametrize("loss", LOSSES)
def test_signs_followed_end_no_higher_than_they_begin_and_at_a_point_of_rest(loss):
    X, y = data(loss)
    b = noise(scale=8.0)
    own = problems(loss, X, y)
    found = path(own, b, MOOR, STRENGTHS, variant="vs", tolerance=1e-12)
    start = reweighted(own, b, MOOR, STRENGTHS, variant="vs", steps=1)
    assert found.converged.all()
    assert (np.isin(np.sign(found.theta), (-1, 1)) & (b[:, None] < 0)).any()
    for r in range(SETS):
        for s, strength in enumerate(STRENGTHS):
            u = found.theta[r, s]

            def value(u, r=r, strength=strength):
                return objective(loss, X[r], y[r], u, MOOR, strength, l1=b[r])

            assert value(u) <= value(start.theta[r, s]) + 1e-8
            h, stretch = 1e-5, np.eye(P)
            for j in np.flatnonzero(u):  # stationary along each coordinate that is not 0
                slope = (value(u + h * stretch[j]) - value(u - h * stretch[j])) / (2 * h)
                assert abs(slope) < 2e-3
            for j in np.flatnonzero(u == 0):  # no descent where b_j > 0; else none on the side it came from
                sides = [value(u + h * side * stretch[j]) - value(u) for side in (-1, 1)]
                assert (min(sides) if b[r, j] > 0 else max(sides)) > -1e-9


def test_signs_followed_agree_with_the_printed_iteration_and_its_zero_rule():
    # Coordinates that flip for ever are 0 by the paper's rule; through X'X their flipping moves the others a little.
    rng, p, repeats = np.random.default_rng(2), 16, 30
    X = rng.uniform(-0.25, 0.25, (repeats, 500, p))
    truth = np.append(1 - 0.8 * np.arange(8) / 7, np.zeros(8))
    y = X @ truth + np.clip(0.25 * rng.normal(size=(repeats, 500)), -0.5, 0.5)
    strengths = np.geomspace(100, 0.05, 15)
    own, scheme = problems("squared", X, y), Scheme("lasso", 1.0, True)
    b = rng.normal(0, 2.9 * np.sqrt(2 * (0.5 + np.log(1e4))) / 0.5, (repeats, p))
    for variant, tilt in (("vs", b), ("vs_plus", np.abs(b))):
        settled = path(own, tilt, scheme, strengths, variant=variant)
        printed = reweighted(own, tilt, scheme, strengths, variant=variant, steps=80)
        chosen = (np.abs(printed.theta) >= 1e-3) & (printed.flips < 3)
        same = chosen == (settled.theta != 0)
        assert same.mean() > 0.95
        assert same[:, :7].mean() > 0.98
        signs = np.sign(printed.theta) == np.sign(settled.theta)
        assert signs[chosen & same].mean() > 0.98
    calm = reweighted(own, b, scheme, strengths, variant="erm", steps=80)
    assert calm.flips.mean() < 0.01 < 0.3 < printed.flips.mean()


def test_zeros_are_exact_and_do_not_depend_on_the_tolerance():
    for loss in LOSSES:
        X, y = data(loss, sets=20)
        own, b = problems(loss, X, y), noise(20, scale=3.0)
        coarse = path(own, b, SUM, STRENGTHS, variant="erm", tolerance=1e-6)
        fine = path(own, b, SUM, STRENGTHS, variant="erm", tolerance=1e-12)
        zeros = fine.theta == 0
        assert 0.1 < zeros.mean() < 0.9
        assert ((coarse.theta == 0) == zeros).mean() > 0.99
        assert fine.converged.all()


@pytest.mark.parametrize("loss", LOSSES)
def test_one_data_set_with_many_draws_is_many_copies_and_repeats_do_not_touch_each_other(loss):
    X, y = data(loss, sets=1)
    b = noise(4)
    for variant in ("erm", "vs", "vs_plus"):
        tilt = np.abs(b) if variant == "vs_plus" else b
        once = path(problems(loss, X[0], y[0]), tilt, MOOR, STRENGTHS, variant=variant)
        copies = path(problems(loss, np.repeat(X, 4, 0), np.repeat(y, 4, 0)), tilt, MOOR, STRENGTHS, variant=variant)
        alone = path(problems(loss, X, y), tilt[2:3], MOOR, STRENGTHS, variant=variant)
        levels = path(problems(loss, X, y), np.repeat(tilt[:, None], 3, 1), MOOR, STRENGTHS, variant=variant)
        with threadpool_limits(2):
            threads = path(problems(loss, X, y), tilt, MOOR, STRENGTHS, variant=variant)
        for other in (copies, levels, threads):
            assert once.theta.tobytes() == other.theta.tobytes()
            assert once.gap.tobytes() == other.gap.tobytes()
        assert once.theta[2:3].tobytes() == alone.theta.tobytes()
        early, late = (
            reweighted(problems(loss, own_X, own_y), tilt, MOOR, STRENGTHS, variant=variant, steps=5)
            for own_X, own_y in ((X, y), (np.repeat(X, 4, 0), np.repeat(y, 4, 0)))
        )
        assert early.theta.tobytes() == late.theta.tobytes()


@pytest.mark.parametrize("loss", ["logistic", "poisson", "smoothed_hinge"])
def test_data_kept_by_rows_give_the_same_fits(loss):
    rng = np.random.default_rng(7)
    X = np.zeros((300, 40))
    X[:, 0], X[:, 1] = 1, rng.uniform(-1, 1, 300)
    X[np.arange(300), rng.integers(2, 20, 300)] = X[np.arange(300), rng.integers(20, 40, 300)] = 1.0
    y = rng.poisson(1.0, 300) * 1.0 if loss == "poisson" else rng.choice([-1.0, 1.0], 300)
    own = problems(loss, X, y)
    assert len(own.rows[2]) == np.count_nonzero(X)
    empty = tuple(part[:0] for part in own.rows)
    for variant in ("erm", "vs"):
        sparse, dense = (
            path(which, noise(3, 40, 2.0), MOOR, STRENGTHS, variant=variant, tolerance=1e-12)
            for which in (own, replace(own, rows=empty))
        )
        assert sparse.converged.all() and dense.converged.all()
        assert np.allclose(sparse.theta, dense.theta, atol=1e-5)


def test_floors_replace_the_schemes_and_0_leaves_the_target_alone():
    X, y = data("logistic")
    own, b = problems("logistic", X, y), noise()
    floors = np.array([[0.5, 3.0, 1.0], [2.0, 0.1, 0.7]])
    found = path(own, b, MOOR, STRENGTHS, variant="erm", floors=floors, tolerance=1e-12)
    for r in range(SETS):
        for s in range(3):
            single = path(
                problems("logistic", X[r], y[r]), b[r : r + 1], replace(MOOR, floor=floors[r, s]), STRENGTHS[s : s + 1],
                variant="erm", tolerance=1e-12,
            )  # fmt: skip
            assert np.allclose(single.theta[0, 0], found.theta[r, s], atol=1e-5)
    for loss in LOSSES:
        X, y = data(loss)
        plain = path(problems(loss, X, y), 0 * b, MOOR, STRENGTHS, variant="erm", floors=np.zeros((SETS, 3)))
        assert plain.converged.all()
        for s, strength in enumerate(STRENGTHS):
            theta, _ = optimum(loss, X[0], y[0], Scheme("lasso", 1e-12, False), strength)
            assert np.allclose(plain.theta[0, s], theta, atol=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_without_records_the_noise_alone_decides(loss):
    b = np.array([[3.0, -1.0]])
    found = path(problems(loss, np.empty((0, 2)), np.empty(0)), b, SUM, [1.0], variant="erm", tolerance=1e-9)
    assert found.converged.all()
    # 2 (Lambda sgn + Lambda0 theta) = -b where |b_j| > 2 Lambda.
    assert found.theta[0, 0] == pytest.approx([-(3.0 - 2.0) / (2 * SUM.floor), 0.0])


def test_a_perfect_fit_is_a_minimum_of_0():
    found = path(problems("squared", np.ones((3, 2)), np.zeros(3)), np.zeros((1, 2)), MOOR, [1.0], variant="erm")
    assert found.gap == 0 and (found.theta == 0).all() and found.converged.all()


@together.over(
    "change, match",
    [
        ({"variant": "vs+"}, "variant"),
        ({"noise": noise(3)}, "noise has shape"),
        ({"noise": noise(SETS, 4)}, "noise has shape"),
        ({"noise": np.full((SETS, P), np.nan)}, "not finite"),
        ({"variant": "vs_plus"}, "absolute values"),
        ({"strengths": [-1.0]}, "strengths"),
        ({"extra_l1": -1.0}, "extra_l1"),
        ({"floors": np.full((SETS, 3), -1.0)}, "floors"),
        ({"floors": np.ones((3, 3))}, "floors"),
        ({"box": (1.0, 0.0)}, "box"),
        ({"tolerance": 0.0}, "tolerance"),
    ],
)
def test_what_path_refuses(change, match):
    own = problems("squared", *data("squared"))
    with pytest.raises(ValueError, match=match):
        path(own, scheme=MOOR, **({"noise": noise(), "strengths": STRENGTHS, "variant": "erm"} | change))


@together.over(
    "loss, X, y, bound, error, match",
    [
        ("huber", np.ones((2, 1)), np.ones(2), np.inf, ValueError, "huber"),
        ("squared", np.ones((2, 1)), np.ones(2), 0.0, ValueError, "eta_bound"),
        ("squared", np.ones((2, 1)), np.ones(3), np.inf, DataError, "shape"),
        ("squared", np.full((2, 1), np.nan), np.ones(2), np.inf, DataError, "finite"),
        ("logistic", np.ones((2, 1)), np.zeros(2), np.inf, DomainViolation, "-1 and [+]1"),
        ("poisson", np.ones((2, 1)), np.full(2, -0.5), np.inf, DomainViolation, "counts"),
    ],
)
def test_what_problems_refuses(loss, X, y, bound, error, match):
    with pytest.raises(error, match=match):
        problems(loss, X, y, bound)
