"""What a mutant is: one mistake, its claim, and what is attacked of it and of its correct twin."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dperm.audit.target import Target
from dperm.domain import Neighbours

Attack = Literal["sampling", "raw", "exact"]


@dataclass(frozen=True)
class Sampled:
    """What is attacked by drawing from it; if it has `noise` and `law`, its noise is tested too.

    A mechanism whose runs are dear is drawn from at most `most_draws` times a side.
    """

    mechanism: Target | Callable[[Any, int, np.random.Generator], np.ndarray]
    data: Any
    neighbour: Any
    most_draws: int | None = None


@dataclass(frozen=True)
class Finite:
    """What is attacked exactly: `law` maps an input to probabilities of outcomes, `pairs` are all neighbours."""

    law: Callable[[Any], np.ndarray]
    pairs: Iterable[tuple[Any, Any]]


@dataclass(frozen=True)
class Mutant:
    """A mechanism with one mistake: `broken` says which, `source` where it was made (a paper's erratum, a library).

    It claims (epsilon, delta). `make` gives the mutant if True, else its correct twin; with `raw` the outputs are
    looked at bit by bit.
    """

    name: str
    broken: str
    source: str
    neighbours: Neighbours
    epsilon: float
    delta: float
    make: Callable[[bool], Sampled | Finite]
    raw: bool = False

    @property
    def attack(self) -> Attack:
        """Return how it is attacked."""
        if isinstance(self.make(True), Finite):
            return "exact"
        return "raw" if self.raw else "sampling"


def mutant(
    broken: str, source: str, neighbours: Neighbours, *, epsilon: float = 1.0, delta: float = 0.0, raw: bool = False
) -> Callable[[Callable[[bool], Sampled | Finite]], Mutant]:
    """Turn a function into a mutant of its name: called with True it gives the mutant, with False the twin."""

    def of(make: Callable[[bool], Sampled | Finite]) -> Mutant:
        return Mutant(make.__name__.replace("_", "-"), broken, source, neighbours, epsilon, delta, make, raw)

    return of


def mutants_of(module: Mapping[str, Any]) -> tuple[Mutant, ...]:
    """Return the mutants that a module defines, in the order in which they stand there."""
    return tuple(value for value in module.values() if isinstance(value, Mutant))
