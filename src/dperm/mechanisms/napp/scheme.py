r"""The weights of noise augmentation (li2021, Table 2 and Claim 2) and the penalty that they realise.

Iteration t of NAPP-ERM adds the quadratic sum_j w_j theta_j^2 to the sum of losses, w_j = n_e l''(0) V_j/2 (li2021,
Proposition 1). With Lambda the strength of the target, Lambda0 the floor and u = |theta_j| of the iteration before,

    target                  R(theta)              adaptive part A(u)    constant part B
    ridge                   theta^2               0                     Lambda
    lasso                   |theta|               Lambda/u              0
    bridge l_{2-gamma}      |theta|^{2-gamma}     Lambda u^{-gamma}     0
    elastic net             |theta|+kappa theta^2 Lambda/u              Lambda kappa

    MOOR (Table 2):    w = max{B, Lambda0} at t = 1,    w = max{A(u) + B, Lambda0} from t = 2 on,
    without (Claim 2): w = B + Lambda0 at t = 1,        w = A(u) + B + Lambda0 from t = 2 on; ridge takes the maximum.

A fixed point of the iteration is a stationary point of sum l + <tilt, theta> + sum_j P(theta_j) with the slope
P'(u) = 2 u w(u), where u is its own weight's point. So the penalty realised is

    MOOR:    P'(u) = 2 max{Lambda u^{1-gamma} + B u, Lambda0 u},
    without: P'(u) = 2 (Lambda u^{1-gamma} + B u + Lambda0 u),

a lasso with 2 Lambda, not Lambda, and a bridge with 2 Lambda/(2 - gamma) (erratum N6). `halved=True` repairs it: A(u)
times (2 - gamma)/2, so that P is Lambda R where MOOR's floor does not bind, and the floor's modulus 2 Lambda0 stays.

Each iteration's quadratic is 2 min_j w_j >= 2 Lambda0 strongly convex (Proposition 3); the penalty at the fixed point
is not: with MOOR, lasso has zero curvature on (0, Lambda/Lambda0) (erratum N4). `convexity` is what P has for all u.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dperm.domain import number, one_of

Target = Literal["ridge", "lasso", "bridge", "elastic_net"]


@dataclass(frozen=True)
class Scheme:
    """A row of Table 2, in the column of MOOR or of Claim 2.

    - floor: Lambda0, above 0: half the modulus that the noise calibration asks for. An array broadcasts against theta.
    - moor: maximum (Table 2) if True, sum (Claim 2: the existing DP-ERM, Eq 2) if False.
    - gamma: in [0, 2): the bridge's penalty is |theta|^(2 - gamma). Other targets leave it at 1.
    - kappa: in (0, 1): the elastic net's share of theta^2. Other targets leave it at 0.
    - halved: Erratum N6 mended: the target reached is Lambda R.
    """

    target: Target
    floor: float | np.ndarray
    moor: bool
    gamma: float = 1.0
    kappa: float = 0.0
    halved: bool = False

    def __post_init__(self):
        one_of("target", self.target, Target)
        if not np.all((np.asarray(self.floor) > 0) & np.isfinite(self.floor)):
            raise ValueError(f"floor={self.floor} must be finite and above 0: it is Lambda0, which bounds the Jacobian")
        if self.target == "bridge":
            number("gamma", self.gamma, 0, 2, ends="[)", remedy="the bridge penalty is |theta|^(2 - gamma)")
        elif self.gamma != 1:
            raise ValueError(f"gamma={self.gamma} belongs to the bridge; leave it out for {self.target!r}")
        if self.target == "elastic_net":
            number("kappa", self.kappa, 0, 1, remedy="it is the weight of theta^2 beside |theta|")
        elif self.kappa != 0:
            raise ValueError(f"kappa={self.kappa} belongs to the elastic net; leave it out for {self.target!r}")

    @property
    def maximal(self) -> bool:
        """Return whether floor and target share one weight by their maximum: with MOOR, and for ridge always."""
        return self.moor or self.target == "ridge"


def weights(scheme: Scheme, strength: float | np.ndarray, previous: np.ndarray | None) -> np.ndarray:
    """Return w_j = n_e l''(0) V_j/2, the weight of theta_j^2 in one iteration.

    - previous: theta of the iteration before; None for t = 1. Where it is exactly 0, the weight is infinite (gamma >
      0).
    - Returns: in units of the loss over theta squared.
    - Source: li2021, Table 2 (MOOR) and Claim 2 (without).
    """
    adaptive, constant = _parts(scheme, strength)
    if previous is not None:
        constant = constant + _power(adaptive, np.abs(previous), -scheme.gamma)
    return _floored(scheme, constant, scheme.floor)


def slope(scheme: Scheme, strength: float | np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return P'(u) = 2 u w(u) at u = |theta|, of the penalty at the fixed point; at u = 0 the limit from the right.

    - theta: any sign; doubles, or numpy.longdouble, in which the slope is then evaluated.
    - Returns: 0 or above; infinite at 0 for a bridge with gamma > 1.
    - Source: Erratum N6.
    """
    adaptive, constant = _parts(scheme, strength)
    u = _size(theta)
    return 2 * _floored(scheme, _power(adaptive, u, 1 - scheme.gamma) + constant * u, scheme.floor * u)


def penalty(scheme: Scheme, strength: float | np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the realised P(theta), elementwise (erratum N6); of lasso with MOOR twice the reversed Huber ("berHu")."""
    adaptive, constant = _parts(scheme, strength)
    u = _size(theta)
    power = 2 - scheme.gamma
    if not scheme.maximal:
        return 2 * adaptive * u**power / power + (constant + scheme.floor) * u**2
    # Up to the knee the target's part is the larger, beyond it the floor's.
    inner = np.minimum(u, knee(scheme, strength))
    return 2 * adaptive * inner**power / power + constant * inner**2 + scheme.floor * (u**2 - inner**2)


def curvature(scheme: Scheme, strength: float | np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return P''(u) (errata N4, N6), at 0 and MOOR's knee from the right: 0 of lasso, negative of bridge gamma > 1."""
    adaptive, constant = _parts(scheme, strength)
    u = _size(theta)
    below = 2 * (_power(adaptive * (1 - scheme.gamma), u, -scheme.gamma) + constant)
    if not scheme.maximal:
        return below + 2 * scheme.floor
    return np.where(u < knee(scheme, strength), below, 2 * scheme.floor)


def knee(scheme: Scheme, strength: float | np.ndarray) -> np.ndarray:
    """Return where MOOR's floor takes over, A(u) + B < Lambda0 beyond: in [0, inf]; Lambda/Lambda0 of lasso."""
    adaptive, constant = _parts(scheme, strength)
    adaptive, room = np.broadcast_arrays(adaptive, scheme.floor - constant)
    if scheme.gamma == 0:
        return np.where(adaptive >= room, math.inf, 0.0)
    with np.errstate(over="ignore", divide="ignore"):
        return np.where(room > 0, (adaptive / np.where(room > 0, room, 1.0)) ** (1 / scheme.gamma), math.inf)


def quadratic(scheme: Scheme, strength: float) -> tuple[float, float] | None:
    """Return a and c of a penalty P(u) = a u + c u^2; None of one of another form."""
    adaptive, constant = map(float, _parts(scheme, strength))
    if scheme.gamma not in (0, 1):
        return None
    if scheme.gamma == 0:  # A(u) does not vary: it is a part of B
        adaptive, constant = 0.0, adaptive + constant
    if not scheme.maximal:
        return 2 * adaptive, constant + scheme.floor
    if adaptive == 0:
        return 0.0, max(constant, scheme.floor)
    return (2 * adaptive, constant) if constant >= scheme.floor else None


def modulus(scheme: Scheme, strength: float | np.ndarray, previous: np.ndarray | None) -> np.ndarray:
    """Return 2 min_j w_j >= 2 Lambda0, the strong convexity of one iteration's quadratic (Proposition 3)."""
    each = weights(scheme, strength, previous)
    return 2 * (each.min(axis=-1) if np.ndim(each) else each)


def convexity(scheme: Scheme, strength: float | np.ndarray) -> np.ndarray:
    """Return the infimum of P'' over u > 0: the strong convexity of the penalty at the fixed point.

    - Returns: at least 2 Lambda0 without MOOR (gamma <= 1), for ridge, and for an elastic net with Lambda kappa >=
      Lambda0; 0 for lasso with MOOR; minus infinity for a bridge with gamma > 1.
    - Source: Erratum N4.
    """
    adaptive, constant = _parts(scheme, strength)
    if scheme.gamma == 0:  # A(u) does not vary: it is a part of B
        adaptive, constant = 0 * adaptive, adaptive + constant
    if scheme.maximal:
        # Up to the knee P'' = 2 ((1 - gamma) A(u) + B), least at the knee, where A = Lambda0 - B.
        share = np.where(adaptive > 0, 1 - scheme.gamma, 1.0)
        least = constant + share * np.maximum(scheme.floor - constant, 0)
    else:
        least = constant + scheme.floor
    return 2 * np.where((adaptive > 0) & (scheme.gamma > 1), -math.inf, least)


def _parts(scheme: Scheme, strength: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor of u^-gamma in A, and B."""
    strength = np.asarray(strength, float)
    if scheme.target == "ridge":
        return np.zeros_like(strength), strength
    share = (2 - scheme.gamma) / 2 if scheme.halved else 1.0
    return share * strength, scheme.kappa * strength


def _size(theta: np.ndarray) -> np.ndarray:
    """Return |theta|, in extended precision if theta is."""
    theta = np.asarray(theta)
    return np.abs(theta if theta.dtype == np.longdouble else theta.astype(float))


def _floored(scheme: Scheme, own: np.ndarray, floor: np.ndarray) -> np.ndarray:
    return np.maximum(own, floor) if scheme.maximal else own + floor


def _power(factor: np.ndarray, u: np.ndarray, exponent: float) -> np.ndarray:
    """Return factor u^exponent, 0 where the factor is (0 times infinity too)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(factor == 0, 0.0, factor * u**exponent)
