"""Rows survive the disk unchanged, equal rows are equal bytes, and wrong rows are refused."""

import importlib.metadata

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tidy_rows import META, plain, rows

from dperm.errors import CorruptFile
from dperm_pipeline import tables

OWN = {
    "count": [1, 2, 3, 4],
    "wide": [0.5, np.nan, 2.0, -1e300],
    "flag": [True, False, True, True],
    "word": ["a", None, "ε", "a"],
}


@pytest.mark.parametrize("own", [{}, OWN], ids=["schema", "own columns"])
def test_rows_and_types_survive_the_disk(tmp_path, own):
    frame = rows(**own)
    tables.write(frame, tmp_path / "a.parquet", metadata=META)
    assert plain(tables.read(tmp_path / "a.parquet")) == plain(frame[[*tables.SCHEMA.names, *own]])
    schema = pq.read_schema(tmp_path / "a.parquet")
    for field in tables.SCHEMA:
        assert schema.field(field.name).type == field.type
    text = pa.dictionary(pa.int32(), pa.string())
    types = {"count": pa.int64(), "wide": pa.float64(), "flag": pa.bool_(), "word": text}
    assert {name: schema.field(name).type for name in own} == {name: types[name] for name in own}


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, 3, 4], dtype="uint8"),
        pd.Series([1, None, 3, 4], dtype="Int64"),
        pd.Series([True, None, False, True], dtype="boolean"),
        pd.Series([1.0, 2.0, 3.0, 4.0], dtype="float32"),
        pd.Series(["a", "b", None, "a"], dtype="category"),
        pd.Series(["a", "b", None, "a"], dtype="string"),
        pd.Series(["a", "b", None, "a"], dtype=object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_every_form_of_pandas_column_survives(tmp_path, column):
    tables.write(rows(own=column), tmp_path / "a.parquet", metadata=META)
    assert plain(tables.read(tmp_path / "a.parquet"))["own"] == plain(column.to_frame("own"))["own"]


def test_equal_frames_give_equal_bytes(tmp_path):
    frame = rows(1001, word=["x", "y", "z", "x", "x", "z", "y"] * 143)
    for path, version in {
        "a": frame,
        "b": frame.copy(),
        "columns shuffled": frame[[*frame.columns[::-1].drop("word"), "word"]],
        "another index": frame.set_index(frame.index[::-1] + 7),
        "categories, one unused": frame.assign(
            word=pd.Categorical(frame["word"], ["unused", "z", "y", "x"]), paper=frame["paper"].astype("category")
        ),
        "small integers": frame.assign(repeat=frame["repeat"].astype("int16")),
    }.items():
        tables.write(version, tmp_path / path, metadata=META)
    tables.write(tables.read(tmp_path / "a"), tmp_path / "read back", metadata=dict(reversed(META.items())))
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1


def test_other_values_or_metadata_give_other_bytes(tmp_path):
    for index, (frame, meta) in enumerate([(rows(), META), (rows(seed=1), META), (rows(), META | {"seed": 2})]):
        tables.write(frame, tmp_path / str(index), metadata=meta)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 3


@pytest.mark.parametrize("name", tables.SCHEMA.names)
def test_a_missing_column_is_refused_and_named(tmp_path, name):
    with pytest.raises(ValueError, match=f"rows lack the columns {name}$"):
        tables.write(rows().drop(columns=name), tmp_path / "a.parquet", metadata=META)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epsilon", ["much"] * 4),
        ("repeat", [0.5, 1.0, 2.0, 3.0]),
        ("repeat", [2**31, 1, 2, 3]),
        ("metric", [1, 2, 3, 4]),
        ("own", [1, "a", 2, "b"]),
        ("own", [True, None, "x", 1.0]),
        ("own", [1j, 2j, 3j, 4j]),
        ("own", [[1], [2], [3], [4]]),
        ("own", pd.date_range("2026-01-01", periods=4)),
    ],
)
def test_values_of_another_type_are_refused_and_the_column_named(tmp_path, name, values):
    with pytest.raises(ValueError, match=rf"rows do not fit the schema.*{name}.*all bool, all integer"):
        tables.write(rows(**{name: values}), tmp_path / "a.parquet", metadata=META)
    assert list(tmp_path.iterdir()) == []


def test_a_column_named_twice_is_refused(tmp_path):
    frame = rows(own=1)
    with pytest.raises(ValueError, match="column twice: own"):
        tables.write(pd.concat([frame, frame[["own"]]], axis=1), tmp_path / "a.parquet", metadata=META)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_an_ok_row_needs_a_finite_value(tmp_path, value):
    frame = rows()
    frame.loc[[1, 2], "value"] = value
    with pytest.raises(CorruptFile, match="2 rows say status=ok"):
        tables.write(frame, tmp_path / "a.parquet", metadata=META)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", [np.nan, 1.5])
def test_a_failed_row_may_have_a_value_or_none(tmp_path, value):
    frame = rows(status=["ok", "failed", "ok", "failed"])
    frame.loc[[1, 3], "value"] = value
    tables.write(frame, tmp_path / "a.parquet", metadata=META)
    assert plain(tables.read(tmp_path / "a.parquet")) == plain(frame)
    nulls = pq.read_table(tmp_path / "a.parquet")["value"].null_count
    assert nulls == (2 if np.isnan(value) else 0)  # missing is null, not NaN, for readers other than pandas


@pytest.mark.parametrize("status", ["OK", "", None, "converged"])
def test_an_unknown_status_is_refused_and_shown(tmp_path, status):
    with pytest.raises(CorruptFile, match=r"unknown status \[.*\]; known: ok, failed, unknown") as caught:
        tables.write(rows(status=["ok", "ok", "ok", status]), tmp_path / "a.parquet", metadata=META)
    assert repr(status) in str(caught.value)


def test_metadata_comes_back_and_what_is_not_json_leaves_no_file(tmp_path):
    deep = META | {"ε": [1, 2.5, None, True, {"a": []}]}
    tables.write(rows(), tmp_path / "a.parquet", metadata=deep)
    found = tables.metadata(tmp_path / "a.parquet")
    assert found == {**deep, "versions": {name: importlib.metadata.version(name) for name in found["versions"]}}
    assert {"numpy", "scipy", "pandas", "pyarrow"} <= found["versions"].keys()
    with pytest.raises(TypeError):
        tables.write(rows(), tmp_path / "b.parquet", metadata={"path": tmp_path})
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("foreign", [None, {b"pandas": b"{}"}, {b"dperm": b"{broken"}])
def test_a_file_without_our_metadata_is_refused(tmp_path, foreign):
    table = pa.table({"a": [1]}).replace_schema_metadata(foreign)
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(CorruptFile, match=r"a\.parquet carries no dperm metadata"):
        tables.metadata(tmp_path / "a.parquet")


def test_filters_and_columns_choose_what_brute_force_chooses(tmp_path):
    frame = rows(100, knee=np.linspace(0, 1, 100), word=["p", "q"] * 50)
    tables.write(frame, tmp_path / "a.parquet", metadata=META)
    read = tables.read(
        tmp_path / "a.parquet",
        columns=["value", "repeat", "metric"],
        filters=[("metric", "==", "error"), ("knee", ">", 0.5), ("word", "in", ["p"])],
    )
    wanted = frame[(frame["metric"] == "error") & (frame["knee"] > 0.5) & (frame["word"] == "p")]
    assert 0 < len(wanted) < 50
    assert plain(read) == plain(wanted[["value", "repeat", "metric"]])


def test_filters_that_let_nothing_through_give_no_rows_with_all_columns(tmp_path):
    tables.write(rows(own=1), tmp_path / "a.parquet", metadata=META)
    read = tables.read(tmp_path / "a.parquet", filters=[("metric", "==", "no such")])
    assert len(read) == 0
    assert list(read.columns) == [*tables.SCHEMA.names, "own"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"columns": ["value", "vaule"]}, "has no column 'vaule'; it has paper"),
        ({"filters": [("epsilonn", "==", 1.0)]}, "filters .*epsilonn"),
        ({"filters": [("epsilon", "==", "one")]}, "filters .*one"),
    ],
)
def test_a_wrong_question_is_not_taken_for_a_corrupt_file(tmp_path, wrong, message):
    tables.write(rows(), tmp_path / "a.parquet", metadata=META)
    with pytest.raises(ValueError, match=message):
        tables.read(tmp_path / "a.parquet", **wrong)


def test_a_folder_named_like_a_column_adds_none(tmp_path):
    path = tmp_path / "dataset=elsewhere" / "knee=2" / "a.parquet"
    tables.write(rows(), path, metadata=META)
    assert list(tables.read(path).columns) == tables.SCHEMA.names
    assert set(tables.read(path)["dataset"]) == {"adult"}
