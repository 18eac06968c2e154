r"""From counts to a bound: how often an event was seen on either side certifies a lower bound on epsilon.

An event S was chosen beforehand and seen `hits` times in `tries` draws on the side where it is likelier (probability p)
and `other_hits` times in `other_tries` on the other (probability q). (epsilon, delta)-DP says p <= e^epsilon q + delta
for neighbours in either order, so with Clopper-Pearson's exact one-sided limits p_low and q_up, each wrong with
probability at most (1 - confidence)/2,

    epsilon >= log((p_low - delta) / q_up)                    with probability `confidence`.

Gaussian trade-off (model="gaussian"). Where the tail that carries delta is too thin to be sampled this bound is far too
low. If the mechanism adds Gaussian noise, its whole trade-off curve is that of N(mu, 1) against N(0, 1), and any event
tells mu >= Phi^-1(p_low) - Phi^-1(q_up) (Dong, Roth & Su 2022, Section 2.2; Nasr et al. 2023); epsilon at delta is then
the root of H_epsilon(mu) = delta. The bound on mu is as certain as the other one; that it speaks of small delta rests
on the model.

Neighbouring relation: that of the pair which was drawn from.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from dperm.accounting.gaussian import hockey_stick
from dperm.domain import number, one_of

Model = Literal["none", "gaussian"]

# Root finding on a scale of logarithms: about 1e-15 of its range.
_STEPS = 60
# No p-value below this is told from 0.
_SMALLEST_P = 1e-300
# Largest epsilon that a Gaussian's mu is turned into: past it a double overflows.
_LARGEST_EPSILON = 700.0


@dataclass(frozen=True)
class Counts:
    """How often an event was seen.

    Parameters
    ----------
    hits, tries : int
        On the side where it is likelier.
    other_hits, other_tries : int
        On the other side.
    """

    hits: int
    tries: int
    other_hits: int
    other_tries: int

    def __post_init__(self):
        for name, hits, tries in (
            ("hits", self.hits, self.tries),
            ("other_hits", self.other_hits, self.other_tries),
        ):
            if not 0 <= hits <= tries or tries < 1:
                raise ValueError(f"{name}={hits} of {tries} draws: it must be between 0 and the draws, at least one")


def lower_probability(hits: int | np.ndarray, tries: int, error: float) -> float | np.ndarray:
    """Return Clopper and Pearson's lower limit, above the true probability with a chance of at most `error`."""
    hits = np.asarray(hits, dtype=np.float64)
    some = np.maximum(hits, 1.0)
    return np.where(hits > 0, special.betaincinv(some, tries - some + 1.0, error), 0.0)[()]


def upper_probability(hits: int | np.ndarray, tries: int, error: float) -> float | np.ndarray:
    """Return Clopper and Pearson's upper limit, below the true probability with a chance of at most `error`."""
    hits = np.asarray(hits, dtype=np.float64)
    # The mirror image of the lower limit: the complementary inverse keeps its digits for a tiny error.
    some = np.minimum(hits, tries - 1.0)
    return np.where(hits < tries, special.betainccinv(some + 1.0, tries - some, error), 1.0)[()]


def epsilon_bound(counts: Counts, *, delta: float, confidence: float, model: Model = "none") -> float:
    """Return a lower bound on epsilon at this delta, 0 or above, that is right with probability `confidence`.

    The Gaussian model assumes a Gaussian trade-off curve, and needs delta > 0.
    """
    error = _checked(delta, confidence, model)
    if model == "gaussian":
        return gaussian_epsilon(_mu(counts, error), delta)
    return _plain_bound(counts, delta, error)


def mu_bound(counts: Counts, *, confidence: float) -> float:
    """Return a lower bound on mu, 0 or above, if the mechanism is mu-GDP: Phi^-1(p_low) - Phi^-1(q_up)."""
    return _mu(counts, _checked(0.5, confidence, "gaussian"))


def p_value(counts: Counts, *, epsilon: float, delta: float, model: Model = "none") -> float:
    """Return how surprising the counts are if (epsilon, delta) holds, in [1e-300, 1].

    That is the least 1 - confidence at which `epsilon_bound` is above epsilon; 1 if there is none (infinity is never
    refuted).
    """
    number("epsilon", epsilon, 0, math.inf, ends="(]")
    _checked(delta, 0.5, model)
    if model == "gaussian":
        # The largest mu that the claim allows, found once.
        allowed = _largest_mu(epsilon, delta)

        def refuted(error: float) -> bool:
            return _mu(counts, error) > allowed

    else:

        def refuted(error: float) -> bool:
            return _plain_bound(counts, delta, error) > epsilon

    if not refuted(math.nextafter(1.0, 0.0)):
        return 1.0
    low, high = math.log(_SMALLEST_P), 0.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if refuted(math.exp(middle)) else (middle, high)
    # The upper end: never smaller than the truth.
    return min(1.0, math.exp(high))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon in [0, 700] with H_epsilon(mu) <= delta, rounded down."""
    number("mu", mu, 0, math.inf, ends="[)")
    _checked(delta, 0.5, "gaussian")
    if hockey_stick(0.0, mu) <= delta:
        return 0.0
    low, high = 0.0, _LARGEST_EPSILON
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if hockey_stick(middle, mu) > delta else (low, middle)
    return low


def _largest_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu with H_epsilon(mu) <= delta, rounded up."""
    if math.isinf(epsilon):
        return math.inf
    low, high = 0.0, 1.0
    while hockey_stick(epsilon, high) <= delta:
        high *= 2
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if hockey_stick(epsilon, middle) <= delta else (low, middle)
    return high


def _plain_bound(counts: Counts, delta: float, error: float) -> float:
    p = lower_probability(counts.hits, counts.tries, error / 2)
    q = upper_probability(counts.other_hits, counts.other_tries, error / 2)
    return max(0.0, math.log((p - delta) / q)) if p > delta else 0.0


def _mu(counts: Counts, error: float) -> float:
    p = lower_probability(counts.hits, counts.tries, error / 2)
    q = upper_probability(counts.other_hits, counts.other_tries, error / 2)
    return max(0.0, float(special.ndtri(p) - special.ndtri(q))) if p > 0 and q < 1 else 0.0


def _checked(delta: float, confidence: float, model: str) -> float:
    """Return the error, 1 - confidence."""
    one_of("model", model, Model)
    number("confidence", confidence, 0, 1, remedy="0.95 is usual")
    if model == "gaussian":
        number("delta", delta, 0, 1, remedy="a Gaussian trade-off has no finite epsilon at delta = 0; take 1.0e-6, say")
    else:
        number("delta", delta, 0, 1, ends="[)", remedy="take 0 for pure privacy")
    return 1.0 - confidence
