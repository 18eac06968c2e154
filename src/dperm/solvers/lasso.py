r"""The lasso on many small blocks of rows at once, each certified by its duality gap.

    theta_b = argmin_theta  P_b(theta) = 1/2 ||y_b - X_b theta||^2 + l1 ||theta||_1      (sums over the rows of block b)

kifer2012 writes (1/2n)||.||^2 + (Lambda/n)||.||_1 (Algorithms 3 and 6, line 1; Equation 25): the same minimiser with
l1 = Lambda, and no n in it. A block has far fewer rows than features, so no Gram matrix is formed: coordinate descent
keeps the residual r = y - X theta and runs on a working set alone. In each round

- c = X'r over all features gives the dual point nu = alpha r with |X'nu| <= l1, and the certificate

      gap = P(theta) - D(nu),      D(nu) = <y, nu> - 1/2 ||nu||^2,      1/2 ||X (theta - theta*)||^2 <= gap;

- a feature with |<x_j, nu>| + ||x_j|| sqrt(2 gap) < l1 is 0 in every minimiser (the gap-safe sphere) and leaves;
- of the rest, the support and those of the largest |c_j| form the next working set, which at least doubles.

A block's theta is a function of its own rows, in their order, and of the public arguments: nothing passes from one
block to another. Sample and aggregate rests on that.

Sources: kifer2012, Algorithms 3 and 6 (the problem). Ndiaye, Fercoq, Gramfort and Salmon, JMLR 18 (2017) (the sphere).
Massias, Gramfort and Salmon, ICML 2018 (working sets).
"""

from dataclasses import dataclass

import numpy as np

from dperm.compiled import compiled, inlined
from dperm.domain import LEAST, MOST, number
from dperm.errors import DataError

# Entries up to here have squares, and sums of squares, within the doubles.
_LARGEST_ENTRY = 1e100
_FIRST_WORKING_SET = 16
# The working set's own gap falls to this share of the whole gap, at most to this share of the target.
_INNER_SHARE, _INNER_FLOOR = 0.1, 0.3
# After each sweep of the working set, so many of its support alone.
_SUPPORT_SWEEPS = 9


@dataclass(frozen=True)
class Solution:
    """What `minimise` found.

    - gap: shape (blocks,); P_b(theta_b) - P_b(theta_b*) is at most this, up to rounding of the order of 1e-16
      ||y_b||^2. It bounds the objective (and the fitted values), not the distance of theta_b from a minimiser.
    - converged: shape (blocks,); whether the gap is within tolerance/2 ||y_b||^2.
    """

    theta: np.ndarray
    gap: np.ndarray
    converged: np.ndarray
    sweeps: np.ndarray


def minimise(
    X: np.ndarray,
    y: np.ndarray,
    *,
    l1: float,
    block: np.ndarray | None = None,
    blocks: int = 1,
    tolerance: float = 1e-6,
    max_sweeps: int = 10_000,
) -> Solution:
    """Minimise 1/2 ||y_b - X_b theta||^2 + l1 ||theta||_1 for every block b of rows.

    - X: shape (n, p); entries of at most 1e100 in size; n may be 0.
    - l1: Lambda in [1e-30, 1e30], in units of the squared target over theta.
    - block: shape (n,); which block each row is in, in [0, blocks); without it all rows are in block 0.
    - blocks: how many blocks; those without rows get theta = 0.
    - tolerance: in [1e-12, 1]: aim at gap <= tolerance/2 ||y_b||^2.
    - Returns: a block that ran out of sweeps is returned as it is: whether it converged depends on private data.
    - Raises DataError: if a shape does not fit, or an entry is NaN, infinite or above 1e100. The message gives no value
      of the data.
    - Source: kifer2012, Algorithm 6, line 1.
    """
    number("l1", l1, LEAST, MOST, ends="[]", remedy="it is Lambda, of the sum of squares")
    number("tolerance", tolerance, 1e-12, 1, ends="[]", remedy="1e-6 is usual")
    number("max_sweeps", max_sweeps, 1, np.inf, ends="[)")
    number("blocks", blocks, 1, np.inf, ends="[)")
    X, y = checked(X, y)
    block = np.zeros(len(y), int) if block is None else np.asarray(block)
    if block.shape != y.shape or block.dtype.kind not in "iu":
        raise DataError(f"block has shape {block.shape} and type {block.dtype}; give one integer for each row of X")
    if block.size and not 0 <= block.min() <= block.max() < blocks:
        raise DataError(f"block holds numbers outside [0, {blocks}); raise blocks or renumber")
    order = np.argsort(block, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(block, minlength=blocks))])
    theta = np.zeros((blocks, X.shape[1]))
    gap, target, sweeps = np.zeros(blocks), np.zeros(blocks), np.zeros(blocks, int)
    _all_blocks(X, y, order, ends, float(l1), float(tolerance), int(max_sweeps), theta, gap, target, sweeps)
    return Solution(theta, gap, gap <= target, sweeps)


def checked(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the data as contiguous doubles that may be written to (X and y if they are such), or refuse them."""
    # Of arrays that may not be written to, as of a file that is mapped, Numba would compile all anew.
    X, y = (np.require(values, np.float64, ("C", "W")) for values in (X, y))
    if X.ndim != 2 or y.shape != (len(X),) or X.shape[1] == 0:
        raise DataError(f"X has shape {X.shape} and y {y.shape}; give (n, p) with p >= 1 and (n,)")
    for name, values in (("X", X), ("y", y)):
        if values.size and not (values.max() <= _LARGEST_ENTRY and values.min() >= -_LARGEST_ENTRY):
            raise DataError(
                f"{name} holds NaN, infinity or an entry above {_LARGEST_ENTRY:g}; mend or rescale it first"
            )
    return X, y


@compiled
def _all_blocks(X, y, order, ends, l1, tolerance, max_sweeps, theta, gap, target, sweeps):
    for b in range(len(theta)):
        rows = order[ends[b] : ends[b + 1]]
        target[b] = 0.5 * tolerance * _dot(y[rows], y[rows])
        gap[b], sweeps[b] = _one_block(X, y[rows], rows, l1, target[b], max_sweeps, theta[b])


@inlined
def _one_block(X, y, rows, l1, target, max_sweeps, theta):
    """Descend from theta = 0, in place; return the gap and the sweeps done."""
    p = X.shape[1]
    squares, c, priority, alive = np.zeros(p), np.empty(p), np.empty(p), np.ones(p, np.bool_)
    for i in rows:
        for j in range(p):
            squares[j] += X[i, j] * X[i, j]
    wanted, sweeps = _FIRST_WORKING_SET, np.int64(0)
    while True:
        r = _residual(X, y, rows, theta)
        _correlations(X, rows, r, c)
        gap, alpha = _gap(y, r, np.abs(theta).sum(), np.abs(c).max(), l1)
        if gap <= target or sweeps >= max_sweeps:
            return gap, sweeps
        support, radius = 0, np.sqrt(2 * gap)
        for j in range(p):
            if alpha * abs(c[j]) + np.sqrt(squares[j]) * radius < l1 * (1 - 1e-9):
                alive[j] = False
            priority[j] = abs(c[j]) if alive[j] and squares[j] > 0 else -1.0
            if theta[j] != 0:
                support += 1
                priority[j] = np.inf
        wanted = min(max(2 * support, 2 * wanted), p)
        least = max(_ranked(priority, p - wanted), 0.0)
        working = np.flatnonzero(priority >= least)
        inner = max(_INNER_SHARE * gap, _INNER_FLOOR * target)
        sweeps = _descend(X, y, rows, working, squares, l1, inner, sweeps, max_sweeps, theta, r)


@inlined
def _ranked(values, k):
    """Return entry k in ascending order, by Hoare's quickselect: NumPy's takes Numba ten seconds to compile."""
    a, low, high = values.copy(), 0, len(values) - 1
    while low < high:
        pivot, i, j = a[k], low, high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while pivot < a[j]:
                j -= 1
            if i <= j:
                a[i], a[j] = a[j], a[i]
                i += 1
                j -= 1
        if j < k:
            low = i
        if k < i:
            high = j
    return a[k]


@inlined
def _descend(X, y, rows, working, squares, l1, target, sweeps, max_sweeps, theta, r):
    """Coordinate descent on the working set until its own gap is within the target; return the sweeps done so far."""
    columns = np.empty((len(working), len(rows)))
    for k in range(len(working)):
        for i in range(len(rows)):
            columns[k, i] = X[rows[i], working[k]]
    while True:
        for sweep in range(1 + _SUPPORT_SWEEPS):
            for k in range(len(working)):
                j = working[k]
                old = theta[j]
                if sweep > 0 and old == 0:
                    continue
                u = old * squares[j] + _dot(columns[k], r)
                new = 0.0 if abs(u) <= l1 else (u - np.copysign(l1, u)) / squares[j]
                if new != old:
                    for i in range(len(r)):
                        r[i] -= (new - old) * columns[k, i]
                    theta[j] = new
            sweeps += 1
            if sweeps >= max_sweeps:
                return sweeps
        largest, norm = 0.0, 0.0
        for k in range(len(working)):
            largest = max(largest, abs(_dot(columns[k], r)))
            norm += abs(theta[working[k]])
        if _gap(y, r, norm, largest, l1)[0] <= target:
            return sweeps


@compiled
def _gap(y, r, norm, largest, l1):
    """Return P(theta) - D(alpha r) and the best feasible alpha >= 0, from ||theta||_1 and ||X'r||_inf."""
    rr, yr = _dot(r, r), _dot(y, r)
    alpha = yr / rr if rr > 0 else 1.0
    if alpha * largest > l1:
        alpha = l1 / largest
    alpha = max(alpha, 0.0)
    return max(0.5 * rr + l1 * norm - alpha * yr + 0.5 * alpha * alpha * rr, 0.0), alpha


@inlined
def _residual(X, y, rows, theta):
    """Return y - X theta, anew: what descent carries along gathers rounding."""
    r, support = y.copy(), np.flatnonzero(theta)
    for i in range(len(rows)):
        for j in support:
            r[i] -= X[rows[i], j] * theta[j]
    return r


@inlined
def _correlations(X, rows, r, out):
    """Write X'r, row by row: the inner loop has independent sums, so that it runs in vector registers."""
    out[:] = 0
    for i in range(len(rows)):
        for j in range(len(out)):
            out[j] += r[i] * X[rows[i], j]


@compiled
def _dot(a, b):
    """Four sums side by side: IEEE arithmetic forbids the compiler to split one."""
    n, s0, s1, s2, s3 = len(a), 0.0, 0.0, 0.0, 0.0
    for i in range(0, n - 3, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(n - n % 4, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)
