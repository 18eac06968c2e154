"""Real data sets cut into private, public and test rows, for the experiments of kifer2012 that use them."""

import numpy as np

from dperm.errors import DataError
from dperm_pipeline.datasets import prepared

# X of shape (n, p) and y of shape (n,).
Records = tuple[np.ndarray, np.ndarray]


def three_parts(
    dataset: prepared.Dataset, *, public_share: float, test_share: float, rng: np.random.Generator
) -> tuple[Records, Records, Records]:
    """Cut a data set into disjoint private, public and test rows, scaled to ||x||_2 <= 1 by the declared bound.

    The public share is of training rows, the test share of all rows where the source has no test set of its own.
    `rng` is of the data axes alone, so that every mechanism meets the same rows. DataError if a part has too few
    rows.
    """
    order = rng.permutation(len(dataset.y))
    official = dataset.split[order] == "test"
    train, test = order[~official], order[official]
    if not len(test):
        cut = round(test_share * len(train))
        train, test = train[cut:], train[:cut]
    cut = round(public_share * len(train))
    public, private = train[:cut], train[cut:]
    for name, rows, least in (("private", private, 1), ("public", public, 2), ("test", test, 1)):
        if len(rows) < least:
            raise DataError(
                f"{dataset.name}: {len(rows)} {name} rows of {len(dataset.y)} are too few; raise public_share="
                f"{public_share:g} or test_share={test_share:g}, or take a larger data set"
            )
    X = dataset.X / dataset.bounds.x_norm
    private, public, test = ((X[rows], dataset.y[rows]) for rows in (private, public, test))
    return private, public, test


def private_size(public: Records, public_share: float) -> int:
    """Return how many private rows there are by the public shares: no private row decides it."""
    return round(len(public[1]) * (1 - public_share) / public_share)
