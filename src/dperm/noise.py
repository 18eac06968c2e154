"""The noise laws, as small frozen objects that sample batches of vectors."""

import math
from dataclasses import dataclass

import numpy as np


def _check_scale(scale: float) -> None:
    if not (0 <= scale < math.inf):
        raise ValueError(f"noise scale={scale} must be a finite number, 0 or above")


def spherical(radius_shape: float, scale: float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw vectors of uniform direction and length Gamma(radius_shape, scale) along the last axis of `shape`.

    Parameters
    ----------
    radius_shape : float
        Above 0.
    scale : float
        0 or above, finite.
    shape : tuple of int
    rng : Generator

    Returns
    -------
    ndarray
    """
    direction = rng.standard_normal(shape)
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    return rng.gamma(radius_shape, scale, (*shape[:-1], 1)) * direction


@dataclass(frozen=True)
class Laplace:
    """Independent Laplace coordinates, density proportional to exp(-|z| / scale).

    Parameters
    ----------
    scale : float
        0 or above, finite.
    """

    scale: float

    def __post_init__(self):
        _check_scale(self.scale)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw an array of the given shape.

        Parameters
        ----------
        shape : tuple of int
        rng : Generator

        Returns
        -------
        ndarray
        """
        return rng.laplace(0.0, self.scale, shape)


@dataclass(frozen=True)
class SphericalLaplace:
    """The density proportional to exp(-||b||_2 / scale) on R^p.

    The norm is Gamma(shape p, scale) and the direction uniform (kifer2012, Algorithm 1 line 3, "gamma noise", with
    scale = 2 zeta / epsilon; li2021 prints shape 1, erratum N1).

    Parameters
    ----------
    scale : float
        0 or above, finite.
    """

    scale: float

    def __post_init__(self):
        _check_scale(self.scale)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw vectors along the last axis of `shape`.

        Parameters
        ----------
        shape : tuple of int
        rng : Generator

        Returns
        -------
        ndarray
        """
        return spherical(shape[-1], self.scale, shape, rng)


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian N(0, scale^2 I).

    Parameters
    ----------
    scale : float
        Standard deviation of a coordinate, 0 or above, finite.
    """

    scale: float

    def __post_init__(self):
        _check_scale(self.scale)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw an array of the given shape.

        Parameters
        ----------
        shape : tuple of int
        rng : Generator

        Returns
        -------
        ndarray
        """
        return rng.normal(0.0, self.scale, shape)
