r"""Consensus: rows on which the shards agree are answered for nothing, and only contested ones are paid for.

Of r shards c vote for label 1; q = min(c, r - c) disagree with their majority. A changed record changes c, and so q, by
at most 1 (replace-one and add/remove alike: it is in one shard). A new row is one round:

    q + Lap(1/e) < T:   the majority 1[2c > r] itself, at no charge;
    else "contested":   a soft majority bit, Pr[1] = expit(each (2c - r)/2), and one of B contested answers is spent.

After B contested answers nothing is answered any more. The noisy comparison is e-DP; by Theorem P (accounting.rounds) a
round pays only if it is contested, whatever the number of rounds. But the majority may itself differ between
neighbours. It does so only for counts on both sides of the tie, so q >= h = floor((r - 1)/2) on both; there a free
answer has probability at most

    slip = exp(-e (h - T))/2,

and there are at most B such rounds before the last contested answer, unless one of them was free. So delta = delta of
the rounds + B slip, for any number of adaptive queries (docs/privacy.md, section 12, Theorem U). T is made so that
either part is delta/2.

"At most B" is what all of this rests on. So a round is charged before its noise is drawn, as if it were contested, and
what it was charged is given back if it was free, with the ledger locked in between: no noise is drawn for a row, free
or not, by a ledger that is closed, of another process, or out of answers, and a round that is broken off stays charged.

A round is drawn exactly (`dperm.grid`), from e, T and `each` as the numbers that their doubles are. `slip` and T leave
room for 2^-53 more: simulations draw from doubles.

dwork2018 has nothing of this; the idea is that of PATE (Papernot et al. 2018) and of Bassily, Thakkar & Thakurta 2018.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from dperm import grid
from dperm.accounting import rounds
from dperm.accounting.events import EpsilonDeltaDpEvent
from dperm.domain import Budget, Neighbours, integer, number, one_of
from dperm.errors import BudgetExhausted, InvalidBudget
from dperm.mechanisms.prediction.ledger import COUNTED, Count

# Part of the zCDP that contested bits take: at this one they cost about what a round does.
SHARE = 0.1
# Of a simulation's uniform draws; and so of every chance.
_GRAIN = 2.0**-53


@dataclass(frozen=True)
class Terms:
    """What rounds and contested answers may spend.

    - contested: B.
    - round: e of a round.
    - each: bounded range of a contested bit.
    - threshold: T, in votes.
    - slip: largest probability of a free answer that a neighbour would not give.
    """

    contested: int
    round: float
    each: float
    threshold: float
    slip: float


def terms(epsilon: float, delta: float, r: int, contested: int, *, share: float = SHARE) -> Terms:
    """Return what rounds and contested answers may spend within (epsilon, delta).

    - epsilon: above 0; of all answers together, free ones included.
    - share: in (0, 1): contested bits' part of the zCDP.
    - Source: docs/privacy.md, section 12, Theorem U.
    """
    e, rho = _prices(epsilon, delta, contested, share)
    gap = _gap(e, delta, contested)
    threshold = (r - 1) // 2 - gap
    if threshold <= 0:
        raise InvalidBudget(
            f"shards={r} are too few for free answers at epsilon={epsilon:g}, delta={delta:g}, {contested} contested "
            f"answers: take {2 * math.ceil(gap) + 3} at least, {shards_needed(epsilon, delta, contested, share=share)} "
            "to let a quarter of them disagree; or fewer contested answers, or mode='each'"
        )
    # Rounded up, far above the rounding of the exponential.
    slip = 0.5 * math.exp(-e * gap) * (1 + 1e-12) + _GRAIN
    return Terms(int(contested), e, math.sqrt(8 * rho), threshold, slip)


def shards_needed(epsilon: float, delta: float, contested: int, *, share: float = SHARE) -> int:
    """Return the number of shards of which a quarter may disagree before a row is rather contested than free."""
    e, _ = _prices(epsilon, delta, contested, share)
    # (r - 1)/2 - 1/2 - gap >= r/4
    return math.ceil(4 * (_gap(e, delta, contested) + 1))


def free_probability(count: np.ndarray | int, r: int, terms: Terms) -> np.ndarray:
    """Return the probability that a row is answered by the majority itself."""
    count = np.asarray(count)
    room = terms.round * (terms.threshold - np.minimum(count, r - count))
    return np.where(room < 0, 0.5 * np.exp(np.minimum(room, 0.0)), 1 - 0.5 * np.exp(-np.maximum(room, 0.0)))


def majority(count: np.ndarray | int, r: int) -> np.ndarray:
    """Return 1[2 count > r]."""
    return (2 * np.asarray(count) > r).astype(np.int8)


class ContestedLedger(Count):
    """Contested answers within (epsilon, delta), counted before they are given; free ones are not counted."""

    def __init__(
        self,
        epsilon: float,
        delta: float,
        r: int,
        contested: int,
        *,
        share: float = SHARE,
        neighbours: Neighbours = "replace",
        path: str | Path | None = None,
        reserve: int | None = None,
    ):
        one_of("neighbours", neighbours, Neighbours)
        budget, r = Budget(epsilon, delta), int(r)
        contested = integer("queries", contested, 1, COUNTED)
        self.terms = terms(budget.epsilon, budget.delta, r, contested, share=share)
        self.shards, self.each = r, self.terms.each
        self.event = EpsilonDeltaDpEvent(budget.epsilon, budget.delta)
        written = {
            "budget": [budget.epsilon, budget.delta],
            "each": "contested answers alone",
            "neighbours": neighbours,
            "share": float(share),
            "shards": r,
        }
        super().__init__(self.terms.contested, written, path=path, reserve=reserve)

    @contextmanager
    def round(self) -> Iterator[Callable[[], None]]:
        """Charge a round as if it were contested, and keep everyone else out until it is over.

        - Yields: gives the charge back; to be called if the round is free. What is broken off before that stays
          charged, in the journal too.
        """
        with self.serving.turn(inner=True):
            if self.remaining == 0:
                raise BudgetExhausted(
                    f"all {self.answers} contested answers were given, and whether another row is contested would be "
                    "one more: nothing was answered or charged for it; rows answered before stay free"
                )
            self._charge(1)
            self.serving.flush()
            yield self._give_back

    def _give_back(self) -> None:
        # In memory alone: what is on disk as spent serves the next round.
        self._left += 1


def answer(count: int, r: int, ledger: ContestedLedger, rng: np.random.Generator) -> int:
    """Answer one new row; it is charged before anything is drawn, and given back if it is free.

    - Raises BudgetExhausted: if all contested answers were given: then not even a free one follows, and the votes are
      not looked at.
    - Raises ReleaseError: if the ledger was closed, its file is gone, or there is none and this process is not the
      ledger's: nothing is drawn then.
    """
    terms = ledger.terms
    with ledger.round() as free:
        draw, away = grid.words(rng), Fraction(terms.threshold) - min(count, r - count)
        if grid.laplace_sign(Fraction(terms.round) * away, draw):
            free()
            return int(majority(count, r))
        return int(grid.logistic_bit(Fraction(ledger.each) * (2 * count - r) / 2, draw))


def _prices(epsilon: float, delta: float, contested: int, share: float) -> tuple[float, float]:
    """e of a round, and the zCDP of a contested bit, within half of delta."""
    number("delta", delta, 0, 1, error=InvalidBudget, remedy="free answers need some: say 1e-6, or take mode='each'")
    share = number("share", share, 0, 1, remedy="it is the contested answers' part of the budget")
    return rounds.rounds(epsilon, delta / 2, contested, share)


def _gap(e: float, delta: float, contested: int) -> float:
    """By how many votes T lies below the tie: B (exp(-e gap)/2 + grain) = delta/2."""
    room = delta / contested - 2 * _GRAIN
    if room <= 2 * _GRAIN:
        raise InvalidBudget(
            f"delta={delta:g} is too small for {contested} contested answers, that doubles can simulate them: take "
            f"more than {4 * _GRAIN * contested:.2g}, or mode='each'"
        )
    return -math.log(room) / e
