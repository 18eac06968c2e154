r"""Sparse rows by index pattern, and their monomials of degree 3 in an order that all rows of a pattern share.

A row x with entries at columns c_1 < ... < c_m is z = (1, x_{c_1}, ..., x_{c_m}), m + 1 numbers; its pattern is the
set of columns. The C(m + 3, 3) monomials z_i z_j z_k, i <= j <= k, stand in one order for every row,

    z_i z_j^2 for all i <= j,   then for k = 1, 2, ..:   z_i z_j z_k for all i <= j < k   (pairs by j, then i),

so that every block is a multiple of the start of one list of pairs; and a pattern has one list of the features that
they are. With multiplicities mu = 6, 3 or 1 (three, two, one different indices), <phi(x), phi(v)> = sum mu z_x^a z_v^a
= (1 + <x, v>)^3. Nothing else is stored for a row than z.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dperm.compiled import compiled
from dperm.errors import DataError

# Places of monomials that are kept for all patterns together, 4 bytes each; and 2^62 features, or 3 million columns.
_PLACES, _COLUMNS = 2**25, 3_000_000
# Rows whose margins are taken at once: as many fill the vector registers a few times over, and stay in the cache.
BLOCK = 64


@dataclass(frozen=True)
class Monomials:
    """The order of the monomials of m + 1 numbers.

    - triples: shape (F, 3); i <= j <= k of each.
    - multiplicity: shape (F,); mu.
    - by_pair: shape (F,); where (i, j, k) stands, for k = j, j + 1, ... in turn, pair by pair: the order of `margins`.
    """

    triples: np.ndarray
    multiplicity: np.ndarray
    by_pair: np.ndarray


@dataclass(frozen=True)
class Grouped:
    """Rows, sorted by pattern.

    - z: shape (n, m + 1); the entries of each row, the first of which is 1.
    - rows: shape (n,); which row of X each is.
    - starts: shape (P + 1,); where the rows of each pattern begin.
    - columns: shape (P, m + 1); the pattern: 0 for the constant, then column + 1 in increasing order.
    """

    z: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    order: Monomials

    def places(self) -> np.ndarray:
        """Return the column, as in `dperm.kernels.monomials`, of every monomial of every pattern, shape (P, F)."""
        first, second, third = (self.columns[:, self.order.triples[:, which]] for which in range(3))
        second = second * (second + 1) // 2
        # Two of three consecutive numbers hold the factors 2 and 3: divided first, no product leaves 64 bits.
        third = third * (third + 1) // 2 * (third + 2) // 3 if len(third) == 0 or third.max() < 2**20 else _cubes(third)
        return first + second + third


def _cubes(a: np.ndarray) -> np.ndarray:
    """Return C(a + 2, 3) without an overflow on the way."""
    pair, last = a * (a + 1) // 2, a + 2
    divides = pair % 3 == 0
    return np.where(divides, pair // 3 * last, pair * (last // 3))


def monomials(size: int) -> Monomials:
    """Return the order of the monomials of `size` numbers (size: m + 1, at least 1)."""
    pairs = [(i, j) for j in range(size) for i in range(j + 1)]
    triples = [(i, j, j) for i, j in pairs] + [
        (i, j, k) for k in range(1, size) for j in range(k) for i in range(j + 1)
    ]
    place = {triple: at for at, triple in enumerate(triples)}
    by_pair = [place[i, j, k] for i, j in pairs for k in range(j, size)]
    different = np.array([len(set(triple)) for triple in triples])
    return Monomials(np.array(triples), np.array([0.0, 1.0, 3.0, 6.0])[different], np.array(by_pair))


def group(X: np.ndarray | sparse.csr_array) -> Grouped:
    """Return rows, sorted by pattern.

    Rows with fewer entries than the fullest one are given zeros in the columns that are most frequent.

    - Raises DataError: if X holds NaN or infinity, or its rows have so many entries or patterns that nothing is gained
      by grouping.
    """
    X = sparse.csr_array(X)
    if not (X.has_canonical_format and X.data.dtype == np.float64):
        X = X.astype(np.float64, copy=True)
        X.sum_duplicates()
    n, d = X.shape
    if not np.isfinite(X.data).all():
        raise DataError("X holds NaN or infinity; drop or mend such rows first")
    most = int(np.diff(X.indptr).max(initial=0))
    features = math.comb(most + 3, 3)
    if d > _COLUMNS or features > _PLACES:
        raise DataError(
            f"rows of up to {most} entries in {d} columns have {features:.3g} monomials, of {math.comb(d + 3, 3):.3g}; "
            "solve by the kernel (dperm.solvers.kernel)"
        )
    # Columns by how often they occur: short rows are filled up with the most frequent ones.
    filler = np.argsort(-np.bincount(X.indices, minlength=d), kind="stable").astype(X.indices.dtype)
    pattern, capacity = np.empty(n, np.int32), 256
    # How many patterns there are is not known beforehand: the table grows until they fit.
    while True:
        found = np.empty((capacity, most), np.int64)
        count = _patterns(X.indptr, X.indices, filler, found, np.full(4 * capacity, -1, np.int32), pattern)
        if max(count, capacity if count < 0 else 0) * features > _PLACES:
            raise DataError(
                f"the {n} rows have {capacity if count < 0 else count} patterns of {most} columns, or more, each with "
                f"{features} monomials: too little is shared by rows; solve by the kernel (dperm.solvers.kernel)"
            )
        if count >= 0:
            break
        capacity *= 4
    # Rows of one pattern stand together.
    starts = np.concatenate([[0], np.cumsum(np.bincount(pattern, minlength=count))])
    z, rows = np.zeros((n, most + 1)), np.empty(n, np.int32)
    _place(X.indptr, X.indices, X.data, found, pattern, starts[:-1].copy(), z, rows)
    columns = np.concatenate([np.zeros((count, 1), np.int64), found[:count] + 1], axis=1)
    return Grouped(z, rows, starts, columns, monomials(most + 1))


@compiled
def _patterns(indptr, indices, filler, found, table, pattern):
    """Write each row's pattern number, and the patterns' columns; return how many, or -1 if `found` is too small."""
    most, count, mask = found.shape[1], 0, len(table) - 1
    row = np.empty(most, np.int64)
    for i in range(len(pattern)):
        low, size = indptr[i], indptr[i + 1] - indptr[i]
        for t in range(size):
            row[t] = indices[low + t]
        # Fill the row up, its columns kept in order.
        at = 0
        while size < most:
            column = filler[at]
            at += 1
            t = 0
            while t < size and row[t] < column:
                t += 1
            if t == size or row[t] != column:
                for u in range(size, t, -1):
                    row[u] = row[u - 1]
                row[t] = column
                size += 1
        # Find the pattern by its hash (FNV-1a), slot after slot from there on.
        key = 1469598103934665603
        for t in range(most):
            key = (key ^ row[t]) * 1099511628211
        slot = (key ^ (key >> 29)) & mask
        while True:
            known = table[slot]
            if known < 0:
                if count == len(found):
                    return -1
                # Entry by entry: Numba takes two seconds to compile the assignment of a row.
                for t in range(most):
                    found[count, t] = row[t]
                table[slot] = known = count
                count += 1
                break
            same = True
            for t in range(most):
                if found[known, t] != row[t]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & mask
        pattern[i] = known
    return count


@compiled
def _place(indptr, indices, data, found, pattern, free, z, rows):
    """Write the rows to where those of their pattern stand; `free` is used up."""
    for i in range(len(pattern)):
        to, columns = free[pattern[i]], found[pattern[i]]
        free[pattern[i]] += 1
        rows[to], t = i, 0
        z[to, 0] = 1.0
        for at in range(indptr[i], indptr[i + 1]):
            while columns[t] != indices[at]:
                t += 1
            z[to, t + 1] = data[at]


@compiled
def add(W, z, pairs, squares, weight):
    """Add weight times the monomials of z to W, in place; `pairs` and `squares` are scratch."""
    size, t = len(z), 0
    for j in range(size):
        for i in range(j + 1):
            product = z[i] * z[j]
            pairs[t], squares[t] = product, product * z[j]
            t += 1
    for at in range(t):
        W[at] += weight * squares[at]
    for k in range(1, size):
        factor, length = weight * z[k], k * (k + 1) // 2
        for at in range(length):
            W[t + at] += factor * pairs[at]
        t += length


@compiled
def margins(V, z, used, scratch, out):
    """Write sum of V z_i z_j z_k for the columns of z (m + 1, BLOCK), of which the first `used` are asked for.

    V holds mu times the weights, in the order `by_pair`.
    """
    size, o = len(z), 0
    width = 8 if used <= 8 else 16 if used <= 16 else 32 if used <= 32 else z.shape[1]
    for r in range(width):
        out[r] = 0.0
    for j in range(size):
        zj = z[j]
        for i in range(j + 1):
            zi, weight = z[i], V[o]
            for r in range(width):
                scratch[r] = weight * zj[r]
            o, k = o + 1, j + 1
            # Four at a time: the running sum is loaded and stored a fourth as often.
            while k + 3 < size:
                a, b, c, d = V[o], V[o + 1], V[o + 2], V[o + 3]
                za, zb, zc, zd = z[k], z[k + 1], z[k + 2], z[k + 3]
                for r in range(width):
                    scratch[r] += (a * za[r] + b * zb[r]) + (c * zc[r] + d * zd[r])
                o, k = o + 4, k + 4
            while k < size:
                weight, zk = V[o], z[k]
                for r in range(width):
                    scratch[r] += weight * zk[r]
                o, k = o + 1, k + 1
            for r in range(width):
                out[r] += scratch[r] * zi[r] * zj[r]


@compiled
def all_margins(w, features, multiplicity, by_pair, starts, z, out):
    """Write sum of mu w z^a of every row; `features` gives the place in w of each pattern's monomials."""
    size = z.shape[1]
    V, block = np.empty(features.shape[1]), np.zeros((size, BLOCK))
    scratch, found = np.empty(BLOCK), np.empty(BLOCK)
    for pattern in range(len(features)):
        for t in range(len(V)):
            V[t] = multiplicity[by_pair[t]] * w[features[pattern, by_pair[t]]]
        end = starts[pattern + 1]
        for first in range(starts[pattern], end, BLOCK):
            used = min(BLOCK, end - first)
            for r in range(used):
                for k in range(size):
                    block[k, r] = z[first + r, k]
            margins(V, block, used, scratch, found)
            for r in range(used):
                out[first + r] = found[r]
