"""A table of one's own becomes rows within its public bounds, or a message says which column is wrong."""

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import together

from dperm.errors import ConfigError, CorruptFile, DataError, DataUnavailable, DpermError
from dperm_pipeline.datasets import catalogue, prepare

TEXT = """id,height,eyes,"weight, kg",tall
a,150,blue,50,no
b,200,brown,120,yes
c,175.5,"blue",60.5,yes
"""


@pytest.fixture
def own(tmp_path):
    """Return a function: the text of a CSV and changes to the entry -> the prepared set."""

    def run(text=TEXT, **changes):
        path = tmp_path / "people.csv"
        path.write_text(text, encoding="utf-8")
        return prepare.prepare(own_entry(path, **changes))

    return run


def own_entry(file, **changes):
    entry = {
        "name": "people",
        "title": "People",
        "task": "binary",
        "format": "csv",
        "path": str(file),
        "licence": "private",
        "citation": "none",
        "target": {"column": "tall", "positive": "yes"},
        "ranges": {"height": [100, 200], "weight, kg": [0, 200]},
        "levels": {"eyes": ["blue", "brown", "green"]},
        "data_dependent": [],
        **changes,
    }
    return {key: value for key, value in entry.items() if value is not None}


def test_the_encoding_by_hand(own):
    people = own()
    assert people.features == ("height", "weight, kg", "eyes=blue", "eyes=brown", "eyes=green", "(constant)")
    np.testing.assert_allclose(
        people.X, [[0.5, 0.25, 1, 0, 0, 1], [1.0, 0.6, 0, 1, 0, 1], [0.755, 0.3025, 1, 0, 0, 1]], rtol=1e-15
    )
    np.testing.assert_array_equal(people.y, [-1, 1, 1])
    assert people.bounds.x_norm == math.sqrt(4) and people.bounds.y_bound == 1
    assert set(people.split) == {"train"} and people.name == "people" and people.task == "binary"


def test_more_than_two_classes_are_numbered_as_declared(own):
    people = own(task="multiclass", target={"column": "eyes", "classes": ["green", "blue", "brown"]}, levels=None)
    np.testing.assert_array_equal(people.y, [1, 2, 1])
    assert people.bounds.y_bound == 2 and people.task == "multiclass"


def test_a_record_at_every_upper_end_reaches_the_bound_and_none_passes_it():
    from dperm_pipeline.datasets.encode import Raw, encode

    rng = np.random.default_rng(0)
    ranges = {f"c{j}": sorted(rng.normal(0, 10.0 ** rng.integers(-6, 7), 2)) for j in range(40)}
    columns = {name: np.r_[high, low, rng.uniform(low, high, 500)] for name, (low, high) in ranges.items()}
    columns["t"] = np.ones(502)
    entry = own_entry("x", ranges=ranges, levels={}, target={"column": "t", "positive": 1})
    data = encode(Raw(columns=columns), entry, "x", {})
    squared = (data.X**2).sum(axis=1)
    assert squared[0] == 41
    assert squared.max() <= 41 and data.X.min() >= 0 and data.X.max() <= 1
    assert data.bounds.x_norm == math.sqrt(41)


def test_symmetric_numbers_lie_around_zero_within_the_same_bound(own):
    unit, symmetric = own(), own(scale="symmetric")
    np.testing.assert_allclose(symmetric.X[:, :2], [[0.0, -0.5], [1.0, 0.2], [0.51, -0.395]], atol=1e-15)
    np.testing.assert_array_equal(symmetric.X[:, 2:], unit.X[:, 2:])
    np.testing.assert_array_equal(symmetric.y, unit.y)
    assert symmetric.bounds == unit.bounds


def test_a_record_is_encoded_by_itself(own):
    """Dropping or changing the other records changes no row: the preparation costs no privacy."""
    lines = TEXT.splitlines(keepends=True)
    whole = own().X
    for kept in (1, 2, 3):
        alone = own(lines[0] + lines[kept], rows=None)
        np.testing.assert_array_equal(alone.X[0], whole[kept - 1])


def test_parquet_gives_the_same_rows_as_csv(own, tmp_path):
    frame = pd.DataFrame({
        "tall": pd.Categorical(["no", "yes", "yes"]),
        "weight, kg": np.array([50, 120, 60.5], dtype=np.float32),
        "height": [150, 200, 175.5],
        "eyes": ["blue", "brown", "blue"],
        "when": pd.to_datetime(["2020-01-01"] * 3),
    })  # fmt: skip
    path = tmp_path / "people.parquet"
    frame.to_parquet(path)
    from_parquet, from_csv = prepare.prepare(own_entry(path, format="parquet")), own()
    np.testing.assert_array_equal(from_parquet.X, from_csv.X)
    np.testing.assert_array_equal(from_parquet.y, from_csv.y)
    with pytest.raises(DataError, match=r"'when' of .*people\.parquet holds datetime64"):
        prepare.prepare(own_entry(path, format="parquet", ranges={"when": [0, 1]}))


def test_compressed_csv(tmp_path, own):
    path = tmp_path / "people.csv.gz"
    pd.read_csv(pd.io.common.StringIO(TEXT)).to_csv(path, index=False)
    np.testing.assert_array_equal(prepare.prepare(own_entry(path)).X, own().X)


def test_regression_targets_are_scaled_to_the_unit_interval(own):
    people = own(task="regression", target={"column": "weight, kg", "range": [50, 150]}, ranges={"height": [100, 200]})
    np.testing.assert_allclose(people.y, [-1, 0.4, -0.79], rtol=1e-14)


@together.over(
    ("old", "new", "changes", "words"),
    [
        ("height", "hight", {}, ["no column 'height' among its 5", "did you mean 'hight'?"]),
        ("tall\n", "big\n", {}, ["no column 'tall'"]),
        ("id,", "height,", {}, ["2 columns 'height'"]),
        ("175.5", "tallish", {}, ["column 'height'", "1 of 3 records hold no finite number", "record 3"]),
        ("175.5", "inf", {"outside": "clip"}, ["hold no finite number", "record 3"]),
        ("175.5", "1e999", {"outside": "clip"}, ["hold no finite number"]),
        ("175.5", "201", {}, ["column 'height'", "lie outside [100, 200]", "outside: clip"]),
        ("175.5", "99.9", {}, ["column 'height'", "lie outside [100, 200]"]),
        ("175.5", "", {}, ["column 'height'", "1 of 3 records lack a value", "missing: drop"]),
        ("175.5", "NaN", {}, ["lack a value"]),
        ("brown", "purple", {}, ["column 'eyes'", "outside the declared", "record 2"]),
        ("brown", "Brown", {}, ["column 'eyes'", "outside the declared"]),
        ("60.5,yes", "60.5,", {}, ["column 'tall'", "lack a value"]),
        (
            "60.5,yes", "60.5,maybe", {"target": {"column": "tall", "positive": "yes", "negative": "no"}},
            ["column 'tall'", "outside the declared"],
        ),
        ("", "", {"rows": {"train": 4}}, ["3 complete train records instead of the 4", "rows.train"]),
        ("", "", {"positive_rows": {"train": 1}}, ["2 complete train records instead of the 1"]),
        ("", "", {"x_norm_squared": 5}, ["x_norm_squared=5", "2 numbers, 1 factors", "give 4"]),
        ("", "", {"ranges": {"*eight*": [0, 300], "h*": [0, 300]}}, ["two patterns match column 'height'"]),
        ("", "", {"ranges": {"w?dth": [0, 1]}}, ["no column 'w?dth'"]),
        ("c,175.5", "175.5", {}, ["line 4 has 4 fields instead of 5"]),
        ("c,175.5", "c,c,175.5", {}, ["line 4 has 6 fields instead of 5"]),
        ("blue,50,no\nb,200,brown,120,yes\nc,175.5,\"blue\",60.5,yes\n", ",50,no\n", {"missing": "drop"},
         ["holds no complete record"]),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(own, old, new, changes, words):
    assert old in TEXT
    with pytest.raises(DataError) as error:
        own(TEXT.replace(old, new, 1), **changes)
    text = str(error.value)
    for word in ["people", *words]:
        assert word in text
    # A value of the data never stands in a message: logs are read by others.
    for secret in ("tallish", "purple", "99.9", "201", "maybe", "175.5"):
        assert secret not in text


def test_clip_and_drop_when_declared(own):
    text = TEXT + "d,250,green,-3,no\ne,?,green,60,yes\nf,160,,60,yes\ng,160,green,60,NA\n"
    people = own(text, outside="clip", missing="drop", rows={"train": 4}, positive_rows={"train": 2})
    np.testing.assert_array_equal(people.X[3], [1, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(people.X[:3], own().X)


def test_a_declared_level_may_be_spelled_like_a_missing_value(own):
    people = own(TEXT.replace("brown", "NA"), levels={"eyes": ["blue", "NA"]})
    np.testing.assert_array_equal(people.X[:, 2:4], [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize("spelled", ["1", "1.0", " 1 ", "1e0"])
def test_numbers_as_labels_are_compared_as_numbers(own, spelled):
    people = own(
        TEXT.replace(",yes", "," + spelled).replace(",no", ",0"),
        target={"column": "tall", "positive": 1, "negative": [0, 2]},
    )
    np.testing.assert_array_equal(people.y, [-1, 1, 1])


def test_text_as_labels_is_compared_as_text(own):
    with pytest.raises(DataError, match="outside the declared"):
        own(TEXT.replace(",yes", ",01"), target={"column": "tall", "positive": "1", "negative": "no"})


def test_patterns_take_the_columns_nobody_else_takes(own):
    people = own(ranges={"*": [0, 1000]}, levels={"eyes": ["blue", "brown"], "id": ["a", "b", "c"]})
    assert people.features[:2] == ("height", "weight, kg")


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe\x00h", b"height,tall\n", b'"height'])
def test_not_a_csv(tmp_path, content):
    (tmp_path / "people.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"people\.csv"):
        prepare.prepare(own_entry(tmp_path / "people.csv"))


@pytest.mark.parametrize("content", [b"", b"PAR1PAR1", b"not parquet at all"])
def test_not_a_parquet(tmp_path, content):
    (tmp_path / "people.parquet").write_bytes(content)
    with pytest.raises(CorruptFile, match=r"people\.parquet is not a readable Parquet"):
        prepare.prepare(own_entry(tmp_path / "people.parquet", format="parquet"))


@pytest.mark.parametrize(
    ("form", "module", "function"),
    [("csv", pyarrow.csv, "read_csv"), ("parquet", pyarrow.parquet, "read_table")],
    ids=["csv", "parquet"],
)
def test_a_file_that_does_not_fit_the_memory_is_not_called_broken(tmp_path, monkeypatch, form, module, function):
    def full(*_, **__):
        raise pa.lib.ArrowMemoryError("malloc of size 99999999999 failed")

    path = tmp_path / f"people.{form}"
    path.write_text(TEXT, encoding="utf-8")
    if form == "parquet":
        pd.read_csv(tmp_path / "people.parquet").to_parquet(path)
    monkeypatch.setattr(module, function, full)
    with pytest.raises(MemoryError, match="malloc"):
        prepare.prepare(own_entry(path, format=form))


def test_random_text_never_shows_anything_but_our_own_errors(own):
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(200):
        damaged = list(TEXT)
        for place in rng.integers(len(TEXT), size=3):
            damaged[place] = rng.choice(list(',"\n?x9\x00é'))
        try:
            data = own("".join(damaged))
        except DpermError:
            refused += 1
        else:
            assert (np.linalg.norm(data.X, axis=1) <= 2).all()
    assert refused > 100


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataUnavailable, match=r"people\.path in config/datasets\.yaml"):
        prepare.prepare(own_entry(tmp_path / "people.csv"))


@together.over(
    ("changes", "words"),
    [
        ({"ranges": {"height": [200, 100]}}, "people.ranges.height: [200, 100] is not a range"),
        ({"ranges": {"height": [100, 100]}}, "is not a range"),
        ({"ranges": {"height": [0, math.inf]}}, "is not a range"),
        ({"levels": {"height": ["a", "b"]}}, "people.levels.height: 'height' stands under ranges too"),
        ({"levels": {"tall": ["yes", "no"]}}, "people.target.column: 'tall'"),
        ({"levels": {"eyes": ["blue", "blue"]}}, "people.levels.eyes: 'blue' stands there twice"),
        ({"target": {"column": "tall", "positive": "yes", "negative": ["no", "yes"]}}, "'yes' stands twice"),
        ({"task": "regression", "target": {"column": "tall", "range": [1, 0]}}, "people.target.range: [1, 0]"),
        ({"format": "digits"}, "people.path: only for the formats csv and parquet"),
        ({"sources": [["https://example.org/a"]]}, "people.sources: addresses without files"),
        ({"files": {"../up": {"bytes": 1, "sha256": "0" * 64}}}, "people.files.../up: must be a plain file name"),
        ({"format": "xlsx", "path": None}, "people.format: 'xlsx' is not one of adult"),
    ],
)
def test_an_entry_that_contradicts_itself(changes, words):
    with pytest.raises(ConfigError) as error:
        prepare.prepare(own_entry("people.csv", **changes))
    assert words in str(error.value)


def test_the_catalogue_refuses_what_is_no_catalogue(tmp_path):
    for name, text in {"a": "- 1", "b": "adult: 3", "c": "[", "d": ""}.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(ConfigError):
            catalogue.load(tmp_path / name)
    with pytest.raises(ConfigError, match="No such file"):
        catalogue.load(tmp_path / "absent")
