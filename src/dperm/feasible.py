r"""What may stand beside the loss: a convex regularizer r(theta) and a closed convex set F of parameters.

kifer2012 (Section 1.1.1, Algorithm 1) minimises sum_i l(<x_i, theta>, y_i) + r(theta) over F. Both are public. A
regularizer and a set are given by numbers where a fast solver serves them, and by a function of a cvxpy variable else:

    r(theta) = l1 ||theta||_1 + l2/2 ||theta||_2^2 + expression(theta),
    F = {||theta||_2 <= radius} and {low <= theta <= high} and {constraints(theta)}.

r is convex and l2-strongly so; it belongs to the SUM of losses, not to their mean. r need not be smooth and F need not
be all of R^p: the limit theorem of docs/privacy.md (kifer2012, Theorem 1) carries the guarantee over from smooth
regularizers on R^p that converge to them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.domain import LEAST, MOST, checked_field
from dperm.errors import DomainViolation

# Of the entries of theta; larger ones would overflow where they are squared.
_MOST = 1e100
# Of the logarithm of a number in [1e-300, 1], down to neighbouring doubles.
_HALVINGS = 70


@dataclass(frozen=True)
class Regularizer:
    """A convex regularizer of the sum of losses; nothing by default.

    Parameters
    ----------
    l1 : float
        Weight of ||theta||_1, in [0, inf); in units of the loss over theta.
    l2 : float
        gamma in [0, inf), the weight of ||theta||_2^2/2: the modulus of strong convexity that kifer2012 (Section 2.2)
        credits against Delta.
    expression : callable, optional
        Maps theta, a cvxpy Variable of shape (p,), to a scalar convex cvxpy expression. No strong convexity is credited
        for it. (Of `ObjectivePerturbation` with an intercept users state it for the coefficients alone.)

    Raises
    ------
    ValueError
        If a weight is not a number in its range.
    """

    l1: float = 0.0
    l2: float = 0.0
    expression: Callable[[Any], Any] | None = None

    def __post_init__(self):
        for name in ("l1", "l2"):
            checked_field(self, name, 0, _MOST, ends="[)", remedy="it is the weight of a norm; 0 leaves it out")


@dataclass(frozen=True)
class Region:
    """A closed convex set of parameters; all of R^p by default.

    Parameters
    ----------
    radius : float
        In [1e-30, 1e30], or infinite: ||theta||_2 <= radius.
    low, high : float
        low < high: bounds on every coordinate; low=0 is the orthant. low <= 1e30, high >= -1e30.
    constraints : callable, optional
        Maps theta, as for the regularizer, to a list of convex cvxpy constraints. The set's size is not looked at:
        declare a radius that holds (no smaller than the set) where the loss needs a bounded one.

    Raises
    ------
    DomainViolation
        If a bound is outside its range, or the box is empty.
    """

    radius: float = math.inf
    low: float = -math.inf
    high: float = math.inf
    constraints: Callable[[Any], list[Any]] | None = None

    def __post_init__(self):
        ball = "it is the radius of the feasible ball; leave it out where theta is free"
        if self.radius != math.inf:
            checked_field(self, "radius", LEAST, MOST, ends="[]", error=DomainViolation, remedy=ball)
        for name in ("low", "high"):
            checked_field(self, name, -math.inf, math.inf, ends="[]", error=DomainViolation)
        if self.low > MOST or self.high < -MOST:
            raise DomainViolation(
                f"low={self.low:g}, high={self.high:g}: a box that leaves out 0 must begin within {MOST:g} of it"
            )
        if not self.low < self.high:
            raise DomainViolation(f"low={self.low:g} must be below high={self.high:g}: the box is empty")
        if self.constraints is None and (self.low > 0 or self.high < 0) and math.isfinite(self.radius):
            raise DomainViolation(
                f"low={self.low:g}, high={self.high:g} leave out 0 and may miss the ball of radius={self.radius:g}; "
                "move the box, or give the set by constraints"
            )

    @property
    def boxed(self) -> bool:
        """Whether a coordinate is bounded by itself."""
        return self.low > -math.inf or self.high < math.inf

    @property
    def everywhere(self) -> bool:
        """Whether the set is all of R^p."""
        return not self.boxed and self.constraints is None and math.isinf(self.radius)

    def nearest(self, p: int) -> float:
        """Return the length of the point of the box that is nearest to 0.

        Parameters
        ----------
        p : int
            Number of features.

        Returns
        -------
        float
            0 where the box holds 0.
        """
        return math.sqrt(p) * max(self.low, -self.high, 0.0)

    def theta_norm(self, p: int) -> float:
        """Return a bound on ||theta||_2 over the set.

        Parameters
        ----------
        p : int
            Number of features.

        Returns
        -------
        float
            The radius or the corner of the box, whichever is smaller; may be infinite.
        """
        return min(self.radius, math.sqrt(p) * max(abs(self.low), abs(self.high)))


def project(theta: np.ndarray, region: Region) -> np.ndarray:
    """Return the nearest points of a set that is a ball, a box, or a box within a ball.

    Parameters
    ----------
    theta : ndarray, shape (..., p)
    region : Region
        Without constraints.

    Returns
    -------
    ndarray, shape (..., p)
        Within the box exactly, and within the ball up to rounding. Zeros stay 0 where the box holds 0.

    Raises
    ------
    ValueError
        If the set is of another kind.
    """
    if region.constraints is not None:
        raise ValueError("there is no closed form of the projection on this set; take a ball or a box")
    if math.isinf(region.radius):
        return np.clip(theta, region.low, region.high)
    norms = np.linalg.norm(theta, axis=-1, keepdims=True)
    share = region.radius / np.maximum(norms, region.radius)
    return _within_both(theta, share, region) if region.boxed else theta * share


def _within_both(theta: np.ndarray, share: np.ndarray, region: Region) -> np.ndarray:
    """Return the nearest points of a box within a ball: clip(s theta) with the largest s <= 1 that the ball allows.

    It minimises ||z - theta||^2/2 + mu ||z||^2/2 over the box, s = 1/(1 + mu), and its norm grows with s. `share` is
    the s that is enough without the box.
    """

    def clipped(s):
        return np.clip(s * theta, region.low, region.high)

    def allowed(s):
        return np.linalg.norm(clipped(s), axis=-1, keepdims=True) <= region.radius

    low, high = share, np.ones_like(share)
    low = np.where(allowed(high), high, low)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low) * np.sqrt(high)
        inside = allowed(middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return clipped(low)
