"""Rows of one matrix that stand in another are found exactly, whatever form the matrices have."""

import numpy as np
import pytest
import scipy.sparse as sp

from dperm_pipeline.datasets import overlap

RNG = np.random.default_rng(3)
X = RNG.integers(0, 3, size=(400, 4)).astype(float)


def by_sets(Z, X):
    return sum(tuple(row) in set(map(tuple, X)) for row in Z)


@pytest.mark.parametrize("form_of_Z", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("form_of_X", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_as_sets_of_tuples_count(form_of_Z, form_of_X):
    Z = RNG.integers(0, 5, size=(200, 4)).astype(float)
    expected = by_sets(Z, X)
    assert 0 < expected < 200
    told = overlap.overlapping(form_of_Z(Z), form_of_X(X))
    assert told.tolist() == [tuple(row) in set(map(tuple, X)) for row in Z]


def test_a_row_that_differs_in_the_last_bit_is_another_row():
    near = X[:50].copy()
    near[:, 0] = np.nextafter(near[:, 0] + 1.0, 9.0)
    assert overlap.overlapping(near, X).sum() == 0


def test_how_a_row_is_stored_does_not_matter():
    """Explicit zeros, -0.0, entries out of order, an entry in two parts."""
    row = sp.csr_array((np.array([2.0, -0.0, 0.5, 0.5]), np.array([3, 1, 0, 0]), np.array([0, 4])), shape=(1, 5))
    data, indices = row.data.copy(), row.indices.copy()
    assert overlap.overlapping(row, np.array([[1.0, 0.0, 0.0, 2.0, 0.0]])).sum() == 1
    assert (row.data == data).all() and (row.indices == indices).all(), "the caller's matrix was changed"


def test_columns_and_values_are_not_mixed_up():
    """The same values in other columns, and values exchanged, are other rows."""
    row = np.array([[1.0, 2.0, 0.0]])
    for other in ([[2.0, 1.0, 0.0]], [[1.0, 0.0, 2.0]], [[0.0, 1.0, 2.0]], [[3.0, 0.0, 0.0]]):
        assert overlap.overlapping(row, np.array(other)).sum() == 0
    assert overlap.overlapping(np.zeros((2, 3)), np.zeros((1, 3))).sum() == 2
    assert not overlap.overlapping(np.zeros((0, 3)), row).any()
    assert not overlap.overlapping(row, np.zeros((0, 3))).any()


def test_equal_hashes_alone_do_not_count(monkeypatch):
    """Were every hash the same, bytes would still decide."""
    monkeypatch.setattr(overlap, "hashes", lambda X: np.zeros(X.shape[0], dtype=np.uint64))
    Z = RNG.integers(0, 5, size=(100, 4)).astype(float)
    assert overlap.overlapping(Z, X).sum() == by_sets(Z, X)


def test_hashes_of_different_rows_differ():
    distinct = np.unique(RNG.integers(0, 9, size=(20000, 6)).astype(float), axis=0)
    assert len(np.unique(overlap.hashes(distinct))) == len(distinct)


def test_blocks_do_not_matter(monkeypatch):
    whole = overlap.hashes(sp.csr_array(X))
    monkeypatch.setattr(overlap, "ENTRIES", 7)
    np.testing.assert_array_equal(overlap.hashes(X), whole)


def test_other_spaces_are_refused():
    with pytest.raises(ValueError, match="Z has 3 columns and X has 4"):
        overlap.overlapping(np.zeros((1, 3)), X)
