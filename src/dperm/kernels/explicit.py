r"""The explicit map of a polynomial kernel, which stays sparse where the rows are: with z = (sqrt c, x),

(<x, v> + c)^k = sum over multi-indices |a| = k of (k!/a!) z_x^a z_v^a,    phi_a(x) = sqrt(k!/a!) z_x^a.
"""

import math

import numpy as np
from scipy import sparse

from dperm.compiled import compiled
from dperm.domain import MOST, number
from dperm.errors import DomainViolation


def monomials(
    X: np.ndarray | sparse.csr_array, degree: int = 3, offset: float = 1.0, *, memory: float = 2**32
) -> sparse.csr_array:
    """Return the explicit map of a polynomial kernel: <phi(x), phi(v)> = (<x, v> + offset)^degree.

    A row with m entries gets C(m + degree, degree) monomials (without offset: C(m + degree - 1, degree)). The
    column of a monomial does not depend on d: columns added to X add columns at the end. DomainViolation if degree
    or offset is outside its range, there would be 2^62 columns or more, or more bytes than `memory` allows.
    """
    degree, offset = power(degree, offset)
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    columns = math.comb(X.shape[1] + degree, degree)
    if columns >= 2**62:
        raise DomainViolation(f"{X.shape[1]} columns have {columns:.3g} monomials of degree {degree}; take the kernel")
    constant = int(offset > 0)
    lengths, counts = np.unique(np.diff(X.indptr), return_counts=True)
    entries = sum(
        int(count) * math.comb(int(length) + constant + degree - 1, degree)
        for length, count in zip(lengths, counts, strict=True)
        if length + constant
    )
    if 16 * entries > memory:
        raise DomainViolation(
            f"{entries:,} monomials need {16 * entries / 1e6:,.0f} MB, and memory={memory:.4g} allows "
            f"{memory / 1e6:,.0f} MB; solve by the kernel (dperm.solvers.kernel or cubic), or allow more memory"
        )
    # C(b, j), for the place of a multi-index among all: sum of C(a_j + j - 1, j) over its sorted indices a_1 <= ... .
    used = np.unique(X.indices)
    place = {int(a): row for row, a in enumerate([0, *(used + 1)])}
    table = np.array([[math.comb(a + j, j + 1) for j in range(degree)] for a in place], dtype=np.int64)
    short = np.searchsorted(used, X.indices) + 1
    roots = np.sqrt([float(math.factorial(k)) for k in range(degree + 1)])
    indptr, indices, data = np.zeros(X.shape[0] + 1, np.int64), np.empty(entries, np.int64), np.empty(entries)
    _expand(X.indptr, short, X.data, math.sqrt(offset), constant, table, roots, indptr, indices, data)
    return sparse.csr_array((data, indices, indptr), shape=(X.shape[0], columns))


@compiled
def _expand(rows, short, values, first, constant, table, roots, indptr, indices, data):
    """Write the monomials of every row, in the order of their columns."""
    degree, to = table.shape[1], 0
    at = np.empty(degree, np.int64)
    for i in range(len(rows) - 1):
        low, size = rows[i] - constant, rows[i + 1] - rows[i] + constant
        if size > 0:
            at[:] = 0
            while True:
                column, value, run, j = 0, roots[degree], 1, 0
                for j in range(degree):
                    k = low + at[j]
                    inside = k >= rows[i]
                    column += table[short[k] if inside else 0, j]
                    value *= values[k] if inside else first
                    # A run of m equal indices divides by sqrt(m!).
                    run = run + 1 if j > 0 and at[j] == at[j - 1] else 1
                    value *= roots[run - 1] / roots[run]
                indices[to], data[to] = column, value
                to += 1
                j = 0
                while j < degree and at[j] == (at[j + 1] if j + 1 < degree else size - 1):
                    j += 1
                if j == degree:
                    break
                at[j] += 1
                at[:j] = 0
        indptr[i + 1] = to


def power(degree, offset):
    """Return the degree, in 1..20, and the offset, at least 0, of a polynomial kernel, or raise DomainViolation."""
    if isinstance(degree, bool) or not isinstance(degree, (int, np.integer)) or not 1 <= degree <= 20:
        raise DomainViolation(f"degree={degree!r} must be a whole number in [1, 20]; jain2013 takes 3")
    remedy = "a negative one makes no kernel; jain2013 takes 1"
    return int(degree), number("offset", offset, 0, MOST, ends="[]", error=DomainViolation, remedy=remedy)
