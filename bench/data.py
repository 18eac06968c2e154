"""The design that is timed: UCI Adult if it can be had, else a synthetic one of the same shape, under another name."""

import os
import tempfile
from pathlib import Path

import numpy as np

from dperm.errors import DataUnavailable
from dperm_pipeline.datasets import catalogue, fetch, prepare

ROOT = Path(__file__).parent.parent
RECORDS = 30_162
# Levels of Adult's eight factors in its codebook, and its numeric columns.
LEVELS, NUMERIC = (8, 16, 7, 14, 6, 5, 2, 41), 6


def adult() -> tuple[np.ndarray, np.ndarray, str]:
    """Return X (n, p) with rows of norm at most 1, y (n,) in {-1, +1}, and the name to print."""
    entry = catalogue.load(ROOT / "config" / "datasets.yaml")["adult"]
    fetched = ROOT / "resources" / "downloads" / "adult"
    try:
        with tempfile.TemporaryDirectory() as scratch:
            # What the pipeline has fetched is used; nothing is put there, it is the pipeline's own.
            if not fetched.is_dir():
                fetched = Path(scratch, "adult")
                fetch.fetch(entry, fetched, mirror=os.environ.get("DPERM_MIRROR"), retries=0)
            data = prepare.prepare(entry, fetched)
    except DataUnavailable as reason:
        X, y = synthetic()
        why = str(reason).splitlines()[0].rstrip(":")
        return X, y, f"SYNTHETIC of Adult's shape, not Adult: {why} (set DPERM_MIRROR, or connect)"
    train = data.split == "train"
    return data.X[train] / data.bounds.x_norm, data.y[train], "UCI Adult, complete training records"


def synthetic(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return one-hot factors with geometric frequencies, uniform numerics and a constant; labels of a linear rule."""
    rng = np.random.default_rng(seed)
    columns = []
    for levels in LEVELS:
        frequency = 0.7 ** np.arange(levels)
        columns.append(np.eye(levels)[rng.choice(levels, RECORDS, p=frequency / frequency.sum())])
    X = np.hstack([*columns, rng.random((RECORDS, NUMERIC)), np.ones((RECORDS, 1))])
    y = np.where(X @ rng.normal(size=X.shape[1]) + rng.logistic(size=RECORDS) > 0, 1.0, -1.0)
    return X / np.sqrt(len(LEVELS) + NUMERIC + 1), y
