"""A learner is tried on made-up records, where the failures on those of its shards are hidden (`shards`, `total`).

A parameter that it refuses, or neighbours of which no shard has so many, would make every shard's model the constant 0:
a proved answer to nothing. What is tried here, and fails, is public, and is told.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from dperm.errors import DataError
from dperm.mechanisms.prediction import draws, shards

# How many records to try where a shard's number is private: one of these is to do.
_SIZES = (20, 200, 2000, 20_000)
# Where it is public, as many at first: a fit on them takes less than one on most shards.
_FEW = 200


def rehearse(
    base: Any, columns: int, *, each: int | None, classes: int = 2, low: float = 0.0, high: float = 1.0
) -> None:
    """Fit a clone of a learner on made-up records, and ask it; no generator of anyone's is touched.

    - each: records of a shard; None: private.
    - classes: of a classifier; low, high: of a regressor's targets.
    - Raises ValueError: if it fails with each number of records that a shard may have, and whichever way labels go.
    """
    if each == 1 and is_classifier(base):
        # Each shard has one label, and its constant.
        return
    failure: Exception | None = None
    kinds = classes if is_classifier(base) else None
    for n in _SIZES if each is None else sorted({min(each, _FEW), each}):
        for X, y in _made_up(n, columns, kinds, low, high):
            try:
                return _try(base, X, y)
            except Exception as error:
                failure = error.__cause__ if isinstance(error, DataError) and error.__cause__ else error
    raise ValueError(
        f"base={type(base).__name__} fails on {n} made-up records of numbers in [0, 1] ({type(failure).__name__}: "
        f"{failure}); with clip=True it would fail on every shard's without a word; mend its parameters, or take fewer "
        "shards, so that each has more records"
    ) from failure


def _made_up(
    n: int, columns: int, classes: int | None, low: float, high: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Records whose first feature tells their target, which rises or falls with it; of a regressor also two numbers."""
    X = np.random.default_rng(0).random((n, columns))
    if classes is None:
        for part in (X[:, 0], 1 - X[:, 0], np.arange(n) % 2):
            yield X, low + (high - low) * part
        return
    there = min(classes, max(2, n // 2))
    y = np.arange(n) % there
    for part in (y, there - 1 - y):
        yield np.column_stack([(part + X[:, 0]) / there, X[:, 1:]]), y.astype(float)


def _try(base: Any, X: np.ndarray, y: np.ndarray) -> None:
    with shards.quiet(True), draws.apart() as begin:
        (model,) = shards.fit_shards(
            base, X, y, [np.arange(len(y))], neighbours="replace", rng=np.random.default_rng(0)
        )
        begin(0)
        said = np.asarray(model.predict(X[:2]), dtype=float)
    if said.shape != X[:2].shape[:1]:
        raise TypeError("it predicts not one number a row")
