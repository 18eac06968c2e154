"""Threads in lockstep: they wait for each other in a kernel of the user's, or at each line of the code that answers.

A thread that reads a state before another one has written to it so does it every time, and not by chance. Where a lock
keeps the other threads out, a thread stops waiting for them after half a second, and none waits from then on.
"""

import contextlib
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from dperm import mechanisms

# How long a thread waits for the others, and for all of them to begin.
_PATIENCE, _BEGIN = 0.5, 30.0
_CODE = str(Path(mechanisms.__file__).parent)


class RendezvousKernel:
    """A linear kernel at which threads wait for each other."""

    def __init__(self):
        self._barrier = None

    def __call__(self, X: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return <x, v>, once all threads ask for it or have waited long enough."""
        if self._barrier is not None:
            _wait(self._barrier)
        return np.asarray(X) @ np.asarray(V).T

    def ask(self, ask: Callable[[np.ndarray], Any], batches: list[np.ndarray]) -> list[Any]:
        """Return what a model with this kernel answers to each batch, or the error, asked by threads all at once."""
        self._barrier = threading.Barrier(len(batches))
        try:
            return at_once(ask, batches)
        finally:
            self._barrier = None


def at_once(ask: Callable[[np.ndarray], Any], batches: list[np.ndarray]) -> list[Any]:
    """Return what each batch is answered, or the error that was raised instead, asked by a thread of its own."""
    with ThreadPoolExecutor(len(batches)) as pool:
        asked = [pool.submit(ask, rows) for rows in batches]
    return [one.exception() or one.result() for one in asked]


def in_step(ask: Callable[[np.ndarray], Any], batches: list[np.ndarray]) -> list[Any]:
    """Return as `at_once`, by threads that do one line of the library's mechanisms at a time, together."""
    begin, step = (threading.Barrier(len(batches)) for _ in range(2))

    def line(frame, event, _):
        if event == "line":
            _wait(step)
        return line

    def entered(frame, event, _):
        return line if frame.f_code.co_filename.startswith(_CODE) else None

    def asking(rows):
        before = sys.gettrace()
        begin.wait(_BEGIN)
        sys.settrace(entered)
        try:
            return ask(rows)
        finally:
            sys.settrace(before)

    return at_once(asking, batches)


def _wait(barrier: threading.Barrier) -> None:
    # A barrier that broke stays broken: where a lock keeps a thread out, none waits from then on.
    with contextlib.suppress(threading.BrokenBarrierError):
        barrier.wait(_PATIENCE)
