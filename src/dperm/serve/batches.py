"""Requests that wait are answered together: one turn, one commit, however many they are."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Full(Exception):
    """Too many wait."""


class Batches(Generic[Q, A]):
    """Hands what waits to one thread at a time, all of it as soon as none is busy.

    - answer: called in the thread, with at most `most` questions; gives one answer each.
    - waiting: how many may wait.
    """

    def __init__(self, answer: Callable[[Sequence[Q]], list[A]], *, most: int = 256, waiting: int = 4096):
        self._answer, self._most, self._room = answer, most, waiting
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._busy = False

    async def ask(self, question: Q) -> A:
        """Return the answer; raises what the thread raised for its batch, or `Full`."""
        if len(self._waiting) >= self._room:
            raise Full
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        self._start()
        return await future

    def _start(self) -> None:
        if self._busy or not self._waiting:
            return
        batch, self._waiting = self._waiting[: self._most], self._waiting[self._most :]
        self._busy = True
        loop = asyncio.get_running_loop()
        # The loop's own threads end with it.
        work = loop.run_in_executor(None, self._answer, [question for question, _ in batch])
        work.add_done_callback(lambda done: self._done(batch, done))

    def _done(self, batch: list[tuple[Q, "asyncio.Future[A]"]], done: "asyncio.Future[list[A]]") -> None:
        self._busy = False
        error = done.exception()
        for k, (_, future) in enumerate(batch):
            # A client may have gone; what it asked is answered and kept all the same.
            if not future.done():
                future.set_exception(error) if error else future.set_result(done.result()[k])
        self._start()
