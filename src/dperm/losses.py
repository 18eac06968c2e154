r"""Losses of generalized linear models, l(u, y) with u = <x, theta>, and the bounds that privacy proofs need.

Every loss is convex in u. For a record (x, y) of a declared domain the gradient in theta is l'(u, y) x and the Hessian
l''(u, y) x x^T, so with ||x||_2 <= R

    zeta   = R   sup |l'|      bounds the gradient norm       (kifer2012, Algorithm 1),
    lambda = R^2 sup l''       bounds the Hessian's eigenvalue.

Both are meant for one record's loss in a sum (not a mean) over records. Neighbouring relation: none here; a mechanism
doubles zeta for replace-one where it has to.

The suprema hold for targets of the loss's own domain alone, which `Loss.targets_of` checks or clips into:

    binary    y in {-1, +1},
    real      |y| <= Y,
    count     0 <= y <= Y; whole numbers or not, as the bounds need no more than the sign.

Every mechanism's core and every estimator passes its targets through it. (The Poisson loss with y = -Y would have
|l'| = e^M + Y, more than any calibration used.)
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dperm.domain import LEAST, MOST, NORM_SLACK, Domain, number
from dperm.errors import DomainViolation

Pointwise = Callable[[np.ndarray, np.ndarray], np.ndarray]
Between = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
# Where no y_bound is declared, targets are clipped so many times sup |l'| beyond every margin that is bounded: no slope
# changes there but of models that predict nearly as far out.
FAR = 1e6


@dataclass(frozen=True)
class Loss:
    """A convex GLM loss with its first two derivatives in u and their suprema.

    Parameters
    ----------
    name : str
        Key in `LOSSES`.
    targets : {"binary", "real", "count"}
        The domain of y (`targets_of`): {-1, +1}, the reals, or the reals of 0 and above.
    value, derivative, second : callable
        l, l' and l'' as functions of (u, y), broadcasting. At a kink `derivative` is a subgradient, and where l'' jumps
        `second` is one of its limits.
    second_within : callable
        sup l'' over the margins in [low, high], as a function of (low, high, y): what a rounded margin may hide.
    suprema : callable
        Maps a `Domain` to (sup |l'|, sup l''); infinite where the domain does not bound it.
    one_sided : bool
        True if, given y, l'(., y) never changes sign: halves the tail in the tight calibrations.
    unit : float
        What u is measured by: 1 for a margin of labels or a logarithm; 0 where l' is made of u - y alone, so that
        another unit of y changes nothing but the scale.
    cap : float, optional
        Given if l'(., y) keeps its sign and s = |l'| <= cap and l'' <= s (1 - s): a record's force and curvature are
        tied, which the tight calibrations know (docs/privacy.md, Theorem 4). 1 for the logistic loss.
    """

    name: str
    targets: str
    value: Pointwise
    derivative: Pointwise
    second: Pointwise
    second_within: Between
    suprema: Callable[[Domain], tuple[float, float]]
    one_sided: bool
    unit: float = 1.0
    cap: float | None = None

    def targets_of(self, y: np.ndarray, domain: Domain, *, clip: bool = False) -> np.ndarray:
        """Return the targets, all within the domain for which the suprema hold.

        Parameters
        ----------
        y : ndarray, shape (n,)
            Numbers of any type; the result is float64.
        domain : Domain
            Its `y_bound` is Y; without one, real targets and counts have no bound.
        clip : bool
            Move every other target to the nearest of the domain instead of raising (NaN to 0, of labels all but
            positive ones to -1; without a `y_bound` to `FAR` times sup |l'| beyond the margins). Each by itself, so
            that neighbouring data sets stay neighbours under both relations.

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        DomainViolation
            If a target is outside the domain and `clip` is False. The message gives nothing of the data.
        """
        y = np.asarray(y, dtype=np.float64)
        if self.targets == "binary":
            if clip:
                return np.where(y > 0, 1.0, -1.0)
            if not (np.abs(y) == 1).all():
                raise DomainViolation(f"the {self.name} loss takes the labels -1 and +1 alone; encode them so")
            return y
        high = self._far(domain) if domain.y_bound is None and clip else _y_bound(domain)
        low = 0.0 if self.targets == "count" else -high
        if clip:
            return np.clip(np.where(np.isnan(y), 0.0, y), low, high)
        if not np.isfinite(y).all():
            raise DomainViolation("y holds NaN or infinity; drop or mend such targets first, or pass clip=True")
        if not (y >= low * (1 + NORM_SLACK)).all() and self.targets == "count":
            raise DomainViolation(
                f"loss={self.name!r} is of counts, 0 or above, and y holds a negative number: the bounds on its slope "
                "do not hold there; drop such records, or pass clip=True to move their targets to 0"
            )
        if not (np.abs(y) <= high * (1 + NORM_SLACK)).all():
            raise DomainViolation(
                f"y holds targets beyond y_bound={high:g}; declare the larger public bound, or pass clip=True to move "
                "such targets to it"
            )
        return np.clip(y, low, high)

    def _far(self, domain: Domain) -> float:
        """Return a public Y for clipping where none is declared."""
        slope = self.suprema(Domain(x_norm=1.0))[0]
        margin = domain.margin_bound if math.isfinite(domain.margin_bound) else 0.0
        return min(FAR * (slope if math.isfinite(slope) else 1.0) + margin, MOST)

    def gradient_bound(self, domain: Domain) -> float:
        """Return zeta = R sup |l'|.

        Parameters
        ----------
        domain : Domain

        Returns
        -------
        float
            In units of the loss over theta.

        Raises
        ------
        DomainViolation
            If the domain does not bound the derivative; the message names the missing bound.
        """
        return domain.x_norm * self._finite(domain, 0, "gradient")

    def curvature_bound(self, domain: Domain) -> float:
        """Return lambda = R^2 sup l''.

        Parameters
        ----------
        domain : Domain

        Returns
        -------
        float
            In units of the loss over theta squared.

        Raises
        ------
        DomainViolation
            If the loss has a kink (no finite lambda: smooth it) or the domain does not bound its curvature.
        """
        return domain.x_norm**2 * self._finite(domain, 1, "curvature")

    def _finite(self, domain: Domain, which: int, word: str) -> float:
        supremum = self.suprema(domain)[which]
        if math.isfinite(supremum):
            return supremum
        if math.isinf(self.suprema(Domain(1.0, 1.0, 1.0))[which]):
            raise DomainViolation(
                f"the {self.name} loss has a kink, so no bounded {word} on any domain: "
                "take smoothed_hinge for hinge, huber for absolute"
            )
        raise DomainViolation(
            f"the {self.name} loss has no bounded {word} on this domain (x_norm={domain.x_norm}, "
            f"y_bound={domain.y_bound}, theta_norm={domain.theta_norm}): declare the missing bound (or smaller ones), "
            "or take a loss that is bounded everywhere (logistic, huber)"
        )


def _y_bound(domain: Domain) -> float:
    return math.inf if domain.y_bound is None else domain.y_bound


def squared() -> Loss:
    """Return (u - y)^2 / 2; bounded only where both theta and y are."""
    return Loss(
        "squared",
        "real",
        value=lambda u, y: 0.5 * (u - y) ** 2,
        derivative=lambda u, y: u - y,
        second=lambda u, y: np.ones(np.broadcast_shapes(np.shape(u), np.shape(y))),
        second_within=lambda low, high, y: np.ones(np.broadcast_shapes(np.shape(low), np.shape(y))),
        suprema=lambda domain: (domain.margin_bound + _y_bound(domain), 1.0),
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


def poisson() -> Loss:
    """Return exp(u) - y u, y >= 0 (counts, or any such numbers); bounded only where both theta and y are."""

    def suprema(domain):
        # l' = exp(u) - y runs from exp(-M) - Y up to exp(M), where y = 0.
        with np.errstate(over="ignore"):
            top = float(np.exp(domain.margin_bound))
        return max(top, _y_bound(domain) - math.exp(-domain.margin_bound)), top

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
    number("huber knee", knee, LEAST, MOST, ends="[]", error=DomainViolation, remedy="it is in units of y; 1 is usual")

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
    number("smoothed_hinge width", width, LEAST, MOST, ends="[]", error=DomainViolation, remedy=remedy)

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

    Returns
    -------
    Loss

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
    # Seldom any: to look at a signature takes longer than all the rest.
    known = inspect.signature(LOSSES[name]).parameters if parameters else {}
    for parameter in parameters:
        if parameter not in known:
            raise ValueError(f"loss {name} has no parameter {parameter!r}; it has {', '.join(known) or 'none'}")
    return LOSSES[name](**parameters)
