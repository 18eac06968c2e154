"""Outputs of any shape: numbers, labels, lists of any length, fitted models, and calls that fail.

An output is taken apart into leaves, each a number or a word with its place (`dperm.audit.leaves`); a call that raises
an Exception has the leaf `raised`. Some draws of their own, of both sides, choose the columns: of each place its
numbers as they are, and its words in the order of how much likelier the data made them than the neighbour (where it has
both, two columns); one for all that is discrete together (a transcript); one that says whether the output has what
these draws never showed. Whatever was chosen, a row is a function of its output, so what is certified of rows holds for
outputs.
"""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dperm.audit import sampling
from dperm.audit.leaves import Code, Leaf, Unseen, leaves

# Draws a side that choose the columns: this share of the audit's, within these limits.
_SHARE, _FEWEST, _MOST = 0.1, 50, 1_000
# So many columns there are at most: those that differ most between the sides.
_COLUMNS = 256
# A word or a transcript that came up less often in the draws that choose is one of "the others".
_SEEN = 3
_TOGETHER = "all that is discrete, by its likelihood ratio"
_NEW = "(1 if the output has unseen parts, else 0)"
# Leaves that say how much there is, not what.
_SIZES = (".length", ".shape")


def one_by_one(function: Callable[[Any, np.random.Generator], Any]) -> "OneByOne":
    """Turn a function that gives one output, of any kind, into a mechanism that gives many.

    Parameters
    ----------
    function : callable
        (data, rng) -> a number, an array, a label, a list of any length, a dict, a set, a table, a fitted model. A call
        that raises an Exception has this as its output. Code with a random source of its own may leave `rng` aside.

    Returns
    -------
    callable
        What `dperm.audit.lower_bound` and all that stands on it take as a mechanism.
    """
    return OneByOne(function)


class _Column(NamedTuple):
    """A column of the rows: a place's words by their code, or without a code its numbers, others by what fills in."""

    place: str
    name: str
    code: Mapping[Any, float] | None
    fill: float

    def value(self, leaf: Leaf) -> float:
        """Return the entry of an output that has this leaf, or None, in the place."""
        if self.code is None:
            return leaf if isinstance(leaf, float) else self.fill
        return _coded(self.code, leaf)


@dataclass(frozen=True)
class OneByOne:
    """A mechanism that is called once for each output.

    Once they are chosen, it has columns: `together` is the code of all that is discrete, `known` are the kinds of
    leaves that places had, `always` the places that every output had.
    """

    function: Callable[[Any, np.random.Generator], Any]
    columns: tuple[_Column, ...] = ()
    together: Mapping[Any, float] | None = None
    known: frozenset[tuple[str, type]] = frozenset()
    always: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, once they are chosen."""
        return None if self.together is None else (_TOGETHER, _NEW, *(column.name for column in self.columns))

    @property
    def places(self) -> tuple[str, ...]:
        """The places that have columns."""
        return tuple(dict.fromkeys(column.place for column in self.columns))

    def outcome(self, data: Any, rng: np.random.Generator) -> dict[str, Leaf]:
        """Return the leaves of an output, by place."""
        try:
            output = self.function(data, rng)
        except Exception as error:
            output = error
        return dict(leaves(output))

    def prepared(self, data: Any, neighbour: Any, draws: int, rng: np.random.Generator) -> "OneByOne":
        """Return the mechanism with its columns, chosen for an audit with so many draws.

        ValueError if nothing of its outputs is looked at.
        """
        pilot = int(min(_MOST, max(_FEWEST, _SHARE * draws)))
        sides = zip((data, neighbour), rng.spawn(2), strict=True)
        seen = [[self.outcome(side, stream) for _ in range(pilot)] for side, stream in sides]
        both = [*seen[0], *seen[1]]
        words = {outcome.get("raised") for outcome in both}
        if len(words) == 1 and None not in words:
            # Nothing tells the sides apart, and nothing was meant to: once more, for its traceback.
            self.function(data, rng)
        _something_is_looked_at(both)
        often = Counter(place for outcome in both for place in outcome)
        return OneByOne(
            self.function,
            _chosen(seen, often),
            _code(*([_transcript(outcome) for outcome in side] for side in seen)),
            frozenset((place, _kind(leaf)) for outcome in both for place, leaf in outcome.items()),
            frozenset(place for place, count in often.items() if count == len(both)),
        )

    def __call__(self, data: Any, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Draw outputs, as rows of the columns; without columns, numbers of one shape as they are."""
        if self.together is None:
            return self._plain([self.function(data, rng) for _ in range(repeats)])
        rows = np.zeros((repeats, 2 + len(self.columns)))
        for row in rows:
            outcome = self.outcome(data, rng)
            row[0] = _coded(self.together, _transcript(outcome))
            row[1] = not self.always <= outcome.keys() or any(
                (place, _kind(leaf)) not in self.known for place, leaf in outcome.items()
            )
            row[2:] = [column.value(outcome.get(column.place)) for column in self.columns]
        return rows

    def _plain(self, outputs: Sequence[Any]) -> np.ndarray:
        rows = [sampling.numbers(output, "function") for output in outputs]
        shapes = sorted({row.shape for row in rows})
        if len(shapes) > 1:
            raise ValueError(
                f"function gave outputs of the shapes {shapes}: with events of your own, or within a "
                "Target, they must have one shape"
            )
        return np.array(rows)


def _something_is_looked_at(outcomes: Sequence[Mapping[str, Leaf]]) -> None:
    """Raise ValueError if the outcomes hold nothing but what is not looked at, and warn if they hold such parts."""
    found = {}
    for outcome in outcomes:
        found |= {place: leaf for place, leaf in outcome.items() if isinstance(leaf, Unseen)}
    unseen = sorted((place or "output", leaf) for place, leaf in found.items())
    told = any(
        not isinstance(leaf, Unseen) and not place.endswith(_SIZES)
        for outcome in outcomes
        for place, leaf in outcome.items()
    )
    remedy = "return the numbers and words of it that are released, such as a dict of them"
    if unseen and not told:
        raise ValueError(f"nothing of this output is looked at ({unseen[0][0]} is {unseen[0][1]}): {remedy}")
    if parts := [f"{place} ({leaf})" for place, leaf in unseen if not isinstance(leaf, Code)]:
        more = ", ..." if len(parts) > 3 else ""
        warnings.warn(f"nothing is looked at of {', '.join(parts[:3])}{more}: {remedy}", stacklevel=3)


def _chosen(seen: Sequence[Sequence[Mapping[str, Leaf]]], often: Mapping[str, int]) -> tuple[_Column, ...]:
    """Return the columns: that a call fails, then the places of what came up, by how far apart it lies on the sides."""
    columns, known = [], set()
    # That a call fails has its column, however rarely it did.
    places = [place for place in often if place == "raised" or often[place] >= _SEEN]
    for place in sorted(places, key=lambda place: place != "raised"):
        sides = [[outcome.get(place) for outcome in side] for side in seen]
        for column in _of_place(place, *sides):
            values = tuple(column.value(leaf) for side in sides for leaf in side)
            # What is always the same has no column, nor has what says the same as another.
            if len(set(values)) > 1 and (values not in known or place == "raised"):
                known.add(values)
                columns.append((place != "raised", -_apart(np.array(values), len(sides[0])), column))
    return tuple(column for _, _, column in sorted(columns, key=lambda one: one[:2])[:_COLUMNS])


def _of_place(place: str, first: Sequence[Leaf], second: Sequence[Leaf]) -> list[_Column]:
    name = place if place[:1] not in ("", " ") else f"output{place}"
    numbers = [leaf for leaf in (*first, *second) if isinstance(leaf, float)]
    found = [_Column(place, name, None, float(np.quantile(numbers, 0.5, method="nearest")))] if numbers else []
    if len(numbers) < len(first) + len(second):
        words = f"{name} (what it is, by its likelihood ratio)" if numbers else name
        found.append(_Column(place, words, _code(first, second), 0.0))
    return found


def _apart(values: np.ndarray, first: int) -> float:
    """Return how far apart the mean ranks of both sides are, in standard deviations."""
    ranks = np.unique(values, return_inverse=True)[1]
    return abs(ranks[:first].mean() - ranks[first:].mean()) / ranks.std()


def _kind(value: Any) -> type:
    return next(kind for kind in (float, str, tuple, type(None)) if isinstance(value, kind))


def _transcript(outcome: Mapping[str, Leaf]) -> tuple:
    """Return all that is discrete: words and whole numbers, and which places there are."""
    return tuple(
        (place, None if isinstance(leaf, float) and not leaf.is_integer() else leaf) for place, leaf in outcome.items()
    )


def _code(first: Sequence, second: Sequence) -> dict[Any, float]:
    """Return for each value how much likelier it was on the first side, as a logarithm; of rare ones for their kind."""
    counts = Counter([*first, *second])
    sides = [Counter(v if counts[v] >= _SEEN else _kind(v) for v in side) for side in (first, second)]
    return {value: math.log((sides[0][value] + 0.5) / (sides[1][value] + 0.5)) for value in {**sides[0], **sides[1]}}


def _coded(code: Mapping[Any, float], value: Any) -> float:
    return code.get(value, code.get(_kind(value), 0.0))
