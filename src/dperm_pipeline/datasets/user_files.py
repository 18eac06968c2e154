"""Parsers of a user's own file: CSV (comma, one line of names, UTF-8, `.gz` and `.bz2` too) or Parquet file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dperm.errors import CorruptFile, DataError
from dperm_pipeline import files
from dperm_pipeline.datasets.encode import Raw, used_columns


def parse_csv(entry: Mapping[str, Any], path: Path) -> Raw:
    """Read the columns that the entry uses, as text; all other columns are left alone.

    DataError, which shows no value, if a column is missing, or a line has more or fewer fields than the first.
    """
    broken = []
    # With one thread Arrow knows the number of a broken line.
    reading = pyarrow.csv.ReadOptions(use_threads=False)
    parsing = pyarrow.csv.ParseOptions(
        newlines_in_values=True, invalid_row_handler=lambda row: broken.append(row) or "error"
    )
    try:
        with pyarrow.csv.open_csv(path, reading, parsing) as reader:
            present = reader.schema.names
        _, columns = used_columns(entry, present, str(path))
        as_text = pyarrow.csv.ConvertOptions(
            include_columns=columns, column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=False
        )
        table = pyarrow.csv.read_csv(path, reading, parsing, as_text)
    except (pa.ArrowException, OSError) as error:
        if files.is_of_the_machine(error):
            raise
        if broken:
            row = broken[0]
            where = f"line {row.number} has {row.actual_columns} fields instead of {row.expected_columns}"
            raise DataError(f"{entry['name']}: {path}: {where}; mend it, or quote fields that hold a comma") from None
        # What Arrow says is left out, because it may quote the data.
        raise DataError(
            f"{entry['name']}: {path} cannot be read as CSV ({type(error).__name__}); it must be UTF-8 with commas, "
            "one line of names and at least one record"
        ) from None
    return _raw(table)


def parse_parquet(entry: Mapping[str, Any], path: Path) -> Raw:
    """Read the columns that the entry uses; all other columns are left alone.

    DataError if a column is missing, or holds no plain values; CorruptFile if the file is not Parquet.
    """
    try:
        schema = pq.read_schema(path)
        _, columns = used_columns(entry, schema.names, str(path))
        for column in columns:
            if pa.types.is_nested(schema.field(column).type):
                raise DataError(
                    f"{entry['name']}: column {column!r} of {path} holds lists or structures; give each record one "
                    "plain value"
                )
        return _raw(pq.read_table(path, columns=columns, partitioning=None, page_checksum_verification=True))
    except (pa.ArrowException, OSError) as error:
        if files.is_of_the_machine(error):
            raise
        raise CorruptFile(f"{entry['name']}: {path} is not a readable Parquet file; write it again") from None


def _raw(table: pa.Table) -> Raw:
    return Raw(columns={name: _array(table[name]) for name in table.column_names})


def _array(column: pa.ChunkedArray) -> np.ndarray:
    """Return numbers as they are (NaN where there is nothing), all else as objects."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    array = column.to_numpy()
    return array if array.dtype.kind in "biufmM" else array.astype(object)
