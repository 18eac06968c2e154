"""The dialogue of one interactive run: what was asked, what was answered, and what a journal keeps of both."""

from dataclasses import dataclass

import numpy as np

from dperm import kernels
from dperm.mechanisms.kernel import definite
from dperm.mechanisms.kernel.interactive import UPDATED, Session
from dperm.mechanisms.queries import Fresh, Noise, first_of, keys, read, stacked, written
from dperm.mechanisms.serving import Listener, Serving


@dataclass(frozen=True)
class Answers:
    """What a private learner answered, and how.

    - updated: shape (m,); a noisy answer of w* itself.
    - frozen: shape (m,); after the last update: of a model that learns no more.
    - vacuous: the run's constants promise nothing for any of them.
    """

    values: np.ndarray
    updated: np.ndarray
    frozen: np.ndarray
    vacuous: bool


class Dialogue(Listener):
    """Queries and answers of one run; holds w*.

    Threads take turns, and so do copies and processes that share a journal; without one, copies and other processes
    are refused (`dperm.mechanisms.serving`). In the journal a query that may be an update is charged before its noise
    is drawn; one that was broken off counts as an update.

    - exact: rows to <w*, phi(z)>; with a journal, of the same w* in every process.
    - rng: with a journal nothing is drawn from it.
    """

    def __init__(self, constants, kernel, exact, rng, *, serving=None):
        self.serving = Serving() if serving is None else serving
        self._constants, self._kernel, self._exact = constants, kernel, exact
        self._noise = Noise(rng) if self.serving.path is None else Fresh()
        self.forget()
        self.serving.listen(self)

    def forget(self) -> None:
        """Go back to the first query, before all records are read anew."""
        self._session = Session(self._constants, self._noise)
        self._points, self.known, self._watch = None, {}, definite.Watch(self._kernel)
        # The query that was charged and is not answered; whether the journal knows the noise on the threshold.
        self._open, self._begun = None, False

    @property
    def asked(self) -> int:
        """Different queries so far."""
        return len(self.known) + self._session.lost

    @property
    def updates(self) -> int:
        """How many of them were paid for, B at most."""
        return self._session.updates

    @property
    def frozen(self) -> bool:
        """Whether all updates were made."""
        return self.updates >= self._session.constants.updates

    def answer(self, X) -> Answers:
        """Answer the rows of X one after another.

        - X: shape (m, d); within R of the kernel that was fitted.
        - Raises DomainViolation: if a row is longer, or all queries so far show that the kernel is not positive
          semidefinite (`dperm.mechanisms.kernel.definite`); nothing is answered then.
        """
        asked = keys(kernels.within(self._kernel, X))
        with self.serving.turn():
            self._begin()
            new = first_of(asked, self.known)
            if new:
                self._give(X[new], [asked[i] for i in new])
            found = np.array([self.known[key] for key in asked]).reshape(-1, 3)
        marks = found[:, 1:].astype(bool)
        return Answers(found[:, 0], marks[:, 0], marks[:, 1], self._session.constants.vacuous)

    def _begin(self):
        """Let the journal know the noise on the threshold, and what was broken off."""
        if not self._begun:
            self.serving.write(["moved", self._session.moved])
            self._begun = True
        if self._open is not None:
            # An interrupt may have left an update that the session knows without its point: they go together.
            if len(self._session.coefficients) > (0 if self._points is None else self._points.shape[0]):
                self._points = stacked(self._points, self._open[1])
            self.serving.write(["lost", self._session.lose()])
            self._open = None

    def _give(self, rows, asked):
        """Answer new queries, each on disk before the next is charged, and the last before any leaves."""
        self._watch.see(rows)
        told = []
        try:
            for i, (key, exact, own) in enumerate(
                zip(asked, self._exact(rows), self._kernel.diagonal(rows), strict=True)
            ):
                row = rows[[i]]
                if not (self.frozen or self._session.halted):
                    # Before: an interrupt after the write must not let them be written again below.
                    due, told = told, []
                    if self.serving.path is not None:
                        self.serving.write(*due, ["asked", key.hex(), *written(row)])
                    self._open = key.hex(), row
                value, updated, frozen = self.known[key] = self._ask(row, float(exact), float(own), key)
                self._open = None
                told.append(["told", key.hex(), value, updated, frozen, self._session.moved if updated else None])
        finally:
            self.serving.write(*told)

    def _ask(self, row, exact, own, key):
        """Answer a new query: its value, whether it was paid for, and whether the model was frozen."""
        frozen = self.frozen
        value, status = self._session.ask(exact, self._cross(row), own, key)
        if status == UPDATED:
            self._points = stacked(self._points, row)
        return value, status == UPDATED, frozen

    def _cross(self, row):
        return self._kernel(row, self._points)[0] if self._points is not None else np.zeros(0)

    def replay(self, records: list[list]) -> None:
        """Take in what others asked and were told."""
        for kind, *said in records:
            if kind == "moved":
                (self._session.moved,), self._begun = said, True
            elif kind == "asked":
                self._open = said[0], read([said[1:]])
                self._watch.see(self._open[1])
            elif kind == "lost":
                self._session.lose(*said)
                self._open = None
            elif kind == "told":
                self._learn(*said)

    def _learn(self, key, value, updated, frozen, moved):
        """Take in an answer of another process."""
        if not frozen:
            if self._open is None or self._open[0] != key:
                raise self.serving.damaged("an answer has no query")
            row, self._open = self._open[1], None
            if updated:
                self._session.update(value, self._cross(row), float(self._kernel.diagonal(row)[0]), moved)
                self._points = stacked(self._points, row)
        self.known[bytes.fromhex(key)] = value, updated, frozen
