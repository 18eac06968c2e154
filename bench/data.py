"""The design that is timed: UCI Adult if it can be had, else a synthetic one of the same shape, under another name."""

import os
from pathlib import Path

import numpy as np
import yaml

from dperm.datasets import fetch, prepared
from dperm.errors import DataUnavailable

ROOT = Path(__file__).parent.parent
RECORDS = 30_162
# Levels of Adult's eight factors, and its numeric columns.
LEVELS, NUMERIC = (8, 16, 7, 14, 6, 5, 2, 41), 6


def adult() -> tuple[np.ndarray, np.ndarray, str]:
    """Return X (n, p) with rows of norm at most 1, y (n,) in {-1, +1}, and the name to print."""
    entry = yaml.safe_load((ROOT / "config" / "datasets.yaml").read_text(encoding="utf-8"))["adult"]
    try:
        folder = fetch.fetch(entry, ROOT / "resources" / "downloads", mirror=os.environ.get("DPERM_MIRROR"))
        data = prepared.prepare(entry, folder)
    except DataUnavailable as reason:
        X, y = synthetic()
        return X, y, f"SYNTHETIC stand-in of Adult's shape, because {reason}"
    return data.X / data.bounds.x_norm, data.y, "UCI Adult, training part, complete cases"


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
