r"""The tilted, ridged empirical risk of many repeats at once, with its gradient and curvature.

    J_r(theta) = sum_i l(<x_i, theta>, y_i) + ridge/2 ||theta||^2 + <b_r, theta>        (a sum, not a mean)

Inside the solvers one repeat is one *column*: theta, tilts and gradients are (p, k), margins and weights (n, k). Rows
are taken in blocks small enough that a block of X and its margins stay in the processor's cache between the products.
No privacy here: nothing in this module bounds a sensitivity, so no neighbouring relation is assumed.

Rounding of a gradient, with u = 2^-53 and sums of at most t terms one after the other: a margin is off by
(p + 2) u ||x_i|| ||theta||, which moves l' by l'' times that; l' itself is evaluated to 16 u (|l'| + l'' (c +
|margin|)), with c = 0 where it is a difference u - y and 1 elsewhere (`Loss.unit`); and a sum is off by t u times the
sum of its terms' sizes. l'' is the largest between the margin as computed and the true one: a jump may lie between
them. With a hundredth for products of these, at most

    u [t (sum_i ||x_i|| |l'_i| + ridge ||theta|| + ||b||) + 16 sum_i ||x_i|| (|l'_i| + l''_i (c + |margin_i|))
       + 2 (p + 2) ||theta|| sum_i ||x_i||^2 l''_i].
"""

import functools
from dataclasses import dataclass

import numpy as np

from dperm.domain import LEAST, MOST, Domain
from dperm.losses import Loss
from dperm.solvers import compensated

# Measured on one core with 1 MB of level-2 cache; constants, never asked of the machine, so that bytes do not change.
BLOCK_ROWS = 64
BLOCK_ENTRIES = 8_192
# Single precision is used for curvature where its rounding stays this many times below the ridge, else double.
SINGLE_MARGIN = 16.0
# Equal neighbours are merged where they leave this share of the records: less would not repay the products with counts.
MERGED = 0.5
# Of one operation; and what is left for the products of several.
_UNIT, _MORE = 2.0**-53, 1.01
# Rounding error of J, as a share of the sizes that cancel in it: a few dozen units in the last place.
ROUNDING = 32 * float(np.finfo(float).eps)


@dataclass
class Point:
    """A point of each repeat, and what is known of J there.

    - theta, gradient: shape (p, k).
    - value, slack, norm: shape (k,); J, a bound on the order of its rounding error, and ||gradient||_2.
    - weights: shape (n, k); l''(u_i, y_i), times the record's count or weight; single precision if the curvature is.
    """

    theta: np.ndarray
    value: np.ndarray
    slack: np.ndarray
    gradient: np.ndarray
    norm: np.ndarray
    weights: np.ndarray

    def take(self, columns: np.ndarray) -> "Point":
        """Return a copy of these columns (columns: indices or a mask of repeats)."""
        return Point(*(array[..., columns] for array in vars(self).values()))

    def put(self, columns: np.ndarray, other: "Point", its: np.ndarray) -> None:
        """Overwrite these columns with as many columns `its` (indices or masks) of another point."""
        for name, array in vars(self).items():
            array[..., columns] = getattr(other, name)[..., its]


def merged(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return records, y and their counts, equal neighbours in the list as one; None for counts where few are equal."""
    starts = np.flatnonzero(np.append(True, (X[1:] != X[:-1]).any(axis=1) | (y[1:] != y[:-1])))
    if len(starts) > MERGED * len(X):
        return X, y, None
    return X[starts], y[starts], np.diff(np.append(starts, len(X))).astype(float)


def steepest(loss: Loss, margin: np.ndarray, y: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return the largest l'' within `width` of each margin, in doubles."""
    found = loss.second_within(margin - width, margin + width, y)
    return np.broadcast_to(found, margin.shape).astype(float)


def _dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the inner product of each column of a (p, k) with that of b."""
    return np.einsum("ij,ij->j", a, b)


class Objective:
    """J for X (C-ordered), y, a loss and a ridge; single: single precision will do for curvature where it is safe.

    With `counts` (n,) record i stands for so many equal ones, or has that weight: its l, l' and l'' are multiplied by
    its number, which is 0 or above.
    """

    def __init__(
        self,
        loss: Loss,
        X: np.ndarray,
        y: np.ndarray,
        ridge: float,
        *,
        single: bool = True,
        counts: np.ndarray | None = None,
    ):
        self.loss, self.X, self.y, self.ridge, self.counts = loss, X, y[:, None], ridge, counts
        # What l' and the norms of records are summed with.
        self.heavy = X if counts is None else X * counts[:, None]
        # Curvature only steers the search (what is certified is a double-precision gradient), and costs most of the
        # time: half-size numbers double its speed. Where their rounding would rival the ridge they could misdirect.
        self.design, self.scale = X, 1.0
        if single and self._half_will_do():
            self.scale = float(max(X.max(initial=0.0), -X.min(initial=0.0))) or 1.0
            self.design = np.divide(
                X, self.scale, dtype=np.float64, out=np.empty(X.shape, np.float32), casting="same_kind"
            )

    def _half_will_do(self) -> bool:
        """Return whether the rounding of a curvature in single precision stays far below the ridge."""
        supremum, squares = self.loss.suprema(Domain(x_norm=1.0))[1], float(np.vdot(self.X, self.heavy))
        # Without rows there is none, however steep the loss.
        return self.ridge >= SINGLE_MARGIN * (float(np.finfo(np.float32).eps) * supremum * squares if squares else 0.0)

    def blocks(self, columns: int) -> list[slice]:
        """Return the row blocks in which `columns` repeats are worked through."""
        size = max(BLOCK_ROWS, BLOCK_ENTRIES // max(columns, 1))
        return [slice(low, low + size) for low in range(0, len(self.X), size)]

    def evaluate(self, theta: np.ndarray, tilt: np.ndarray) -> Point:
        """Return the `Point` at theta; overflow (Poisson, far out) gives an infinite value (theta, tilt (p, k))."""
        data = np.zeros(theta.shape[1])
        gradient = self.ridge * theta + tilt
        weights = np.empty((len(self.X), theta.shape[1]), self.design.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in self.blocks(theta.shape[1]):
                y, heavy = self.y[rows], self.heavy[rows]
                margin = self.X[rows] @ theta
                value, second = self.loss.value(margin, y), self.loss.second(margin, y)
                if self.counts is None:
                    data += value.sum(axis=0)
                    weights[rows] = second
                else:
                    data += self.counts[rows] @ value
                    weights[rows] = self.counts[rows, None] * second
                gradient += heavy.T @ self.loss.derivative(margin, y)
            data += 0.5 * self.ridge * _dots(theta, theta)
            tilted = _dots(tilt, theta)
            slack = ROUNDING * (np.abs(data) + _dots(np.abs(tilt), np.abs(theta)))
            return Point(theta, data + tilted, slack, gradient, np.sqrt(_dots(gradient, gradient)), weights)

    def tilted(self, origin: Point, tilt: np.ndarray) -> Point:
        """Return the `Point` for several tilts at the same theta (origin: one column, evaluated without a tilt)."""
        k = tilt.shape[1]
        theta, gradient = np.repeat(origin.theta, k, axis=1), origin.gradient + tilt
        slack = origin.slack + ROUNDING * (np.abs(tilt).T @ np.abs(origin.theta)[:, 0])
        value = origin.value + _dots(tilt, theta)
        return Point(
            theta, value, slack, gradient, np.sqrt(_dots(gradient, gradient)), origin.weights.repeat(k, axis=1)
        )

    def rounding(self, theta: np.ndarray, tilt: np.ndarray, *, blocks: bool = True) -> np.ndarray:
        """Return a bound on the norm of the error in `evaluate`'s gradient, from the largest l' and l'' there can be.

        - blocks: false for a gradient whose sums over records are in any order, or go through X'X.
        - Returns: shape (k,); infinite where l' overflows.
        """
        n, size = len(self.X), np.sqrt(_dots(theta, theta))
        reach, height, total, squares = self._sizes
        # Some may not be finite: nothing is known of them, and they are ignored for the others.
        largest = float(size.max(initial=0.0))
        far = largest if largest < MOST else float(size[size < MOST].max(initial=0.0))
        slope, bend = self.loss.suprema(Domain(x_norm=reach, y_bound=height, theta_norm=max(far, LEAST)))
        # Blocks have BLOCK_ROWS to BLOCK_ENTRIES rows; the longer of the two ways to add up is at one of these ends.
        terms = n + 4 if blocks else n + len(theta) + 4
        if blocks and n > BLOCK_ENTRIES:
            terms = max(rows + n / rows for rows in (BLOCK_ROWS, BLOCK_ENTRIES)) + 4
        # The product with a count is rounded too.
        terms += self.counts is not None
        known = total * slope, total * (slope + bend * (self.loss.unit + reach * size)), bend * squares
        found = self._bound(terms, *known, size, tilt)
        return found if largest < MOST else np.where(size < MOST, found, np.inf)

    def carefully(self, theta: np.ndarray, tilt: np.ndarray, kind: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradient by sums of few terms, and a bound on the norm of its error from the sizes there are.

        - kind: numpy.float64 or numpy.longdouble; what the sums are done in, the second as `compensated` does.
        - error: shape (k,); infinite where l' overflows.
        """
        n, (p, k) = len(self.X), theta.shape
        size, exact = np.sqrt(_dots(theta, theta)), kind is np.longdouble
        unit = compensated.UNIT if exact else float(np.finfo(kind).eps)
        parts, slopes, evaluated, bent, low = [], np.zeros(k), np.zeros(k), np.zeros(k), 0
        with np.errstate(over="ignore", invalid="ignore"):
            while low < n:
                # A power of two of whole blocks at once, as long as they stay in the cache.
                many = min((n - low) // BLOCK_ROWS, max(1, BLOCK_ENTRIES // (BLOCK_ROWS * max(k, 1))))
                many = 1 << max(0, many.bit_length() - 1)
                rows, low = slice(low, low + many * BLOCK_ROWS), low + many * BLOCK_ROWS
                x, y, lengths = self.X[rows], self.y[rows].astype(kind), self.lengths[rows, None]
                weighted = lengths if self.counts is None else lengths * self.counts[rows, None]
                margin = compensated.margins(x, theta) if exact else x @ theta
                width = 2 * (p + 2) * unit * lengths * size
                slope = self.loss.derivative(margin, y)
                # l'' may jump between the margin as computed and the true one.
                second = steepest(self.loss, margin, y, width + 2 * unit * (np.abs(margin) + np.abs(y)))
                steep = np.abs(slope)
                slopes += weighted[:, 0] @ steep.astype(float)
                evaluated += weighted[:, 0] @ (steep + second * (self.loss.unit + np.abs(margin))).astype(float)
                bent += (lengths * weighted)[:, 0] @ second
                slope = slope if self.counts is None else slope * self.counts[rows, None]
                if exact:
                    parts.append((many, compensated.gradient(x, slope)))
                else:
                    found = x.reshape(many, -1, p).swapaxes(1, 2) @ slope.reshape(many, -1, k)
                    # Sums of as many blocks are added to each other: none is of more than log2(blocks) sums.
                    while len(found) > 1:
                        found = found[::2] + found[1::2]
                    parts.append((many, found[0]))
                while len(parts) > 1 and parts[-1][0] == parts[-2][0]:
                    (count, last), (_, before) = parts.pop(), parts.pop()
                    parts.append((2 * count, before + last))
            parts = [part for _, part in parts]
            gradient = sum(parts[::-1], self.ridge * theta.astype(kind) + tilt).astype(float)
            terms = BLOCK_ROWS + 2 * max(n, 2).bit_length() + 4 + (self.counts is not None)
            error = unit / float(np.finfo(float).eps) * self._bound(terms, slopes, evaluated, bent, size, tilt)
            # Of the gradient as it is returned, and of the sum of squares that its norm is.
            return gradient, error + 2 * (p + 4) * _UNIT * np.sqrt(_dots(gradient, gradient))

    @functools.cached_property
    def _sizes(self) -> tuple[float, float, float, float]:
        """The largest norm of a row and |y|, and the sums of the rows' norms and of their squares."""
        lengths = self.lengths
        largest = (float(values.max(initial=0.0)) for values in (lengths, np.abs(self.y)))
        reach, height = (min(max(value, LEAST), MOST) for value in largest)
        weighted = lengths if self.counts is None else lengths * self.counts
        return reach, height, float(weighted.sum()), float(lengths @ weighted)

    def stiffness(self, theta_norm: float) -> float:
        """Return the largest eigenvalue that the Hessian can have at any theta of this norm or a smaller one."""
        reach, height, _, squares = self._sizes
        domain = Domain(x_norm=reach, y_bound=height, theta_norm=min(max(theta_norm, LEAST), MOST))
        return self.loss.suprema(domain)[1] * squares + self.ridge

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """The norms of the rows."""
        return np.sqrt(np.einsum("ij,ij->i", self.X, self.X))

    def _bound(self, terms, slopes, evaluated, bent, size, tilt) -> np.ndarray:
        """Return the bound of the module's text."""
        with np.errstate(over="ignore", invalid="ignore"):
            own = slopes + self.ridge * size + np.sqrt(_dots(tilt, tilt))
            found = _UNIT * _MORE * (terms * own + 16 * evaluated + 2 * (len(tilt) + 2) * size * bent)
        return np.where(np.isnan(found), np.inf, found)

    def curvature_times(self, weights: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Return H_r v_r for each column: (X^T diag(weights_r) X + ridge I) v_r."""
        # Columns of size one neither overflow nor vanish in single precision.
        size = np.abs(directions).max(axis=0, initial=0.0)
        size[size == 0] = 1.0
        narrow = (directions / size).astype(self.design.dtype)
        total = np.zeros(directions.shape)
        for rows in self.blocks(directions.shape[1]):
            x = self.design[rows]
            margin = x @ narrow
            margin *= weights[rows]
            total += x.T @ margin
        total *= self.scale**2 * size
        total += self.ridge * directions
        return total

    def curvature(self, weights: np.ndarray) -> np.ndarray:
        """Return the Hessian X^T diag(weights) X + ridge I of one repeat (weights (n,); the result (p, p))."""
        p = self.X.shape[1]
        total = np.zeros((p, p))
        for rows in self.blocks(8):
            # Losses with flat parts have weights of zero: at 0 the hinges have no other.
            if weights[rows].any():
                x = self.design[rows]
                total += x.T @ (x * weights[rows, None])
        total *= self.scale**2
        total[np.diag_indices(p)] += self.ridge
        return total
