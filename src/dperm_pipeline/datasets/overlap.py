"""Public rows must not be private rows: find the rows of one matrix that stand in another one.

A 64-bit hash of each row's non-zeros finds the few pairs worth looking at, their bytes decide: the answer is exact.
"""

import numpy as np
import scipy.sparse as sp

# The constants of splitmix64, all odd.
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
# Entries looked at in one go: a bound on the memory beyond the matrix.
ENTRIES = 2**20


def overlapping(Z: np.ndarray | sp.csr_array, X: np.ndarray | sp.csr_array) -> np.ndarray:
    """Return which public rows Z equal a private row of X, entry by entry (-0.0 equals 0.0); either may be sparse.

    It tells of single private rows: for the preparation of experiments, never for what an estimator says.
    ValueError if the numbers of columns differ.
    """
    if Z.shape[1] != X.shape[1]:
        raise ValueError(f"Z has {Z.shape[1]} columns and X has {X.shape[1]}; give rows of the same space")
    of_Z, of_X = hashes(Z), hashes(X)
    # Rows of either matrix whose hash occurs in the other one; equal hashes may still belong to different rows.
    others = np.flatnonzero(_among(of_X, of_Z))
    candidates = np.flatnonzero(_among(of_Z, of_X[others]))
    known = {content for rows in _blocks(X, others) for content in _contents(rows)}
    found = np.zeros(Z.shape[0], dtype=bool)
    found[candidates] = [content in known for rows in _blocks(Z, candidates) for content in _contents(rows)]
    return found


def _among(words: np.ndarray, few: np.ndarray) -> np.ndarray:
    """Return which words are among a few, as `np.isin`, which would sort them all."""
    if not len(few):
        return np.zeros(len(words), dtype=bool)
    known = np.sort(few)
    return known[np.minimum(np.searchsorted(known, words), len(known) - 1)] == words


def hashes(X: np.ndarray | sp.csr_array) -> np.ndarray:
    """Return a 64-bit hash of each row's non-zeros, shape (n,), uint64: the same whether X is dense or sparse."""
    found = [np.zeros(0, dtype=np.uint64)]
    for rows in _blocks(X, np.arange(X.shape[0])):
        words = splitmix64(splitmix64(rows.indices.astype(np.uint64)) ^ rows.data.view(np.uint64))
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(words)])
        # A sum modulo 2^64 knows no order of the entries.
        found.append(sums[rows.indptr[1:]] - sums[rows.indptr[:-1]])
    return np.concatenate(found)


def _blocks(X: np.ndarray | sp.csr_array, rows: np.ndarray):
    """Yield the chosen rows as canonical CSR, a few at a time; X itself is not touched."""
    entries = max(1, X.nnz // max(1, X.shape[0])) if sp.issparse(X) else X.shape[1]
    step = max(1, ENTRIES // max(1, entries))
    for start in range(0, len(rows), step):
        block = sp.csr_array(X[rows[start : start + step]], dtype=np.float64, copy=True)
        block.sum_duplicates()
        block.eliminate_zeros()
        yield block


def _contents(rows: sp.csr_array):
    for start, stop in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        yield rows.indices[start:stop].astype(np.int64).tobytes() + rows.data[start:stop].tobytes()


def splitmix64(words: np.ndarray) -> np.ndarray:
    """Return words of uint64 through the finaliser of splitmix64: each bit of a result depends on all of its word."""
    words = words + _STEP
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))
