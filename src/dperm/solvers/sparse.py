r"""Linear models in millions of columns, by dual coordinate descent on the rows: tilts and repeats in one pass.

    w* = argmin_w  P(w),   P(w) = sum_i l(<x_i, w>, y_i) + total/2 ||w||^2 + <b, w>        (a sum, total = n lambda)

for losses whose derivative is a line between two constants,

    l'(u) = clip((u - t)/h, low, high):   squared t = y, h = 1;   Huber t = y, h = 1, |l'| <= knee;
    absolute t = y, h = 0, |l'| <= 1;     hinge t = y, h = 0;     smoothed hinge t = (1 + width) y, h = 2 width,

both hinges with l' between -y and 0. Where h = 0 the clip is read as its limit.

The tilt. With v = w + b/total and c = X b/total, P(w) is sum_i l(<x_i, v> - c_i, y_i) + total/2 ||v||^2 and a
constant: a tilt only moves t_i to t_i + c_i. So v lies in the span of the rows, is 0 in every column that no row
touches, and

    w = v - b/total,   which on such an inactive column is -b/total exactly: it is never solved for.

The dual: with A = X'alpha, v = -A/total and alpha_i = l'(<x_i, v> - c_i) at the optimum. Along one alpha_i, all else
held, it is maximised by

    alpha_i <- clip((s_i - t_i - c_i)/(||x_i||^2/total + h), low, high),   s_i = <x_i, v> + alpha_i ||x_i||^2/total,

and v follows in the columns of x_i alone. The rows of all repeats are visited together, so that their random access to
the columns is paid once. A pass over all rows in random order (a fixed seed) alternates with passes over those that
are not at a bound.

The certificate. At v = -A/total the duality gap is a sum of Fenchel-Young terms. With u_i = <x_i, v> - c_i and
a_i = l'(u_i),

    gap = sum_i (a_i - alpha_i) (u_i - t_i - h (a_i + alpha_i)/2),   each >= 0,

free of cancellation, and free of inactive columns. P is total-strongly convex, so ||w - w*|| <= sqrt(2 gap/total) =
slack. A is formed anew from alpha before a gap is believed. The rounding of A and of u is not counted: at h = 0 it
matters for slacks of about sqrt(n) 1e-8 and below (`kinked.distance` counts it).

Sources: jain2013, equation 2 (the problem), errata J8 and J9 (no bias; the certificate); kifer2012, Algorithm 1 (the
tilt). Hsieh et al., ICML 2008, and Shalev-Shwartz and Zhang, JMLR 14 (2013) (dual coordinate descent).
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dperm import losses
from dperm.compiled import compiled
from dperm.domain import Domain, number
from dperm.losses import Loss
from dperm.solvers.newton import Solution

# Bytes of v, and of its part for one row, that one batch of repeats may take.
_CHUNK_BYTES, CHUNK_REPEATS = 64 * 2**20, 32
# Passes over the rows within their bounds, after each over all; they end sooner at this share of the gap they began at.
_FREE_PASSES, _FREE_SHARE = 20, 0.1
# From so many entries on, more than a processor's second cache holds, rows are laid out in the order of their pass.
_LAID_OUT = 2**16
_CENTRED, _SIGNED = ("squared", "huber", "absolute"), ("hinge", "smoothed_hinge")


@dataclass(frozen=True)
class Fit:
    """What `minimise` found; of R repeats if the tilt has R rows, else without that axis.

    - columns: shape (m,); the columns that a row touches, ascending.
    - weights: shape (R, m) or (m,); w on them.
    - rest: shape (R, d), or (d,), or None:
        -tilt/total: w on every other column. None stands for zeros.
    - dual: shape (R, n) or (n,); alpha, an element of l' at the optimum.
    - gap: shape (R,), or float; P(w) minus the dual's value, >= P(w) - P(w*).
    - slack: shape (R,), or float; sqrt(2 gap/total) >= ||w - w*||_2.
    - norm: shape (R,), or float; ||w||_2 over all d columns.
    - passes: over all rows, and over those within their bounds; the most of any batch of repeats.
    """

    columns: np.ndarray
    weights: np.ndarray
    rest: np.ndarray | None
    dual: np.ndarray
    gap: np.ndarray | float
    slack: np.ndarray | float
    norm: np.ndarray | float
    passes: int
    features: int

    def dense(self) -> np.ndarray:
        """Return w on all columns, shape (R, d) or (d,)."""
        return self.on(np.arange(self.features))

    def on(self, columns: np.ndarray) -> np.ndarray:
        """Return w on some columns (columns (k,); the result (R, k) or (k,))."""
        shape = (*self.weights.shape[:-1], len(columns))
        w = np.zeros(shape) if self.rest is None else self.rest[..., columns]
        place = np.searchsorted(self.columns, columns)
        active = np.flatnonzero(np.append(self.columns, -1)[place] == columns)
        w[..., active] = self.weights[..., place[active]]
        return w

    def predict(self, Z: sparse.csr_matrix) -> np.ndarray:
        """Return <z, w> for the rows z of Z (Z (k, d); the result (R, k) or (k,))."""
        Z = sparse.csr_matrix(Z)
        columns, place = np.unique(Z.indices, return_inverse=True)
        return (_local(Z, place.ravel(), len(columns)) @ self.on(columns).T).T


def minimise(
    X: sparse.csr_matrix,
    y: np.ndarray,
    loss: Loss | str,
    *,
    total: float,
    slack: float,
    tilt: np.ndarray | None = None,
    max_passes: int = 10_000,
) -> Fit:
    r"""Minimise sum_i l(<x_i, w>, y_i) + total/2 ||w||^2 + <b_r, w> for every row b_r of the tilt at once.

    A repeat that does not reach `slack` (too few passes, or a slack below rounding) is returned as it is: compare its
    `slack`. Nothing is raised then, because whether a solver converged depends on private data.

    - X: shape (n, d); memory beyond it: 16 R m + 24 R n bytes for m active columns, and 4 d; with a tilt, that of the
      tilt again.
    - loss: squared, huber, hinge, smoothed_hinge or absolute; a name stands for the default knee or width.
    - total: in (0, inf): n lambda.
    - slack: in (0, inf): aim for sqrt(2 gap/total), a public number.
    - tilt: shape (R, d) or (d,); b.
    - Returns: the same bytes for the same input.
    - Source: jain2013, equation 2; errata J7 to J9.
    """
    X, y, loss, tilts = _checked(X, y, loss, total, slack, tilt, max_passes)
    n, d = X.shape
    columns, local = _active(X)
    centre, h, low, high = _shape(loss, y)
    rows, square = _local(X, local, len(columns)), _squares(X)
    repeats = 1 if tilts is None else len(tilts)
    weights, dual = np.empty((repeats, len(columns))), np.empty((repeats, n))
    gap, most = np.empty(repeats), 0
    target = slack**2 * total / 2
    size = max(1, min(CHUNK_REPEATS, _CHUNK_BYTES // (8 * max(1, len(columns)))))
    for first in range(0, repeats, size):
        part = slice(first, min(first + size, repeats))
        if tilts is None:
            moved, t = 0.0, centre[:, None].copy()
        else:
            moved = tilts[part][:, columns] / total
            t = centre[:, None] + (rows @ moved.T)
        alpha, A, gap[part], passes = _descend(rows, square, t, h, low, high, total, target, max_passes)
        weights[part], dual[part], most = -A.T / total - moved, alpha.T, max(most, passes)
    rest = None if tilts is None else -tilts / total
    norm2 = np.einsum("rj,rj->r", weights, weights)
    if rest is not None:
        norm2 += np.maximum(np.einsum("rj,rj->r", rest, rest) - np.einsum("rj,rj->r", *2 * [rest[:, columns]]), 0.0)
    found = (weights, rest, dual, gap, np.sqrt(2 * gap / total), np.sqrt(norm2))
    if tilt is None or np.ndim(tilt) == 1:
        found = [None if values is None else values[0] for values in found]
    return Fit(columns, *found, most, d)


def tilted(
    loss: Loss, X: sparse.csr_matrix, y: np.ndarray, *, ridge: float, tolerance: float, tilt: np.ndarray | None
) -> Solution:
    """Minimise as `dperm.solvers.newton.minimise` does, for sparse X and the losses of this module.

    - tolerance: in (0, inf): the certificate aims at tolerance/ridge.
    - tilt: shape (R, d), or None; none stands for one repeat without a tilt.
    - Returns: theta in all d columns; certificate sqrt(2 gap/ridge); `gradient_norm` is ridge times that.
    """
    fit = minimise(X, y, loss, total=ridge, slack=tolerance / ridge, tilt=tilt)
    theta, slack = np.atleast_2d(fit.dense()), np.atleast_1d(fit.slack)
    return Solution(theta, slack, ridge * slack, np.full(len(theta), fit.passes))


def _checked(X, y, loss, total, slack, tilt, max_passes):
    """Return X as CSR of doubles without repeated entries, y, the loss and the tilts (R, d), or raise ValueError."""
    loss = losses.make(loss) if isinstance(loss, str) else loss
    if loss.name not in (*_CENTRED, *_SIGNED):
        raise ValueError(
            f"loss={loss.name!r} is not one of {', '.join((*_CENTRED, *_SIGNED))}, whose derivatives are clipped "
            "lines; take one of them, or a dense X"
        )
    total, slack = number("total", total, 0, np.inf, ends="()"), number("slack", slack, 0, np.inf, ends="()")
    number("max_passes", max_passes, 1, np.inf, ends="[)")
    X, y = sparse.csr_matrix(X, dtype=float), np.asarray(y, dtype=float)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if y.shape != (X.shape[0],):
        raise ValueError(f"X has shape {X.shape} and y {y.shape}: they must be (n, d) and (n,)")
    tilts = None if tilt is None else np.atleast_2d(np.asarray(tilt, dtype=float))
    if tilts is not None and (tilts.ndim != 2 or tilts.shape[1] != X.shape[1]):
        raise ValueError(f"tilt has shape {np.shape(tilt)}: it must be (repeats, {X.shape[1]}) or ({X.shape[1]},)")
    for name, array in (("X", X.data), ("y", y), ("tilt", tilts)):
        if array is not None and not np.isfinite(array).all():
            raise ValueError(f"{name} holds values that are not finite: remove or impute them first")
    if loss.name in _SIGNED and not (np.abs(y) == 1).all():
        raise ValueError(f"loss={loss.name!r} needs y of -1 and 1")
    return X, y, loss, tilts


def _active(X: sparse.csr_matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns touched, ascending, and for each stored entry its place among them."""
    place = np.zeros(X.shape[1], np.int32)
    place[X.indices] = 1
    columns = np.flatnonzero(place)
    place[columns] = np.arange(len(columns))
    return columns, place[X.indices]


def _local(X: sparse.csr_matrix, local: np.ndarray, width: int) -> sparse.csr_matrix:
    """Return X without its inactive columns."""
    return sparse.csr_matrix((X.data, local, X.indptr), shape=(X.shape[0], width))


def _squares(X: sparse.csr_matrix) -> np.ndarray:
    """Return ||x_i||^2."""
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def _shape(loss: Loss, y: np.ndarray) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """Return t (n,), h, low (n,) and high (n,) of l'(u) = clip((u - t)/h, low, high)."""
    steepest, curvature = loss.suprema(Domain(x_norm=1.0))
    h = 1 / curvature
    if loss.name in _CENTRED:
        return y, h, np.full(len(y), -steepest), np.full(len(y), steepest)
    return y * (1 + h / 2), h, np.minimum(-y, 0.0), np.maximum(-y, 0.0)


def _descend(rows, square, t, h, low, high, total, target, max_passes):
    """Return alpha (n, k), A (m, k), the gaps (k,) and the passes made, for the k columns of t."""
    n, k = t.shape
    rng = np.random.default_rng(0)
    alpha, A = np.zeros((n, k)), np.zeros((rows.shape[1], k))
    everyone, passes = np.arange(n), 0

    def one_pass(some):
        order = rng.permutation(some)
        # To read rows here and there keeps the processor waiting for memory: copied first, they are read in one stream.
        met = _entries(rows[order]) if rows.nnz >= _LAID_OUT else _entries(rows, order)
        return _pass(*met, order, square, t, h, low, high, total, alpha, A)

    while True:
        seen = one_pass(everyone)
        passes += 1
        if (seen <= target).all() or passes >= max_passes:
            A = _gather(rows.indptr, rows.indices, rows.data, alpha, rows.shape[1])
            gap = _gap(rows.indptr, rows.indices, rows.data, t, h, low, high, total, alpha, A)
            if (gap <= target).all() or passes >= max_passes:
                return alpha, A, gap, passes
        free = np.flatnonzero(((alpha > low[:, None]) & (alpha < high[:, None])).any(axis=1))
        if len(free) > 0.5 * n:
            continue
        aim = np.maximum(_FREE_SHARE * seen, 0.3 * target)
        for _ in range(min(_FREE_PASSES, max_passes - passes)):
            passes += 1
            if (one_pass(free) <= aim).all():
                break


def _entries(rows, order=None):
    """Return where the rows of an order begin and end, and the columns and the values of all entries."""
    begin, end = rows.indptr[:-1], rows.indptr[1:]
    return *((begin, end) if order is None else (begin[order], end[order])), rows.indices, rows.data


@compiled
def _pass(begin, end, index, entry, order, square, t, h, low, high, total, alpha, A):
    """Maximise the dual along each alpha_i in turn; return the gaps' terms as they were met, summed.

    The entries of the row that is met at a place of `order` stand from `begin` to `end` of that place.
    """
    k = t.shape[1]
    u, step, seen = np.empty(k), np.empty(k), np.zeros(k)
    for place in range(len(order)):
        i = order[place]
        u[:] = 0.0
        for j in range(begin[place], end[place]):
            a, row = entry[j], A[index[j]]
            for r in range(k):
                u[r] += a * row[r]
        own = square[i] / total
        moved = False
        for r in range(k):
            off, former = -u[r] / total - t[i, r], alpha[i, r]
            seen[r] += _term(off, former, h, low[i], high[i])
            new = _clipped(off + own * former, own + h, low[i], high[i])
            step[r] = new - former
            alpha[i, r] = new
            moved = moved or new != former
        if moved:
            for j in range(begin[place], end[place]):
                a, row = entry[j], A[index[j]]
                for r in range(k):
                    row[r] += a * step[r]
    return seen


@compiled
def _clipped(off, width, low, high):
    """Return clip(off/width, low, high), and its limit at width 0."""
    if width > 0.0:
        return min(max(off / width, low), high)
    return high if off > 0.0 else low


@compiled
def _term(off, dual, h, low, high):
    """Return l(u) + l*(dual) - dual u, with off = u - t."""
    best = _clipped(off, h, low, high)
    return (best - dual) * (off - 0.5 * h * (best + dual))


@compiled
def _gap(start, index, entry, t, h, low, high, total, alpha, A):
    """Return the duality gap at v = -A/total."""
    k = t.shape[1]
    u, gap = np.empty(k), np.zeros(k)
    for i in range(len(t)):
        u[:] = 0.0
        for j in range(start[i], start[i + 1]):
            a, row = entry[j], A[index[j]]
            for r in range(k):
                u[r] += a * row[r]
        for r in range(k):
            gap[r] += _term(-u[r] / total - t[i, r], alpha[i, r], h, low[i], high[i])
    return gap


@compiled
def _gather(start, index, entry, alpha, width):
    """Return A = X'alpha."""
    A = np.zeros((width, alpha.shape[1]))
    for i in range(len(alpha)):
        for j in range(start[i], start[i + 1]):
            row = A[index[j]]
            for r in range(alpha.shape[1]):
                row[r] += entry[j] * alpha[i, r]
    return A
