r"""Preconditioned noisy gradient descent: noisy gradients (dperm.mechanisms.gradient) after one noisy Gram matrix.

    B = (sum_i x~_i x~_i' + (N + N')/2)/R^2,     x~_i = x_i min(1, R/||x_i||),     N of p^2 numbers from N(0, s^2),
    P = (B_+ + rho/a I)^{-1},                    B_+ = B with its eigenvalues below 0 raised to 0,
    theta_{t+1} = theta_t - eta_t P v_{t+1},     g_t and v_t as for plain descent, theta_0 = 0,
    eta_t = D sqrt(tr P^{-1})/sqrt(t e + kappa (sum_{s<=t} <g_s, P g_s> - t e)_+),     e = sigma^2 tr P;
    released: the mean of the last ceil(T/2) iterates.

These are the steps of AdaGrad-Norm (Ward, Wu & Bottou 2020), less the noise (kappa is plain descent's `SIGNAL`), in the
coordinates P^{-1/2} theta, in which features that go together, or are rare, weigh alike where the data stand out of the
noise; rho/a is a floor above the size of that noise. With one feature P cancels, and they are the steps of plain
descent. `step_size` is another public eta_t. With k classes (`dperm.mechanisms.multinomial`) theta is k rows of p
numbers, P is applied to each, and e is k times as large.

Privacy. Let a be the ratio of the whole budget (`dperm.accounting.gaussian.gaussian_ratio`) and f = `gram_share`.
Whatever the data, no x~ is longer than R, so that the p^2 numbers of the Gram matrix move by at most

    R^2            a record comes or goes       ||x x'||_F = ||x||^2,
    sqrt(2) R^2    one becomes another          ||x x' - z z'||_F^2 = ||x||^4 + ||z||^4 - 2 <x, z>^2 <= 2 R^4.

s is this over sqrt(f) a, and sigma = sqrt(T) S/(sqrt(1 - f) a) with S = c or 2c: the Gram matrix has the ratio
sqrt(f) a, T steps together have sqrt(1 - f) a, and all of them, composed adaptively, exactly a (Dong, Roth & Su 2022,
Corollary 3.3). All else is post-processing, P and eta_t included: `proved` (docs/privacy.md, section 9), with no solver
to trust and no n. delta > 0. With an intercept its feature is one of x, and R the bound on both. N is drawn for all p^2
numbers, so that (N + N')/2 has the standard deviation s on the diagonal and s/sqrt(2) beside it, where a change of the
Gram matrix stands twice. A fit keeps p^2 numbers and takes p^3 steps for the eigenvalues.

Neighbouring relation: add/remove and replace-one, by `neighbours`.

Sources: closest published, Ganesh, Haghifam, Steinke & Thakurta 2023 (double noise); Dong, Roth & Su 2022. The
comparison with other methods is that of kifer2012, Section 1.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from dperm.accounting import gaussian
from dperm.domain import LEAST, MOST, Budget, Calibration, Domain, Neighbours, number
from dperm.losses import Loss
from dperm.mechanisms import gradient
from dperm.mechanisms.base import Release, counted, representable
from dperm.mechanisms.multinomial import Multinomial
from dperm.mechanisms.vacuous import Noise
from dperm.noise import Gaussian
from dperm.solvers.blas import one_thread

CALIBRATIONS = ("tight",)

# rho: above the noise of the Gram matrix, sqrt(2p/f), for p up to 1,000 and f = 0.05.
FLOOR = 200.0

# What the Gram matrix may move by, over R^2.
_MOVED = {"add_remove": 1.0, "replace": math.sqrt(2)}


def calibrate(
    clip: float, budget: Budget, *, x_norm: float, steps: int, gram_share: float, neighbours: Neighbours
) -> tuple[Gaussian, Gaussian]:
    """Return the noise of the Gram matrix, over R^2, and of one step; together they spend the budget.

    - x_norm: R; the Gram matrix's noise does not depend on it, because it is one of X'X/R^2.
    - Source: Dong, Roth & Su 2022, Corollary 3.3; Balle & Wang 2018, Theorem 8.
    """
    x_norm = number("x_norm", x_norm, LEAST, MOST, ends="[]", remedy="it is the public bound R")
    gram_share = number(
        "gram_share", gram_share, 0, 1, ends="()", remedy="it is the share of a^2 that the Gram matrix has"
    )
    whole = gradient.calibrate(clip, budget, steps=steps, neighbours=neighbours)
    ratio = gaussian.gaussian_ratio(budget.epsilon, budget.delta)
    step = Gaussian(representable(whole.scale / math.sqrt(1 - gram_share), budget))
    return Gaussian(representable(_MOVED[neighbours] / (math.sqrt(gram_share) * ratio), budget)), step


def release(
    X: Any,
    y: np.ndarray,
    loss: Loss | Multinomial,
    *,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    clip: float,
    distance: float,
    steps: int = 50,
    momentum: float = 0.9,
    gram_share: float = 0.05,
    floor: float = FLOOR,
    step_size: float | None = None,
    weights: np.ndarray | None = None,
    weight_bound: float = 1.0,
    rng: np.random.Generator,
    repeats: int = 1,
) -> Release:
    """Release the end of `repeats` independent descents, each after a noisy Gram matrix of its own.

    - X: shape (n, p), array or CSR; longer rows than domain.x_norm cost accuracy (they and their gradients are
      clipped), never privacy.
    - clip, steps, momentum: as of `gradient.release`.
    - distance: D, public, in units of theta.
    - gram_share: f in (0, 1).
    - floor: rho above 0.
    - weights, weight_bound: as of `gradient.release`, and W; in the Gram matrix a row is x~ sqrt(w/W), no longer.
    - step_size: a public eta_t, in the units of theta over those of gradients; D is then not used.
    """
    if calibration != "tight":
        raise ValueError(f"calibration={calibration!r}: preconditioned descent offers 'tight', which is exact")
    clip = number("clip", clip, LEAST**2, MOST**2, ends="[]", remedy="it is the largest norm of one record's gradient")
    distance = number(
        "distance", distance, LEAST**3, MOST**3, ends="[]", remedy="it is how far from 0 theta is expected"
    )
    momentum = number("momentum", momentum, 0, 1, ends="[)", remedy="0 (none) and 0.9 are usual")
    floor = number("floor", floor, 1e-6, 1e6, ends="[]", remedy="it is of the Gram matrix's eigenvalues; 200 is usual")
    gradient.whole("steps", steps, "each is one pass over the data; 50 is usual")
    if step_size is not None:
        step_size = number("step_size", step_size, LEAST, MOST, ends="[]", remedy="leave it out for the adaptive rule")
    on_gram, on_step = calibrate(
        clip, budget, x_norm=domain.x_norm, steps=steps, gram_share=gram_share, neighbours=neighbours
    )
    X, y = gradient.checked(X, y)
    y = loss.targets_of(y, domain)
    X, y, weights = counted(X, y, weights)
    share = None if weights is None else np.sqrt(np.minimum(weights / weight_bound, 1.0))
    ratio = gaussian.gaussian_ratio(budget.epsilon, budget.delta)
    with one_thread():
        noisy = gram(X, domain.x_norm, share) + on_gram.sample((repeats, X.shape[1], X.shape[1]), rng)
        classes = loss.classes if isinstance(loss, Multinomial) else 1
        move = preconditioned(noisy, floor / ratio, distance, classes * on_step.scale**2, step_size)
    theta = gradient.descend(
        X, y, loss, gradient.limits(X, clip), on_step, move, w=weights,
        steps=steps, momentum=momentum, average="tail", rng=rng, repeats=repeats,
    )  # fmt: skip
    event = "GaussianDpEvent", {"noise_multiplier": 1 / ratio}
    strength = Noise(on_step.scale / (math.sqrt(steps) * clip))
    return Release(theta, np.zeros(repeats), np.isfinite(theta).all(axis=1), "proved", event, noise=strength)


def gram(X: Any, x_norm: float, share: np.ndarray | None = None) -> np.ndarray:
    """Return sum_i x~_i x~_i'/R^2 of the rows (array or CSR), those that are longer than R cut to R.

    share: in [0, 1], of each row's length; None for 1.
    """
    # Of 1/||x|| and 1/R the less: no digits are lost, however long a row is.
    cut = np.minimum(gradient.limits(X, 1.0), 1 / x_norm) * (1.0 if share is None else share)
    if sparse.issparse(X):
        short = sparse.diags_array(cut) @ X
        return (short.T @ short).toarray()
    total, rows = np.zeros((X.shape[1], X.shape[1])), max(1, gradient.CACHED_ENTRIES // X.shape[1])
    for low in range(0, len(X), rows):
        short = X[low : low + rows] * cut[low : low + rows, None]
        total += short.T @ short
    return total


def preconditioned(
    noisy: np.ndarray, floor: float, distance: float, variance: float, step_size: float | None = None
) -> gradient.Move:
    """Return the steps eta_t P v; noisy: shape (repeats, p, p), the Gram matrices before they are made symmetric.

    variance: sigma^2, or k sigma^2 of k classes.
    """
    values, vectors = np.linalg.eigh((noisy + noisy.transpose(0, 2, 1)) / 2)
    values = np.maximum(values, 0.0) + floor
    # P = half half'.
    half = vectors / np.sqrt(values)[:, None]
    reach = distance * np.sqrt(values.sum(axis=1, keepdims=True))
    size = gradient.denoised(reach, variance * (1 / values).sum(axis=1, keepdims=True))

    def move(gradients: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        # The p numbers of each class are a row, which half multiplies from the right.
        each = len(noisy), -1, values.shape[1]
        step = ((velocity.reshape(each) @ half) @ half.transpose(0, 2, 1)).reshape(velocity.shape)
        if step_size is not None:
            return step_size * step
        # <g, P g> is the square of its length in the coordinates of P^{-1/2} theta.
        squares = ((gradients.reshape(each) @ half) ** 2).sum(axis=(1, 2))
        return size(squares[:, None]) * step

    return move
