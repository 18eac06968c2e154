r"""Audits of one run, for learners that are too slow to run twenty thousand times (Steinke, Nasr & Jagielski 2023).

Each of m records, the canaries, is in or out by a fair coin S_i = +-1 of its own. One run on those that are in gives
an output Y; a score of each canary, made of Y alone, says how much it seems to be in. The guess is "in" for the r/2
largest scores, "out" for the r/2 smallest, and nothing for the rest. W of the r guesses are right.

Theorem (their Theorems for pure and for approximate privacy). If the learner is (epsilon, delta)-private, then with
W* ~ Bin(r, e^epsilon/(1 + e^epsilon))

    P(W >= v) <= P(W* >= v) + 2 m delta max_{i=1..v} P(v - i <= W* < v)/i.

At delta = 0 it has a short proof (docs/audit.md). Several r may be tried, each with its share of the error.

A privacy curve delta(epsilon) gives such a bound for every epsilon, all of the same probability, so their least one
holds: that is how a claim such as mu-GDP is tested (`OneRun.against`), with no model behind it.

Neighbouring relation: add/remove; replace-one where `train` puts another record in place of a canary that is out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.accounting.gaussian import hockey_stick
from dperm.audit import bounds
from dperm.domain import integer, number

# Fewer guesses refute nothing: at epsilon = 0 all of five are right with a chance of 3 %.
_FEWEST = 6
_HALVINGS = 30
_LARGEST = 100.0
# Epsilons at which a privacy curve is asked.
_CURVE = np.concatenate([[0.0], np.geomspace(0.02, 40.0, 40)])


@dataclass(frozen=True)
class OneRun:
    """What an audit of one run found.

    Parameters
    ----------
    epsilon : float
        Lower bound on the learner's epsilon at `delta`, right with probability `confidence`.
    delta, confidence : float
    canaries : int
        m.
    guesses, right : tuple of int
        How many guesses were made, for each number that was tried, and how many of them were right.
    """

    epsilon: float
    delta: float
    confidence: float
    canaries: int
    guesses: tuple[int, ...]
    right: tuple[int, ...]

    def p_value(self, epsilon: float) -> float:
        """Return how surprising the guesses are if (epsilon, self.delta) holds.

        Parameters
        ----------
        epsilon : float
            The claim, 0 or above.
        """
        return self.against(lambda _: self.delta, at=(epsilon,))

    def refutes(self, epsilon: float) -> bool:
        """Say whether the claim (epsilon, self.delta) is refuted at this audit's confidence.

        Parameters
        ----------
        epsilon : float
            The claim, 0 or above.
        """
        return self.p_value(epsilon) <= 1 - self.confidence

    def against(self, curve: Callable[[float], float], *, at: Sequence[float] = tuple(_CURVE)) -> float:
        """Return how surprising the guesses are if the learner keeps a privacy curve.

        Parameters
        ----------
        curve : callable
            epsilon -> delta, both 0 or above: the learner is claimed to be (epsilon, curve(epsilon))-private for all.
        at : sequence of float
            The epsilons at which the curve is asked.
        """
        curved = [(epsilon, curve(epsilon)) for epsilon in at]
        found = [
            bounds.tail_of_one_run(right, made, self.canaries, epsilon, delta)
            for made, right in zip(self.guesses, self.right, strict=True)
            for epsilon, delta in curved
        ]
        return min(1.0, len(self.guesses) * min(found))

    @property
    def mu(self) -> float:
        """A lower bound on mu, right with probability `confidence` if the learner's trade-off is mu-GDP's or above."""
        low, high = 0.0, 1.0

        def refuted(mu: float) -> bool:
            return self.against(lambda epsilon: float(hockey_stick(epsilon, mu))) <= 1 - self.confidence

        while refuted(high) and high < _LARGEST:
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if refuted(middle) else (low, middle)
        return low


def lower_bound(
    train: Callable[[np.ndarray, np.random.Generator], Any],
    score: Callable[[Any], np.ndarray],
    canaries: int,
    *,
    delta: float = 0.0,
    confidence: float = 0.95,
    rng: np.random.Generator,
    guesses: Sequence[int] | None = None,
) -> OneRun:
    """Run a learner once and return a certified lower bound on its epsilon.

    Parameters
    ----------
    train : callable
        (included, rng) -> output: one run on the canaries of the mask `included`, shape (canaries,), and on whatever
        else there is, which must not depend on the mask.
    score : callable
        output -> ndarray, shape (canaries,): the larger, the likelier it is that the canary was in. It must not know
        the mask.
    canaries : int
        m, at least 6.
    delta : float
        In [0, 1).
    confidence : float
        In (0, 1).
    rng : Generator
        Tosses the coins and runs the learner, by streams of their own.
    guesses : sequence of int, optional
        Even numbers of guesses to be tried, at most m, fixed beforehand. By default m, m/2, m/4, ..., at least 6.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the scores are no finite numbers, one for each canary.

    Notes
    -----
    Source: Steinke, Nasr & Jagielski 2023, "Privacy auditing with one (1) training run". Neighbouring relation:
    add/remove.
    """
    m = integer("canaries", canaries, _FEWEST, "each is a record that is in or out")
    number("delta", delta, 0, 1, ends="[)", remedy="take 0 for pure privacy")
    number("confidence", confidence, 0, 1, remedy="0.95 is usual")
    tried = _tried(m, guesses)
    coins, running = rng.spawn(2)
    included = coins.random(m) < 0.5
    scores = np.asarray(score(train(included.copy(), running)), dtype=np.float64)
    if scores.shape != (m,) or not np.isfinite(scores).all():
        raise ValueError(f"score gave the shape {scores.shape}; give {m} finite numbers, one for each canary")
    order = np.argsort(-scores, kind="stable")
    right = tuple(int(included[order[: made // 2]].sum() + (~included[order[m - made // 2 :]]).sum()) for made in tried)
    error = (1 - confidence) / len(tried)
    epsilon = max(bounds.epsilon_of_one_run(v, r, m, delta, error) for v, r in zip(right, tried, strict=True))
    return OneRun(epsilon, delta, confidence, m, tried, right)


def _tried(canaries: int, guesses: Sequence[int] | None) -> tuple[int, ...]:
    if guesses is None:
        halvings = range(int(math.log2(canaries / _FEWEST)) + 1)
        return tuple(dict.fromkeys(2 * (canaries >> (halving + 1)) for halving in halvings))
    made = tuple(integer("guesses", number_of, 2, "half of them say in, half out") for number_of in guesses)
    if not made or any(number_of % 2 or number_of > canaries for number_of in made):
        raise ValueError(f"guesses={list(guesses)} must be even numbers, at most the {canaries} canaries, one at least")
    return made
