"""Select the rows of a line or of a table's cell, and compute the numbers that it shows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dperm_pipeline.figures import style
from dperm_pipeline.figures.spec import select  # noqa: F401  (asked for here by who draws)


def plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with text as text: categories would group by what is not there."""
    text = {key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)}
    # The copy holds columns of one type together, so that rows are taken from few blocks.
    return rows.astype(text).copy()


def summary(rows: pd.DataFrame, x: Any, y: Any = "value", *, statistic: Any = "mean", via: Any = None) -> pd.DataFrame:
    """Return a line's points: columns mean, low and high, indexed by x, which rises.

    x, y and `statistic` are as of `spec.Line`: `low` and `high` are the 95 % interval of a mean, else NaN. `via`
    maps each of the three to what is drawn.
    """
    if statistic == "given":
        at, metric, values = (rows[name].to_numpy() for name in (x, "metric", "value"))
        chosen = [metric == f"{y}_{name}" for name in ("mean", "half")]
        mean, half = (dict(zip(at[own].tolist(), values[own].tolist(), strict=True)) for own in chosen)
        if len(mean) + len(half) < np.sum(chosen):
            raise ValueError(f"{y} has several values at one {x}")
        index = sorted({*mean, *half})
        center = np.array([mean.get(key, np.nan) for key in index], dtype=float)
        # One repeat has no interval.
        reach = np.nan_to_num([half.get(key, 0.0) for key in index])
        points = pd.DataFrame({"mean": center, "low": center - reach, "high": center + reach}, index=index)
        return points.apply(via) if via else points
    if statistic == "points":
        return rows.set_index(x)[["mean", "low", "high"]].astype(float).sort_index()
    at = 1 / rows[x[2:]] if isinstance(x, str) and x.startswith("1/") else x(rows) if callable(x) else rows[x]
    values = y(rows) if callable(y) else rows[y]
    at, values = np.asarray(at, dtype=float), np.asarray(values, dtype=float)
    if statistic in ("value", "path"):
        order = np.argsort(at, kind="stable") if statistic == "value" else slice(None)
        points = pd.DataFrame({"mean": values[order], "low": np.nan, "high": np.nan}, index=at[order])
    elif statistic == "quantiles":
        found = pd.Series(values).groupby(at).quantile([0.5, 0.95, 1.0]).unstack()
        points = pd.DataFrame({"mean": found[0.95], "low": found[0.5], "high": found[1.0]})
    elif statistic == "mean":
        groups = [(key, style.mean_interval(part.to_numpy())) for key, part in pd.Series(values).groupby(at)]
        index = [key for key, _ in groups]
        points = pd.DataFrame([found for _, found in groups], index=index, columns=["mean", "low", "high"])
    else:
        points = pd.Series(values).groupby(at).agg(statistic).to_frame("mean").assign(low=np.nan, high=np.nan)
    return points.apply(via) if via else points


def means(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return, for each combination of keys, mean, 95 % t interval and numbers of repeats that converged and failed."""
    lines = []
    for key, group in rows.groupby([*keys], sort=True):
        values = group.loc[group["status"] == "ok", "value"].to_numpy()
        mean, low, high = style.mean_interval(values)
        counts = {"ok": len(values), "failed": len(group) - len(values)}
        lines.append({**dict(zip(keys, key, strict=True)), "mean": mean, "low": low, "high": high, **counts})
    return pd.DataFrame(lines, columns=[*keys, "mean", "low", "high", "ok", "failed"])
