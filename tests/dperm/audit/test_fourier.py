"""Attacks on random Fourier features: their laws against draws, what they must find, and noise that is too small."""

import numpy as np
import pytest
import together
from scipy import integrate, special

from dperm import noise
from dperm.audit import fourier, line, white_box
from dperm.domain import Budget

ONE, APPROXIMATE = Budget(1.0), Budget(1.0, 1e-6)
# Calibration, variant, budget, the share of epsilon under replace-one: of Rubinstein et al. a half, for they double the
# sensitivity; of Gaussian objective perturbation what its two-sided bound loses on constant forces.
ATTACKED = [
    ("paper", "gamma_objective", ONE, 1.0),
    ("paper", "laplace_output", ONE, 0.5),
    ("tight", "gamma_output", ONE, 1.0),
    ("tight", "gaussian_output", APPROXIMATE, 1.0),
    ("tight", "gaussian_objective", APPROXIMATE, 0.965),
]


@pytest.mark.parametrize("law", [noise.SphericalLaplace(0.7), noise.Laplace(0.7), noise.Gaussian(0.7)])
def test_the_tail_along_the_features_is_that_of_draws(law):
    along = law.sample((200_000, 2), np.random.default_rng(0)) @ fourier.PLACE
    points = np.array([-3.0, -1.0, 0.0, 0.5, 2.0, 4.0])
    shares = (along[:, None] > points).mean(axis=0)
    np.testing.assert_allclose(fourier.tail(law, points), shares, atol=4 * np.sqrt(0.25 / 200_000))


def test_the_tail_of_gamma_noise_is_right_far_out_and_at_the_seam():
    """By quadrature of the marginal density, which is |v| K_1(|v|)/pi."""
    points = np.array([0.01, 1.999, 2.0, 2.001, 50.0])
    whole = [
        np.exp(-v) * integrate.quad(lambda u, v=v: u * special.k1e(u) * np.exp(v - u), v, v + 60, epsabs=0)[0] / np.pi
        for v in points
    ]
    np.testing.assert_allclose(fourier.tail(noise.SphericalLaplace(1.0), points), whole, rtol=1e-8)
    assert fourier.tail(noise.SphericalLaplace(1.0), np.zeros(1)) == pytest.approx(0.5)


@pytest.mark.parametrize(("calibration", "variant", "budget", "share"), ATTACKED[:2] + ATTACKED[3:])
def test_the_attack_spends_what_the_constants_allow(calibration, variant, budget, share):
    made = fourier.case(calibration, variant, "replace", budget)
    found = line.lower_bound(fourier.target(made), made.data, made.neighbour, delta=budget.delta).epsilon
    assert share * budget.epsilon * 0.98 < found <= budget.epsilon


@together.over("neighbours", ["add_remove", "replace"])
@together.over(("calibration", "variant", "budget", "share"), ATTACKED)
def test_the_mechanism_draws_from_the_law_and_weaker_noise_is_seen(calibration, variant, budget, share, neighbours):
    made = fourier.case(calibration, variant, neighbours, budget)
    drawn = fourier.drawing(made, calibration, neighbours, budget)(made.neighbour, 400, np.random.default_rng(2))
    behind = fourier.target(made).noise(drawn.theta, made.neighbour)
    assert white_box.noise_test(behind, made.law).p_value > 1e-4
    assert white_box.noise_test(behind, type(made.law)(made.law.scale / 1.5)).p_value < 1e-6
