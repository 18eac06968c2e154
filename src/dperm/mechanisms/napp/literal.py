r"""Algorithm 1 of li2021 to the letter: noise rows are appended to the data and an unpenalised model is refitted.

Iteration t appends n_e rows e_i^(t) = e* + e~_i^(t) with targets e_y and minimises

    sum_i l(<x_i, theta>, y_i) + sum_{i <= n_e} l(<e_i^(t), theta>, e_y),                                        (6)

    e*  = (n_e l'(0))^{-1} b, b_orig sgn(theta^(t-1)) for b from t = 2 on with VS and VS+ (sgn(0) = 0),          (3)
    e~_ij ~ N(0, V_j), V_j = 2 w_j/(n_e l''(0)), for i <= n_e/2; e~_{i + n_e/2} = -e~_i, so that they sum to 0,  (5)

where w are the weights of `scheme`. As n_e grows this becomes the minimiser of sum l + <b, theta> + sum_j w_j theta_j^2
(Proposition 1); what is left of order n_e^{-1/2} puts a run outside Theorem 4, so its guarantee is `none` (erratum N8).

Targets. l'(0) must not vanish, for Eq 3 divides by it. As printed (Table 1: e_y = 0 linear, 1 Poisson, half 0 and half
1 for logistic, and hinge "in a similar manner") it does, or its sum over the rows does (erratum N7): nothing printed
can be run. Repaired: 1 linear, 0 Poisson, 0 throughout for the others, which is the label -1 here. l''(0) of the hinge
is the mean of its two sides (erratum N17).

A coefficient that is exactly 0 has an infinite weight and stays 0. The data's domain is not looked at: the fits are
unconstrained, as those of any GLM software (erratum N11). Neighbours: add/remove.
"""

import math
from typing import Literal

import numpy as np

from dperm.domain import number, one_of
from dperm.errors import SolverError
from dperm.losses import Loss
from dperm.mechanisms.napp import losses
from dperm.mechanisms.napp.noise import Variant
from dperm.mechanisms.napp.scheme import Scheme, weights
from dperm.solvers.blas import one_thread

TargetValues = Literal["repaired", "printed"]
# e_y of the first and of the second half of the augmented rows; a label of the paper's 0 is -1 here.
_HALVES = {
    "repaired": {
        "squared": (1.0, 1.0),
        "poisson": (0.0, 0.0),
        "logistic": (-1.0, -1.0),
        "smoothed_hinge": (-1.0, -1.0),
    },
    "printed": {
        "squared": (0.0, 0.0),
        "poisson": (1.0, 1.0),
        "logistic": (-1.0, 1.0),
        "smoothed_hinge": (-1.0, 1.0),
    },
}
# So near to 0 that the mean of l'' on its two sides is l''(0) to the last digit where it is smooth.
_ASIDE = 2.0**-40
# Newton: half its decrement bounds what is left of the objective, to second order.
_STEPS, _HALVINGS, _SUFFICIENT, _DECREMENT, _ROUNDING = 100, 60, 1e-4, 1e-20, 1e-10


def literal(
    loss: str,
    X: np.ndarray,
    y: np.ndarray,
    noise: np.ndarray,
    scheme: Scheme,
    strength: float,
    *,
    variant: Variant,
    rows: int = 10_000,
    steps: int = 80,
    rng: np.random.Generator,
    target_values: TargetValues = "repaired",
    eta_bound: float = math.inf,
) -> np.ndarray:
    """Run Algorithm 1 and return every iterate.

    - y: shape (n,); real, counts, or labels -1 and +1.
    - noise: shape (p,); b; positive for `vs_plus`.
    - rows: n_e, even.
    - steps: T.
    - Returns: shape (steps, p); theta^(1), ..., theta^(T).
    - Source: li2021, Algorithm 1, Equations 3, 5 and 6.
    """
    one_of("variant", variant, Variant)
    number("steps", steps, 1, math.inf, ends="[)", remedy="it is T; the paper takes 80")
    number("rows", rows, 2, math.inf, ends="[)", remedy="it is n_e; the paper takes 10000")
    if rows % 2:
        raise ValueError(f"rows={rows} must be even: the second half of the noise rows mirrors the first (Eq 5)")
    model, noise = losses.make(loss, eta_bound), np.asarray(noise, float)
    targets, force, curvature = augmented_targets(loss, rows, target_values)
    theta, trace = None, np.empty((steps, X.shape[1]))
    for step in range(steps):
        tilt = noise if theta is None or variant == "erm" else noise * np.sign(theta)
        # An infinite weight keeps its coefficient at 0; the others are fitted without it.
        each = np.broadcast_to(weights(scheme, strength, theta), noise.shape)
        kept = np.isfinite(each)
        appended = augmented_rows(tilt[kept], each[kept], rows, force=force, curvature=curvature, rng=rng)
        start = np.zeros(kept.sum()) if theta is None else theta[kept]
        fitted = unpenalised(model, np.concatenate([X[:, kept], appended]), np.concatenate([y, targets]), start)
        theta = np.zeros_like(noise)
        theta[kept] = fitted
        trace[step] = theta
    return trace


def augmented_rows(
    tilt: np.ndarray, each: np.ndarray, rows: int, *, force: float, curvature: float, rng: np.random.Generator
) -> np.ndarray:
    """Return the rows e* + e~_i of one iteration.

    - tilt: shape (p,); b, with its signs adjusted.
    - each: shape (p,); weights w, finite.
    - Source: li2021, Equations 3 and 5.
    """
    half = rng.standard_normal((rows // 2, len(each))) * np.sqrt(2 * each / (rows * curvature))
    return tilt / (rows * force) + np.concatenate([half, -half])


def augmented_targets(
    loss: str, rows: int, target_values: TargetValues = "repaired"
) -> tuple[np.ndarray, float, float]:
    """Return e_y, and the l'(0) and l''(0) that go with it.

    - force: mean of l'(0, e_y) over the rows.
    - curvature: mean of l''(0, e_y), of its two sides where it jumps.
    - Source: li2021, Table 1 and Equation 3; erratum N7.
    """
    one_of("target_values", target_values, TargetValues)
    model, halves = losses.make(loss), np.array(_HALVES[target_values][loss])
    force = float(model.derivative(0.0, halves).mean())
    if force == 0:
        raise ValueError(
            f"target_values={target_values!r} cannot be run with loss={loss!r}: with e_y as printed l'(0) is 0 in the "
            "mean, and Eq 3 divides by it (erratum N7); take target_values='repaired'"
        )
    sides = np.array([[-1.0], [1.0]]) * _ASIDE
    return np.repeat(halves, rows // 2), force, float(model.second(sides, halves).mean())


def unpenalised(loss: Loss, X: np.ndarray, y: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return argmin_theta sum_i l(<x_i, theta>, y_i) by Newton's method; X has full column rank where l'' > 0."""
    if not len(start):
        return start
    theta = start
    with one_thread():
        with np.errstate(over="ignore"):
            # Few noise rows are long, and exp of theirs overflows where theta is not small.
            if not np.isfinite(loss.value(X @ theta, y).sum()):
                theta = np.zeros_like(start)
        for _ in range(_STEPS):
            u = X @ theta
            value = loss.value(u, y).sum()
            gradient = X.T @ loss.derivative(u, y)
            direction = _newton(X, loss.second(u, y), gradient)
            decrement = -float(gradient @ direction)
            if not decrement >= 0:  # a singular Hessian, or an overflow
                break
            length = _length(lambda theta: loss.value(X @ theta, y).sum(), theta, direction, value, decrement)
            theta = theta + length * direction
            if decrement <= _DECREMENT * (1 + abs(value)):
                return theta
            if length == 0:
                break
    raise SolverError(
        f"an unpenalised fit did not converge in {_STEPS} steps; raise rows (n_e) or the floor, or take method='limit'"
    )


def _length(objective, theta, direction, value, decrement) -> float:
    """Return the first of 1, 1/2, 1/4, ... that decreases the objective enough; 0 if none does."""
    if decrement <= _ROUNDING * (1 + abs(value)):
        return 1.0  # rounding may hide a decrease this small, and here Newton's full step is good
    for length in 0.5 ** np.arange(_HALVINGS):
        with np.errstate(over="ignore", invalid="ignore"):
            if objective(theta + length * direction) <= value - _SUFFICIENT * length * decrement:
                return length
    return 0.0


def _newton(X: np.ndarray, second: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Solve Newton's equation in columns scaled to the same curvature: those of small coefficients are huge."""
    hessian = X.T @ (second[:, None] * X)
    scale = 1 / np.sqrt(np.maximum(np.diag(hessian), np.finfo(float).tiny))
    try:
        return -scale * np.linalg.solve(hessian * np.outer(scale, scale), scale * gradient)
    except np.linalg.LinAlgError:
        return np.full_like(gradient, np.nan)


def settled(trace: np.ndarray, *, last: int = 10, threshold: float = 1e-3, flips: int = 3) -> np.ndarray:
    """Return the estimate of a run: its last iterate, with 0 for a coefficient that fluctuates around 0.

    - last: how many of the last iterations are looked at.
    - threshold: a coefficient whose mean absolute value over them is below this is 0.
    - flips: so is one whose sign changes at least so often among them.
    - Source: li2021, 3.5: "if it fluctuates around 0 after convergence, its final estimate will be set at 0".
    """
    tail = trace[-last:]
    small = np.abs(tail).mean(axis=0) < threshold
    signs = np.sign(tail)
    return np.where(small | ((signs[1:] != signs[:-1]).sum(axis=0) >= flips), 0.0, trace[-1])
