r"""The theorems of docs/privacy.md against the mechanism's own laws, by quadrature over theta.

The exact minimiser theta of J_D + <b, .> is <= t (p = 1) iff -b <= grad J_D(t), so its distribution function is
Phi(grad J_D(t)/sigma): no solver, no sampling. For any partition of the line, sum_cells (P - e^epsilon P')_+ is a lower
bound of the smallest true delta of the pair, and converges to it from below: exceeding a bound refutes the bound.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import together
from scipy import special

from dperm import losses
from dperm.accounting import gaussian, objective
from dperm.domain import Domain

pytestmark = pytest.mark.slow

UNIT = Domain(x_norm=1.0)
HUBER, LOGISTIC = losses.make("huber", knee=1.0), losses.make("logistic")
HINGE = losses.make("smoothed_hinge", width=0.2)
FAR = 1e6  # A target so far off that Huber's l' is -knee and l'' is 0 wherever theta may be


@dataclass(frozen=True)
class Design:
    """A neighbouring pair, and the mechanism's public constants; rows have norm at most 1."""

    loss: losses.Loss
    first: list
    second: list
    curvature: float
    epsilon: float

    @property
    def log_det(self):
        return math.log1p(self.loss.curvature_bound(UNIT) / self.curvature)


def gradient(loss, records, curvature, theta):
    """grad J_D at theta, shape (..., p)."""
    out = curvature * theta
    for x, y in records:
        out = out + loss.derivative(theta @ x, y)[..., None] * x
    return out


def log_det_hessian(loss, records, curvature, theta):
    """log det of the Hessian of J_D at theta, for p = 1 or 2."""
    # Its entries [0, 0], and [1, 1] and [0, 1] in the plane.
    places = [(0, 0)] if theta.shape[-1] == 1 else [(0, 0), (1, 1), (0, 1)]
    entries = [curvature * (i == j) for i, j in places]
    for x, y in records:
        second = loss.second(theta @ x, y)
        entries = [entry + second * (x[i] * x[j]) for entry, (i, j) in zip(entries, places, strict=True)]
    det = entries[0] if len(entries) == 1 else entries[0] * entries[1] - entries[2] ** 2
    return np.broadcast_to(np.log(det), theta.shape[:-1])


def cells(edges):
    """Standard normal probabilities between increasing edges, each with its full relative accuracy."""
    return np.where(edges[:-1] > 0, -np.diff(special.ndtr(-edges)), np.diff(special.ndtr(edges)))


def line_deltas(design, sigma, points=6001):
    """Both directions' delta in p = 1: (first against second, second against first)."""
    zeta = design.loss.gradient_bound(UNIT)
    reach = (12 * sigma + max(len(design.first), len(design.second)) * zeta) / design.curvature
    theta = np.linspace(-reach, reach, points)

    def edges(theta, records):
        return gradient(design.loss, records, design.curvature, theta[:, None])[:, 0] / sigma

    # Even in theta and even in either noise: no steep stretch is left coarse.
    z = np.linspace(-12, 12, points)
    theta = np.unique(
        np.concatenate(
            [theta, *(np.interp(z, edges(theta, records), theta) for records in (design.first, design.second))]
        )
    )
    first, second = cells(edges(theta, design.first)), cells(edges(theta, design.second))
    assert first.sum() == pytest.approx(1, abs=1e-12)
    assert second.sum() == pytest.approx(1, abs=1e-12)
    factor = math.exp(design.epsilon)
    return np.maximum(first - factor * second, 0).sum(), np.maximum(second - factor * first, 0).sum()


def random_loss(rng):
    return [HUBER, LOGISTIC, HINGE, losses.make("huber", knee=0.3)][rng.integers(4)]


def random_record(rng, loss, p, norm=None):
    x = rng.standard_normal(p)
    x *= (rng.uniform(0.2, 1) if norm is None else norm) / np.linalg.norm(x)
    y = rng.choice([-1.0, 1.0]) if loss.targets == "binary" else rng.uniform(-3, 3) * 10 ** rng.uniform(-1, 1)
    return x, float(y)


def random_design(rng, *, neighbours, p=1, flattest=0.95, records=3):
    """Draw data, epsilon and a curvature that leaves e1 >= 0; the record that differs is as long as it may be."""
    loss = random_loss(rng)
    epsilon = float(rng.choice([0.1, 0.5, 1.0, 2.0, 5.0]))
    curvature = loss.curvature_bound(UNIT) / math.expm1(epsilon * rng.uniform(0.02, flattest))
    common = [random_record(rng, loss, p) for _ in range(rng.integers(records + 1))]
    first = [*common, random_record(rng, loss, p, norm=1.0)] if neighbours == "replace" else common
    return Design(loss, first, [*common, random_record(rng, loss, p, norm=1.0)], curvature, epsilon)


def calibrated_ratio(rng, design, neighbours, smallest=-6.0):
    delta = float(10 ** rng.uniform(smallest, -0.3))
    ratio = objective.objective_ratio(
        epsilon=design.epsilon,
        delta=delta,
        log_det=design.log_det,
        one_sided=design.loss.one_sided,
        neighbours=neighbours,
    )
    return delta, ratio


def check_line_designs(seed, count, neighbours):
    """Return the largest share of its bound that any design used."""
    rng = np.random.default_rng(seed)
    closest = 0.0
    for _ in range(count):
        design = random_design(rng, neighbours=neighbours)
        delta, a = calibrated_ratio(rng, design, neighbours)
        # The first data set lacks the record: first against second is the removing direction.
        removing, adding = line_deltas(design, design.loss.gradient_bound(UNIT) / a)
        if neighbours == "add_remove":
            bound = objective.add_remove_deltas(
                a, epsilon=design.epsilon, log_det=design.log_det, one_sided=design.loss.one_sided
            )
            # Sums of a few thousand rounded cells: 1e-12 is rounding, the smallest delta 1e-6.
            assert removing <= bound.removing * (1 + 1e-9) + 1e-12, design
            assert adding <= bound.adding * (1 + 1e-9) + 1e-12, design
        assert max(removing, adding) <= delta * (1 + 1e-9), design
        closest = max(closest, max(removing, adding) / delta)
    return closest


# p = 1, Gaussian b


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_no_line_design_exceeds_the_bound(neighbours):
    closest = check_line_designs(1, 300, neighbours)
    assert closest > 0.1  # the designs are hard enough to come near


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_no_line_design_exceeds_the_bound_in_a_thousand(neighbours):
    assert check_line_designs(2, 1000, neighbours) > 0.5


@together.over("epsilon, a", [(1.0, 0.3), (0.2, 0.2), (5.0, 1.0)])
def test_huber_attains_the_factor_two_of_the_removing_direction(epsilon, a):
    """One Huber record whose parabola ends before the tails begin: l' is -knee in one tail and +knee in the other."""
    begin = epsilon / a - a / 2
    design = Design(HUBER, [], [(np.ones(1), 0.0)], 0.9 * begin / a, epsilon)
    removing, _ = line_deltas(design, 1 / a)
    bound = objective.add_remove_deltas(a, epsilon=epsilon, log_det=design.log_det, one_sided=False).removing
    assert removing == pytest.approx(2 * gaussian.hockey_stick(epsilon, a), rel=1e-5)
    assert removing == pytest.approx(bound, rel=1e-5)


@together.over("epsilon, a, need", [(480.0, 30.0, 1.6), (70.0, 10.0, 1.3), (12.0, 4.0, 1.05)])
def test_the_maximum_in_the_any_sign_bound_is_needed(epsilon, a, need):
    """Here the true delta is above H_{e1}(a): with H instead of 2 H in the maximum the theorem would be false."""
    begin = epsilon / a - a / 2
    design = Design(HUBER, [], [(np.ones(1), 0.0)], begin / a, epsilon)
    removing, _ = line_deltas(design, 1 / a)
    one_term = gaussian.hockey_stick(epsilon - design.log_det, a)
    bound = objective.objective_delta(
        a, epsilon=epsilon, log_det=design.log_det, one_sided=False, neighbours="add_remove"
    )
    assert removing > need * one_term
    assert removing == pytest.approx(bound, rel=1e-6)


def test_sharper_removing_form_is_attained_below_half_a_squared():
    """epsilon < a^2/2 with a steep record: 1 - 2 e^epsilon Phi(-a), where 2 H would exceed it."""
    epsilon, a = 0.5, 3.0
    design = Design(HUBER, [], [(np.ones(1), 0.0)], 1e-4, epsilon)
    removing, _ = line_deltas(design, 1 / a, points=60_001)
    bound = 1 - 2 * math.exp(epsilon) * special.ndtr(-a)
    # e1 < 0 here, so only the removing direction has a bound.
    assert 0.999 * bound < removing <= bound < 2 * gaussian.hockey_stick(epsilon, a)


def test_adding_comes_near_its_bound_and_needs_the_log_determinant():
    """A hinge smoothed over a narrow band (one sign), and a Huber band far out in the tail (any sign)."""
    for loss, target, epsilon, ratio in ((HINGE, 1.0, 0.1, 0.4), (HUBER, -4.2, 0.1, 0.44)):
        curvature = 200 * loss.curvature_bound(UNIT)
        design = Design(loss, [], [(np.ones(1), target)], curvature, epsilon)
        _, adding = line_deltas(design, 1 / ratio)
        bound = objective.add_remove_deltas(
            ratio, epsilon=epsilon, log_det=design.log_det, one_sided=loss.one_sided
        ).adding
        assert 0.9 * bound < adding <= bound
    # The band lies where the tail begins: there l'' is lambda, and without the log-determinant the bound would fail.
    epsilon, a = 1.0, 0.1
    needs = []
    for target in np.linspace(-12, 12, 97):
        design = Design(HUBER, [], [(np.ones(1), float(target))], 1.0, epsilon)
        _, adding = line_deltas(design, 1 / a)
        assert adding <= gaussian.hockey_stick(epsilon - design.log_det, a)
        needs.append(adding / gaussian.hockey_stick(epsilon, a))
    assert max(needs) > 10


def test_printed_gaussian_noise_read_as_replace_one_is_refuted():
    """Erratum K3: Algorithm 1's constants at (1, 1e-6), curvature 2 lambda/epsilon, and two records that differ."""
    epsilon, delta = 1.0, 1e-6
    sigma = math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
    one = np.ones(1)
    design = Design(HUBER, [(one, -21.9)], [(one, FAR)], 2 / epsilon, epsilon)
    assert max(line_deltas(design, sigma)) > 1.4 * delta
    fixed = {"epsilon": epsilon, "log_det": design.log_det, "one_sided": False}
    assert objective.objective_delta(1 / sigma, neighbours="replace", **fixed) > delta
    tight = 1 / objective.objective_ratio(delta=delta, neighbours="replace", **fixed)
    assert max(line_deltas(design, tight)) <= delta


# p = 2, Gaussian b: the density nu(B(theta)) det H(theta) on a grid


def plane_deltas(design, sigma):
    """Both directions' delta in p = 2, on a grid fine enough that either law's mass is 1 within 0.2 %."""
    zeta = design.loss.gradient_bound(UNIT)
    reach = (8 * sigma + max(len(design.first), len(design.second)) * zeta) / design.curvature
    for points in (400, 800, 1600):
        axis = np.linspace(-reach, reach, points)
        theta = np.stack(np.meshgrid(axis, axis), axis=-1)
        area = (axis[1] - axis[0]) ** 2
        first, second = (
            area * plane_density(design, records, sigma, theta) for records in (design.first, design.second)
        )
        if max(abs(first.sum() - 1), abs(second.sum() - 1)) < 2e-3:
            factor = math.exp(design.epsilon)
            return np.maximum(first - factor * second, 0).sum(), np.maximum(second - factor * first, 0).sum()
    raise AssertionError(f"the grid is too coarse for {design}")


def plane_density(design, records, sigma, theta):
    tilt = gradient(design.loss, records, design.curvature, theta)
    log_det = log_det_hessian(design.loss, records, design.curvature, theta)
    return np.exp(log_det - np.sum(tilt**2, axis=-1) / (2 * sigma**2)) / (2 * math.pi * sigma**2)


def check_plane_designs(seed, count, neighbours):
    """Return the largest share of its bound that any design used, for each direction."""
    rng = np.random.default_rng(seed)
    closest = np.zeros(2)
    for _ in range(count):
        design = random_design(rng, neighbours=neighbours, p=2, flattest=0.35, records=2)
        delta, a = calibrated_ratio(rng, design, neighbours, smallest=-4)
        found = np.array(plane_deltas(design, design.loss.gradient_bound(UNIT) / a))
        allowed = np.full(2, delta)
        if neighbours == "add_remove":
            bound = objective.add_remove_deltas(
                a, epsilon=design.epsilon, log_det=design.log_det, one_sided=design.loss.one_sided
            )
            allowed = np.array([bound.removing, bound.adding])
            assert allowed.max() <= delta * (1 + 1e-9)
        # The grid's error of a delta, relative and absolute.
        assert (found <= allowed * 1.01 + 1e-8).all(), design
        assert found.max() <= delta * 1.01, design
        closest = np.maximum(closest, np.where(allowed > 1e-6, found / np.maximum(allowed, 1e-300), 0))
    return closest


def test_no_plane_design_exceeds_the_bound():
    """Two hundred designs, each direction against its own bound; both come near enough to tell a wrong one."""
    assert (check_plane_designs(4, 200, "add_remove") > 0.5).all()


def test_no_plane_design_exceeds_the_bound_with_a_record_replaced():
    assert check_plane_designs(3, 24, "replace").max() > 0.05


def test_no_plane_design_exceeds_the_bound_with_a_record_replaced_in_hundreds():
    check_plane_designs(4, 200, "replace")


@pytest.mark.parametrize("loss", [HUBER, LOGISTIC], ids=lambda loss: loss.name)
@pytest.mark.parametrize("angle", [0.0, 90.0, 180.0])
def test_replace_one_with_parallel_orthogonal_and_opposite_rows(loss, angle):
    """The two gradients may add up, cancel, or span a plane."""
    rng = np.random.default_rng(5)
    x, turned = np.array([1.0, 0.0]), np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    far = (1.0, -1.0) if loss is LOGISTIC else (FAR, -FAR)
    common = [random_record(rng, loss, 2)]
    for sign in far:
        design = Design(loss, [*common, (x, far[0])], [*common, (turned, sign)], 20.0, 1.0)
        delta, a = calibrated_ratio(rng, design, "replace", smallest=-4)
        assert max(plane_deltas(design, 1 / a)) <= delta * 1.01


def test_replace_one_needs_more_than_the_add_remove_bound():
    """Two Huber records that pull with full force in opposite directions: the loss is that of a = 2 zeta/sigma."""
    x, epsilon, a = np.array([0.6, 0.8]), 1.0, 0.5
    design = Design(HUBER, [(x, FAR)], [(x, -FAR)], 20.0, epsilon)
    deltas = plane_deltas(design, 1 / a)
    assert deltas == pytest.approx([gaussian.hockey_stick(epsilon, 2 * a)] * 2, rel=1e-2)
    fixed = {"epsilon": epsilon, "log_det": design.log_det, "one_sided": False}
    assert min(deltas) > 2 * objective.objective_delta(a, neighbours="add_remove", **fixed)
    assert max(deltas) <= objective.objective_delta(a, neighbours="replace", **fixed)


# Gamma noise: the log-density ratio, exactly, at every point of a grid


def log_ratio(design, scale, theta):
    """log f_first(theta) - log f_second(theta) for b with density proportional to exp(-||b||/scale)."""

    def log_density(records):
        tilt = gradient(design.loss, records, design.curvature, theta)
        return -np.linalg.norm(tilt, axis=-1) / scale + log_det_hessian(design.loss, records, design.curvature, theta)

    return log_density(design.first) - log_density(design.second)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_no_log_ratio_exceeds_epsilon_with_gamma_noise(neighbours, p):
    rng = np.random.default_rng(6)
    for _ in range(40):
        design = random_design(rng, neighbours=neighbours, p=p)
        zeta = design.loss.gradient_bound(UNIT)
        scale = objective.gamma_scale(zeta, epsilon=design.epsilon, log_det=design.log_det, neighbours=neighbours)
        # Wide and dense: uniform and logarithmic in theta.
        size = np.concatenate([np.geomspace(1e-4, 1e4, 2000), np.linspace(0, 20, 2000)])
        direction = rng.standard_normal((len(size), p))
        theta = direction / np.linalg.norm(direction, axis=1, keepdims=True) * size[:, None]
        ratio = log_ratio(design, scale, theta)
        assert np.abs(ratio).max() <= design.epsilon * (1 + 1e-9), design


@pytest.mark.parametrize(("neighbours", "count"), [("add_remove", 1), ("replace", 2)])
def test_huber_attains_gamma_epsilon(neighbours, count):
    """Full force and full curvature at one theta, and the noise pointing along: nothing of the bound is slack."""
    epsilon, one = 0.7, np.ones(1)
    curvature = 2 / epsilon
    # Just inside the parabola's end at theta = -3, where l' = 1 and l'' = 1; the replaced record pulls the other way.
    first = [(one, -3.0 - 1 + 1e-9)]
    second = [(one, FAR)] if neighbours == "replace" else []
    design = Design(HUBER, first, second, curvature, epsilon)
    scale = 2 / epsilon  # as printed
    attained = log_ratio(design, scale, np.array([[-3.0]]))[0]
    assert attained == pytest.approx(count * epsilon / 2 + math.log1p(epsilon / 2), rel=1e-6)
    spent = objective.gamma_epsilon(scale, 1.0, log_det=design.log_det, neighbours=neighbours)
    assert attained == pytest.approx(spent, rel=1e-6)
    # Erratum K3: printed constants are enough for add/remove and refuted for replace-one.
    assert (attained > epsilon) == (neighbours == "replace")
