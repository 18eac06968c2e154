"""Privacy losses on a grid: closed forms, another accountant, and all transcripts of a few rounds."""

import itertools
import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from dperm.audit import bounds
from dperm.laws import privacy_loss
from dperm.laws.finite import best_event


@pytest.mark.parametrize("delta", [1e-9, 1e-4, 0.05])
def test_one_laplace_answer_has_a_closed_form(delta):
    """delta(epsilon) = 1 - e^{(epsilon - a)/2}."""
    found = privacy_loss.laplace(0.7, 3_000).epsilon(delta).epsilon
    assert found == pytest.approx(0.7 + 2 * math.log1p(-delta), abs=1e-3) and found <= 0.7 + 2 * math.log1p(-delta)


@pytest.mark.parametrize(("shift", "queries", "delta"), [(0.3, 10, 1e-6), (0.05, 300, 1e-6), (0.5, 40, 1e-3)])
def test_aligned_answers_are_those_of_another_accountant(shift, queries, delta):
    """Google's privacy-loss distributions, rounded up on a fine grid: just above."""
    other = privacy_loss_distribution.from_laplace_mechanism(1 / shift, value_discretization_interval=1e-4)
    other = other.self_compose(queries).get_epsilon_for_delta(delta)
    found = privacy_loss.aligned_laplace(shift, queries).epsilon(delta).epsilon
    assert found == pytest.approx(other, rel=3e-3) and found <= other


@pytest.mark.parametrize("queries", [1, 7])
def test_gaussian_answers_have_the_gaussians_curve(queries):
    found = privacy_loss.gaussian(0.4, 100).self_compose(queries).epsilon(1e-6).epsilon
    curve = bounds.gaussian_epsilon(0.4 * math.sqrt(queries), 1e-6)
    assert found == pytest.approx(curve, rel=5e-3) and found <= curve


def test_rounding_only_lowers_the_bound():
    rng = np.random.default_rng(3)
    for delta in (0.0, 1e-3, 0.1):
        p, q = rng.dirichlet(np.ones(9), 2)
        value, _ = best_event(p, q, delta)
        coarse, fine = (privacy_loss.of_outcomes(p, q, width).epsilon(delta).epsilon for width in (0.2, 1e-4))
        assert coarse <= value * (1 + 1e-9) and fine == pytest.approx(value, abs=2e-4)


def test_rounds_add_up():
    """Three rounds, against all 27 transcripts."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    whole = [np.array([math.prod(one) for one in itertools.product(side, repeat=3)]) for side in (p, q)]
    one = privacy_loss.of_outcomes(p, q, 1e-4)
    assert one.self_compose(3).epsilon(1e-2).epsilon == pytest.approx(best_event(*whole, 1e-2)[0], abs=1e-3)
    np.testing.assert_allclose(one.self_compose(3).masses, one.compose(one).compose(one).masses, atol=1e-15)
    assert one.self_compose(0).masses == [1.0]


def test_outcomes_left_out_and_impossible_ones():
    found = privacy_loss.of_outcomes(np.array([0.4, 0.1]), np.array([0.2, 0.0]), 0.01)
    # All of Q's mass is where P has 0.4: {the second} spends as much as is told apart.
    assert found.epsilon(0.05).epsilon > 20
    half = privacy_loss.of_outcomes(np.array([0.4]), np.array([0.2]), 0.01)
    assert half.epsilon(0.0).epsilon == pytest.approx(math.log(2), abs=0.02)
    both = half.union(privacy_loss.of_outcomes(np.array([0.6]), np.array([0.8]), 0.01))
    assert both.masses.sum() == pytest.approx(1.0) and both.epsilon(0.0).epsilon == pytest.approx(math.log(2), abs=0.02)
