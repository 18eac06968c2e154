"""The smooth part of tilted risks, as prox-Newton (`composite`) asks for it: one repeat is one row of theta."""

from dataclasses import dataclass

import numpy as np

from dperm.losses import Loss


@dataclass(frozen=True)
class Risk:
    """sum_i w_i l(<x_i, theta>, y_i) + modulus/2 ||theta||^2 + <b_r, theta> for a chunk of repeats.

    - X, y, weights: shapes (n, p), (n,) and (n,); without weights each is 1.
    - tilt: shape (R, p).
    """

    loss: Loss
    X: np.ndarray
    y: np.ndarray
    modulus: float
    tilt: np.ndarray
    weights: np.ndarray | None = None

    def take(self, which) -> "Risk":
        """Return these repeats (indices or a mask)."""
        return Risk(self.loss, self.X, self.y, self.modulus, self.tilt[which], self.weights)

    def margins(self, theta):
        """Return <x_i, theta_r>, shape (n, R)."""
        return self.X @ theta.T

    def value(self, theta):
        """Return the value, and the size of what cancels in it, each of shape (R,)."""
        losses = self._weighed(self.loss.value(self.margins(theta), self.y[:, None])).sum(axis=0)
        square = 0.5 * self.modulus * np.einsum("rj,rj->r", theta, theta)
        linear = np.einsum("rj,rj->r", self.tilt, theta)
        return losses + square + linear, np.abs(losses) + square + np.abs(linear)

    def gradient(self, theta):
        """Return the gradients, shape (R, p)."""
        slopes = self._weighed(self.loss.derivative(self.margins(theta), self.y[:, None]))
        return slopes.T @ self.X + self.modulus * theta + self.tilt

    def hessians(self, theta):
        """Return the Hessians, shape (R, p, p)."""
        # Of A'A with A = diag(weights)^(1/2) X BLAS computes one half: in half of the time of X' diag(weights) X.
        roots = np.sqrt(self._weighed(self.loss.second(self.margins(theta), self.y[:, None])))
        found = np.empty((len(theta), theta.shape[1], theta.shape[1]))
        for r in range(len(theta)):
            heavy = self.X * roots[:, r, None]
            np.matmul(heavy.T, heavy, out=found[r])
        found[:, *np.diag_indices(theta.shape[1])] += self.modulus
        return found

    def _weighed(self, each):
        return each if self.weights is None else self.weights[:, None] * each
