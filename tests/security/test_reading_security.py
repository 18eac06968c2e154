"""Files from elsewhere are data: reading one runs nothing."""

import contextlib
import json
import os
import pickle

import fake_rows
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dperm import compiled, yaml_files
from dperm.domain import Domain
from dperm.errors import ConfigError, DataError, DpermError
from dperm_pipeline import tables
from dperm_pipeline.datasets import prepare, prepared

OWN = {
    "name": "own", "title": "t", "task": "binary", "format": "parquet", "path": "unused", "licence": "l",
    "citation": "c", "target": {"column": "y", "positive": "a", "negative": "b"}, "ranges": {"age": [0, 100]},
    "data_dependent": [],
}  # fmt: skip


class _Bomb:
    """Leaves a file behind where it is unpickled."""

    def __init__(self, canary):
        self.canary = str(canary)

    def __reduce__(self):
        return (os.mkdir, (self.canary,))


def _rigged(path, payload):
    """Write the file again, with a pickle wherever its metadata has room."""
    table = pq.read_table(path)
    meant = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": payload}
    fields = [field.with_metadata(meant) for field in table.schema]
    code = f"__import__('os').mkdir({payload!r})"
    pandas = {
        "index_columns": [code], "column_indexes": [], "columns": [
            {"name": name, "field_name": name, "pandas_type": "object", "numpy_type": "object", "metadata": None}
            for name in table.column_names
        ], "pandas_version": code, "creator": {"library": "pyarrow", "version": code}, "attributes": {"x": code},
    }  # fmt: skip
    metadata = {**(table.schema.metadata or {}), b"pandas": json.dumps(pandas).encode(), b"pickle": payload}
    pq.write_table(table.cast(pa.schema(fields)).replace_schema_metadata(metadata), path)


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "canary"


def test_the_bomb_goes_off_where_it_is_unpickled(canary):
    pickle.loads(pickle.dumps(_Bomb(canary)))
    assert canary.exists()


def _of_rows(path):
    tables.write(fake_rows.rows(datasets=("adult",), multiples=(2.0,), repeats=2), path, metadata={})
    return [tables.read, tables.metadata, lambda p: tables.distinct(p, ["paper"]), tables.read_records]


def _of_prepared(path):
    X, y = np.array([[0.5], [0.25]]), np.array([1.0, -1.0])
    known = {"bounds": Domain(x_norm=1.0, y_bound=1.0), "provenance": {}, "task": "binary"}
    prepared.write(prepared.Dataset(X=X, y=y, name="own", features=("age",), **known), path)
    return [prepared.read]


def _of_own(path):
    pq.write_table(pa.table({"age": [1.0, 2.0], "y": ["a", "b"]}), path)
    return [lambda p: prepare.prepare(OWN, p)]


@pytest.mark.parametrize("made", [_of_rows, _of_prepared, _of_own])
def test_metadata_of_a_parquet_file_are_never_run(made, tmp_path, canary):
    path = tmp_path / "rigged.parquet"
    readers = made(path)
    _rigged(path, pickle.dumps(_Bomb(canary)))
    for read in readers:
        # Read or refused in words, either is fine.
        with contextlib.suppress(DpermError):
            read(path)
        assert not canary.exists()


def test_objects_are_refused_not_pickled(tmp_path):
    """A column of Python objects has no place in rows: pandas would pickle them elsewhere."""
    rows = fake_rows.rows(datasets=("adult",), multiples=(2.0,), repeats=2)
    with pytest.raises(ValueError, match="do not fit the schema"):
        tables.write(rows.assign(own=[object()] * len(rows)), tmp_path / "rows.parquet", metadata={})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.mkdir [{canary}]",
        "a: !!python/object/new:os.mkdir [{canary}]",
        "a: !!python/name:os.mkdir",
        "a: !!python/module:antigravity",
        "!!python/object/apply:subprocess.check_call [[mkdir, {canary}]]",
        "a: &a [*a]",
        "a: &a [lol, lol]\nb: &b [*a, *a]\nc: [*b, *b]",
        "a: 1\na: 2",
        "<<: {{a: 1}}\na: 2\n<<: {{a: 3}}",
        "? [a, b]\n: 1",
        "a: " + "[" * 5000,
        "a: !!binary |\n  not base64 \x00",
        "a: 2001-99-99",
    ],
)
def test_yaml_makes_plain_values_or_a_message(text, tmp_path, canary):
    path = tmp_path / "config.yaml"
    path.write_text(text.format(canary=canary), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        yaml_files.parse(path)
    assert not canary.exists()


def test_lists_in_a_column_are_refused(tmp_path):
    path = tmp_path / "own.parquet"
    pq.write_table(pa.table({"age": [1.0, 2.0], "y": [["SECRET-1"], ["SECRET-2"]]}), path)
    with pytest.raises(DataError, match=r"column 'y' of .* holds lists") as refused:
        prepare.prepare(OWN, path)
    assert "SECRET" not in str(refused.value)


def test_an_error_that_nobody_foresaw_gives_its_place_and_no_value(tmp_path, monkeypatch):
    path = tmp_path / "own.parquet"
    pq.write_table(pa.table({"age": ["SECRET-1", "2"], "y": ["a", "b"]}), path)

    def broken(values, **_):
        raise RuntimeError(f"cannot convert {values.iloc[0]!r}")

    monkeypatch.setattr(pd, "to_numeric", broken)
    with pytest.raises(DataError, match=r"own: RuntimeError at encode\.py, line \d+") as refused:
        prepare.prepare(OWN, path)
    assert "SECRET" not in str(refused.value)
    # Nor in a chain that a traceback would print.
    assert refused.value.__cause__ is None and refused.value.__suppress_context__


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A folder that everybody may write to, and a home that nobody may."""
    home = tmp_path / "home"
    home.write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("DPERM_NUMBA_CACHE", raising=False)
    monkeypatch.setattr(compiled.tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_numba_s_cache_is_nobody_else_s(shared):
    """What lies in it is unpickled: a folder that another user made beforehand is not taken."""
    first = compiled.cache_folder.__wrapped__()
    assert first.parent == shared and first.stat().st_mode & 0o077 == 0
    assert compiled.cache_folder.__wrapped__() == first
    first.chmod(0o777)
    second = compiled.cache_folder.__wrapped__()
    assert second != first and second.stat().st_mode & 0o077 == 0
    first.rmdir()
    elsewhere = shared / "elsewhere"
    elsewhere.mkdir(0o700)
    first.symlink_to(elsewhere)
    assert compiled.cache_folder.__wrapped__() not in (first, elsewhere)


@pytest.mark.parametrize("text", ["[" * 500, "- " * 100_000 + "a", "{a: " * 50_000 + "}" * 50_000])
def test_lists_within_lists_do_not_overrun_the_stack_of_c(tmp_path, text):
    (tmp_path / "deep.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"line 1, column \d+: not valid YAML: lists within lists go too deep"):
        yaml_files.parse(tmp_path / "deep.yaml")
