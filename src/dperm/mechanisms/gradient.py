r"""Noisy gradient descent: full-batch descent on the sum of losses, each step with a noisy clipped gradient.

    F(theta) = sum_i l(<x_i, theta>, y_i) + ridge/2 ||theta||^2,        theta_0 = v_0 = 0,
    g_t = sum_i clip(l'_i x_i) + z_t + ridge theta_t,                   z_t ~ N(0, sigma^2 I),   t = 0 .. T - 1,
    v_{t+1} = momentum v_t + g_t,      theta_{t+1} = theta_t - eta_t v_{t+1}.

clip(g) = g min(1, c/||g||). The gradient of a GLM loss is l' x, so that clipping it means clipping l' to c/||x||, and a
step of a whole batch of repeats is two matrix products. The default c is zeta, which clips nothing within the domain.

Privacy. Whatever the data, the summed gradient at a given theta moves at most S = c (add/remove) or 2c (replace-one),
so that a step is a Gaussian mechanism with ratio S/sigma, and all else (ridge, momentum, step size, averaging) is
computed from its output. T of them, chosen one after another, are exactly as private as one Gaussian of ratio
mu = sqrt(T) S/sigma (Dong, Roth & Su 2022, Corollary 3.3); the noise is therefore

    sigma = sqrt(T) S/a(epsilon, delta),     a = `dperm.accounting.gaussian.gaussian_ratio` (Balle & Wang 2018).

The last iterate (or an average of iterates) is post-processing: `proved` (docs/privacy.md, section 9), with no solver
to trust. delta > 0.

Step size. It must be public. Smoothness of F is at most M = n lambda + ridge, and under add/remove n is private:

- `step_size` given: eta_t is that number;
- n public (replace-one, or `n_public` given: any public guess, which bears on accuracy, not on privacy): eta_t = 1/M;
- else, or where lambda is infinite: eta_t = D/sqrt(sum_{s<=t} ||g_s||^2) with D = 1/x_norm, a step that the noisy
  gradients themselves determine (post-processing; AdaGrad-Norm, Ward, Wu & Bottou 2020), at which margins move by order
  one at the start.

Sources: Bassily, Smith & Thakurta 2014; Abadi et al. 2016 (without subsampling). Iyengar et al. 2019 compare it with
kifer2012's Algorithm 1, which needs the exact minimiser.
"""

import math
from typing import Literal

import numpy as np

from dperm.accounting import gaussian
from dperm.domain import LEAST, MOST, Budget, Calibration, Domain, Neighbours, changed_gradients, number, one_of
from dperm.errors import DataError, DomainViolation, InvalidBudget
from dperm.losses import Loss
from dperm.mechanisms.base import Release, representable
from dperm.noise import Gaussian
from dperm.solvers.blas import one_thread

CALIBRATIONS = ("tight",)

Average = Literal["none", "tail"]
# Margins (rows, repeats) are made in blocks that stay within the cache.
BLOCK_ENTRIES = 2**16


def default_clip(loss: Loss, domain: Domain) -> float:
    """Return zeta over all theta, at which no record of the domain is clipped."""
    everywhere = Domain(x_norm=domain.x_norm, y_bound=domain.y_bound)
    if not math.isfinite(loss.suprema(everywhere)[0]):
        raise DomainViolation(
            f"loss={loss.name!r} has no bounded gradient over all theta: give `clip`, the l2 norm to which every "
            "record's gradient is cut, or take 'logistic', 'smoothed_hinge' or 'hinge' (two labels), "
            "'huber' or 'absolute' (real targets)"
        )
    return loss.gradient_bound(everywhere)


def calibrate(clip: float, budget: Budget, *, steps: int, neighbours: Neighbours) -> Gaussian:
    """Return the noise of one step: sigma = sqrt(T) S/a(epsilon, delta).

    - budget: what all steps together may spend; delta above 0.
    - Source: Dong, Roth & Su 2022, Corollary 3.3; Balle & Wang 2018, Theorem 8.
    """
    remedy = "noisy gradient descent adds Gaussian noise; for pure privacy take 'objective' or 'output'"
    number("delta", budget.delta, gaussian.SMALLEST_DELTA, 1, ends="[)", error=InvalidBudget, remedy=remedy)
    sensitivity = changed_gradients(neighbours) * clip
    sigma = math.sqrt(steps) * sensitivity / gaussian.gaussian_ratio(budget.epsilon, budget.delta)
    return Gaussian(representable(sigma, budget, "raise epsilon, or lower clip or steps;"))


def summed_gradient(X: np.ndarray, y: np.ndarray, loss: Loss, theta: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Return sum_i clip(l'_i x_i) at each theta; limit holds c/||x_i||, infinite where x_i = 0."""
    total = np.zeros(theta.shape)
    rows = max(1, BLOCK_ENTRIES // len(theta))
    for low in range(0, len(X), rows):
        part = slice(low, low + rows)
        bound = limit[part, None]
        # Poisson's derivative may overflow to infinity, which the limit cuts.
        with np.errstate(over="ignore"):
            weight = loss.derivative(X[part] @ theta.T, y[part, None])
        total += np.clip(weight, -bound, bound).T @ X[part]
    return total


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    *,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    ridge: float = 0.0,
    steps: int = 100,
    clip: float | None = None,
    momentum: float = 0.0,
    step_size: float | None = None,
    n_public: int | None = None,
    average: Average = "none",
    rng: np.random.Generator,
    repeats: int = 1,
) -> Release:
    """Release the end of `repeats` independent noisy descents, run as one batch.

    - X: shape (n, p); longer rows than domain.x_norm cost accuracy (their gradients are clipped), never privacy.
    - ridge: in [0, 1e30], public; of the sum of losses.
    - clip: c in [1e-30, 1e30], in the units of zeta; by default zeta.
    - average: release the last iterate, or the mean of the last ceil(T/2).
    - Returns: with certificate 0. `converged` says that theta is finite: a step size too large overflows.
    """
    if calibration != "tight":
        raise ValueError(f"calibration={calibration!r}: noisy gradient descent offers 'tight', which is exact")
    one_of("average", average, Average)
    number("ridge", ridge, 0, MOST, ends="[]", remedy="it is of the sum of losses")
    _whole("steps", steps, "each is one pass over the data; 100 is usual")
    number("momentum", momentum, 0, 1, ends="[)", remedy="0 (none) and 0.9 are usual")
    if clip is None:
        clip = default_clip(loss, domain)
    number("clip", clip, LEAST, MOST, ends="[]", remedy="it is the largest norm of one record's gradient")
    noise = calibrate(clip, budget, steps=steps, neighbours=neighbours)
    X, y = _checked(X, y)
    y = loss.targets_of(y, domain)
    step = _step_size(step_size, loss, domain, ridge, len(X) if neighbours == "replace" else None, n_public)
    limit = limits(X, clip)

    theta, velocity, tail = (np.zeros((repeats, X.shape[1])) for _ in range(3))
    travelled, tail_steps = np.zeros((repeats, 1)), math.ceil(steps / 2)
    # A step size too large may overflow: the caller learns of it from `converged`.
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        for t in range(steps):
            gradient = summed_gradient(X, y, loss, theta, limit) + noise.sample(theta.shape, rng) + ridge * theta
            if step is None:
                travelled += (gradient**2).sum(axis=1, keepdims=True)
                eta = 1 / (domain.x_norm * np.sqrt(travelled))
            else:
                eta = step
            velocity = momentum * velocity + gradient
            theta = theta - eta * velocity
            if average == "tail" and t >= steps - tail_steps:
                tail += theta / tail_steps
    theta = tail if average == "tail" else theta
    sensitivity = changed_gradients(neighbours) * clip
    event = "GaussianDpEvent", {"noise_multiplier": noise.scale / (math.sqrt(steps) * sensitivity)}
    return Release(theta, np.zeros(repeats), np.isfinite(theta).all(axis=1), "proved", event)


def limits(X: np.ndarray, clip: float) -> np.ndarray:
    """Return c/||x_i||, at most the largest double, shape (n,); infinite where x_i = 0."""
    largest = np.abs(X).max(axis=1, initial=0.0)
    limit, rows = np.full(len(X), np.inf), largest > 0
    # In units of the largest entry, so that no square overflows or vanishes.
    scaled = np.linalg.norm(X[rows] / largest[rows, None], axis=1)
    with np.errstate(over="ignore"):
        limit[rows] = np.minimum(clip / scaled / largest[rows], np.finfo(float).max)
    return limit


def _whole(name: str, value: int, remedy: str) -> None:
    if number(name, value, 1, 1e6 if name == "steps" else MOST, ends="[]", remedy=remedy) != int(value):
        raise ValueError(f"{name}={value} must be a whole number; {remedy}")


def _step_size(
    step_size: float | None, loss: Loss, domain: Domain, ridge: float, n: int | None, n_public: int | None
) -> float | None:
    """Return eta, or None for the adaptive rule; `n` is the number of records where it is public."""
    if n_public is not None:
        _whole("n_public", n_public, "it is a public guess of the number of records, for the step size")
    if step_size is not None:
        remedy = "leave it out for 1/smoothness (n public) or the adaptive rule"
        return number("step_size", step_size, LEAST, MOST, ends="[]", remedy=remedy)
    n = n if n_public is None else n_public
    curvature = loss.suprema(Domain(x_norm=domain.x_norm, y_bound=domain.y_bound))[1]
    if n is None or not math.isfinite(curvature):
        return None
    return 1 / (max(n, 1) * domain.x_norm**2 * curvature + ridge)


def _checked(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y as doubles that fit each other; no message gives a value of the data."""
    X, y = np.ascontiguousarray(X, dtype=float), np.asarray(y, dtype=float)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise DataError(f"X has shape {X.shape} and y {y.shape}: they must be (n, p) and (n,)")
    for name, array in (("X", X), ("y", y)):
        if not np.isfinite(array).all():
            raise DataError(f"{name} holds values that are not finite: remove or impute them first")
    return X, y
