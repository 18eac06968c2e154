"""Three kinds of data that linear models meet, drawn from a logistic law: what no real set of the catalogue shows.

    P(y = +1 | x) = 1/(1 + exp(-(b + <x, theta>)))

The constants are frozen, as in `dperm_pipeline.datasets.synthetic`. The kinds are those on which defaults of estimators
were chosen (docs/assumptions.md), the records are new.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from dperm import seeds
from dperm_pipeline.datasets.encode import Raw

# Columns; standard deviation of <x, theta>; standard deviations that fit between 0 and the end of a column's range.
_SPECTRUM, _RARE, _MARGIN, _REACH = 30, 20, 3.0, 3.0
# One positive in about eight.
_RARE_INTERCEPT = -4.0
# Levels of each factor; the share of a level is proportional to 1/its place; standard deviation of a level's effect.
_LEVELS = (2, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16)
_EFFECT = 1.0
_VERSIONS = {"numpy": np.__version__}


def spectrum(entry: Mapping[str, Any], folder: Path | None) -> Raw:
    """Return Gaussian columns of standard deviations 1/(3 sqrt(j)), cut at 1: few of them hold most of the length."""
    return _gaussian(entry, 1 / np.sqrt(np.arange(1, _SPECTRUM + 1)), 0.0)


def rare(entry: Mapping[str, Any], folder: Path | None) -> Raw:
    """Return Gaussian columns of standard deviation 1/3, cut at 1, and few positive labels."""
    return _gaussian(entry, np.ones(_RARE), _RARE_INTERCEPT)


def categories(entry: Mapping[str, Any], folder: Path | None) -> Raw:
    """Return factors of 2 to 16 levels, some of them frequent, and labels to which every level adds its effect."""
    rng, n = _rng(entry), entry["sample"]["train"]
    columns, margin = {}, np.zeros(n)
    for j, size in enumerate(_LEVELS, start=1):
        shares = 1 / np.arange(1, size + 1)
        shares /= shares.sum()
        levels, effects = rng.choice(size, size=n, p=shares), _EFFECT * rng.standard_normal(size)
        margin += effects[levels] - shares @ effects
        columns[f"c{j}"] = levels
    codebook = {name: range(size) for name, size in zip(columns, _LEVELS, strict=True)}
    return Raw(columns={**columns, "label": _labels(margin, rng)}, levels=codebook, versions=_VERSIONS)


def _gaussian(entry: Mapping[str, Any], deviations: np.ndarray, intercept: float) -> Raw:
    rng, n = _rng(entry), entry["sample"]["train"]
    X = np.clip(deviations * rng.standard_normal((n, len(deviations))) / _REACH, -1, 1)
    theta = rng.standard_normal(len(deviations))
    theta *= _MARGIN / np.linalg.norm(theta * deviations / _REACH)
    columns = {f"x{j}": column for j, column in enumerate(X.T, start=1)}
    return Raw(columns={**columns, "label": _labels(intercept + X @ theta, rng)}, versions=_VERSIONS)


def _labels(margin: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(margin)) < expit(margin), 1, -1)


def _rng(entry: Mapping[str, Any]) -> np.random.Generator:
    return seeds.generator(entry["sample"]["seed"], "simulated", entry["format"])
