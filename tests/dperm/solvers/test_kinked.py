"""Newton's method for losses of two straight pieces, against the linear program and the dual's coordinate descent."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import together
from designs import on_sphere
from scipy import sparse as scipy_sparse

from dperm.solvers import kinked, sparse


def pieces(loss, y):
    return (-np.ones(len(y)), np.ones(len(y))) if loss == "absolute" else (np.minimum(-y, 0.0), np.maximum(-y, 0.0))


def problem(kind, n, p):
    X = on_sphere(np.random.default_rng(0), n, p)
    if kind == "equal":
        return np.repeat(X[:1], n, axis=0), np.where(np.arange(n) % 2, 1.0, -1.0)
    if kind == "wild":
        X = X * 10.0 ** np.random.default_rng(1).uniform(-300, 0, (n, 1))
    return X, np.where(X[:, 0] > 0, 1.0, -1.0)


@together.over(("n", "p"), [(200, 3), (1, 1), (10, 40), (1000, 5)])
@together.over("kind", ["separable", "equal", "wild"])
@together.over("loss", ["absolute", "hinge"])
def test_the_bound_holds_against_coordinate_descent(loss, kind, n, p):
    X, y = problem(kind, n, p)
    w, bound = kinked.minimise(X, y, *pieces(loss, y), total=0.5, slack=1e-3)
    other = sparse.minimise(scipy_sparse.csr_matrix(X), y, loss, total=0.5, slack=1e-3, max_passes=20_000)
    assert bound <= 1e-3
    assert np.linalg.norm(w - other.dense()) <= bound + other.slack


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
@pytest.mark.parametrize("kind", ["separable", "equal", "wild"])
@pytest.mark.parametrize("total", [1e-4, 0.02, 1.0, 1e6])
def test_many_records_are_solved_at_any_reach(loss, kind, total):
    X, y = problem(kind, 20_000, 3)
    slack = 0.01 / total
    assert kinked.minimise(X, y, *pieces(loss, y), total=total, slack=slack)[1] <= slack


def by_passes(x, loss, n, ridge, slack):
    """Coordinate descent on n times one record (x, 1), its distance from the minimiser in fractions, and the bound."""
    X, y = np.full((n, 1), x), np.ones(n)
    found = sparse.minimise(scipy_sparse.csr_matrix(X), y, loss, total=ridge, slack=slack)
    w, given = found.dense(), pieces(loss, y)
    bound = kinked.distance(X, y, *given, total=ridge, w=w, alpha=found.dual, slack=slack)
    # All alpha at their bound, or the prediction at its kink, whichever comes first.
    exact = min(n * Fraction(x) / Fraction(ridge), 1 / Fraction(x))
    return abs(float(Fraction(w[0]) - exact)), bound, float(found.slack)


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
def test_the_bound_counts_the_rounding_of_sums_over_records(loss):
    """n alpha x is summed record by record: it is off by more than the gap shows."""
    off, bound, uncounted = by_passes(0.7, loss, 5222, 8333.0, 1e-15)
    assert uncounted < off <= bound


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
def test_many_equal_records_at_their_kink_leave_no_gap(loss):
    """u - t is rounding, 20,000 times: a gap of 1e-12, which would be a distance of 1e-8."""
    off, bound, _ = by_passes(0.9, loss, 20_000, 12_345.0, 1e-11)
    assert off <= bound <= 1e-11


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("close", [0.0, 1e-15, 1e-8, 1.0])
def test_the_bound_holds_where_several_rows_are_at_their_kink(close, seed):
    """Rows that are nearly one; the minimiser in 60 digits: alpha within its bounds, all predictions at 1."""
    rng = np.random.default_rng(seed)
    rows = np.array([0.6, 0.8]) + close * rng.standard_normal((2, 2))
    X = np.repeat(rows, [300, 700], axis=0)
    t, bounds, total = np.ones(1000), (-np.ones(1000), np.ones(1000)), 2.0
    w, bound = kinked.minimise(X, t, *bounds, total=total, slack=1e-14)
    with mpmath.workdps(60):
        distinct = mpmath.matrix(rows[:1] if close == 0 else rows)
        exact = distinct.T * mpmath.lu_solve(distinct * distinct.T, mpmath.matrix([1.0] * distinct.rows))
        # X'alpha = -total w for alpha = -total (X X')^-1 1, shared by equal rows.
        shared = mpmath.lu_solve(distinct * distinct.T, mpmath.matrix([total] * distinct.rows))
        if max(abs(value) for value in shared) <= 300:
            assert mpmath.norm(mpmath.matrix(w) - exact) <= bound
