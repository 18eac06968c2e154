r"""The privacy curve of one Gaussian release: the hockey-stick divergence of two unit Gaussians a distance a apart.

    H_eps(a) = Phi(a/2 - eps/a) - e^eps Phi(-a/2 - eps/a),       a = sensitivity / sigma

(Balle & Wang 2018, Theorem 8; Phi the standard normal distribution function). Neighbouring relation: whichever the
sensitivity was computed for.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy import special

from dperm.errors import InvalidBudget

# Below this a double cannot hold the tail of a Gaussian any more.
SMALLEST_DELTA = 1e-300
# In the tail d log H / d log a >= 1, so this step down in `a` covers a relative error in H of its size.
_STEP_DOWN = 1e-9
# So many halvings of `largest_ratio` are looked at in one call of the curve: it costs little more than one of them.
_AT_ONCE = 5


def hockey_stick(epsilon: float | np.ndarray, a: float | np.ndarray) -> float | np.ndarray:
    r"""Return H_eps(a) = sup_S P(S) - e^eps Q(S) for P = N(a, 1), Q = N(0, 1).

    Parameters
    ----------
    epsilon : float or ndarray
        Any real number; for negative ones H_eps(a) = 1 - e^eps + e^eps H_{-eps}(a).
    a : float or ndarray
        Sensitivity over sigma, in [0, inf]; broadcasts with `epsilon`.

    Returns
    -------
    float or ndarray
        In [0, 1]. The relative error is below 1e-10 for |epsilon| <= 1e3 and values above 1e-300.

    Raises
    ------
    ValueError
        If epsilon is not finite, or a is negative or NaN.

    References
    ----------
    Balle & Wang 2018, Theorem 8; docs/privacy.md, section 2.
    """
    epsilon, a = np.broadcast_arrays(np.asarray(epsilon, float), np.asarray(a, float))
    if not np.isfinite(epsilon).all():
        raise ValueError(f"epsilon={_first(epsilon, ~np.isfinite(epsilon))} must be finite")
    if not (a >= 0).all():
        raise ValueError(f"a={_first(a, ~(a >= 0))} must be a ratio sensitivity/sigma, 0 or above")
    size = np.abs(epsilon)
    inner = (a > 0) & np.isfinite(a)
    # Far tails round to 0 on purpose; log(0) is the curve at epsilon = 0.
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        curve = np.where(inner, _curve(size, np.where(inner, a, 1.0)), (a > 0).astype(float))
        value = np.where(epsilon < 0, -np.expm1(-size) + np.exp(-size) * curve, curve)
    return np.clip(value, 0.0, 1.0)[()]


def _first(values: np.ndarray, wrong: np.ndarray) -> float:
    return float(values[wrong].flat[0])


def _curve(epsilon: np.ndarray, a: np.ndarray) -> np.ndarray:
    """H for epsilon >= 0 and 0 < a < inf, in the form that does not cancel on either side of epsilon = a^2/2."""
    near, far = 0.5 * a - epsilon / a, 0.5 * a + epsilon / a
    # Tail: e^eps phi(far) = phi(near), so H = phi(near) (R(x) - R(x + a)) with x = -near and R = Mills' ratio.
    # Past 50 phi is 0 in a double, and x R(x) is not.
    tail = np.exp(-0.5 * near**2) / math.sqrt(2 * math.pi) * _mills_drop(np.clip(-near, 0, 50), a)
    # Body: Phi(near) - Phi(-far) is a sum of two positive terms, and e^eps - 1 carries the rest.
    body = 0.5 * (special.erf(np.maximum(near, 0) / math.sqrt(2)) + special.erf(far / math.sqrt(2)))
    body = body - np.exp(epsilon + np.log(-np.expm1(-epsilon)) + special.log_ndtr(-far))
    return np.where(near <= 0, tail, body)


def _mills_drop(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return R(x) - R(x + a) for Mills' ratio R(x) = Phi(-x)/phi(x), x >= 0; for small a without cancellation."""
    node = 0.5 * a / math.sqrt(3)  # Two-point Gauss-Legendre integration of -R'(x) = 1 - x R(x)
    middle = x + 0.5 * a
    slopes = sum(1 - t * _mills(t) for t in (middle - node, middle + node))
    return np.where(a < 1e-2, 0.5 * a * slopes, _mills(x) - _mills(x + a))


def _mills(x: np.ndarray) -> np.ndarray:
    return math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2))


def largest_ratio(curve: Callable, *, epsilon: float, delta: float, arrays: bool = False) -> float:
    """Return the largest a with curve(a) <= delta, rounded down.

    Parameters
    ----------
    curve : callable
        A non-decreasing delta as a function of a with H_epsilon(a) <= curve(a) <= 4 a.
    epsilon : float
        0 or above, for the bracket only.
    delta : float
        In [1e-300, 1).
    arrays : bool
        Whether the curve takes an array of a too: the same result is found sooner.

    Returns
    -------
    float
        Within 2e-9 (relative) below the exact root, so that rounding in `curve` does not make it too large (for delta
        up to 0.999).

    Raises
    ------
    InvalidBudget
        If delta is outside its range.
    """
    if not SMALLEST_DELTA <= delta < 1:
        raise InvalidBudget(
            f"delta={delta!r} must be in [{SMALLEST_DELTA:g}, 1) for Gaussian noise; "
            "delta=0 needs spherical Laplace (gamma) noise"
        )
    # curve(low) <= delta by the upper bound; at `high` H is 1 to the last digit of a double.
    low, high = delta / 4, math.sqrt(2 * epsilon) + 20
    while high > low * (1 + 1e-9):
        if not arrays:
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (middle, high) if curve(middle) <= delta else (low, middle)
            continue
        # All the middles that the next halvings can come to.
        ends = np.array([low, high])
        for _ in range(_AT_ONCE):
            finer = np.empty(2 * len(ends) - 1)
            finer[::2], finer[1::2] = ends, np.sqrt(ends[:-1]) * np.sqrt(ends[1:])
            ends = finer
        enough = curve(ends[1:-1]) <= delta
        left, right = 0, len(ends) - 1
        while right > left + 1 and ends[right] > ends[left] * (1 + 1e-9):
            middle = (left + right) // 2
            left, right = (middle, right) if enough[middle - 1] else (left, middle)
        low, high = float(ends[left]), float(ends[right])
    return low * (1 - _STEP_DOWN)


def gaussian_ratio(epsilon: float, delta: float) -> float:
    """Return the largest a = sensitivity/sigma for which Gaussian noise is (epsilon, delta)-DP, rounded down.

    Parameters
    ----------
    epsilon : float
        0 or above, finite.
    delta : float
        In [1e-300, 1).

    Returns
    -------
    float
        Take sigma = sensitivity / a, with the sensitivity (l2) of the neighbouring relation that is meant.

    Raises
    ------
    InvalidBudget
        If epsilon or delta is outside its range.

    References
    ----------
    Balle & Wang 2018, Algorithm 1 (the analytic Gaussian mechanism).
    """
    if not 0 <= epsilon < math.inf:
        raise InvalidBudget(f"epsilon={epsilon!r} must be a finite number, 0 or above")
    return _ratio(epsilon, delta)


# A fit asks for the same budgets as the fit before it.
@functools.lru_cache(maxsize=256)
def _ratio(epsilon: float, delta: float) -> float:
    return largest_ratio(lambda a: hockey_stick(epsilon, a), epsilon=epsilon, delta=delta, arrays=True)
