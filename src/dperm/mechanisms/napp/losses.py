r"""The losses of li2021, l(eta, y) with eta = <x, theta>, and their continuation beyond a public bound on eta.

    "squared"         (eta - y)^2/2
    "logistic"        log(1 + exp(-y eta)), y in {-1, +1}: log(1 + e^eta) - y' eta with y' = (y + 1)/2
    "poisson"         e^eta - y eta
    "smoothed_hinge"  with t = y eta: 0 for t > 1, (1 - t)^2/2 for 0 < t <= 1, 1/2 - t for t <= 0 (Section 6)

The kinks of the hinge's derivative lie at t = 0 and t = 1. So l'' jumps at eta = 0, from 0 to 1, where Section 3.2 asks
for continuity (erratum N17); augmented rows fall on either side of 0 alike and meet the mean of both, 1/2.

Squared and Poisson losses have no bounds on all of R. Beyond |eta| = eta_bound they may be continued linearly, which
keeps them convex and differentiable and makes |l'| <= sup_{|eta| <= eta_bound} |l'| hold for every theta (erratum N10).
"""

import functools
import math
from dataclasses import replace

import numpy as np

from dperm import losses
from dperm.domain import Domain, number
from dperm.errors import DomainViolation
from dperm.losses import Loss
from dperm.mechanisms.napp.noise import Bounds

# Half the distance of the hinge's kinks, and how far their middle lies from that of `losses.smoothed_hinge`.
_HALF = 0.5


def _smoothed_hinge() -> Loss:
    base = losses.smoothed_hinge(width=_HALF)
    return replace(
        base,
        value=lambda u, y: base.value(u + _HALF * y, y),
        derivative=lambda u, y: base.derivative(u + _HALF * y, y),
        second=lambda u, y: base.second(u + _HALF * y, y),
        second_within=lambda low, high, y: base.second_within(low + _HALF * y, high + _HALF * y, y),
    )


_LOSSES = {
    "squared": losses.squared,
    "logistic": losses.logistic,
    "poisson": losses.poisson,
    "smoothed_hinge": _smoothed_hinge,
}


def make(name: str, eta_bound: float = math.inf) -> Loss:
    """Return one of the paper's losses, continued linearly beyond |eta| = eta_bound (infinity: nowhere)."""
    if not (isinstance(name, str) and name in _LOSSES):
        raise ValueError(f"loss={name!r} is not one of {', '.join(map(repr, _LOSSES))}")
    remedy = "it is the public bound on |<x, theta>|, beyond which the loss goes on linearly"
    eta_bound = number("eta_bound", eta_bound, 0, math.inf, ends="(]", error=DomainViolation, remedy=remedy)
    return _continued(name, eta_bound)


@functools.lru_cache(maxsize=64)
def _continued(name: str, eta_bound: float) -> Loss:
    loss = _LOSSES[name]()
    if math.isinf(eta_bound):
        return loss

    def value(u, y):
        inside = np.clip(u, -eta_bound, eta_bound)
        return loss.value(inside, y) + loss.derivative(inside, y) * (u - inside)

    def second_within(low, high, y):
        inside = (np.clip(wall, -eta_bound, eta_bound) for wall in (low, high))
        return np.where((low <= eta_bound) & (high >= -eta_bound), loss.second_within(*inside, y), 0.0)

    return replace(
        loss,
        value=value,
        derivative=lambda u, y: loss.derivative(np.clip(u, -eta_bound, eta_bound), y),
        second=lambda u, y: np.where(np.abs(u) <= eta_bound, loss.second(np.clip(u, -eta_bound, eta_bound), y), 0.0),
        second_within=second_within,
        suprema=lambda domain: loss.suprema(
            replace(domain, theta_norm=min(domain.theta_norm, eta_bound / domain.x_norm))
        ),
        # No more of u - y alone: u has a scale of its own.
        unit=loss.unit or min(1.0, eta_bound),
    )


def bounds(loss: Loss, domain: Domain) -> Bounds:
    """Return (zeta1, zeta2, zeta3) of a loss on a domain (loss: as `make` made it: its continuation counts)."""
    slope, curvature = loss.suprema(domain)
    if not (math.isfinite(slope) and math.isfinite(curvature)):
        declared = f"y_bound={domain.y_bound}, eta up to {domain.margin_bound:g}"
        raise DomainViolation(
            f"loss={loss.name!r} has no bounded gradient here ({declared}): declare y_bound and eta_bound, beyond "
            "which the loss goes on linearly; a bounded low and high serve instead of eta_bound; or take 'logistic' or "
            "'smoothed_hinge'"
        )
    return Bounds(domain.x_norm, slope, domain.x_norm**2 * curvature)
