r"""Averaged predictions with Laplace noise (dwork2018, Lemmas 4.5 and 4.6): one answer for epsilon.

r predictors, each fitted to a shard of the records, give f_1(x) .. f_r(x), clipped to a public range [low, high];

    v = mean of f_i(x),      answer = clip(v + Z, low, high),      Z ~ Lap(b).

Under both relations one record lies in one shard, so one f_i changes, by at most high - low, or by gamma <= high - low
if the learner is stable with rate gamma (Definition 4.4, replace-one): v moves by at most gamma/r, and
b = gamma/(r epsilon) makes the answer epsilon-DP (Lemma 4.5 prints the scale epsilon/gamma: erratum D3). Clipping and
what follows are post-processing.

**A bit.** For labels {0, 1} the answer is a bit with this value as its probability, so with v = count/r, of the law

    p_b(v) = E clip(v + Z, 0, 1) = v + b/2 (e^{-v/b} - e^{-(1-v)/b}),       1 - p_b(v) = p_b(1 - v).

- "paper": b = 1/(r epsilon), whatever is answered.
- "tight": for a bit of Boolean votes the least b with p_b((j+1)/r) <= e^epsilon p_b(j/r) for all j = 0..r-1; by the
  symmetry that bounds the other bit too. At r = 1 it is randomized response. With many shards the largest ratio is the
  first, 2 s + e^{-s} with s = 1/(r b): r b epsilon = .997 at epsilon .1, .83 at 1, .30 at 3. Elsewhere as "paper".

Both are `proved` (docs/privacy.md, section 12). The cost of the noise is at most b for a 1-Lipschitz loss (Lemma 4.5);
for a bit it is p_b(v) - v <= p_b(0) < b/2.

Sources: dwork2018, Lemmas 4.5 and 4.6, Section 4.3, Corollary 4.7; errata D3, D8.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dperm import grid
from dperm.domain import Budget, Calibration, Neighbours, integer, number, one_of
from dperm.errors import InvalidBudget

CALIBRATIONS = ("paper", "tight")

# Relative width at which the search for the least scale stops, on the private side.
_WIDTH = 1e-13
# Beyond these the printed scale is kept: the least one is less than a ten-thousandth smaller (and its ratios lose
# digits), or so small that its exponentials leave the doubles.
_WIDE, _LOUD = 1e4, 100.0


def shards_needed(alpha: float, epsilon: float, calibration: Calibration = "tight") -> int:
    """Return the number r of shards at which the noise costs no more than its share of the excess error alpha.

    - alpha: excess error, in (0, 1].
    - calibration: "paper": ceil(1/(alpha epsilon)), which leaves nothing of alpha to the learner (Section 4.3; erratum
      D8); else ceil(2/(alpha epsilon)), for which the noise costs alpha/2 (Corollary 4.7).
    """
    alpha = number("alpha", alpha, 0, 1, ends="(]", remedy="it is the excess error, say 0.1")
    epsilon = Budget(epsilon).epsilon
    # A thousandth of a billionth off, so that 1/(0.1 * 0.1), which rounds above 100, is 100.
    return math.ceil((1 if calibration == "paper" else 2) / (alpha * epsilon) * (1 - 1e-12))


def scale(
    r: int,
    epsilon: float,
    calibration: Calibration = "tight",
    *,
    bits: bool = False,
    width: float = 1.0,
    stability: float | None = None,
    neighbours: Neighbours = "replace",
) -> float:
    """Return the scale b of the Laplace noise of one answer, for replace-one and for add/remove (one shard changes).

    - bits: whether the answer is a bit and the votes are 0 or 1; "tight" makes use of it, unless a stability is
      declared.
    - width: high - low, in the units of the predictions.
    - stability: gamma, by how much a change of one record of a shard moves its prediction; the width, if that is less.
    - neighbours: the scale is the same: under either a changed record is in one shard.
    """
    integer("shards", r, 1, "shards_needed(alpha, epsilon) gives one", error=InvalidBudget)
    epsilon = Budget(epsilon).epsilon
    one_of("neighbours", neighbours, Neighbours)
    if stability is not None and neighbours == "add_remove":
        raise ValueError(
            f"stability={stability} is the rate of replacing a record and says nothing of adding one; leave it out "
            "under neighbours='add_remove', or take 'replace'"
        )
    width = number("width", width, 0, math.inf, remedy="it is high - low of the public range")
    if calibration not in ("paper", "tight"):
        raise ValueError(f"calibration={calibration!r} is not one of 'paper', 'tight'")
    if stability is not None:
        remedy = "it is the rate of Definition 4.4; leave it out for high - low"
        stability = number("stability", stability, 0, math.inf, remedy=remedy)
    elif bits and calibration == "tight" and width == 1:
        return _least_scale(int(r), float(epsilon))
    return min(width, math.inf if stability is None else stability) / (int(r) * epsilon)


def expected_clip(
    values: np.ndarray | float, scale: np.ndarray | float, low: float = 0.0, high: float = 1.0
) -> np.ndarray:
    """Return E clip(v + Z, low, high), Z ~ Lap(scale): for the range [0, 1] the probability of the bit 1.

    - values: v, in [low, high].

    E(v + Z - high)_+ = b/2 e^{-(high - v)/b} for v <= high, and likewise below; the mean is v plus their difference.
    """
    values = np.asarray(values, dtype=float)
    below, above = values - low, high - values
    near, far = np.minimum(below, above), np.maximum(below, above)
    # e^{-near/b} - e^{-far/b}, without cancellation where b is large.
    moved = scale / 2 * np.exp(-near / scale) * -np.expm1((near - far) / scale)
    return values + np.where(below < above, moved, -moved)


def log_ratios(r: int, scale: float) -> np.ndarray:
    """Return log p_b((j+1)/r) - log p_b(j/r) > 0, j = 0..r-1: the privacy loss of bit 1, mirror image of bit 0's."""
    counts = np.arange(r)
    noise = np.exp(-counts / (r * scale)) + np.exp(-(r - 1 - counts) / (r * scale))
    step = 1 / r + scale / 2 * math.expm1(-1 / (r * scale)) * noise
    probability = expected_clip(counts / r, scale)
    return np.log1p(step / probability)


def bits(counts: np.ndarray, r: int, scale: float, rngs: Sequence[np.random.Generator]) -> np.ndarray:
    """Draw the bits of m queries exactly: the scale is the number that the double is, and no bit is impossible."""
    return grid.bits(lambda count, k: enclosed(count, r, scale, k), [int(count) for count in counts], rngs)


def enclosed(count: int, r: int, scale: float, bits: int) -> tuple[int, int]:
    """Enclose 2^bits p_b(count/r) between integers, by integer arithmetic alone (`dperm.grid`)."""
    v, b = Fraction(count, r), Fraction(scale)
    # What multiplies the exponentials takes up to so many bits of theirs.
    more = bits + max(0, math.ceil(b).bit_length()) + 2
    (near, near_most), (far, far_most) = (grid.exponential(x / b, more) for x in (v, 1 - v))
    low, high = (((1 << more) * v + b / 2 * moved) / 2 ** (more - bits) for moved in (near - far_most, near_most - far))
    return max(0, math.floor(low)), min(1 << bits, math.ceil(high))


def release(
    values: np.ndarray,
    scale: float,
    *,
    rng: np.random.Generator,
    repeats: int = 1,
    bits: bool = False,
    low: float = 0.0,
    high: float = 1.0,
) -> np.ndarray:
    """Answer queries v = values in [low, high]: with noise, or by bits from doubles, by their chance in closed form."""
    shape = (repeats, len(values))
    if bits:
        return (rng.random(shape) < expected_clip(values, scale)).astype(np.int8)
    return np.clip(values + rng.laplace(0.0, scale, shape), low, high)


@functools.lru_cache(maxsize=4096)
def _least_scale(r: int, epsilon: float) -> float:
    """Return the least b at which all log ratios are within epsilon, found by halving its logarithm."""
    high = 1 / (r * epsilon)  # private by post-processing
    if high > _WIDE or epsilon > _LOUD:
        return high
    low = high
    while log_ratios(r, low).max() <= epsilon:
        high, low = low, low / 2
    while high > low * (1 + _WIDTH):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (low, middle) if log_ratios(r, middle).max() <= epsilon else (middle, high)
    return high
