r"""What objective perturbation spends with the logistic loss: docs/privacy.md, section 3, Theorem 4.

The mechanism is that of `dperm.accounting.objective`, with l(u, y) = log(1 + e^{-yu}), y = +1 or -1, and ||x|| <= R.
One record's slope s = |l'| and curvature l'' are tied, l'' = s (1 - s): full force (s = 1) has no curvature, and most
curvature (s = 1/2) has half the force. So one record never has both at once. Throughout

    q = R^2/Delta                    `leverage`: bounds x^T H^{-1} x,
    m(s) = 1 + s (1 - s) q           the most by which one record of slope s raises the determinant,
    zeta = cap R                     the most that one record pulls with,

with cap = 1, or below 1 for a loss whose slope is cut off there: l' = -y min(cap, 1/(1 + e^{yu})), linear once the
slope is `cap`. `neighbours="add_remove"`: one of the data sets has one record more. `neighbours="replace"`: one record
differs; zeta and R are one record's in both cases. An unpenalised intercept (no Delta on it) voids q = R^2/Delta. The
bounds of Theorems 1 to 3, with the curvature bound lambda = R^2 max_{s <= cap} s (1 - s), are never below these.
"""

import functools
import math
from collections.abc import Callable

import numpy as np
from scipy import special

from dperm.accounting.gaussian import hockey_stick, largest_ratio
from dperm.domain import Neighbours, changed_gradients, number, one_of
from dperm.errors import InvalidBudget

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
# Panels that are short where an integral begins: the integrand rises there at a rate of a.
_PANELS = np.linspace(0, 1, 49) ** 3
_ULPS = 4 * np.finfo(float).eps
# The least share of epsilon that the curvature may leave.
_LEFT = 1e-9


def logistic_delta(a: float, *, epsilon: float, leverage: float, neighbours: Neighbours, cap: float = 1.0) -> float:
    r"""Return a delta for which objective perturbation with Gaussian b is (epsilon, delta)-DP, for the logistic loss.

    With A = R/sigma = a/cap, H the curve of one Gaussian release and Z standard normal it is

    ==========  ==========================================================================================
    add_remove  delta_1 = max_{s <= cap} H_{epsilon - log m(s)}(s A)
    replace     delta_1 + E[(1 - e^{epsilon - L(Z)})_+],
                L(Z) = max_{s <= cap} (cap + s) A Z + (cap + s)^2 A^2/2 + log m(s)
    ==========  ==========================================================================================

    Parameters
    ----------
    a : float
        zeta/sigma, 0 or above, finite.
    epsilon : float
        Above 0.
    leverage : float
        q = R^2/Delta, 0 or above.
    neighbours : {"add_remove", "replace"}
    cap : float
        Where the slope is cut off, in (0, 1]; 1 for the logistic loss itself.

    Returns
    -------
    float
        In [0, 1]; the trivial bound 1 where epsilon < log max m.

    Raises
    ------
    InvalidBudget
        If epsilon or leverage is outside its range.
    ValueError
        If `neighbours` is unknown, or a or cap is outside its range.

    References
    ----------
    docs/privacy.md, Theorem 4.
    """
    _check(epsilon, leverage, neighbours, cap)
    if not 0 <= a < math.inf:
        raise ValueError(f"a={a!r} must be finite and 0 or above: zeta/sigma with sigma above 0")
    # What is left of epsilon is a difference: where it is next to nothing, its rounding would be charged to nobody.
    if epsilon * (1 - _LEFT) < _log_det(leverage, cap):
        return 1.0
    if a == 0:
        return 0.0
    delta = _one_more(a / cap, epsilon, leverage, cap)
    if neighbours == "replace":
        delta += _against(a / cap, epsilon, leverage, cap)
    return min(1.0, delta)


def logistic_ratio(*, epsilon: float, delta: float, leverage: float, neighbours: Neighbours, cap: float = 1.0) -> float:
    """Return the largest a = zeta/sigma with `logistic_delta` at most delta, rounded down.

    Parameters
    ----------
    epsilon, leverage, neighbours, cap
        As for `logistic_delta`, with epsilon at least log max m.
    delta : float
        In [1e-300, 1).

    Returns
    -------
    float
        Draw b ~ N(0, (zeta/a)^2 I), with zeta = cap R for one record under either relation.

    Raises
    ------
    InvalidBudget
        If the curvature Delta is too small for epsilon, or a value is outside its range.
    """
    _check_curved(epsilon, leverage, neighbours, cap)
    return _ratio(float(epsilon), float(delta), float(leverage), neighbours, float(cap))


# A fit asks for the same budgets as the fit before it.
@functools.lru_cache(maxsize=1024)
def _ratio(epsilon: float, delta: float, leverage: float, neighbours: Neighbours, cap: float) -> float:
    fixed = {"epsilon": epsilon, "leverage": leverage, "neighbours": neighbours, "cap": cap}
    return largest_ratio(lambda a: logistic_delta(a, **fixed), epsilon=epsilon, delta=delta)


def logistic_gamma_epsilon(
    scale: float, zeta: float, *, leverage: float, neighbours: Neighbours, cap: float = 1.0
) -> float:
    r"""Return the epsilon that b with density proportional to exp(-||b||/scale) spends, for the logistic loss.

    With R = zeta/cap it is max_{s <= cap} s R/scale + log m(s) under add/remove, and zeta/scale more under replace-one.
    That is the supremum of the log-density ratio over all data with these bounds (under replace-one from p = 2 on).

    Parameters
    ----------
    scale : float
        Above 0, in the units of zeta.
    zeta : float
        cap R, above 0.
    leverage : float
        q = R^2/Delta, 0 or above.
    neighbours : {"add_remove", "replace"}
    cap : float
        Where the slope is cut off, in (0, 1].

    Raises
    ------
    InvalidBudget
        If leverage is outside its range.
    ValueError
        If scale, zeta or cap is outside its range, or `neighbours` is unknown.

    References
    ----------
    docs/privacy.md, Theorem 4.
    """
    _check(1.0, leverage, neighbours, cap)
    number("scale", scale, 0, math.inf)
    number("zeta", zeta, 0, math.inf)
    force = zeta / scale / cap
    slope = _falling(float(force), float(leverage), float(cap))
    return (_pull(neighbours, cap) + slope) * force + _log_m(slope, leverage)


@functools.lru_cache(maxsize=1024)
def _falling(force: float, leverage: float, cap: float) -> float:
    """Return the first slope from which on log m falls as fast as the force rises."""
    return _first(lambda s: _fall(s, leverage) >= force, cap)


def logistic_gamma_scale(
    zeta: float, *, epsilon: float, leverage: float, neighbours: Neighbours, cap: float = 1.0
) -> float:
    r"""Return the least scale of gamma noise for pure epsilon-DP with the logistic loss, rounded up.

    It is R max_{s <= cap} (k + s)/(epsilon - log m(s)) with k = 0 under add/remove and k = cap under replace-one. Under
    add/remove, with cap = 1 and Delta >= R^2/epsilon, that is zeta/epsilon: the determinant costs nothing.

    Parameters
    ----------
    zeta : float
        cap R, above 0.
    epsilon : float
        Above log max m.
    leverage : float
        q = R^2/Delta, 0 or above.
    neighbours : {"add_remove", "replace"}
    cap : float
        Where the slope is cut off, in (0, 1].

    Returns
    -------
    float
        Draw b with density proportional to exp(-||b||/scale).

    Raises
    ------
    InvalidBudget
        If the curvature Delta is too small for epsilon, or a value is outside its range.

    References
    ----------
    docs/privacy.md, Theorem 4.
    """
    _check_curved(epsilon, leverage, neighbours, cap)
    number("zeta", zeta, 0, math.inf)
    return _gamma_scale(float(epsilon), float(leverage), neighbours, float(cap)) * zeta / cap


@functools.lru_cache(maxsize=1024)
def _gamma_scale(epsilon: float, leverage: float, neighbours: Neighbours, cap: float) -> float:
    """Return the scale as a multiple of R."""
    k = _pull(neighbours, cap)
    slope = _first(lambda s: (k + s) * _fall(s, leverage) + _log_m(s, leverage) >= epsilon, cap)
    # A few units in the last place of epsilon, so that `logistic_gamma_epsilon` of the scale is at most epsilon.
    left = epsilon * (1 - _ULPS) - _log_m(slope, leverage)
    if left <= 0:
        raise InvalidBudget(_too_flat(epsilon, leverage, cap))
    return (k + slope) / left


def most_curved(cap: float) -> float:
    """Return max_{s <= cap} s (1 - s), the largest l'' of a record.

    Parameters
    ----------
    cap : float
        In (0, 1].
    """
    return 0.25 if cap >= 0.5 else cap * (1 - cap)


def _log_m(slope: float | np.ndarray, leverage: float) -> float | np.ndarray:
    return np.log1p(slope * (1 - slope) * leverage)


def _fall(slope: float | np.ndarray, leverage: float) -> float | np.ndarray:
    """-d log m/ds, which increases in s from 0 at s = 1/2 to q at s = 1."""
    return (2 * slope - 1) * leverage / (1 + slope * (1 - slope) * leverage)


def _log_det(leverage: float, cap: float) -> float:
    return math.log1p(leverage * most_curved(cap))


def _pull(neighbours: Neighbours, cap: float) -> float:
    """The slope of the record that leaves, at its worst: 0 where none does."""
    return (changed_gradients(neighbours) - 1) * cap


def _first(past: Callable[[float], bool], cap: float, low: float = 0.5) -> float:
    """Return the first slope between `low` and `cap` for which `past`, false and then true, is true; `cap` if none."""
    high = cap
    while high - low > 1e-16:
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        low, high = (low, middle) if past(middle) else (middle, high)
    return high


def _one_more(force: float, epsilon: float, leverage: float, cap: float) -> float:
    """max_s H_{epsilon - log m(s)}(s A): the derivative in s has the sign of A - (-d log m/ds) Mills(far)."""

    def falls(slope: float) -> bool:
        far = 0.5 * slope * force + (epsilon - _log_m(slope, leverage)) / (slope * force)
        mills = math.sqrt(math.pi / 2) * special.erfcx(far / math.sqrt(2))
        return _fall(slope, leverage) * mills >= force

    slope = _first(falls, cap)
    return float(hockey_stick(epsilon - _log_m(slope, leverage), slope * force))


def _against(force: float, epsilon: float, leverage: float, cap: float) -> float:
    """E[(1 - e^{epsilon - L(Z)})_+] for two records that pull in opposite directions, by Gauss-Legendre quadrature.

    L is the upper envelope of the lines (cap + s) A z + (cap + s)^2 A^2/2 + log m(s). It exceeds epsilon from
    z = start on. There the highest line is that of the slope s with A (z + (cap + s) A) = -d log m/ds, which increases
    in z up to the cap. So the integral is one over s as far as the cap, and one over z beyond.
    """

    def crossing(slope: float) -> bool:
        pull = cap + slope
        return pull * _fall(slope, leverage) + _log_m(slope, leverage) - 0.5 * (pull * force) ** 2 >= epsilon

    def turning(slope: float | np.ndarray) -> float | np.ndarray:
        return _fall(slope, leverage) / force - (cap + slope) * force

    first = _first(crossing, cap)
    pull = (cap + first) * force
    start = (epsilon - float(_log_m(first, leverage))) / pull - 0.5 * pull
    # The panels would miss the normal. The value is 1 to 1e-16 here, since the pull is 20 or more.
    if start < -10:
        return 1.0
    # Beyond `top` a normal has less than e^-80 of what it has beyond `start`.
    top = math.sqrt(max(start, 0.0) ** 2 + 160)
    total = float(special.ndtr(-top))
    if first < cap:
        last = _first(lambda slope: turning(slope) >= top, cap, low=first)
        slope, weight = _panels(first, last)
        v = slope * (1 - slope)
        steepness = 2 * leverage / (1 + v * leverage) + _fall(slope, leverage) ** 2
        total += _lost(turning(slope), slope, weight * (steepness / force - force), force, epsilon, leverage, cap)
    if (begin := max(start, turning(cap))) < top:
        z, weight = _panels(begin, top)
        total += _lost(z, np.full_like(z, cap), weight, force, epsilon, leverage, cap)
    return total


def _panels(low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    edges = low + (high - low) * _PANELS
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel()


def _lost(z, slope, weight, force: float, epsilon: float, leverage: float, cap: float) -> float:
    """Sum of weight phi(z) (1 - e^{epsilon - L})_+ with L the line of this slope."""
    pull = (cap + slope) * force
    loss = pull * z + 0.5 * pull**2 + _log_m(slope, leverage)
    normal = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    return float(np.sum(weight * normal * -np.expm1(np.minimum(0.0, epsilon - loss))))


def _check(epsilon: float, leverage: float, neighbours: Neighbours, cap: float) -> None:
    one_of("neighbours", neighbours, Neighbours)
    number("epsilon", epsilon, 0, math.inf, error=InvalidBudget)
    curved = "it is R^2/Delta: take a Delta above 0"
    number("leverage", leverage, 0, math.inf, ends="[)", error=InvalidBudget, remedy=curved)
    number("cap", cap, 0, 1, ends="(]", remedy="the logistic slope is never above 1")


def _check_curved(epsilon: float, leverage: float, neighbours: Neighbours, cap: float) -> None:
    _check(epsilon, leverage, neighbours, cap)
    if epsilon < _log_det(leverage, cap):
        raise InvalidBudget(_too_flat(epsilon, leverage, cap))


def _too_flat(epsilon: float, leverage: float, cap: float) -> str:
    least = most_curved(cap) / math.expm1(min(epsilon, 700.0))
    return (
        f"epsilon={epsilon:g} does not cover log(1 + lambda/Delta) = {_log_det(leverage, cap):g}, which the curvature "
        f"costs: raise Delta above {least:g} R^2, or raise epsilon"
    )
