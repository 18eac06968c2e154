r"""Linear models under a loss of two straight pieces, by Newton's method: few steps, whatever the records are.

    w* = argmin_w  P(w),   P(w) = sum_i l(<x_i, w>, y_i) + total/2 ||w||^2,      l(u) = max_{low <= a <= high} a (u - t)

(hinge: t = y, a between -y and 0; absolute: t = y, |a| <= 1.) Coordinate descent on the dual (`sparse`) may need any
number of passes where many records meet at few kinks. Here a barrier of weight mu keeps alpha inside the box. Given mu
the best alpha is known in closed form, and P becomes smooth: Newton's method in w follows its minimiser while mu falls,
until n mu is small beside total ||w||^2. From there Newton's steps in w, alpha and the bounds' multipliers z, z' > 0,

    total w + X'alpha = 0,  <x_i, w> - t_i + z_i - z'_i = 0,  z_i (alpha_i - low_i) = z'_i (high_i - alpha_i) = mu -> 0,

have a far wider reach (Mehrotra 1992). Each is one linear system of p (or n, if fewer) equations, and about 50 do.

The certificate. For *any* w, and any alpha in the box, P(w) - P(w*) is at most the gap

    sum_i (a_i - alpha_i) (u_i - t_i)  +  ||total w + X'alpha||^2/(2 total),   u_i = <x_i, w>,  a_i in l'(u_i),

all of whose terms are 0 or above. w is not made of alpha: so the rounding of the sum X'alpha enters by its square, and
no cancellation in it moves u. Rounding, with v = 2^-53: u_i - t_i is off by v ((p + 2) ||x_i|| ||w|| + |t_i|); X'alpha
goes in about sqrt(n) sums of about sqrt(n) records, and is off by (2 sqrt(n) + p + 4) v times its terms' sizes; both
are added. P is total-strongly convex: ||w - w*|| <= sqrt(2 gap/total).

Many equal records at a kink. There |u_i - t_i| is rounding, e, and n of them make a gap of n e, although w itself is
off by e alone. Let X_M be k different rows with |u_i - t_i| <= e_i, and sigma > 0 a lower bound on their least singular
value: some w' has X_M w' = t_M exactly and ||w' - w|| <= d = ||e_M||/sigma. At w' all records with these rows and t add
nothing to the gap, whatever their alpha, and the others are off by ||x_i|| d more:

    ||w - w*|| <= d + sqrt(2 gap'/total),
    gap' = sum of the others' terms + (||total w + X'alpha|| + total d)^2/(2 total).

Sources: Mehrotra, SIAM J. Optim. 2 (1992) (predictor and corrector). `sparse` has the losses and the dual.
"""

import math

import numpy as np

from dperm.solvers.blas import one_thread

_UNIT, _MORE = 2.0**-53, 1 + 1e-9
# Newton's steps; a step's share of the way to the boundary; and steps without a smaller gap after which it ends.
_FALL, _WEIGHTS, _NEWTON, _NEAR, _SMALL = 0.1, 12, 30, 0.1, 1e-3
_STEPS, _INSIDE = 200, 0.995
# Records within so many roundings of a kink may be moved to it.
_KINK = 1e3
_SEARCH, _FLAT, _PATIENCE = 40, 0.5, 15


def minimise(
    X: np.ndarray, t: np.ndarray, low: np.ndarray, high: np.ndarray, *, total: float, slack: float
) -> tuple[np.ndarray, float]:
    """Return the best w found, shape (p,), and an upper bound on ||w - w*||, with its own rounding.

    - t, low, high: shape (n,); low < high.
    - slack: above 0; the bound aimed at. What does not reach it is returned as it is.
    """
    n, p = X.shape
    # w lies in the span of the rows: with fewer rows than columns its coordinates there are enough.
    basis = None
    rows = X
    if p > n:
        basis, triangle = np.linalg.qr(X.T)
        rows = np.ascontiguousarray(triangle.T)
    with one_thread(), np.errstate(all="ignore"):
        best, least = np.zeros(p), math.inf
        since = 0
        for w, alpha in _path(rows, t, low, high, total):
            whole = w if basis is None else basis @ w
            bound = _distance(X, t, low, high, total, whole, alpha)
            since = 0 if bound < least else since + 1
            if bound < least:
                best, dual, least = whole, alpha, bound
            if least <= slack or since > _PATIENCE:
                break
        if slack < least < math.inf:
            least = min(least, _distance(X, t, low, high, total, best, dual, kinks=True))
    return best, least


def distance(
    X: np.ndarray,
    t: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    total: float,
    w: np.ndarray,
    alpha: np.ndarray,
    slack: float,
) -> float:
    """Return an upper bound on ||w - w*|| for another solver's w and alpha; one above `slack` may not be the least."""
    with one_thread(), np.errstate(all="ignore"):
        bound = _distance(X, t, low, high, total, w, alpha)
        return bound if bound <= slack else min(bound, _distance(X, t, low, high, total, w, alpha, kinks=True))


def _path(X, t, low, high, total):
    """Yield w and alpha: of the smoothed problem's minimisers for a few mu, then of Newton's steps in all unknowns."""
    n, p = X.shape
    problem, w = Smoothed(X, t, 0.5 * (low + high), 0.5 * (high - low), total), np.zeros(p)
    mu = float(np.abs(t).max()) or 1.0
    for _ in range(_WEIGHTS):
        w, alpha = problem.minimise(w, mu)
        yield w, alpha
        if n * mu < _SMALL * total * float(w @ w):
            break
        mu *= _FALL
    alpha = np.clip(alpha, np.nextafter(low, high), np.nextafter(high, low))
    below, above = mu / (alpha - low), mu / (high - alpha)
    for _ in range(_STEPS):
        system = _System(X, t, low, high, total, w, alpha, below, above)
        # Predictor: as if mu were 0. What it leaves says how far the weight may fall, and what the model misses.
        _, dalpha, dbelow, dabove = ahead = system.step(0.0, 0.0)
        length = system.longest(*ahead)
        after = (below + length * dbelow) @ (alpha - low + length * dalpha)
        after += (above + length * dabove) @ (high - alpha - length * dalpha)
        mu = system.mu
        aim = mu * min(1.0, max(float(after) / (2 * n * mu), 0.0)) ** 3
        moves = system.step(aim - dalpha * dbelow, aim + dalpha * dabove)
        length = _INSIDE * system.longest(*moves)
        moved = [value + length * move for value, move in zip((w, alpha, below, above), moves, strict=True)]
        if not all(np.isfinite(value).all() for value in moved):
            return
        w, alpha, below, above = moved
        # A coordinate that rounds to its bound would have no room at all.
        alpha = np.clip(alpha, np.nextafter(low, high), np.nextafter(high, low))
        yield w, alpha


class _System:
    """The equations of a step in all unknowns, at w, alpha and the multipliers `below` and `above` of its bounds."""

    def __init__(self, X, t, low, high, total, w, alpha, below, above):
        self.X, self.below, self.above = X, below, above
        self.to_low, self.to_high = alpha - low, high - alpha
        self.slope = total * w + X.T @ alpha
        self.residual = X @ w - t + below - above
        self.mu = float(below @ self.to_low + above @ self.to_high) / (2 * len(X))
        self.weights = below / self.to_low + above / self.to_high
        # In units of the diagonal: the weights grow without end.
        matrix = X.T @ (X / self.weights[:, None])
        matrix[np.diag_indices(len(matrix))] += total
        self.unit = 1 / np.sqrt(np.diag(matrix))
        self.matrix = matrix * self.unit * self.unit[:, None]

    def step(self, products_low, products_high):
        """Return the moves of w, alpha and the multipliers towards these products of a multiplier and its room."""
        below, above, to_low, to_high = self.below, self.above, self.to_low, self.to_high
        residual = self.residual + products_low / to_low - below - (products_high / to_high - above)
        right = -(self.slope + self.X.T @ (residual / self.weights)) * self.unit
        try:
            dw = np.linalg.solve(self.matrix, right) * self.unit
        except np.linalg.LinAlgError:
            dw = np.full(len(right), np.nan)
        dalpha = (self.X @ dw + residual) / self.weights
        dbelow = products_low / to_low - below - below / to_low * dalpha
        dabove = products_high / to_high - above + above / to_high * dalpha
        return dw, dalpha, dbelow, dabove

    def longest(self, dw, dalpha, dbelow, dabove):
        """Return the longest part of a step, at most all of it, that stays inside all bounds."""
        pairs = ((self.to_low, dalpha), (self.to_high, -dalpha), (self.below, dbelow), (self.above, dabove))
        return min(1.0, *(_room(value, move) for value, move in pairs))


def _room(value, move):
    """Return how many times `move` values above 0 can be moved until one is 0."""
    falling = move < 0
    return float(np.min(-value[falling] / move[falling], initial=np.inf))


class Smoothed:
    """P with the barrier, whose inner maximum over alpha is known: centre + half q/(1 + D), D = sqrt(1 + q^2)."""

    def __init__(self, X, t, centre, half, total):
        self.X, self.t, self.centre, self.half, self.total = X, t, centre, half, total

    def minimise(self, w, mu):
        """Return a point near to the minimiser for mu, from w on, and its alpha."""
        for _ in range(_NEWTON):
            alpha, slope, curvature = self.evaluate(w, mu)
            step = _newton(curvature, slope)
            # Twice the decrease that Newton's model promises.
            if not -float(slope @ step) > _NEAR * mu:
                break
            w = w + self.length(w, step, mu) * step
        return w, alpha

    def alpha(self, u, mu):
        """Return alpha at the margins u, and D."""
        q = self.half * ((u - self.t) / mu)
        D = np.hypot(1.0, q)
        return self.centre + self.half * (q / (1 + D)), D

    def evaluate(self, w, mu):
        """Return alpha, the gradient and the Hessian."""
        alpha, D = self.alpha(self.X @ w, mu)
        weights = self.half**2 / (mu * D * (1 + D))
        H = self.X.T @ (self.X * weights[:, None])
        H[np.diag_indices(len(H))] += self.total
        return alpha, self.total * w + self.X.T @ alpha, H

    def length(self, w, step, mu):
        """Return about how far along a step the smoothed P falls: where its slope is a small part of that at 0."""
        u, du = self.X @ w, self.X @ step
        at, along = self.total * float(w @ step), self.total * float(step @ step)

        def slope(s):
            return at + s * along + float(du @ self.alpha(u + s * du, mu)[0])

        first = slope(0.0)
        short, long, s = 0.0, math.inf, 1.0
        for _ in range(_SEARCH):
            here = slope(s)
            if abs(here) <= _FLAT * abs(first):
                break
            short, long = (s, long) if here < 0 else (short, s)
            s = 2 * s if math.isinf(long) else 0.5 * (short + long)
        return s


def _newton(H, slope):
    """Return Newton's step, in units of the diagonal; 0 where H is singular to rounding."""
    unit = 1 / np.sqrt(np.diag(H))
    try:
        return -unit * np.linalg.solve(H * unit * unit[:, None], unit * slope)
    except np.linalg.LinAlgError:
        return np.zeros(len(slope))


def _distance(X, t, low, high, total, w, alpha, *, kinks: bool = False) -> float:
    """Return sqrt(2 gap/total) with the rounding of the module's text; `kinks` looks for many equal records at one."""
    n, p = X.shape
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    off = X @ w - t
    error = _UNIT * ((p + 2) * lengths * float(np.linalg.norm(w)) + np.abs(t))
    # The element of l' that is further from alpha than the other way counts where rounding may hide the side.
    far = np.where(off > 0, high - alpha, alpha - low)
    hidden = np.maximum(high - alpha, alpha - low)
    terms = np.where(np.abs(off) > error, far * (np.abs(off) + error), hidden * 2 * error)
    block = max(1, math.isqrt(n))
    slope = total * w
    for start in range(0, n, block):
        slope = slope + X[start : start + block].T @ alpha[start : start + block]
    sizes = total * float(np.linalg.norm(w)) + float(lengths @ np.abs(alpha))
    left = float(np.linalg.norm(slope)) + (2 * block + p + 4) * _UNIT * sizes
    if not kinks:
        return _bound(terms, left, total, 0.0)
    near = np.abs(off) + error
    at = np.flatnonzero(near <= _KINK * error)
    found = math.inf
    for chosen, moved in _sets_of_kinks(X[at], t[at], near[at]):
        # Without those that w' has at their kink; the others are off by as much as w' is.
        others = terms + hidden * (lengths * (moved * _MORE))
        others[at[chosen]] = 0.0
        found = min(found, _bound(others, left + total * moved, total, moved))
    return found


def _bound(terms, left, total, moved) -> float:
    # Terms of one sign: their sum is off by its own share.
    gap = _MORE * (float(terms.sum()) * (1 + len(terms) * _UNIT) + left**2 / (2 * total))
    return moved + math.sqrt(2 * gap / total) if gap >= 0 else math.inf


def _sets_of_kinks(X, t, near):
    """Yield the places of records near a kink that have one of k rows and t, and how far w' is from w; k falls."""
    # -0 is 0 here.
    records = np.ascontiguousarray(np.column_stack([X, t]) + 0.0)
    if not records.size:
        return
    _, first, group, counts = np.unique(
        records.view(f"V{records.itemsize * records.shape[1]}").ravel(), return_index=True, return_inverse=True,
        return_counts=True,
    )  # fmt: skip
    order = np.argsort(-counts, kind="stable")
    k = min(X.shape[1], len(order))
    while k:
        rows = X[first[order[:k]]]
        values = np.linalg.svd(rows, compute_uv=False)
        # What an SVD in doubles may be off by, with much room.
        least = float(values[-1]) - 8 * (len(rows) + X.shape[1]) ** 2 * _UNIT * float(values[0])
        if least > 0:
            distance = float(np.linalg.norm(near[first[order[:k]]])) / least
            yield np.flatnonzero(np.isin(group, order[:k])), _MORE * distance
        k //= 2
