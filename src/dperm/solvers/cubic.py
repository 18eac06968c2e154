r"""The support vector machine without a bias under K(x, v) = (1 + <x, v>)^3, exactly, on rows that share patterns.

    w* = argmin_w P(w),   P(w) = sum_i max(0, 1 - y_i <w, phi(x_i)>) + total/2 ||w||^2        (LibSVM's C = 1/total)
    D(alpha) = sum_i alpha_i - total/2 ||w_alpha||^2,   w_alpha = 1/total sum_i alpha_i y_i phi(x_i),   0 <= alpha <= 1

D <= P(w*) <= P, and P is total-strongly convex, so that for every w and every alpha of the box

    ||w - w*|| <= sqrt(2 gap/total),   gap = sum_i [max(0, 1 - m_i) - alpha_i (1 - m_i)] + total/2 ||w - w_alpha||^2,

with m_i = y_i <w, phi(x_i)>. Every term is non-negative, and exactly 0 for rows at a bound of the box on the right side
of the kink: nothing cancels, so a gap a billionth of P is still right. The w returned is formed anew from alpha; what
rounding may do to it and to m is added.

Coordinate descent on D keeps w, not a kernel matrix: a row's margin is a cubic polynomial of its few numbers, whose
coefficients all rows of a pattern share (`dperm.solvers.patterns`). So an epoch takes pattern by pattern, in random
order: its coefficients are gathered once; margins are taken for BLOCK rows, in random order, at a time, which runs in
vector registers; then the rows move one after another, each move being told to the rest of its block by the kernel.
The iterates are those of descent row by row. Rows that sit at a bound, beyond all of the last epoch's violations, are
left out (shrinking); once few are left, these are solved to the end by their kernel matrix (`dperm.solvers.gram`).
Then a pass over all rows shows the gap, and which rows may yet move.

Neighbouring relation: none here. A mechanism adds 2 slack to the sensitivity of w* (erratum J9).

Sources: jain2013, Section 7 and equation (2); errata J7, J8, J9. Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML
2008.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from dperm.compiled import compiled
from dperm.domain import LEAST, MOST, NORM_SLACK, number
from dperm.errors import DataError, DomainViolation, SolverError
from dperm.solvers import gram, patterns

# The first descent ends where projected gradients (margins, no unit) span this; a later one, so much below the last.
_FIRST, _LEAST_CUT, _MOST_CUT = 0.01, 0.3, 0.01
# So many epochs of a descent without an end in sight are followed by a pass over all rows.
_EPOCHS_A_DESCENT = 200
# So few rows are solved by their kernel matrix.
FEW = 512
# So many passes over all rows in a row whose gap is no smaller than an earlier one: no better one will come.
_IDLE = 100
_SEED = 88172645463325252


@dataclass(frozen=True)
class Fit:
    """What `minimise` found.

    - columns: shape (F,); the features that rows of X have, as columns of `dperm.kernels.monomials`; all others have
      weight 0.
    - weights: shape (F,); w on them: <w, phi(x)> is the prediction.
    - dual: shape (n,); alpha, in [0, 1].
    - gap: upper bound on P(w) - P(w*), sum scale.
    - slack: sqrt(2 gap/total), upper bound on ||w - w*||_2.
    - epochs: passes over all or over the remaining rows.
    """

    columns: np.ndarray
    weights: np.ndarray
    dual: np.ndarray = field(repr=False)
    gap: float
    slack: float
    norm: float
    epochs: int

    def predict(self, Z: np.ndarray | sparse.csr_array) -> np.ndarray:
        """Return <w, phi(z)> of every row (Z (T, d); the result (T,))."""
        rows = patterns.group(Z)
        places = rows.places()
        at = np.minimum(np.searchsorted(self.columns, places), len(self.columns) - 1)
        known = self.columns[at] == places
        return _predictions(rows, np.where(known, self.weights[at], 0.0))


def gaussian_predictions(Z: np.ndarray | sparse.csr_array, rng: np.random.Generator, draws: int) -> np.ndarray:
    """Return <xi, phi(z)> of every row, (draws, T), each xi standard Gaussian on the monomials that the rows have."""
    rows = patterns.group(Z)
    columns, at = np.unique(rows.places(), return_inverse=True)
    at = at.reshape(-1, len(rows.order.triples))
    return np.stack([_predictions(rows, rng.standard_normal(len(columns))[at]) for _ in range(draws)])


def _predictions(rows, weights):
    """Return <w, phi(z)> of every row; `weights` are w at the places of every pattern."""
    # `all_margins` multiplies by mu what has to be multiplied by its root.
    weights = weights / np.sqrt(rows.order.multiplicity)
    features = np.arange(weights.size).reshape(weights.shape)
    found, out = np.empty(len(rows.z)), np.empty(len(rows.z))
    patterns.all_margins(weights.ravel(), features, *_order(rows), rows.starts, rows.z, found)
    out[rows.rows] = found
    return out


def minimise(
    X: np.ndarray | sparse.csr_array,
    y: np.ndarray,
    *,
    total: float,
    slack: float,
    x_norm: float = 1.0,
    max_epochs: int = 100_000,
) -> Fit:
    """Solve the support vector machine of the module's text; the same bytes for the same data.

    - X: shape (n, d); rows of a few entries each, ||x||_2 <= x_norm.
    - y: shape (n,); in {-1, +1}.
    - total: n lambda, 1/C of LibSVM; in [1e-30, 1e30].
    - slack: public bound on ||w - w*||_2 to certify, above 0.
    - Raises DataError: if shapes or labels do not fit, or rows hold NaN or share no patterns. The message gives no
      value of the data.
    - Raises SolverError: if the slack is not certified in time (or is below rounding). Whether it is depends on private
      data.
    - Source: jain2013, equation (2); errata J8, J9.
    """
    total = number("total", total, LEAST, MOST, ends="[]", remedy="it is n lambda, LibSVM's 1/C")
    number("slack", slack, 0, math.inf, remedy="a public share, such as 1/20, of 2 L R/total")
    number("max_epochs", max_epochs, 1, math.inf, ends="[)")
    y = np.ascontiguousarray(y, dtype=np.float64)
    if y.shape != (X.shape[0],) or not len(y) or not (np.abs(y) == 1).all():
        raise DataError(f"y must be {X.shape[0]} labels, at least one, each -1 or +1")
    rows = patterns.group(X)
    squares = np.einsum("ij,ij->i", rows.z, rows.z)
    _bounded(squares, x_norm)
    columns, features = np.unique(rows.places(), return_inverse=True)
    features = features.reshape(-1, len(rows.order.triples)).astype(np.int32)
    problem = (features, *_order(rows), rows.starts, rows.z)
    y, R = y[rows.rows], float(squares.max()) ** 1.5
    multiplicity = np.empty(len(columns))
    multiplicity[features] = rows.order.multiplicity
    alpha, w, gap, epochs = _descend(problem, rows.columns, multiplicity, y, total, slack, R, int(max_epochs))
    weights, dual = np.sqrt(multiplicity) * w / total, np.empty(len(y))
    dual[rows.rows] = alpha
    return Fit(columns, weights, dual, gap, math.sqrt(2 * gap / total), float(np.linalg.norm(weights)), epochs)


def _order(rows):
    return rows.order.multiplicity, rows.order.by_pair


def _bounded(squares, x_norm):
    """Refuse rows above x_norm; `squares` are 1 + ||x||^2."""
    number("x_norm", x_norm, LEAST, MOST, ends="[]", error=DomainViolation, remedy="it bounds the length of rows")
    if (squares > 1 + (x_norm * (1 + NORM_SLACK)) ** 2).any():
        raise DomainViolation(
            f"X has rows longer than x_norm={x_norm:g}; declare the larger public bound, or scale the rows to it"
        )


def _descend(problem, columns, multiplicity, y, total, slack, R, most):
    """Return alpha, the unscaled w, the certified gap and the epochs."""
    features, *_, starts, z = problem
    n, target = len(y), slack**2 * total / 2
    alpha, w, margin = np.zeros(n), np.zeros(len(multiplicity)), np.empty(n)
    order, dropped, active = np.arange(n, dtype=np.int32), np.empty(n, np.int32), np.diff(starts)
    by, state, seen = np.arange(len(features)), np.array([_SEED], np.uint64), np.empty(2)
    span, epochs, best, idle = _FIRST, 0, np.inf, 0
    while True:
        low, high = -np.inf, np.inf
        for _ in range(_EPOCHS_A_DESCENT):
            if active.sum() <= FEW:
                _settle(problem, columns, w, y, alpha, total, order, active, 0.3 * target)
                epochs += 1
                break
            _epoch(w, *problem, active, order, dropped, by, y, alpha, total, low, high, state, seen)
            epochs += 1
            if seen[1] - seen[0] <= span or epochs >= most:
                break
            low, high = seen[0] if seen[0] < 0 else -np.inf, seen[1] if seen[1] > 0 else np.inf
        patterns.all_margins(w, *problem, margin)
        gap, owed, violation = _gap(w, multiplicity, margin, y, alpha, total, R, z.shape[1])
        best, idle = (gap, 0) if gap < best else (best, idle + 1)
        late = f"within {epochs} epochs" if epochs >= most else "and may be below rounding"
        stuck = epochs >= most or gap <= 2 * owed or idle >= _IDLE
        if gap <= target or stuck:
            # What descent has added up in w may have drifted from w_alpha.
            w[:] = 0.0
            _add(w, features, starts, z, alpha * y)
            patterns.all_margins(w, *problem, margin)
            gap, owed, violation = _gap(w, multiplicity, margin, y, alpha, total, R, z.shape[1])
            if gap <= target:
                return alpha, w, gap, epochs
            if stuck:
                raise SolverError(
                    f"slack={slack:g} was not certified {late}; ask for a larger slack, or a larger total"
                )
        _activate(margin, y, alpha, total, 2 * violation, starts, active, order)
        span *= min(max(0.5 * target / gap, _MOST_CUT), _LEAST_CUT)


def _settle(problem, columns, w, y, alpha, total, order, active, share):
    """Minimise over the active rows by their kernel matrix, in place, until their part of the gap is a share."""
    features, *rest, starts, z = problem
    sizes = np.diff(starts)
    rows = order[np.arange(len(order)) - np.repeat(starts[:-1], sizes) < np.repeat(active, sizes)]
    begin, own, sign, margin = np.concatenate([[0], np.cumsum(active)]), z[rows], y[rows], np.empty(len(rows))
    patterns.all_margins(w, features, *rest, begin, own, margin)
    live = active > 0
    used, place = np.unique(columns[live], return_inverse=True)
    dense = np.zeros((len(rows), len(used)))
    np.put_along_axis(dense, np.repeat(place.reshape(-1, columns.shape[1]), active[live], axis=0), own, axis=1)
    G = (sign[:, None] * sign) * (dense @ dense.T) ** 3 / total
    c = G @ alpha[rows] - (sign * margin / total - 1)
    # A row's part of the gap is at most its projected gradient, and their sum at most sqrt(rows) times their norm.
    found = gram.minimise(
        G, c[None], tolerance=share / math.sqrt(max(len(rows), 1)), low=0.0, high=1.0, start=alpha[rows][None]
    )
    _add(w, features, begin, own, (found.theta[0] - alpha[rows]) * sign)
    alpha[rows] = found.theta[0]


def _gap(w, multiplicity, margin, y, alpha, total, R, size):
    """Return the gap of w and alpha, what of it is owed to rounding, and how far from optimal the worst row is."""
    slope = 1 - y * margin / total
    terms = np.maximum(slope, 0) - alpha * slope
    # m is a sum by `patterns.margins`, of so many roundings (half an eps each) in a row at most, and of terms whose
    # sizes add up to at most ||w|| R.
    eps, steps = np.finfo(float).eps, size * (size + 3) / 2 + 16
    rounding = steps * eps * (1 + R * math.sqrt(multiplicity @ w**2) / total)
    drift = (len(y) + 8) * eps * alpha.sum() * R / total
    unsettled = int(((terms > 0) | (np.abs(slope) <= rounding)).sum())
    owed = terms.sum() * len(y) * eps + unsettled * rounding + total / 2 * drift**2
    up, down = slope[alpha < 1].max(initial=0.0), slope[alpha > 0].min(initial=0.0)
    return float(terms.sum() + owed), float(owed), float(up - down)


def _activate(margin, y, alpha, total, band, starts, active, order):
    """Put rows that may yet move first within their pattern: all but those settled at a bound by more than `band`."""
    slope = 1 - y * margin / total
    settled = ((alpha == 0) & (slope < -band)) | ((alpha == 1) & (slope > band))
    _sorted(settled, starts, active, order)


@compiled
def _sorted(settled, starts, active, order):
    for pattern in range(len(active)):
        low, high = starts[pattern], starts[pattern + 1] - 1
        for i in range(starts[pattern], starts[pattern + 1]):
            if settled[i]:
                order[high] = i
                high -= 1
            else:
                order[low] = i
                low += 1
        active[pattern] = low - starts[pattern]


@compiled
def _add(w, features, starts, z, weights):
    """Add the monomials of all rows, weighted, to w, in place."""
    W, pairs, squares = np.empty(features.shape[1]), np.empty(features.shape[1]), np.empty(features.shape[1])
    for pattern in range(len(features)):
        W[:] = 0.0
        for i in range(starts[pattern], starts[pattern + 1]):
            if weights[i] != 0:
                patterns.add(W, z[i], pairs, squares, weights[i])
        for t in range(len(W)):
            w[features[pattern, t]] += W[t]


@compiled
def _shuffle(items, low, high, state):
    """Shuffle items[low:high] in place, by xorshift."""
    x = state[0]
    for k in range(high - 1, low, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        other = low + np.int64(((x >> np.uint64(32)) * np.uint64(k - low + 1)) >> np.uint64(32))
        items[k], items[other] = items[other], items[k]
    state[0] = x


@compiled
def _epoch(
    w, features, multiplicity, by_pair, starts, z, active, order, dropped, by, y, alpha, total, low, high, state, seen
):
    """Move every active row to its minimum in turn; write the least and largest projected gradient met to `seen`."""
    size, F = z.shape[1], features.shape[1]
    W, V, pairs, squares = np.empty(F), np.empty(F), np.empty(F), np.empty(F)
    block, margin = np.zeros((size, patterns.BLOCK)), np.empty(patterns.BLOCK)
    scratch = np.empty(patterns.BLOCK)
    seen[0], seen[1] = np.inf, -np.inf
    _shuffle(by, np.int64(0), len(by), state)
    for pattern in by:
        if active[pattern] == 0:
            continue
        places, begin = features[pattern], starts[pattern]
        end = begin + active[pattern]
        _shuffle(order, begin, end, state)
        # The few weights that this pattern touches, side by side; they are written back at its end.
        for t in range(F):
            W[t] = w[places[t]]
        kept, out = begin, 0
        for first in range(begin, end, patterns.BLOCK):
            used = min(patterns.BLOCK, end - first)
            # The margins of a whole block at once; each step below corrects those that are still to come.
            for t in range(F):
                V[t] = multiplicity[by_pair[t]] * W[by_pair[t]]
            for r in range(used):
                for k in range(size):
                    block[k, r] = z[order[first + r], k]
            patterns.margins(V, block, used, scratch, margin)
            for r in range(used):
                i = order[first + r]
                old, slope = alpha[i], y[i] * margin[r] / total - 1
                # Shrinking: a row far inside its bound is left out until the next check of all rows.
                if (old == 0 and slope > high) or (old == 1 and slope < low):
                    dropped[out] = i
                    out += 1
                    continue
                order[kept] = i
                kept += 1
                if (old == 0 and slope > 0) or (old == 1 and slope < 0):
                    slope = 0.0
                seen[0], seen[1] = min(seen[0], slope), max(seen[1], slope)
                if slope == 0:
                    continue
                # The exact minimum along this coordinate: the kernel of a row with itself is its squared norm, cubed.
                norm = 0.0
                for k in range(size):
                    norm += z[i, k] * z[i, k]
                new = min(max(old - slope * total / (norm * norm * norm), 0.0), 1.0)
                if new == old:
                    continue
                alpha[i], step = new, (new - old) * y[i]
                patterns.add(W, z[i], pairs, squares, step)
                # The later rows of the block see the step through their own kernel with this one.
                scratch[r + 1 : used] = 0.0
                for k in range(size):
                    entry, others = z[i, k], block[k]
                    for u in range(r + 1, used):
                        scratch[u] += entry * others[u]
                for u in range(r + 1, used):
                    margin[u] += step * (scratch[u] * scratch[u] * scratch[u])
        for t in range(out):
            order[kept + t] = dropped[t]
        active[pattern] = kept - begin
        for t in range(F):
            w[places[t]] = W[t]
