"""Exact audits of mechanisms with finitely many outcomes: no sampling, all pairs of a tiny domain.

`dperm.laws.finite` computes how far apart two finite laws are, and which event shows it. Neighbouring relation: that of
the pairs which the caller hands in.
"""

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.domain import Neighbours, number, one_of
from dperm.laws.finite import ALIKE, best_event

# A law's probabilities may miss 1 by rounding, not by more.
_SUM = 1e-12
# Above a claim by less than this (relative) is rounding: a tight mechanism attains its claim.
ROUNDING = 1e-9


@dataclass(frozen=True)
class ExactAudit:
    """What an exact audit found: the worst pair, and the event that tells its two inputs apart.

    Parameters
    ----------
    epsilon : float
        Exact for the pairs looked at, but for rounding (a few 1e-15, relative); inf if nothing finite is enough.
    delta : float
    pair : tuple
        (input, neighbour) of the worst pair.
    likelier : {"data", "neighbour"}
        The side on which the event is likelier.
    event : str
        The event in words.
    outcomes : tuple of int
        The outcomes that make up the event.
    probability, other_probability : float
        Of the event, on the likelier side and on the other: epsilon = log((probability - delta)/other_probability).
    """

    epsilon: float
    delta: float
    pair: tuple[Any, Any]
    likelier: str
    event: str
    outcomes: tuple[int, ...]
    probability: float
    other_probability: float

    def refutes(self, epsilon: float) -> bool:
        """Say whether the claim (epsilon, self.delta) is false.

        Parameters
        ----------
        epsilon : float
            The claim.

        Returns
        -------
        bool
            True if the audit's epsilon is above it by more than rounding.
        """
        return self.epsilon > epsilon * (1 + ROUNDING)


def exact(law: Callable[[Any], Sequence[float]], pairs: Iterable[tuple[Any, Any]], *, delta: float = 0.0) -> ExactAudit:
    """Return the exact epsilon of a finite mechanism over these pairs, in both directions.

    Parameters
    ----------
    law : callable
        input -> the probabilities of the outcomes, always the same outcomes in the same order.
    pairs : iterable of tuple
        (input, neighbour), each pair once; see `neighbours_of_tiny_domain`.
    delta : float
        In [0, 1).

    Returns
    -------
    ExactAudit
        Of the worst pair: the first of those with the largest epsilon.

    Raises
    ------
    ValueError
        If there is no pair, a law is no law, or two laws do not have the same outcomes.
    """
    delta = number("delta", delta, 0, 1, ends="[)", remedy="take 0 for pure privacy")
    known: dict[Hashable, np.ndarray] = {}
    # Most pairs of a tiny domain share their laws: each two laws are compared once.
    compared: set[tuple[bytes, bytes]] = set()
    worst: ExactAudit | None = None
    for pair in pairs:
        first, second = (_law(law, value, known) for value in pair)
        key = (first.tobytes(), second.tobytes())
        if key in compared:
            continue
        compared.add(key)
        if len(first) != len(second):
            raise ValueError(
                f"law({pair[0]!r}) has {len(first)} outcomes and law({pair[1]!r}) has {len(second)}: "
                "give outcomes that cannot happen the probability 0"
            )
        for side, p, q in (("data", first, second), ("neighbour", second, first)):
            epsilon, chosen = best_event(p, q, delta)
            if worst is None or epsilon > worst.epsilon * (1 + ALIKE):
                sums = float(p[chosen].sum()), float(q[chosen].sum())
                worst = ExactAudit(epsilon, delta, tuple(pair), side, _words(chosen), tuple(map(int, chosen)), *sums)
    if worst is None:
        raise ValueError("pairs is empty: an exact audit needs at least one pair of neighbours")
    return worst


def neighbours_of_tiny_domain(
    records: Iterable[Hashable], size: int, relation: Neighbours, *, ordered: bool = False
) -> Iterator[tuple[tuple, tuple]]:
    """Yield every pair of neighbouring data sets over these records, each unordered pair once.

    Parameters
    ----------
    records : iterable
        All that a record may be: few, and all different.
    size : int
        Records of a data set, 1 or above. "replace": both have `size`. "add_remove": the neighbour has `size`, the
        first one fewer.
    relation : {"add_remove", "replace"}
    ordered : bool
        False: data sets are multisets, given as tuples in the order of `records`. True: they are sequences, for
        mechanisms to which the order matters (partitions, ties); the replaced record keeps its place, and the added
        record may stand anywhere.

    Yields
    ------
    data, neighbour : tuple
        Of records.

    Raises
    ------
    ValueError
        If a record is listed twice, `size` is below 1 or `relation` is another word.
    """
    one_of("relation", relation, Neighbours)
    records = tuple(records)
    if len(set(records)) < len(records):
        raise ValueError(f"records={records!r} lists a record twice: list each once")
    if size < 1:
        raise ValueError(f"size={size} must be 1 or above: neighbours differ in one record")
    rank = {record: place for place, record in enumerate(records)}

    def joined(rest: tuple, place: int, record: Hashable) -> tuple:
        together = (*rest[:place], record, *rest[place:])
        return together if ordered else tuple(sorted(together, key=rank.__getitem__))

    common = itertools.product(records, repeat=size - 1)
    if not ordered:
        common = itertools.combinations_with_replacement(records, size - 1)
    for rest in common:
        for place in range(size if ordered else 1):
            if relation == "replace":
                for record, other in itertools.combinations(records, 2):
                    yield joined(rest, place, record), joined(rest, place, other)
                continue
            for record in records:
                # Before or after its equal is the same sequence.
                if not (ordered and place and rest[place - 1] == record):
                    yield rest, joined(rest, place, record)


def _words(chosen: np.ndarray, most: int = 10) -> str:
    more = f" and {len(chosen) - most} more" if len(chosen) > most else ""
    return f"the outcome is in {{{', '.join(map(str, chosen[:most]))}{more}}}"


def _law(law: Callable, value: Any, known: dict[Hashable, np.ndarray]) -> np.ndarray:
    """Return the checked law of one input, from `known` if the input is hashable and has been asked before."""
    try:
        if value in known:
            return known[value]
    except (TypeError, ValueError):  # arrays
        return _checked(law(value), value)
    known[value] = _checked(law(value), value)
    return known[value]


def _checked(probabilities: Sequence[float], value: Any) -> np.ndarray:
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 1 or not len(p):
        raise ValueError(f"law({value!r}) has the shape {p.shape}: give one probability per outcome, as a flat array")
    if not (p >= 0).all() or not abs(math.fsum(p) - 1) <= _SUM:
        raise ValueError(
            f"law({value!r}) is no law: probabilities must be 0 or above and sum to 1 within {_SUM:g} "
            f"(least {p.min()}, sum {math.fsum(p)!r})"
        )
    return p
