"""Sets that are made here by formula: always at hand, no network, nobody's records.

The generators' constants are frozen: a change makes another data set, which must get another name.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import hadamard as sylvester
from scipy.optimize import brentq
from scipy.special import expit

from dperm import seeds
from dperm.domain import number
from dperm_pipeline.datasets import covertype, terrain
from dperm_pipeline.datasets.encode import Raw, encode
from dperm_pipeline.datasets.prepared import Dataset

# Columns (a power of two), how often the rows are stacked, |theta*_j|, and the seed: public, and the same in every run.
_P, _STACKED, _EFFECT, _SEED = 16, 256, 0.5, 2012
# kdd-like: factors of a row, their exponent of popularity, the standard deviation of a level's effect, the mean logit.
_FACTORS, _POPULARITY, _SPREAD, _MEAN_LOGIT = 36, 6.0, 0.5, 3.5
# Columns that hold 36 factors of two levels and more, of growing size.
_LEAST_COLUMNS = 360
_VERSIONS = {"numpy": np.__version__}
# How they are encoded; the catalogue's entries say the same.
_ROWS = {"constant": False, "sparse": True, "unit_rows": True, "data_dependent": []}
_LIKE_COVERTYPE = {
    "name": "covertype-like",
    "task": "binary",
    "target": {"column": "cover", "positive": 2, "negative": 1},
    "ranges": covertype.RANGES,
    "outside": "clip",
    **_ROWS,
}
_LIKE_KDD = {
    "name": "kdd-like",
    "task": "regression",
    "target": {"column": "label", "positive": 1, "negative": 0, "range": [0, 1]},
    **_ROWS,
}


def hadamard(entry: Mapping[str, Any], folder: Path | None) -> Raw:
    """Return stacked rows of a Hadamard matrix with logistic labels: the nice data of kifer2012, X'X = n I.

    x is a row of the Sylvester matrix H of order 16 (its first column, the constant, is left to the encoding),
    P(y = 1) = 1/(1 + exp(-<x, theta*>)), theta*_j = +-1/2 by fair coins: <x, theta*> has root mean square 2.
    """
    rng = seeds.generator(_SEED, "hadamard")
    theta = _EFFECT * rng.choice([-1.0, 1.0], size=_P)
    H = np.tile(sylvester(_P).astype(float), (_STACKED, 1))
    label = np.where(rng.random(len(H)) < 1 / (1 + np.exp(-H @ theta)), 1, -1)
    columns = {f"h{j}": H[:, j] for j in range(1, _P)}
    return Raw(columns={**columns, "label": label}, versions=_VERSIONS)


def kdd_like(n: int, seed: int, *, d: int = 2_000_000) -> Dataset:
    """Return rows that look like KDD Cup 2010 algebra: 36 factors, a few levels common and most of them rare.

    Factor j has its own block of columns, whose sizes grow geometrically from 2 to about d/3; level floor(size U^6) of
    each, U uniform, so that the most frequent of 600,000 levels comes in one row of nine. A row has 36 entries of 1/6,
    hence ||x|| = 1. P(y = 1) = 1/(1 + exp(-3.5 - sum of the levels' effects)), y is 0 or 1; the effects are
    N(0, 0.5^2), drawn once for each d from a seed of their own: two values of `seed` give disjoint draws of one law.

    - n: rows, 1 and above.
    - seed: of the rows, 0 and above.
    - d: columns, 360 and above.
    - Returns: X in CSR, ||x||_2 = 1; task `regression` with |y| <= 1.
    """
    n = int(number("n", n, 1, 1e9, ends="[]"))
    d = int(number("d", d, _LEAST_COLUMNS, 2**31 - 1, ends="[]"))
    return encode(_kdd_rows(n, seed, d), _LIKE_KDD, "kdd-like", {})


def parse_kdd_like(entry: Mapping[str, Any], folder: Path | None) -> Raw:
    """Return the rows of `kdd_like` for an entry of the catalogue: its `sample` and its `columns`."""
    return _kdd_rows(entry["sample"]["train"], entry["sample"]["seed"], entry["columns"])


def _kdd_rows(n: int, seed: int, d: int) -> Raw:
    sizes = block_sizes(d)
    effects = _SPREAD * seeds.generator(_SEED, "kdd-like", "effects", d).standard_normal(d)
    rng = seeds.generator(seed, "kdd-like", "rows", d)
    levels = np.floor(sizes * rng.random((n, _FACTORS)) ** _POPULARITY).astype(np.int32)
    columns = levels + np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    y = (rng.random(n) < expit(_MEAN_LOGIT + effects[columns].sum(axis=1))).astype(np.int64)
    entries = np.full(n * _FACTORS, 1 / math.sqrt(_FACTORS))
    X = sp.csr_array((entries, columns.ravel(), np.arange(0, n * _FACTORS + 1, _FACTORS)), shape=(n, d))
    return Raw(columns={"label": y}, matrix=X, versions=_VERSIONS)


def block_sizes(d: int) -> np.ndarray:
    """Return how many columns each factor has: whole numbers, 2 and above, that grow geometrically and add up to d."""
    powers = np.arange(_FACTORS)
    ratio = brentq(lambda ratio: 2.0 * (ratio**powers).sum() - d, 1.0, float(d))
    sizes = np.floor(2.0 * ratio**powers).astype(np.int64)
    sizes[-1] += d - sizes.sum()
    return sizes


def covertype_like(n: int, seed: int) -> Dataset:
    """Return n cells of `dperm_pipeline.datasets.terrain`, encoded as the catalogue encodes Covertype.

    - n: rows, 1 and above.
    - seed: 0 and above.
    - Returns: X in CSR with 54 columns (10 numbers, 4 areas, 40 soils), ||x||_2 = 1; y = +1 for class 2. The other
      scalings: `dperm_pipeline.datasets.scaling.rescale`.
    """
    n = int(number("n", n, 1, 1e9, ends="[]"))
    return encode(_cells(n, seed), _LIKE_COVERTYPE, "covertype-like", {})


def parse_covertype_like(entry: Mapping[str, Any], folder: Path | None) -> Raw:
    """Return the cells of `covertype_like` for an entry of the catalogue: its `sample`."""
    return _cells(entry["sample"]["train"], entry["sample"]["seed"])


def _cells(n: int, seed: int) -> Raw:
    return covertype.raw(terrain.cells(n, seed), versions=_VERSIONS)
