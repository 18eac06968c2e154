"""Moments of many records against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.solvers import moments

UNIT = Fraction(1, 2**53)


def within(Z):
    """Whether Z'Z is as near as the module says, to the exact sums of the exact products."""
    found, n, p = moments.exact(Z), *Z.shape
    rows = [[Fraction(float(value)) for value in row] for row in Z]
    largest = [max(abs(row[j]) for row in rows) for j in range(p)]
    for j in range(p):
        for k in range(p):
            true = sum(row[j] * row[k] for row in rows)
            allowed = UNIT * abs(true) + n * Fraction(moments.OFF) * largest[j] * largest[k]
            assert abs(Fraction(float(found[j, k])) - true) <= allowed
    assert (found == found.T).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 40), p=st.integers(1, 4), spread=st.sampled_from([0, 8, 30, 90]))
def test_a_sum_is_right_to_its_last_digit(seed, n, p, spread):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-spread, spread, (n, p))
    within(Z)
    # What cancels leaves no more than the second term.
    within(np.concatenate([Z, Z * np.array([1.0] * (p - 1) + [-1.0]) * (1 + 2.0**-50)]))


@pytest.mark.parametrize("value", [0.6, 1 / 3, 1 - 2.0**-53, 0.1])
def test_blocks_of_equal_rows_add_up(value):
    """The pieces of one number repeated have rounding of one sign, which is the worst that sums can do."""
    n = 3 * 2**12 + 5
    found = moments.exact(np.full((n, 2), value))[0, 1]
    true = n * Fraction(value) ** 2
    assert abs(Fraction(float(found)) - true) <= UNIT * true + n * Fraction(moments.OFF) * Fraction(value) ** 2


def test_no_column_of_zeros_and_no_empty_table_is_in_the_way():
    assert (moments.exact(np.zeros((7, 2))) == 0).all() and moments.exact(np.zeros((0, 3))).shape == (3, 3)


def test_a_million_signs_are_counted():
    Z = np.random.default_rng(0).choice([-1.0, 1.0], (1_000_000, 2))
    found = moments.exact(np.column_stack([Z, 0.6 * Z[:, 0]]))
    assert found[0, 0] == 1e6 and found[0, 1] == int(Z[:, 0] @ Z[:, 1])
    assert found[0, 2] == float(Fraction(0.6) * 10**6)
