"""The open session: what is charged, refused, stated."""

import contextlib
import json
import math
import os
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dp_accounting.dp_event import GaussianDpEvent, ZCDpEvent
from sklearn.exceptions import FitFailedWarning

from dperm.accounting import adaptive
from dperm.accounting.adaptive import Accountant, Cost
from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import Budget, Neighbours, PrivacyStatement, integer, one_of
from dperm.errors import BudgetExhausted, PrivacyLeakWarning, SessionError, SpentAgainWarning
from dperm.mechanisms.session import callers, workers
from dperm.mechanisms.session.books import OWN, Books
from dperm.mechanisms.session.statement import SessionStatement, stated
from dperm.mechanisms.stores.choice import place

# By which a process that this one starts learns that a session is open.
_VARIABLE = "DPERM_SESSION"
_OPENING = threading.RLock()
# By id of the estimator, the records that it was last fitted on: the very array, as long as it lives.
_SEEN: dict[int, "weakref.ref | None"] = {}


class _Open:
    """The session that is open in this process."""

    session: "PrivacySession | None" = None


class PrivacySession:
    """One budget over everything that is done with one data set.

    While it is open (`with`), each fit of a private estimator is charged before it runs, in whatever thread, clone,
    Pipeline or cross-validation it happens, and a fit that does not fit any more is refused. Refused too are fits that
    promise nothing, those of another neighbouring relation, fits beside which a step of a Pipeline or an estimator
    around them learns from the records without privacy, cross-validation whose folds are cut by other records (take
    IndependentFolds), and choices by private scores (take PrivateSearchCV, which is charged as a whole). What is done
    to the records outside of these nobody sees: docs/session.md.

    Parameters
    ----------
    epsilon, delta : float, default=1.0, 0.0
        Of all fits together.
    neighbours : {"add_remove", "replace"}, default="add_remove"
        The relation of the promise; every fit must have it.
    accountant : {"basic", "renyi", "gaussian"}, default="basic"
        How costs add up. "renyi" allows more of many small fits, "gaussian" of fits with Gaussian noise; both need
        delta > 0.
    ledger : path-like or URL, optional
        A journal, in a file or a database (`dperm.mechanisms.stores`): then several processes, and later sessions,
        share the budget, and a crash forgets no charge. One for each data set. Without it the budget ends with the
        session, and other processes are refused.
    rows_per_person : int, default=1
        Most rows that one person has, a promise of yours; the statement then speaks of persons too. Above 1 under
        add/remove alone.

    Raises
    ------
    InvalidBudget
        If the budget is impossible, or the ledger is of another one.
    SessionError
        On opening, if a session is open in this process.

    References
    ----------
    Rogers, Roth, Ullman & Vadhan 2016; Feldman & Zrnic 2021; Smith & Thakurta 2022; docs/privacy.md, section 15,
    Theorem Y. Not of dwork2018, jain2013, kifer2012 or li2021: each states one release.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import OutputPerturbation, PrivacySession
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 500)
    >>> y = np.array([1, 1, 0, 0] * 500)
    >>> with PrivacySession(epsilon=2.0, delta=1e-5) as session:
    ...     model = OutputPerturbation(epsilon=1.5, delta=1e-6, classes=(0, 1)).fit(X, y)
    ...     session.spent.epsilon, session.left.epsilon
    (1.5, 0.5)
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        *,
        neighbours: Neighbours = "add_remove",
        accountant: Accountant = "basic",
        ledger: str | Path | None = None,
        rows_per_person: int = 1,
    ):
        self.total = Budget(epsilon, delta)
        one_of("neighbours", neighbours, Neighbours)
        one_of("accountant", accountant, Accountant)
        adaptive.check(self.total, accountant)
        rows_per_person = integer("rows_per_person", rows_per_person, 1, "it is the most rows of one person")
        if rows_per_person > 1 and neighbours == "replace":
            raise ValueError(
                f"rows_per_person={rows_per_person}: with neighbours='replace' the number of rows is public, and a "
                "person with another number changes it; take neighbours='add_remove'"
            )
        self.neighbours, self.accountant, self.rows_per_person = neighbours, accountant, rows_per_person
        self.ledger = None if ledger is None else place(ledger)
        self._books = Books(self._terms(), self.ledger)

    def _terms(self) -> dict[str, Any]:
        return {
            "what": "session", "epsilon": self.total.epsilon, "delta": self.total.delta, "neighbours": self.neighbours,
            "accountant": self.accountant, "rows_per_person": self.rows_per_person,
        }  # fmt: skip

    def __enter__(self) -> "PrivacySession":
        with _OPENING:
            if _Open.session is not None:
                raise SessionError("a session is open in this process; close it first: one budget is spent at a time")
            _Open.session, self._owner = self, os.getpid()
            told = {**self._terms(), "ledger": None if self.ledger is None else str(self.ledger), "owner": os.getpid()}
            self._before = os.environ.get(_VARIABLE)
            os.environ[_VARIABLE] = json.dumps(told)
        try:
            workers.renew()
        except BaseException:  # An interrupt of the wait for their work leaves no session open.
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        with _OPENING:
            if _Open.session is not self:
                raise SessionError("this session is not the open one: it is over, or was never entered with `with`")
            _Open.session = None
            os.environ.pop(_VARIABLE, None)
            if self._before is not None:
                os.environ[_VARIABLE] = self._before
        workers.renew()

    def charge(self, epsilon: float, delta: float = 0.0, *, words: str) -> None:
        """Charge a release of your own, before it runs.

        Parameters
        ----------
        epsilon, delta : float
            What it promises, under the session's relation.
        words : str
            What it is, for the statement.

        Raises
        ------
        BudgetExhausted
            If it does not fit any more; nothing is charged then.
        """
        self._charge(Cost(epsilon, delta), words, OWN)

    def _charge(self, cost: Cost, words: str, guarantee: str | None = None) -> int:
        books = self._books
        with books.serving.turn():
            if not adaptive.spent(self.total, books.costs + Counter([cost]), self.accountant).fits:
                now = adaptive.spent(self.total, +books.costs, self.accountant)
                raise BudgetExhausted(
                    f"{words}: epsilon={cost.epsilon:g}, delta={cost.delta:g} does not fit: of the session's "
                    f"({self.total.epsilon:g}, {self.total.delta:g}) ({now.epsilon:g}, {now.delta:g}) is spent by "
                    f"{len(books.entries)} releases; nothing was run or charged"
                )
            return books.charge(cost, words, guarantee)

    def _released(self, number: int, told: PrivacyStatement) -> None:
        """Write down what a fit promises, and the law of its noise, which is as public as the budget."""
        with self._books.serving.turn():
            self._books.released(number, told.guarantee, seeded=told.seeded, noise=_noise(told.event))

    def _give_back(self, number: int) -> None:
        with self._books.serving.turn():
            self._books.give_back(number)

    @property
    def spent(self) -> adaptive.Spent:
        """What all releases so far spend together."""
        with self._books.serving.turn():
            costs = +self._books.costs
        return adaptive.spent(self.total, costs, self.accountant)

    @property
    def left(self) -> adaptive.Spent:
        """The budget less what is spent; but with "basic" a single release may cost more or less than that."""
        now = self.spent
        epsilon = float(adaptive.difference(self.total.epsilon, now.epsilon))
        return adaptive.Spent(epsilon, float(adaptive.difference(self.total.delta, now.delta)), now.fits)

    def has(self, model: Any) -> bool:
        """Say whether a fit of such a model, at its budget, was charged here and released.

        Parameters
        ----------
        model : estimator
        """
        cost = _cost(model, self)
        if cost is None:
            return True
        with self._books.serving.turn():
            entries = list(self._books.entries.values())
        made = {(one.words, one.cost.epsilon, one.cost.delta) for one in entries if one.guarantee}
        return (type(model).__name__, cost.epsilon, cost.delta) in made

    def statement(self) -> SessionStatement:
        """Return what all releases so far promise together."""
        with self._books.serving.turn():
            entries = list(self._books.entries.values())
        now = adaptive.spent(self.total, [one.cost for one in entries], self.accountant)
        return stated(entries, now, self.total, self.neighbours, self.accountant, self.rows_per_person)


def _noise(event: Any) -> dict[str, float]:
    """Return what a cost says of the noise of a release, by its event."""
    if isinstance(event, GaussianDpEvent):
        return {"mu": 1 / event.noise_multiplier}
    return {"rho": event.rho} if isinstance(event, ZCDpEvent) and event.xi == 0 else {}


@contextlib.contextmanager
def charged(model: Any, owner: Any, given: tuple) -> Iterator[None]:
    """Charge the open session for a fit, if there is one; warn, outside, of what nobody else would say.

    `model` is what is fitted, a view of `owner`, the user's object; `given` are the arguments of `fit`.

    A fit inside another one is part of it. A fit that is refused by an error of its arguments, or whose statement
    promises less than was charged for, releases nothing and gives its charge back; one that a solver or an interrupt
    ended keeps it.
    """
    if callers.within_a_fit():
        yield
        return
    session, name = _current(), type(model).__name__
    _look_around(session, name)
    cost = None if session is None else _cost(model, session)
    number = None
    if session is not None and cost is not None:
        _same_relation(session, model)
        number = session._charge(cost, name)
    elif session is None:
        _again(owner, given, name)
    try:
        yield
        if number is not None:
            _as_charged(session, model, cost)
            session._released(number, _for_rows(model, session))
    except (TypeError, ValueError):
        if number is not None:
            session._give_back(number)
        raise


def _current() -> PrivacySession | None:
    """Return the session of this process, or of the one that started it."""
    with _OPENING:
        session, told = _Open.session, os.environ.get(_VARIABLE)
        # A forked process has the session that it inherited: with a ledger it goes on there.
        if session is not None and (session.ledger is not None or session._owner == os.getpid()):
            return session
        terms = json.loads(told) if told else None
        if terms is None or terms["owner"] == os.getpid():
            return None
        if terms["ledger"] is None:
            raise SessionError(
                f"process {terms['owner']} has a session open and started this one ({os.getpid()}), which cannot see "
                "its budget; open it with ledger='a file', or fit in that process (n_jobs=1, or threads)"
            )
        _Open.session = PrivacySession(
            terms["epsilon"], terms["delta"], neighbours=terms["neighbours"], accountant=terms["accountant"],
            ledger=terms["ledger"], rows_per_person=terms["rows_per_person"],
        )  # fmt: skip
        return _Open.session


def _look_around(session: PrivacySession | None, name: str) -> None:
    words = callers.complaint(name, None if session is None else session.neighbours)
    if words is None:
        return
    if session is None:
        warnings.warn(words, PrivacyLeakWarning, stacklevel=5)
        return
    if callers.unheard():
        warnings.warn(words, FitFailedWarning, stacklevel=5)
    raise SessionError(words)


def _cost(model: Any, session: PrivacySession | None) -> Cost | None:
    """Return what a fit may spend; None of a Student, whose teacher has paid."""
    if not hasattr(model, "epsilon"):
        return None
    # Of a promise for persons, what is spent for a row: the session's relation is of records.
    of = model.row_budget(_most_rows(session)) if hasattr(model, "row_budget") else model
    cost = Cost(of.epsilon, getattr(of, "delta", 0.0))
    if getattr(model, "gaussian", False) and cost.delta:
        # No Gaussian release at this budget has more, but for rounding.
        return replace(cost, mu=gaussian_ratio(cost.epsilon, cost.delta) * (1 + 1e-9))
    return cost


def _same_relation(session: PrivacySession, model: Any) -> None:
    relation = getattr(model, "neighbours", getattr(getattr(model, "estimator", None), "neighbours", None))
    if relation is not None and relation != session.neighbours:
        raise SessionError(
            f"{type(model).__name__} has neighbours={relation!r} and the session {session.neighbours!r}; promises "
            "under two relations do not add up: give both the same"
        )


def _most_rows(session: PrivacySession | None) -> int | None:
    """Return how many rows a person has at most by the session's promise; of persons with 1 it says nothing."""
    return session.rows_per_person if session is not None and session.rows_per_person > 1 else None


def _for_rows(model: Any, session: PrivacySession) -> PrivacyStatement:
    if not hasattr(model, "row_privacy_"):
        return model.privacy_
    most = _most_rows(session)
    return model.estimator_.privacy_ if most is not None and most <= model.rows else model.row_privacy_


def _as_charged(session: PrivacySession, model: Any, cost: Cost) -> None:
    """Refuse a fit that does not promise what was charged; nothing of it is kept."""
    told = _for_rows(model, session)
    if told.guarantee == "none":
        raise SessionError(f"{type(model).__name__} promises nothing, because {told.reason}; nothing was released")
    more_noise = cost.mu is None or _noise(told.event).get("mu", math.inf) <= cost.mu
    within = told.epsilon <= cost.epsilon and told.delta <= cost.delta and more_noise
    if not within or told.neighbours != session.neighbours:
        raise SessionError(f"{type(model).__name__} was charged {cost} and states {told}; nothing was released")


def _again(owner: Any, given: tuple, name: str) -> None:
    """Warn of a second fit of an object on the very same array; nothing of its content is looked at."""
    with contextlib.suppress(TypeError):
        records = weakref.ref(given[0]) if given else None
        before = _SEEN.get(id(owner))
        if before is None:
            weakref.finalize(owner, _SEEN.pop, id(owner), None).atexit = False
        elif records is not None and before() is given[0]:
            warnings.warn(
                f"this {name} is fitted on the same records again: both fits together spend what they promise twice; "
                "PrivacySession adds up what is spent",
                SpentAgainWarning,
                stacklevel=5,
            )
        _SEEN[id(owner)] = records
