"""An output taken apart: every number and every word that it holds, with its place (`.coef_[0]`, `.classes_.length`).

What is not looked at has a leaf too, an `Unseen`, so that an audit can say it.
"""

import functools
import inspect
import math
import random
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from enum import Enum
from itertools import islice
from numbers import Complex, Integral, Number, Real
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

# Of a list so many parts are looked at, of an output so many leaves, and nothing that is nested deeper.
LISTED, LEAVES, DEPTH = 512, 1024, 20
# Of a text so many of the numbers in it.
_IN_TEXT = 16
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# Where an object lies in memory is no part of what it says.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_EPOCH = datetime(1970, 1, 1)

_CODE = (type, FunctionType, MethodType, BuiltinFunctionType, ModuleType, functools.partial)
_CODE += (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
# What a parameter's value holds no model in.
_PLAIN = (Number, str, bytes, np.generic, type(None))
# How what holds an array gives it.
_DENSE = ("toarray", "to_numpy", "__array__")

Leaf = float | str | None


class Unseen(str):
    """The leaf of a part of which nothing is looked at: its type."""

    __slots__ = ()


class Code(Unseen):
    """The same of functions, classes and sources of noise, of which nothing is meant to be looked at."""

    __slots__ = ()


class _Word(str):
    """A text whose numbers stand elsewhere too."""

    __slots__ = ()


def leaves(output: Any) -> Iterator[tuple[str, Leaf]]:
    """Yield the places and leaves of an output, as many as are looked at.

    Of an object its public attributes are looked at, else its public properties, else what it holds if it is iterated
    over, else its `repr`, unless that is Python's own. Of an estimator (with `fit`): the public attributes but for
    numbers and words that are its constructor's parameters.

    Parameters
    ----------
    output : object
    """
    found = _leaves(output, "", ())
    yield from islice(found, LEAVES)
    if next(found, None):
        yield "the rest", Unseen(f"more than {LEAVES:,} numbers and words")


def _leaves(output: Any, place: str, above: tuple[int, ...]) -> Iterator[tuple[str, Leaf]]:
    if isinstance(output, BaseException):
        yield from _text(f"{place}raised", f"{type(output).__name__}: {output}", str(output))
    elif isinstance(output, Unseen):
        yield place, output
    elif output is None or isinstance(output, _Word):
        yield place, repr(output)
    elif isinstance(output, (str, bytes)):
        yield from _text(place, repr(output), str(output) if isinstance(output, str) else repr(output))
    elif isinstance(output, Complex) and not isinstance(output, Real):
        yield from _leaves([output.real, output.imag], place, above)
    elif isinstance(output, (Number, np.bool_)):
        yield from _number(place, output)
    elif isinstance(output, Enum):
        yield place, f"{type(output).__name__}.{output.name}"
    elif isinstance(output, (date, time, timedelta, np.datetime64, np.timedelta64)):
        yield from _number(place, _seconds(output))
    elif isinstance(output, np.generic) and not output.dtype.names:
        yield place, repr(output)
    elif isinstance(output, _CODE):
        yield place, Code(f"a {type(output).__name__}")
    elif len(above) == DEPTH:
        yield place, Unseen(f"a {type(output).__name__}, nested {DEPTH} deep")
    elif id(output) not in above:
        # What is above itself is looked at there.
        empty = True
        for name, part in _parts(output):
            empty = False
            yield from _leaves(part, place + name, (*above, id(output)))
        if empty:
            yield place, (Code if _unfitted(output) else Unseen)(f"a {type(output).__name__}")


def _number(place: str, output: Any) -> Iterator[tuple[str, Leaf]]:
    try:
        value = float(output)
    except (OverflowError, ValueError):
        yield place, repr(output)
        return
    yield place, value if math.isfinite(value) else repr(value)
    if isinstance(output, Integral) and value != int(output):
        # A whole number of more digits than a double has.
        yield f"{place} exactly", repr(int(output))


def _seconds(output: Any) -> float:
    """Return a date, a time or a length of time as a number; NaN if it is none."""
    if isinstance(output, (np.datetime64, np.timedelta64)):
        return math.nan if np.isnat(output) else float(output.astype(np.int64))
    if isinstance(output, datetime):
        return (output.replace(tzinfo=None) - _EPOCH).total_seconds()
    if isinstance(output, time):
        return timedelta(
            hours=output.hour, minutes=output.minute, seconds=output.second, microseconds=output.microsecond
        ).total_seconds()
    return float(output.toordinal()) if isinstance(output, date) else output.total_seconds()


def _text(place: str, word: str, text: str) -> Iterator[tuple[str, Leaf]]:
    """Give a word, and the numbers in it: a number with noise is written differently each time."""
    yield place, word
    for k, found in enumerate(islice(_NUMBER.finditer(text), _IN_TEXT)):
        value = float(found.group())
        if math.isfinite(value):
            yield f"{place} number {k}", value


def _parts(output: Any) -> Iterator[tuple[str, Any]]:
    for way in () if isinstance(output, (np.ndarray, np.generic)) else _DENSE:
        if hasattr(type(output), way):
            yield from _labels(output)
            output = np.asarray(output if way == "__array__" else getattr(output, way)())
            break
    if isinstance(output, (np.ndarray, np.generic)) and output.dtype.names:
        output = {name: output[name] for name in output.dtype.names}
    if isinstance(output, np.ndarray):
        if output.ndim != 1:
            yield ".shape", _Word(output.shape)
        # Times keep their type: as Python's they may be whole numbers, and one that is none the least of these.
        flat = np.asarray(output).ravel() if output.dtype.kind in "mM" else output.ravel().tolist()
        yield from _listed(flat, len(flat))
    elif isinstance(output, Mapping):
        yield ".length", len(output)
        yield from _reals(" keys", output)
        yield from sorted(((f"[{_shown(key)}]", value) for key, value in output.items()), key=lambda part: part[0])
    elif isinstance(output, Set):
        yield ".length", len(output)
        yield from _reals(" numbers", output)
        yield from ((f" has {member}", True) for member in sorted(map(_shown, output)))
    elif isinstance(output, Sequence):
        yield from _listed(output, len(output))
    elif isinstance(output, (Iterator, ValuesView)):
        yield "", _iterated(output)
    # What an estimator was given may be fields, and what `fit` made is none.
    elif is_dataclass(output) and fields(output) and not _estimator(output):
        yield from ((f".{field.name}", getattr(output, field.name)) for field in fields(output))
    elif held := released(output):
        yield from ((f".{name}", value) for name, value in sorted(held.items()))
    elif _estimator(output):
        return
    elif isinstance(output, Iterable):
        yield "", _iterated(output)
    elif type(output).__repr__ is not object.__repr__:
        yield "", _shown(output)


def _listed(parts: Iterable, length: int) -> Iterator[tuple[str, Any]]:
    yield ".length", length
    yield from ((f"[{k}]", part) for k, part in enumerate(islice(parts, LISTED)))
    if length > LISTED:
        yield f"[{LISTED}:]", Unseen("the rest of a list")


def _iterated(output: Iterable) -> Any:
    """Return what an iterator gives; or what it raises, as it would where the function is called."""
    try:
        return list(islice(output, LISTED + 1))
    except Exception as error:
        return error


def _labels(output: Any) -> Iterator[tuple[str, Any]]:
    """Give the names of a table's rows and columns, but for those that only count, and its own."""
    for which in ("index", "columns"):
        names = getattr(output, which, None)
        if names is not None and not callable(names) and list(names) != list(range(len(names))):
            yield f".{which}", list(names)
    if isinstance(name := getattr(output, "name", None), (str, Number, tuple)):
        yield ".name", name


def _reals(name: str, members: Iterable) -> Iterator[tuple[str, Any]]:
    """Give the numbers among the members of a set in their order: with noise, none is a member twice."""
    found = [value for value in members if isinstance(value, Real) and not isinstance(value, Integral)]
    if found:
        yield name, sorted(map(float, found))


def _shown(thing: Any) -> str:
    return _ADDRESS.sub("", repr(thing))


def attributes(thing: Any) -> dict[str, Any]:
    """Return what an object holds, by name: in slots too, and of compiled objects what they say when pickled.

    Parameters
    ----------
    thing : object
    """
    held = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        names = [name for name in ([slots] if isinstance(slots, str) else slots) if name[0] != "_"]
        held |= {name: getattr(thing, name) for name in names if hasattr(thing, name)}
    if held or hasattr(thing, "__dict__"):
        return held
    try:
        state = thing.__getstate__()
    except TypeError:
        return {}
    return dict(state) if isinstance(state, Mapping) else {}


def released(thing: Any) -> dict[str, Any]:
    """Return what of an object is looked at: public attributes, but for numbers and words that an estimator was given.

    What else it was given may hold what `fit` made, as the steps of a pipeline do.

    Parameters
    ----------
    thing : object
    """
    public = {name: value for name, value in attributes(thing).items() if name[0] != "_"}
    if _estimator(thing):
        given = parameters(type(thing))
        made = {
            name: value
            for name, value in public.items()
            if name[-1] == "_" or name not in given or not isinstance(value, _PLAIN)
        }
        return _properties(thing, "_") | made
    return public or _properties(thing, "")


def _estimator(thing: Any) -> bool:
    return hasattr(type(thing), "fit")


def _unfitted(thing: Any) -> bool:
    return _estimator(thing) and attributes(thing).keys() <= parameters(type(thing)).keys()


@functools.cache
def parameters(estimator: type) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class's constructor.

    Parameters
    ----------
    estimator : type
    """
    try:
        return inspect.signature(estimator).parameters
    except (ValueError, TypeError):
        # Compiled, without a signature.
        return {}


def _properties(thing: Any, ending: str) -> dict[str, Any]:
    """Return the public properties with this ending that have a value."""
    found = {}
    for name in _property_names(type(thing)):
        if name.endswith(ending):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found[name] = getattr(thing, name)
                except Exception:
                    # Such as the coefficients of a model that has none.
                    continue
    return found


@functools.cache
def _property_names(kind: type) -> tuple[str, ...]:
    return tuple(name for name in dir(kind) if name[0] != "_" and isinstance(getattr(kind, name, None), property))
