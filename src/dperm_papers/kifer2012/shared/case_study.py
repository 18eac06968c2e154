r"""Sparse linear regression as kifer2012 studies it (Section 3.1): the printed constants, and both stages from X'X.

The s largest entries of a row have an l2 norm of at most sqrt(s), |y| <= s, F = {|theta_j| <= 1} and the loss is
(y - <x, theta>)^2/2. Hence (Theorem 7, Lemma 39) alpha = 4 s^2, zeta = 2 s^{3/2}, lambda = s. Algorithm 2 spends
epsilon/2 on a support and (epsilon/2, delta) on theta, so that Algorithm 1's Delta >= 2 lambda/(epsilon/2) asks for
Delta = 4 s/epsilon.

The squared loss knows the records by G = X'X, c = X'y and yy = y'y alone: what `dperm.mechanisms.sparse` does with
records is done with these here, where a design gives them by formula. Neighbours: add/remove (Definition 1).
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from dperm.domain import Budget, Calibration, Neighbours
from dperm.feasible import Region
from dperm.mechanisms import objective, sparse
from dperm.mechanisms.support import exp_mech
from dperm.solvers import subsets
from dperm_pipeline.experiments import Cell

# The public bounds on a record, by s.
domain = sparse.case_study
BOX = Region(low=-1.0, high=1.0)


class Spending(NamedTuple):
    """The budget of both stages, and how they are calibrated."""

    epsilon: float
    delta: float
    calibration: Calibration
    neighbours: Neighbours

    @property
    def support(self) -> Budget:
        """What the first stage spends."""
        return Budget(self.epsilon / 2)

    @property
    def theta(self) -> Budget:
        """What the second stage spends."""
        return Budget(self.epsilon / 2, self.delta)

    @staticmethod
    def of(cell: Cell) -> "Spending":
        """Return what a cell's settings say."""
        return Spending(cell.settings.epsilon, cell.settings.delta, cell.calibration, cell.neighbours)


class Moments(NamedTuple):
    """All that the squared loss knows of n records."""

    G: np.ndarray
    c: np.ndarray
    yy: float
    n: int

    @staticmethod
    def of(X: np.ndarray, y: np.ndarray) -> "Moments":
        """Return X'X, X'y, y'y and n."""
        return Moments(X.T @ X, X.T @ y, float(y @ y), len(y))

    def risk(self, theta: np.ndarray, supports: np.ndarray) -> np.ndarray:
        """Return L(theta) = (1/2n) ||y - X theta||^2 of each row of coefficients on its support."""
        blocks = self.G[supports[:, :, None], supports[:, None, :]]
        slope = 0.5 * np.einsum("rjk,rk->rj", blocks, theta) - self.c[supports]
        return (0.5 * self.yy + np.einsum("rj,rj->r", theta, slope)) / self.n


class Law(NamedTuple):
    """Algorithm 4's law over all supports of size s, in the order of `dperm.solvers.subsets`."""

    log_probability: np.ndarray
    scores: np.ndarray

    def draw(self, p: int, size: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Return supports of shape (repeats, s), ascending."""
        cumulative = np.cumsum(np.exp(self.log_probability))
        index = np.searchsorted(cumulative, rng.random(repeats) * cumulative[-1], side="right")
        return np.array([subsets.subset(int(k), p, size) for k in index])

    def excess(self, n: int) -> float:
        """Return the mean of (q - min q)/n: what the first stage adds to the risk (Theorem 34), exactly."""
        return float(np.exp(self.log_probability) @ (self.scores - self.scores.min())) / n


def curvature(size: int, epsilon: float) -> float:
    """Return Delta = 4 s/epsilon, the least that Algorithm 1 allows with half of epsilon."""
    return 4 * size / epsilon


def support_law(moments: Moments, size: int, spending: Spending) -> Law:
    """Return the law of Exp-mech's support of size s (kifer2012, Algorithm 4, with half of epsilon).

    The records of `moments` are within `domain(size)`.
    """
    weight = exp_mech.exponent(
        exp_mech.largest_loss(size, domain(size)), spending.support,
        neighbours=spending.neighbours, calibration=spending.calibration,
    )  # fmt: skip
    scores = subsets.search(moments.G, moments.c, moments.yy, size).scores
    logits = -weight * scores
    return Law(logits - special.logsumexp(logits), scores)


def second_stage(
    moments: Moments, supports: np.ndarray, spending: Spending, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Run Algorithm 1 on the support of each release (kifer2012, Algorithm 6, line 5): theta, and which converged.

    Coefficients stand in the order of the supports; equal supports are solved as one batch.
    """
    size = supports.shape[1]
    theta, converged = np.empty(supports.shape), np.empty(len(supports), bool)
    distinct, which = np.unique(supports, axis=0, return_inverse=True)
    for k, Z in enumerate(distinct):
        here = np.flatnonzero(which.ravel() == k)
        released = objective.release_gram(
            moments.G[np.ix_(Z, Z)], moments.c[Z], domain=domain(size), region=BOX, budget=spending.theta,
            neighbours=spending.neighbours, calibration=spending.calibration,
            curvature=curvature(size, spending.epsilon), repeats=len(here), rng=rng,
        )  # fmt: skip
        theta[here], converged[here] = released.theta, released.converged
    return theta, converged


def shuffled(X: np.ndarray, theta: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of X in a random order, and the places of theta's support, ascending.

    Ties fall to the feature that comes first: a support that stands first would win all of them.
    """
    order = rng.permutation(len(theta))
    return X[:, order], np.flatnonzero(theta[order])
