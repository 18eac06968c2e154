"""The form in which experiments read a data set: one Parquet file, with its public bounds and where it came from."""

import json
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from dperm.domain import NORM_SLACK, Domain, bounded_rows, one_of
from dperm.errors import CorruptFile, DomainViolation
from dperm_pipeline import files, stamps

Task = Literal["binary", "multiclass", "regression"]
# Raised whenever the layout of the file changes, so that an old file is header from a broken one.
LAYOUT = 1
# In the file a feature's column carries this prefix: a feature may itself be called `y` or `split`.
_FEATURE = "x."


@dataclass(frozen=True, eq=False)
class Dataset:
    """Records within declared public bounds.

    ||x||_2 <= bounds.x_norm and |y| <= bounds.y_bound; y is -1 or +1 if the task is binary, and of k classes
    0, 1, ..., k - 1 = bounds.y_bound. Sparse rows get indices of 32 bits where they fit. A subsample or stand-in has a
    name of its own. `provenance` is JSON-serialisable: `files` (name -> sha256), `versions` of packages that the data
    came with, and `data_dependent`: the steps of the preparation that looked at the data, which no privacy statement
    covers. Title, licence and citation stand in the
    catalogue alone: they decide no number. `split` is `train` or `test` for each row, where the source has a test
    set of its own, else all `train`.

    ValueError if shapes or names do not agree, or the task or a split is unknown; DomainViolation if a record lies
    outside the bounds.
    """

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    bounds: Domain
    name: str
    provenance: Mapping[str, Any]
    task: Task
    features: tuple[str, ...] = ()
    split: np.ndarray = field(default=None)

    def __post_init__(self):
        one_of("task", self.task, Task)
        n, p = self.X.shape
        put = object.__setattr__
        put(self, "features", tuple(self.features))
        put(self, "split", np.full(n, "train") if self.split is None else np.asarray(self.split, dtype=str))
        named = len(self.features) or p
        shapes = {"y": (self.y.shape, (n,)), "split": (self.split.shape, (n,)), "features": (named, p)}
        for what, (found, expected) in shapes.items():
            if found != expected:
                raise ValueError(f"{self.name}: {what} has shape {found} instead of {expected}, as X is {n} x {p}")
        if len(set(self.features)) != len(self.features):
            raise ValueError(f"{self.name}: two features have the same name; rename a column or a level")
        if unknown := sorted(set(np.unique(self.split)) - {"train", "test"}):
            raise ValueError(f"{self.name}: split {unknown} is neither 'train' nor 'test'")
        put(self, "X", self._bounded())
        if self.bounds.y_bound is None or not (np.abs(self.y) <= self.bounds.y_bound).all():
            raise DomainViolation(f"{self.name}: a target lies outside |y| <= y_bound={self.bounds.y_bound}")
        if self.task == "binary" and not np.isin(self.y, (-1.0, 1.0)).all():
            raise DomainViolation(f"{self.name}: a binary target is neither -1 nor +1")
        if self.task == "multiclass" and not np.isin(self.y, np.arange(self.bounds.y_bound + 1)).all():
            raise DomainViolation(f"{self.name}: a target is none of the classes 0, 1, ..., {self.bounds.y_bound:g}")

    def _bounded(self) -> np.ndarray | sp.csr_array:
        if not sp.issparse(self.X):
            return bounded_rows(self.X, self.bounds.x_norm)
        norms = np.sqrt(self.X.multiply(self.X).sum(axis=1))
        if not (norms <= self.bounds.x_norm * (1 + NORM_SLACK)).all():
            raise DomainViolation(f"{self.name}: a row is longer than x_norm={self.bounds.x_norm:g} or not finite")
        return _narrow(self.X)


def write(dataset: Dataset, path: str | Path, *, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a data set to one Parquet file, whole or not at all; equal data sets give equal bytes.

    Columns: `split`, `y`, and either one `x.<feature>` (or `x.<place>`) for each feature or, if X is sparse, the
    lists `indices` and `values`. Everything else stands as JSON under the metadata key `dperm`, with the versions
    of the numerical packages and `metadata`, what made the file; ValueError if that takes a key that tells of the
    data set itself.
    """
    sparse = sp.issparse(dataset.X)
    columns = {"split": pa.array(dataset.split.tolist(), pa.string()).dictionary_encode(), "y": pa.array(dataset.y)}
    if sparse:
        X = dataset.X.tocsr().sorted_indices()
        offsets = pa.array(X.indptr.astype(np.int64))
        columns["indices"] = pa.LargeListArray.from_arrays(offsets, pa.array(X.indices.astype(np.int64)))
        columns["values"] = pa.LargeListArray.from_arrays(offsets, pa.array(X.data.astype(np.float64)))
    else:
        columns |= dict(zip(_columns(dataset.features, dataset.X.shape[1]), map(pa.array, dataset.X.T), strict=True))
    header = {
        "layout": LAYOUT,
        "name": dataset.name,
        "task": dataset.task,
        "sparse": sparse,
        "shape": list(dataset.X.shape),
        "features": list(dataset.features),
        "bounds": {"x_norm": dataset.bounds.x_norm, "y_bound": dataset.bounds.y_bound},
        "provenance": dict(dataset.provenance),
    }
    if taken := sorted(header.keys() & (metadata or {}).keys()):
        raise ValueError(f"metadata: {', '.join(taken)} is taken by the data set's own; use another key")
    table = pa.table(columns)
    table = table.replace_schema_metadata(stamps.encoded({**header, **(metadata or {})}, table.schema))
    with files.replacing(path) as temporary:
        pq.write_table(table, temporary, write_page_checksum=True)


def read(path: str | Path) -> Dataset:
    """Read a data set back and check it against the bounds it declares.

    CorruptFile, which says to delete the file, if it is broken, of another layout, or holds a record outside its
    bounds.
    """
    with _blamed_on(path):
        # partitioning=None: a folder named like `a=1` is not a column.
        table = pq.read_table(path, partitioning=None, page_checksum_verification=True)
        stamps.check(table.schema, path)
        header = json.loads(table.schema.metadata[b"dperm"])
        if header["layout"] != LAYOUT:
            raise CorruptFile(f"{path} has layout {header['layout']}, this version reads {LAYOUT}", made=path)
        n, p = header["shape"]
        columns = ["indices", "values"] if header["sparse"] else _columns(header["features"], p)
        if table.column_names != ["split", "y", *columns] or len(table) != n:
            raise ValueError("its columns or rows are not the ones that its metadata tell of")
        return Dataset(
            X=_sparse(table, p) if header["sparse"] else _dense(table, columns),
            y=_values(table, "y"),
            bounds=Domain(**header["bounds"]),
            name=header["name"],
            provenance=header["provenance"],
            task=header["task"],
            features=tuple(header["features"]),
            split=_words(table["split"]),
        )


@contextmanager
def _blamed_on(path: str | Path):
    """Turn whatever goes wrong while reading a file into CorruptFile, unless it is the machine's fault."""
    try:
        yield
    except CorruptFile:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, DomainViolation) as error:
        if files.is_of_the_machine(error):
            raise
        said = " ".join(str(error).split())
        raise CorruptFile(f"{path} is not a prepared data set ({said})", made=path) from error


def _narrow(X: sp.csr_array) -> sp.csr_array:
    """Return X with indices of 32 bits where they fit: half the memory, and what compiled loops ask for."""
    X = sp.csr_array(X)
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _values(table: pa.Table, name: str) -> np.ndarray:
    if table[name].null_count:
        raise ValueError(f"column {name!r} has empty places")
    return np.ascontiguousarray(table[name].cast(pa.float64()).to_numpy())


def _words(column: pa.ChunkedArray) -> np.ndarray:
    codes = column.cast(pa.string()).combine_chunks().dictionary_encode()
    if codes.null_count:
        raise ValueError("a split is missing")
    words = np.asarray(codes.dictionary.to_pylist() or [""], dtype=str)
    return words[codes.indices.to_numpy()]


def _columns(features: Sequence[str], p: int) -> list[str]:
    return [_FEATURE + name for name in features or map(str, range(p))]


def _dense(table: pa.Table, columns: list[str]) -> np.ndarray:
    X = np.empty((len(table), len(columns)))
    for j, name in enumerate(columns):
        X[:, j] = _values(table, name)
    return X


def _sparse(table: pa.Table, p: int) -> sp.csr_array:
    indices, values = (table[name].combine_chunks() for name in ("indices", "values"))
    if indices.null_count or values.null_count or not indices.offsets.equals(values.offsets):
        raise ValueError("indices and values do not belong together")
    X = sp.csr_array(
        (values.flatten().to_numpy(), indices.flatten().to_numpy(), indices.offsets.to_numpy()), shape=(len(table), p)
    )
    X.check_format(full_check=True)
    return X
