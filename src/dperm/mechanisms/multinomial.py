r"""The multinomial loss: the logistic loss of k classes, for mechanisms that read sums of clipped gradients alone.

    l(Theta; x, y) = log sum_j e^{<x, theta_j>} - <x, theta_y>,      Theta: k rows theta_j of p numbers,
    gradient: (s - e_y) x',                                          s = softmax(Theta x).

It is no loss of one margin, so that `dperm.losses.Loss` does not hold it. Of one record with ||x|| <= R:

    zeta   = sqrt(2) R     ||(s - e_y) x'||_F = ||s - e_y|| ||x||, and ||s - e_y||^2 = (1 - s_y)^2 + sum_{j != y} s_j^2
                           is at most 2 (1 - s_y)^2, because the other s_j add up to 1 - s_y;
    at 0     sqrt((k - 1)/k) R,                                      where s_j = 1/k;
    lambda = R^2/2         the Hessian is (diag(s) - s s') (x) x x', and v'(diag(s) - s s')v is the variance of a number
                           that has the value v_j with probability s_j, at most (max v - min v)^2/4 <= ||v||^2/2.

With two classes theta_2 - theta_1 is the theta of the logistic loss.

A record has one gradient, of k p numbers, and it is this whole that is cut to the length c: a record that comes or goes
moves the sum by c at most, one that becomes another by 2c, whatever k is. Cut class by class it could be sqrt(k) c long
(the mutant `class-by-class`).

Neighbouring relation: none here; a mechanism doubles what one record has for replace-one (docs/privacy.md, section 9).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dperm.domain import Domain
from dperm.errors import DomainViolation

# Margins (rows, repeats, classes), or of a single repeat entries of X, are made in blocks that stay within the cache.
_BLOCK = 2**16


@dataclass(frozen=True)
class Multinomial:
    """The loss of k >= 2 classes, 0 .. k - 1, with what descents ask of a `Loss`. Theta: k rows, one after another."""

    classes: int
    name: str = "multinomial"

    def width(self, features: int) -> int:
        """Return how many numbers Theta has."""
        return self.classes * features

    def suprema(self, domain: Domain) -> tuple[float, float]:
        """Return zeta/R and lambda/R^2."""
        return math.sqrt(2), 0.5

    def gradient_bound(self, domain: Domain) -> float:
        """Return zeta = sqrt(2) R."""
        return domain.x_norm * math.sqrt(2)

    def curvature_bound(self, domain: Domain) -> float:
        """Return lambda = R^2/2."""
        return domain.x_norm**2 / 2

    def longest_at_0(self, domain: Domain) -> float:
        """Return the largest norm of a record's gradient at Theta = 0."""
        return domain.x_norm * math.sqrt((self.classes - 1) / self.classes)

    def targets_of(self, y: np.ndarray, domain: Domain) -> np.ndarray:
        """Return the targets, all of them classes; else DomainViolation, which gives nothing of the data."""
        y = np.asarray(y, dtype=np.float64)
        if not np.isin(y, np.arange(self.classes)).all():
            raise DomainViolation(
                f"the multinomial loss takes the classes 0 .. {self.classes - 1} alone; encode them so"
            )
        return y

    def summed(
        self, X: Any, y: np.ndarray, theta: np.ndarray, limit: np.ndarray, w: np.ndarray | None = None
    ) -> np.ndarray:
        """Return sum_i clip(w_i (s - e_y) x_i') at each theta, shape (repeats, k p); limit as of `gradient.limits`."""
        rows = max(1, min(_BLOCK // (len(theta) * self.classes), _BLOCK // X.shape[1]))
        if sparse.issparse(X):
            # A slice is a copy.
            rows = max(1, X.shape[0])
        each = theta.reshape(len(theta) * self.classes, X.shape[1])
        total = np.zeros(each.shape)
        for low in range(0, X.shape[0], rows):
            some, part = X[low : low + rows], slice(low, low + rows)
            margins, counts = (some @ each.T).reshape(-1, len(theta), self.classes), None if w is None else w[part]
            weight = self._weights(margins, y[part], limit[part], counts)
            total += weight.reshape(len(weight), -1).T @ some
        return total.reshape(theta.shape)

    def _weights(self, margins: np.ndarray, y: np.ndarray, limit: np.ndarray, w: np.ndarray | None) -> np.ndarray:
        """Return w (s - e_y) of each row and repeat, no longer than the limit (margins: (rows, repeats, k))."""
        weight = np.exp(margins - margins.max(axis=2, keepdims=True))
        weight /= weight.sum(axis=2, keepdims=True)
        own = np.arange(len(y)), slice(None), y.astype(int)
        weight[own] = 0.0
        # 1 - s_y, without the digits that the difference would lose.
        others = weight.sum(axis=2)
        weight[own] = -others
        # In units of its largest entry no square vanishes.
        share = np.divide(weight, others[:, :, None], out=np.zeros_like(weight), where=others[:, :, None] > 0)
        length = others * np.sqrt((share**2).sum(axis=2))
        bound = np.broadcast_to(limit[:, None], length.shape)
        full = np.ones_like(length) if w is None else np.broadcast_to(w[:, None], length.shape).copy()
        return weight * np.divide(bound, length, out=full, where=full * length > bound)[:, :, None]
