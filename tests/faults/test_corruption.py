"""Files that were good and are not any more: noticed by whoever reads them, deleted with a message, made again."""

import itertools
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tidy_rows import plain
from tidy_rows import rows as some_rows

from dperm.errors import CorruptFile
from dperm_pipeline import stamps, tables
from dperm_pipeline.datasets import prepared


@pytest.fixture
def cell(tmp_path):
    path = tmp_path / "cell.parquet"
    tables.write(some_rows(6, seed=1, ridge_multiple=2.0, chosen=True), path, metadata={"cell": {"a": 1}})
    return path


def read_by_all(path):
    """What every reader makes of a file of rows."""
    found = tables.read(path)
    tables.distinct(path, ["mechanism", "epsilon"])
    return plain(found), tables.metadata(path)


def test_a_flipped_bit_is_noticed_or_changes_nothing(cell):
    """In a page, a page's header, a column's name, the metadata: bits all over the file, a prime apart."""
    whole, good = bytearray(cell.read_bytes()), read_by_all(cell)
    noticed = 0
    for bit in range(0, 8 * len(whole), 211):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        cell.write_bytes(damaged)
        try:
            assert read_by_all(cell) == good, f"bit {bit}"
        except CorruptFile as error:
            noticed += 1
            assert error.made == cell
            assert str(error).endswith("; delete it and run again")
    assert noticed > 50


@pytest.mark.parametrize("bit", [0x01, 0x80], ids=["another letter", "no letter"])
@pytest.mark.parametrize("name", ["chosen", "epsilon"])
def test_a_flipped_bit_in_a_name_is_noticed(cell, name, bit):
    """Parquet has no checksum of its footer: this would be a column more or less."""
    whole, good, noticed = cell.read_bytes(), read_by_all(cell), 0
    for place in (place for place in range(len(whole)) if whole.startswith(name.encode(), place)):
        damaged = bytearray(whole)
        damaged[place] ^= bit
        cell.write_bytes(damaged)
        try:
            assert read_by_all(cell) == good
        except CorruptFile:
            noticed += 1
    assert noticed


def test_metadata_that_were_changed_are_noticed(cell):
    table = pq.read_table(cell)
    held = dict(table.schema.metadata)
    held[b"dperm"] = held[b"dperm"].replace(b'"a": 1', b'"a": 2')
    pq.write_table(table.replace_schema_metadata(held), cell)
    for read in (tables.read, tables.metadata, tables.read_records, lambda path: tables.distinct(path, ["metric"])):
        with pytest.raises(CorruptFile, match="not the ones that were written"):
            read(cell)


def test_every_cut_is_noticed(cell):
    whole = cell.read_bytes()
    for end in itertools.chain(range(0, len(whole), 97), (len(whole) - 1,)):
        cell.write_bytes(whole[:end])
        with pytest.raises(CorruptFile):
            tables.read(cell)


def test_a_number_that_is_none_is_noticed_by_who_draws_and_judges(cell):
    """Written by something else than dperm, with its columns and checksums right."""
    table = pq.read_table(cell)
    values = [float("nan"), *table["value"].to_pylist()[1:]]
    table = table.set_column(table.column_names.index("value"), "value", pa.array(values))
    pq.write_table(table.replace_schema_metadata(stamps.encoded({"cell": {"a": 1}}, table.schema)), cell)
    with pytest.raises(CorruptFile, match="1 rows say status=ok but hold no finite value; delete it"):
        tables.read(cell)


def test_too_little_memory_is_no_corruption(cell, monkeypatch):
    """Arrow's MemoryError is an ArrowException too; a good file must not be deleted for it."""

    def greedy(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    monkeypatch.setattr(pq, "read_table", greedy)
    for read in (tables.read, tables.read_records, prepared.read):
        with pytest.raises(MemoryError):
            read(cell)


# What is broken, how, and what is taken away so that a job reads it.
DATA = "resources/prepared/breast-cancer.parquet"
ROWS = "results/tiny/kifer2012-output/rows.parquet"
CELLS = "results/tiny/kifer2012-output/cells"
CLAIMS = "results/tiny/claims.parquet"
FIGURE = "results/tiny/figures/kifer2012-output.svg"


def damage(path: Path, how: str, other: Path | None = None) -> None:
    """Break a file and leave its time as it was, as a disk does."""
    changed, whole = path.stat(), path.read_bytes()
    if how == "foreign":
        shutil.copyfile(other, path)
    else:
        flipped = bytes([*whole[: len(whole) // 3], whole[len(whole) // 3] ^ 4, *whole[len(whole) // 3 + 1 :]])
        path.write_bytes({"garbage": b"not parquet", "cut": whole[: len(whole) // 2], "flipped": flipped}[how])
    os.utime(path, ns=(changed.st_atime_ns, changed.st_mtime_ns))


@pytest.mark.faults
def test_whatever_is_broken_is_deleted_named_and_made_again(finished):
    folder, undisturbed = finished.folder, finished.results()
    audits = sorted((folder / "results/tiny/audits").glob("output*/*.parquet"))
    cells = sorted((folder / CELLS).rglob("*.parquet"))
    rounds = [
        # A prepared data set, met by a cell that is made anew.
        ({DATA: ("cut", None)}, [cells[0], ROWS]),
        # Another job's attacks, met by the ledger; rows, met by figures.
        ({audits[0]: ("foreign", audits[1]), ROWS: ("flipped", None)}, ["results/tiny/privacy.parquet", FIGURE]),
        # Verdicts, met by the report.
        ({CLAIMS: ("garbage", None)}, ["results/tiny/report"]),
    ]
    for broken, taken in rounds:
        times = {path: path.stat().st_mtime_ns for path in cells}
        for path in taken:
            shutil.rmtree(folder / path) if (folder / path).is_dir() else (folder / path).unlink()
        for path, (how, other) in broken.items():
            damage(folder / path, how, other)
        said = finished.run(check=False)
        assert "Traceback" not in said
        for path in broken:
            name = str(Path(folder, path).relative_to(folder))
            assert any(name in line and "deleted" in line for line in said.splitlines()), said
            assert not (folder / path).exists()
        finished.run()
        assert finished.results() == undisturbed
        # No cell is made again, but for those of a data set that was: Snakemake takes what is made from it to be older.
        assert DATA in broken or {path: path.stat().st_mtime_ns for path in cells} == times
    assert finished.jobs() == []


@pytest.mark.faults
def test_a_cell_with_the_rows_of_another_or_with_none_is_never_aggregated(finished):
    folder, undisturbed = finished.folder, finished.results()
    first, second, third, *others = sorted((folder / CELLS).rglob("*.parquet"))
    damage(first, "foreign", second)
    damage(third, "garbage")
    (folder / ROWS).unlink()
    kept = {path: path.stat().st_mtime_ns for path in (second, *others)}
    said = finished.run(check=False)
    assert "Traceback" not in said and not (folder / ROWS).exists()
    for broken, words in ((first, "holds what another job made"), (third, "is not a readable Parquet file")):
        assert f"{broken.relative_to(folder)} {words}" in said and not broken.exists()
    finished.run()
    assert finished.results() == undisturbed
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
