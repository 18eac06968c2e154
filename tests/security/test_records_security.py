"""No message, warning or log line of the preparation quotes a record of somebody's own file, however broken it is."""

import io
import logging
import warnings

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dperm.errors import DpermError
from dperm_pipeline.datasets import prepare

# In every value of the file, and in nothing else.
MARK = "zqX7"
NAMES = ("age", "colour", "y", "note")


def entry(path, **changes):
    return {
        "name": "people", "title": "People", "task": "binary", "format": "csv", "path": str(path), "licence": "private",
        "citation": "none", "target": {"column": "y", "positive": "yes", "negative": "no"},
        "ranges": {"age": [0, 100]}, "levels": {"colour": ["red", "blue"]}, "data_dependent": [], **changes,
    }  # fmt: skip


def said(path, **changes):
    """Everything that preparing a file says; nothing but a `DpermError` may come out."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    level = logging.getLogger().level
    logging.getLogger().setLevel(logging.DEBUG)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                prepare.prepare(entry(path, **changes))
                error = ""
            except DpermError as raised:
                error = str(raised)
    finally:
        logging.getLogger().removeHandler(handler)
        logging.getLogger().setLevel(level)
    return " ".join([error, stream.getvalue(), *(str(warning.message) for warning in warned)])


SOUND = ("41.5", "red", "yes", MARK)
# Of a record: a value of one's own (a name, a number, nothing), or one that fits.
BROKEN = st.sampled_from(
    [
        MARK,
        f"{MARK} Ann, 7",
        f'"{MARK}',
        f"1e999{MARK}",
        f"-{MARK}-",
        f"{MARK}\n",
        f"{MARK}\r",
        f"{MARK}\x00",
        f"ü{MARK}",
        "",
    ]
)
CELLS = st.tuples(*(st.one_of(st.just(value), BROKEN) for value in SOUND))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    records=st.lists(CELLS, min_size=1, max_size=4),
    header=st.booleans(),
    quoted=st.booleans(),
    cut=st.integers(0, 6),
    bytes_=st.sampled_from([b"", b"\xff\xfe", b"\xef\xbb\xbf", b"\x00", b'"']),
    missing=st.sampled_from(["error", "drop"]),
    outside=st.sampled_from(["error", "clip"]),
    task=st.sampled_from(["binary", "regression"]),
)
def test_a_csv_in_whatever_state(tmp_path, records, header, quoted, cut, bytes_, missing, outside, task):
    text = pd.DataFrame(records, columns=NAMES).to_csv(index=False, header=header, quoting=1) if quoted else "\n".join(
        [",".join(NAMES)] * header + [",".join(record) for record in records]
    )  # fmt: skip
    data = bytes_ + text.encode()
    path = tmp_path / "people.csv"
    path.write_bytes(data[: len(data) - cut])
    target = {"target": {"column": "y", "range": [0, 1]}} if task == "regression" else {}
    assert MARK not in said(path, missing=missing, outside=outside, task=task, **target)


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("age", [f"{MARK}", "2"], ["column 'age'", "1 of 2 records hold no finite number", "record 1"]),
        ("age", ["1", "200.7364519"], ["lie outside [0, 100]", "record 2"]),
        ("colour", ["red", MARK], ["column 'colour'", "outside the declared", "record 2"]),
        ("y", ["yes", MARK], ["column 'y'", "record 2"]),
        ("y", ["yes", ""], ["column 'y'", "lack a value", "record 2"]),
    ],
)
def test_the_place_is_told_and_the_value_is_not(tmp_path, column, values, words):
    frame = pd.DataFrame({"age": ["1", "2"], "colour": ["red", "blue"], "y": ["yes", "no"], "note": [MARK, MARK]})
    path = tmp_path / "people.csv"
    frame.assign(**{column: values}).to_csv(path, index=False)
    message = said(path)
    assert all(word in message for word in words), message
    assert MARK not in message and "7364519" not in message


def test_a_first_record_is_not_shown_where_names_are_missing(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(f"41,red,yes,{MARK}\n42,blue,no,{MARK}\n", encoding="utf-8")
    message = said(path)
    assert "no column 'age'" in message and "is the first of its 4 names a line of names?" in message
    assert MARK not in message and "41" not in message


KINDS = {
    "text": pa.array([MARK, "red"]),
    "binary": pa.array([MARK.encode() + b"\xff", b"red"]),
    "list": pa.array([[MARK], ["red"]]),
    "struct": pa.array([{"k": MARK}, {"k": "red"}]),
    "map": pa.array([[(MARK, 1)], []], pa.map_(pa.string(), pa.int32())),
    "dictionary": pa.array([MARK, "red"]).dictionary_encode(),
    "date": pa.array([10_000, 20_000], pa.date32()),
    "uint64": pa.array([2**64 - 1, 1], pa.uint64()),
    "null": pa.nulls(2),
    "huge": pa.array([f"{MARK}{'9' * 5000}", "1"]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", ["age", "colour", "y"])
def test_a_parquet_column_of_whatever_type(tmp_path, column, kind):
    sound = {"age": pa.array([1.0, 2.0]), "colour": pa.array(["red", "blue"]), "y": pa.array(["yes", "no"])}
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({**sound, column: KINDS[kind]}), path)
    message = said(path, format="parquet")
    assert f"column '{column}'" in message
    assert MARK not in message and "18446744073709551615" not in message
