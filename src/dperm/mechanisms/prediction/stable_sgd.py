r"""Stable stochastic gradient descent: one projected pass over the records, whose mean answers with Laplace noise.

Records (x, y) in the order given, ||x||_2 <= L_f, |l'| <= L_l on the ball, f(w, x) = <w, x>, L = L_f L_l:

    w_0 = 0,    w_i = Proj_{||w|| <= R}(w_{i-1} - eta l'(<w_{i-1}, x_i>, y_i) x_i),    w = 1/n (w_0 + ... + w_{n-1})

(erratum D11: minus; the mean stops before w_n), eta = R/(L sqrt n). An answer to z is <w, z> + Laplace(rate/epsilon).

Smoothness. Each step is a contraction if sigma = L_f^2 sup l'' <= 2/eta; beyond that nothing is promised, so it is
enforced. Replacing record i (from 1) then moves each of w_i, .., w_{n-1} by at most 2 eta L, and the mean by at most
2 eta L (n - i)/n (docs/privacy.md, section 12, Theorem W: attained by l = 1 - y a). Calibrations of the rate:

    tight        2 eta L L_f (n - 1)/n, times what two records' gradients differ by at one w, in units of 2 L
                 (`changes.change`): 1 for the losses whose slope is L_l all over the ball;
    corrected    2 R L_f/sqrt n (D2);
    paper        R L_f/sqrt n, as Theorem 4.12 prints it: half of what is needed, guarantee `none`.

eta="halved" takes eta/2, at which all three halve: R L_f/sqrt n is right then (D15: `paper` is `proved`, `corrected` is
the same number). Neighbouring relation: replace-one alone; n sets eta and the mean, so add/remove is refused.

Sources: dwork2018, Theorem 4.12 and Corollary 4.13; errata D2, D11, D15; Hardt, Recht & Singer 2016.
"""

import math
from typing import Literal

import numpy as np

from dperm.compiled import compiled
from dperm.domain import (
    LEAST,
    MOST,
    Calibration,
    Domain,
    Guarantee,
    Mended,
    Neighbours,
    changed_gradients,
    number,
    one_of,
)
from dperm.errors import DataError, DomainViolation
from dperm.losses import Loss
from dperm.mechanisms.prediction.changes import change
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear
from dperm.mechanisms.prediction.stable_erm import slope

CALIBRATIONS = ("paper", "corrected", "tight")

Eta = Literal["printed", "halved"]
_LINE, _LOGISTIC, _POISSON = 0, 1, 2


def step(lipschitz: float, x_norm: float, radius: float, n: int, eta: Eta = "printed") -> float:
    """Return eta = R/(L sqrt n), or half of it, for L_l, L_f, R and a public n (replace-one)."""
    one_of("eta", eta, Eta)
    number("n", n, 1, MOST, ends="[]", error=DomainViolation, remedy="there must be a record")
    for name, value in (("lipschitz", lipschitz), ("x_norm", x_norm), ("radius", radius)):
        number(name, value, LEAST, MOST, ends="[]", error=DomainViolation, remedy="it is a public bound")
    printed = float(radius) / (float(x_norm) * float(lipschitz) * math.sqrt(n))
    return printed / 2 if eta == "halved" else printed


def rate(
    lipschitz: float, x_norm: float, radius: float, n: int, *, calibration: Calibration, eta: Eta = "printed"
) -> float:
    """Return how far one replaced record moves an answer, if all that is known of the loss is L_l.

    `paper` is R L_f/sqrt n whatever `eta` is.
    """
    one_of("calibration", calibration, Mended)
    size = step(lipschitz, x_norm, radius, n, eta)
    if calibration == "paper":
        return float(radius) * float(x_norm) / math.sqrt(n)
    whole = 2 * size * float(lipschitz) * float(x_norm) ** 2
    return whole if calibration == "corrected" else whole * (n - 1) / n


def guarantee(calibration: Calibration, eta: Eta = "printed") -> Guarantee:
    """Return what is proved of the rate: nothing of the printed one at the printed step (erratum D2)."""
    return "none" if calibration == "paper" and eta == "printed" else "proved"


def check_smooth(loss: Loss, domain: Domain, size: float) -> None:
    """Refuse a loss whose smoothness exceeds 2/eta: its steps are no contractions (domain: with theta_norm = R)."""
    sigma = loss.curvature_bound(domain)
    if not sigma * size <= 2:
        raise DomainViolation(
            f"the loss's smoothness sigma={sigma:g} exceeds 2/eta={2 / size:g}, so nothing is promised (dwork2018, "
            "Theorem 4.12); take more records, a smaller radius, eta='halved', or StableERM, which needs none"
        )


def descend(X: np.ndarray, y: np.ndarray, loss: Loss, *, eta: float, radius: float) -> np.ndarray:
    """Return the mean of w_0 .. w_{n-1} of one pass over X (n, p), in its order, or over many data sets (R, n, p)."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if X.ndim not in (2, 3) or y.ndim not in (1, 2) or X.shape[-2] != y.shape[-1] or not y.shape[-1]:
        raise DataError(f"X and y have shapes {X.shape} and {y.shape}: they must be (n, p) and (n,), with n >= 1")
    kind, centre, width, low, high = _shape(loss, y)
    shared = (X.shape[:1] if X.ndim == 3 else ()) or y.shape[:-1]
    if not shared:
        return _pass(X, kind, centre, width, low, high, eta, radius)
    if X.ndim == 3 and y.ndim == 2 and len(X) != len(y):
        raise DataError(f"X and y have shapes {X.shape} and {y.shape}: as many repeats in both")
    found = np.empty((*shared, X.shape[-1]))
    for r in range(len(found)):
        t, least, most = (values if values.ndim == 1 else values[r] for values in (centre, low, high))
        found[r] = _pass(X if X.ndim == 2 else X[r], kind, t, width, least, most, eta, radius)
    return found


def prepare(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    *,
    domain: Domain,
    epsilon: float,
    calibration: Calibration,
    neighbours: Neighbours = "replace",
    eta: Eta = "printed",
) -> NoisyLinear:
    """Return the predictor whose every answer is epsilon-differentially private (not with `paper` at the printed eta).

    - X: shape (n, p); rows with ||x||_2 <= domain.x_norm, in the order of the pass; not checked here.
    - domain: with x_norm = L_f and theta_norm = R, finite.
    """
    check_neighbours(neighbours)
    if not len(X):
        raise DataError("there are no records; stochastic gradient descent needs at least one")
    lipschitz = slope(loss, domain)
    y = loss.targets_of(y, domain)
    size = step(lipschitz, domain.x_norm, domain.theta_norm, len(X), eta)
    moved = rate(lipschitz, domain.x_norm, domain.theta_norm, len(X), calibration=calibration, eta=eta)
    if calibration == "tight":
        moved *= change(loss, domain, neighbours) / changed_gradients(neighbours)
    check_smooth(loss, domain, size)
    w = descend(X, y, loss, eta=size, radius=domain.theta_norm)
    return NoisyLinear(w, moved, epsilon, guarantee(calibration, eta))


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    Z: np.ndarray,
    *,
    domain: Domain,
    epsilon: float,
    calibration: Calibration,
    neighbours: Neighbours = "replace",
    eta: Eta = "printed",
    rng: np.random.Generator,
    repeats: int = 1,
) -> np.ndarray:
    """Answer rows ||z|| <= x_norm, which is not checked, `repeats` times with fresh noise, each at epsilon."""
    predictor = prepare(
        X, y, loss, domain=domain, epsilon=epsilon, calibration=calibration, neighbours=neighbours, eta=eta
    )
    return predictor.release(Z, rng=rng, repeats=repeats)


def check_neighbours(neighbours: Neighbours) -> None:
    """Refuse add/remove: the step and the mean are made of n."""
    one_of("neighbours", neighbours, Neighbours)
    if neighbours != "replace":
        raise DomainViolation(
            "neighbours='add_remove': the number of records sets the step and the mean of StableSGD, so one record "
            "more changes every iterate; take 'replace', or StableERM with a public `total`"
        )


def _shape(loss: Loss, y: np.ndarray):
    """Return a code and t, h, low, high of l'(u) = clip((u - t)/h, low, high); logistic and Poisson use t = y alone."""
    if loss.name in ("logistic", "poisson"):
        return {"logistic": _LOGISTIC, "poisson": _POISSON}[loss.name], y, 1.0, y, y
    steepest, curvature = loss.suprema(Domain(x_norm=1.0))
    if not math.isfinite(curvature):
        raise ValueError(f"loss={loss.name!r} has a kink: take a smooth one (smoothed_hinge for hinge, huber)")
    if loss.name == "smoothed_hinge":
        return _LINE, y * (1 + 1 / (2 * curvature)), 1 / curvature, np.minimum(-y, 0.0), np.maximum(-y, 0.0)
    if loss.name not in ("huber", "squared"):
        raise ValueError(
            f"loss={loss.name!r} has no single pass here: take logistic, smoothed_hinge, huber, squared or poisson"
        )
    bound = np.full(y.shape, steepest)
    return _LINE, y, 1 / curvature, -bound, bound


@compiled
def _pass(X, kind, centre, width, low, high, eta, radius):
    n, p = X.shape
    w, total = np.zeros(p), np.zeros(p)
    for i in range(n):
        u = 0.0
        for j in range(p):
            total[j] += w[j]
            u += w[j] * X[i, j]
        if kind == _LINE:
            slope_here = min(max((u - centre[i]) / width, low[i]), high[i])
        elif kind == _LOGISTIC:
            slope_here = -centre[i] / (1.0 + np.exp(min(centre[i] * u, 700.0)))
        else:
            slope_here = np.exp(u) - centre[i]
        square = 0.0
        for j in range(p):
            w[j] -= eta * slope_here * X[i, j]
            square += w[j] * w[j]
        if square > radius * radius:
            shrink = radius / np.sqrt(square)
            for j in range(p):
                w[j] *= shrink
    return total / n
