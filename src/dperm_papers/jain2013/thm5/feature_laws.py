r"""Public points of the theory figures: laws of phi(z), ||phi(z)|| = R = 1, in d dimensions at the cost of the rows.

    ten-directions   phi(z) is uniform on the unit sphere of ten of the d axes: each has the variance 1/10, all other
                     axes have none;
    decaying         phi(z) = g/||g||, g_j ~ N(0, j^-2), j = 1..d: every axis counts, the later the less;
    half-outside     the points of ten-directions, but half of ||w*||^2 lies on an axis that no point has, so that no
                     public point tells of it.

w* = (1, .., 1, 0, .., 0)/sqrt(10), ten ones: the same whatever d (half-outside: these divided by sqrt(2), and 1/sqrt(2)
on the eleventh axis). All that a mechanism or an error needs is inner
products among rows and w*, so N rows in d > N dimensions are replaced by coordinates in an orthonormal basis of their
span: with G the Gram matrix of the rows and w*, summed over blocks of axes, and G = U diag(s) U', the rows of
U diag(s)^{1/2} have the same inner products.

Labels are logistic: P(y = 1) = 1/(1 + exp(-<w*, phi>)).

References
----------
jain2013, Section 6.1; catalogue of claims: rows with ten equal directions, and with variances j^-2.
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.errors import ConfigError
from dperm.solvers.blas import one_thread

DIRECTIONS = 10
OUTSIDE = "half-outside"
LAWS = ("ten-directions", "decaying", OUTSIDE)
# Axes of a block of the decaying law.
BLOCK = 4096


@dataclass(frozen=True)
class Rows:
    """Rows phi and w* in one orthonormal basis of r of the d dimensions; `outside`: the length of w* orthogonal to it.

    ||w||^2 + outside^2 = 1.
    """

    phi: np.ndarray
    w: np.ndarray
    d: int
    outside: float = 0.0


def draw(law: str, count: int, d: int, rng: np.random.Generator) -> Rows:
    """Draw independent rows of a law; ConfigError if the law is unknown, or d below 10."""
    if law not in LAWS:
        raise ConfigError(f"designs: unknown law {law!r}; known: {', '.join(LAWS)}")
    if d < DIRECTIONS:
        raise ConfigError(f"features: d={d} must be at least {DIRECTIONS}, the directions of w*")
    if law != "decaying":
        phi, outside = _unit(rng.standard_normal((count, DIRECTIONS))), math.sqrt(0.5) if law == OUTSIDE else 0.0
        return Rows(phi, np.full(DIRECTIONS, math.sqrt(1 - outside**2) * DIRECTIONS**-0.5), d, outside)
    if d <= count:
        w = np.zeros(d)
        w[:DIRECTIONS] = DIRECTIONS**-0.5
        return Rows(_unit(rng.standard_normal((count, d)) / np.arange(1, d + 1)), w, d)
    return _spanned(count, d, rng)


def _spanned(count: int, d: int, rng: np.random.Generator) -> Rows:
    """Decaying rows in a basis of their span and w*."""
    gram = np.zeros((count + 1, count + 1))
    with one_thread():
        for start in range(0, d, BLOCK):
            j = np.arange(start, min(start + BLOCK, d))
            block = np.vstack([rng.standard_normal((count, len(j))) / (j + 1), (j < DIRECTIONS) * DIRECTIONS**-0.5])
            gram += block @ block.T
        lengths = np.sqrt(np.diag(gram))
        values, vectors = np.linalg.eigh(gram / np.outer(lengths, lengths))
    basis = vectors * np.sqrt(np.maximum(values, 0.0))
    return Rows(basis[:-1], basis[-1], d)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
