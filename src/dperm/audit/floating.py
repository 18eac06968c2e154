r"""Leaks through floating-point numbers: a grid that hides them from an audit, and scores of last bits that show them.

Noise that is drawn as a double and added in doubles does not have the law that the proof is about: which doubles can
come out depends on the value that it was added to (Mironov 2012). An audit of the *algorithm* must not see that, or it
would refute every mechanism in floating point; so it rounds outputs to a grid first. An audit of the *release*
(`raw=True`) must see it.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dperm.noise import Laplace

# The grid is this share of a coordinate's spread: a million times finer than the noise, and with outputs as large as a
# thousand spreads still a million times coarser than a double's last bit.
SHARE = 2.0**-20
# Stands for the exponent of 0, which has no set bit.
_OF_ZERO = 2000.0
# NumPy's uniform doubles are multiples of this, and so are their distances from the ends that it takes logarithms of.
_STEP = 2.0**-53
# Neighbouring uniforms that are tried: rounding in the logarithm.
_TRIED = 3
_LARGEST = np.finfo(float).max


def grid(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the grid to which outputs of both sides are rounded, a power of two for each coordinate.

    It is 2^-20 of the distance between the pooled quartiles, rounded down to a power of two; where that is 0, of
    the largest absolute value; 0 (no rounding) where all outputs are 0.
    """
    pooled = np.concatenate([first, second])
    low, high = np.quantile(pooled, [0.25, 0.75], axis=0, method="inverted_cdf")
    # The share of either end, before they are subtracted: their distance may be larger than any double.
    step = np.where(high > low, SHARE * high - SHARE * low, SHARE * np.abs(pooled).max(axis=0))
    return np.where(step > 0, np.exp2(np.floor(np.log2(np.where(step > 0, step, 1.0)))), 0.0)


def rounded(outputs: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the outputs on the grid; a step of 0 leaves a coordinate as it is."""
    safe = np.where(steps > 0, steps, 1.0)
    with np.errstate(over="ignore"):
        whole = np.rint(outputs / safe)
        # So many steps that a double does not hold them: the output lies on the grid already.
        on_grid = np.where(np.isinf(whole), outputs, np.clip(whole * safe, -_LARGEST, _LARGEST))
    return np.where(steps > 0, on_grid, outputs)


def last_bit(values: np.ndarray) -> np.ndarray:
    """Return the exponent of the least significant bit that is set: x is an odd multiple of 2^that; 2000 for 0."""
    mantissa, exponent = np.frexp(values)
    whole = np.ldexp(np.abs(mantissa), 53).astype(np.int64)
    lowest = np.where(whole > 0, whole & -whole, 1)
    return np.where(whole > 0, exponent - 53 + np.log2(lowest), _OF_ZERO)


def scores(p: int, mechanism: Any, data: Any, neighbour: Any) -> Iterator[tuple[str, Callable]]:
    """Give scores of the floating-point representation, in words and as functions of the outputs.

    If the mechanism has `centre` and a Laplace `law`, outputs are held against the doubles that NumPy's generator
    can reach from either centre.
    """
    for j in range(min(p, 16)):
        yield f"exponent of the last bit of coordinate {j}", lambda outputs, j=j: last_bit(outputs[:, j])
    if p > 1:
        yield "least exponent of a last bit", lambda outputs: last_bit(outputs).min(axis=1)
    law, centre = getattr(mechanism, "law", None), getattr(mechanism, "centre", None)
    if isinstance(law, Laplace) and centre is not None:
        for side, value in (("data", data), ("neighbour", neighbour)):
            place = np.atleast_1d(np.asarray(centre(value), dtype=float))
            words = f"coordinates that NumPy's Laplace noise reaches from the noise-free output of the {side}"
            yield words, lambda outputs, place=place: reachable(outputs, place, law.scale).sum(axis=1)


def reachable(outputs: np.ndarray, centre: np.ndarray, scale: float) -> np.ndarray:
    """Say which outputs are centre -+ scale log(V), V a multiple of 2^-53: NumPy's generator makes Laplace noise so."""
    if not 0 < scale < math.inf:
        raise ValueError(f"scale={scale} must be a finite number above 0")
    sign = np.where(outputs >= centre, -1.0, 1.0)
    nearest = np.rint(np.exp(-np.abs(outputs - centre) / scale) / _STEP)
    found = np.zeros(outputs.shape, dtype=bool)
    for shift in range(-_TRIED, _TRIED + 1):
        uniform = np.clip((nearest + shift) * _STEP, _STEP, 1.0)
        # The C library's logarithm is rounded correctly but for rare cases; NumPy's own is not.
        logarithm = np.log(uniform.astype(np.longdouble)).astype(np.float64)
        found |= centre + sign * (scale * logarithm) == outputs
    return found
