"""What the rules share: which rows a claim reads, at which points, and how their repeats are resampled.

A *point* is one combination of values of the columns `claim["points"]`. A variant may replace any key of its claim.
`where` (column -> value or list of values) selects rows; `without` then leaves out those that match all of its columns.
"""

import itertools
import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dperm.errors import ConfigError, DataError

RESAMPLES = 10_000
# Entries of one block of resamples: 3 MB of indices and values, whatever the number of repeats.
_BLOCK = 2**18
_FEW = 8
# What every rule reads; `columns` adds those that a claim names.
COLUMNS = ("dataset", "repeat", "metric", "value", "status")


class NoRows(Exception):
    """There are no rows to decide by; the message says of what."""


def settings(claim: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """Return what a rule is given: the claim's keys, those that the variant sets anew replaced, and its name."""
    return {**claim, **claim["variants"][variant], "variant": variant}


def columns(claim: Mapping[str, Any], base: Sequence[str]) -> list[str]:
    """Return the columns of rows that a claim reads: `base` (a rule's COLUMNS) and those it names, each once."""
    names = list(base)
    for variant in claim["variants"]:
        rule = settings(claim, variant)
        for part in _parts(rule):
            for key in ("where", "without", "against", "points", "better", "worse", "above", "below"):
                names += part.get(key, ())
        if "axis" in rule:
            names.append(rule["axis"])
        if "axes" in rule:
            names += [*rule["axes"], rule.get("bound", "bound")]
    return list(dict.fromkeys(names))


def filters(rule: Mapping[str, Any], datasets: Sequence[str]) -> list[tuple[str, str, list[Any]]]:
    """Return filters in pyarrow's form that let through all rows that the rule is about, and few others.

    They narrow the data sets, the columns of `where`, and the metrics if the rule names any.
    """
    found = [("dataset", "in", list(datasets))]
    against = rule.get("against", {})
    for name, value in rule.get("where", {}).items():
        found.append((name, "in", [*listed(value), *listed(against.get(name, []))]))
    metrics = set(rule.get("metrics", ()))
    for part in _parts(rule):
        metrics.update(part[key] for key in ("metric", "measured", "ratio", "growth") if key in part)
    if metrics:
        # `slack` is the solver's certificate, which rule E may allow for.
        found.append(("metric", "in", sorted(metrics | {"slack"})))
    return found


def pooled(rule: Mapping[str, Any]) -> bool:
    """Return whether the rule's data sets are points of one verdict, instead of one verdict each."""
    return "dataset" in rule.get("points", ())


def matches(rows: pd.DataFrame, where: Mapping[str, Any]) -> np.ndarray:
    """Return which rows have, in every column named, the value or one of the values: booleans, shape (rows,)."""
    mask = np.ones(len(rows), bool)
    for name, value in where.items():
        mask &= among(rows[name], listed(value))
    return mask


def among(column: pd.Series, values: Sequence[Any]) -> np.ndarray:
    """Return which entries of a column are one of the values: booleans, shape (rows,)."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        # By code, which takes a byte: text would be compared letter by letter.
        # Of the array: the accessor `cat` costs as much as a comparison.
        codes = column.array.codes
        wanted = np.flatnonzero(column.array.categories.isin(values))
        if len(wanted) > _FEW:
            return np.isin(codes, wanted)
        mask = np.zeros(len(codes), bool)
        for code in wanted:
            mask |= codes == code
        return mask
    # A few numbers are compared one by one, in a tenth of the time that a table of them takes; NaN equals NaN there.
    if column.dtype.kind in "if" and len(values) <= _FEW and all(type(v) in (int, float) and v == v for v in values):
        known, mask = column.to_numpy(), np.zeros(len(column), bool)
        for value in values:
            mask |= known == value
        return mask
    return column.isin(values).to_numpy(dtype=bool)


def chosen(rule: Mapping[str, Any], rows: pd.DataFrame, keys: Sequence[str], metric: str) -> pd.DataFrame:
    """Return `keys`, `repeat` and `value` of one metric, sorted; the value is NaN where the run failed.

    ConfigError if the rule names a column that the rows do not have; DataError if a key is missing in a row, or two
    rows have the same keys and repeat.
    """
    where, without = rule.get("where", {}), rule.get("without", {})
    absent = [name for name in (*where, *without, *keys) if name not in rows.columns]
    if absent:
        raise ConfigError(
            f"{rule['id']}: the rows of {rule['experiment']} have no column {', '.join(map(repr, absent))}; they have "
            f"{', '.join(rows.columns)}"
        )
    mask = among(rows["metric"], [metric]) & matches(rows, where)
    if without:
        mask &= ~matches(rows, without)
    at, names = np.flatnonzero(mask), list(dict.fromkeys([*keys, "repeat"]))
    # Not by frames, of which each step would make another: a claim asks this for each of its terms.
    picked = {name: rows[name].array[at] for name in names}
    for name in keys:
        if picked[name].isna().any():
            raise DataError(f"{rule['id']}: rows of {metric} have no {name}; choose others by where, or drop this axis")
    value, ran = rows["value"].to_numpy()[at], among(rows["status"], ["ok"])[at]
    # Categories are replaced by their alphabetical ranks, so that text is sorted as quickly as numbers.
    texts = [name for name in keys if isinstance(picked[name].dtype, pd.CategoricalDtype)]
    ranks = [_ranks(picked[name]) if name in texts else np.asarray(picked[name]) for name in names]
    order = np.lexsort(ranks[::-1])
    # Once sorted, rows of the same keys and repeat are neighbours.
    same = np.ones(max(len(order) - 1, 0), bool)
    for rank in ranks:
        same &= rank[order[1:]] == rank[order[:-1]]
    if same.any():
        frame = rows.iloc[at][names]
        twice = frame[frame.duplicated()]
        where = in_words(names, twice.iloc[0][names])
        raise DataError(
            f"{rule['id']}: {metric} has two values at {where}; add to points or where the column that tells them apart"
        )
    index = pd.RangeIndex(len(at))
    # As objects: categories with unused levels would give groups without rows.
    found = {
        name: pd.Series(picked[name][order], index=index, dtype=object if name in texts else None) for name in names
    }
    found["value"] = np.where(ran & np.isfinite(value), value, math.nan)[order]
    return pd.DataFrame(found, index=index)


def required(rule: Mapping[str, Any], rows: pd.DataFrame, keys: Sequence[str], metric: str) -> pd.DataFrame:
    """Return what `chosen` does; NoRows is raised where that is nothing."""
    frame = chosen(rule, rows, keys, metric)
    if frame.empty:
        raise NoRows(absent(rule, metric))
    return frame


def groups(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give each point in words (empty where there are no keys) with its rows, which stand together (as of `chosen`)."""
    for where, part in spans(frame, keys):
        yield where, frame.iloc[part]


def spans(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[str, slice]]:
    """Give what `groups` does, with the place of each point's rows instead of these, which takes far less time."""
    if not keys:
        yield "", slice(0, len(frame))
        return
    columns = [frame[name].to_numpy() for name in keys]
    first = np.arange(len(frame)) == 0
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(first)
    for start, end in itertools.pairwise([*starts.tolist(), len(frame)]):
        yield in_words(keys, [column[start] for column in columns]), slice(start, end)


def by_axis(group: pd.DataFrame, axis: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the rising values of the axis, each's repeats without failed ones; DataError if it is not a number."""
    if not pd.api.types.is_numeric_dtype(group[axis]):
        raise DataError(f"the axis {axis} must be a number in every row, not {group[axis].dtype}; choose another axis")
    parts = [(x, part["value"].dropna().to_numpy()) for x, part in group.groupby(axis, sort=True)]
    return np.array([x for x, _ in parts], dtype=float), [values for _, values in parts]


def random(rule: Mapping[str, Any], rows: pd.DataFrame, where: str) -> np.random.Generator:
    """Return the generator of one point, seeded by the name of its verdict and of the point alone."""
    name = f"{rule['id']}/{rule['variant']}/{rows['dataset'].iloc[0]}/{where}"
    return np.random.default_rng(zlib.crc32(name.encode()))


def resample(
    values: np.ndarray, rng: np.random.Generator, statistic: Callable[[np.ndarray], np.ndarray] | None = None
) -> np.ndarray:
    """Return a statistic (by default the mean) of each of `RESAMPLES` bootstrap samples of independent repeats.

    It maps samples of shape (b, n) to shape (b,).
    """
    statistic = statistic or (lambda samples: samples.mean(axis=1))
    block = max(1, _BLOCK // len(values))
    sizes = [min(block, RESAMPLES - start) for start in range(0, RESAMPLES, block)]
    # The same numbers as without a dtype, in half the memory.
    drawn = (rng.integers(len(values), size=(size, len(values)), dtype=np.int32) for size in sizes)
    return np.concatenate([statistic(values.take(places)) for places in drawn])


def lower(sample: np.ndarray, share: float) -> float:
    """Return the `share` quantile of a bootstrap sample, rounded outwards; NaN counts as minus infinity."""
    ordered = np.sort(np.where(np.isnan(sample), -math.inf, sample))
    # Not np.quantile: it interpolates between infinities.
    return float(ordered[math.floor(share * (len(ordered) - 1))])


def upper(sample: np.ndarray, share: float) -> float:
    """Return the 1 - `share` quantile of a bootstrap sample, rounded outwards; NaN counts as infinity."""
    return -lower(-sample, share)


def vacuous(rule: Mapping[str, Any], rows: pd.DataFrame, keys: Sequence[str], metric: str) -> str:
    """Say how many points the rule leaves out as vacuous (`without: {vacuous: 1}`); empty if it leaves out none."""
    if "vacuous" not in rule.get("without", {}):
        return ""
    mask = (rows["metric"] == metric).to_numpy(dtype=bool) & matches(rows, rule.get("where", {}))
    left = mask & matches(rows, rule["without"])
    if not left.any():
        return ""
    count = [len(rows.loc[part, list(keys)].drop_duplicates()) for part in (left, mask)]
    return f"{count[0]} of {count[1]} points are vacuous and left out"


def failures(frame: pd.DataFrame) -> str:
    """Say how many runs failed; empty if none did."""
    lost = int(frame["value"].isna().sum())
    return f"{lost} of {len(frame)} runs failed" if lost else ""


def absent(rule: Mapping[str, Any], metric: str) -> str:
    """Say that there are no rows to decide by."""
    where = in_words(list(rule.get("where", {})), rule.get("where", {}).values())
    return f"there are no rows of {words(metric)}" + (f" with {where}" if where else "")


def in_words(keys: Sequence[str], values: Any) -> str:
    """Return such as `epsilon 0.1, gamma 0.5`."""
    return ", ".join(f"{name} {_in_words(value)}" for name, value in zip(keys, values, strict=True))


def at(where: str) -> str:
    """Return ` at <where>`, or nothing where there is one point only."""
    return f" at {where}" if where else ""


def least_favourable(where: str, comma: str = "") -> str:
    """Return at which point a reported number was measured, or nothing where there is one point only."""
    return f"{comma} at the least favourable point, {where}" if where else ""


def words(metric: str) -> str:
    """Return the name of a metric as it is read."""
    return metric.replace("_", " ")


def _parts(rule: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rule, its comparisons, and their terms: each may say which rows it is about."""
    comparisons = list(rule.get("comparisons", ()))
    terms = [term for comparison in comparisons for term in comparison.get("terms", ())]
    return [rule, *comparisons, *terms]


def listed(value: Any) -> list[Any]:
    """Return a value, or the values of a list, as a list."""
    return value if isinstance(value, list) else [value]


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " or ".join(map(_in_words, value))
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)
    return f"{value:g}" if number else str(value)


def _ranks(column: pd.Categorical) -> np.ndarray:
    """Return the place of each entry's category in the alphabet."""
    return np.argsort(np.argsort(column.categories.to_numpy(dtype=str)))[column.codes]
