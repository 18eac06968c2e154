r"""What li2021's risk bounds are measured on: methods, fits, and what n J and the solver's certificates say of them.

n J(theta) = sum_i l(<x_i, theta>, y_i) + k Lambda ||theta||_1 with k = 1, the target as printed, or k = 2, which the
fixed point reaches (erratum N6). Both are Theta = R^p.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dperm.mechanisms.napp import limit, losses
from dperm.mechanisms.napp.scheme import Scheme, penalty

# Name in the column `variant` -> what tilts the objective, and whether the floor is by maximum.
METHODS = {
    f"{variant}{'-moor' if moor else ''}": (variant, moor)
    for moor in (False, True)
    for variant in ("erm", "vs", "vs_plus")
}
# The solver's target, above what rounding leaves; what it leaves open enters every comparison as slack. The target, and
# not the smaller gap that a fit reached: that one is rounding, and differs from one BLAS to the next.
_TOLERANCE = 1e-11
# Below this a curvature is none.
_NONE = np.finfo(float).tiny


@dataclass(frozen=True)
class Sample:
    """R data sets, or one that all noise draws share: X of shape (D, n, p), y of shape (D, n)."""

    loss: str
    X: np.ndarray
    y: np.ndarray
    problems: limit.Problems

    @classmethod
    def of(cls, loss: str, X: np.ndarray, y: np.ndarray) -> "Sample":
        """Return the sample with what the solver keeps of it."""
        return cls(loss, X, y, limit.problems(loss, X, y))

    @property
    def n(self) -> int:
        """Records of one data set."""
        return self.X.shape[1]

    def head(self, repeats: int) -> "Sample":
        """Return the sample of the first data sets."""
        return Sample.of(self.loss, self.X[:repeats], self.y[:repeats])

    def losses(self, theta: np.ndarray) -> np.ndarray:
        """Return the sums of losses at theta of shape (R, L, p); shape (R, L)."""
        held = self.problems
        if self.loss == "squared":
            squares = np.einsum("rlj,rlj->rl", theta @ held.gram, theta)
            return 0.5 * (squares + held.yy[:, None]) - np.einsum("rlj,rj->rl", theta, self._all(held.xy, theta))
        value = losses.make(self.loss).value
        return np.array([value(x @ each.T, y[:, None]).sum(axis=0) for x, y, each in self._each(theta)])

    def target(self, theta: np.ndarray, strengths: np.ndarray, times: int) -> np.ndarray:
        """Return n J with k = `times`, shape (R, L)."""
        return self.losses(theta) + times * strengths * np.abs(theta).sum(axis=-1)

    def slack(self, theta: np.ndarray, gaps: np.ndarray, strengths: np.ndarray, times: int) -> np.ndarray:
        """Return by how much n J at theta and at the exact minimiser may differ, shape (R, L).

        A gap g in an objective of curvature mu, here that of the losses at theta, leaves a distance sqrt(2 g/mu); n J
        is as steep as its subgradients are long.
        """
        loss, root, held = losses.make(self.loss), np.sqrt(self.X.shape[2]), self.problems
        if self.loss == "squared":
            mu = np.linalg.eigvalsh(held.gram)[:, :1]
            steep = np.linalg.norm(theta @ held.gram - held.xy[:, None], axis=-1) + times * strengths * root
            return steep * np.sqrt(2 * gaps / np.maximum(mu, _NONE))
        found = np.empty(theta.shape[:2])
        for r, (x, y, each) in enumerate(self._each(theta)):
            eta = x @ each.T
            curved = np.einsum("il,ij,ik->ljk", loss.second(eta, y[:, None]) + 0 * eta, x, x, optimize=True)
            mu = np.linalg.eigvalsh(curved)[:, 0]
            steep = np.linalg.norm(loss.derivative(eta, y[:, None]).T @ x, axis=1) + times * strengths * root
            found[r] = steep * np.sqrt(2 * gaps[r] / np.maximum(mu, _NONE))
        return found

    def _each(self, theta: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        return zip(self._all(self.X, theta), self._all(self.y, theta), theta, strict=True)

    @staticmethod
    def _all(held: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Return what is held of D data sets for each of R fits."""
        return np.broadcast_to(held, (len(theta), *held.shape[1:]))


@dataclass(frozen=True)
class Fits:
    """Fixed points of one method: theta (R, L, p), and the gap that each objective is certified to, (R, L)."""

    theta: np.ndarray
    gap: np.ndarray
    converged: np.ndarray


def lasso(sample: Sample, strengths: np.ndarray, times: int) -> np.ndarray:
    """Return the minimisers of n J without noise, shape (D, L, p)."""
    scheme = Scheme("lasso", 1.0, moor=True, halved=times == 1)
    nothing, floors = np.zeros((len(sample.X), sample.X.shape[2])), np.zeros((len(sample.X), len(strengths)))
    return limit.path(
        sample.problems, nothing, scheme, strengths, variant="erm", floors=floors, tolerance=_TOLERANCE
    ).theta


def fixed_points(sample: Sample, b: np.ndarray, scheme: Scheme, strengths: np.ndarray, variant: str) -> Fits:
    """Return the fixed points for noise b of shape (R, p)."""
    found = limit.path(sample.problems, b, scheme, strengths, variant=variant, tolerance=_TOLERANCE)
    size = np.abs(sample.losses(found.theta)) + np.abs(found.theta * b[:, None]).sum(axis=-1)
    size += penalty(scheme, strengths[:, None], found.theta).sum(axis=-1)
    return Fits(found.theta, _TOLERANCE * size, found.converged)


def squares(weights: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return sum_j w_j theta_j^2 over the last axis; an infinite weight on exactly 0 counts nothing."""
    some = theta != 0
    return np.where(some, np.where(some, weights, 0.0) * theta**2, 0.0).sum(axis=-1)


def compared(measured: np.ndarray, bound: np.ndarray, slack: np.ndarray | float = 0.0) -> np.ndarray:
    """Return (measured - slack - bound)/the larger in size, in [-2, 2]: at most 0 where the bound holds.

    Below an infinite bound it is -1; `slack` is what certificates leave open.
    """
    low = measured - slack
    size = np.maximum(np.abs(low), np.abs(bound))
    finite = np.isfinite(bound) & (size > 0)
    return np.where(finite, (low - bound) / np.where(finite, size, 1.0), np.where(size > 0, -1.0, 0.0))
