"""Sets that are made here by formula: always at hand, no network, nobody's records."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import hadamard as sylvester

from dperm import seeds
from dperm.datasets.encode import Raw

# Columns (a power of two), how often the rows are stacked, |theta*_j|, and the seed: public, and the same in every run.
_P, _STACKED, _EFFECT, _SEED = 16, 256, 0.5, 2012


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
    return Raw(columns={**columns, "label": label}, versions={"numpy": np.__version__})
