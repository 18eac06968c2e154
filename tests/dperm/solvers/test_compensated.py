"""Sums in pairs of doubles against rational numbers, where all but the last digits cancel."""

from fractions import Fraction

import numpy as np
import pytest

from dperm.solvers import compensated


def exact(value):
    """A long double is two doubles, which are rational numbers."""
    high = float(value)
    return Fraction(high) + Fraction(float(value - high))


def within(found, products):
    """The bound of the module's text, and one rounding to extended precision."""
    true, sizes, k = sum(products), sum(map(abs, products)), len(products)
    unit = Fraction(compensated.UNIT) / 2
    return abs(exact(found) - true) <= unit * abs(true) + 2 * (k + 2) ** 2 * Fraction(2) ** -106 * sizes


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 200])
def test_products_are_right_beyond_all_that_cancels(n):
    rng = np.random.default_rng(n)
    p, k = 5, 3
    X = rng.normal(size=(n, p)) * 2.0 ** rng.integers(-20, 20, (n, p))
    theta = rng.normal(size=(p, k)) * 2.0 ** rng.integers(-20, 20, (p, k))
    # The last column takes away from the first vector's margins what the others sum up to, but for rounding.
    X[:, -1] = -(X[:, :-1] @ theta[:-1, 0]) / theta[-1, 0]
    slopes = rng.normal(size=(n, k)).astype(np.longdouble) / 3
    if n > 1:
        slopes[-1] = -(slopes[:-1].T @ X[:-1, 0]) / X[-1, 0]
    margins, gradient = compensated.margins(X, theta), compensated.gradient(X, slopes)
    assert margins.shape == (n, k) and gradient.shape == (p, k)
    rows, vectors = ([[Fraction(v) for v in row] for row in values.tolist()] for values in (X, theta))
    weights = [[exact(v) for v in row] for row in slopes]
    for c in range(k):
        assert all(within(margins[i, c], [rows[i][j] * vectors[j][c] for j in range(p)]) for i in range(n)) and all(
            within(gradient[j, c], [rows[i][j] * weights[i][c] for i in range(n)] or [0]) for j in range(p)
        )


def test_what_overflows_is_not_called_known():
    X = np.array([[1e308, 1.0], [1.0, 1.0]])
    assert not np.isfinite(compensated.margins(X, np.ones((2, 1)))[0, 0])
    assert not np.isfinite(compensated.gradient(X, np.ones((2, 1), np.longdouble))[0, 0])
