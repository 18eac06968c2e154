"""How interactive mechanisms take turns, so that one budget is never spent twice: a lock, an owner, perhaps a journal.

A mechanism that answers query after query on one budget has a state: what it counted, what it answered, the directions
of its path. If two threads read the state, compute, and write it back, or if two copies of the state answer, then the
data are released twice on one budget. So whoever answers takes a *turn*:

- one thread at a time, whatever is asked of the same object;
- only in the process that fitted it: a forked process is refused, and so is every copy (pickle, copy, deepcopy);
- unless there is a journal: then copies and processes share it, one at a time, and before its turn each reads what the
  others wrote. An answer is on disk before it is returned, and its charge before it or with it. So nobody knows an
  answer that the journal does not contain, whenever a process is killed, and what fails otherwise stays charged.

The state itself is kept by *listeners*. They are told the records that others wrote, and forget all of their state
where it has to be read anew: in a new process, in a copy, and after an unforeseen error.
"""

import copy
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dperm.errors import DpermError, ReleaseError
from dperm.mechanisms.journal import salted
from dperm.mechanisms.stores.choice import born, opened, place


class Listener(ABC):
    """Keeps a part of the state, and is copied with its turns or not at all."""

    serving: "Serving"

    @abstractmethod
    def forget(self) -> None:
        """Go back to the state before the first record."""

    @abstractmethod
    def replay(self, records: list[list]) -> None:
        """Take in what others recorded; of kinds that are not one's own nothing."""

    def __getstate__(self):
        self.serving.alone()
        return dict(self.__dict__)

    def __setstate__(self, state):
        # A copy reads the journal at its first turn.
        self.__dict__.update(state)
        self.forget()

    def __copy__(self):
        """Listen to turns of one's own."""
        return copy.deepcopy(self)


# All there are, for a process that was just forked: what it inherited was made for another one, perhaps in the middle
# of a turn.
_SERVINGS = weakref.WeakSet()
os.register_at_fork(after_in_child=lambda: [serving.begin(forked=True) for serving in list(_SERVINGS)])


class Serving:
    """Turns of who answers on one budget.

    - terms: what the answers are; a journal of others is refused. None, with a path: whatever one that exists says, for
      who keeps its accounts and answers nothing.
    """

    def __init__(
        self, path: str | Path | None = None, terms: Mapping[str, Any] | None = None, bound: bytes | None = None
    ):
        self.path, self._header, self._salt = None, b"", os.urandom(16).hex()
        if path is not None:
            self.path = place(path)
            self._header = born(self.path, terms, bound)
            self._salt = self._header.split(b'"salt": "')[1][:32].decode()
        self.closed, self._listeners, self._owner = False, [], os.getpid()
        self.begin()

    def listen(self, listener: Listener) -> None:
        """Tell a listener from now on what others record, from the first record on."""
        self._listeners.append(listener)
        self._stale = True

    def begin(self, *, forked: bool = False) -> None:
        """Begin in a process, with no lock taken, no open journal and nothing known.

        A forked process is another one even where it has its parent's number, as in a namespace of its own.
        """
        _SERVINGS.add(self)
        self._forked = forked
        # The lock of what needs no look at the journal, and of turns.
        self.lock, self._depth, self._journal, self._stale = threading.RLock(), 0, None, True
        # What waits for the disk, and how many turns there are around those of queries.
        self._together, self._around = None, 0
        for listener in self._listeners:
            listener.forget()

    @contextmanager
    def turn(self, *, inner: bool = False) -> Iterator[None]:
        """Keep everybody else out, having read what they wrote (inner: may be a part of one's own turn)."""
        with self.lock:
            if self._depth > self._around and not inner:
                raise ReleaseError("a query was asked from inside the code that answers another query; ask again later")
            if self._depth and (self._stale or self.closed) and not inner:
                raise ReleaseError("an earlier query of this transaction failed; nothing more is answered in it")
            self._depth += 1
            try:
                if self._depth == 1:
                    self._enter()
                yield
            except BaseException as error:
                # Of an error that nobody foresaw nobody knows where it left the state.
                self._stale = self._stale or not isinstance(error, DpermError)
                raise
            finally:
                self._depth -= 1
                if self._depth == 0 and self._journal is not None:
                    self._journal.unlock()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Take a turn around queries, one after another: all that is recorded in it is on disk when it ends, at once.

        Let no answer leave before it has ended, and none at all if its end raises: nothing of it is sure to be on disk.
        """
        with self.turn(), self.together():
            self._around = 1
            try:
                yield
            finally:
                self._around = 0

    def write(self, *records: Sequence) -> None:
        """Record on disk, in one's turn, if there is a journal; if the disk refuses, answer nothing more from here."""
        if self.path is None or not records:
            return
        if self._together is not None:
            self._together.extend(records)
            return
        # A write before may have failed in this turn.
        self._check_open()
        try:
            self._journal.append(records)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def together(self) -> Iterator[None]:
        """Wait for the disk once, for all that is recorded within, when it ends: by an error as well."""
        if self._together is not None:
            yield
            return
        records = self._together = []
        try:
            yield
        finally:
            self._together = None
            self.write(*records)

    def flush(self) -> None:
        """See onto disk what was recorded so far, and would otherwise wait for the end of `together`."""
        if self._together:
            records, self._together = self._together, None
            try:
                self.write(*records)
            finally:
                records.clear()
                self._together = records

    def salted(self, content: bytes) -> str:
        """Return a digest that only who has the journal can check."""
        return salted(self._salt, content)

    def damaged(self, what: str) -> Exception:
        """Return the error for a record that says what cannot be."""
        return self._journal.damaged(what)

    def close(self) -> None:
        """Answer nothing from here any more."""
        self.closed = True
        if self._journal is not None:
            self._journal.close()

    def alone(self) -> None:
        """Refuse a copy where there is no journal to share."""
        if self.path is None:
            raise ReleaseError(
                "this was fitted without a journal, so it answers alone: a copy (pickle, copy, deepcopy, joblib) would "
                "be a second release on the same budget; fit with state='a file' and all copies share that journal"
            )

    def _enter(self) -> None:
        # An interrupt may have left both standing: what then waits for the end of a turn that is over is never written.
        self._together, self._around = None, 0
        if self._forked or os.getpid() != self._owner:
            if self.path is None:
                raise ReleaseError(
                    f"this was fitted in process {self._owner} without a journal, and only that one may answer: this "
                    f"one, {os.getpid()}, would be a second release on the same budget; fit with state='a file' and "
                    "all processes share that journal"
                )
            self._owner, self._stale, self._forked = os.getpid(), True, False
        self._check_open()
        if self.path is None:
            self._stale = False
            return
        if self._stale:
            self._journal = opened(self.path, self._header)
        self._journal.lock()
        # What is not taken in to the end is taken in from the beginning at the next turn.
        anew, self._stale = self._stale, True
        if anew:
            for listener in self._listeners:
                listener.forget()
        records = self._journal.news()
        if records:
            for listener in self._listeners:
                listener.replay(records)
        self._stale = False

    def _check_open(self) -> None:
        if self.closed:
            of = "" if self.path is None else f" of {self.path}"
            raise ReleaseError(f"the ledger{of} was closed; open it anew")

    def __getstate__(self):
        self.alone()
        own = ("lock", "_depth", "_journal", "_stale", "_together", "_around", "_owner", "_forked")
        return {name: value for name, value in self.__dict__.items() if name not in own}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._owner = os.getpid()
        # Whoever listens has nothing to forget yet: it is not made.
        listeners, self._listeners = self._listeners, []
        self.begin()
        self._listeners = listeners
