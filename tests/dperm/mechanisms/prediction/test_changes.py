"""What neighbours' gradients differ by at one w: against records at random, and where minimisers move by nearly all."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize

from dperm import losses
from dperm.domain import Domain
from dperm.mechanisms.prediction import stable_erm, stable_sgd
from dperm.mechanisms.prediction.changes import change

CASES = [("logistic", None), ("squared", 1.0), ("poisson", 2.0), ("capped_logistic", None)]


def ends(loss, domain):
    return (-1.0, 1.0) if loss.targets == "binary" else (0.0 if loss.targets == "count" else -1.0, domain.y_bound)


def steepest(loss, domain):
    return domain.x_norm * loss.suprema(domain)[0]


@pytest.mark.parametrize(("name", "y_bound"), CASES)
@pytest.mark.parametrize("radius", [0.5, 4.0])
def test_no_two_records_differ_by_more_at_one_w_and_some_differ_by_nearly_as_much(name, y_bound, radius):
    """w anywhere in the ball, p = 3; of random triples (w, x, x_2) the best is climbed from."""
    loss, domain, rng = losses.make(name), Domain(2.0, y_bound, radius), np.random.default_rng(0)
    most = {how: change(loss, domain, how) * steepest(loss, domain) for how in ("add_remove", "replace")}

    def gradients(triples, pair):
        w, *records = np.moveaxis(np.reshape(triples, (-1, 3, 3)), 1, 0)
        w = w * radius / np.maximum(np.linalg.norm(w, axis=1, keepdims=True), radius)
        rows = [x * 2 / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 2) for x in records]
        return [loss.derivative((w * x).sum(axis=1), y)[:, None] * x for x, y in zip(rows, pair, strict=True)]

    def apart(triples, pair):
        one, other = gradients(triples, pair)
        return np.linalg.norm(one - other, axis=1)

    best, alone = 0.0, 0.0
    for pair in itertools.product(ends(loss, domain), repeat=2):
        starts = rng.standard_normal((5_000, 9)) * np.repeat([radius, 2.0, 2.0], 3)
        found = apart(starts, pair)
        climbed = optimize.minimize(lambda triple, pair=pair: -apart(triple, pair)[0], starts[found.argmax()])
        best = max(best, found.max(), -climbed.fun)
        alone = max(alone, *(np.linalg.norm(one, axis=1).max() for one in gradients(starts, pair)))
    assert 0.98 * most["replace"] < best <= most["replace"] * (1 + 1e-12)
    assert 0.7 * most["add_remove"] < alone <= most["add_remove"] * (1 + 1e-12)


def test_what_is_known_in_closed_form():
    """One logistic record has 1/(1 + e^-R), two at right angles to a long w nearly 2; a hinge has both."""
    for radius in (0.1, 1.0, 5.0):
        domain = Domain(1.0, None, radius)
        assert change(losses.logistic(), domain, "add_remove") == pytest.approx(1 / (1 + math.exp(-radius)), rel=1e-12)
        for loss in (losses.hinge(), losses.smoothed_hinge(), losses.huber(), losses.absolute()):
            assert change(loss, domain, "replace") == 2 and change(loss, domain, "add_remove") == 1
    assert change(losses.logistic(), Domain(1.0, None, 1.0), "replace") == pytest.approx(1.0991, rel=2e-3)
    # 2 ||x|| Y at w = 0, whatever the margins: twice |l'|.
    assert change(losses.squared(), Domain(1.0, 1.0, 1e-6), "replace") == pytest.approx(2, rel=1e-3)


def worst_in_the_plane(loss, domain, w):
    """Return the two records (x, y) whose gradients at w = (||w||, 0) differ most, from a grid."""
    turns = np.linspace(0, 2 * math.pi, 721)
    X = np.concatenate([np.column_stack([np.cos(turns), np.sin(turns)])] * 2)
    y = np.repeat(ends(loss, domain), len(turns))
    gradients = loss.derivative(X @ w, y)[:, None] * X
    apart = np.linalg.norm(gradients[:, None] - gradients, axis=-1)
    one, other = np.unravel_index(apart.argmax(), apart.shape)
    return (X[one], y[one]), (X[other], y[other])


@pytest.mark.parametrize(("name", "y_bound"), CASES[:3])
def test_stable_predictors_move_by_nearly_all_that_their_tight_noise_is_made_for(name, y_bound):
    """Short rows push w to the wall of the unit ball; there the worst two records of the plane replace one another."""
    loss, domain = losses.make(name), Domain(1.0, y_bound, 1.0)
    y = ends(loss, domain)[0]
    force = abs(float(loss.derivative(np.zeros(1), np.full(1, y))[0]))
    how = {"domain": domain, "epsilon": 1.0, "calibration": "tight"}
    total, number = 400.0, 20_000
    c = 0.985 * 2 * total / number / force
    X, target = (
        np.tile([c * np.sign(loss.derivative(np.zeros(1), np.full(1, y))[0]), 0.0], (number, 1)),
        np.full(number, y),
    )
    # They pull to (-1, 0).
    records = worst_in_the_plane(loss, domain, np.array([-0.98, 0.0]))
    made = [
        stable_erm.prepare(np.vstack([X, x]), np.append(target, t), loss, total=total, tolerance=1e-3, **how)
        for x, t in records
    ]
    moved = float(np.linalg.norm(made[0].w - made[1].w))
    assert 0.9 * made[0].rate < moved <= made[0].rate

    number, first = 40_000, 2_000
    Z, t = np.zeros((number, 2)), np.full(number, y)
    Z[:first] = X[0] / c
    passes = []
    for x, target in records:
        Z[first], t[first] = x, target
        passes.append(stable_sgd.prepare(Z, t, loss, **how))
    moved = float(np.linalg.norm(passes[0].w - passes[1].w))
    # The wall cuts what goes outward.
    assert 0.84 * passes[0].rate < moved <= passes[0].rate
