r"""From counts to a bound: how often a guess was right and how often wrong certifies a lower bound on epsilon.

A guess is a rule chosen beforehand: of an output it says "data", "neighbour" or nothing. Each draw's side is decided by
a fair coin. R guesses are right and W are wrong.

delta = 0. Given the output, the odds of the side lie between e^-epsilon and e^epsilon, independently over draws. So of
the R + W guesses that are made at most Bin(R + W, e^epsilon/(1 + e^epsilon)) are right, whatever the outputs are. With
s, Clopper and Pearson's lower limit of the share of right guesses,

    epsilon >= log(s/(1 - s))                    with probability `confidence`.

delta > 0. A draw is guessed rightly with probability r and wrongly with w, and r <= e^epsilon w + delta. Of all guesses
R are right with odds r/w <= e^epsilon/(1 - delta/r), so with r_low, Clopper and Pearson's lower limit of r from R of
`tries` draws,

    epsilon >= log(s/(1 - s)) + log(1 - delta/r_low),

where r_low may err with (1 - confidence)/20, and s with the rest. A guess that only ever says one side can be right
on that side's draws alone: these are its `tries`, and r is the event's probability there. Proof: docs/audit.md.

Gaussian trade-off (model="gaussian"). Where the tail that carries delta is too thin to be sampled this bound is far
too low. If the mechanism adds Gaussian noise, its whole trade-off curve is that of N(mu, 1) against N(0, 1). Any event,
of probability p on one side and q on the other, then tells mu >= Phi^-1(p_low) - Phi^-1(q_up), with limits that are
each wrong with probability (1 - confidence)/2 (Dong, Roth & Su 2022, Section 2.2; Nasr et al. 2023); epsilon at delta
is the root of H_epsilon(mu) = delta. The bound on mu is as certain as the other one; that it speaks of small delta
rests on the model.

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
# What r_low may cost of the error that is allowed.
_FOR_RIGHT = 0.05
# Largest epsilon that a Gaussian's mu is turned into: past it a double overflows.
_LARGEST_EPSILON = 700.0
# Largest epsilon that one run is asked about.
_LARGEST_OF_ONE_RUN = 100.0


@dataclass(frozen=True)
class Counts:
    """How often guesses were right and wrong; each draw's side was decided by a fair coin.

    Parameters
    ----------
    hits, tries : int
        Right guesses, and the draws in which a guess could be right: those of one side, if only that side is ever
        guessed (then `hits` says how often the event was seen there), else all.
    other_hits, other_tries : int
        Wrong guesses, and the draws in which a guess could be wrong.
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


def promised(hits: np.ndarray, tries: int, wrong: np.ndarray, delta: float, error: float) -> np.ndarray:
    """Return the bound that these counts give, which may be negative (counts need not be whole numbers)."""
    for_right = _FOR_RIGHT * error if delta else 0.0
    hits = np.asarray(hits, dtype=np.float64)
    share = lower_probability(hits, np.maximum(hits + wrong, 1.0), error - for_right)
    bound = special.logit(np.maximum(share, _SMALLEST_P))
    if not delta:
        return bound
    right = np.maximum(lower_probability(hits, tries, for_right), _SMALLEST_P)
    return bound + np.log(np.maximum(1.0 - delta / right, _SMALLEST_P))


def epsilon_of_one_run(right: int, made: int, canaries: int, delta: float, error: float) -> float:
    """Return an epsilon, 0 or above, that this many right guesses refute with this error; 0 for none.

    What refutes (epsilon, delta) refutes every smaller epsilon, so `tail_of_one_run` need not grow with epsilon.
    """
    if tail_of_one_run(right, made, canaries, 0.0, delta) > error:
        return 0.0
    low, high = 0.0, _LARGEST_OF_ONE_RUN
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail_of_one_run(right, made, canaries, middle, delta) <= error else (low, middle)
    return low


def tail_of_one_run(right: int, made: int, canaries: int, epsilon: float, delta: float) -> float:
    """Return the bound on the chance of so many right guesses that `dperm.audit.one_run` states, in [0, 1]."""
    if right == 0:
        return 1.0
    share = special.expit(epsilon)
    least = special.betainc(right, made - right + 1, share)
    short = np.arange(1, right + 1)
    leaked = np.cumsum(_binomial(right - short, made, share)) / short
    return float(min(1.0, least + 2 * canaries * delta * leaked.max()))


def _binomial(k: np.ndarray, n: int, share: float) -> np.ndarray:
    """Return P(Bin(n, share) = k)."""
    ways = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    return np.exp(ways + special.xlogy(k, share) + special.xlog1py(n - k, -share))


def _plain_bound(counts: Counts, delta: float, error: float) -> float:
    return max(0.0, float(promised(counts.hits, counts.tries, counts.other_hits, delta, error)))


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
