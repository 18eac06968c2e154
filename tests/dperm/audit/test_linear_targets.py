"""The auditor's targets: densities that integrate to one and fit the draws, noise that is the noise that was drawn."""

import math
from functools import partial

import numpy as np
import pytest
import together
from scipy import integrate, special, stats

from dperm import losses
from dperm.audit import linear_targets
from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation, SolverError
from dperm.mechanisms import nonprivate, objective, output
from dperm.noise import Gaussian, SphericalLaplace
from dperm.solvers import composite

LOSSES = {
    "logistic": losses.logistic(),
    "huber": losses.huber(0.5),
    "smoothed_hinge": losses.smoothed_hinge(0.4),
}
UNIT = Domain(x_norm=1.0)
MECHANISMS = ("objective", "output")


def make(mechanism, loss="logistic", *, delta=0.0, neighbours="replace", calibration="tight", **others):
    budget = Budget(2.0, delta)
    given = {"loss": LOSSES[loss], "domain": UNIT, "budget": budget} | others
    return linear_targets.target(mechanism, neighbours=neighbours, calibration=calibration, **given)


def records(p, n=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X /= np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]
    return X, rng.choice([-1.0, 1.0], n)


def normaliser(law, p):
    """Return the log of the constant of the noise's density, by the textbook."""
    if isinstance(law, Gaussian):
        return -0.5 * p * math.log(2 * math.pi) - p * math.log(law.scale)
    sphere = 2 * math.pi ** (p / 2) / special.gamma(p / 2)
    return -math.log(sphere * special.gamma(p)) - p * math.log(law.scale)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_on_a_line_the_density_integrates_to_one_and_to_the_distribution_function(mechanism, loss, delta):
    target, data = make(mechanism, loss, delta=delta), records(1)
    span = 40 * target.law.scale * (1 if mechanism == "output" else 1 / 0.25) + 10
    theta = np.linspace(-span, span, 800_001)
    density = np.exp(target.log_density(theta, data) + normaliser(target.law, 1))
    mass = integrate.cumulative_trapezoid(density, theta, initial=0.0)
    assert mass[-1] == pytest.approx(1.0, abs=1e-4)
    places = slice(None, None, 1000)
    np.testing.assert_allclose(target.cdf(theta[places], data), mass[places], atol=1e-4)
    np.testing.assert_allclose(target.cdf(theta[places], data) + target.sf(theta[places], data), 1, rtol=1e-14)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_in_the_plane_the_density_integrates_to_one(mechanism, loss, delta):
    target, data = make(mechanism, loss, delta=delta, curvature=2.0), records(2)
    span = 22 * target.law.scale * (1 if mechanism == "output" else 0.5) + 3
    side = np.linspace(-span, span, 1201)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    density = np.exp(target.log_density(grid, data) + normaliser(target.law, 2))
    assert density.sum() * (side[1] - side[0]) ** 2 == pytest.approx(1.0, abs=3e-3)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_density_is_that_of_the_draws(mechanism):
    """A histogram of 40,000 draws in the plane: chi-square over cells whose mass is the density's, level 1e-5."""
    target, data, draws = make(mechanism, curvature=2.0), records(2), 40_000
    outputs = target(data, draws, np.random.default_rng(7))
    cells, fine = 8, 40
    edges = np.linspace(-3, 3, cells + 1) * target.law.scale / 2 + target.centre(data)[:, None]
    step = (edges[:, 1] - edges[:, 0]) / fine
    middles = [edge[0] + step_ * (np.arange(cells * fine) + 0.5) for edge, step_ in zip(edges, step, strict=True)]
    grid = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(target.log_density(grid, data) + normaliser(target.law, 2)) * step.prod()
    expected = density.reshape(cells, fine, cells, fine).sum(axis=(1, 3)).ravel()
    seen = np.histogram2d(*outputs.T, bins=list(edges))[0].ravel()
    seen, expected = np.append(seen, draws - seen.sum()), np.append(expected, 1 - expected.sum()) * draws
    assert expected.min() > 5
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > 1e-5


@together.over("delta", [0.0, 1e-5])
@together.over("calibration", ["paper", "tight"])
@together.over("p", [1, 3])
@together.over("mechanism", MECHANISMS)
def test_recovered_noise_is_the_noise_that_was_drawn(mechanism, p, calibration, delta):
    """The release draws its noise from the generator at once: the same seed replays it."""
    target, data = make(mechanism, delta=delta, calibration=calibration), records(p)
    outputs = target(data, 300, np.random.default_rng(11))
    drawn = target.law.sample((300, p), np.random.default_rng(11))
    slack = 1.0001e-6 if mechanism == "objective" else 1e-12  # the solver's tolerance times zeta = 1
    assert np.linalg.norm(target.noise(outputs, data) - drawn, axis=1).max() <= slack


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_law_is_the_one_that_the_mechanism_calibrates(mechanism):
    for neighbours, count in (("add_remove", 1), ("replace", 2)):
        law = make(mechanism, "huber", neighbours=neighbours, curvature=2.0).law
        scales = {
            "output": 0.5 * (count + 2e-6) / 2.0 / 2.0, "objective": 0.5 * count / (2.0 - math.log1p(1.0 / 2.0))
        }  # fmt: skip
        assert isinstance(law, SphericalLaplace)
        assert law.scale == pytest.approx(scales[mechanism], rel=1e-12)


def slow_density(loss, curvature, law, theta, X, y):
    """Lemma 1 as it stands, one output at a time."""
    gradient, hessian = curvature * theta, curvature * np.eye(len(theta))
    for x, label in zip(X, y, strict=True):
        gradient = gradient + loss.derivative(x @ theta, label) * x
        hessian = hessian + loss.second(x @ theta, label) * np.outer(x, x)
    length = np.linalg.norm(gradient) / law.scale
    nu = -0.5 * length**2 if isinstance(law, Gaussian) else -length
    return nu + math.log(np.linalg.det(hessian))


@pytest.mark.parametrize("n", [0, 3, 40])
@pytest.mark.parametrize("p", [1, 2, 6])
def test_the_density_against_a_slow_transcription(p, n):
    """Also with records that repeat, which are counted instead of summed."""
    for loss, delta in (("logistic", 0.0), ("huber", 1e-4)):
        target = make("objective", loss, delta=delta, curvature=0.7)
        X, y = records(p, n)
        X, y = np.concatenate([X, X[:2], X[:2]]), np.concatenate([y, y[:2], y[:2]])
        theta = np.random.default_rng(1).standard_normal((6, p)) * 2
        slow = [slow_density(LOSSES[loss], 0.7, target.law, row, X, y) for row in theta]
        np.testing.assert_allclose(target.log_density(theta, (X, y)), slow, rtol=1e-12, atol=1e-12)


def test_chunks_change_nothing(monkeypatch):
    target, data = make("objective"), records(2)
    theta = np.random.default_rng(0).standard_normal((50, 2))
    whole = target.log_density(theta, data)
    monkeypatch.setattr(linear_targets, "ENTRIES", 35)
    np.testing.assert_allclose(target.log_density(theta, data), whole, rtol=1e-14)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_centre_is_the_minimiser_without_noise(mechanism):
    X, y = records(3)
    exact = nonprivate.fit(X, y, LOSSES["logistic"], ridge=0.25, tolerance=1e-10)[0]
    np.testing.assert_allclose(make(mechanism, curvature=0.25).centre((X, y)), exact, atol=1e-5)


def test_data_that_change_in_place_are_not_mistaken_for_what_they_were():
    target, (X, y) = make("output"), records(2)
    before = target.centre((X, y))
    before[:] = 99.0  # what a caller does to its copy is its own business
    y *= -1
    # Flipping all labels mirrors the minimiser.
    np.testing.assert_allclose(target.centre((X, y)), -target.centre((X, -y)), atol=1e-5)
    assert not np.allclose(target.centre((X, y)), 99.0)


def test_draws_are_those_of_the_release():
    data, budget = records(2), Budget(2.0, 1e-5)
    for mechanism, module in (("objective", objective), ("output", output)):
        theta = make(mechanism, delta=1e-5)(data, 20, np.random.default_rng(3))
        release = module.release(
            *data, LOSSES["logistic"], domain=UNIT, budget=budget, neighbours="replace", calibration="tight",
            rng=np.random.default_rng(3), repeats=20,
        )  # fmt: skip
        np.testing.assert_array_equal(theta, release.theta)


def test_unconverged_draws_are_an_error(monkeypatch):
    target = make("objective", tolerance=1e-12)
    monkeypatch.setattr(composite, "minimise", partial(composite.minimise, max_iterations=1))
    with pytest.raises(SolverError, match=r"of 5 draws of objective missed .*tolerance=1e-12"):
        target(records(2), 5, np.random.default_rng(0))


@together.over(
    "data, error, message",
    [
        ((np.array([[2.0]]), np.array([1.0])), DomainViolation, "longer than x_norm"),
        ((np.array([[1.0]]), np.array([0.5])), DomainViolation, "not -1 or 1"),
        ((np.array([1.0]), np.array([1.0])), ValueError, "shapes"),
        ((np.ones((2, 1)), np.ones(3)), ValueError, "shapes"),
    ],
)
@together.over("mechanism", MECHANISMS)
def test_data_outside_the_domain_are_refused(mechanism, data, error, message):
    with pytest.raises(error, match=message):
        make(mechanism)(data, 3, np.random.default_rng(0))
    with pytest.raises(error, match=message):
        make(mechanism).log_density(np.zeros((1, 1)), data)


def test_targets_beyond_their_bound_are_refused():
    target = make("output", "huber", domain=Domain(x_norm=1.0, y_bound=2.0))
    with pytest.raises(DomainViolation, match="y_bound=2"):
        target.centre((np.ones((1, 1)), np.array([3.0])))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_distribution_function_needs_one_feature(mechanism):
    with pytest.raises(ValueError, match="2 features"):
        make(mechanism).cdf(np.zeros(3), records(2))


def test_an_unknown_mechanism_is_refused():
    with pytest.raises(ValueError, match=r"'exp' is not one .* objective, output"):
        linear_targets.target(
            "exp", loss=LOSSES["huber"], domain=UNIT, budget=Budget(1.0), neighbours="replace", calibration="tight"
        )
