"""Parquet rows: the one place where the computing and the showing wing meet.

A row is one measured number. The columns of `SCHEMA` are there in every file, a scenario adds its own. The file's
metadata (key `dperm`, JSON) says what made it: config slice, seed, code digest, package versions; nothing in it differs
between two runs of the same code.
"""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dperm import files
from dperm.errors import CorruptFile

_TEXT = pa.dictionary(pa.int32(), pa.string())

SCHEMA = pa.schema(
    [
        ("paper", _TEXT),
        ("experiment", _TEXT),
        ("mechanism", _TEXT),
        ("variant", _TEXT),
        ("calibration", _TEXT),
        ("neighbours", _TEXT),
        ("guarantee", _TEXT),
        ("dataset", _TEXT),
        ("epsilon", pa.float64()),
        ("delta", pa.float64()),
        ("repeat", pa.int32()),
        ("metric", _TEXT),
        ("value", pa.float64()),
        ("status", _TEXT),
    ]
)
STATUSES = ("ok", "failed")
# What a scenario's own column may be: the narrowest of these that holds it.
_OWN = {"b": pa.bool_(), "i": pa.int64(), "f": pa.float64()}


def _arrow(frame: pd.DataFrame) -> pa.Table:
    missing = [name for name in SCHEMA.names if name not in frame.columns]
    if missing:
        raise ValueError(f"rows lack the columns {', '.join(missing)}")
    own = [
        pa.field(name, _OWN.get(frame[name].dtype.kind, _TEXT)) for name in frame.columns if name not in SCHEMA.names
    ]
    table = pa.Table.from_pandas(frame, schema=pa.schema([*SCHEMA, *own]), preserve_index=False)
    _check_values(table, "the rows to be written")
    return table.unify_dictionaries()


def _check_values(table: pa.Table, name: str) -> None:
    """A failed row may hold no number; an `ok` row must."""
    statuses = table["status"].to_pandas()
    unknown = set(statuses) - set(STATUSES)
    if unknown:
        raise CorruptFile(f"{name}: status {sorted(unknown, key=str)} is none of {', '.join(STATUSES)}")
    values = table["value"].to_pandas()
    bad = (statuses == "ok") & ~values.map(lambda value: value is not None and math.isfinite(value))
    if bad.any():
        raise CorruptFile(f"{name}: {int(bad.sum())} rows say status=ok but hold no finite value")


def write(frame: pd.DataFrame, path: str | Path, *, metadata: dict[str, Any]) -> None:
    """Write rows to one Parquet file, whole or not at all; equal rows and metadata give equal bytes.

    Parameters
    ----------
    frame : DataFrame
        With the columns of `SCHEMA` and the scenario's own (bool, integer, float or string).
    path : path
    metadata : dict
        JSON-serialisable.

    Raises
    ------
    CorruptFile
        If a row with status `ok` holds no finite value.
    """
    table = _arrow(frame)
    encoded = json.dumps(metadata, sort_keys=True).encode()
    with files.replacing(path) as temporary:
        pq.write_table(table.replace_schema_metadata({b"dperm": encoded}), temporary)


def metadata(path: str | Path) -> dict[str, Any]:
    """Return what the file says made it."""
    try:
        return json.loads(pq.read_schema(path).metadata[b"dperm"])
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"{path} carries no dperm metadata ({error}); delete it and run again") from error


def read(path: str | Path, *, columns: Sequence[str] | None = None, filters: Any = None) -> pd.DataFrame:
    """Read rows back; only those that `filters` (pyarrow's form) let through.

    Raises
    ------
    CorruptFile
        If the file is not Parquet, lacks a column of the schema, or has it with another type.
    """
    try:
        schema = pq.read_schema(path)
        for field in SCHEMA:
            if schema.get_field_index(field.name) < 0 or schema.field(field.name).type != field.type:
                raise CorruptFile(
                    f"{path}: column {field.name!r} is missing or not {field.type}; delete the file and run again"
                )
        return pq.read_table(path, columns=columns, filters=filters).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise CorruptFile(f"{path} is not a readable Parquet file ({error}); delete it and run again") from error


def collect(paths: Iterable[str | Path], out: str | Path, *, metadata: dict[str, Any]) -> None:
    """Write the union of cell files to `out`, one after the other: at no time do all of them stand in memory.

    A corrupt cell is deleted, so that the next run makes it again, and never aggregated.

    Raises
    ------
    CorruptFile
        Naming every corrupt cell that was deleted.
    """
    paths = sorted(map(Path, paths))
    schemas, corrupt = [], []
    for path in paths:
        try:
            schemas.append(_checked(path).schema.remove_metadata())
        except CorruptFile as error:
            path.unlink(missing_ok=True)
            corrupt.append(str(error))
    if corrupt:
        raise CorruptFile("deleted, to be made again by the next run: " + "; ".join(corrupt))
    union = pa.unify_schemas(schemas, promote_options="permissive") if schemas else SCHEMA
    union = union.with_metadata({b"dperm": json.dumps(metadata, sort_keys=True).encode()})
    with files.replacing(out) as temporary, pq.ParquetWriter(temporary, union) as writer:
        for path in paths:
            table = pq.read_table(path)
            absent = [field for field in union if field.name not in table.column_names]
            for field in absent:
                table = table.append_column(field, pa.nulls(len(table), field.type))
            writer.write_table(table.select(union.names).cast(union))


def _checked(path: Path) -> pa.Table:
    """Read one cell and hold it against the schema."""
    read(path, columns=["status"])
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise CorruptFile(f"{path} is not a readable Parquet file ({error})") from error
    _check_values(table, str(path))
    return table
