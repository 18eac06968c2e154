"""Random Fourier features: Bochner's theorem, and both papers' algorithms written down again in their own words."""

import math

import numpy as np
import pytest
from scipy import optimize, sparse

from dperm import losses, noise
from dperm.domain import Budget, Domain
from dperm.errors import InvalidBudget
from dperm.mechanisms.kernel import random_features

FREE = Domain(x_norm=1.0)


def design(n=50, d=4, count=3, seed=0):
    rng = np.random.default_rng(seed)
    # Rows of any length: nothing about x has to be bounded.
    X = 5 * rng.standard_normal((n, d))
    omega = random_features.frequencies(d, count, 2.0, rng)
    return X, np.where(np.sin(X[:, 0]) > 0, 1.0, -1.0), omega


def release(X, y, omega, **rest):
    fixed = {
        "domain": FREE, "budget": Budget(1.0), "neighbours": "replace", "calibration": "paper", "tolerance": 1e-9,
        "rng": np.random.default_rng(5), "curvature": 10.0, "repeats": 3,
    }  # fmt: skip
    return random_features.release(X, y, losses.smoothed_hinge(), omega=omega, **{**fixed, **rest})


def transcribed(X, omega):
    """The features of one record after the other: pairs (cos, sin) of each frequency, over sqrt D."""
    count = omega.shape[1]
    rows = []
    for x in X:
        angles = [sum(a * b for a, b in zip(x, omega[:, j], strict=True)) for j in range(count)]
        rows.append([math.cos(a) / math.sqrt(count) for a in angles] + [math.sin(a) / math.sqrt(count) for a in angles])
    return np.array(rows)


def mean_minimiser(V, y, loss, Lambda, tilt):
    """The minimiser of CMS11's J_priv(f, D) = mean loss + Lambda/2 ||f||^2 + <b, f>/n."""
    n = len(V)

    def value(f):
        slope = V.T @ loss.derivative(V @ f, y) / n + Lambda * f + tilt / n
        return loss.value(V @ f, y).mean() + Lambda / 2 * f @ f + tilt @ f / n, slope

    start = np.zeros(V.shape[1])
    return optimize.minimize(value, start, jac=True, method="L-BFGS-B", options={"gtol": 1e-12, "ftol": 1e-16}).x


def test_products_of_features_are_the_gaussian_kernel_in_the_mean_and_their_length_is_one():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 3))
    z = random_features.features(X, random_features.frequencies(3, 400_000, 1.5, rng))
    apart = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    # Each product is a mean of D cosines of variance 1/2 at most: four standard deviations.
    np.testing.assert_allclose(z @ z.T, np.exp(-apart / (2 * 1.5**2)), atol=4 * math.sqrt(0.5 / 400_000))
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), 1.0, rtol=1e-12)


def test_features_of_sparse_rows_are_those_of_dense_rows():
    X, _, omega = design()
    made = random_features.features(sparse.csr_array(X), omega)
    np.testing.assert_allclose(made, transcribed(X, omega), atol=1e-12)


def test_features_that_are_given_are_not_made_again():
    X, y, omega = design()
    made, shared = (release(X, y, omega, mapped=Z) for Z in (None, random_features.features(X, omega)))
    np.testing.assert_array_equal(made.theta, shared.theta)


def test_objective_perturbation_is_algorithm_3_of_chaudhuri_et_al():
    X, y, omega = design()
    loss, n, c, epsilon = losses.smoothed_hinge(), len(X), 1.0, 1.0
    Lambda = 10.0 / n
    rest = epsilon - math.log(1 + 2 * c / (n * Lambda) + c**2 / (n * Lambda) ** 2)
    assert rest > 0
    drawn = noise.SphericalLaplace(2 / rest).sample((3, 6), np.random.default_rng(5))
    expected = [mean_minimiser(transcribed(X, omega), y, loss, Lambda, b) for b in drawn]
    made = release(X, y, omega)
    np.testing.assert_allclose(made.theta, expected, rtol=1e-4, atol=1e-5)
    assert made.guarantee == "proved_exact"


def test_output_perturbation_is_private_svm_of_rubinstein_et_al():
    X, y, omega = design()
    n, count, beta = len(X), omega.shape[1], 1.0
    # Their C weighs the mean loss beside half the squared length, and the hinge has L = 1.
    C = n / 10.0
    scale = 2**2.5 * 1.0 * C * math.sqrt(count) / (beta * n)
    plain = mean_minimiser(transcribed(X, omega), y, losses.smoothed_hinge(), 1 / C, np.zeros(6))
    made = release(X, y, omega, perturbation="output", repeats=4000)
    np.testing.assert_allclose(made.theta.mean(axis=0), plain, atol=5 * scale * math.sqrt(2 / 4000))
    # E|z| of a Laplace variable is its scale.
    assert np.abs(made.theta - plain).mean() == pytest.approx(scale, rel=0.03)
    assert made.guarantee == "proved"
    assert made.converged.all()


@pytest.mark.parametrize("perturbation", ["objective", "output"])
def test_gaussian_noise_moves_a_prediction_as_much_with_many_features_as_with_few(perturbation):
    X, y, few = design(count=2)
    many = random_features.frequencies(4, 200, 2.0, np.random.default_rng(3))
    spread = []
    for omega in (few, many):
        fixed = {"calibration": "tight", "budget": Budget(1.0, 1e-6), "curvature": 1000.0, "repeats": 2000}
        made = release(X, y, omega, perturbation=perturbation, tolerance=1e-6, **fixed)
        spread.append((made.theta @ random_features.features(X[:1], omega)[0]).std())
    assert spread[1] == pytest.approx(spread[0], rel=0.08)


def test_the_printed_noise_is_for_pure_privacy_alone():
    X, y, omega = design()
    for perturbation in ("objective", "output"):
        with pytest.raises(InvalidBudget, match="delta=0"):
            release(X, y, omega, perturbation=perturbation, budget=Budget(1.0, 1e-6))
