"""Descent directions of many repeats at once: exact where features are few, else truncated conjugate gradients."""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dperm.solvers.objective import Objective, Point

# Up to this many features, and this much memory for their pairwise products, exact Hessians are faster.
EXACT_FEATURES = 24
EXACT_BYTES = 64 * 2**20
CONJUGATE_STEPS = 250

# Of a point and the residual norms (k,) allowed in Newton's equation: directions (p, k).
Direction = Callable[[Point, np.ndarray], np.ndarray]


def suits_exact(X: np.ndarray) -> bool:
    """Return whether the pairwise products of the columns of X are few enough for exact Hessians (X (n, p))."""
    n, p = X.shape
    return p <= EXACT_FEATURES and 4 * n * p * (p + 1) <= EXACT_BYTES


@lru_cache(maxsize=16)
def _triangle(p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the upper triangle, which NumPy takes as long to list as a small fit's step."""
    return np.triu_indices(p)


def through(objective: Objective, centre: Point) -> Direction:
    """Return the rule for directions (centre: one column; its Hessian is the preconditioner, where one is needed)."""
    X = objective.X
    if suits_exact(X):
        first, second = _triangle(X.shape[1])
        return partial(_exact, objective, X[:, first] * X[:, second])
    try:
        factor = _factored(objective, centre)
    except LinAlgError:
        # In single precision rows that are alike round alike, and may outweigh the ridge: then all is done in double.
        objective.design, objective.scale = X, 1.0
        factor = _factored(objective, centre)
    return partial(_conjugate, objective, factor)


def _factored(objective: Objective, centre: Point) -> tuple[np.ndarray, bool]:
    return cho_factor(_steady(objective.curvature(centre.weights[:, 0])), lower=True, check_finite=False)


def _steady(hessian: np.ndarray) -> np.ndarray:
    """Lift the diagonal of Hessians (..., p, p) by their rounding error, in place, so that they stay non-singular."""
    p = hessian.shape[-1]
    diagonal = np.einsum("...ii->...i", hessian)
    diagonal += p * np.finfo(float).eps * diagonal.max(axis=-1, keepdims=True)
    return hessian


def _exact(objective: Objective, pairs: np.ndarray, point: Point, target: np.ndarray) -> np.ndarray:
    """Return -H^-1 gradient, with H from one product of pairs (n, p (p + 1) / 2) and weights (n, k)."""
    p, k = point.gradient.shape
    first, second = _triangle(p)
    entries = (pairs.T @ point.weights).T
    hessian = np.empty((k, p, p))
    hessian[:, first, second] = entries
    hessian[:, second, first] = entries
    hessian[:, range(p), range(p)] += objective.ridge
    return -np.linalg.solve(_steady(hessian), point.gradient.T[..., None])[..., 0].T


def _conjugate(objective: Objective, factor: tuple[np.ndarray, bool], point: Point, target: np.ndarray) -> np.ndarray:
    """Return d with ||H d + gradient||_2 <= target, by preconditioned conjugate gradients."""
    weights, columns = point.weights, np.arange(len(target))
    found = np.zeros(point.gradient.shape)
    residual = -point.gradient
    solved = cho_solve(factor, residual, check_finite=False)
    step, size = solved, np.einsum("ij,ij->j", residual, solved)
    for _ in range(CONJUGATE_STEPS):
        bent = objective.curvature_times(weights, step)
        along = np.einsum("ij,ij->j", step, bent)
        # Positive but for rounding, or at a residual of zero: such a column stays where it is.
        length = np.divide(size, along, out=np.zeros(len(size)), where=along > 0)
        found[:, columns] += length * step
        residual = residual - length * bent
        going = (np.einsum("ij,ij->j", residual, residual) > target[columns] ** 2) & (along > 0)
        if not going.any():
            break
        # A finished column costs a column of the product, leaving costs a copy of the weights: go in groups.
        if going.sum() <= 0.75 * len(going):
            weights, columns, residual, step = weights[:, going], columns[going], residual[:, going], step[:, going]
            size = size[going]
        solved = cho_solve(factor, residual, check_finite=False)
        former_size, size = size, np.einsum("ij,ij->j", residual, solved)
        step = solved + np.divide(size, former_size, out=np.zeros(len(size)), where=former_size > 0) * step
    return found
