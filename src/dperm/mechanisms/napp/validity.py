"""Which forms of NAPP-ERM are proved, and what stands in the way of the others (docs/privacy.md, li2021's errata).

Proved is objective perturbation: a tilt <b, theta> of one of the laws of `noise`, bounds on the record's gradient and
curvature that hold wherever theta is searched, and a penalty that is 2 Lambda0 strongly convex whatever the data are.
Anything else is an `Obstacle`: calibration="paper" runs with it and promises nothing, the others refuse it.

Neighbours: add/remove, and replace-one where the noise is made for it.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dperm.domain import Budget, Calibration, Neighbours
from dperm.mechanisms.napp.noise import WHOLE, Bounds, Variant
from dperm.mechanisms.napp.scheme import Scheme, convexity

Method = Literal["limit", "literal"]
Retrieval = Literal["none", "return", "recycle"]
# Rounding, where a condition is met with equality.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Obstacle:
    """Something that the proof does not cover.

    - erratum: its number in docs/errata.md; empty if it is none of the paper's.
    - what: the parameter, its value, and why.
    - valid: what would be covered; of several obstacles all must be mended, in any of the ways they name.
    """

    erratum: str
    what: str
    valid: str

    def __str__(self):
        return joined([self])


def joined(found: list[Obstacle] | tuple[Obstacle, ...]) -> str:
    """Return one sentence for all obstacles (one at least): what they are, and then what mends all of them."""
    return f"{named(found)}; valid: {remedies(found)}"


def named(found: list[Obstacle] | tuple[Obstacle, ...]) -> str:
    """Return what stands in the way, with the errata (found: at least one)."""
    return "; ".join(each.what + (f" (erratum {each.erratum})" if each.erratum else "") for each in found)


def remedies(found: list[Obstacle] | tuple[Obstacle, ...]) -> str:
    """Return what is valid for all obstacles together (found: at least one)."""
    each = list(dict.fromkeys(obstacle.valid for obstacle in found))
    return each[0] if len(each) == 1 else "all of " + ", ".join(f"({k}) {way}" for k, way in enumerate(each, 1))


def orthant(box: tuple[np.ndarray, np.ndarray]) -> np.ndarray | None:
    """Return the signs of the orthant that holds a box: 1 where low >= 0, -1 where high <= 0; None if none does."""
    low, high = box
    return np.where(low >= 0, 1.0, -1.0) if ((low >= 0) | (high <= 0)).all() else None


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

    - lawful: whether the law that is released is proved for what is claimed (`noise.lawful`), the variant aside.
    - bounds: those that the noise is made for.
    - true_bounds: those that hold on all records of the domain; None if there are none.
    """
    low, high = (f"{name}={np.unique(wall).tolist()}" for name, wall in zip(("low", "high"), box, strict=True))
    printed = calibration == "paper"
    # `return` takes from what `corrected` leaves over; the others leave nothing.
    proved = "calibration='corrected'" + ("" if retrieval == "return" else " or 'tight'")
    covers = true_bounds is not None and (
        bounds.zeta12 >= true_bounds.zeta12 * (1 - _ROUNDING) and bounds.zeta3 >= true_bounds.zeta3 * (1 - _ROUNDING)
    )
    found = []

    def when(condition, *words):
        if condition:
            found.append(Obstacle(*words))

    when(
        printed and not lawful and budget.delta == 0 and len(box[0]) > 1, "N1",
        "calibration='paper' with delta=0 draws a radius Gamma(1, .), whose density is infinite at b = 0",
        proved,
    )  # fmt: skip
    when(
        printed and neighbours == "replace", "K3",
        "calibration='paper' makes its noise for one record's gradient, and neighbours='replace' change two",
        f"{proved}, or neighbours='add_remove'",
    )  # fmt: skip
    when(
        printed and variant == "vs_plus", "N2",
        "variant='vs_plus' truncates b, and the support of theta then moves with the data",
        f"{proved}: two-sided b and a public lasso",
    )  # fmt: skip
    when(
        variant == "vs" and (printed or orthant(box) is None), "N3",
        f"variant='vs' lets the data choose the tilt's sign, but where Theta lies in one orthant ({low}, {high})",
        f"{proved} with low >= 0 or high <= 0 in every coordinate, or with variant='vs_plus'; or variant='erm'"
        if printed
        else "low >= 0 or high <= 0 in every coordinate; or variant='erm' or 'vs_plus'",
    )  # fmt: skip
    if true_bounds is not None and not covers:
        # What would be left of this obstacle once the bounds hold.
        scheme = replace(scheme, floor=scheme.floor * true_bounds.zeta3 / bounds.zeta3)
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
        "moor=False; penalty='ridge'; or 'elastic_net' with strength*kappa >= Lambda0"
        # Without any that hold, Lambda0 is not known.
        + ("" if true_bounds is None else f" = {least_needed / 2:g}"),
    )  # fmt: skip
    when(
        retrieval != "none" and scheme.target != "ridge", "N5",
        f"retrieval={retrieval!r} with penalty={scheme.target!r}: what is retrieved depends on the data and on b",
        "retrieval='none', or penalty='ridge', whose modulus is public"
        + (", with retrieval='recycle'" if calibration in WHOLE else ""),
    )  # fmt: skip
    when(
        method == "literal", "N8",
        "method='literal': a run with finitely many noise rows is not the minimiser that the theorem speaks of",
        "method='limit'",
    )  # fmt: skip
    when(
        not covers, "N10, N11, N12",
        f"bounds (zeta1 zeta2={bounds.zeta12:g}, zeta3={bounds.zeta3:g}) do not hold for every record and theta of the "
        "declared domain",
        "leave bounds out and declare x_norm, y_bound and eta_bound (or low and high)",
    )  # fmt: skip
    when(
        not lawful and not found, "",
        f"the law of b is not known to hold epsilon={budget.epsilon:g}, delta={budget.delta:g} in double precision",
        "a larger delta, or a share nearer to 0.5",
    )  # fmt: skip
    return found


def runnable(scheme: Scheme, *, method: Method, retrieval: Retrieval, box: tuple[np.ndarray, np.ndarray]) -> None:
    """Refuse what cannot be run, proved or not."""
    if method == "literal" and not all(np.isinf(wall).all() for wall in box):
        raise ValueError(
            "method='literal' fits an unpenalised model over all of R^p; leave low and high out, or take method='limit'"
        )
    if retrieval != "recycle" or scheme.target == "ridge":
        return
    if not scheme.moor:
        raise ValueError(
            f"moor=False with penalty={scheme.target!r} and retrieval='recycle': without MOOR the floor is added, and "
            "Equation 15 takes the maximum; take moor=True, penalty='ridge', or retrieval='return' or 'none'"
        )
    if scheme.gamma not in (0, 1):
        raise ValueError(
            f"penalty={scheme.target!r}, gamma={scheme.gamma:g} with retrieval='recycle': each round is solved as a "
            "fixed point, which is offered for gamma=0 or 1 alone; take one of these, another penalty, or "
            "retrieval='return' or 'none'"
        )
