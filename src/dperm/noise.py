"""The noise laws, as small frozen objects that sample batches of vectors."""

import math
from dataclasses import dataclass

import numpy as np


def _check_scale(scale: float) -> None:
    if not (0 <= scale < math.inf):
        raise ValueError(f"noise scale={scale} must be a finite number, 0 or above")


def _others(asked: int, features: int) -> int:
    """Return how many coordinates are not asked for."""
    if features < asked:
        raise ValueError(f"features={features} must be at least {asked}, the number of coordinates asked for")
    return features - asked


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

    def length(self, features: int) -> float:
        """Return the root of the mean of ||b||^2, as for `Gaussian`: scale sqrt(p (p + 1)).

        Parameters
        ----------
        features : int
        """
        return self.scale * math.sqrt(features * (features + 1))

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw vectors along the last axis of `shape`.

        Parameters
        ----------
        shape : tuple of int
        rng : Generator
        """
        return spherical(shape[-1], self.scale, shape, rng)

    def marginal(self, shape: tuple[int, ...], features: int, rng: np.random.Generator) -> np.ndarray:
        """Draw some coordinates of vectors of so many `features`, without the others.

        b = ||b|| g/||g|| with g standard normal in R^p, and ||g||^2 is the squares of the m coordinates asked for plus
        an independent chi-square of p - m degrees of freedom: all that b's m coordinates know of the other p - m.

        Parameters
        ----------
        shape : tuple of int
            Ends in m, at least 1.
        features : int
            p >= m; p = m is `sample`.
        rng : Generator

        Raises
        ------
        ValueError
            If p < m.
        """
        others = _others(shape[-1], features)
        if others == 0:
            return self.sample(shape, rng)
        part = rng.standard_normal(shape)
        length2 = np.einsum("...j,...j->...", part, part) + rng.chisquare(others, shape[:-1])
        radius = rng.gamma(features, self.scale, shape[:-1])
        return part * (radius / np.sqrt(length2))[..., None]


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

    def length(self, features: int) -> float:
        """Return the root of the mean of ||b||^2.

        Parameters
        ----------
        features : int
        """
        return self.scale * math.sqrt(features)

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Draw an array of the given shape.

        Parameters
        ----------
        shape : tuple of int
        rng : Generator
        """
        return rng.normal(0.0, self.scale, shape)

    def marginal(self, shape: tuple[int, ...], features: int, rng: np.random.Generator) -> np.ndarray:
        """Draw some coordinates of vectors of so many `features`: they are independent of the others.

        Parameters
        ----------
        shape : tuple of int
            Ends in the number m of coordinates asked for.
        features : int
            p >= m.
        rng : Generator

        Raises
        ------
        ValueError
            If p < m.
        """
        _others(shape[-1], features)
        return self.sample(shape, rng)
