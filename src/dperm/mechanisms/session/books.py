"""What a session has charged: in memory for one process, or in a journal that any number of processes share."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dperm.accounting.adaptive import Cost
from dperm.mechanisms.serving import Listener, Serving


class Books(Listener):
    """Charges by their number; whoever reads or writes them has the turn (`serving.turn`)."""

    def __init__(self, terms: Mapping[str, Any], path: str | Path | None):
        self.forget()
        self.serving = Serving(path, terms)
        self.serving.listen(self)
        with self.serving.turn():
            pass  # reads what was charged, and refuses a journal that is none

    def forget(self) -> None:
        """Know of no charge."""
        self.entries: dict[int, tuple[Cost, str]] = {}
        self._next = 0

    def replay(self, records: list[list]) -> None:
        """Take in what other processes charged and gave back."""
        for kind, number, *rest in records:
            if kind == "charge":
                epsilon, delta, words = rest
                self._enter(number, Cost(epsilon, delta), words)
            elif kind == "return":
                self.entries.pop(number, None)
            elif kind == "rho":
                self._narrow(number, *rest)
            else:
                raise self.serving.damaged(f"{kind!r} is no charge of a session")

    def charge(self, cost: Cost, words: str) -> int:
        """Write a charge down, on disk before this returns, and return its number; needs the turn."""
        number = self._next
        self.serving.write(["charge", number, cost.epsilon, cost.delta, words])
        self._enter(number, cost, words)
        return number

    def give_back(self, number: int) -> None:
        """Write down that a fit released nothing; needs the turn."""
        self.serving.write(["return", number])
        self.entries.pop(number, None)

    def narrow(self, number: int, rho: float) -> None:
        """Write down that a charged release is rho-zCDP; needs the turn."""
        self.serving.write(["rho", number, rho])
        self._narrow(number, rho)

    def _narrow(self, number: int, rho: float) -> None:
        cost, words = self.entries[number]
        self.entries[number] = replace(cost, rho=rho), words

    def _enter(self, number: int, cost: Cost, words: str) -> None:
        self.entries[number] = cost, words
        self._next = number + 1
