"""The data sets that come with scikit-learn: they need no network."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn import datasets

from dperm_pipeline.datasets.encode import Raw

_VERSIONS = {"scikit-learn": sklearn.__version__}


def breast_cancer(entry: Mapping[str, Any], folder: Path | None) -> Raw:
    """Return Breast Cancer Wisconsin (Diagnostic); the target `class` is `malignant` or `benign`."""
    return _raw(datasets.load_breast_cancer(), "class", lambda bunch: bunch.target_names.astype(object)[bunch.target])


def digits(entry: Mapping[str, Any], folder: Path | None) -> Raw:
    """Return the 8 x 8 handwritten digits; the target `digit` is 0 to 9."""
    return _raw(datasets.load_digits(), "digit", lambda bunch: bunch.target)


def diabetes(entry: Mapping[str, Any], folder: Path | None) -> Raw:
    """Return the diabetes set in its raw units (scikit-learn's own scaling looks at the data)."""
    return _raw(datasets.load_diabetes(scaled=False), "progression", lambda bunch: bunch.target)


def _raw(bunch: Any, target: str, targets: Any) -> Raw:
    names = map(str, bunch.feature_names)
    columns = {name: np.asarray(bunch.data[:, j], dtype=np.float64) for j, name in enumerate(names)}
    return Raw(columns={**columns, target: targets(bunch)}, versions=_VERSIONS)
