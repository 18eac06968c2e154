r"""Counts answers against a budget, before they are given (dwork2018, Section 1; docs/privacy.md, section 12, T).

Prices fixed beforehand (`PredictionLedger`): every answer is `each`-DP given all before, so that the number of answers
that fit is a constant, the largest that any valid accountant allows (`accounting.filters`). The ledger counts to it.

Prices chosen as one goes (`AdaptiveLedger`): an answer of price e adds e to one sum and its zCDP (e^2/2, or e^2/8 of
bounded range) to another; it may be given if the first sum stays within epsilon or the second within the rho that
(epsilon, delta) allows.

With a file the ledger outlives its process, and ledgers in any number of processes share its budget
(`mechanisms.serving`): what is about to be spent is on disk before `charge` returns (within a call of `predict`, of
predictors whose answers are our own code: with the answers, before any leaves), in blocks of `reserve` answers, each
of one ledger, and what a crash leaves unanswered of a block stays spent. `close` gives it back. The file is all that
is known of earlier answers: whoever deletes it has a new budget for the same data, which no statement covers.
Without a file a ledger is of one process, and cannot be copied.

All answers must concern the same data, under one neighbouring relation.
"""

import contextlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dp_accounting import dp_event

from dperm.accounting import composition, filters
from dperm.domain import Budget, Neighbours, integer, one_of
from dperm.errors import BudgetExhausted, InvalidBudget, ReleaseError
from dperm.mechanisms.serving import Listener, Serving

# Of the default reserve: a crash costs at most this part of the answers, and a ledger writes about so many lines.
_BLOCKS = 200
# What is said of a number that is none.
COUNTED = "it counts answers"


class Count(Listener):
    """A number of answers that may be given, counted before they are.

    - answers: 0 or above.
    - terms: what an answer is; a journal of other terms is refused.
    - path: the journal (`dperm.mechanisms.stores`). Without one, nothing outlives the object, and it cannot be copied.
    - reserve: answers written off at once; by default half a per cent, 1 at least. `charge` is quick within a block.
    - serving: its turns, for what answers on it.
    """

    def __init__(
        self, answers: int, terms: Mapping[str, Any], *, path: str | Path | None = None, reserve: int | None = None
    ):
        self.answers = answers
        self._reserve = max(1, answers // _BLOCKS) if reserve is None else reserve
        self._reserve = integer("reserve", self._reserve, 1, COUNTED)
        # What all have written off, and what of that is left of one's own block; without a file, all is written off.
        self._spent = self._left = answers
        self.serving = Serving(path, {**terms, "answers": answers})
        self.serving.listen(self)
        if path is not None:
            with self.serving.turn():
                pass  # reads what was spent

    @property
    def answered(self) -> int:
        """Answers charged so far, others' blocks and those lost in a crash included, as known at the last turn."""
        return self._spent - self._left

    @property
    def remaining(self) -> int:
        """Answers that may still be charged, as far as `answered` knows."""
        return self.answers - self.answered

    def charge(self, count: int = 1) -> None:
        """Count answers that are about to be given.

        Parameters
        ----------
        count : int
            0 or above.

        Raises
        ------
        BudgetExhausted
            If not all of them are left; none is charged then.
        ReleaseError
            If the ledger was closed, its file is gone, or there is none and this process is not the ledger's.
        ValueError
            If it is no count.
        """
        with self.serving.lock:
            # Within a block nothing needs to be written: this is all that a charge costs then.
            if count.__class__ is int and 0 < count <= self._left:
                self._left -= count
            else:
                self._charge(count)

    def _charge(self, count: int) -> None:
        if count == 0:
            return
        integer("count", count, 1, COUNTED)
        with self.serving.turn(inner=True):
            if count > self.remaining:
                raise BudgetExhausted(
                    f"{count} new answers were asked for and {self.remaining} of {self.answers} remain: nothing was "
                    "answered or charged; repeat earlier queries, which are free, or ask for fewer"
                )
            missing = int(count) - self._left
            if missing > 0:
                upto = min(self.answers, self._spent + max(missing, self._reserve))
                self.serving.write(["spent", upto])
                self._left += upto - self._spent
                self._spent = upto
            self._left -= int(count)

    def close(self) -> None:
        """Give back what was written off and not answered, and answer no more from here."""
        # A journal that lost its file has nothing to give back to, nor has a process whose ledger this is not.
        try:
            with contextlib.suppress(ReleaseError), self.serving.turn(inner=True):
                self._spent, left, self._left = self._spent - self._left, self._left, 0
                if left:
                    self.serving.write(["spent", self._spent])
        finally:
            self._left = 0
            self.serving.close()

    def forget(self) -> None:
        """Know of nothing that was spent, before all is read anew."""
        self._spent = self._left = 0

    def replay(self, records: list[list]) -> None:
        """Take in what others wrote off."""
        for kind, *said in records:
            if kind == "spent":
                if len(said) != 1 or not isinstance(said[0], int) or not 0 <= said[0] <= self.answers:
                    raise self.serving.damaged(f"{said} is no number of answers")
                self._spent = said[0]

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()


class PredictionLedger(Count):
    """Answers within (epsilon, delta), counted before they are given.

    Parameters
    ----------
    epsilon : float
        Above 0; of all answers together.
    delta : float
        In [0, 1); 0 leaves basic composition alone.
    answers : int, optional
        How many answers are wanted; their price follows.
    each : float, optional
        The price of an answer, its epsilon; their number follows.
    bounded_range : bool
        Whether the log ratios of every answer lie in an interval of length `each`.
    neighbours : {"replace", "add_remove"}
        The relation of all answers; it is written down, so that no journal goes on under another.
    accountant : str, optional
        One of `accounting.filters.ACCOUNTANTS`, if no other is wanted.
    mechanism : dict of str, optional
        What gives the answers: its name, calibration, guarantee. Written down likewise.
    path, reserve
        As in `Count`.

    Attributes
    ----------
    each : float
        Price of an answer.
    answers : int
        How many fit.

    Raises
    ------
    InvalidBudget
        If the budget or the price is outside its range, not one answer of this price fits, or the journal is one of
        other answers.
    ValueError
        If not one of `answers` and `each` is given, or another argument is not of its kind.
    CorruptFile
        If the journal is damaged or none.
    References
    ----------
    dwork2018, Section 1; docs/privacy.md, section 12, Theorem T.
    """

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        answers: int | None = None,
        each: float | None = None,
        bounded_range: bool = False,
        neighbours: Neighbours = "replace",
        accountant: str | None = None,
        mechanism: Mapping[str, str] | None = None,
        path: str | Path | None = None,
        reserve: int | None = None,
    ):
        Budget(epsilon, delta)
        one_of("neighbours", neighbours, Neighbours)
        if (answers is None) == (each is None):
            raise ValueError(
                f"answers={answers}, each={each}: give one of them, the other follows; AdaptiveLedger takes prices as "
                "they come"
            )
        self.epsilon, self.delta, self.bounded_range = float(epsilon), float(delta), bool(bounded_range)
        how = {"bounded_range": self.bounded_range, "accountant": accountant}
        if each is None:
            integer("answers", answers, 1, COUNTED)
            each = filters.each(self.epsilon, self.delta, int(answers), **how)
        else:
            answers = filters.capacity(self.epsilon, self.delta, each, **how)
            if answers == 0:
                raise InvalidBudget(f"each={each}: not one answer fits into epsilon={epsilon:g}, delta={delta:g}")
        self.each = float(each)
        terms = {
            **(mechanism or {}),
            "budget": [self.epsilon, self.delta],
            "each": self.each,
            "neighbours": neighbours,
            "bounded_range": self.bounded_range,
        }
        super().__init__(int(answers), terms, path=path, reserve=reserve)

    @property
    def event(self) -> dp_event.DpEvent:
        """What all answers together are at most, for an accountant: their zCDP, if `each` is what they cost."""
        # Randomised responses would say more of answers of no bounded range, but dp-accounting's PLD accountant (0.8.0)
        # composes the event of many of them once.
        return dp_event.ZCDpEvent(self.answers * filters.rho(self.each, self.bounded_range))


class AdaptiveLedger(Listener):
    """Answers within (epsilon, delta) whose prices are chosen as one goes, each known before its answer is given.

    Parameters
    ----------
    epsilon : float
        Above 0; of all answers together.
    delta : float
        0, or in [1e-300, 1).
    neighbours : {"replace", "add_remove"}
    path : path-like or URL, optional
        The journal; every charge is written.

    Attributes
    ----------
    answered : int

    Raises
    ------
    As `PredictionLedger`.

    References
    ----------
    dwork2018, Section 1; Feldman & Zrnic 2021; docs/privacy.md, section 12, Theorem T.
    """

    def __init__(
        self, epsilon: float, delta: float, *, neighbours: Neighbours = "replace", path: str | Path | None = None
    ):
        Budget(epsilon, delta)
        one_of("neighbours", neighbours, Neighbours)
        self.epsilon, self.delta = float(epsilon), float(delta)
        self._most = (self.epsilon, composition.zcdp_rho(self.epsilon, self.delta) if delta else 0.0)
        self.forget()
        terms = {"budget": [self.epsilon, self.delta], "each": "as asked", "neighbours": neighbours}
        self.serving = Serving(path, terms)
        self.serving.listen(self)
        with self.serving.turn():
            pass  # reads what was spent

    def charge(self, count: int = 1, *, each: float, bounded_range: bool = False) -> None:
        """Count answers that are about to be given.

        Parameters
        ----------
        count : int
            1 or above.
        each : float
            Above 0; epsilon of every one of them.
        bounded_range : bool
            Whether their log ratios lie in an interval of length `each`.

        Raises
        ------
        BudgetExhausted
            If they do not fit; none is charged then, and cheaper ones may fit.
        ReleaseError
            If it was closed, its file is gone, or there is none and this process is not the ledger's.
        InvalidBudget, ValueError
            If the price or the count is none.
        """
        each = filters.checked_price(each)
        integer("count", count, 1, COUNTED)
        prices = (each, filters.rho(each, bounded_range))
        with self.serving.turn(inner=True):
            # Rounded up: a sum of many roundings is never below the true one.
            sums = tuple(
                math.nextafter(s + math.nextafter(count * p, math.inf), math.inf)
                for s, p in zip(self._sums, prices, strict=True)
            )
            if all(total > most for total, most in zip(sums, self._most, strict=True)):
                left = [max(0.0, most - s) for most, s in zip(self._most, self._sums, strict=True)]
                raise BudgetExhausted(
                    f"{count} answers at each={each:g} do not fit: of epsilon {left[0]:.4g} and of zCDP {left[1]:.4g} "
                    "remain; nothing was answered or charged; take a lower price, or repeat earlier queries"
                )
            self.serving.write(["sums", sums[0].hex(), sums[1].hex(), self.answered + int(count)])
            self._sums, self.answered = sums, self.answered + int(count)

    def close(self) -> None:
        """Answer no more from here."""
        self.serving.close()

    def forget(self) -> None:
        """Know of nothing that was spent, before all is read anew."""
        self._sums, self.answered = (0.0, 0.0), 0

    def replay(self, records: list[list]) -> None:
        """Take in what others spent.

        Parameters
        ----------
        records : list of lists
        """
        kind, pure, rho, answered = records[-1]
        if kind != "sums":
            raise self.serving.damaged(f"{kind!r} is no sum of prices")
        self._sums, self.answered = (float.fromhex(pure), float.fromhex(rho)), answered
