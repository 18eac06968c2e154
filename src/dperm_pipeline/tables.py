"""Parquet files of rows: the only results that experiments hand to figures, tables, claims and the report.

A row is one measured number. Every file has the columns of `SCHEMA`; an experiment adds its own. The file's metadata
(key `dperm`, JSON) says what made it: its part of the configuration, seed, code digest, package versions. Two runs of
the same code write the same metadata.
"""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dperm.errors import CorruptFile
from dperm_pipeline import files, stamps

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
# `failed`: the solver missed its target. `unknown`: all went well, and what was asked has no answer there.
STATUSES = ("ok", "failed", "unknown")
# The metric of the one row of a cell whose solver gave up.
GIVEN_UP = "given_up"
# What a scenario's own column may be, by its kind in numpy; all else must be text.
_OWN = {"b": pa.bool_(), "i": pa.int64(), "u": pa.int64(), "f": pa.float64()}


def _arrow(frame: pd.DataFrame) -> pa.Table:
    missing = [name for name in SCHEMA.names if name not in frame.columns]
    if missing:
        raise ValueError(f"rows lack the columns {', '.join(missing)}")
    if not frame.columns.is_unique:
        raise ValueError(f"rows have a column twice: {', '.join(sorted(frame.columns[frame.columns.duplicated()]))}")
    own = [name for name in frame.columns if name not in SCHEMA.names]
    fields = [*SCHEMA, *(pa.field(name, _OWN.get(frame[name].dtype.kind, _TEXT)) for name in own)]
    # Text is encoded here, in order of first appearance, so that equal values give equal bytes whatever pandas held.
    plain = pa.schema([pa.field(f.name, pa.string() if f.type == _TEXT else f.type) for f in fields])
    try:
        table = pa.Table.from_pandas(frame, schema=plain, preserve_index=False).combine_chunks()
    except pa.ArrowException as error:
        raise ValueError(
            f"rows do not fit the schema ({'; '.join(map(str, error.args))}); "
            "a column of one's own must be all bool, all integer, all float or all text"
        ) from error
    for index, field in enumerate(fields):
        if field.type == _TEXT:
            # An own column without any value has no type yet: another cell may give it one.
            empty = field.name in own and table[index].null_count == len(table)
            column = pa.nulls(len(table)) if empty else table[index].dictionary_encode().cast(_TEXT)
            table = table.set_column(index, field.name, column)
    _check_values(table, "the rows to be written")
    return table


def _check_values(table: pa.Table, name: str | Path, made: str | Path | None = None) -> None:
    """An `ok` row must hold a number; others need not."""
    status = table["status"].cast(pa.string())
    unknown = set(pc.unique(status).to_pylist()) - set(STATUSES)
    if unknown:
        raise CorruptFile(f"{name}: unknown status {sorted(unknown, key=str)}; known: {', '.join(STATUSES)}", made=made)
    finite = pc.fill_null(pc.is_finite(table["value"]), False)
    bad = pc.sum(pc.and_(pc.equal(status, "ok"), pc.invert(finite))).as_py()
    if bad:
        raise CorruptFile(f"{name}: {bad} rows say status=ok but hold no finite value", made=made)


def write(frame: pd.DataFrame, path: str | Path, *, metadata: dict[str, Any]) -> None:
    """Write rows to one Parquet file, whole or not at all; equal rows and metadata give equal bytes.

    ValueError if a column of the schema is missing, or a column has values of another type than its own (bool, integer,
    float or text); CorruptFile if a status is unknown, or a row with status `ok` holds no finite value.
    """
    write_all([frame], path, metadata=metadata)


def write_all(frames: Iterable[pd.DataFrame], path: str | Path, *, metadata: dict[str, Any]) -> None:
    """Write the rows of several cells to one Parquet file, one after the other; as `write` does those of one.

    A column of their own that only some of them have is null in the others. Frames are taken one at a time, and
    kept in the compact form of the file. Raises as `write`; ValueError too if columns of the same name have
    different types.
    """
    parts = [_arrow(frame) for frame in frames]
    try:
        union = pa.unify_schemas([part.schema for part in parts], promote_options="permissive")
    except pa.ArrowException as error:
        raise ValueError(f"rows of different cells have a column with different types: {error}") from error
    table = pa.concat_tables(_widened(part, union) for part in parts).unify_dictionaries().combine_chunks()
    with files.replacing(path) as temporary:
        table = table.replace_schema_metadata(stamps.encoded(metadata, table.schema))
        pq.write_table(table, temporary, write_page_checksum=True)


def _widened(table: pa.Table, union: pa.Schema) -> pa.Table:
    """Return the table with all columns of a wider schema; those that it lacks are null."""
    for field in union:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(union.names).cast(union)


def metadata(path: str | Path) -> dict[str, Any]:
    """Return what the file says made it; CorruptFile if it is not Parquet or carries no such metadata."""
    with _reading(path):
        schema = pq.read_schema(path)
    stamps.check(schema, path)
    try:
        return json.loads(schema.metadata[b"dperm"])
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFile(f"{path} carries no dperm metadata ({error!r})", made=path) from error


def check_made(path: str | Path, made: Mapping[str, str] | None) -> None:
    """Raise CorruptFile if another job made the file than the one of which `made` has the `stamps.fingerprint`."""
    if made is not None and stamps.fingerprint(metadata(path)) != made[str(path)]:
        raise CorruptFile(f"{path} holds what another job made", made=path)


def read(path: str | Path, *, columns: Sequence[str] | None = None, filters: Any = None) -> pd.DataFrame:
    """Read rows that `filters` (pyarrow's form) let through, text as categories. Raises what `load` raises."""
    return load(path, columns=columns, filters=filters).to_pandas(ignore_metadata=True)


def load(path: str | Path, *, columns: Sequence[str] | None = None, filters: Any = None) -> pa.Table:
    """Read what `read` does, in the compact form of the file.

    CorruptFile if the file is not Parquet, lacks a column of the schema, or has it with another type; ValueError if
    `columns` or `filters` ask for a column that the file does not have, or compare it with another type.
    """
    schema = _checked_schema(path)
    check_columns(path, columns or (), schema.names)
    if filters is not None:
        # Tried on no rows first, so that a wrong question is not taken for a corrupt file.
        try:
            schema.empty_table().filter(pq.filters_to_expression(filters))
        except pa.ArrowException as error:
            raise ValueError(f"filters {filters} do not fit {path}: {error}") from error
    table = _table(path, columns=columns, filters=filters)
    if {"status", "value"} <= set(table.column_names):
        _check_values(table, path, made=path)
    return table


def narrowed(table: pa.Table, *, columns: Sequence[str], filters: Any) -> pa.Table:
    """Return some columns of the rows that `filters` (pyarrow's form) let through, in their order."""
    return table.filter(pq.filters_to_expression(filters)).select(list(columns))


def check_columns(path: str | Path, asked: Iterable[str], known: Sequence[str]) -> None:
    """Raise ValueError if a column that is asked for is not among those that are known."""
    absent = [name for name in asked if name not in known]
    if absent:
        raise ValueError(f"{path} has no column {', '.join(map(repr, absent))}; it has {', '.join(known)}")


def columns(path: str | Path) -> list[str]:
    """Return the names of a file's columns; raises what `read` raises."""
    return _checked_schema(path).names


def distinct(path: str | Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return the combinations of values that some columns take; rows are read a part at a time, however many there are.

    CorruptFile as `load`.
    """
    frames = (part.to_pandas(ignore_metadata=True).astype(object).drop_duplicates() for part in parts(path, columns))
    return pd.concat(frames, ignore_index=True).drop_duplicates(ignore_index=True)


def parts(path: str | Path, columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield some columns a part of the rows at a time, first an empty one with the types; CorruptFile as `load`."""
    yield _checked_schema(path).empty_table().select(list(columns))
    with _reading(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
        for group in range(file.num_row_groups):
            yield file.read_row_group(group, columns=list(columns))


def given_up(path: str | Path) -> list[str]:
    """Return where the solvers of whole cells gave up, as `output.tight at epsilon=1`; raises what `read` raises."""
    return _given_up(str(path), Path(path).stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _given_up(path: str, _: int) -> list[str]:
    lost = read(path, columns=["mechanism", "calibration", "variant"], filters=[("metric", "==", GIVEN_UP)])
    arms = lost.astype(str).drop_duplicates().itertuples(index=False)
    return [f"{'.'.join(filter(None, (mechanism, calibration)))} at {where}" for mechanism, calibration, where in arms]


def collect(
    paths: Iterable[str | Path], out: str | Path, *, metadata: dict[str, Any], made: Mapping[str, str] | None = None
) -> None:
    """Write the union of cell files to `out`, one after the other: at no time do all of them stand in memory.

    A corrupt cell, or one of another job than `made` says (`check_made`), is deleted, so that the next run makes it
    again, and never aggregated; CorruptFile names all of them. A column that only some cells have is null in the
    others. ValueError if a path is given twice, or cells hold a column of their own under the same name with
    different types.
    """
    paths = sorted(map(Path, paths))
    twice = sorted({str(path) for path, following in itertools.pairwise(paths) if path == following})
    if twice:
        raise ValueError(f"cells given twice would count twice: {', '.join(twice)}")
    union, corrupt = SCHEMA, []
    for path in paths:
        try:
            _checked_schema(path)
            check_made(path, made)
            cell = _table(path)
            _check_values(cell, path)
        except CorruptFile as error:
            path.unlink()
            corrupt.append(error.what)
            continue
        try:
            union = pa.unify_schemas([union, cell.schema.remove_metadata()], promote_options="permissive")
        except pa.ArrowException as error:
            raise ValueError(f"{path} has a column with another type than the cells before it: {error}") from error
    if corrupt:
        raise CorruptFile("deleted, to be made again by the next run: " + "; ".join(corrupt))
    union = union.with_metadata(stamps.encoded(metadata, union))
    with files.replacing(out) as temporary, pq.ParquetWriter(temporary, union, write_page_checksum=True) as writer:
        for path in paths:
            writer.write_table(_widened(_table(path), union))


def write_records(
    records: Sequence[dict[str, Any]], schema: pa.Schema, path: str | Path, *, metadata: dict[str, Any]
) -> None:
    """Write a table of another schema than the rows' (verdicts, attacks), whole or not at all; a missing key is null.

    The metadata hold nothing that differs between two runs of the same code. ValueError if a record does not fit
    the schema.
    """
    unknown = sorted({key for record in records for key in record} - set(schema.names))
    if unknown:
        raise ValueError(f"records have columns that the schema does not: {', '.join(unknown)}")
    try:
        table = pa.Table.from_pylist(list(records), schema=schema)
    except pa.ArrowException as error:
        raise ValueError(f"records do not fit the schema: {error}") from error
    with files.replacing(path) as temporary:
        table = table.replace_schema_metadata(stamps.encoded(metadata, table.schema))
        pq.write_table(table, temporary, write_page_checksum=True)


def read_records(path: str | Path, schema: pa.Schema | None = None) -> pd.DataFrame:
    """Read back what `write_records` wrote (any schema by default); whole numbers as Int64, which may be missing.

    CorruptFile if the file is not Parquet or has other columns.
    """
    with _reading(path):
        table = pq.read_table(path, partitioning=None, page_checksum_verification=True)
    stamps.check(table.schema, path)
    if schema is not None and not table.schema.equals(schema):
        raise CorruptFile(f"{path} does not hold what it should (columns {', '.join(table.column_names)})", made=path)
    # A plain int64 column would turn to floats where a value is missing.
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get, ignore_metadata=True)


@contextmanager
def _reading(path: str | Path) -> Iterator[None]:
    """Turn what Arrow says of broken bytes into CorruptFile; a missing or forbidden file stays what it is."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if files.is_of_the_machine(error):
            raise
        said = " ".join(str(error).split())
        raise CorruptFile(f"{path} is not a readable Parquet file ({said})", made=path) from error


def _checked_schema(path: str | Path) -> pa.Schema:
    with _reading(path):
        schema = pq.read_schema(path)
    stamps.check(schema, path)
    for field in SCHEMA:
        if schema.get_field_index(field.name) < 0 or schema.field(field.name).type != field.type:
            raise CorruptFile(f"{path}: column {field.name!r} is missing or not {field.type}", made=path)
    return schema


def _table(path: str | Path, **what: Any) -> pa.Table:
    with _reading(path):
        return pq.read_table(path, page_checksum_verification=True, **what)
