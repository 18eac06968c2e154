r"""Noise that may be released: integers on a public grid, drawn from the operating system.

Noise drawn as a double and added in doubles does not have the law that a proof speaks of (Mironov 2012; the raw audit
of docs/audit.md catches it). Here nothing random is ever a double.

**Vectors.** Let u in R^p have the l2 sensitivity S under the caller's neighbouring relation. With a public step g, a
power of two, and a public B, release

    g (k + Z),    k = clip(round(u/g), -B, B) coordinate by coordinate, Z integer noise.

Rounding moves a point by at most sqrt(p)/2 in units of g, and clipping to a box is a projection onto a convex set, so
it takes no two points apart: k has the l2 sensitivity D = S/g + sqrt(p) and, by Cauchy and Schwarz, the l1 sensitivity
sqrt(p) D. u/g and g k are exact in doubles (a change of exponent), and so is rounding. The noise comes from OpenDP,
whose privacy maps are rounded outwards:

    delta = 0   discrete Laplace, P(z) ~ e^{-|z|/s} on every coordinate, s >= sqrt(p) D/epsilon. (A spherical law has no
                integer form there; this one is longer by a factor sqrt(2p/(p + 1)) in the root mean square.)
    delta > 0   discrete Gaussian, (D^2/(2 sigma^2))-zCDP (Canonne, Kamath & Steinke 2020), sigma the least whose
                conversion to (epsilon, delta) holds.

**Bits.** A bit with P(1) = e^x/(1 + e^x), x rational, by integer arithmetic alone (Canonne, Kamath & Steinke 2020,
Algorithm 1): no logarithm, no exponential, no double.
"""

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from dperm.domain import Budget
from dperm.errors import InvalidBudget, ReleaseError

# The step is the largest power of two below this share of the sensitivity: rounding adds sqrt(p) thousandths to it.
FINENESS = 2.0**-10
# B, in steps: a billion sensitivities. Reached by no minimiser in use; where it is, clipping is still private.
FARTHEST = 2**40
# Largest scale of the noise, in steps: 64-bit integers hold any noise of it.
LARGEST_SCALE = 2.0**50
# The scale is searched to this share of itself.
_STEP_UP = 1e-6


@dataclass(frozen=True)
class GridRelease:
    """What `add_noise` returns.

    Parameters
    ----------
    values : ndarray
        Multiples of `step`.
    step : float
        g, a power of two.
    scale : float
        Of the integer noise, in steps.
    rho : float or None
        Of the zCDP that the discrete Gaussian satisfies; None for Laplace noise.
    """

    values: np.ndarray
    step: float
    scale: float
    rho: float | None


def add_noise(vectors: np.ndarray, *, sensitivity: float, budget: Budget) -> GridRelease:
    """Release vectors, each for the whole budget, with integer noise from the operating system.

    Parameters
    ----------
    vectors : ndarray, shape (repeats, p)
    sensitivity : float
        S, an upper bound of the l2 sensitivity of one row under the caller's neighbouring relation; in [1e-200, 1e200].
    budget : Budget

    Returns
    -------
    GridRelease

    Raises
    ------
    ReleaseError
        If OpenDP is not installed.
    InvalidBudget
        If the budget needs noise that 64-bit integers cannot hold, or none serves it.
    """
    dp = _opendp()
    step = 2.0 ** math.floor(math.log2(sensitivity * FINENESS))
    p = vectors.shape[1]
    reach = _up(_up(sensitivity / step) + _up(math.sqrt(p)))
    if budget.delta == 0:
        scale, noise = _laplace(dp, _up(_up(math.sqrt(p)) * reach), budget)
        rho = None
    else:
        scale, noise, rho = _gaussian(dp, reach, budget)
    # Exact: dividing by a power of two changes the exponent alone. What is no number lies at 0: a point of the box too.
    with np.errstate(over="ignore"):
        whole = np.nan_to_num(np.rint(vectors / step), nan=0.0, posinf=FARTHEST, neginf=-FARTHEST)
    whole = np.clip(whole, -FARTHEST, FARTHEST).astype(np.int64)
    noisy = np.array(noise(whole.ravel().tolist()), dtype=np.int64).reshape(vectors.shape)
    return GridRelease(noisy * step, step, scale, rho)


def available() -> None:
    """Make sure that OpenDP is there, before anything is computed for it.

    Raises
    ------
    ReleaseError
        If it is not installed.
    """
    _opendp()


def _up(value: float) -> float:
    """Return the next larger double: of a result rounded to nearest it is an upper bound."""
    return math.nextafter(value, math.inf)


def _laplace(dp: Any, reach: float, budget: Budget) -> tuple[float, Any]:
    """Return the scale and OpenDP's measurement of integer vectors with this l1 sensitivity."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="f64")

    def make(scale):
        return dp.m.make_laplace(*space, scale=scale)

    scale = _checked(reach / budget.epsilon, budget)
    while make(scale).map(reach) > budget.epsilon:
        scale = _checked(scale * (1 + _STEP_UP), budget)
    return scale, make(scale)


def _gaussian(dp: Any, reach: float, budget: Budget) -> tuple[float, Any, float]:
    """Return the scale, OpenDP's measurement of integer vectors with this l2 sensitivity, and its rho."""
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")

    def make(scale):
        return dp.m.make_gaussian(*space, scale=scale)

    def spends(scale):
        try:
            return dp.c.make_zCDP_to_approxDP(make(scale)).map(reach).epsilon(budget.delta)
        except dp.OpenDPException:  # its conversion overflows for tiny scales: nothing is certified there
            return math.inf

    low, high = reach, reach
    while spends(high) > budget.epsilon:
        high = _checked(2 * high, budget)
    while spends(low) <= budget.epsilon:
        low /= 2
    while high > low * (1 + _STEP_UP):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spends(middle) <= budget.epsilon else (middle, high)
    noise = make(high)
    return high, noise, noise.map(reach)


def _checked(scale: float, budget: Budget) -> float:
    if not scale <= LARGEST_SCALE:
        raise InvalidBudget(
            f"epsilon={budget.epsilon:g}, delta={budget.delta:g} need integer noise of scale {scale:g}, more than "
            "64-bit integers hold; raise epsilon (usual values are 0.1 to 10)"
        )
    return scale


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise ReleaseError(
            "release=True needs OpenDP for its integer noise, which is not installed: pip install 'dperm[release]'"
        ) from error
    # OpenDP's name for constructors that its own committee has not vetted yet; both noises used here are among them.
    dp.enable_features("contrib")
    return dp


class Randomness(Protocol):
    """Where bits come from: `secrets` by default."""

    def randbelow(self, upper: int) -> int:
        """Return a uniform integer in [0, upper).

        Parameters
        ----------
        upper : int

        Returns
        -------
        int
        """


def bernoulli(probability: Fraction, source: Randomness = secrets) -> bool:
    """Return True with this probability, exactly.

    Parameters
    ----------
    probability : Fraction
        In [0, 1].
    source : Randomness
        The operating system's by default.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If it is no fraction of the range: a double is not what it seems.
    """
    _fraction("probability", probability)
    if not 0 <= probability <= 1:
        raise ValueError(f"probability={probability} must be in [0, 1]")
    return source.randbelow(probability.denominator) < probability.numerator


def bernoulli_exp(x: Fraction, source: Randomness = secrets) -> bool:
    r"""Return True with probability e^{-x}, exactly (Canonne, Kamath & Steinke 2020, Algorithm 1).

    For x <= 1: draw bits with P(1) = x/1, x/2, x/3, ... until the first 0, at the K-th; P(K > k) = x^k/k!, so
    P(K odd) = 1 - x + x^2/2 - ... = e^{-x}. For x > 1: e^{-1} as often as x holds 1, then the rest.

    Parameters
    ----------
    x : Fraction
        0 or above.
    source : Randomness

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If x is negative or no fraction.
    """
    _fraction("x", x)
    if x < 0:
        raise ValueError(f"x={x} must be 0 or above")
    whole, rest = divmod(x, 1)
    return all(_short(Fraction(1), source) for _ in range(whole)) and _short(rest, source)


def _short(x: Fraction, source: Randomness) -> bool:
    k = 1
    while bernoulli(x / k, source):
        k += 1
    return k % 2 == 1


def logistic_bit(x: Fraction, source: Randomness = secrets) -> bool:
    r"""Return True with probability e^x/(1 + e^x), exactly.

    For x >= 0 the odds of False are e^{-x}: propose True or False by a fair coin; take True as it is and False with
    probability e^{-x}; propose again if it was not taken.

    Parameters
    ----------
    x : Fraction
        Log-odds; such as epsilon v/2 of a soft majority vote (dwork2018, Theorem 4.1).
    source : Randomness

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If x is no fraction.
    """
    _fraction("x", x)
    while True:
        likelier = source.randbelow(2) == 1
        if likelier or bernoulli_exp(abs(x), source):
            return likelier == (x >= 0)


def _fraction(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Fraction | int):
        raise ValueError(f"{name}={value!r} must be a Fraction or an int: a double is not the number that it shows")
