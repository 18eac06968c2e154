"""The fit without privacy that every figure compares with."""

import numpy as np

from dperm.losses import Loss
from dperm.solvers import newton


def fit(
    X: np.ndarray, y: np.ndarray, loss: Loss, *, ridge: float, tolerance: float = 1e-8
) -> tuple[np.ndarray, float, bool]:
    """Minimise sum_i l(<x_i, theta>, y_i) + ridge/2 ||theta||^2.

    - ridge: above 0, for the sum of losses.
    - tolerance: target for the gradient's norm, in the units of the sum of losses.
    - certificate: upper bound on the distance from the minimiser.
    - converged: whether the gradient met the target.
    """
    solution = newton.minimise(loss, X, y, ridge=ridge, tolerance=tolerance)
    return solution.theta[0], float(solution.certificate[0]), bool(solution.certificate[0] <= tolerance / ridge)
