"""The multinomial loss: its gradient by differences and by a slow loop, its bounds, what one record can move."""

import math

import numpy as np
import pytest
import together
from designs import on_sphere
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, special

from dperm import losses
from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation
from dperm.mechanisms import gradient, preconditioned
from dperm.mechanisms.multinomial import Multinomial

DOMAIN, BUDGET, CLASSES = Domain(x_norm=1.5), Budget(1.0, 1e-6), 4
LOSS = Multinomial(CLASSES)


def design():
    rng = np.random.default_rng(0)
    X = on_sphere(rng, 30, 3, radius=1.5)
    X[0] = 0.0
    return X, rng.integers(CLASSES, size=30).astype(float)


def value(theta, x, y):
    """Return -log of the softmax at the record's class, from the definition."""
    margins = theta @ x
    return float(special.logsumexp(margins) - margins[int(y)])


def one_gradient(theta, x, y):
    margins = [float(row @ x) for row in theta]
    parts = [math.exp(margin - max(margins)) for margin in margins]
    return np.array([(part / sum(parts) - (k == int(y))) * x for k, part in enumerate(parts)])


def test_the_sum_is_that_of_central_differences():
    X, y = design()
    theta, width = np.random.default_rng(1).normal(size=(CLASSES, 3)), 1e-6
    found = LOSS.summed(X, y, theta.reshape(1, -1), np.full(len(X), np.inf)).reshape(theta.shape)
    for place in np.ndindex(theta.shape):
        moved = [theta.copy() for _ in range(2)]
        moved[0][place] += width
        moved[1][place] -= width
        up, down = (sum(value(one, *record) for record in zip(X, y, strict=True)) for one in moved)
        assert found[place] == pytest.approx((up - down) / (2 * width), abs=1e-7)


@together.over(
    ("arguments", "eta"),
    [
        ({"step_size": 0.02}, 0.02),
        ({"clip": 0.3, "momentum": 0.8, "ridge": 2.0, "average": "tail"}, None),
        ({"neighbours": "replace", "clip": 0.3}, 1 / (30 * 1.5**2 / 2)),
    ],
)
@together.over("form", [np.asarray, sparse.csr_array])
def test_each_repeat_is_the_slow_loop_with_the_same_noise(arguments, eta, form):
    X, y = design()
    told = {"ridge": 0.0, "clip": 1.5 * math.sqrt(2), "momentum": 0.0, "average": "none"} | arguments
    neighbours, steps, repeats = arguments.get("neighbours", "add_remove"), 5, 2
    law = gradient.calibrate(told["clip"], BUDGET, steps=steps, neighbours=neighbours)
    found = gradient.release(
        form(X), y, LOSS, domain=DOMAIN, budget=BUDGET, calibration="tight", rng=np.random.default_rng(4),
        steps=steps, repeats=repeats, **{"neighbours": neighbours} | arguments,
    ).theta  # fmt: skip
    drawn = np.random.default_rng(4).normal(0.0, law.scale, (steps, repeats, CLASSES, 3))
    for r in range(repeats):
        theta, velocity, squares, iterates = np.zeros((CLASSES, 3)), np.zeros((CLASSES, 3)), 0.0, []
        for z in drawn[:, r]:
            total = z + told["ridge"] * theta
            for x, target in zip(X, y, strict=True):
                one = one_gradient(theta, x, target)
                size = math.sqrt((one**2).sum())
                total = total + one * min(1.0, told["clip"] / size) if size > 0 else total
            squares += (total**2).sum()
            velocity = told["momentum"] * velocity + total
            theta = theta - (1 / (1.5 * math.sqrt(squares)) if eta is None else eta) * velocity
            iterates.append(theta)
        expected = iterates[-1] if told["average"] == "none" else np.mean(iterates[steps // 2 :], axis=0)
        np.testing.assert_allclose(found[r].reshape(CLASSES, 3), expected, rtol=1e-10, atol=1e-12)


def test_blocks_of_rows_add_up():
    """More rows than a block holds: half of them, and the other half."""
    rng = np.random.default_rng(2)
    X, y, theta = rng.normal(size=(50_001, 2)), rng.integers(CLASSES, size=50_001) * 1.0, rng.normal(size=(3, 8))
    limit = gradient.limits(X, 0.5)
    parts = [LOSS.summed(X[part], y[part], theta, limit[part]) for part in (slice(9_000), slice(9_000, None))]
    np.testing.assert_allclose(LOSS.summed(X, y, theta, limit), sum(parts), rtol=1e-9)


def test_the_bounds_hold_and_are_attained():
    """zeta where the model is sure of another class, the length at 0, lambda where two classes share all."""
    x, far = np.array([0.9, 1.2]), np.zeros((CLASSES, 2))
    far[1] = 40 * x
    assert np.linalg.norm(one_gradient(far, x, 0)) == pytest.approx(LOSS.gradient_bound(DOMAIN), rel=1e-9)
    assert np.linalg.norm(one_gradient(0 * far, x, 0)) == pytest.approx(LOSS.longest_at_0(DOMAIN), rel=1e-12)
    rng, largest = np.random.default_rng(3), []
    for margins in [*rng.normal(size=(200, CLASSES)) * rng.exponential(3.0, (200, 1)), [0.0, 0.0, -40.0, -40.0]]:
        s = special.softmax(margins)
        largest.append(np.linalg.eigvalsh(np.kron(np.diag(s) - np.outer(s, s), np.outer(x, x)))[-1])
        assert np.linalg.norm(s - np.eye(CLASSES)[0]) <= math.sqrt(2) * (1 + 1e-12)
    assert max(largest) == pytest.approx(LOSS.curvature_bound(DOMAIN), rel=1e-9) == largest[-1]


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-3, 1e3), st.sampled_from([0.0, 1e-320, 1e-170, 1.0, 1e4, 1e140]), st.integers(0, 2**32 - 1))
def test_no_record_moves_the_sum_by_more_than_the_clip(clip, spread, seed):
    """Rows of any length, any theta: one record more moves by c, another record by 2c."""
    rng = np.random.default_rng(seed)
    X, theta = spread * rng.normal(size=(6, 3)), rng.normal(size=(2, 12))
    y = rng.integers(CLASSES, size=6) * 1.0
    limit = gradient.limits(X, clip)
    every, least, other = (
        LOSS.summed(X[keep], y[keep], theta, limit[keep]) for keep in (list(range(6)), list(range(5)), [0, 1, 2, 3, 5])
    )
    # What is subtracted is a sum of up to six.
    assert (np.linalg.norm(every - least, axis=1) <= clip * (1 + 1e-9)).all()
    assert (np.linalg.norm(other - least, axis=1) <= 2 * clip * (1 + 1e-9)).all()


def test_the_sensitivity_is_attained():
    """The same class at opposite rows: 2c, no less."""
    theta, limit = np.zeros((1, CLASSES)), np.array([0.1])
    up, down = (LOSS.summed(np.array([[x]]), np.zeros(1), theta, limit) for x in (1.0, -1.0))
    assert np.linalg.norm(up - down) == pytest.approx(0.2, rel=1e-12)


def test_of_two_classes_the_difference_is_the_logistic_gradient():
    X, y = design()
    y, theta = y % 2, np.random.default_rng(5).normal(size=(2, 3))
    first, second = Multinomial(2).summed(X, y, theta.reshape(1, -1), np.full(len(X), np.inf)).reshape(2, 3)
    expected = losses.logistic().derivative(X @ (theta[1] - theta[0]), 2 * y - 1) @ X
    np.testing.assert_allclose(second, expected, rtol=1e-10)
    np.testing.assert_allclose(first, -expected, rtol=1e-10)


def test_a_preconditioned_step_multiplies_each_class_by_the_same_matrix():
    rng, floor, distance, variance = np.random.default_rng(6), 0.7, 1.3, 0.2
    noisy = rng.normal(size=(2, 3, 3))
    move = preconditioned.preconditioned(noisy, floor, distance, variance)
    g, v = rng.normal(size=(2, 2, CLASSES * 3))
    moved = move(g, v)
    for r in range(2):
        values, vectors = np.linalg.eigh((noisy[r] + noisy[r].T) / 2)
        raised = vectors @ np.diag(np.maximum(values, 0) + floor) @ vectors.T
        P, each = np.linalg.inv(raised), g[r].reshape(CLASSES, 3)
        noise = variance * np.trace(P)
        counted = noise + 0.03 * max(sum(row @ P @ row for row in each) - noise, 0.0)
        eta = distance * math.sqrt(np.trace(raised) / counted)
        expected = [eta * P @ row for row in v[r].reshape(CLASSES, 3)]
        np.testing.assert_allclose(moved[r].reshape(CLASSES, 3), expected, rtol=1e-9)


@together.over("label", [-1.0, 4.0, 0.5, math.nan])
def test_what_is_no_class_is_refused(label):
    with pytest.raises(DomainViolation, match=r"classes 0 \.\. 3 alone"):
        LOSS.targets_of(np.array([0.0, label]), DOMAIN)
