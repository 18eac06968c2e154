"""The part of a row that any support of s features may see is bounded, by the row's own numbers alone."""

import itertools
import math

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.errors import DomainViolation
from dperm.mechanisms.support import limits


def parts(X, size):
    """||x_Gamma|| of every row for every support."""
    return np.array([np.linalg.norm(X[:, list(z)], axis=1) for z in itertools.combinations(range(X.shape[1]), size)])


ROWS = st.lists(st.lists(st.floats(-1e12, 1e12), min_size=5, max_size=5), min_size=1, max_size=4)


@given(rows=ROWS, size=st.integers(1, 5), x_norm=st.sampled_from([1e-3, 1.0, math.sqrt(2), 7.0]))
@settings(max_examples=150, deadline=None)
@pytest.mark.parametrize("divisor", ["part", "row"])
def test_no_support_sees_more_than_the_bound(rows, size, x_norm, divisor):
    X = np.array(rows)
    scaled = limits.bounded_parts(X, size, x_norm, clip=True, divisor=divisor)
    assert parts(scaled, size).max() <= x_norm
    # Nothing but a factor in (0, 1], and 1 where the bound held (strictly, as printed).
    for before, after in zip(X, scaled, strict=True):
        longest = parts(before[None], size).max()
        if longest < x_norm * (1 - 1e-12):
            np.testing.assert_array_equal(before, after)
        elif longest > x_norm * (1 + 1e-12):
            divide = longest if divisor == "part" else np.linalg.norm(before)
            np.testing.assert_allclose(after, before * x_norm / divide, rtol=1e-12, atol=1e-300)


def test_a_row_does_not_depend_on_the_others():
    """Else one record would move another's row, and neighbours would no longer be neighbours."""
    X = np.random.default_rng(0).normal(size=(50, 6))
    whole = limits.bounded_parts(X, 2, 1.0, clip=True)
    for i in range(50):
        np.testing.assert_array_equal(limits.bounded_parts(X[i : i + 1], 2, 1.0, clip=True)[0], whole[i])


def test_rows_that_meet_the_bound_are_left_alone_but_as_printed():
    """Erratum K14: line 4 of Algorithm 6 has `>=` and ||X_i||, so a row of +-1 ends at length sqrt(s)."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], size=(20, 9))
    assert limits.bounded_parts(X, 4, 2.0) is X
    printed = limits.bounded_parts(X, 4, 2.0, divisor="row")
    np.testing.assert_allclose(np.linalg.norm(printed, axis=1), 2.0, rtol=1e-12)


def test_longer_rows_are_refused_without_a_number_of_the_data():
    X = np.array([[3.0, 4.0, 0.5], [0.1, 0.2, 0.3]])
    with pytest.raises(DomainViolation, match=r"rows whose 2 largest entries are longer than x_norm=4.9;.*cl"):
        limits.bounded_parts(X, 2, 4.9)
    assert limits.bounded_parts(X, 2, 5.0) is X
    assert limits.bounded_parts(X, 2, 5.0 * (1 - 1e-12))[0, 0] < 3  # rounding: scaled down without a word
    for wrong in (np.nan, np.inf):
        X = np.array([[wrong, 0.0], [1.0, 1.0]])
        with pytest.raises(DomainViolation, match="X has rows with NaN or infinity"):
            limits.bounded_parts(X, 1, 1.0)
        np.testing.assert_array_equal(limits.bounded_parts(X, 1, 1.0, clip=True), [[0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize("divisor", ["part", "row"])
def test_the_longest_rows_that_there_are_end_within_the_bound(divisor):
    """The factor of a row must not be a denormal number, which would be rounded by more than the bound allows."""
    for r in (1e-30, 1e-10, 1.0):
        clipped = limits.bounded_parts(np.array([[1.7e308, -1.3e308, 1e307]]), 2, r, clip=True, divisor=divisor)
        assert 0 < np.hypot(*clipped[0, :2]) <= r


def test_many_chunks_are_one(monkeypatch):
    X = np.random.default_rng(1).normal(size=(64, 7)) * 3
    whole = limits.bounded_parts(X, 3, 1.0, clip=True)
    monkeypatch.setattr(limits, "CHUNK_ENTRIES", 20)
    np.testing.assert_array_equal(limits.bounded_parts(X, 3, 1.0, clip=True), whole)


def test_enormous_entries_and_no_rows():
    X = np.array([[1e300, -1e300, 1e299], [1e308, 1e308, 1e308]])
    np.testing.assert_allclose(parts(limits.bounded_parts(X, 2, 1.0, clip=True), 2).max(axis=0), 1.0, rtol=1e-12)
    assert limits.bounded_parts(np.zeros((0, 3)), 2, 1.0).shape == (0, 3)


@together.over("size", [0, -1, 1.5, True, "2", None, np.nan])
def test_a_size_that_is_no_number_of_features_is_refused(size):
    with pytest.raises(ValueError, match=r"size=.* must be an integer, 1 or above; it is how many"):
        limits.checked_size(size, 5)


def test_ten_million_supports_are_allowed_and_no_more():
    limits.checked_supports(2, 4472)  # 9,997,156
    with pytest.raises(ValueError, match=r"size=2 of 4473 features makes 10,001,628 supports"):
        limits.checked_supports(2, 4473)
