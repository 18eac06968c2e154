"""The prepared file gives back what was written, byte for byte the same each time, or says that it is broken."""

import json
import random

import numpy as np
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import together

from dperm.domain import Domain
from dperm.errors import CorruptFile, DomainViolation
from dperm_pipeline.datasets import prepared
from dperm_pipeline.datasets.prepared import Dataset


def dataset(sparse=False, **changes):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 6)) * (rng.random((40, 6)) < 0.4)
    given = {
        "X": sp.csr_array(X) if sparse else X,
        "y": np.where(rng.random(40) < 0.5, -1.0, 1.0),
        "bounds": Domain(x_norm=3.0, y_bound=1.0),
        "name": "toy",
        "provenance": {"files": {}, "data_dependent": ["a mean"]},
        "task": "binary",
        "features": ("y", "split", "värld", "a=b", "1", "(constant)"),
        "split": np.array(["train", "test"] * 20),
        **changes,
    }
    return Dataset(**given)


@pytest.mark.parametrize("sparse", [False, True])
def test_round_trip(tmp_path, sparse):
    written = dataset(sparse)
    prepared.write(written, tmp_path / "epsilon=1" / "toy.parquet")
    back = prepared.read(tmp_path / "epsilon=1" / "toy.parquet")
    assert sp.issparse(back.X) == sparse
    dense = (lambda X: X.toarray()) if sparse else (lambda X: X)
    np.testing.assert_array_equal(dense(back.X), dense(written.X))
    np.testing.assert_array_equal(back.y, written.y)
    np.testing.assert_array_equal(back.split, written.split)
    for name in ("bounds", "name", "provenance", "task", "features"):
        assert getattr(back, name) == getattr(written, name)
    assert back.X.dtype == np.float64


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_sets_give_equal_bytes(tmp_path, sparse):
    for name in ("a", "b"):
        prepared.write(dataset(sparse), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_sparse_set_too_wide_to_be_dense(tmp_path):
    p = 3_231_961
    X = sp.csr_array((np.ones(4), ([0, 0, 1, 2], [5, p - 1, 0, 77])), shape=(4, p))
    wide = Dataset(X=X, y=np.ones(4), bounds=Domain(x_norm=2.0, y_bound=1.0), name="wide", provenance={}, task="binary")
    prepared.write(wide, tmp_path / "wide.parquet")
    assert (prepared.read(tmp_path / "wide.parquet").X != X).nnz == 0


def test_what_made_it_stands_in_the_file(tmp_path):
    import numpy

    from dperm_pipeline import tables

    prepared.write(dataset(), tmp_path / "toy.parquet", metadata={"entry": {"name": "toy"}, "code": "ab"})
    told = tables.metadata(tmp_path / "toy.parquet")
    assert (told["entry"], told["code"]) == ({"name": "toy"}, "ab")
    assert told["versions"]["numpy"] == numpy.__version__
    assert told["provenance"]["data_dependent"] == ["a mean"]
    np.testing.assert_array_equal(prepared.read(tmp_path / "toy.parquet").X, dataset().X)
    with pytest.raises(ValueError, match="bounds is taken"):
        prepared.write(dataset(), tmp_path / "toy.parquet", metadata={"bounds": {}})


def test_people_can_read_the_file(tmp_path):
    prepared.write(dataset(), tmp_path / "toy.parquet")
    table = pq.read_table(tmp_path / "toy.parquet")
    assert table.column_names == ["split", "y", "x.y", "x.split", "x.värld", "x.a=b", "x.1", "x.(constant)"]
    assert json.loads(table.schema.metadata[b"dperm"])["provenance"]["data_dependent"] == ["a mean"]


@together.over(
    ("changes", "error", "words"),
    [
        ({"y": np.zeros(40)}, DomainViolation, "neither -1 nor"),
        ({"y": np.full(40, 1.5), "task": "regression"}, DomainViolation, "y_bound=1"),
        ({"y": np.full(40, np.nan), "task": "regression"}, DomainViolation, "y_bound=1"),
        ({"bounds": Domain(x_norm=0.5, y_bound=1.0)}, DomainViolation, "longer than x_norm=0.5"),
        ({"bounds": Domain(x_norm=3.0)}, DomainViolation, "y_bound=None"),
        ({"X": np.full((40, 6), np.nan)}, DomainViolation, "NaN or infinity"),
        ({"X": sp.csr_array(np.full((40, 6), np.nan))}, DomainViolation, "not finite"),
        ({"X": sp.csr_array(np.full((40, 6), 2.0))}, DomainViolation, "longer than x_norm=3"),
        ({"y": np.ones(39)}, ValueError, r"y has shape \(39,\) instead of \(40,\)"),
        ({"split": np.array(["train"])}, ValueError, "split has shape"),
        ({"split": np.array(["dev"] * 40)}, ValueError, "'dev'"),
        ({"features": ("a", "b")}, ValueError, "features has shape 2 instead of 6"),
        ({"features": ("a",) * 6}, ValueError, "same name"),
        ({"task": "ranking"}, ValueError, "task='ranking' is not one of 'binary'"),
        ({"task": "multiclass"}, DomainViolation, r"none of the classes 0, 1, \.\.\., 1"),
    ],
)
def test_a_set_outside_what_it_declares_cannot_be_made(changes, error, words):
    with pytest.raises(error, match=words):
        dataset(**changes)


def test_without_names_and_split(tmp_path):
    plain = dataset(features=(), split=None)
    assert set(plain.split) == {"train"}
    prepared.write(plain, tmp_path / "toy.parquet")
    back = prepared.read(tmp_path / "toy.parquet")
    assert back.features == ()
    np.testing.assert_array_equal(back.X, plain.X)


def rewritten(path, change):
    """Rewrite a prepared file with changed metadata."""
    table = pq.read_table(path)
    told = json.loads(table.schema.metadata[b"dperm"])
    change(told)
    pq.write_table(table.replace_schema_metadata({b"dperm": json.dumps(told).encode()}), path)


@pytest.mark.parametrize(
    "change",
    [
        lambda told: told["bounds"].update(x_norm=0.1),
        lambda told: told["bounds"].update(x_norm=-1),
        lambda told: told["bounds"].update(q=1),
        lambda told: told.update(layout=prepared.LAYOUT + 1),
        lambda told: told.pop("features"),
        lambda told: told["features"].append("more"),
        lambda told: told["features"].pop(),
        lambda told: told["shape"].reverse(),
        lambda told: told["shape"].append(1),
        lambda told: told.update(sparse=not told["sparse"]),
        lambda told: told.update(task="ranking"),
    ],
)
@pytest.mark.parametrize("sparse", [False, True])
def test_metadata_that_does_not_fit_the_columns(tmp_path, change, sparse):
    path = tmp_path / "toy.parquet"
    prepared.write(dataset(sparse), path)
    rewritten(path, change)
    with pytest.raises(CorruptFile, match=r"toy\.parquet .*delete it"):
        prepared.read(path)


@pytest.mark.parametrize("sparse", [False, True])
def test_damage_never_goes_unnoticed(tmp_path, sparse):
    """Any cut is noticed; a changed byte is noticed, or changes nothing that is read."""
    path = tmp_path / "toy.parquet"
    prepared.write(dataset(sparse), path)
    whole, good = path.read_bytes(), prepared.read(path)
    rng = random.Random(0)
    noticed = 0
    for trial in range(200):
        damaged = bytearray(whole)
        if trial % 4 == 0:
            del damaged[rng.randrange(len(whole)) :]
        else:
            damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            back = prepared.read(path)
        except CorruptFile as error:
            noticed += 1
            assert "toy.parquet" in str(error) and "delete it" in str(error)
        else:
            assert trial % 4 != 0
            difference = back.X - good.X
            assert (abs(difference).sum() if sparse else np.abs(difference).sum()) == 0
            np.testing.assert_array_equal(back.y, good.y)
    assert noticed >= 100


def test_no_file_is_no_corrupt_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        prepared.read(tmp_path / "absent.parquet")


def test_other_parquet_is_refused(tmp_path):
    import pandas as pd

    pd.DataFrame({"y": [1.0]}).to_parquet(tmp_path / "toy.parquet")
    with pytest.raises(CorruptFile, match="delete it"):
        prepared.read(tmp_path / "toy.parquet")
