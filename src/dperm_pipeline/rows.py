"""Rows of an experiment from what it found: the one place where heads and values meet."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd


def frame(found: list[dict[str, Any]], blank: Mapping[str, Any], head: Mapping[str, Any]) -> pd.DataFrame:
    """Return rows of dicts whose `value` is a number or an array over repeats; NaN is one that has none.

    - found: with `metric`, `value` and any keys of `blank`.
    - blank: columns that a row may leave out.
    - head: columns that all rows share.
    """
    values = [np.atleast_1d(np.asarray(row["value"], float)) for row in found]
    sizes = [len(value) for value in values]
    names = ["mechanism", "calibration", "guarantee", "metric", *blank]
    columns = {name: np.repeat(np.array([{**blank, **row}[name] for row in found], object), sizes) for name in names}
    value = np.concatenate(values)
    columns |= {"repeat": np.concatenate([np.arange(size) for size in sizes]), "value": value}
    columns["status"] = np.where(np.isfinite(value), "ok", "unknown")
    return pd.DataFrame(columns).infer_objects().assign(**head)
