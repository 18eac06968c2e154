"""CMS11: the original constants, in the original words, against what is released; and a density attacked directly."""

import math

import numpy as np
import pytest
import together
from designs import two_classes
from scipy import optimize

from dperm import losses, noise
from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation, InvalidBudget
from dperm.mechanisms import cms11

UNIT = Domain(x_norm=1.0)


def release(X, y, loss=None, **rest):
    fixed = {
        "domain": UNIT, "budget": Budget(1.0), "neighbours": "replace", "calibration": "paper", "tolerance": 1e-9,
        "rng": np.random.default_rng(0),
    }  # fmt: skip
    return cms11.release(X, y, loss or losses.logistic(), **{**fixed, **rest})


def printed(n, Lambda, epsilon, c):
    """Algorithm 2, lines 1 to 5, of the paper: beta and Delta of the mean."""
    rest = epsilon - math.log(1 + 2 * c / (n * Lambda) + c**2 / (n**2 * Lambda**2))
    if rest > 0:
        return rest / 2, 0.0
    return epsilon / 4, c / (n * (math.exp(epsilon / 4) - 1)) - Lambda


def spherical(beta, shape, seed):
    """Direction uniform, norm Gamma(p, 1/beta), drawn as the batch draws them."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return rng.gamma(shape[1], 1 / beta, (shape[0], 1)) * direction


def mean_minimiser(X, y, loss, Lambda, tilt):
    n = len(X)

    def mean(f):
        value = loss.value(X @ f, y).mean() + Lambda / 2 * f @ f + tilt @ f / n
        return value, X.T @ loss.derivative(X @ f, y) / n + Lambda * f + tilt / n

    start = np.zeros(X.shape[1])
    return optimize.minimize(mean, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-12, "ftol": 1e-16}).x


@pytest.mark.parametrize("name", ["logistic", "smoothed_hinge"])
@pytest.mark.parametrize("Lambda", [0.2, 0.001])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_objective_perturbation_is_algorithm_2_of_the_paper(name, Lambda, epsilon):
    """Written with means, for one repeat at a time; Lambda on both sides of epsilon' = 0."""
    X, y = two_classes(60, 3)
    loss = losses.make(name)
    beta, more = printed(60, Lambda, epsilon, {"logistic": 0.25, "smoothed_hinge": 1.0}[name])
    drawn = spherical(beta, (4, 3), 7)
    released = release(
        X, y, loss, budget=Budget(epsilon), curvature=60 * Lambda, rng=np.random.default_rng(7), repeats=4
    )
    expected = [mean_minimiser(X, y, loss, Lambda + more, b) for b in drawn]
    np.testing.assert_allclose(released.theta, expected, rtol=1e-4, atol=1e-5)
    assert released.converged.all()
    assert released.guarantee == "proved_exact"
    assert released.event == ("EpsilonDeltaDpEvent", {"epsilon": epsilon, "delta": 0.0})


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_output_perturbation_is_algorithm_1_of_the_paper(epsilon):
    X, y = two_classes(60, 3)
    drawn = spherical(60 * 0.1 * epsilon / 2, (4, 3), 7)
    released = release(
        X, y, budget=Budget(epsilon), curvature=6.0, perturbation="output", rng=np.random.default_rng(7), repeats=4
    )
    expected = mean_minimiser(X, y, losses.logistic(), 0.1, np.zeros(3)) + drawn
    np.testing.assert_allclose(released.theta, expected, rtol=1e-5, atol=1e-6)
    assert released.converged.shape == released.certificate.shape == (4,)


def test_both_branches_of_algorithm_2_are_tried_above():
    assert printed(60, 0.2, 0.5, 0.25)[1] == 0
    assert printed(60, 0.001, 2.0, 0.25)[1] > 0


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
def test_the_default_curvature_is_where_half_of_epsilon_is_left(epsilon):
    """At Delta = c/(e^{epsilon/4} - 1) both branches of Algorithm 2 say epsilon' = epsilon/2."""
    c = 0.25
    curvature = cms11.default_curvature(losses.logistic(), UNIT, epsilon)
    assert epsilon - 2 * math.log(1 + c / curvature) == pytest.approx(epsilon / 2, rel=1e-9)
    for neighbours, scale in (("replace", 4 / epsilon), ("add_remove", 2 / epsilon)):
        made = cms11.calibrate(
            losses.logistic(), UNIT, Budget(epsilon), perturbation="objective", neighbours=neighbours
        )
        assert made.curvature == curvature
        assert isinstance(made.noise, noise.SphericalLaplace)
        assert made.noise.scale == pytest.approx(scale, rel=1e-9)


@pytest.mark.parametrize("perturbation", ["output", "objective"])
def test_other_radii_are_the_unit_ball_in_other_units(perturbation):
    """l depends on <x, theta> alone: rows and radius times 3, curvature times 9, give theta/3 for the same draws."""
    X, y = two_classes(60, 3)
    one = release(X, y, curvature=5.0, perturbation=perturbation, repeats=3)
    three = release(3 * X, y, domain=Domain(3.0), curvature=45.0, perturbation=perturbation, repeats=3)
    np.testing.assert_allclose(3 * three.theta, one.theta, rtol=1e-5, atol=1e-7)


def log_density(theta, x, y, loss, made, perturbation):
    """Log density at `theta` of what is released for the one-dimensional data (x, y)."""
    scale, curvature = made.noise.scale, made.curvature
    u = np.outer(theta, x)
    slope = loss.derivative(u, y) @ x + curvature * theta
    if perturbation == "objective":  # b = -(gradient), and its derivative is the objective's second
        return -np.abs(slope) / scale + np.log(loss.second(u, y) @ x**2 + curvature)
    best = optimize.brentq(lambda t: float(loss.derivative(t * x, y) @ x + curvature * t), -1e3, 1e3, xtol=1e-14)
    return -np.abs(theta - best) / scale


@together.over("neighbours", ["replace", "add_remove"])
@together.over("perturbation", ["output", "objective"])
@together.over("name", ["logistic", "smoothed_hinge", "huber"])
@together.over(("epsilon", "curvature"), [(0.5, 3.0), (0.5, 1e-3), (2.0, None), (5.0, 0.3)])
def test_no_neighbours_are_told_apart_by_more_than_epsilon(neighbours, perturbation, name, epsilon, curvature):
    """In one dimension the density is known: attack it with records at the corners, on a grid of outcomes."""
    loss, given = losses.make(name), {"perturbation": perturbation, "neighbours": neighbours}
    made = cms11.calibrate(loss, UNIT, Budget(epsilon), curvature=curvature, **given)
    theta = np.linspace(-40, 40, 8001)
    targets = [-50.0, -0.5, 0.5, 50.0] if name == "huber" else [-1.0, 1.0]

    def log_of(records):
        x, y = np.array(records).reshape(-1, 2).T
        return log_density(theta, x, y, loss, made, perturbation)

    for count in range(3):
        rest = [(1.0, targets[0])] * count
        logs = np.array([log_of([*rest, (x, y)]) for x in (-1.0, 0.3, 1.0) for y in targets])
        apart = np.ptp(logs, axis=0) if neighbours == "replace" else np.abs(logs - log_of(rest))
        assert apart.max() <= epsilon * (1 + 1e-9)
    assert made.guarantee == "proved_exact"


def test_add_remove_reaches_what_is_released():
    """The same stream, tilts half as long: as if Algorithm 2 had been given the tilt of half the scale."""
    X, y = two_classes(60, 3)
    one = release(X, y, neighbours="add_remove", curvature=12.0, rng=np.random.default_rng(7), repeats=4)
    drawn = spherical(2 * printed(60, 0.2, 1.0, 0.25)[0], (4, 3), 7)
    expected = [mean_minimiser(X, y, losses.logistic(), 0.2, b) for b in drawn]
    np.testing.assert_allclose(one.theta, expected, rtol=1e-4, atol=1e-5)


def test_output_perturbation_spends_all_of_epsilon():
    """Two saturated Huber records of opposite sign: the log ratio is epsilon, so that the scale is not too large."""
    loss, made = losses.huber(1.0), None
    made = cms11.calibrate(loss, UNIT, Budget(0.8), perturbation="output", curvature=2.0)
    logs = [
        log_density(np.array([5.0]), np.array([1.0]), np.array([y]), loss, made, "output").item() for y in (-50.0, 50.0)
    ]
    assert logs[1] - logs[0] == pytest.approx(0.8, rel=1e-9)


@together.over(
    ("arguments", "error", "message"),
    [
        ({"neighbours": "swap"}, ValueError, "neighbours='swap'"),
        ({"calibration": "tight"}, ValueError, "calibration='tight'.*'paper'"),
        ({"budget": Budget(1.0, 1e-6)}, InvalidBudget, "delta=1e-06: CMS11 is for pure privacy"),
        ({"perturbation": "input"}, ValueError, "perturbation='input'"),
        ({"curvature": 0.0}, InvalidBudget, "curvature=0"),
        ({"tolerance": 2.0}, ValueError, "tolerance=2"),
        ({"loss": losses.hinge()}, DomainViolation, "'hinge' has no bounded curvature"),
        ({"loss": losses.squared()}, DomainViolation, "'squared' has no bounded gradient"),
        ({"budget": Budget(1e-120)}, InvalidBudget, "curvature"),
        ({"budget": Budget(1e-60), "curvature": 1e-60, "perturbation": "output"}, InvalidBudget, "noise of scale"),
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        release(*two_classes(60, 3), **arguments)
