"""Distribution functions of noise on a line, accurate relative to themselves in either tail."""

import numpy as np
from scipy import special

from dperm.noise import Gaussian, Laplace, SphericalLaplace

# In one dimension the spherical law is Laplace's.
Noise = Gaussian | SphericalLaplace | Laplace


def lower_tail(law: Noise, z: np.ndarray | float) -> np.ndarray:
    """Return P(noise/scale <= z); the upper tail is that at -z, for all of these laws are even."""
    if isinstance(law, Gaussian):
        return special.ndtr(z)
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(np.less_equal(z, 0), half, 1.0 - half)


def between(law: Noise, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return P(low < noise <= high)."""
    # An interval on the right is the mirror image of one on the left, where nothing is lost to 1 - P.
    mirrored = low > 0
    low, high = np.where(mirrored, -high, low) / law.scale, np.where(mirrored, -low, high) / law.scale
    if isinstance(law, Gaussian):
        return special.ndtr(high) - special.ndtr(low)
    with np.errstate(over="ignore", invalid="ignore"):
        below_zero = 0.5 * np.exp(np.minimum(high, 0)) * -np.expm1(np.minimum(low - np.minimum(high, 0), 0))
        above_zero = -0.5 * np.expm1(-np.maximum(high, 0))
    return np.where(np.isneginf(high), 0.0, below_zero) + above_zero


def differences(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the mass between successive points, each from whichever tail is thinner: P(<= point) or P(> point)."""
    apart = 1.0 - lower[:-1] - upper[1:]
    mass = np.where(lower[1:] <= 0.5, np.diff(lower), np.where(upper[:-1] <= 0.5, -np.diff(upper), apart))
    return np.maximum(mass, 0.0)
