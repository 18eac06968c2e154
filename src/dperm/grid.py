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

**Bits.** Let k bits of a uniform real number be the integer u: it lies in [u, u + 1)/2^k. If low <= 2^k p <= high, the
number is below p where u < low, and not below it where u >= high; in between 64 more bits are drawn and p is enclosed
more narrowly. So a bit has the probability p exactly, however small p or 1 - p: nothing is rounded, and after the first
64 bits some 2^-62 of all draws are undecided. p is a function of e^{-x}, x rational, which integers enclose: with
y = x/2^h < 1/2, the terms of e^{-y} = 1 - y + y^2/2 - ... are rounded down, and the ends hold all that this loses;
squaring h times gives e^{-x}. No logarithm, no double. (As exact as Algorithm 1 of Canonne, Kamath & Steinke 2020, in
which the number of draws depends on x.) One of k outcomes is drawn by the same number: it is how many of the k - 1
probabilities of "this one or a later one" the number lies below; of two outcomes that is a bit.

Of many bits the first look is at 32 bits and an enclosure of 2^32 p in 64-bit integers, whole arrays at a time: what
lies outside is decided, as it would be by more bits, and only the rest is enclosed more narrowly.
"""

import functools
import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

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
# Random bits at a time, for one bit, and those of the first look at many.
_WORD, _LOOK = 64, 32
# Of the fast e^{-x}: it is squared so many times, and of its series so many terms are above 0 (13! > 2^32).
_SQUARINGS, _TERMS = 5, 13
Bits = Callable[[int], int]


@dataclass(frozen=True)
class GridRelease:
    """What `add_noise` returns: multiples of the step g, a power of two; the scale of the integer noise is in steps.

    `rho` is of the zCDP that the discrete Gaussian satisfies; None for Laplace noise.
    """

    values: np.ndarray
    step: float
    scale: float
    rho: float | None


def add_noise(vectors: np.ndarray, *, sensitivity: float, budget: Budget) -> GridRelease:
    """Release vectors, each for the whole budget, with integer noise from the operating system.

    `sensitivity` S, in [1e-200, 1e200], is an upper bound of the l2 sensitivity of one row under the caller's
    neighbouring relation. ReleaseError if OpenDP is not installed; InvalidBudget if the budget needs noise that
    64-bit integers cannot hold, or none serves it.
    """
    dp = load_opendp()
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
    """Make sure that OpenDP is there, before anything is computed for it; else ReleaseError."""
    load_opendp()


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
    scale = _gaussian_scale(dp, reach, budget)
    noise = _make_gaussian(dp, scale)
    return scale, noise, noise.map(reach)


def _make_gaussian(dp: Any, scale: float) -> Any:
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale)


@functools.lru_cache
def _gaussian_scale(dp: Any, reach: float, budget: Budget) -> float:
    """Return the least scale that OpenDP certifies: a search, which the next release of its kind need not repeat."""

    def spends(scale):
        try:
            return dp.c.make_zCDP_to_approxDP(_make_gaussian(dp, scale)).map(reach).epsilon(budget.delta)
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
    return high


def _checked(scale: float, budget: Budget) -> float:
    if not scale <= LARGEST_SCALE:
        raise InvalidBudget(
            f"epsilon={budget.epsilon:g}, delta={budget.delta:g} need integer noise of scale {scale:g}, more than "
            "64-bit integers hold; raise epsilon (usual values are 0.1 to 10)"
        )
    return scale


def load_opendp() -> Any:
    """Import OpenDP, or say what a release needs it for."""
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise ReleaseError(
            "release=True needs OpenDP for its integer noise, which is not installed: pip install 'dperm[release]'"
        ) from error
    # OpenDP's name for constructors that its own committee has not vetted yet; both noises used here are among them.
    dp.enable_features("contrib")
    return dp


def exponential(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose 2^bits e^{-x} between integers at most 2 apart; ValueError if x is negative or no fraction."""
    _fraction("x", x)
    if x < 0:
        raise ValueError(f"x={x} must be 0 or above")
    if x >= bits:
        return 0, 1
    halvings = int(x).bit_length() + 1
    # Squaring doubles an error, and there are fewer than 2^9 terms and roundings up to 2^11 bits.
    width = bits + halvings + 16
    y = (x.numerator << width) // (x.denominator << halvings)
    term = total = 1 << width
    n = 0
    while term:
        n += 1
        term = term * y // (n << width)
        total += -term if n % 2 else term
    # Of every term two units, of the rest of the series and of y one each.
    low, high = total - 2 * n - 2, total + 2 * n + 2
    for _ in range(halvings):
        low, high = low * low >> width, (high * high >> width) + 1
    return low >> (width - bits), min(1 << bits, -(-high >> (width - bits)))


def exponentials(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Enclose 2^31 e^{-x} of many x between integers, as `exponential` does, in 64-bit integers.

    Each x, 0 or above, is a double within 2^-48 of the number that is meant, or both are above 31 (as is where a
    division has rounded once).
    Returns low and high, int64; where x < 31, at most 2000 apart. ValueError if an x is negative or NaN.
    """
    if not (x >= 0).all():
        raise ValueError("x must be 0 or above everywhere")
    width = _LOOK - 1
    # The largest stands for all that are larger: it has e^{-x} < 2^-44.
    far = x >= 31
    y = (np.where(far, 31.0, x) * 2.0 ** (width - _SQUARINGS)).astype(np.int64)
    term = total = np.full(x.shape, 1 << width)
    for n in range(1, _TERMS + 1):
        term = (term * y >> width) // n
        total = total - term if n % 2 else total + term
    # Of every term two units; of the rest of the series one, of y, rounded twice, two.
    error = 2 * _TERMS + 3
    low, high = total - error, np.minimum(total + error, 1 << width)
    for _ in range(_SQUARINGS):
        low, high = low * low >> width, np.minimum((high * high >> width) + 1, 1 << width)
    return np.where(far, 0, low), high


def happens(
    enclosed: Callable[[int], tuple[int, int]], draw: Bits = secrets.randbits, first: int | None = None
) -> bool:
    """Return True with a probability p, exactly.

    `enclosed` maps a number of bits to integers low <= 2^bits p <= high, whose distance over 2^bits goes to 0; `draw` a
    number of bits, a multiple of 8, to a uniform integer of so many; the operating system's by default. `first`: the
    first 64 bits, where they are drawn already.
    """
    bits, u = _WORD, draw(_WORD) if first is None else first
    while True:
        low, high = enclosed(bits)
        if not low <= u < high:
            return u < low
        bits, u = bits + _WORD, u << _WORD | draw(_WORD)


def bits(
    enclosed: Callable[[Any, int], tuple[int, int]],
    values: Sequence[Any],
    rngs: Sequence[np.random.Generator],
    rough: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Return whether each of some events happens, each with the bits of its own generator, exactly.

    `enclosed` maps a value and a number of bits to what `happens` takes; equal values are enclosed once. `rough`, for
    values that are all different: integers low <= 2^32 p <= high of each event (int64), so that `enclosed` is asked
    only where the first 32 bits do not decide. The bits are the same with it and without.
    """
    if rough is None:
        place = {value: k for k, value in enumerate(dict.fromkeys(values))}
        ends = [(low >> _LOOK, -(-high >> _LOOK)) for low, high in (enclosed(value, _WORD) for value in place)]
        # One row of each end, an entry for each event.
        rough = np.array(ends, dtype=np.int64).reshape(-1, 2).T[:, [place[value] for value in values]]
    low, high = rough
    drawn = [words(rng)(_WORD) for rng in rngs]
    seen = (np.array(drawn, dtype=np.uint64) >> (_WORD - _LOOK)).astype(np.int64)
    found = seen < low
    for i in np.flatnonzero(~found & (seen < high)):
        found[i] = happens(functools.partial(enclosed, values[i]), words(rngs[i]), drawn[i])
    return found


def choices(
    enclosed: Callable[[Any, int], Sequence[tuple[int, int]]],
    values: Sequence[Any],
    rngs: Sequence[np.random.Generator],
) -> np.ndarray:
    """Return below how many of some probabilities a uniform number lies, each with its own generator's bits, exactly.

    `enclosed` maps a value and a number of bits to what `happens` takes of each probability, none above the one before
    it; equal values are enclosed once.
    """
    once = functools.cache(enclosed)
    drawn = zip(values, rngs, strict=True)
    return np.array([_below(functools.partial(once, value), words(rng)) for value, rng in drawn], dtype=np.int64)


def _below(enclosed: Callable[[int], Sequence[tuple[int, int]]], draw: Bits) -> int:
    bits, u = _WORD, draw(_WORD)
    while True:
        ends = enclosed(bits)
        if not any(low <= u < high for low, high in ends):
            return sum(u < low for low, _ in ends)
        bits, u = bits + _WORD, u << _WORD | draw(_WORD)


def tails(x: Sequence[Fraction], bits: int) -> list[tuple[int, int]]:
    """Enclose 2^bits sum_{i >= j} e^{x_i}/sum_i e^{x_i} for j = 1 .. k - 1, each between integers at most 4 k apart."""
    largest = max(x)
    weights = [exponential(largest - one, bits) for one in x]
    found = []
    for j in range(1, len(x)):
        (low, high), (less, more) = (
            (sum(one for one, _ in part), sum(one for _, one in part)) for part in (weights[j:], weights[:j])
        )
        found.append(((low << bits) // (low + more), -((-high << bits) // (high + less))))
    return found


def logistic_bit(x: Fraction, draw: Bits = secrets.randbits) -> bool:
    r"""Return True with probability e^x/(1 + e^x), exactly; ValueError if x is no fraction.

    x are log-odds, such as epsilon v/2 of a soft majority vote (dwork2018, Theorem 4.1).
    """
    _fraction("x", x)
    return happens(lambda bits: logistic(x, bits), draw)


def logistic(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose 2^bits e^x/(1 + e^x) between integers that are at most 4 apart."""
    one = 1 << bits
    least, most = exponential(abs(x), bits)
    low, high = (one << bits) // (one + most), -((-one << bits) // (one + least))
    return (low, high) if x >= 0 else (one - high, one - low)


def laplace_sign(x: Fraction, draw: Bits = secrets.randbits) -> bool:
    """Return whether x + Z > 0, exactly, for Z of the Laplace law of scale 1; ValueError if x is no fraction."""
    _fraction("x", x)
    return happens(lambda bits: above(x, bits), draw)


def above(x: Fraction, bits: int) -> tuple[int, int]:
    """Enclose 2^bits P(x + Z > 0), Z of the Laplace law of scale 1, between integers at most 2 apart; bits >= 2."""
    low, high = exponential(abs(x), bits - 1)
    return (low, high) if x <= 0 else ((1 << bits) - high, (1 << bits) - low)


def aboves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Enclose 2^32 P(x + Z > 0) of many x, as `above` does; x as for `exponentials`, of either sign."""
    low, high = exponentials(np.abs(x))
    return np.where(x <= 0, low, (1 << _LOOK) - high), np.where(x <= 0, high, (1 << _LOOK) - low)


def words(rng: np.random.Generator) -> Bits:
    """Return a generator's bits, as `happens` draws them."""
    if type(rng) is np.random.Generator and type(rng.bit_generator) is np.random.PCG64:
        # What `bytes` makes of a new one's words, in a tenth of the time.
        raw = rng.bit_generator.random_raw
        return lambda bits: raw() if bits == _WORD else int.from_bytes(rng.bytes(bits // 8), "little")
    return lambda bits: int.from_bytes(rng.bytes(bits // 8), "little")


def _fraction(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Fraction | int):
        raise ValueError(f"{name}={value!r} must be a Fraction or an int: a double is not the number that it shows")
