"""Outputs of any shape: numbers, labels, lists of any length, fitted models, and calls that fail.

An output is taken apart into leaves, each a number or a word with its place (`.coef_[0]`, `.classes_.length`); a call
that raises an Exception has the leaf `raised`. Some draws of their own, of both sides, choose the columns: one for each
place, in which words stand in the order of how much likelier the data made them than the neighbour; one for all that is
discrete together (a transcript); one that says whether the output has what these draws never showed. Whatever was
chosen, a row is a function of its output, so what is certified of rows holds for outputs.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from numbers import Number
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from dperm.audit import sampling

# Draws a side that choose the columns: this share of the audit's, within these limits.
_SHARE, _FEWEST, _MOST = 0.1, 50, 1_000
# So many places have columns, in the order in which they come; nothing that is nested deeper is looked at.
_PLACES, _DEPTH = 256, 6
# A word or a transcript that came up less often in the draws that choose is one of "the others".
_SEEN = 3

# Of these nothing is looked at: code, and sources of noise.
_NO_OUTPUTS = (type, FunctionType, MethodType, BuiltinFunctionType, np.random.Generator, np.random.RandomState)

Leaf = float | str | None


def one_by_one(function: Callable[[Any, np.random.Generator], Any]) -> "OneByOne":
    """Turn a function that gives one output, of any kind, into a mechanism that gives many.

    Parameters
    ----------
    function : callable
        (data, rng) -> a number, an array, a label, a list of any length, a dict, a set, a fitted model. A call that
        raises an Exception has this as its output. Code with a random source of its own may leave `rng` aside.

    Returns
    -------
    callable
        What `dperm.audit.lower_bound` and all that stands on it take as a mechanism.
    """
    return OneByOne(function)


@dataclass(frozen=True)
class OneByOne:
    """A mechanism that is called once for each output.

    `names` and `codes` are those of the columns, once they are chosen: of all that is discrete together, of the places
    that are known, and of each of `places`. A code gives the numbers of words.
    """

    function: Callable[[Any, np.random.Generator], Any]
    places: tuple[str, ...] = ()
    codes: tuple[Mapping[Any, float] | None, ...] = ()
    names: tuple[str, ...] | None = None

    def outcomes(self, data: Any, repeats: int, rng: np.random.Generator) -> list[dict[str, Leaf]]:
        """Return the leaves of outputs, by place."""
        return [dict(leaves(self._outcome(data, rng))) for _ in range(repeats)]

    def _outcome(self, data: Any, rng: np.random.Generator) -> Any:
        try:
            return self.function(data, rng)
        except Exception as error:
            return error

    def prepared(self, data: Any, neighbour: Any, draws: int, rng: np.random.Generator) -> "OneByOne":
        """Return the mechanism with its columns, chosen for an audit with so many draws."""
        pilot = int(min(_MOST, max(_FEWEST, _SHARE * draws)))
        sides = zip((data, neighbour), rng.spawn(2), strict=True)
        seen = [self.outcomes(side, pilot, stream) for side, stream in sides]
        words = {outcome.get("raised") for side in seen for outcome in side}
        if len(words) == 1 and None not in words:
            # Nothing tells the sides apart, and nothing was meant to: once more, for its traceback.
            self.function(data, rng)
        found = dict.fromkeys(place for side in seen for outcome in side for place in outcome)
        # That a call fails has its column however many places there are.
        places = sorted(found, key=lambda place: place != "raised")[:_PLACES]
        columns = {place: [[outcome.get(place) for outcome in side] for side in seen] for place in places}
        # What is always the same has no column.
        columns = {place: column for place, column in columns.items() if len({*column[0], *column[1]}) > 1}
        codes = [None if _numeric(column) else _code(*column) for column in columns.values()]
        together = _code(*([_transcript(outcome) for outcome in side] for side in seen))
        names = [place or "output" for place in columns]
        return OneByOne(
            self.function,
            tuple(columns),
            (together, dict.fromkeys(places, 0.0), *codes),
            ("all that is discrete, by its likelihood ratio", "(1 if the output has unseen parts, else 0)", *names),
        )

    def __call__(self, data: Any, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Draw outputs, as rows of the columns; without columns, numbers of one shape as they are."""
        if self.names is None:
            return self._plain([self.function(data, rng) for _ in range(repeats)])
        together, known, *codes = self.codes
        rows = np.zeros((repeats, len(self.names)))
        for row, outcome in zip(rows, self.outcomes(data, repeats, rng), strict=True):
            row[0] = together.get(_transcript(outcome), 0.0)
            row[1] = len(outcome) <= _PLACES and any(place not in known for place in outcome)
            for k, (place, code) in enumerate(zip(self.places, codes, strict=True), 2):
                leaf = outcome.get(place)
                if code is not None:
                    row[k] = code.get(leaf, 0.0)
                elif isinstance(leaf, float):
                    row[k] = leaf
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


def leaves(output: Any, place: str = "", depth: int = 0) -> Iterator[tuple[str, Leaf]]:
    """Yield the places and leaves of an output.

    Of an object its public attributes are looked at; of a scikit-learn estimator those that `fit` made.
    """
    if isinstance(output, BaseException):
        yield f"{place}raised", f"{type(output).__name__}: {output}"
    elif output is None or isinstance(output, (str, bytes)):
        yield place, repr(output)
    elif isinstance(output, complex):
        yield from leaves([output.real, output.imag], place, depth + 1)
    elif isinstance(output, (Number, np.bool_)):
        try:
            value = float(output)
        except OverflowError:
            yield place, repr(output)
        else:
            yield place, value if math.isfinite(value) else repr(value)
    elif depth < _DEPTH:
        for name, part in _parts(output):
            yield from leaves(part, place + name, depth + 1)


def _parts(output: Any) -> Iterator[tuple[str, Any]]:
    for dense in ("toarray", "to_numpy"):
        if hasattr(output, dense):
            output = getattr(output, dense)()
    if isinstance(output, np.ndarray) and output.dtype.names:
        output = {name: output[name] for name in output.dtype.names}
    if isinstance(output, np.ndarray):
        if output.ndim != 1:
            yield ".shape", repr(output.shape)
        output = output.ravel().tolist()
    if isinstance(output, Mapping):
        yield from sorted((f"[{key!r}]", value) for key, value in output.items())
    elif isinstance(output, Set):
        yield from sorted((f" has {member!r}", True) for member in output)
    elif isinstance(output, Sequence):
        yield ".length", len(output)
        yield from ((f"[{k}]", part) for k, part in enumerate(output[:_PLACES]))
    elif is_dataclass(output):
        yield from ((f".{field.name}", getattr(output, field.name)) for field in fields(output))
    elif not isinstance(output, _NO_OUTPUTS):
        yield from ((f".{name}", value) for name, value in sorted(_attributes(output).items()))


def _attributes(output: Any) -> Mapping[str, Any]:
    held = getattr(output, "__dict__", None)
    if held is None:
        # Compiled objects, such as the trees of scikit-learn, say here what they hold.
        held = output.__getstate__()
    made = hasattr(output, "fit")
    return {name: held[name] for name in held or () if name[0] != "_" and (not made or name[-1] == "_")}


def _numeric(column: Sequence[Sequence[Leaf]]) -> bool:
    return all(isinstance(leaf, float) for side in column for leaf in side)


def _transcript(outcome: Mapping[str, Leaf]) -> tuple:
    """Return all that is discrete: words and whole numbers, and which places there are."""
    return tuple(
        (place, None if isinstance(leaf, float) and not leaf.is_integer() else leaf) for place, leaf in outcome.items()
    )


def _code(first: Sequence, second: Sequence) -> dict[Any, float]:
    """Return for each value that came up often how much likelier it was on the first side, as a logarithm."""
    counts = Counter(first), Counter(second)
    often = [value for value in dict.fromkeys([*first, *second]) if counts[0][value] + counts[1][value] >= _SEEN]
    return {value: math.log((counts[0][value] + 0.5) / (counts[1][value] + 0.5)) for value in often}
