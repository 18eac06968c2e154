"""Which forms of NAPP-ERM are proved, and what stands in the way of the others (docs/privacy.md, li2021's errata).

Proved is objective perturbation: a tilt <b, theta> of one of the laws of `noise`, bounds on the record's gradient and
curvature that hold wherever theta is searched, and a penalty that is 2 Lambda0 strongly convex whatever the data are.
Anything else is an `Obstacle`: calibration="paper" runs with it and promises nothing, the others refuse it.

Neighbours: add/remove, and replace-one where the noise is made for it.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dperm.domain import Budget, Calibration, Neighbours, number
from dperm.errors import DomainViolation
from dperm.mechanisms.napp.noise import Bounds, Variant
from dperm.mechanisms.napp.scheme import Scheme, convexity

Method = Literal["limit", "literal"]
Retrieval = Literal["none", "return", "recycle"]
# Rounding, where a condition is met with equality.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Obstacle:
    """Something that the proof does not cover.

    Parameters
    ----------
    erratum : str
        Its number in docs/errata.md.
    what : str
        The parameter, its value, and why.
    valid : str
        What would be covered.
    """

    erratum: str
    what: str
    valid: str

    def __str__(self):
        return f"{self.what} (erratum {self.erratum}); valid: {self.valid}"


def box_of(low: float | np.ndarray, high: float | np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Theta = {low <= theta <= high} coordinate by coordinate.

    Parameters
    ----------
    low, high : float or array_like, shape (p,)
        low < high; may be infinite.
    features : int
        p.

    Returns
    -------
    low, high : ndarray, shape (p,)

    Raises
    ------
    DomainViolation
        If a bound is no number, of another shape, or the box is empty.
    """
    walls = []
    for name, given in (("low", low), ("high", high)):
        try:
            wall = np.broadcast_to(np.asarray(given, float), (features,))
        except (TypeError, ValueError):
            raise DomainViolation(
                f"{name}={given!r} must be a number, or one for each of {features} features"
            ) from None
        if np.isnan(wall).any():
            raise DomainViolation(f"{name}={given!r} must hold no NaN; leave it out where theta is free")
        walls.append(wall)
    if not (walls[0] < walls[1]).all():
        raise DomainViolation(f"low={low!r} must be below high={high!r}: the box is empty")
    return walls[0], walls[1]


def orthant(box: tuple[np.ndarray, np.ndarray]) -> np.ndarray | None:
    """Return the signs of the orthant that holds a box, or None if it lies in no single one.

    Parameters
    ----------
    box : tuple of ndarray, shape (p,)

    Returns
    -------
    ndarray, shape (p,), or None
        1 where low >= 0, -1 where high <= 0.
    """
    low, high = box
    return np.where(low >= 0, 1.0, -1.0) if ((low >= 0) | (high <= 0)).all() else None


def truncation_of(truncation: float | None, variant: Variant) -> None:
    """Refuse a truncation point c of Eqs 9 and 10 that the variant does not have.

    Parameters
    ----------
    truncation : float, optional
        c; None is the variant's own.
    variant : {"erm", "vs", "vs_plus"}

    Raises
    ------
    ValueError
        If c is not that of the variant: minus infinity for `vs`, 0 for `vs_plus`, none for `erm`.
    """
    if truncation is None:
        return
    remedy = "c is 0 for variant='vs_plus' and -inf for 'vs'; leave it out"
    point = number("truncation", truncation, -math.inf, 0, ends="[]", remedy=remedy)
    if point != {"vs": -math.inf, "vs_plus": 0.0}.get(variant):
        raise ValueError(f"truncation={truncation!r} is not offered with variant={variant!r}; {remedy}")


def obstacles(
    scheme: Scheme,
    strength: float,
    *,
    variant: Variant,
    calibration: Calibration,
    neighbours: Neighbours,
    budget: Budget,
    lawful: bool,
    box: tuple[np.ndarray, np.ndarray],
    bounds: Bounds,
    true_bounds: Bounds | None,
    method: Method = "limit",
    retrieval: Retrieval = "none",
) -> list[Obstacle]:
    """Return what the proof does not cover in a release; nothing where it covers the exact minimiser.

    Parameters
    ----------
    scheme : Scheme
        With the floor Lambda0.
    strength : float
        Lambda.
    variant : {"erm", "vs", "vs_plus"}
    calibration : {"paper", "corrected", "tight"}
    neighbours : {"add_remove", "replace"}
    budget : Budget
    lawful : bool
        Whether `noise.calibrate` proves its law for objective perturbation, the variant aside.
    box : tuple of ndarray, shape (p,)
        Theta.
    bounds : Bounds
        Those that the noise is made for.
    true_bounds : Bounds, optional
        Those that hold on all records of the domain; None if there are none.
    method : {"limit", "literal"}
    retrieval : {"none", "return", "recycle"}

    Returns
    -------
    list of Obstacle
    """
    low, high = (f"{name}={np.unique(wall).tolist()}" for name, wall in zip(("low", "high"), box, strict=True))
    printed = calibration == "paper"
    found = []

    def when(condition, *words):
        if condition:
            found.append(Obstacle(*words))

    when(
        printed and not lawful and budget.delta == 0 and len(box[0]) > 1, "N1",
        "calibration='paper' with delta=0 draws a radius Gamma(1, .), whose density is infinite at b = 0",
        "calibration='corrected' or 'tight'",
    )  # fmt: skip
    when(
        printed and not lawful and neighbours == "replace", "K3",
        "calibration='paper' makes its noise for one record's gradient, and neighbours='replace' change two",
        "calibration='corrected' or 'tight', or neighbours='add_remove'",
    )  # fmt: skip
    when(
        printed and variant == "vs_plus", "N2",
        "variant='vs_plus' truncates b, and the support of theta then moves with the data",
        "calibration='corrected' or 'tight': two-sided b and a public lasso",
    )  # fmt: skip
    when(
        variant == "vs" and (printed or orthant(box) is None), "N3",
        f"variant='vs' lets the data choose the tilt's sign, but where Theta lies in one orthant ({low}, {high})",
        "calibration='corrected' or 'tight' with low >= 0 or high <= 0 in every coordinate; variant='erm' or 'vs_plus' "
        "anywhere",
    )  # fmt: skip
    least, least_needed = float(convexity(scheme, strength)), 2 * float(scheme.floor)
    flat = least < least_needed * (1 - _ROUNDING)
    when(
        flat and scheme.target == "bridge" and scheme.gamma > 1, "N17",
        f"gamma={scheme.gamma:g}: |theta|^(2 - gamma) is not convex",
        "gamma <= 1 with moor=False",
    )  # fmt: skip
    when(
        flat and not (scheme.target == "bridge" and scheme.gamma > 1), "N4",
        f"moor=True with penalty={scheme.target!r}, strength={strength:g}, kappa={scheme.kappa:g}: at the fixed point "
        f"the penalty's strong convexity is {least:g}, below 2 Lambda0 = {least_needed:g}",
        f"moor=False; penalty='ridge'; or 'elastic_net' with strength*kappa >= Lambda0 = {least_needed / 2:g}",
    )  # fmt: skip
    when(
        retrieval != "none" and scheme.target != "ridge", "N5",
        f"retrieval={retrieval!r} with penalty={scheme.target!r}: what is retrieved depends on the data and on b",
        "retrieval='none', or penalty='ridge', whose modulus is public",
    )  # fmt: skip
    when(
        method == "literal", "N8",
        "method='literal': a run with finitely many noise rows is not the minimiser that the theorem speaks of",
        "method='limit'",
    )  # fmt: skip
    covers = true_bounds is not None and (
        bounds.zeta12 >= true_bounds.zeta12 * (1 - _ROUNDING) and bounds.zeta3 >= true_bounds.zeta3 * (1 - _ROUNDING)
    )
    when(
        not covers, "N10, N11, N12",
        f"bounds (zeta1 zeta2={bounds.zeta12:g}, zeta3={bounds.zeta3:g}) do not hold for every record and theta of the "
        "declared domain",
        "leave bounds out and declare x_norm, y_bound and eta_bound (or low and high)",
    )  # fmt: skip
    return found
