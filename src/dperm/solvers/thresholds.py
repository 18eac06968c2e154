r"""Thresholds on the line, 1[x >= a]: the one with the fewest errors on a sample, and the least consistent one.

With the points in order, the threshold before the c-th of them errs on the ones before it and on the zeros from it on:

    errors(c) = ones(first c) + zeros(all) - zeros(first c),        c = 0, .., n,

prefix sums, where only a c at which the point changes is a threshold. Many samples at once: a row each.

Sources: dwork2018, Sections 2.2 and 5 (the class Thr).
"""

import numpy as np


def minimise(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the thresholds with the fewest errors.

    - x: shape (repeats, n); finite points, in any order; ties are welcome.
    - y: shape (repeats, n); labels 0 and 1.
    - a: shape (repeats,); the least of the best thresholds among the points and infinity (which says 0 everywhere).
    """
    x, y = np.atleast_2d(np.asarray(x, dtype=np.float64)), np.atleast_2d(np.asarray(y))
    order = np.argsort(x, axis=1)
    x, signs = np.take_along_axis(x, order, axis=1), 2 * np.take_along_axis(y, order, axis=1).astype(np.int64) - 1
    repeats, n = x.shape
    # Errors less the zeros in all: a one passed is an error more, a zero passed one less.
    passed = np.zeros((repeats, n + 1), dtype=np.int64)
    np.cumsum(signs, axis=1, out=passed[:, 1:])
    passed[:, 1:n][x[:, 1:] == x[:, :-1]] = n + 1
    best = np.argmin(passed, axis=1)
    ends = np.column_stack([x, np.full(repeats, np.inf)])
    rows = np.arange(repeats)
    return ends[rows, best], passed[rows, best] + (signs < 0).sum(axis=1)


def least_positive(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return each sample's least point with label 1 (infinity without one), consistent wherever a threshold is."""
    return np.where(np.asarray(y) == 1, x, np.inf).min(axis=-1, initial=np.inf)
