r"""Fits of many data sets that differ from one another in one record, each begun at the dual of the first.

    w* = argmin_w P(w),    P(w) = sum_i l(<w, phi_i>, y_i) + total/2 ||w||^2,
    D(c) = - sum_i l*(-c_i, y_i) - total/2 ||w(c)||^2,    w(c) = (1/total) sum_i c_i phi_i

with phi_i in explicit coordinates, few of them. One pass maximises D exactly in every c_i in turn; with u = <w, phi_i>
and q = ||phi_i||^2/total (c = y a for the two losses of labels)

    hinge     a <- min{1, max{0, a + (1 - y u)/q}},
    huber     c <- min{1, max{-1, c + (y - u - c)/(1 + q)}}           (knee 1),
    logistic  a <- s(t),  t + q (s(t) - a) + y u = 0,  s(t) = 1/(1 + e^-t), by Newton's method on t.

The gap is a sum of terms of which none is negative,

    P(w(c)) - D(c) = sum_i { l(u_i, y_i) + l*(-c_i, y_i) + c_i u_i },

so it is not lost in rounding, and ||w(c) - w*|| <= slack = sqrt(2 gap/total) by strong convexity.

`dperm.solvers.kernel` solves the same problem by the kernel and for any n; here a pair is a few passes.
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.compiled import compiled

LOSSES = ("hinge", "huber", "logistic")
_PASSES = 20_000


@dataclass(frozen=True)
class Fits:
    """Minimisers in explicit coordinates: weights, each within `slack` of w*, and duals c."""

    weights: np.ndarray
    slack: np.ndarray
    duals: np.ndarray


def fit(
    features: np.ndarray,
    y: np.ndarray,
    loss: str,
    *,
    total: float,
    slack: float,
    places: np.ndarray | None = None,
    others: np.ndarray | None = None,
    other_y: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> Fits:
    """Fit one data set, or the m that replace record places[r] by others[r], other_y[r]; L = 1 for each loss.

    Labels are -1 and +1, of huber real. `total` is n lambda. Passes end at `slack`, or after 20,000 of them. Duals
    begin at `start`, by default 0 (logistic: y/2).
    """
    code = LOSSES.index(loss)
    fresh = 0.5 * y if loss == "logistic" else np.zeros(len(y))
    c = fresh if start is None else np.asarray(start, float)
    if places is None:
        places, others, other_y = np.array([0]), features[:1], y[:1]
    weights, gaps, duals = _fits(
        np.ascontiguousarray(features), np.asarray(y, float), c, np.asarray(places), np.ascontiguousarray(others),
        np.asarray(other_y, float), code, total, 0.5 * total * slack**2,
    )  # fmt: skip
    return Fits(weights, np.sqrt(2 * gaps / total), duals)


@compiled
def _fits(features, y, c, places, others, other_y, code, total, target):
    n, p = features.shape
    m = len(places)
    weights, gaps, duals = np.empty((m, p)), np.empty(m), np.empty((m, n))
    squares = np.empty(n)
    for i in range(n):
        squares[i] = features[i] @ features[i] / total
    for r in range(m):
        i = places[r]
        own, rows, target_y, q = c.copy(), features.copy(), y.copy(), squares.copy()
        if target_y[i] != other_y[r] or (rows[i] != others[r]).any():
            own[i] = 0.5 * other_y[r] if code == 2 else 0.0
        target_y[i], q[i] = other_y[r], others[r] @ others[r] / total
        # Entry by entry: Numba takes two seconds to compile the assignment of a row.
        for j in range(p):
            rows[i, j] = others[r, j]
        gaps[r] = _descend(rows, target_y, own, q, code, total, target, weights[r])
        for k in range(n):
            duals[r, k] = own[k]
    return weights, gaps, duals


@compiled
def _descend(rows, y, c, q, code, total, target, w):
    """Passes until the gap is at most `target`; c and w are written in place."""
    n = len(y)
    gap, passes, stride = np.inf, 0, 1
    order, state = np.arange(n), np.uint64(1)
    while passes < _PASSES:
        # Looked at after 0, 1, 2, 4, ..., 16, 32, 48, ... passes, with w formed anew.
        fresh = c @ rows
        for j in range(len(w)):
            w[j] = fresh[j] / total
        gap = 0.0
        for i in range(n):
            gap += _term(w @ rows[i], y[i], c[i], code)
        if gap <= target:
            break
        for _ in range(stride):
            for k in range(n):
                # In random order, which takes far fewer passes than the order of the records.
                state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                j = k + np.int64((state >> np.uint64(33)) % np.uint64(n - k))
                order[k], order[j] = order[j], order[k]
                i = order[k]
                step = _best(w @ rows[i], y[i], c[i], q[i], code) - c[i]
                if step != 0.0:
                    c[i] += step
                    w += (step / total) * rows[i]
        passes += stride
        stride = min(2 * stride, 16)
    return gap


@compiled
def _best(u, y, c, q, code):
    """Return the maximiser of D in c_i."""
    if code == 0:
        a = y * c
        if q == 0.0:
            return y * 1.0
        return y * min(1.0, max(0.0, a + (1 - y * u) / q))
    if code == 1:
        return min(1.0, max(-1.0, c + (y - u - c) / (1 + q)))
    # t + q s(t) = q a - y u =: level: rising in t, between level - q and level.
    a = y * c
    level = q * a - y * u
    low, high = level - q, level
    t = level - q * a
    for _ in range(60):
        share = 1 / (1 + math.exp(-t)) if t > -700 else 0.0
        miss = t + q * share - level
        if miss > 0:
            high = t
        else:
            low = t
        step = miss / (1 + q * share * (1 - share))
        if abs(step) <= 1e-13 * (1 + abs(t)):
            break
        t -= step
        if not low < t < high:
            t = 0.5 * (low + high)
    return y / (1 + math.exp(-t)) if t > -700 else 0.0


@compiled
def _term(u, y, c, code):
    """Return l(u, y) + l*(-c, y) + c u, which is 0 or above."""
    if code == 0:
        a = y * c
        return max(0.0, 1 - y * u) - a * (1 - y * u)
    if code == 1:
        far = abs(u - y)
        loss = 0.5 * far**2 if far <= 1 else far - 0.5
        return max(0.0, loss + 0.5 * c**2 - c * y + c * u)
    a, z = y * c, y * u
    loss = max(-z, 0.0) + math.log1p(math.exp(-abs(z)))
    entropy = (a * math.log(a) if a > 0 else 0.0) + ((1 - a) * math.log(1 - a) if a < 1 else 0.0)
    return max(0.0, loss + entropy + a * z)
