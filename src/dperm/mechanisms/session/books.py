"""What a session has charged: in memory for one process, or in a journal that any number of processes share."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dperm.accounting.adaptive import Cost
from dperm.mechanisms.serving import Listener, Serving

# Of a release that is not an estimator's: what it promises is its caller's word.
OWN = "claimed"


@dataclass(frozen=True)
class Entry:
    """What was charged: for what, and, once it has been released, with which guarantee and whether from a seed."""

    cost: Cost
    words: str
    guarantee: str | None = None
    seeded: bool = False


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
        self.entries: dict[int, Entry] = {}
        # How many entries have each cost: sums over thousands of releases would take longer than a fit.
        self.costs: Counter[Cost] = Counter()
        self._next = 0

    def replay(self, records: list[list]) -> None:
        """Take in what other processes charged and gave back."""
        for kind, number, *rest in records:
            if kind == "charge":
                epsilon, delta, words, guarantee, *noise = rest
                self._put(number, Entry(Cost(epsilon, delta, *noise), words, guarantee))
            elif kind == "return":
                self._put(number, None)
            elif kind == "released":
                self._released(number, *rest)
            else:
                raise self.serving.damaged(f"{kind!r} is no charge of a session")

    def charge(self, cost: Cost, words: str, guarantee: str | None = None) -> int:
        """Write a charge down, on disk before this returns, and return its number; needs the turn."""
        number = self._next
        self.serving.write(["charge", number, cost.epsilon, cost.delta, words, guarantee, cost.rho, cost.mu])
        self._put(number, Entry(cost, words, guarantee))
        return number

    def give_back(self, number: int) -> None:
        """Write down that a fit released nothing; needs the turn."""
        self.serving.write(["return", number])
        self._put(number, None)

    def released(self, number: int, guarantee: str, *, seeded: bool, noise: Mapping[str, float]) -> None:
        """Write down what a charged fit turned out to promise, and its rho or mu (`Cost`); needs the turn."""
        laws = noise.get("rho"), noise.get("mu")
        self.serving.write(["released", number, guarantee, seeded, *laws])
        self._released(number, guarantee, seeded, *laws)

    def _released(
        self, number: int, guarantee: str, seeded: bool, rho: float | None = None, mu: float | None = None
    ) -> None:
        entry = self.entries[number]
        cost = replace(entry.cost, rho=rho, mu=mu)
        self._put(number, replace(entry, cost=cost, guarantee=guarantee, seeded=seeded))

    def _put(self, number: int, entry: Entry | None) -> None:
        """Keep an entry, or drop it. An interrupt between two lines counts too much, and gives no number twice."""
        self._next = max(self._next, number + 1)
        if entry is not None:
            self.costs[entry.cost] += 1
        before = self.entries.pop(number, None)
        if entry is not None:
            self.entries[number] = entry
        if before is not None:
            self.costs[before.cost] -= 1
