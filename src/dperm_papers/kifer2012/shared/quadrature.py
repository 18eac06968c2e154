r"""Objective perturbation on the line, exactly: the law of theta for p = 1 on a few records.

theta = argmin_{low <= theta <= high} J(theta) + l1 |theta| + b theta with J convex, of slope J', strongly convex, is a
monotone function of b: `dperm.laws.quadrature` has its law, and what two such laws tell apart.
"""

import math
from collections.abc import Sequence

import numpy as np

from dperm.laws.quadrature import Law, Noise
from dperm.losses import Loss


def law(
    loss: Loss,
    records: Sequence[tuple[float, float]],
    curvature: float,
    noise: Noise,
    *,
    l1: float = 0.0,
    low: float = -math.inf,
    high: float = math.inf,
) -> Law:
    """Return the law of Algorithm 1's output on a few records (x, y): J = sum of l(x theta, y) + Delta/2 theta^2."""
    kinks = tuple(t for x, y in records for t in _bends(loss, x, y))
    return Law(
        lambda t: sum((x * loss.derivative(x * t, y) for x, y in records), curvature * t),
        lambda t: sum((x * x * loss.second(x * t, y) for x, y in records), curvature + 0.0 * t),
        kinks, curvature, noise, l1, low, high,
    )  # fmt: skip


def _bends(loss: Loss, x: float, y: float) -> np.ndarray:
    """Return where the second derivative of a record's loss jumps (Huber) or changes fast (logistic)."""
    if loss.name == "huber":
        knee = float(loss.derivative(1e30, 0.0))
        return np.array([y - knee, y + knee]) / x
    return np.linspace(-12, 12, 97) / x if loss.name == "logistic" else np.empty(0)
