r"""What objective perturbation spends: bounds proved in docs/privacy.md, section 3.

The mechanism releases the exact minimiser of

    sum_i l(<x_i, theta>, y_i) + r(theta) + Delta/2 ||theta||^2 + <b, theta>           (a sum, not a mean)

with l convex in its first argument (a GLM loss, erratum K1), ||x|| |l'| <= zeta and ||x||^2 l'' <= lambda for every
record and every theta, Delta > 0, and r convex; r and Delta do not depend on the data. Throughout

    log_det = C = log(1 + lambda/Delta),    e1 = epsilon - C,    a = zeta/sigma   (b Gaussian, sigma per coordinate).

`neighbours="add_remove"`: one of the data sets has one record more. `neighbours="replace"`: one record differs. In both
cases zeta bounds ONE record's gradient; the doubling for replace-one is done here.
"""

import functools
import math
from typing import NamedTuple

import numpy as np
from scipy import special

from dperm.accounting.gaussian import hockey_stick, largest_ratio
from dperm.domain import Neighbours, changed_gradients, number, one_of
from dperm.errors import InvalidBudget


class AddRemove(NamedTuple):
    """The two directions of add/remove.

    Parameters
    ----------
    adding : float or ndarray
        Bounds P_{D+d}(S) - e^epsilon P_D(S) over all sets S.
    removing : float or ndarray
        Bounds P_D(S) - e^epsilon P_{D+d}(S).
    """

    adding: float | np.ndarray
    removing: float | np.ndarray


def add_remove_deltas(a: float | np.ndarray, *, epsilon: float, log_det: float, one_sided: bool) -> AddRemove:
    r"""Return the bounds of both directions of add/remove for Gaussian b, given e1 >= 0.

    One sign of l' given y: H_{e1}(a) adding, H_epsilon(a) removing. Any sign: H_{e1}(a) adding (the monotonicity of
    <x, theta> in the noise saves the factor 2), removing 2 H_epsilon(a), and where epsilon < a^2/2 the sharper
    1 - 2 e^epsilon Phi(-a).

    Parameters
    ----------
    a : float or ndarray
        zeta/sigma, 0 or above, finite.
    epsilon : float
        At least `log_det`.
    log_det : float
        C = log(1 + lambda/Delta), 0 or above.
    one_sided : bool
        Whether l'(., y) keeps its sign for every y.

    Raises
    ------
    ValueError
        If epsilon - log_det is not finite, or a is negative or NaN. That it is 0 or above is left to the caller.

    References
    ----------
    docs/privacy.md, Theorem 1 (sharpens kifer2012, Theorem 2; errata K1, K2).
    """
    a = np.asarray(a, float)
    adding = hockey_stick(epsilon - log_det, a)
    if one_sided:
        return AddRemove(adding, hockey_stick(epsilon, a))
    # Where the exponent is above 0 the other form holds.
    body = -np.expm1(np.minimum(math.log(2) + epsilon + special.log_ndtr(-a), 1.0))
    removing = np.where(epsilon < 0.5 * a**2, body, np.minimum(1.0, 2 * hockey_stick(epsilon, a)))
    return AddRemove(adding, removing[()])


def objective_delta(
    a: float | np.ndarray, *, epsilon: float, log_det: float, one_sided: bool, neighbours: Neighbours
) -> float | np.ndarray:
    r"""Return a delta for which objective perturbation with Gaussian b is (epsilon, delta)-DP.

    ==========  ==================================  =====================================
    neighbours  one sign of l' given y              any sign
    ==========  ==================================  =====================================
    add_remove  H_{e1}(a)                           max{H_{e1}(a), 2 H_epsilon(a)}
    replace     H_{e1}(2a) + 2 H_{e1}(a)            2 [H_{e1}(2a) + H_{e1}(sqrt(2) a)]
    ==========  ==================================  =====================================

    with 2 H_epsilon(a) replaced by the sharper 1 - 2 e^epsilon Phi(-a) where epsilon < a^2/2.

    Parameters
    ----------
    a : float or ndarray
        zeta/sigma, 0 or above, finite.
    epsilon : float
        Above 0.
    log_det : float
        C = log(1 + lambda/Delta), 0 or above.
    one_sided : bool
        Whether l'(., y) keeps its sign for every y (logistic and hinge-like losses).
    neighbours : {"add_remove", "replace"}

    Returns
    -------
    float or ndarray
        In [0, 1]; the trivial bound 1 where epsilon < log_det, for there the theorems say nothing.

    Raises
    ------
    InvalidBudget
        If epsilon or log_det is outside its range.
    ValueError
        If `neighbours` is unknown or a is negative or not finite.

    References
    ----------
    docs/privacy.md, Theorems 1 and 2; kifer2012, Theorem 2; errata K1, K2, K3.
    """
    _check(epsilon, log_det, neighbours)
    a = np.asarray(a, float)
    if not np.isfinite(a).all():
        raise ValueError(f"a={a[~np.isfinite(a)].flat[0]} must be finite: zeta/sigma with sigma above 0")
    rest = epsilon - log_det
    if rest < 0:
        return np.ones_like(a)[()]
    if neighbours == "add_remove":
        return np.maximum(*add_remove_deltas(a, epsilon=epsilon, log_det=log_det, one_sided=one_sided))
    if one_sided:
        bound = hockey_stick(rest, 2 * a) + 2 * hockey_stick(rest, a)
    else:
        bound = 2 * (hockey_stick(rest, 2 * a) + hockey_stick(rest, math.sqrt(2) * a))
    return np.minimum(1.0, bound)


def objective_ratio(*, epsilon: float, delta: float, log_det: float, one_sided: bool, neighbours: Neighbours) -> float:
    """Return the largest a = zeta/sigma with `objective_delta` at most delta, rounded down.

    Parameters
    ----------
    epsilon, log_det, one_sided, neighbours
        As for `objective_delta`, with log_det <= epsilon.
    delta : float
        In [1e-300, 1).

    Returns
    -------
    float
        Draw b ~ N(0, (zeta/a)^2 I), with zeta for one record under either relation.

    Raises
    ------
    InvalidBudget
        If the curvature is too small for epsilon (epsilon < log_det) or a value is outside its range.

    References
    ----------
    docs/privacy.md, Theorems 1 and 2.
    """
    _check(epsilon, log_det, neighbours)
    if epsilon < log_det:
        raise InvalidBudget(_too_flat(epsilon, log_det))
    return _ratio(float(epsilon), float(delta), float(log_det), bool(one_sided), neighbours)


@functools.lru_cache
def _ratio(epsilon: float, delta: float, log_det: float, one_sided: bool, neighbours: Neighbours) -> float:
    """Return `objective_ratio`: a search, which the next fit with the same budget need not repeat."""
    fixed = {"epsilon": epsilon, "log_det": log_det, "one_sided": one_sided, "neighbours": neighbours}
    return largest_ratio(lambda a: objective_delta(a, **fixed), epsilon=epsilon, delta=delta, arrays=True)


def gamma_epsilon(scale: float, zeta: float, *, log_det: float, neighbours: Neighbours) -> float:
    r"""Return the epsilon that b with density proportional to exp(-||b||/scale) spends: k zeta/scale + C.

    k = 1 under add/remove, 2 under replace-one. It is the supremum of the log-density ratio over all data with these
    bounds: a Huber loss attains it.

    Parameters
    ----------
    scale : float
        Above 0, in the units of zeta.
    zeta : float
        Bound on one record's gradient norm, above 0.
    log_det : float
        C = log(1 + lambda/Delta), 0 or above.
    neighbours : {"add_remove", "replace"}

    Raises
    ------
    InvalidBudget
        If log_det, or ValueError if scale or zeta, is outside its range.

    References
    ----------
    docs/privacy.md, Theorem 3; Chaudhuri, Monteleoni & Sarwate 2011, Theorem 9; errata K2, K3.
    """
    _check(1.0, log_det, neighbours)
    number("scale", scale, 0, math.inf)
    number("zeta", zeta, 0, math.inf)
    return changed_gradients(neighbours) * zeta / scale + log_det


def gamma_scale(zeta: float, *, epsilon: float, log_det: float, neighbours: Neighbours) -> float:
    r"""Return the least scale of gamma noise for pure epsilon-DP: k zeta/(epsilon - C), rounded up.

    Parameters
    ----------
    zeta : float
        Bound on one record's gradient norm, above 0.
    epsilon : float
        Above `log_det`.
    log_det : float
        C = log(1 + lambda/Delta), 0 or above.
    neighbours : {"add_remove", "replace"}
        k = 1 or 2.

    Returns
    -------
    float
        Draw b with density proportional to exp(-||b||/scale).

    Raises
    ------
    InvalidBudget
        If the curvature is too small for epsilon (epsilon <= log_det), or a value is outside its range.

    References
    ----------
    docs/privacy.md, Theorem 3.
    """
    _check(epsilon, log_det, neighbours)
    number("zeta", zeta, 0, math.inf)
    if epsilon <= log_det:
        raise InvalidBudget(_too_flat(epsilon, log_det))
    # Upwards by a few units in the last place, so that `gamma_epsilon` of it is at most epsilon.
    return changed_gradients(neighbours) * zeta / (epsilon - log_det) * (1 + 4 * np.finfo(float).eps)


def _check(epsilon: float, log_det: float, neighbours: Neighbours) -> None:
    one_of("neighbours", neighbours, Neighbours)
    number("epsilon", epsilon, 0, math.inf, error=InvalidBudget)
    curved = "it is log(1 + lambda/Delta): take a loss with bounded curvature lambda and a curvature Delta above 0"
    number("log_det", log_det, 0, math.inf, ends="[)", error=InvalidBudget, remedy=curved)


def _too_flat(epsilon: float, log_det: float) -> str:
    """Name the least curvature: log(1 + lambda/Delta) < epsilon means Delta > lambda/(e^epsilon - 1)."""
    # Past 700 a double overflows; no such curvature is meant seriously.
    per_lambda = 1 / math.expm1(min(epsilon, 700.0))
    growth = math.expm1(min(log_det, 700.0)) * per_lambda
    return (
        f"epsilon={epsilon:g} does not cover log(1 + lambda/Delta) = {log_det:g}, which the curvature costs: "
        f"raise the curvature Delta above lambda/(e^epsilon - 1) = {per_lambda:g} lambda "
        f"({growth:.4g} times the present one), or raise epsilon"
    )
