"""The synthetic data of kifer2012's experiments: what the statements hold or fail on, made by formula."""

import numpy as np
from scipy.linalg import hadamard

# Noise of y in the design `rad`, and the bound that its l1 and sample-size conditions are computed with: an sd that the
# noise seldom doubles.
NOISE = 0.25
DECLARED = 2 * NOISE


def rademacher(
    n: int, p: int, size: int, rng: np.random.Generator, *, noise: float = NOISE, clip: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X, y and theta* of `rad`: x uniform on {-1, 1}^p, y = <x, theta*> + N(0, noise^2).

    y is clipped to [-s, s], as Section 3.1 asks for, unless `clip` is off. theta* is 1 and -1 in turn on the first
    s columns.
    """
    X = signs(n, p, rng).astype(float)
    theta = np.zeros(p)
    theta[:size] = np.where(np.arange(size) % 2, -1.0, 1.0)
    y = X[:, :size] @ theta[:size] + noise * rng.standard_normal(n)
    return X, np.clip(y, -size, size) if clip else y, theta


def signs(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return independent signs, int8 of shape (n, p): 2 rng.integers(0, 2) - 1 of int8, in a third of the time.

    Of each byte that is drawn both take the highest bit.
    """
    bits = np.frombuffer(rng.bytes(n * p), np.uint8) >> 7
    return (2 * bits.view(np.int8) - 1).reshape(n, p)


def hadamard_rows(p: int) -> np.ndarray:
    """Return the rows of a Hadamard matrix, p a power of two, X'X = p I: stacked n/p times they are `had`."""
    return hadamard(p).astype(float)
