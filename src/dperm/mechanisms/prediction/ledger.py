r"""Counts answers against a budget, before they are given (dwork2018, Section 1; docs/privacy.md, section 12, T).

Prices fixed beforehand (`PredictionLedger`): every answer is `each`-DP given all before, so that the number of answers
that fit is a constant, the largest that any valid accountant allows (`accounting.filters`). The ledger counts to it.

Prices chosen as one goes (`AdaptiveLedger`): an answer of price e adds e to one sum and its zCDP (e^2/2, or e^2/8 of
bounded range) to another; it may be given if the first sum stays within epsilon or the second within the rho that
(epsilon, delta) allows.

With a file the ledger outlives its process: what is about to be spent is on disk before `charge` returns, in blocks of
`reserve` answers, and what a crash leaves unanswered of a block stays spent. `close` gives it back. The file is all
that is known of earlier answers: whoever deletes it has a new budget for the same data, which no statement covers.

All answers must concern the same data, under one neighbouring relation.
"""

import contextlib
import math
import os
import threading
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

from dp_accounting import dp_event

from dperm.accounting import composition, filters
from dperm.domain import Budget, Neighbours, number, one_of
from dperm.errors import BudgetExhausted, CorruptFile, InvalidBudget, ReleaseError
from dperm.mechanisms.prediction.journal import Journal

# Of the default reserve: a crash costs at most this part of the answers, and a ledger writes about so many lines.
_BLOCKS = 200


class Count:
    """A number of answers that may be given, counted before they are.

    Parameters
    ----------
    answers : int
        How many; 0 or above.
    terms : dict
        What an answer is; a journal of other terms is refused.
    path : path-like, optional
        The journal. Without one, nothing outlives the object, and a copy of it counts for itself.
    reserve : int, optional
        Answers written off at once; by default half a per cent, 1 at least. `charge` is quick within a block.

    Attributes
    ----------
    answers : int
    """

    def __init__(
        self, answers: int, terms: Mapping[str, Any], *, path: str | Path | None = None, reserve: int | None = None
    ):
        self.answers = answers
        self._reserve = max(1, answers // _BLOCKS) if reserve is None else reserve
        whole("reserve", self._reserve)
        self._lock = threading.Lock()
        self._journal, self._answered, self._closed = None, 0, False
        # Answers up to here are on disk; without a file, all are.
        self._written, self._owner = answers, 0
        if path is not None:
            self._journal = Journal(path, {**terms, "answers": answers})
            self._owner = os.getpid()
            self._answered = self._written = _count(self._journal, answers)

    @property
    def answered(self) -> int:
        """Answers charged so far, with those that a crash left unanswered."""
        return self._answered

    @property
    def remaining(self) -> int:
        """Answers that may still be charged."""
        return self.answers - self._answered

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
            If the ledger was closed, the journal is that of the process that this one was forked from, or its file is
            gone.
        ValueError
            If it is no count.
        """
        with self._lock:
            # Within a block nothing needs to be written: this is all that a charge costs then.
            if count.__class__ is int and 0 < count <= self._written - self._answered and self._mine():
                self._answered += count
            else:
                self._charge(count)

    def _mine(self) -> bool:
        return self._journal is None or self._owner == os.getpid()

    def _charge(self, count: int) -> None:
        if count == 0:
            return
        whole("count", count)
        if self._closed:
            of = "" if self._journal is None else f" of {self._journal.path}"
            raise ReleaseError(f"the ledger{of} was closed; open it anew")
        if count > self.remaining:
            raise BudgetExhausted(
                f"{count} new answers were asked for and {self.remaining} of {self.answers} remain: nothing was "
                "answered or charged; repeat earlier queries, which are free, or ask for fewer"
            )
        after = self._answered + int(count)
        if self._journal is not None and (after > self._written or not self._mine()):
            upto = min(self.answers, self._answered + max(int(count), self._reserve))
            self._journal.append(str(upto))
            self._written = upto
        self._answered = after

    def close(self) -> None:
        """Give back what was written off and not answered, and let others open the journal; no answer after that."""
        with self._lock:
            if not self._mine():
                return
            left, self._written, self._closed = self._written - self._answered, self._answered, True
            if self._journal is not None:
                # A journal that lost its file has nothing to give back to.
                with contextlib.closing(self._journal), contextlib.suppress(ReleaseError):
                    if left:
                        self._journal.append(f"{self._answered}")

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.close()

    def __getstate__(self):
        if self._journal is not None:
            raise TypeError(f"the ledger of {self._journal.path} cannot be copied: two would answer on one budget")
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._lock = threading.Lock()


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
    ReleaseError
        If another ledger has the journal open.

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
            whole("answers", answers)
            each = filters.each(epsilon, delta, answers, **how)
        else:
            answers = filters.capacity(epsilon, delta, each, **how)
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


class AdaptiveLedger:
    """Answers within (epsilon, delta) whose prices are chosen as one goes, each known before its answer is given.

    Parameters
    ----------
    epsilon : float
        Above 0; of all answers together.
    delta : float
        0, or in [1e-300, 1).
    neighbours : {"replace", "add_remove"}
    path : path-like, optional
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
        self._most = (self.epsilon, composition.zcdp_rho(epsilon, delta) if delta else 0.0)
        self._sums, self.answered = (0.0, 0.0), 0
        self._lock, self._journal = threading.Lock(), None
        if path is not None:
            terms = {"budget": [self.epsilon, self.delta], "each": "as asked", "neighbours": neighbours}
            self._journal = Journal(path, terms)
            if self._journal.spent:
                pure, rho, answered = self._journal.spent.split()
                self._sums, self.answered = (float.fromhex(pure), float.fromhex(rho)), int(answered)

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
            If the journal was closed, or is that of the process that this one was forked from.
        InvalidBudget, ValueError
            If the price or the count is none.
        """
        number("each", each, 0, math.inf, error=InvalidBudget, remedy="it is the epsilon of one answer")
        whole("count", count)
        prices = (each, filters.rho(each, bounded_range))
        with self._lock:
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
            if self._journal is not None:
                self._journal.append(f"{sums[0].hex()} {sums[1].hex()} {self.answered + count}")
            self._sums, self.answered = sums, self.answered + count

    def close(self) -> None:
        """Let others open the journal; no answer after that."""
        if self._journal is not None:
            self._journal.close()


def whole(name: str, value: int) -> None:
    """Refuse what is no number of answers.

    Parameters
    ----------
    name : str
        What the user calls the value.
    value : int

    Raises
    ------
    ValueError
        If it is no integer, or below 1.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name}={value!r} must be an integer, 1 or above; it counts answers")


def _count(journal: Journal, answers: int) -> int:
    """What a journal of counts says was charged."""
    if not journal.spent:
        return 0
    if not (journal.spent.isdigit() and int(journal.spent) <= answers):
        raise CorruptFile(f"{journal.path}: {journal.spent!r} is no number of answers; take it as all spent")
    return int(journal.spent)
