"""Scalings of numbers beside one-hot factors, and rows of length one.

All start from min-max values m = (value - low)/(high - low) in [0, 1], by public ranges:

    unit        m
    symmetric   2 m - 1, in [-1, 1]
    raw         low + m (high - low), in the number's own unit
    z-score     (m - mean)/sd over all rows at hand: it looks at the data, so no privacy statement covers it

Indicators stay 0 or 1 under each. Then a row may be divided by its own length, which costs no privacy: it is a function
of the row alone. A set stored as `min-max+unit` holds all others: a row's indicators are 1 before and 1/length after.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import scipy.sparse as sp

from dperm.domain import Domain
from dperm_pipeline.datasets.prepared import Dataset

# Name -> (scale of the numbers, rows divided by their length?), as figures call them.
SCALINGS: Mapping[str, tuple[str, bool]] = MappingProxyType(
    {
        "min-max+unit": ("unit", True),
        "[-1,1]+unit": ("symmetric", True),
        "min-max": ("unit", False),
        "raw+unit": ("raw", True),
        "z-score+unit": ("z-score", True),
    }
)
STORED = "min-max+unit"
Z_SCORE = "the z-score of each number takes mean and standard deviation of all rows"


def name(scale: str, unit_rows: bool) -> str:
    """Return what figures call a scale with or without unit rows."""
    known = {options: called for called, options in SCALINGS.items()}
    return known.get((scale, unit_rows), f"{scale}+unit" if unit_rows else scale)


def looks(scaling: str) -> str:
    """Return why no guarantee covers a set under this scaling, empty if one does: whether it looks at all rows."""
    return Z_SCORE if SCALINGS[scaling][0] == "z-score" else ""


def scaled(m: np.ndarray, low: float, high: float, scale: str) -> np.ndarray:
    """Return min-max values m, shape (n,), on another scale; see the module."""
    if scale == "symmetric":
        return 2.0 * m - 1.0
    if scale == "raw":
        return low + m * (high - low)
    if scale == "z-score":
        # A number that never moves says nothing.
        spread = m.std()
        return (m - m.mean()) / (spread if spread > 0 else 1.0)
    return m


def largest_square(low: float, high: float, scale: str) -> float:
    """Return the largest square of a scaled number; inf for a z-score, which has no public bound."""
    return {"unit": 1.0, "symmetric": 1.0, "raw": max(low * low, high * high), "z-score": math.inf}[scale]


def unit_rows(X: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array:
    """Return X, shape (n, p), with each row divided by its Euclidean length; a row of zeros stays one."""
    if not sp.issparse(X):
        norms = np.linalg.norm(X, axis=1)
        return X / np.where(norms > 0, norms, 1.0)[:, None]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    lengths = np.repeat(np.where(norms > 0, norms, 1.0), np.diff(X.indptr))
    return sp.csr_array((X.data / lengths, X.indices, X.indptr), shape=X.shape)


def rescale(dataset: Dataset, scaling: str) -> Dataset:
    """Return a set that was prepared as `min-max+unit` under another of the `SCALINGS`; ValueError for any other set.

    It has numbers and at least one factor, sparse, no constant: `covertype`, `covertype-16pct`, `covertype-like`.
    `z-score+unit` looks at all rows given here, and says so under `data_dependent`; take the training rows out
    first if only they may be looked at. `bounds.x_norm` becomes 1, or sqrt(numbers + factors) for `min-max`.
    Numbers outside their public range were moved to it when the set was prepared, and stay there.
    """
    if scaling not in SCALINGS:
        raise ValueError(f"scaling={scaling!r} must be one of {', '.join(SCALINGS)}")
    if dataset.provenance.get("scaling") != STORED or not dataset.provenance.get("factors"):
        raise ValueError(f"{dataset.name} was not prepared as {STORED} with a factor: it holds no other scaling")
    if scaling == STORED:
        return dataset
    scale, unit = SCALINGS[scaling]
    ranges, factors = dataset.provenance["ranges"], dataset.provenance["factors"]
    k = len(ranges)
    # Each factor gives a row one indicator of 1/length.
    lengths = factors / np.asarray(dataset.X[:, k:].sum(axis=1)).ravel()
    m = np.clip(dataset.X[:, :k].toarray() * lengths[:, None], 0.0, 1.0)
    numbers = np.column_stack(
        [scaled(m[:, j], *limits, scale) for j, limits in enumerate(ordered(ranges, dataset.features))]
    )
    marks = dataset.X[:, k:].copy()
    marks.data = np.ones_like(marks.data)
    X = sp.hstack([sp.csr_array(numbers), marks], format="csr")
    looked = [*dataset.provenance["data_dependent"], *filter(None, [looks(scaling)])]
    return dataclasses.replace(
        dataset,
        X=unit_rows(X) if unit else X,
        bounds=Domain(x_norm=1.0 if unit else math.sqrt(k + factors), y_bound=dataset.bounds.y_bound),
        provenance={**dataset.provenance, "scaling": scaling, "data_dependent": looked},
    )


def ordered(ranges: Mapping[str, Sequence[float]], features: Sequence[str]) -> list[Sequence[float]]:
    """Return the ranges in the order of the first columns: JSON keeps names, and no order that counts."""
    return [ranges[feature] for feature in features[: len(ranges)]]
