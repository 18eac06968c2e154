"""Rows of KDD Cup 2010 algebra, or of the formula `kdd-like`, cut into the parts that Figure 2b of jain2013 needs.

Public rows (`tuning`): for the choice of n lambda, disjoint from all others, the same for every split. Of each split:
the training rows, T public points drawn from a pool of their own, and the test rows. `kdd-like` is drawn anew for each
split (independent splits), its public rows by a seed of their own. A row of the pool may equal a training row: it
stays, because a choice of public points that looks at the training rows would not be covered by any guarantee. Of a
fetched set the training file's rows that are not public are permuted for each split, and so are those of its test file.
All rows satisfy ||x|| <= 1.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dperm.errors import DataError
from dperm_pipeline.datasets import overlap, prepared, synthetic
from dperm_pipeline.experiments import Cell

# The names of sets that are formulas; of these the prepared file gives no rows.
_FORMULAS = {"kdd-like": synthetic.kdd_like}


@dataclass(frozen=True)
class Split:
    """One split; every matrix holds the same columns, those that any of its rows touches.

    - X: shape (n, m); training rows.
    - y: shape (n,).
    - Z: shape (T, m); public points.
    - Q: shape (q, m); test rows.
    - target: shape (q,); of the test rows.
    - features: d >= m: of the data set.
    - equal_rows: rows of the pool that equal a training row.
    """

    X: sparse.csr_array
    y: np.ndarray
    Z: sparse.csr_array
    Q: sparse.csr_array
    target: np.ndarray
    features: int
    equal_rows: int


def splits(cell: Cell) -> Iterator[Split]:
    """Give the splits one after another; DataError if rows are too few, or the pool's fewer than `public_points`."""
    settings, T = cell.settings, cell.settings.public_points
    sizes = [settings.records, settings.pool_rows, settings.test_rows]
    for k in range(settings.repeats):
        X, y, parts = _drawn(cell, sizes, k)
        train, pool, test = parts
        Z = pool[:T]
        if len(Z) < T:
            raise DataError(
                f"public_points: T={T} is above the {len(Z)} public points of {cell.point['dataset']}: pool_rows="
                f"{settings.pool_rows}; lower public_points or raise pool_rows"
            )
        equal_rows = int(overlap.overlapping(X[pool], X[train]).sum())
        local = touched(X[np.concatenate([train, Z, test])])
        n = len(train)
        yield Split(local[:n], y[train], local[n : n + T], local[n + T :], y[test], X.shape[1], equal_rows)


def tuning(cell: Cell) -> tuple[sparse.csr_array, np.ndarray]:
    """Return the public rows and targets that n lambda is chosen on, `tuning_rows` of them."""
    count = cell.settings.tuning_rows
    if cell.point["dataset"] in _FORMULAS:
        drawn = formula(cell, count, "public")
        return touched(drawn.X), drawn.y
    dataset = cell.data
    public = _order(cell, dataset)[:count]
    return touched(sparse.csr_array(dataset.X)[public]), dataset.y[public]


def touched(X: sparse.csr_array) -> sparse.csr_array:
    """Return X without the columns that no row touches."""
    place = np.zeros(X.shape[1], np.int32)
    place[X.indices] = 1
    columns = np.flatnonzero(place)
    place[columns] = np.arange(len(columns))
    return sparse.csr_array((X.data, place[X.indices], X.indptr), shape=(X.shape[0], len(columns)))


def _drawn(cell: Cell, sizes: list[int], split: int) -> tuple[sparse.csr_array, np.ndarray, list[np.ndarray]]:
    """Return rows and targets, and the places of the split's training rows, pool and test rows."""
    if cell.point["dataset"] in _FORMULAS:
        drawn = formula(cell, sum(sizes), "rows", split)
        return drawn.X, drawn.y, np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    dataset = cell.data
    own = _order(cell, dataset)[cell.settings.tuning_rows :]
    test = np.flatnonzero(dataset.split == "test")
    if len(own) < sum(sizes[:2]) or len(test) < sizes[2]:
        raise DataError(
            f"{dataset.name} has {len(own)} training rows that are not public and {len(test)} test rows; "
            f"records={sizes[0]}, pool_rows={sizes[1]} and test_rows={sizes[2]} need more: lower them"
        )
    rng = generator(cell, "rows", split)
    own, test = rng.permutation(own), rng.permutation(test)[: sizes[2]]
    parts = [own[: sizes[0]], own[sizes[0] : sum(sizes[:2])], test]
    return sparse.csr_array(dataset.X), dataset.y, parts


def formula(cell: Cell, count: int, *use: str | int) -> prepared.Dataset:
    """Draw rows of the formula, by a seed of their own for each use."""
    seed = int(generator(cell, *use).integers(2**31))
    return _FORMULAS[cell.point["dataset"]](count, seed, d=cell.settings.columns)


def _order(cell: Cell, dataset: prepared.Dataset) -> np.ndarray:
    """Return the training rows of a fetched set, the public ones first."""
    return generator(cell, "public").permutation(np.flatnonzero(dataset.split == "train"))


def generator(cell: Cell, *names: str | float) -> np.random.Generator:
    """Return the generator of one purpose on the cell's data set."""
    return cell.rng(cell.point["dataset"], *names)
