"""Noise objects: shapes, scales, refusals. Their laws are tested in tests/statistical/test_noise_laws.py."""

import dataclasses
import math

import numpy as np
import pytest
import together
from hypothesis import given
from hypothesis import strategies as st

from dperm.noise import Gaussian, Laplace, SphericalLaplace

LAWS = [Laplace, SphericalLaplace, Gaussian]


def rng(seed=0):
    return np.random.default_rng(seed)


@together.over("law", LAWS)
@together.over("shape", [(4,), (1, 1), (5, 3), (2, 7, 4), (0, 3), (3, 0)])
def test_samples_have_the_shape_asked_for(law, shape):
    drawn = law(0.5).sample(shape, rng())
    assert drawn.shape == shape
    assert drawn.dtype == np.float64
    assert np.isfinite(drawn).all()


@pytest.mark.parametrize("law", LAWS)
def test_each_vector_of_a_batch_has_a_norm_and_a_direction_of_its_own(law):
    drawn = law(1.0).sample((4, 3, 5), rng()).reshape(-1, 5)
    norms = np.linalg.norm(drawn, axis=1)
    assert len(set(norms)) == len(norms)
    cosines = np.abs((drawn / norms[:, None]) @ (drawn / norms[:, None]).T)
    assert np.max(cosines - np.eye(len(cosines))) < 0.9999


@pytest.mark.parametrize("law", LAWS)
@given(scale=st.floats(1e-6, 1e6), seed=st.integers(0, 2**32))
def test_noise_is_proportional_to_its_scale(law, scale, seed):
    np.testing.assert_allclose(
        law(scale).sample((3, 4), rng(seed)), scale * law(1.0).sample((3, 4), rng(seed)), rtol=1e-12
    )


@pytest.mark.parametrize("law", LAWS)
def test_the_generator_is_the_only_source_of_randomness(law):
    np.testing.assert_array_equal(law(1.0).sample((9, 4), rng(3)), law(1.0).sample((9, 4), rng(3)))
    assert not np.array_equal(law(1.0).sample((9, 4), rng(3)), law(1.0).sample((9, 4), rng(4)))


@pytest.mark.parametrize("law", LAWS)
def test_scale_zero_is_no_noise(law):
    np.testing.assert_array_equal(law(0.0).sample((3, 4), rng()), np.zeros((3, 4)))


@together.over("law", LAWS)
@together.over("scale", [-1e-300, -1.0, math.inf, -math.inf, math.nan])
def test_a_scale_that_is_none_is_refused_and_shown(law, scale):
    with pytest.raises(ValueError, match=f"noise scale={scale}"):
        law(scale)


@together.over("law", LAWS)
def test_a_scale_cannot_be_changed_after_it_was_checked(law):
    noise = law(1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        noise.scale = 0.0


@pytest.mark.parametrize("law", [Gaussian(2.0), SphericalLaplace(2.0)])
def test_the_length_is_the_root_of_the_mean_square(law):
    drawn = law.sample((20_000, 7), rng())
    assert law.length(7) == pytest.approx(np.sqrt((drawn**2).sum(axis=1).mean()), rel=0.02)
