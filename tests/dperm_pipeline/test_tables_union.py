"""Cells are collected whole and streamed, and no broken cell is ever aggregated."""

import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tidy_rows import META, plain, rows

from dperm.errors import CorruptFile
from dperm_pipeline import tables


def cells(folder):
    """Write four cells with different own columns; return paths and frames in path order."""
    frames = {
        "a": rows(5, seed=1, knee=[1, 2, 3, 4, 5], note=None),
        "b": rows(4, seed=2, knee=[0.5, 1.5, 2.5, 3.5], flag=[True, False, True, True]),
        "c": rows(3, seed=3, note=["x", None, "y"], epsilon=np.nan),
        "d": rows(2, seed=4, note="y", status="failed", value=np.nan, empty=None, mechanism="output"),
    }
    for name, frame in frames.items():
        tables.write(frame, folder / f"{name}.parquet", metadata={"cell": name})
    return [folder / f"{name}.parquet" for name in frames], list(frames.values())


def test_the_union_holds_every_row_and_every_column_once(tmp_path):
    paths, frames = cells(tmp_path / "cells")
    tables.collect(paths, tmp_path / "rows.parquet", metadata=META)
    union = tables.read(tmp_path / "rows.parquet")
    wanted = pd.concat([frame.astype(object) for frame in frames], ignore_index=True)
    assert set(union.columns) == {*tables.SCHEMA.names, "knee", "note", "flag", "empty"}
    assert list(union.columns[: len(tables.SCHEMA)]) == tables.SCHEMA.names
    assert plain(union) == plain(wanted[union.columns])
    found = tables.metadata(tmp_path / "rows.parquet")
    assert found == {**META, "versions": found["versions"]}


def test_cells_of_one_job_are_written_as_their_union_is_collected(tmp_path):
    """A column that one cell lacks is null there, and whole numbers stay whole."""
    frames = [
        rows(3, seed=1, knee=[1, 2, 3]),
        rows(2, seed=2, note="x", dataset="adult"),
        rows(2, seed=3, knee=7, note=None),
    ]
    tables.write_all(iter(frames), tmp_path / "all.parquet", metadata=META)
    for k, frame in enumerate(frames):
        tables.write(frame, tmp_path / f"{k}.parquet", metadata=META)
    tables.collect([tmp_path / f"{k}.parquet" for k in range(3)], tmp_path / "rows.parquet", metadata=META)
    written, collected = (pq.read_table(tmp_path / f"{name}.parquet") for name in ("all", "rows"))
    assert written.schema.equals(collected.schema) and written["knee"].type == pa.int64()
    assert written.to_pylist() == collected.to_pylist() and len(written) == 7
    # Alone, it is what `write` writes, to the byte.
    tables.write_all(frames[:1], tmp_path / "one.parquet", metadata=META)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "0.parquet").read_bytes()


def test_cells_of_one_job_that_disagree_about_a_column_are_refused(tmp_path):
    with pytest.raises(ValueError, match="different types"):
        tables.write_all([rows(2, note="x"), rows(2, note=1.5)], tmp_path / "all.parquet", metadata=META)
    assert list(tmp_path.iterdir()) == []


def test_distinct_values_of_columns_are_those_of_all_rows(tmp_path):
    paths, frames = cells(tmp_path / "cells")
    tables.collect(paths, tmp_path / "rows.parquet", metadata=META)
    columns = ["mechanism", "status", "knee"]
    union = pd.concat(frames, ignore_index=True).astype(object)[columns]
    found = tables.distinct(tmp_path / "rows.parquet", columns)
    assert list(found.columns) == columns and not found.duplicated().any()

    def plain_set(frame):
        return {tuple(None if pd.isna(value) else value for value in row) for row in frame.itertuples(index=False)}

    assert plain_set(found) == plain_set(union)
    tables.collect([], tmp_path / "none.parquet", metadata=META)
    assert tables.distinct(tmp_path / "none.parquet", ["mechanism"]).empty
    (tmp_path / "none.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorruptFile):
        tables.distinct(tmp_path / "none.parquet", ["mechanism"])


def test_types_survive_the_union(tmp_path):
    paths, _ = cells(tmp_path / "cells")
    tables.collect(paths, tmp_path / "rows.parquet", metadata=META)
    schema = pq.read_schema(tmp_path / "rows.parquet")
    text = pa.dictionary(pa.int32(), pa.string())
    own = {"knee": pa.float64(), "note": text, "flag": pa.bool_(), "empty": pa.null()}
    assert {field.name: field.type for field in schema} == {field.name: field.type for field in tables.SCHEMA} | own
    read = tables.read(tmp_path / "rows.parquet", filters=[("mechanism", "==", "output"), ("note", "==", "y")])
    assert len(read) == 2
    assert read["value"].isna().all()


def test_the_union_does_not_depend_on_the_order_of_paths(tmp_path):
    paths, _ = cells(tmp_path / "cells")
    for name, order in {"one": paths, "two": paths[::-1], "three": map(str, (paths[i] for i in (2, 0, 3, 1)))}.items():
        tables.collect(order, tmp_path / name, metadata=META)
    assert len({(tmp_path / name).read_bytes() for name in ("one", "two", "three")}) == 1


def test_a_union_can_be_collected_again(tmp_path):
    paths, _ = cells(tmp_path / "cells")
    tables.collect(paths[:2], tmp_path / "one.parquet", metadata=META)
    tables.collect(paths[2:], tmp_path / "two.parquet", metadata=META)
    tables.collect([tmp_path / "one.parquet", tmp_path / "two.parquet"], tmp_path / "both.parquet", metadata=META)
    tables.collect(paths, tmp_path / "all.parquet", metadata=META)
    one, other = (plain(tables.read(tmp_path / f"{name}.parquet")) for name in ("both", "all"))
    assert one == other


def test_no_cells_make_an_empty_union(tmp_path):
    tables.collect([], tmp_path / "rows.parquet", metadata=META)
    read = tables.read(tmp_path / "rows.parquet")
    assert len(read) == 0
    assert list(read.columns) == tables.SCHEMA.names


def test_a_cell_given_twice_is_refused(tmp_path):
    paths, _ = cells(tmp_path / "cells")
    with pytest.raises(ValueError, match=r"twice.*a\.parquet"):
        tables.collect([*paths, str(paths[0])], tmp_path / "rows.parquet", metadata=META)
    assert not (tmp_path / "rows.parquet").exists()


def test_own_columns_that_disagree_are_refused_and_no_cell_is_deleted(tmp_path):
    tables.write(rows(knee="wide"), tmp_path / "a.parquet", metadata=META)
    tables.write(rows(knee=0.5), tmp_path / "b.parquet", metadata=META)
    with pytest.raises(ValueError, match=r"b\.parquet has a column with another type.*knee"):
        tables.collect([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "rows.parquet", metadata=META)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]


def wrong_schema(path):
    pq.write_table(pq.read_table(path).drop_columns(["epsilon"]), path)


def wrong_type(path):
    table = pq.read_table(path)
    pq.write_table(table.set_column(10, "repeat", table["repeat"].cast(pa.float64())), path)


def ok_without_value(path):
    table = pq.read_table(path)
    pq.write_table(table.set_column(12, "value", pa.nulls(len(table), pa.float64())), path)


def flipped_bits_in_the_data(path):
    """Change the last byte of the last page of `value`: still valid Parquet, but another number or another order."""
    raw = bytearray(path.read_bytes())
    value = pq.ParquetFile(path).metadata.row_group(0).column(12)
    first = min(value.data_page_offset, value.dictionary_page_offset or value.data_page_offset)
    raw[first + value.total_compressed_size - 1] ^= 0b00000001
    path.write_bytes(raw)


DAMAGE = {
    "garbage": lambda path: path.write_bytes(np.random.default_rng(0).bytes(5000)),
    "text": lambda path: path.write_text("<html>404</html>"),
    "empty": lambda path: path.write_bytes(b""),
    "half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "last byte missing": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "head missing": lambda path: path.write_bytes(path.read_bytes()[100:]),
    "flipped bits": flipped_bits_in_the_data,
    "missing column": wrong_schema,
    "wrong type": wrong_type,
    "ok without value": ok_without_value,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_corrupt_cells_are_named_and_deleted_and_nothing_is_written(tmp_path, damage):
    paths, _ = cells(tmp_path / "cells")
    out = tmp_path / "rows.parquet"
    out.write_bytes(b"the old union")
    damage(paths[1])
    damage(paths[2])
    with pytest.raises(CorruptFile) as caught:
        tables.collect(paths, out, metadata=META)
    assert str(paths[1]) in str(caught.value)
    assert str(paths[2]) in str(caught.value)
    assert str(paths[0]) not in str(caught.value)
    assert [path.exists() for path in paths] == [True, False, False, True]
    assert out.read_bytes() == b"the old union"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cells", "rows.parquet"]


@pytest.mark.parametrize("damage", [DAMAGE[name] for name in DAMAGE if name != "ok without value"])
def test_reading_a_corrupt_file_says_so_and_leaves_it(tmp_path, damage):
    paths, _ = cells(tmp_path)
    damage(paths[0])
    with pytest.raises(CorruptFile, match=r"a\.parquet.*(delete|run again)"):
        tables.read(paths[0])
    assert paths[0].exists()


def test_truncation_anywhere_is_noticed(tmp_path):
    path = tmp_path / "a.parquet"
    tables.write(rows(), path, metadata=META)
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptFile):
            tables.read(path)


def test_a_damaged_union_is_noticed_too(tmp_path):
    paths, _ = cells(tmp_path / "cells")
    out = tmp_path / "rows.parquet"
    tables.collect(paths, out, metadata=META)
    flipped_bits_in_the_data(out)
    with pytest.raises(CorruptFile, match=r"rows\.parquet"):
        tables.read(out)


def test_no_flipped_byte_of_the_data_pages_changes_a_row(tmp_path):
    """Every page carries a checksum. The file's footer and page headers carry none; there only errors are checked."""
    path = tmp_path / "a.parquet"
    frame = rows(3)
    tables.write(frame, path, metadata=META)
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    noticed = 0
    for position in range(4, footer, 5):
        raw = bytearray(whole)
        raw[position] ^= 0xFF
        path.write_bytes(raw)
        try:
            assert plain(tables.read(path)) == plain(frame)
        except CorruptFile:
            noticed += 1
    assert noticed > footer / 5 / 2


@pytest.mark.parametrize("ask", [tables.read, tables.metadata])
def test_a_missing_file_is_missing_not_corrupt(tmp_path, ask):
    with pytest.raises(FileNotFoundError, match=r"a\.parquet"):
        ask(tmp_path / "a.parquet")


def test_a_missing_cell_stops_the_union_and_deletes_nothing(tmp_path):
    paths, _ = cells(tmp_path / "cells")
    paths[1].unlink()
    with pytest.raises(FileNotFoundError, match=r"b\.parquet"):
        tables.collect(paths, tmp_path / "rows.parquet", metadata=META)
    assert [path.exists() for path in paths] == [True, False, True, True]


def test_each_cell_is_a_row_group_of_the_union(tmp_path):
    paths, frames = cells(tmp_path / "cells")
    tables.collect(paths, tmp_path / "rows.parquet", metadata=META)
    written = pq.ParquetFile(tmp_path / "rows.parquet").metadata
    assert [written.row_group(i).num_rows for i in range(written.num_row_groups)] == [len(frame) for frame in frames]


PEAK = """
import sys
import pyarrow as pa
from dperm_pipeline import tables
*paths, out = sys.argv[1:]
tables.collect(paths, out, metadata={})
print(pa.default_memory_pool().max_memory())
"""


@pytest.mark.slow
def test_the_union_never_stands_in_memory_whole(tmp_path):
    """Arrow's peak memory for twelve cells is that for two: it is set by the largest cell, not by their number."""
    frame = pd.concat([rows(1000)] * 50, ignore_index=True)
    paths = [tmp_path / f"{index}.parquet" for index in range(12)]
    for path in paths:
        tables.write(frame, path, metadata=META)
    peaks = []
    for some in (paths[:2], paths):
        command = [sys.executable, "-c", PEAK, *map(str, some), str(tmp_path / "rows.parquet")]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.slow
def test_a_million_rows_take_seconds(tmp_path):
    """About one second of one core in all; a Python loop over the rows of each column would take far longer."""
    frame = pd.concat([rows(1000)] * 1000, ignore_index=True)
    start = time.process_time()
    tables.write(frame, tmp_path / "a.parquet", metadata=META)
    tables.collect([tmp_path / "a.parquet"], tmp_path / "rows.parquet", metadata=META)
    assert time.process_time() - start < 10
    assert pq.ParquetFile(tmp_path / "rows.parquet").metadata.num_rows == 10**6
