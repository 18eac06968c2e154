"""Theorem 4 of docs/privacy.md by brute force, from its statement alone: grids over the slope and over Z."""

import math

import numpy as np
from scipy import integrate

from dperm.accounting.gaussian import hockey_stick

SLOPES = np.linspace(0, 1, 2001)[1:]
_COARSE = np.linspace(-14, 14, 4001)


def _log_m(slopes, leverage):
    return np.log1p(slopes * (1 - slopes) * leverage)


def least_scale(R, *, epsilon, leverage, neighbours):
    """Return the least scale of gamma noise: every slope has to be within epsilon."""
    other = {"add_remove": 0.0, "replace": 1.0}[neighbours]
    return float((R * (other + SLOPES) / (epsilon - _log_m(SLOPES, leverage))).max())


def delta(a, *, epsilon, leverage, neighbours):
    """Return delta_1, or delta_1 + delta_2, of Gaussian noise; to one per cent in the tail."""
    once = float(hockey_stick(epsilon - _log_m(SLOPES, leverage), SLOPES * a).max())
    if neighbours == "add_remove":
        return once
    slopes = SLOPES[19::20]
    pull, log_m = (1 + slopes[:, None]) * a, _log_m(slopes, leverage)[:, None]

    def loss(z):
        return (pull * z + 0.5 * pull**2 + log_m).max(axis=0)

    # The loss rises with z; where it passes epsilon the integrand begins.
    start = _COARSE[max(0, int(np.argmax(loss(_COARSE) > epsilon)) - 1)]
    z = np.linspace(start, start + 20, 8001)
    lost = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * -np.expm1(np.minimum(0, epsilon - loss(z)))
    return once + float(integrate.trapezoid(lost, z))
