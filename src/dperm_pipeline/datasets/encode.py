"""From raw columns to rows within public bounds: min-max by declared ranges, one-hot by declared levels, a constant.

An entry may also ask for another scale, for no constant, for sparse rows, or for rows divided by their own length.

Every step treats a record by itself with public constants alone, so it changes no neighbouring relation and costs no
privacy: one record more or less in the raw table is one row more or less here. Each scaled number lies in [0, 1] (or in
[-1, 1]), each factor sets exactly one indicator to 1, the constant is 1; hence ||x||_2^2 <= numbers + factors + 1.

Messages name columns and the place of a row, never a value of the data (docs/security.md).
"""

import difflib
import fnmatch
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from dperm.domain import Domain
from dperm.errors import DataError
from dperm.values import ABSENT, MISSING, UNKNOWN, absent, read_number
from dperm_pipeline.datasets import scaling
from dperm_pipeline.datasets.catalogue import labels
from dperm_pipeline.datasets.prepared import Dataset

log = logging.getLogger(__name__)
CONSTANT = "(constant)"


@dataclass(frozen=True)
class Raw:
    """What a parser returns: columns as they stand in the source.

    A parser is a function of an entry of the catalogue and the folder where its files lie (a user's own file
    itself, or None for a set that needs none). A column holds numbers, or objects (text; None where there is
    nothing); `split` is `train` or `test`; `levels` is the public codebook of factors that the catalogue does not
    spell out; `versions` are of packages that the data came with; `matrix` holds features that are rows already,
    without names.
    """

    columns: Mapping[str, np.ndarray]
    split: np.ndarray | None = None
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    matrix: sp.csr_array | None = None


def used_columns(
    entry: Mapping[str, Any], present: Sequence[str], source: str
) -> tuple[dict[str, list[float]], list[str]]:
    """Return the ranges with their patterns spelled out, and all columns that an entry uses (target last).

    A key of `ranges` may be a pattern with `*` and `?`; a column of exactly this name goes before. DataError if a
    column is missing or stands there twice: its name, the source (as messages call it), a column with nearly this
    name.
    """
    taken = {entry["target"]["column"], *entry.get("levels", {}), *entry.get("ranges", {})}
    ranges: dict[str, list[float]] = {}
    for key, limits in entry.get("ranges", {}).items():
        matching = [key] if key in present else [c for c in present if c not in taken and fnmatch.fnmatchcase(c, key)]
        for column in matching or [key]:
            if column in ranges:
                raise DataError(f"{entry['name']}: ranges: two patterns match column {column!r} of {source}; keep one")
            ranges[column] = limits
    columns = [*ranges, *entry.get("levels", {}), entry["target"]["column"]]
    for column in columns:
        if (times := list(present).count(column)) != 1:
            what = "has no column" if times == 0 else f"has {times} columns"
            raise DataError(f"{entry['name']}: {source} {what} {column!r}{_hint(column, columns, present)}")
    return ranges, columns


def _hint(column: str, columns: Sequence[str], present: Sequence[str]) -> str:
    """Say where a column may be; without a line of names, what the source calls columns is its first record."""
    if column in present:
        return "; rename or remove all but one"
    if not set(columns) & set(present):
        return f", nor any other that the entry uses; is the first of its {len(present)} names a line of names?"
    close = difflib.get_close_matches(column, [str(name) for name in present], n=1)
    remedy = f"did you mean {close[0]!r}?" if close else "mend the name in config/datasets.yaml"
    return f" among its {len(present)}; {remedy}"


def encode(raw: Raw, entry: Mapping[str, Any], source: str, checksums: Mapping[str, str]) -> Dataset:
    """Encode raw columns within the entry's public bounds, and check the counts that the entry expects.

    Of the entry are read `ranges` (column -> [low, high]), `scale` (`unit`: numbers go to [0, 1]; `symmetric`: to
    [-1, 1]; `raw`, `z-score`: see `dperm_pipeline.datasets.scaling`), `levels` (column -> labels), `target`,
    `outside` (`error` or `clip`), `missing` (`error` or `drop` the record), `constant` (a last column of ones,
    unless false), `sparse`, `unit_rows` (each row divided by its length), `rows`, `positive_rows`,
    `x_norm_squared`, `data_dependent`.

    Columns of X are the numbers, the indicators of each factor, the constant (or the rows that the parser gave). y
    is -1 or +1, of more classes the place among `target.classes`, or scaled from its range to [-1, 1]; in a regression
    on two labels, the ends of the range.
    DataError if a column is missing, a value is missing (unless `missing: drop`), no number, outside its range
    (unless `outside: clip`), or outside the codebook, or a count differs from the expected one.
    """
    entry = {**entry, "levels": {**raw.levels, **entry.get("levels", {})}}
    ranges, columns = used_columns(entry, list(raw.columns), source)
    table = _Table(entry, source, {name: raw.columns[name] for name in columns})
    target, binary = entry["target"], entry["task"] == "binary"
    # First all columns are read, then rows with a missing value leave, and only what stays is held against the bounds.
    numbers = {name: table.number(name) for name in ranges}
    factors = {name: table.codes(name, levels) for name, levels in entry["levels"].items()}
    # A regression on two labels takes them as a classification does.
    labelled, classes = "positive" in target, target.get("classes")
    named = classes or (_both(target) if labelled else None)
    y = table.codes(target["column"], named) if named else table.number(target["column"])
    keep = table.complete()
    if not keep.any():
        raise DataError(f"{entry['name']}: {source} holds no complete record")
    constant = entry.get("constant", True) and raw.matrix is None
    X = _features(raw, entry, table, numbers, ranges, factors, keep, constant)
    y_bound = 1.0
    if classes:
        y, y_bound = y[keep].astype(float), len(classes) - 1.0
    elif labelled:
        low, high = (-1.0, 1.0) if binary else map(float, target["range"])
        y = np.where(y[keep] < len(labels(target["positive"])), high, low)
        y_bound = max(abs(low), abs(high))
    else:
        y = 2.0 * table.scaled(target["column"], y, target["range"], keep) - 1.0
    squared = _norm_bound(entry, numbers, ranges, factors, constant)
    split = np.full(len(keep), "train") if raw.split is None else raw.split
    _check_counts(entry, y, split[keep])
    names = [*numbers, *(f"{name}={level}" for name in factors for level in entry["levels"][name])]
    if constant:
        names.append(CONSTANT)
    return Dataset(
        X=X,
        y=y,
        bounds=Domain(x_norm=math.sqrt(squared), y_bound=y_bound),
        name=entry["name"],
        provenance=_provenance(raw, entry, ranges, factors, checksums),
        task=entry["task"],
        features=() if raw.matrix is not None else tuple(names),
        split=split[keep],
    )


def _features(
    raw: Raw,
    entry: Mapping[str, Any],
    table: "_Table",
    numbers: Mapping[str, np.ndarray],
    ranges: Mapping[str, Sequence[float]],
    factors: Mapping[str, np.ndarray],
    keep: np.ndarray,
    constant: bool,
) -> np.ndarray | sp.csr_array:
    """Return the rows: scaled numbers, indicators, the constant, or the rows that the parser gave."""
    blocks: list[Any] = []
    for name, values in numbers.items():
        unit = table.scaled(name, values, ranges[name], keep)
        blocks.append(scaling.scaled(unit, *ranges[name], entry.get("scale", "unit"))[:, None])
    for name, codes in factors.items():
        blocks.append(_one_hot(codes[keep], len(entry["levels"][name])))
    if constant:
        blocks.append(np.ones((keep.sum(), 1)))
    if raw.matrix is not None:
        blocks.append(raw.matrix[keep])
    X = _side_by_side(blocks, entry.get("sparse", False))
    return scaling.unit_rows(X) if entry.get("unit_rows", False) else X


def _provenance(
    raw: Raw,
    entry: Mapping[str, Any],
    ranges: Mapping[str, Sequence[float]],
    factors: Mapping[str, np.ndarray],
    checksums: Mapping[str, str],
) -> dict[str, Any]:
    found = {
        "files": dict(checksums),
        "versions": dict(raw.versions),
        "data_dependent": list(entry["data_dependent"]),
    }
    if entry.get("unit_rows", False):
        # What `scaling.rescale` needs to undo and redo the scaling.
        found["scaling"] = scaling.name(entry.get("scale", "unit"), True)
        found["ranges"] = {name: list(map(float, limits)) for name, limits in ranges.items()}
        found["factors"] = len(factors)
    return found


class _Table:
    """Columns being read; keeps which records lack a value."""

    def __init__(self, entry: Mapping[str, Any], source: str, columns: Mapping[str, np.ndarray]):
        self.entry, self.source, self.columns = entry, source, columns
        self.lacking = {name: np.zeros(len(column), dtype=bool) for name, column in columns.items()}

    def refuse(self, name: str, wrong: np.ndarray, what: str, remedy: str) -> None:
        if wrong.any():
            raise DataError(
                f"{self.entry['name']}: column {name!r} of {self.source}: {int(wrong.sum())} of {len(wrong)} records "
                f"{what} (first: record {int(wrong.argmax()) + 1}); {remedy}"
            )

    def number(self, name: str) -> np.ndarray:
        column = self.columns[name]
        if column.dtype.kind in "biuf":
            values = column.astype(np.float64)
            lacking = np.isnan(values)
        elif column.dtype.kind in "OU":
            texts = pd.Series(column, dtype=object)
            lacking = (texts.isna() | texts.map(lambda value: str(value).strip() in MISSING)).to_numpy(dtype=bool)
            values = pd.to_numeric(texts.where(~lacking, None), errors="coerce").to_numpy(dtype=np.float64)
        else:
            raise DataError(f"{self.entry['name']}: column {name!r} of {self.source} holds {column.dtype}, not numbers")
        self.lacking[name] = lacking
        self.refuse(name, ~lacking & ~np.isfinite(values), "hold no finite number", "mend the file, or declare levels")
        return values

    def codes(self, name: str, levels: Sequence[Any]) -> np.ndarray:
        """The place of each value among the levels; -1 where it is missing. A last level `None` takes all others."""
        found, uniques = pd.factorize(pd.Series(self.columns[name], dtype=object))
        places = np.array([*map(_placing(levels), uniques), ABSENT])[found]
        self.lacking[name] = places == ABSENT
        self.refuse(
            name, places == UNKNOWN, "hold a value outside the declared ones", "correct them, or declare the value"
        )
        return places

    def complete(self) -> np.ndarray:
        if self.entry.get("missing", "error") == "error":
            for name, lacking in self.lacking.items():
                self.refuse(name, lacking, "lack a value", "fill it in, or declare missing: drop")
        incomplete = np.logical_or.reduce(list(self.lacking.values()))
        if incomplete.any():
            log.info("%s: left out %d incomplete records of %d", self.entry["name"], incomplete.sum(), len(incomplete))
        return ~incomplete

    def scaled(self, name: str, values: np.ndarray, limits: Sequence[float], keep: np.ndarray) -> np.ndarray:
        """The kept values, min-max scaled to [0, 1] by the public range."""
        low, high = map(float, limits)
        outside = keep & ((values < low) | (values > high))
        if self.entry.get("outside", "error") == "error":
            self.refuse(
                name, outside, f"lie outside [{low:g}, {high:g}]", "widen the public range, or declare outside: clip"
            )
        elif outside.any():
            log.info("%s: clipped %d values of %r to [%g, %g]", self.entry["name"], outside.sum(), name, low, high)
        return (np.clip(values[keep], low, high) - low) / (high - low)


def _placing(levels: Sequence[Any]) -> Callable[[Any], int]:
    """Return the function from a value to its place among the levels, to ABSENT where it is missing, else to UNKNOWN.

    Levels that are text match the value as text, without blanks around it, for files are read as text, whatever their
    records hold; levels that are numbers match it as a number. A last level None takes all others.
    """
    texts = {level: place for place, level in enumerate(levels) if isinstance(level, str)}
    numbers = {float(level): place for place, level in enumerate(levels) if not isinstance(level, (str, type(None)))}
    rest = len(levels) - 1 if levels[-1] is None else UNKNOWN

    def place(value: Any) -> int:
        text = str(value).strip()
        if text in texts:
            return texts[text]
        if absent(value) or text in MISSING:
            return ABSENT
        return numbers.get(read_number(value if type(value) in (bool, np.bool_) else text), rest)

    return place


def _both(target: Mapping[str, Any]) -> list[Any]:
    """The labels of both classes, positive ones first; None stands for any other value."""
    return [*labels(target["positive"]), *labels(target.get("negative"))]


def _one_hot(codes: np.ndarray, size: int) -> sp.csr_array:
    return sp.csr_array((np.ones(len(codes)), codes, np.arange(len(codes) + 1)), shape=(len(codes), size))


def _side_by_side(blocks: list[Any], sparse: bool) -> np.ndarray | sp.csr_array:
    if not sparse:
        return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])
    return sp.csr_array(blocks[0]) if len(blocks) == 1 else sp.hstack(list(map(sp.csr_array, blocks)), format="csr")


def _norm_bound(entry, numbers, ranges, factors, constant: bool) -> float:
    """Return the bound on ||x||^2, and hold it against the one that the entry expects."""
    if entry.get("unit_rows", False):
        squared, why = 1.0, "rows of length one"
    else:
        scale = entry.get("scale", "unit")
        squared = sum(scaling.largest_square(*ranges[name], scale) for name in numbers) + len(factors) + constant
        why = f"{len(numbers)} numbers, {len(factors)} factors and {'the' if constant else 'no'} constant"
    if entry.get("x_norm_squared", squared) != squared:
        raise DataError(
            f"{entry['name']}: x_norm_squared={entry['x_norm_squared']} in config/datasets.yaml, but {why} give "
            f"{squared:g}"
        )
    return squared


def _check_counts(entry: Mapping[str, Any], y: np.ndarray, split: np.ndarray) -> None:
    for key, rows in (("rows", np.ones(len(y), dtype=bool)), ("positive_rows", y > 0)):
        for part, expected in entry.get(key, {}).items():
            found = int((rows & (split == part)).sum())
            if found != expected:
                raise DataError(
                    f"{entry['name']}: {found} complete {part} records instead of the {expected} that {key}.{part} in "
                    "config/datasets.yaml expects; the source changed, or was cut"
                )
