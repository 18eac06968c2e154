"""Preconditioned descent: a slow transcription; the Gram matrix's sensitivity by brute force; what accountants say."""

import math

import numpy as np
import pytest
import together
from designs import two_classes
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant
from gaussian_curve import ratio
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, sparse

from dperm import losses
from dperm.domain import Budget, Domain
from dperm.errors import InvalidBudget
from dperm.mechanisms import gradient, preconditioned

R, CLIP = 1.5, 0.3
BUDGET, RATIO = Budget(1.0, 1e-6), ratio(1.0, 1e-6)
MOVED = {"add_remove": 1.0, "replace": math.sqrt(2)}


def design(p=3):
    """Rows of length R, one of zeros, and one three times too long."""
    X, y = two_classes(40, p, radius=R)
    X[0], X[1] = 0.0, 3 * X[1]
    return X, y


def release(X, y, *, seed=0, **rest):
    fixed = {"domain": Domain(x_norm=R), "budget": BUDGET, "neighbours": "add_remove", "calibration": "tight"}
    rng = np.random.default_rng(seed)
    return preconditioned.release(
        X, y, losses.logistic(), rng=rng, **{**fixed, "clip": CLIP, "distance": 0.4, "steps": 7, **rest}
    )


def literal(X, y, drawn, *, a, f, floor, steps, momentum, neighbours, eta):
    """One release record by record, by the printed formulas; `drawn` holds standard normal numbers, in order."""
    p = X.shape[1]
    s = MOVED[neighbours] * R**2 / (math.sqrt(f) * a)
    sigma = math.sqrt(steps) * CLIP * (2 if neighbours == "replace" else 1) / (math.sqrt(1 - f) * a)
    N = s * drawn[: p * p].reshape(p, p)
    B = (N + N.T) / 2
    for x in X:
        size = math.sqrt(sum(x**2))
        short = x * min(1.0, R / size) if size > 0 else x
        B = B + np.outer(short, short)
    values, vectors = np.linalg.eig(B / R**2)
    inverse = sum(
        np.outer(v, v) / (max(value, 0.0) + floor / a) for value, v in zip(values.real, vectors.T.real, strict=True)
    )
    theta, velocity, squares, iterates = np.zeros(p), np.zeros(p), 0.0, []
    for t in range(steps):
        total = sigma * drawn[p * p + t * p : p * p + (t + 1) * p]
        for x, target in zip(X, y, strict=True):
            one = -target / (1 + math.exp(target * (x @ theta))) * x
            size = math.sqrt(sum(one**2))
            total = total + one * min(1.0, CLIP / size) if size > 0 else total
        squares += total @ inverse @ total
        velocity = momentum * velocity + total
        noise = (t + 1) * sigma**2 * np.trace(inverse)
        counted = noise + 0.03 * max(squares - noise, 0.0)
        step = 0.4 * math.sqrt(np.trace(np.linalg.inv(inverse)) / counted) if eta is None else eta
        theta = theta - step * inverse @ velocity
        iterates.append(theta)
    return np.mean(iterates[steps // 2 :], axis=0)


@together.over("neighbours", ["add_remove", "replace"])
@together.over(
    ("f", "floor", "momentum", "steps", "eta"),
    [(0.05, 200.0, 0.9, 7, None), (0.6, 1e-3, 0.0, 4, None), (0.3, 2.0, 0.5, 1, 0.01), (0.3, 2.0, 0.5, 4, 0.01)],
)
def test_a_release_is_the_slow_transcription_with_the_same_draws(neighbours, f, floor, momentum, steps, eta):
    X, y = design()
    given = {"neighbours": neighbours, "momentum": momentum, "steps": steps, "floor": floor}
    found = release(X, y, seed=4, gram_share=f, step_size=eta, **given)
    drawn = np.random.default_rng(4).normal(size=9 + 3 * steps)
    np.testing.assert_allclose(found.theta[0], literal(X, y, drawn, a=RATIO, f=f, eta=eta, **given), rtol=1e-6)
    assert found.guarantee == "proved" and found.converged.all()
    name, words = found.event
    assert name == "GaussianDpEvent" and words["noise_multiplier"] == pytest.approx(1 / RATIO, rel=1e-6)


def test_a_repeat_has_a_gram_matrix_of_its_own():
    """Each of three is the slow transcription with its own draws."""
    X, y = design()
    steps, f = 2, 0.3
    found = release(X, y, seed=4, gram_share=f, floor=2.0, steps=steps, repeats=3, momentum=0.5)
    rng = np.random.default_rng(4)
    grams, noises = rng.normal(size=(3, 9)), rng.normal(size=(steps, 3, 3))
    for r in range(3):
        drawn = np.concatenate([grams[r], noises[:, r].ravel()])
        told = {"steps": steps, "momentum": 0.5, "floor": 2.0, "neighbours": "add_remove", "eta": None}
        np.testing.assert_allclose(found.theta[r], literal(X, y, drawn, a=RATIO, f=f, **told), rtol=1e-6)


@pytest.mark.parametrize(("epsilon", "delta", "steps", "f"), [(0.3, 1e-6, 1, 0.5), (4.0, 1e-3, 50, 0.05)])
def test_accountants_confirm_the_composition(epsilon, delta, steps, f):
    """PLD of a Gaussian of sensitivity 1 (the Gram matrix over R^2) and T of sensitivity c gives epsilon."""
    on_gram, on_step = preconditioned.calibrate(
        2.0, Budget(epsilon, delta), x_norm=R, steps=steps, gram_share=f, neighbours="add_remove"
    )
    pld = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    pld.compose(dp_event.GaussianDpEvent(on_gram.scale))
    pld.compose(dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(on_step.scale / 2.0), steps))
    assert pld.get_epsilon(delta) == pytest.approx(epsilon, rel=5e-3)


@settings(max_examples=30, deadline=None)
@given(st.floats(1e-3, 1e3), st.floats(0.0, 1e4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_no_record_moves_the_gram_matrix_by_more_than_it_may(x_norm, spread, p, seed):
    """Frobenius, over R^2: rows of any length; one more, or another one."""
    X = spread * np.random.default_rng(seed).normal(size=(6, p))
    least, more = preconditioned.gram(X[:5], x_norm), preconditioned.gram(X, x_norm)
    other = preconditioned.gram(np.delete(X, 4, axis=0), x_norm)
    assert np.linalg.norm(more - least) <= 1 + 1e-9
    assert np.linalg.norm(other - least) <= math.sqrt(2) + 1e-9


def test_the_sensitivities_are_attained():
    one, other = (preconditioned.gram(np.array([row]), R) for row in ([9.0, 0.0], [0.0, R]))
    assert np.linalg.norm(one) == pytest.approx(1.0, rel=1e-12)
    assert np.linalg.norm(one - other) == pytest.approx(math.sqrt(2), rel=1e-12)


@together.over("entry", [1e-310, 1e-170, 1e200, 1e307])
@together.over("x_norm", [1e-30, 1.0, 1e30])
def test_rows_whose_squares_vanish_or_overflow_are_cut_too(entry, x_norm):
    X = np.full((1, 4), entry)
    expected = np.full((4, 4), min(1.0, 2 * entry / x_norm) ** 2 / 4)
    for rows in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(preconditioned.gram(rows, x_norm), expected, rtol=1e-9, atol=1e-300)


def test_blocks_and_sparse_rows_add_up(monkeypatch):
    X, y = design()
    whole = preconditioned.gram(X, R)
    np.testing.assert_allclose(release(sparse.csr_array(X), y).theta, release(X, y).theta, rtol=1e-9)
    monkeypatch.setattr(gradient, "CACHED_ENTRIES", 7 * 3)
    np.testing.assert_allclose(preconditioned.gram(X, R), whole, rtol=1e-12)


def test_steps_know_no_n():
    """Records of zeros change n alone, under either relation."""
    X, y = design()
    more, targets = np.vstack([X, np.zeros((30, 3))]), np.append(y, np.ones(30))
    for neighbours in MOVED:
        one, two = (release(*data, neighbours=neighbours).theta for data in ((X, y), (more, targets)))
        np.testing.assert_allclose(one, two, rtol=1e-9)


def test_with_one_feature_it_is_plain_descent_with_less_budget():
    """P cancels in p = 1: the same theta as plain descent on the same noise, which is 1/sqrt(1 - f) as wide."""
    X, y = design(p=1)
    found = release(X, y, seed=3, gram_share=0.36, momentum=0.9).theta
    rng = np.random.default_rng(3)
    rng.normal()
    noise = gradient.calibrate(CLIP / 0.8, BUDGET, steps=7, neighbours="add_remove")
    size = gradient.denoised(0.4, noise.scale**2)
    plain = gradient.descend(
        X, y, losses.logistic(), gradient.limits(X, CLIP), noise, lambda g, v: size(g**2) * v,
        steps=7, momentum=0.9, average="tail", rng=rng,
    )  # fmt: skip
    np.testing.assert_allclose(found, plain, rtol=1e-9)


def test_with_hardly_any_noise_it_finds_the_minimum_that_plain_descent_is_far_from():
    """Labels that no plane separates; one direction, no coordinate's, is a hundred times as short as the other."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2)) * [0.5, 0.005]
    y = np.where(rng.random(400) < 1 / (1 + np.exp(-X @ [2.0, 200.0])), 1.0, -1.0)
    X = X @ [[0.8, 0.6], [-0.6, 0.8]]

    def objective(theta):
        return np.logaddexp(0, -y * (X @ theta)).sum()

    best = optimize.minimize(objective, np.zeros(2), method="Nelder-Mead", options={"maxiter": 2000}).fun
    given = {"budget": Budget(1e12, 1e-6), "clip": 10.0, "steps": 200, "momentum": 0.9}
    found = objective(release(X, y, distance=10.0, **given).theta[0])
    plain = gradient.release(
        X, y, losses.logistic(), domain=Domain(x_norm=R), neighbours="add_remove", calibration="tight",
        distance=10.0, average="tail", rng=rng, **given,
    )  # fmt: skip
    assert best <= found < best * 1.001 < best * 1.05 < objective(plain.theta[0])


@together.over(
    ("arguments", "error", "message"),
    [
        ({"budget": Budget(1.0)}, InvalidBudget, "delta=0.0 must be"),
        ({"calibration": "paper"}, ValueError, "calibration='paper'.*'tight'"),
        ({"neighbours": "swap"}, ValueError, "neighbours='swap'"),
        ({"gram_share": 0.0}, ValueError, "gram_share=0.0 must be"),
        ({"gram_share": 1.0}, ValueError, "gram_share=1.0 must be"),
        ({"floor": 0.0}, ValueError, "floor=0.0 must be"),
        ({"clip": math.nan}, ValueError, "clip=nan"),
        ({"distance": -1.0}, ValueError, "distance=-1.0"),
        ({"steps": 2.5}, ValueError, "steps=2.5 must be a whole number"),
        ({"momentum": 1.0}, ValueError, "momentum=1.0"),
        ({"step_size": 0.0}, ValueError, "step_size=0.0 must be .* leave it out"),
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        release(*design(), **arguments)
