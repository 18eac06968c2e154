"""What an attack on another library's promise is made of; a library's page (`<name>/attacks.py`) is a list of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dperm.audit import Event

BOTH = ("add_remove", "replace")


@dataclass(frozen=True)
class Given:
    """A pair made by hand: `mechanism` as for `dperm.audit.lower_bound`, two data sets, and what they are in words."""

    mechanism: Callable
    data: Any
    neighbour: Any
    words: str
    events: Sequence[Event] = ()


@dataclass(frozen=True)
class Searched:
    """A pair that `dperm.audit.search` is to find: within what, and with how many draws a side."""

    mechanism: Callable
    within: Any
    draws: int = 4_000


@dataclass(frozen=True)
class Attack:
    """One promise of a library, attacked under each relation that it may mean.

    Parameters
    ----------
    claim : str
        What is called, in the library's own names and as its documentation says.
    make : callable
        relation -> Given or Searched.
    promise : str
        The library's words on what holds, and where they stand.
    relations : tuple of str
        Those that the library states; both where it is silent.
    stated : bool
        Does the library state the relation?
    epsilon, delta : float
        The claim.
    draws : int
        A side.
    because : str
        Of a refutation: the place in the library's source, and what its line does.
    exact : mapping
        By relation: what this pair spends, by algebra on the source; inf where an event is impossible on one side.
    known : str
        What upstream knows of it.
    """

    claim: str
    make: Callable[[str], Given | Searched]
    promise: str
    relations: tuple[str, ...] = BOTH
    stated: bool = False
    epsilon: float = 1.0
    delta: float = 0.0
    draws: int = 4_000
    because: str = ""
    exact: Mapping[str, float] | None = None
    known: str = ""
