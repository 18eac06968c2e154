"""Noisy gradient descent: it does what a slow loop does, spends what accountants say, and cannot be moved further."""

import functools
import math

import gaussian_curve
import numpy as np
import pytest
import together
from designs import two_classes
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from dperm import losses, noise
from dperm.domain import Budget, Domain
from dperm.errors import DataError, DomainViolation, InvalidBudget
from dperm.mechanisms import gradient, nonprivate

DOMAIN = Domain(x_norm=1.5)
BUDGET = Budget(1.0, 1e-6)


def design():
    """Rows of length 1.5, but for one of zeros."""
    X, y = two_classes(40, 3, radius=1.5)
    X[0] = 0.0
    return X, y


def release(X, y, loss=None, *, seed=0, **rest):
    fixed = {"domain": DOMAIN, "budget": BUDGET, "neighbours": "add_remove", "calibration": "tight"}
    return gradient.release(X, y, loss or losses.logistic(), rng=np.random.default_rng(seed), **{**fixed, **rest})


def literal(X, y, loss, drawn, *, ridge, clip, momentum, eta, average):
    """Descend record by record; `eta(t, squares)` gives the step or that of each coordinate. `drawn` is the noise."""
    theta, velocity, squares, iterates = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(X.shape[1]), []
    for t, z in enumerate(drawn, start=1):
        total = z.copy()
        for x, target in zip(X, y, strict=True):
            one = float(loss.derivative(x @ theta, target)) * x
            size = math.sqrt(sum(one**2))
            total += one * min(1.0, clip / size) if size > 0 else 0.0
        total += ridge * theta
        squares += total**2
        velocity = momentum * velocity + total
        theta = theta - eta(t, squares) * velocity
        iterates.append(theta)
    return iterates[-1] if average == "none" else np.mean(iterates[len(iterates) // 2 :], axis=0)


def coordinates(scale, t, squares):
    """Steps of D = 0.7 for each of three coordinates, of the squares of its gradients and of what the noise adds."""
    own = [max(square - t * scale**2, 0.0) for square in squares]
    return np.array([0.7 / math.sqrt(3 * (t * scale**2 + 0.03 * square)) for square in own])


@together.over(
    ("arguments", "eta"),
    [
        ({"step_size": 0.01}, 0.01),
        ({"clip": 0.3, "momentum": 0.8, "step_size": 0.02, "ridge": 2.0}, 0.02),
        ({"clip": 0.3, "momentum": 0.5}, lambda scale, t, squares: 1 / (1.5 * math.sqrt(squares.sum()))),
        ({"clip": 0.3, "momentum": 0.5, "distance": 0.7, "average": "tail"}, coordinates),
        ({"n_public": 70, "ridge": 3.0, "average": "tail"}, 1 / (70 * 1.5**2 / 4 + 3.0)),
        ({"neighbours": "replace", "average": "tail", "momentum": 0.9}, 1 / (40 * 1.5**2 / 4)),
        ({"neighbours": "replace", "n_public": 55}, 1 / (55 * 1.5**2 / 4)),
    ],
)
@together.over("steps", [1, 7])
def test_each_repeat_is_the_slow_loop_with_the_same_noise(arguments, eta, steps):
    X, y = design()
    settled = {"ridge": 0.0, "clip": 1.5, "momentum": 0.0, "average": "none"}
    told = {key: arguments.get(key, value) for key, value in settled.items()}
    law = gradient.calibrate(told["clip"], BUDGET, steps=steps, neighbours=arguments.get("neighbours", "add_remove"))
    released = release(X, y, steps=steps, repeats=3, seed=4, **arguments)
    drawn = np.random.default_rng(4).normal(0.0, law.scale, (steps, 3, X.shape[1]))
    steps_of = functools.partial(eta, law.scale) if callable(eta) else lambda t, squares: eta
    expected = [literal(X, y, losses.logistic(), drawn[:, r], eta=steps_of, **told) for r in range(3)]
    np.testing.assert_allclose(released.theta, expected, rtol=1e-10, atol=1e-12)
    assert released.converged.all()
    assert (released.certificate == 0).all()


def test_blocks_of_rows_add_up(monkeypatch):
    X, y = design()
    whole = release(X, y, repeats=3, steps=5).theta
    monkeypatch.setattr(gradient, "BLOCK_ENTRIES", 7 * 3)
    np.testing.assert_allclose(release(X, y, repeats=3, steps=5).theta, whole, rtol=1e-10)


@pytest.mark.parametrize(("epsilon", "delta", "steps"), [(0.3, 1e-6, 1), (1.0, 1e-5, 50), (4.0, 1e-3, 300)])
def test_accountants_confirm_the_composition(epsilon, delta, steps):
    """PLD of T Gaussian steps (add/remove, S = c) gives epsilon; Renyi accounting, which is looser, no less."""
    law = gradient.calibrate(2.0, Budget(epsilon, delta), steps=steps, neighbours="add_remove")
    each = dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(law.scale / 2.0), steps)
    pld = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    renyi = rdp_privacy_accountant.RdpAccountant()
    assert pld.compose(each).get_epsilon(delta) == pytest.approx(epsilon, rel=5e-3)
    assert epsilon <= renyi.compose(each).get_epsilon(delta) < 1.5 * epsilon

    name, words = release(
        *design(), budget=Budget(epsilon, delta), steps=steps, clip=2.0, neighbours="add_remove"
    ).event  # fmt: skip
    stated = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    assert stated.compose(getattr(dp_event, name)(**words)).get_epsilon(delta) == pytest.approx(epsilon, rel=5e-3)


@pytest.mark.parametrize(("neighbours", "factor"), [("add_remove", 1), ("replace", 2)])
def test_noise_comes_out_at_the_promised_scale(neighbours, factor):
    """Without data and with step size 1 theta is minus the sum of T noises: variance T sigma^2 = (T S/mu)^2."""
    mu, steps, clip = gaussian_curve.ratio(1.0, 1e-6), 9, 0.7
    theta = release(
        np.zeros((0, 4)), np.zeros(0), neighbours=neighbours, steps=steps, clip=clip, step_size=1.0, repeats=20_000
    ).theta
    # 80,000 coordinates: five standard errors of a deviation are 1.3 %.
    assert theta.std() == pytest.approx(steps * factor * clip / mu, rel=0.013)
    law = gradient.calibrate(clip, BUDGET, steps=steps, neighbours=neighbours)
    assert isinstance(law, noise.Gaussian)
    assert law.scale == pytest.approx(math.sqrt(steps) * factor * clip / mu, rel=1e-6)


def summed(X, y, loss, theta, clip):
    norms = np.linalg.norm(X, axis=1)
    limit = np.divide(clip, norms, out=np.full(len(X), np.inf), where=norms > 0)
    return gradient.summed_gradient(X, y, loss, theta, limit)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["squared", "logistic", "poisson", "huber", "hinge", "smoothed_hinge", "absolute"]),
    st.floats(1e-3, 1e3),
    st.floats(0.0, 1e4),
    st.integers(0, 2**32 - 1),
)
def test_no_record_moves_the_sum_by_more_than_the_clip(name, clip, spread, seed):
    """Rows of any length, targets of any size, any theta: one record more moves by c, another record by 2c."""
    rng = np.random.default_rng(seed)
    X, theta = spread * rng.normal(size=(6, 3)), rng.normal(size=(2, 3))
    y = rng.choice([-1.0, 1.0], 6) if name in ("logistic", "hinge", "smoothed_hinge") else rng.poisson(3.0, 6) * 1.0
    loss = losses.make(name)
    least = summed(X[:5], y[:5], loss, theta, clip)
    more = summed(X, y, loss, theta, clip)
    other = summed(np.delete(X, 4, axis=0), np.delete(y, 4), loss, theta, clip)
    assert (np.linalg.norm(more - least, axis=1) <= clip * (1 + 1e-9)).all()
    assert (np.linalg.norm(other - least, axis=1) <= 2 * clip * (1 + 1e-9)).all()


@pytest.mark.parametrize("entry", [1e-170, 1e-310, 5e-324, 1e200])
@pytest.mark.parametrize("p", [1, 3])
def test_rows_whose_squares_vanish_or_overflow_are_clipped_too(entry, p):
    """A target of 1e300 makes |l'| as large; ||x|| must not be taken for 0 (no limit), nor for infinity (no record)."""
    X, y, theta = np.full((1, p), entry), np.array([1e300]), np.zeros((1, p))
    limit = gradient.limits(X, 0.7)
    moved = gradient.summed_gradient(X, y, losses.squared(), theta, limit)
    expected = min(0.7, 1e300 * (entry * math.sqrt(p)))
    # 5e-324 has one binary digit: nothing of its norm is known better than that.
    assert np.linalg.norm(moved / expected) <= 1 + 1e-9
    if entry > 1e-300:
        np.testing.assert_allclose(moved, -expected / math.sqrt(p), rtol=1e-9)
    released = release(X, y, losses.squared(), clip=0.7, steps=1, step_size=1.0)
    without = release(np.zeros((1, p)), y, losses.squared(), clip=0.7, steps=1, step_size=1.0)
    assert np.linalg.norm(released.theta - without.theta) <= 0.7 * (1 + 1e-9)


def test_the_sensitivity_is_attained():
    """Two absolute residuals of opposite sign: 2c, no less."""
    X, loss, theta = np.array([[1.5]]), losses.absolute(), np.zeros((1, 1))
    up, down = (summed(X, np.array([y]), loss, theta, 0.4) for y in (-9.0, 9.0))
    assert abs(up - down).item() == pytest.approx(0.8, rel=1e-12)


@pytest.mark.parametrize("name", ["logistic", "smoothed_hinge"])
@pytest.mark.parametrize("momentum", [0.0, 0.8])
@pytest.mark.parametrize("arguments", [{"neighbours": "replace"}, {"n_public": 45}])
def test_with_hardly_any_noise_it_finds_the_minimiser(name, momentum, arguments):
    """epsilon = 1e12: the descent must end where Newton's method does."""
    X, y = design()
    loss = losses.make(name)
    best, _, _ = nonprivate.fit(X, y, loss, ridge=2.0)
    found = release(
        X, y, loss, budget=Budget(1e12, 1e-6), ridge=2.0, steps=1500, momentum=momentum, **arguments
    ).theta[0]  # fmt: skip
    np.testing.assert_allclose(found, best, atol=2e-4)


@pytest.mark.parametrize("name", ["logistic", "hinge"])
def test_the_adaptive_rule_converges_too(name):
    """Kinks and an unknown n: the objective of the averaged iterates comes within 1 % of the best that is known."""
    X, y = design()
    loss = losses.make(name)

    def objective(theta):
        return loss.value(X @ theta, y).sum() + theta @ theta

    best = optimize.minimize(objective, np.zeros(3), method="Nelder-Mead", options={"maxiter": 5000, "xatol": 1e-9}).fun
    found = release(X, y, loss, budget=Budget(1e12, 1e-6), ridge=2.0, steps=3000, average="tail").theta[0]
    assert best * (1 - 1e-9) <= objective(found) <= best * 1.01


def test_under_add_remove_the_step_size_does_not_know_n():
    """A record whose gradient is zero changes n alone: theta must stay; under replace-one n is public and used."""
    X, y = design()
    more, targets = np.vstack([X, np.zeros((30, 3))]), np.append(y, np.ones(30))
    one, two = release(X, y), release(more, targets)
    np.testing.assert_allclose(one.theta, two.theta, rtol=1e-9)
    public = [release(*data, neighbours="replace").theta for data in ((X, y), (more, targets))]
    assert abs(public[0] - public[1]).max() > 1e-3


def test_a_step_size_too_large_is_reported():
    X, y = design()
    released = release(X, y, ridge=1e10, step_size=1e30, steps=50, repeats=2)
    assert not released.converged.any()
    assert released.guarantee == "proved"


@together.over(
    ("arguments", "error", "message"),
    [
        ({"budget": Budget(1.0)}, InvalidBudget, "delta=0.0 must be .* take 'objective' or 'output'"),
        ({"loss": losses.squared()}, DomainViolation, "'squared' has no bounded gradient .* give `clip`"),
        ({"loss": losses.poisson()}, DomainViolation, "give `clip`"),
        ({"calibration": "paper"}, ValueError, "calibration='paper'.*'tight'"),
        ({"neighbours": "swap"}, ValueError, "neighbours='swap'"),
        ({"average": "all"}, ValueError, "average='all'"),
        ({"ridge": -1.0}, ValueError, "ridge=-1"),
        ({"steps": 0}, ValueError, "steps=0"),
        ({"steps": 2.5}, ValueError, "steps=2.5 must be a whole number"),
        ({"momentum": 1.0}, ValueError, "momentum=1"),
        ({"clip": 0.0}, ValueError, "clip=0"),
        ({"clip": math.nan}, ValueError, "clip=nan"),
        ({"step_size": 0.0}, ValueError, "step_size=0"),
        ({"n_public": 0}, ValueError, "n_public=0"),
        ({"budget": Budget(1e-120, 1e-130)}, InvalidBudget, "noise of scale"),
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments, error, message):
    X, y = design()
    with pytest.raises(error, match=message):
        release(X, y, **arguments)


def test_bad_data_are_refused_without_telling_them():
    X, y = design()
    with pytest.raises(DataError, match=r"X has shape \(40, 3\) and y \(39,\)"):
        release(X, y[1:])
    X[3, 1] = np.nan
    with pytest.raises(DataError, match="X holds values that are not finite"):
        release(X, y)
