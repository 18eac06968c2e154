"""A user's CSV file as rows within a public bound, and targets, by the schema alone."""

import csv
import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dperm.comparing.tasks import Task, task
from dperm.errors import DataError
from dperm.mechanisms.public import schema as schemas
from dperm.mechanisms.public.encoder import PublicEncoder


class Table(NamedTuple):
    """Rows of length one at most with a constant, the targets, what they are, what made the rows."""

    X: np.ndarray
    y: np.ndarray
    task: Task
    encoder: PublicEncoder


def read(path: str | Path, schema: Any, target: str) -> Table:
    """Return the table: each record mapped by itself (`PublicEncoder`, clip=True), and its target (`Task.read`).

    - schema: dict or YAML, as of `PublicEncoder`; it declares the target too, by levels or a range.
    - Raises ConfigError or DataError; without a word about what a record holds.
    """
    words = schemas.load(schema)
    told = task(target, words.pop(target, None))
    names, records = _records(Path(path))
    if target not in names:
        raise DataError(f"{path} has no column {target!r}; it has {', '.join(names)}")
    spelled = _spelled(words, [name for name in names if name != target], path)
    cells = np.array(records, dtype=object).reshape(len(records), len(names))
    X = cells[:, [names.index(name) for name in spelled]]
    encoder = PublicEncoder(spelled, constant=True, rows="length", clip=True).fit(X)
    return Table(encoder.transform(X), told.read(cells[:, names.index(target)]), told, encoder)


def _records(path: Path) -> tuple[list[str], list[list[str]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file, skipinitialspace=True)
            names = [name.strip() for name in next(lines, [])]
            records = [[cell.strip() for cell in line] for line in lines if line]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as CSV in UTF-8: {error}") from error
    if len(set(names)) < len(names) or not all(names):
        raise DataError(f"{path}: the first line must name every column once")
    if ragged := [k for k, record in enumerate(records, start=2) if len(record) != len(names)]:
        raise DataError(f"{path}: record {ragged[0] - 1} has not as many cells as there are names ({len(names)})")
    return names, records


def _spelled(words: dict[str, Any], names: list[str], path: str | Path) -> dict[str, Any]:
    """Return the schema with patterns spelled out, of the columns that there are."""
    rest, spelled = [name for name in names if name not in words], {}
    for key, value in words.items():
        spelled |= dict.fromkeys([key] if key in names else fnmatch.filter(rest, key), value)
    wrong = [name for name in names if name not in spelled] + [
        key for key in words if key not in names and not set("*?") & set(key)
    ]
    if wrong:
        raise DataError(f"{path} and the schema differ in the column {wrong[0]!r}; name each column, or `ignore` it")
    return spelled


def parts(count: int, repeats: int, share: float, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Give masks of the rows to test on: a coin for each record, so that none depends on how many others there are."""
    for _ in range(repeats):
        yield rng.random(count) < share
