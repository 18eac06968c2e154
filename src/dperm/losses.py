r"""Losses of generalized linear models, l(u, y) with u = <x, theta>, and the bounds that privacy proofs need.

Every loss is convex in u. For a record (x, y) of a declared domain the gradient in theta is l'(u, y) x and the Hessian
l''(u, y) x x^T, so with ||x||_2 <= R

    zeta   = R   sup |l'|      bounds the gradient norm       (kifer2012, Algorithm 1),
    lambda = R^2 sup l''       bounds the Hessian's eigenvalue.

Both are W times that of a loss whose records have weights up to W (`Loss.weight_bound`; 1 unless it is set). They are
meant for one record's loss in a sum (not a mean) over records. Neighbouring relation: none here; a mechanism
doubles zeta for replace-one where it has to.
"""

import functools
import inspect
import math
from collections.abc import Callable

import numpy as np

from dperm.domain import LEAST, MOST, number
from dperm.errors import DomainViolation
from dperm.loss import Loss, y_bound


def squared() -> Loss:
    """Return (u - y)^2 / 2; bounded only where both theta and y are."""
    return Loss(
        "squared",
        "real",
        value=lambda u, y: 0.5 * (u - y) ** 2,
        derivative=lambda u, y: u - y,
        second=lambda u, y: np.ones(np.broadcast_shapes(np.shape(u), np.shape(y))),
        second_within=lambda low, high, y: np.ones(np.broadcast_shapes(np.shape(low), np.shape(y))),
        suprema=lambda domain: (domain.margin_bound + y_bound(domain), 1.0),
        one_sided=False,
        unit=0.0,
    )


def logistic() -> Loss:
    """Return log(1 + exp(-y u)), y in {-1, +1}; |l'| <= 1 and l'' <= 1/4 everywhere.

    Written with NumPy's vectorised exponential, which is several times faster than `scipy.special.expit`.
    """

    def value(u, y):
        z = y * u
        return np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z)))

    def second(u, y):
        small = np.exp(-np.abs(u * y))
        return small / (1.0 + small) ** 2

    return Loss(
        "logistic",
        "binary",
        value=value,
        # Beyond 700 the derivative is 0 to double precision, and the exponential would overflow.
        derivative=lambda u, y: -y / (1.0 + np.exp(np.minimum(y * u, 700.0))),
        second=second,
        # It falls on both sides of 0.
        second_within=lambda low, high, y: second(np.clip(0.0, low, high), y),
        suprema=lambda domain: (1.0, 0.25),
        one_sided=True,
        cap=1.0,
    )


def capped_logistic(cap: float = 0.5) -> Loss:
    r"""Return the logistic loss whose slope is cut off at `cap`: a straight line for records that are badly wrong.

    With z = y u and the margin z_0 = log((1 - cap)/cap), at which the logistic slope is `cap`, it is

        log(1 + e^{-z})                       for z >= z_0,
        -log(1 - cap) + cap (z_0 - z)         for z <  z_0.

    |l'| = min(cap, 1/(1 + e^z)), so zeta is `cap` times that of the logistic loss. l'' is s (1 - s) above z_0, with
    s = |l'|, and 0 below: at most s (1 - s) everywhere, which is what Theorem 4 of docs/privacy.md asks for.

    Parameters
    ----------
    cap : float
        In (0, 1): the largest |l'|. Up to 1/2 force and curvature are largest together, and Theorem 4 gives no more
        than Theorems 1 to 3 do; what is gained is a force that is `cap` times as large.

    Raises
    ------
    DomainViolation
        If `cap` is outside its range.
    """
    remedy = "it is the largest slope; 0.5 is usual, and 1 is the logistic loss"
    cap = number("capped_logistic cap", cap, LEAST, 1 - 1e-9, ends="[]", error=DomainViolation, remedy=remedy)
    whole, start = logistic(), math.log1p(-cap) - math.log(cap)

    def value(u, y):
        z = y * u
        return whole.value(np.maximum(z, start), 1.0) + cap * np.maximum(start - z, 0.0)

    def second(u, y):
        return np.where(y * u >= start, whole.second(u, y), 0.0)

    def second_within(low, high, y):
        least, most = np.minimum(y * low, y * high), np.maximum(y * low, y * high)
        steepest = np.clip(0.0, np.maximum(least, start), np.maximum(most, start))
        return np.where(most >= start, whole.second(steepest, 1.0), 0.0)

    return Loss(
        "capped_logistic",
        "binary",
        value=value,
        derivative=lambda u, y: -y * np.minimum(cap, np.abs(whole.derivative(u, y))),
        second=second,
        second_within=second_within,
        suprema=lambda domain: (cap, cap * (1 - cap) if cap < 0.5 else 0.25),
        one_sided=True,
        cap=cap,
    )


def poisson() -> Loss:
    """Return exp(u) - y u, y >= 0 (counts, or any such numbers); bounded only where both theta and y are."""

    def suprema(domain):
        # l' = exp(u) - y runs from exp(-M) - Y up to exp(M), where y = 0.
        with np.errstate(over="ignore"):
            top = float(np.exp(domain.margin_bound))
        return max(top, y_bound(domain) - math.exp(-domain.margin_bound)), top

    return Loss(
        "poisson",
        "count",
        value=lambda u, y: np.exp(u) - y * u,
        derivative=lambda u, y: np.exp(u) - y,
        second=lambda u, y: np.exp(u) + 0.0 * y,
        second_within=lambda low, high, y: np.exp(high) + 0.0 * y,
        suprema=suprema,
        one_sided=False,
    )


def huber(knee: float = 1.0) -> Loss:
    """Return the Huber loss of the residual u - y: quadratic within `knee`, linear beyond; |l'| <= knee, l'' <= 1.

    Parameters
    ----------
    knee : float
        In [1e-30, 1e30], in units of y.

    Raises
    ------
    DomainViolation
        If the knee is outside its range.
    """
    remedy = "it is in units of y; 1 is usual"
    knee = number("huber knee", knee, LEAST, MOST, ends="[]", error=DomainViolation, remedy=remedy)

    def value(u, y):
        residual = np.abs(u - y)
        return np.where(residual <= knee, 0.5 * residual**2, knee * (residual - 0.5 * knee))

    return Loss(
        "huber",
        "real",
        value=value,
        derivative=lambda u, y: np.clip(u - y, -knee, knee),
        second=lambda u, y: (np.abs(u - y) <= knee).astype(float),
        second_within=lambda low, high, y: 1.0 * ((low - y <= knee) & (high - y >= -knee)),
        suprema=lambda domain: (knee, 1.0),
        one_sided=False,
        unit=0.0,
    )


def hinge() -> Loss:
    """Return max(0, 1 - y u), y in {-1, +1}; it has a kink, so no finite lambda."""
    return Loss(
        "hinge",
        "binary",
        value=lambda u, y: np.maximum(0.0, 1.0 - y * u),
        derivative=lambda u, y: np.where(y * u < 1.0, -y, 0.0),
        second=lambda u, y: np.zeros(np.broadcast_shapes(np.shape(u), np.shape(y))),
        second_within=lambda low, high, y: np.where((y * low - 1) * (y * high - 1) <= 0, math.inf, 0.0),
        suprema=lambda domain: (1.0, math.inf),
        one_sided=True,
    )


def smoothed_hinge(width: float = 0.5) -> Loss:
    """Return the hinge whose kink is a parabola over y u in [1 - width, 1 + width]; |l'| <= 1, l'' <= 1 / (2 width).

    With z = y u: 0 above the band, 1 - z below it, (1 + width - z)^2 / (4 width) inside.

    Parameters
    ----------
    width : float
        In [1e-30, 1e30], in units of y u.

    Raises
    ------
    DomainViolation
        If the width is outside its range.
    """
    remedy = "it is in units of y u; 0.5 is usual"
    width = number("smoothed_hinge width", width, LEAST, MOST, ends="[]", error=DomainViolation, remedy=remedy)

    def value(u, y):
        z = y * u
        inside = (1 + width - z) ** 2 / (4 * width)
        return np.where(z > 1 + width, 0.0, np.where(z < 1 - width, 1 - z, inside))

    def second_within(low, high, y):
        least, most = np.minimum(y * low, y * high), np.maximum(y * low, y * high)
        return ((least <= 1 + width) & (most >= 1 - width)) / (2 * width)

    return Loss(
        "smoothed_hinge",
        "binary",
        value=value,
        derivative=lambda u, y: -y * np.clip((1 + width - y * u) / (2 * width), 0.0, 1.0),
        second=lambda u, y: (np.abs(1 - y * u) <= width) / (2 * width),
        second_within=second_within,
        suprema=lambda domain: (1.0, 1.0 / (2 * width)),
        one_sided=True,
    )


def absolute() -> Loss:
    """Return |u - y|; it has a kink, so no finite lambda."""
    return Loss(
        "absolute",
        "real",
        value=lambda u, y: np.abs(u - y),
        derivative=lambda u, y: np.sign(u - y),
        second=lambda u, y: np.zeros(np.broadcast_shapes(np.shape(u), np.shape(y))),
        second_within=lambda low, high, y: np.where((low <= y) & (high >= y), math.inf, 0.0),
        suprema=lambda domain: (1.0, math.inf),
        one_sided=False,
        unit=0.0,
    )


LOSSES: dict[str, Callable[..., Loss]] = {
    "squared": squared,
    "logistic": logistic,
    "capped_logistic": capped_logistic,
    "poisson": poisson,
    "huber": huber,
    "hinge": hinge,
    "smoothed_hinge": smoothed_hinge,
    "absolute": absolute,
}


def make(name: str, **parameters: float) -> Loss:
    """Return the loss of this name.

    Parameters
    ----------
    name : str
        A key of `LOSSES`.
    **parameters : float
        Those of the loss, such as `knee` of huber.

    Raises
    ------
    ValueError
        If there is no such loss, or it has no such parameter; the message lists those there are.
    DomainViolation
        If a parameter is outside its range.
    """
    if not (isinstance(name, str) and name in LOSSES):
        raise ValueError(
            f"loss={name!r} is not one of {', '.join(sorted(LOSSES))}; every loss here is of the form "
            "l(<x, theta>, y), which the proofs need (erratum K1)"
        )
    if not parameters:
        return _plain(name)
    known = inspect.signature(LOSSES[name]).parameters
    for parameter in parameters:
        if parameter not in known:
            raise ValueError(f"loss {name} has no parameter {parameter!r}; it has {', '.join(known) or 'none'}")
    return LOSSES[name](**parameters)


@functools.cache
def _plain(name: str) -> Loss:
    """Return the loss with its defaults: one object, by which others remember what they found of it."""
    return LOSSES[name]()
