"""Declare the settings of an experiment, each with its range and a description.

An experiment's `settings.py` holds a frozen dataclass, and each of its fields says what the YAML may contain:

    @dataclass(frozen=True)
    class Settings:
        repeats: int = number("private runs at each point", low=1, high=100_000)
        deltas: list[float] = numbers("failure probability; 0 is pure privacy", low=0, below=1)

    EXPERIMENT = Experiment(axes=("dataset", "epsilon"), settings=Settings)

It is a module of its own beside `experiment.py`, because a plan reads the settings of all experiments and loads nothing
that computes. `schema` turns such a class into a JSON Schema, which validates the YAML (`dperm_pipeline.config_files`).
"""

import types
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, get_args, get_origin

_TYPES = {int: "integer", float: "number", str: "string"}


class Experiment(NamedTuple):
    """What the pipeline knows of an experiment before it runs.

    All `axes` of the grid (fields of `Axes`) and all fields of `settings` (what stands under `settings` and
    `common`) are needed, and no others used. `designs` take the place of a data set in its rows, and in claims:
    data that it makes up itself. `releases` is false where rows are about formulas and exact laws: their budgets
    are none that anybody spent, and the privacy ledger does not list them. `fixed` maps `mechanism`, `calibration`,
    `neighbours` to the one value that an entry of `mechanisms` may have: what the code does not read, so that no
    other would be run.
    """

    axes: tuple[str, ...]
    settings: type
    designs: tuple[str, ...] = ()
    releases: bool = True
    fixed: Mapping[str, str] = types.MappingProxyType({})


def fixed(mechanism: str, calibration: str | None = None, neighbours: str | None = None) -> dict[str, str]:
    """Return `Experiment.fixed` of an experiment that reads none of the words given here.

    - calibration, neighbours: left out where the experiment runs whatever the configuration says.
    """
    entry = {"mechanism": mechanism, "calibration": calibration, "neighbours": neighbours}
    return {key: value for key, value in entry.items() if value is not None}


def number(words: str, **limits: Any) -> Any:
    """Declare a number: `low`, `high` are allowed, `above`, `below` not; a multiple of `step`; `among` some."""
    return field(metadata={"words": words, "value": _limited(**limits)})


def numbers(words: str, *, least: int = 1, most: int | None = None, **limits: Any) -> Any:
    """Declare a list of `least` to `most` different numbers, limited as `number` says."""
    return field(metadata={"words": words, "value": _limited(**limits), "list": _several(least, most)})


def name(words: str) -> Any:
    """Declare a name that may become a part of a path."""
    return field(metadata={"words": words, "value": {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 100}})


def names(words: str, *choices: str, least: int = 1) -> Any:
    """Declare a list of at least so many different names out of these."""
    return field(metadata={"words": words, "value": {"enum": [*choices]}, "list": _several(least)})


def by_dataset(words: str, *, length: int | None = None, **limits: Any) -> Any:
    """Declare a mapping from data sets to a text each, or to `length` numbers each, limited as `number` says."""
    value = _limited(**limits) if limits else {"minLength": 1}
    return field(metadata={"words": words, "value": value, "list": _several(length, length) | {"uniqueItems": False}})


def tables(words: str, columns: Mapping[str, tuple[str, ...]], **limits: Any) -> Any:
    """Declare some tables out of these: from the name of a table to its columns, each a list of different numbers."""
    return field(metadata={"words": words, "value": _limited(**limits), "list": _several(), "columns": columns})


_KEYWORDS = {
    "low": "minimum",
    "high": "maximum",
    "above": "exclusiveMinimum",
    "below": "exclusiveMaximum",
    "step": "multipleOf",
    "among": "enum",
}


def _limited(**limits: Any) -> dict[str, Any]:
    return {_KEYWORDS[word]: limit for word, limit in limits.items()}


def _several(least: int | None = 1, most: int | None = None) -> dict[str, Any]:
    length = {"minItems": least, "maxItems": most}
    return {"uniqueItems": True, **{word: count for word, count in length.items() if count is not None}}


def schema(declared: type) -> dict[str, Any]:
    """Return the JSON Schema of what a class of settings declares, every name of it optional."""
    properties = {item.name: _schema(item.type, item.metadata) for item in fields(declared)}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _schema(kind: Any, said: Mapping[str, Any]) -> dict[str, Any]:
    words = {"description": said["words"]}
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        return {"type": "array", **words, **said["list"], "items": _schema(inner, said)}
    if get_origin(kind) is dict and "columns" in said:
        column = _schema(get_args(get_args(kind)[1])[1], said)
        tables = {
            table: _object({name: column for name in columns}, required=[*columns])
            for table, columns in said["columns"].items()
        }
        return {**_object(tables), "minProperties": 1, **words}
    if get_origin(kind) is dict:
        return {"type": "object", **words, "additionalProperties": _schema(get_args(kind)[1], said)}
    return {"type": _TYPES[kind], **words, **said["value"]}


def _object(properties: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": dict(properties), **more}


def counts(declared: type) -> set[str]:
    """Return the names that are whole numbers, or lists of them: what a seed and a path are made of as an int."""
    return {item.name for item in fields(declared) if item.type in (int, list[int])}


def by_datasets(declared: type) -> set[str]:
    """Return the names that are mappings from data sets."""
    return {item.name for item in fields(declared) if get_origin(item.type) is dict and "columns" not in item.metadata}


@dataclass(frozen=True)
class Axes:
    """The axes that a grid may have: what a path names. `part` is a part of an experiment, `design` its own data."""

    dataset: str = name("data set")
    epsilon: float = number("privacy budget", above=0, high=100)
    part: str = name("part of an experiment by name")
    design: str = name("synthetic data by name")
    n: int = number("number of records", low=1, high=1_000_000_000)
    p: int = number("number of features", low=2, high=10_000)


def grid_schema(axes: tuple[str, ...]) -> dict[str, Any]:
    """Return the JSON Schema of a grid of these axes: some values each; values in inner brackets share a job."""
    every = schema(Axes)["properties"]
    several = {"type": "array", **_several()}
    return _object(
        {
            axis: {
                **several,
                "items": {
                    "if": {"type": "array"},
                    "then": {**several, "items": every[axis]},
                    "else": every[axis],
                },
            }
            for axis in axes
        }
    )
