"""Lemma 4.5 with Gaussian noise: its privacy and its cost, by quadrature of the two laws."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dperm.domain import Budget
from dperm.errors import InvalidBudget
from dperm.mechanisms.prediction import stable_gaussian

RATE = 0.5


def divergence(scale, epsilon):
    """int (p - e^epsilon q)_+ of two normal densities RATE apart."""

    def excess(t):
        return max(stats.norm.pdf(t, 0, scale) - math.exp(epsilon) * stats.norm.pdf(t, RATE, scale), 0.0)

    # The ratio falls in t, and is e^epsilon here.
    end = RATE / 2 - epsilon * scale**2 / RATE
    return integrate.quad(excess, end - 12 * scale, end, epsabs=0)[0]


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 1e-3), (1.0, 1e-6), (3.0, 1e-2)])
def test_the_tight_noise_spends_all_of_delta_and_the_classical_less_below_one(epsilon, delta):
    tight, proved = stable_gaussian.calibrate(RATE, Budget(epsilon, delta), calibration="tight")
    assert divergence(tight.scale, epsilon) == pytest.approx(delta, rel=1e-6)
    classical, _ = stable_gaussian.calibrate(RATE, Budget(epsilon, delta), calibration="paper")
    assert classical.scale == pytest.approx(RATE * math.sqrt(2 * math.log(1.25 / delta)) / epsilon)
    assert proved == "proved"
    assert classical.scale > tight.scale


def test_the_classical_noise_proves_nothing_at_large_epsilon():
    budget = Budget(10.0, 1e-2)
    noise, guarantee = stable_gaussian.calibrate(RATE, budget, calibration="paper")
    assert guarantee == "none"
    assert divergence(noise.scale, 10.0) > 1e-2


def test_answers_are_the_values_and_the_noise():
    budget, rng = Budget(1.0, 1e-6), np.random.default_rng(0)
    made = stable_gaussian.release([0.0, 3.0], RATE, budget, calibration="tight", rng=rng, repeats=20_000)
    scale = stable_gaussian.calibrate(RATE, budget, calibration="tight")[0].scale
    assert stats.kstest((made - [0.0, 3.0]).ravel() / scale, "norm").pvalue > 1e-3
    off = np.abs(made[:, 0])
    # The absolute loss and the squared loss at y = 0 attain the bounds.
    assert off.mean() == pytest.approx(stable_gaussian.lipschitz_cost(scale, 1.0), rel=0.02)
    assert (off**2).mean() == pytest.approx(2 * stable_gaussian.smooth_cost(scale, 1.0), rel=0.03)


def test_gaussian_noise_needs_a_delta():
    with pytest.raises(InvalidBudget, match="Laplace noise"):
        stable_gaussian.calibrate(RATE, Budget(1.0), calibration="tight")
