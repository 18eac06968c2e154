"""Stable SGD: the descent against its transcription, its rates over the position of the replaced record."""

import numpy as np
import pytest
from designs import in_ball

from dperm import losses
from dperm.domain import Domain
from dperm.errors import DataError, DomainViolation
from dperm.mechanisms.prediction import stable_erm, stable_sgd

SMOOTH = ("logistic", "smoothed_hinge", "huber", "squared")


def literal(X, y, loss, eta, radius):
    """PSGD as the paper writes it, with errata D11's sign and mean."""
    w, kept = np.zeros(X.shape[1]), []
    for x, target in zip(X, y, strict=True):
        kept.append(w)
        w = w - eta * loss.derivative(w @ x, target) * x
        w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))
    return np.mean(kept, axis=0)


def test_constants():
    size = stable_sgd.step(2.0, 3.0, 5.0, 100)
    assert size == pytest.approx(5 / (6 * 10)) and stable_sgd.step(2.0, 3.0, 5.0, 100, "halved") == size / 2
    rates = [stable_sgd.rate(2.0, 3.0, 5.0, 100, calibration=how) for how in ("paper", "corrected", "tight")]
    assert rates == pytest.approx([1.5, 3.0, 2.97])
    halved = [
        stable_sgd.rate(2.0, 3.0, 5.0, 100, calibration=how, eta="halved") for how in ("paper", "corrected", "tight")
    ]
    assert halved == pytest.approx([1.5, 1.5, 1.485])
    assert stable_sgd.guarantee("paper") == "none" and stable_sgd.guarantee("paper", "halved") == "proved"


@pytest.mark.parametrize("name", [*SMOOTH, "poisson"])
def test_descent_is_the_papers(name):
    loss = losses.make(name)
    X, y = in_ball(40, labels=loss.targets == "binary")
    y = np.round(2 * np.abs(y)) if name == "poisson" else y
    for eta, radius in ((0.3, 10.0), (0.9, 0.3)):
        np.testing.assert_allclose(
            stable_sgd.descend(X, y, loss, eta=eta, radius=radius), literal(X, y, loss, eta, radius), atol=1e-14
        )


def test_many_passes_are_those_of_one():
    loss = losses.make("logistic")
    X, y = in_ball(40), in_ball(40, seed=1)
    both = stable_sgd.descend(np.stack([X[0], y[0]]), np.stack([X[1], y[1]]), loss, eta=0.2, radius=1.0)
    for r, (rows, labels) in enumerate((X, y)):
        np.testing.assert_array_equal(both[r], stable_sgd.descend(rows, labels, loss, eta=0.2, radius=1.0))
    shared = stable_sgd.descend(X[0], np.stack([X[1], y[1]]), loss, eta=0.2, radius=1.0)
    np.testing.assert_array_equal(shared[1], stable_sgd.descend(X[0], y[1], loss, eta=0.2, radius=1.0))


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("eta", ["printed", "halved"])
def test_no_replaced_record_moves_the_mean_by_more_than_its_position_allows(name, eta):
    loss, n, radius = losses.make(name), 30, 0.5
    X, y = in_ball(n, labels=loss.targets == "binary")
    lipschitz = stable_erm.slope(loss, Domain(1.0, 1.0, radius))
    size = stable_sgd.step(lipschitz, 1.0, radius, n, eta)
    stable_sgd.check_smooth(loss, Domain(1.0, 1.0, radius), size)
    w = stable_sgd.descend(X, y, loss, eta=size, radius=radius)
    for i in range(n):
        Z, other = X.copy(), y.copy()
        Z[i], other[i] = -X[i] / np.linalg.norm(X[i]), -y[i]
        moved = np.linalg.norm(stable_sgd.descend(Z, other, loss, eta=size, radius=radius) - w)
        assert moved <= 2 * size * lipschitz * (n - 1 - i) / n + 1e-12


def test_the_exact_rate_is_attained_and_the_printed_one_exceeded():
    n, loss = 100, losses.make("smoothed_hinge", width=0.5)
    X, y = np.ones((n, 1)), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    other = np.where(np.arange(n) == 0, -y, y)
    for eta, ratio in (("printed", 2 * 0.99), ("halved", 0.99)):
        size = stable_sgd.step(1.0, 1.0, 1.0, n, eta)
        moved = abs(np.subtract(*(stable_sgd.descend(X, v, loss, eta=size, radius=1.0)[0] for v in (y, other))))
        assert moved == pytest.approx(stable_sgd.rate(1.0, 1.0, 1.0, n, calibration="tight", eta=eta), rel=1e-12)
        assert moved / stable_sgd.rate(1.0, 1.0, 1.0, n, calibration="paper", eta=eta) == pytest.approx(ratio)


def test_too_little_smoothness_is_refused_for_steps_then_expand():
    loss, n = losses.make("huber", knee=1.0), 25
    size = stable_sgd.step(1.0, 1.0, 15.0, n)
    assert size == 3.0
    with pytest.raises(DomainViolation, match="eta='halved', or StableERM"):
        stable_sgd.check_smooth(loss, Domain(1.0, None, 15.0), size)
    # Two first labels +-0.1 put w_1 0.6 apart; at y = 0 a step of 3 takes w to -2 w.
    means = [
        [
            stable_sgd.descend(np.ones((m, 1)), np.array([first, 0.0, 0.0])[:m], loss, eta=size, radius=15.0)[0]
            for m in (2, 3)
        ]
        for first in (0.1, -0.1)
    ]
    second, third = ((m * np.subtract(*values)) for m, values in zip((2, 3), zip(*means, strict=True), strict=True))
    assert second == pytest.approx(0.6) and third - second == pytest.approx(-1.2)


def test_mistakes_are_named():
    X, y = in_ball(40)
    loss = losses.make("logistic")
    given = {"domain": Domain(1.0, None, 1.0), "epsilon": 1.0, "calibration": "tight"}
    with pytest.raises(DataError, match="no records"):
        stable_sgd.prepare(X[:0], y[:0], loss, **given)
    with pytest.raises(DataError, match="shapes"):
        stable_sgd.descend(X, y[:-1], loss, eta=0.1, radius=1.0)
    with pytest.raises(DataError, match="as many repeats"):
        stable_sgd.descend(np.stack([X] * 2), np.stack([y] * 3), loss, eta=0.1, radius=1.0)
    with pytest.raises(ValueError, match="has a kink"):
        stable_sgd.descend(X, y, losses.make("hinge"), eta=0.1, radius=1.0)
    with pytest.raises(DomainViolation, match="neighbours='add_remove'"):
        stable_sgd.prepare(X, y, loss, neighbours="add_remove", **given)
    with pytest.raises(DomainViolation, match="lipschitz"):
        stable_sgd.step(0.0, 1.0, 1.0, 10)
    with pytest.raises(DomainViolation, match="n=0"):
        stable_sgd.step(1.0, 1.0, 1.0, 0)
