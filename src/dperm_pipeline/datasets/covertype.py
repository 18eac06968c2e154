"""UCI Covertype: 55 whole numbers a line (ten numbers, 4 wilderness and 40 soil indicators, the cover type).

Read as ten numbers and two factors: exactly one indicator of each factor is 1, anything else is an error. The ranges of
the catalogue come from what a number is: an angle, a byte, a field of four digits.
"""

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from dperm.errors import CorruptFile, DataError
from dperm_pipeline import files
from dperm_pipeline.datasets.encode import Raw

# The public range of each number, as in the catalogue; reasons in docs/data.md.
RANGES = {
    "elevation": (1500.0, 4500.0),
    "aspect": (0.0, 360.0),
    "slope": (0.0, 90.0),
    "horizontal-to-water": (0.0, 2000.0),
    "vertical-to-water": (-1000.0, 1000.0),
    "horizontal-to-roads": (0.0, 10000.0),
    "hillshade-9am": (0.0, 255.0),
    "hillshade-noon": (0.0, 255.0),
    "hillshade-3pm": (0.0, 255.0),
    "horizontal-to-fire": (0.0, 10000.0),
}
NUMBERS = tuple(RANGES)
# Wilderness areas and soil types by their number in the codebook.
LEVELS = {"wilderness": tuple(range(1, 5)), "soil": tuple(range(1, 41))}
_TYPES = dict.fromkeys(map(str, range(55)), pa.int16())


def parse(entry: Mapping[str, Any], folder: Path) -> Raw:
    """Read the one file of an entry, plain or `.gz`; all rows are `train`: an experiment splits them by its seed.

    DataError, with file and line, if a line does not hold 55 whole numbers, or not exactly one indicator of a
    factor is 1; CorruptFile if a compressed file is cut or damaged.
    """
    path = folder / next(iter(entry["files"]))
    broken = []
    # With one thread Arrow knows the number of a broken line.
    reading = pyarrow.csv.ReadOptions(use_threads=False, column_names=list(_TYPES))
    parsing = pyarrow.csv.ParseOptions(
        quote_char=False, ignore_empty_lines=True, invalid_row_handler=lambda row: broken.append(row) or "error"
    )
    converting = pyarrow.csv.ConvertOptions(column_types=_TYPES, null_values=[])
    try:
        table = pyarrow.csv.read_csv(path, reading, parsing, converting)
    except (pa.ArrowException, OSError) as error:
        if files.is_of_the_machine(error):
            raise
        if broken:
            where = f"line {broken[0].number}: {broken[0].actual_columns} fields instead of {len(_TYPES)}"
            raise DataError(f"{entry['name']}: {path}, {where}; fetch it again") from None
        if path.suffix == ".gz" and isinstance(error, OSError):
            raise CorruptFile(f"{entry['name']}: {path} is cut or damaged; delete it and fetch it again") from None
        # What Arrow says is left out, because it may quote the data.
        raise DataError(
            f"{entry['name']}: {path}: {_first_wrong(path)} is no line of whole numbers; fetch it again"
        ) from None
    lines = np.column_stack([column.to_numpy() for column in table.columns])
    columns: dict[str, np.ndarray] = {name: lines[:, j] for j, name in enumerate(NUMBERS)}
    first = len(NUMBERS)
    for name, levels in LEVELS.items():
        marks = lines[:, first : first + len(levels)]
        wrong = (marks.min(axis=1) < 0) | (marks.sum(axis=1) != 1)
        if wrong.any():
            raise DataError(
                f"{entry['name']}: {path}, line {int(wrong.argmax()) + 1}: not exactly one of the {len(levels)} {name} "
                "columns is 1; fetch it again"
            )
        columns[name] = marks.argmax(axis=1) + 1
        first += len(levels)
    return raw({**columns, "cover": lines[:, -1]})


def raw(columns: Mapping[str, np.ndarray], *, versions: Mapping[str, str] | None = None) -> Raw:
    """Return columns (the ten numbers, `wilderness`, `soil`, `cover`) with the codebook's levels."""
    return Raw(columns=columns, levels=LEVELS, versions=versions or {})


def _first_wrong(path: Path) -> str:
    opener = gzip.open if path.suffix == ".gz" else Path.open
    with opener(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not all(field.strip().lstrip(b"-").isdigit() for field in line.split(b",")):
                return f"line {number}"
    return "one line (a number beyond 32767)"
