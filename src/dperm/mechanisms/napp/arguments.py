"""What NAPP-ERM's arguments may be, each by itself: Theta, the truncation point, numbers of rows, steps and rounds."""

import math
from types import MappingProxyType

import numpy as np

from dperm.domain import MOST, Calibration, integer, number
from dperm.errors import DomainViolation
from dperm.mechanisms.napp.noise import Variant

# The arguments that count something: least, whether even, and what they are.
_COUNTS = MappingProxyType(
    {
        "rows": (
            2,
            True,
            "it is n_e, the noise rows of method='literal', whose second half mirrors the first; 10000 is usual",
        ),
        "steps": (1, False, "it is T, the iterations; 80 is usual"),
        "rounds": (0, False, "it is how often retrieval='recycle' runs again; 1 is usual"),
    }
)


def box_of(low: float | np.ndarray, high: float | np.ndarray, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Theta = {low <= theta <= high}, low < high, coordinate by coordinate; a wall may be infinite."""
    walls = []
    for name, given in (("low", low), ("high", high)):
        try:
            wall = np.broadcast_to(np.asarray(given, float), (features,))
        except (TypeError, ValueError, OverflowError):
            raise DomainViolation(
                f"{name}={given!r} must be a number, or one for each of {features} features"
            ) from None
        if np.isnan(wall).any():
            raise DomainViolation(f"{name}={given!r} must hold no NaN; leave it out where theta is free")
        if (wall > MOST if name == "low" else wall < -MOST).any():
            raise DomainViolation(f"{name}={given!r}: a box that leaves out 0 must begin within {MOST:g} of it")
        walls.append(wall)
    if not (walls[0] < walls[1]).all():
        j = int(np.argmin(walls[0] < walls[1]))
        if walls[0][j] == walls[1][j]:
            raise DomainViolation(
                f"low={low!r} must be below high={high!r}: coordinate {j} is fixed at {walls[0][j]:g}, and nothing of "
                "it is learnt; leave that feature out of X (fixed at 0 it adds nothing), or set its low below its high"
            )
        raise DomainViolation(
            f"low={low!r} must be below high={high!r}: the box is empty in coordinate {j}; exchange the two there"
        )
    return walls[0], walls[1]


def truncation_of(truncation: float | None, variant: Variant, calibration: Calibration) -> None:
    """Refuse a truncation point c of Eqs 9 and 10 that the variant does not have; None is the variant's own."""
    if truncation is None:
        return
    remedy = "c is 0 for variant='vs_plus' and -inf for 'vs'; leave it out"
    point = number("truncation", truncation, -math.inf, 0, ends="[]", remedy=remedy)
    if point != {"vs": -math.inf, "vs_plus": 0.0}.get(variant):
        raise ValueError(f"truncation={truncation!r} is not offered with variant={variant!r}; {remedy}")
    if point == 0 and calibration != "paper":
        raise ValueError(
            f"truncation={truncation!r} with calibration={calibration!r}: its noise is two-sided, for a truncated law "
            "has no proof (erratum N2); leave truncation out, or take calibration='paper'"
        )


def counts_of(rows: int, steps: int, rounds: int, *, rows_name: str = "rows") -> None:
    """Refuse numbers of rows (n_e, even, 2 or more), steps (T, 1 or more) and rounds (0 or more) that are none."""
    for name, value in (("rows", rows), ("steps", steps), ("rounds", rounds)):
        least, even, remedy = _COUNTS[name]
        name = rows_name if name == "rows" else name
        if integer(name, value, least, remedy) % 2 and even:
            raise ValueError(f"{name}={value!r} must be an even integer, {least} or above; {remedy}")
