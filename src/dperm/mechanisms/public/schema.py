"""The schema of a table: what each column may hold, declared before anybody has seen a record.

A mapping from columns to words, from a dict or a YAML file:

    age:     {range: [17, 90]}
    weight:  {range: [0, 300], missing: 75}              # a constant for what is missing
    job:     {levels: [office, field, null]}             # null takes all other values
    city:    {levels: [Bern, Genf], missing: indicator}  # a feature of its own for what is missing
    since:   {from: 2000-01-01, to: 2026-12-31}
    id:      ignore
    "lab*":  {range: [-1, 1]}                            # a pattern: columns that nothing else names
"""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dperm.errors import ConfigError, DataError
from dperm.values import ABSENT, UNKNOWN, absent, placing, read_flag, read_moment, read_number

_KEYS = {"range", "levels", "from", "to", "missing"}
_SHAPES = "{range: [low, high]}, {levels: [a, b]} or {from: day, to: day}, each with `missing` if wanted, or to ignore"


@dataclass(frozen=True)
class Column:
    """What one column may hold.

    Parameters
    ----------
    name : str
    low, high : float
        Of numbers, or of moments in days since 1970; 0 and 1 of levels.
    levels : tuple
        Empty of numbers and moments.
    moments : bool
        Whether low and high are moments.
    place : tuple of int and float, optional
        Where a missing value goes: the feature within the column, and its number. None: nowhere is declared.
    features : tuple of str
        Names of the column's features.
    """

    name: str
    low: float
    high: float
    levels: tuple
    moments: bool
    place: tuple[int, float] | None
    features: tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """A column as it was read: of each record one feature and its number, and what was found (masks over records)."""

    feature: np.ndarray
    number: np.ndarray
    missing: np.ndarray
    unknown: np.ndarray
    outside: np.ndarray


def load(schema: Any) -> dict[str, Any]:
    """Return a schema from a mapping or from the path of a YAML file; ConfigError if it is neither."""
    if isinstance(schema, str | Path):
        try:
            from dperm.yaml_files import parse
        except ImportError:
            raise ConfigError(
                f"schema={str(schema)!r} is a YAML file, which needs PyYAML: pip install pyyaml, or give the schema "
                "as a dict"
            ) from None
        schema, source = parse(schema), f"schema {schema}"
    else:
        source = "schema"
    if not (isinstance(schema, Mapping) and schema and all(isinstance(name, str) for name in schema)):
        raise ConfigError(f"{source}: give a mapping from the names of columns to {_SHAPES}")
    return dict(schema)


def columns(schema: Mapping[str, Any], present: Sequence[str] | None) -> list[Column]:
    """Return the declared columns in the order of the schema, patterns spelled out; none of those to be ignored.

    - present: the names of the table's columns, None where it has none.
    - Raises ConfigError for words that are wrong, DataError if a column is missing, twice there, or not declared.
    """
    patterns = [key for key in schema if present is not None and set("*?") & set(key) and key not in present]
    if present is None:
        spelled = {key: [key] for key in schema}
    else:
        rest = [name for name in present if name not in schema]
        spelled = {key: [key] if key not in patterns else fnmatch.filter(rest, key) for key in schema}
        found = [name for names in spelled.values() for name in names]
        faults = [
            ("has no column", [name for name in found if name not in present]),
            ("has a column that the schema does not name:", [name for name in rest if name not in found]),
            ("has more than once the column", [name for name in present if list(present).count(name) > 1]),
            ("has a column that two patterns match:", [name for name in found if found.count(name) > 1]),
        ]
        said = [f"{what} {', '.join(map(repr, dict.fromkeys(names)))}" for what, names in faults if names]
        if said:
            raise DataError(
                f"X {'; it '.join(said)}. Name each column of X in the schema once (`ignore` for one that is not "
                "to be used), or drop it from X"
            )
    used = [_column(name, schema[key]) for key in schema for name in spelled[key] if schema[key] != "ignore"]
    if not used:
        raise ConfigError("schema: every column is ignored; declare at least one")
    return used


def _column(name: str, words: Any) -> Column:
    def wrong(what: str) -> ConfigError:
        return ConfigError(f"schema: column {name!r}: {what}; give {_SHAPES}")

    if not isinstance(words, Mapping) or set(words) - _KEYS:
        raise wrong(f"{words!r} is not one of the forms that there are")
    kind = set(words) - {"missing"}
    column = Column(name, 0.0, 1.0, (), kind == {"from", "to"}, None, (name,))
    if kind == {"levels"}:
        levels = words["levels"]
        if isinstance(levels, str) or not isinstance(levels, Sequence) or not levels:
            raise wrong(f"levels={levels!r} must be a list")
        plain = [isinstance(one, str | int | float | np.number) and one == one for one in levels]
        if not (all(plain[:-1]) and (plain[-1] or levels[-1] is None)):
            raise wrong(f"levels={list(levels)!r} must be different texts or numbers, at the end null for all others")
        try:
            placing(levels)
        except ConfigError as error:
            raise wrong(str(error)) from None
        features = tuple(f"{name}={'(other)' if one is None else one}" for one in levels)
        column = replace(column, levels=tuple(levels), features=features)
    elif kind in ({"range"}, {"from", "to"}):
        ends = words["range"] if kind == {"range"} else (words["from"], words["to"])
        pair = not isinstance(ends, str) and isinstance(ends, Sequence) and len(ends) == 2
        found = [_end(end, column.moments) for end in ends] if pair else [None]
        if None in found or not -1e100 <= found[0] < found[1] <= 1e100:
            what = "days (ISO 8601)" if column.moments else "numbers"
            raise wrong(f"{', '.join(sorted(kind))}: {ends!r} must be two {what}, the lower first")
        column = replace(column, low=found[0], high=found[1])
    else:
        raise wrong(f"its keys are {', '.join(map(repr, words)) or 'none'}")
    if "missing" not in words:
        return column
    if words["missing"] == "indicator" and "indicator" not in column.levels:
        features = column.features
        return replace(column, place=(len(features), 1.0), features=(*features, f"{name}=(missing)"))
    read = entries(column, np.array([words["missing"]], dtype=object))
    if read.missing[0] or read.unknown[0] or read.outside[0]:
        raise wrong(f"missing={words['missing']!r} must be 'indicator', or a value that the column may hold")
    return replace(column, place=(int(read.feature[0]), float(read.number[0])))


def _end(value: Any, moments: bool) -> float | None:
    if moments:
        return read_moment(value)
    return None if isinstance(value, str | bool) else read_number(value)


def entries(column: Column, values: np.ndarray) -> Read:
    """Read the values of a column: those of levels to their features, numbers and moments to [0, 1].

    What is missing, unknown or out of range is told by masks; there the number is 0, or the nearest end.
    """
    n = len(values)
    if values.dtype.kind == "c":
        # One complex number makes all of a column complex.
        values = np.where(values.imag == 0, values.real.astype(object), values.astype(object))
    elif values.dtype.kind == "M":
        # As a list nanoseconds are whole numbers, microseconds are times.
        values = values.astype("datetime64[us]")
    if column.levels:
        places = _by_value(values, placing(column.levels))
        missing, unknown = places == ABSENT, places == UNKNOWN
        return Read(np.maximum(places, 0), (places >= 0).astype(float), missing, unknown, np.zeros(n, dtype=bool))
    unknown = np.zeros(n, dtype=bool)
    if values.dtype.kind in "biuf" and not column.moments:
        found = values.astype(float)
        missing = np.isnan(found)
    elif values.dtype.kind == "M" and column.moments:
        missing = np.isnat(values)
        found = np.where(missing, 0, values.astype(np.int64)) / (86_400 * 1e6)
    else:
        read = read_moment if column.moments else read_flag
        missing = _by_value(values, absent).astype(bool)
        each = [None if gone else read(value) for value, gone in zip(values.tolist(), missing, strict=True)]
        found = np.array([np.nan if one is None else one for one in each], dtype=float)
        unknown = np.isnan(found) & ~missing
    found = np.where(missing | unknown, column.low, found)
    outside = (found < column.low) | (found > column.high)
    inside = np.clip(found, column.low, column.high)
    return Read(np.zeros(n, dtype=int), (inside - column.low) / (column.high - column.low), missing, unknown, outside)


def _by_value(values: np.ndarray, function: Any) -> np.ndarray:
    """Return the function of each value; it is asked once for those that are equal and of one type."""
    known: dict[Any, int] = {}

    def of(value: Any) -> int:
        # Of other types a hash or an equality may be anything.
        if type(value) not in (str, int, float, bool):
            return function(value)
        key = type(value), value
        if key not in known:
            known[key] = function(value)
        return known[key]

    return np.array([of(value) for value in values.tolist()], dtype=int)
