r"""Noisy gradient descent: full-batch descent on the sum of losses, each step with a noisy clipped gradient.

    F(theta) = sum_i l(<x_i, theta>, y_i) + ridge/2 ||theta||^2,        theta_0 = v_0 = 0,
    g_t = sum_i clip(l'_i x_i) + z_t + ridge theta_t,                   z_t ~ N(0, sigma^2 I),   t = 0 .. T - 1,
    v_{t+1} = momentum v_t + g_t,      theta_{t+1} = theta_t - eta_t v_{t+1}.

clip(g) = g min(1, c/||g||). The gradient of a GLM loss is l' x, so that clipping it means clipping l' to c/||x||, and a
step of a whole batch of repeats is two matrix products. The default c is zeta, which clips nothing within the domain.
With more than two classes the loss is the multinomial one (`dperm.mechanisms.multinomial`), and theta and each gradient
have k p numbers; nothing else changes.

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
  one at the start;
- `distance` given, a public D, whether or not n is public: the coordinate j of theta has the step

      eta_{t,j} = D/sqrt(p (t sigma^2 + kappa (sum_{s<=t} g_{s,j}^2 - t sigma^2)_+)),      kappa = `SIGNAL`,

  post-processing as well. Where there is noise alone, sum_s ||g_s||^2 is about p t sigma^2, and these are the steps of
  AdaGrad-Norm. What a coordinate has above the noise, whose size is public, is signal: it shortens the steps by less,
  each coordinate's by its own (AdaGrad; Duchi, Hazan & Singer 2011; less the noise, as of Adam by Tang, Shpilevskiy &
  Lecuyer 2024).

Sources: Bassily, Smith & Thakurta 2014; Abadi et al. 2016 (without subsampling). Iyengar et al. 2019 compare it with
kifer2012's Algorithm 1, which needs the exact minimiser.
"""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import sparse

from dperm.accounting import gaussian
from dperm.domain import LEAST, MOST, Budget, Calibration, Domain, Neighbours, changed_gradients, number, one_of
from dperm.errors import DataError, DomainViolation, InvalidBudget
from dperm.losses import Loss
from dperm.mechanisms.base import Release, counted, representable
from dperm.mechanisms.multinomial import Multinomial
from dperm.mechanisms.vacuous import Noise
from dperm.noise import Gaussian
from dperm.solvers.blas import one_thread

CALIBRATIONS = ("tight",)

Average = Literal["none", "tail"]
Move = Callable[[np.ndarray, np.ndarray], np.ndarray]
# Margins (rows, repeats) are made in blocks that stay within the cache.
BLOCK_ENTRIES = 2**16
# Of a single repeat: entries of X.
CACHED_ENTRIES = 2**17
# kappa: of a coordinate's squared gradients, what counts beyond the noise (docs/assumptions.md).
SIGNAL = 0.03
# Sums of squares between it and its inverse have lost nothing to underflow or overflow.
_SMALLEST_SQUARE = 1e-200


def default_clip(loss: Loss | Multinomial, domain: Domain) -> float:
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
    sensitivity = changed_gradients(neighbours) * float(clip)
    sigma = math.sqrt(steps) * sensitivity / gaussian.gaussian_ratio(budget.epsilon, budget.delta)
    return Gaussian(representable(sigma, budget, "raise epsilon (usual values are 0.1 to 10), lower clip, steps"))


def summed_gradient(
    X: Any,
    y: np.ndarray,
    loss: Loss | Multinomial,
    theta: np.ndarray,
    limit: np.ndarray,
    w: np.ndarray | None = None,
) -> np.ndarray:
    """Return sum_i clip(w_i l'_i x_i) at each theta; limit holds c/||x_i||, infinite where x_i = 0. X: array or CSR.

    w: weights above 0; None for 1.
    """
    if isinstance(loss, Multinomial):
        return loss.summed(X, y, theta, limit, w)
    total = np.zeros(theta.shape)
    rows = max(1, BLOCK_ENTRIES // len(theta))
    if sparse.issparse(X):
        # A slice is a copy.
        rows = max(1, X.shape[0])
    elif len(theta) == 1:
        # Then the rows are what has to stay in the cache between the two products.
        rows = max(1, CACHED_ENTRIES // X.shape[1])
    for low in range(0, X.shape[0], rows):
        part = slice(low, low + rows)
        some, bound = X if rows >= X.shape[0] else X[part], limit[part, None]
        # Poisson's derivative may overflow to infinity, which the limit cuts.
        with np.errstate(over="ignore"):
            weight = loss.derivative(some @ theta.T, y[part, None])
            weight = weight if w is None else weight * w[part, None]
        total += np.clip(weight, -bound, bound).T @ some
    return total


def release(
    X: Any,
    y: np.ndarray,
    loss: Loss | Multinomial,
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
    distance: float | None = None,
    average: Average = "none",
    weights: np.ndarray | None = None,
    rng: np.random.Generator,
    repeats: int = 1,
) -> Release:
    """Release the end of `repeats` independent noisy descents, run as one batch.

    - X: shape (n, p), array or CSR; longer rows than domain.x_norm cost accuracy (their gradients are clipped), never
      privacy.
    - ridge: in [0, 1e30], public; of the sum of losses.
    - clip: c in [1e-60, 1e60], in the units of zeta; by default zeta.
    - average: release the last iterate, or the mean of the last ceil(T/2).
    - weights: shape (n,), 0 or above: of each record's loss, part of the record. Its gradient w l' x is cut to c as
      any other, so that S is what it is without them.
    - Returns: with certificate 0. `converged` says that theta is finite: a step size too large overflows.
    """
    if calibration != "tight":
        raise ValueError(f"calibration={calibration!r}: noisy gradient descent offers 'tight', which is exact")
    one_of("average", average, Average)
    ridge = number("ridge", ridge, 0, MOST, ends="[]", remedy="it is of the sum of losses")
    whole("steps", steps, "each is one pass over the data; 100 is usual")
    momentum = number("momentum", momentum, 0, 1, ends="[)", remedy="0 (none) and 0.9 are usual")
    if clip is None:
        clip = default_clip(loss, domain)
    clip = number("clip", clip, LEAST**2, MOST**2, ends="[]", remedy="it is the largest norm of one record's gradient")
    noise = calibrate(clip, budget, steps=steps, neighbours=neighbours)
    X, y = checked(X, y)
    y = loss.targets_of(y, domain)
    step = _step_size(step_size, loss, domain, ridge, X.shape[0] if neighbours == "replace" else None, n_public)
    X, y, weights = counted(X, y, weights)
    if distance is not None:
        distance = number(
            "distance", distance, LEAST**2, MOST**2, ends="[]", remedy="it is how far from 0 theta is expected"
        )
    fixed = step is not None and (distance is None or step_size is not None)
    if fixed:
        move = lambda gradient, velocity: step * velocity  # noqa: E731
    elif distance is None:
        move = adaptive(1 / domain.x_norm, repeats)
    else:
        size = denoised(distance, noise.scale**2)
        move = lambda gradient, velocity: size(gradient**2) / math.sqrt(gradient.shape[1]) * velocity  # noqa: E731
    theta = descend(
        X, y, loss, limits(X, clip), noise, move, w=weights,
        steps=steps, ridge=ridge, momentum=momentum, average=average, rng=rng, repeats=repeats,
    )  # fmt: skip
    sensitivity = changed_gradients(neighbours) * clip
    event = "GaussianDpEvent", {"noise_multiplier": noise.scale / (math.sqrt(steps) * sensitivity)}
    strength = Noise(noise.scale / (math.sqrt(steps) * clip))
    return Release(theta, np.zeros(repeats), np.isfinite(theta).all(axis=1), "proved", event, noise=strength)


def descend(
    X: Any,
    y: np.ndarray,
    loss: Loss | Multinomial,
    limit: np.ndarray,
    noise: Gaussian,
    move: Move,
    *,
    w: np.ndarray | None = None,
    steps: int,
    ridge: float = 0.0,
    momentum: float = 0.0,
    average: Average = "none",
    rng: np.random.Generator,
    repeats: int = 1,
) -> np.ndarray:
    """Return where the descents end, shape (repeats, p), or k p; they read nothing of the data but the noisy sums.

    `move` maps (g_t, v_{t+1}), each of that shape, to theta_t - theta_{t+1}.
    """
    width = loss.width(X.shape[1]) if isinstance(loss, Multinomial) else X.shape[1]
    theta, velocity, tail = (np.zeros((repeats, width)) for _ in range(3))
    tail_steps = math.ceil(steps / 2)
    # A step size too large may overflow: the caller learns of it from `converged`.
    with one_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for t in range(steps):
            gradient = summed_gradient(X, y, loss, theta, limit, w) + noise.sample(theta.shape, rng) + ridge * theta
            velocity = momentum * velocity + gradient
            theta = theta - move(gradient, velocity)
            if average == "tail" and t >= steps - tail_steps:
                tail += theta / tail_steps
    return tail if average == "tail" else theta


def adaptive(distance: float | np.ndarray, repeats: int) -> Move:
    """Return steps of D/sqrt(sum_{s<=t} ||g_s||^2)."""
    travelled = np.zeros((repeats, 1))

    def move(gradient: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        travelled[:] += (gradient**2).sum(axis=1, keepdims=True)
        # 0 if all noise was too small to be squared.
        return np.divide(distance, np.sqrt(travelled), out=np.zeros_like(travelled), where=travelled > 0) * velocity

    return move


def denoised(distance: float | np.ndarray, expected: float | np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return what maps a step's squares to D/sqrt(t e + kappa (their sum so far - t e)_+); noise alone has e a step."""
    total, steps = np.zeros(1), 0

    def size(squares: np.ndarray) -> np.ndarray:
        nonlocal total, steps
        total, steps = total + squares, steps + 1
        counted = steps * expected + SIGNAL * np.maximum(total - steps * expected, 0.0)
        # 0 if all noise was too small to be squared.
        return np.divide(distance, np.sqrt(counted), out=np.zeros_like(counted), where=counted > 0)

    return size


def limits(X: Any, clip: float) -> np.ndarray:
    """Return c/||x_i||, at most the largest double, shape (n,); infinite where x_i = 0. X: array or CSR."""
    with np.errstate(over="ignore", under="ignore"):
        squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    squares = np.asarray(squares, dtype=float).ravel()
    limit = np.full(X.shape[0], np.inf)
    usual = (squares > _SMALLEST_SQUARE) & (squares < 1 / _SMALLEST_SQUARE)
    limit[usual] = clip / np.sqrt(squares[usual])
    if usual.all():
        return limit
    odd = np.flatnonzero(~usual)
    X = X[odd].toarray() if sparse.issparse(X) else X[odd]
    largest = np.abs(X).max(axis=1, initial=0.0)
    odd, X, largest = odd[largest > 0], X[largest > 0], largest[largest > 0]
    # In units of the largest entry, so that no square overflows or vanishes.
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.linalg.norm(X / largest[:, None], axis=1)
        limit[odd] = np.minimum(clip / scaled / largest, np.finfo(float).max)
    return limit


def whole(name: str, value: int, remedy: str) -> None:
    """Refuse what is no whole number of 1 or above."""
    if number(name, value, 1, 1e6 if name == "steps" else MOST, ends="[]", remedy=remedy) != int(value):
        raise ValueError(f"{name}={value} must be a whole number; {remedy}")


def _step_size(
    step_size: float | None, loss: Loss | Multinomial, domain: Domain, ridge: float, n: int | None, n_public: int | None
) -> float | None:
    """Return eta, or None for the adaptive rule; `n` is the number of records where it is public."""
    if n_public is not None:
        whole("n_public", n_public, "it is a public guess of the number of records, for the step size")
    if step_size is not None:
        remedy = "leave it out for 1/smoothness (n public) or the adaptive rule"
        return number("step_size", step_size, LEAST, MOST, ends="[]", remedy=remedy)
    n = n if n_public is None else n_public
    curvature = loss.suprema(Domain(x_norm=domain.x_norm, y_bound=domain.y_bound))[1]
    if n is None or not math.isfinite(curvature):
        return None
    return 1 / (max(n, 1) * domain.x_norm**2 * curvature + ridge)


def checked(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return X (array or CSR) and y as doubles that fit each other; no message gives a value of the data."""
    X = sparse.csr_array(X, dtype=float) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=float)
    y = np.asarray(y, dtype=float)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise DataError(f"X has shape {X.shape} and y {y.shape}: they must be (n, p) and (n,)")
    for name, array in (("X", X.data if sparse.issparse(X) else X), ("y", y)):
        if not np.isfinite(array).all():
            raise DataError(f"{name} holds values that are not finite: remove or impute them first")
    return X, y
