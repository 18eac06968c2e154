"""What the rules share: which rows a claim reads, at which points, and how their repeats are resampled.

A *point* is one combination of values of the columns `claim["points"]`; a variant may set any key of its claim anew,
and `where` (column -> value or list of values) says which rows are its own, `without` which of these are not: those
that match all of its columns.
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


def settings(claim: Mapping[str, Any], variant: str) -> dict[str, Any]:
    """Return the claim's keys, those that the variant sets anew replaced."""
    return {**claim, **claim["variants"][variant]}


def columns(claim: Mapping[str, Any], base: Sequence[str]) -> list[str]:
    """Return the columns of rows that a claim reads: `base` (a rule's COLUMNS) and those it names, each once."""
    names = list(base)
    for variant in claim["variants"]:
        rule = settings(claim, variant)
        for part in _parts(rule):
            for key in ("where", "without", "against", "points", "better", "worse", "above", "below"):
                names += part.get(key, ())
        names += [rule["axis"]] if "axis" in rule else []
        names += [*rule["axes"], rule.get("bound", "bound")] if "axes" in rule else []
    return list(dict.fromkeys(names))


def filters(rule: Mapping[str, Any], datasets: Sequence[str]) -> list[tuple[str, str, list[Any]]]:
    """Return what `tables.read` need not read whole: the rows that the rule can be about, and maybe others.

    - rule: as `settings` gave it.
    - Returns: pyarrow's form: the data sets, the values of `where`, and the metrics if the rule names any.
    """
    found = [("dataset", "in", list(datasets))]
    against = rule.get("against", {})
    found += [
        (name, "in", [*_listed(value), *_listed(against.get(name, []))])
        for name, value in rule.get("where", {}).items()
    ]
    metrics = {part[key] for part in _parts(rule) for key in ("metric", "measured", "ratio", "growth") if key in part}
    metrics.update(rule.get("metrics", ()))
    # The certificate that rule E may allow for.
    return found + ([("metric", "in", sorted(metrics | {"slack"}))] if metrics else [])


def pooled(rule: Mapping[str, Any]) -> bool:
    """Return whether the rule's data sets are points of one verdict, instead of one verdict each."""
    return "dataset" in rule.get("points", ())


def matches(rows: pd.DataFrame, where: Mapping[str, Any]) -> np.ndarray:
    """Return which rows have, in every column named, the value or one of the values: booleans, shape (rows,)."""
    mask = np.ones(len(rows), bool)
    for name, value in where.items():
        mask &= among(rows[name], value if isinstance(value, list | tuple) else [value])
    return mask


def among(column: pd.Series, values: Sequence[Any]) -> np.ndarray:
    """Return which entries of a column are one of the values: booleans, shape (rows,)."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        # By code, which takes a byte: text would be compared letter by letter.
        codes = column.cat.codes.to_numpy()
        wanted = np.flatnonzero(column.cat.categories.isin(values))
        if len(wanted) > _FEW:
            return np.isin(codes, wanted)
        mask = np.zeros(len(codes), bool)
        for code in wanted:
            mask |= codes == code
        return mask
    return column.isin(values).to_numpy(dtype=bool)


def chosen(rule: Mapping[str, Any], rows: pd.DataFrame, keys: Sequence[str], metric: str) -> pd.DataFrame:
    """Return the values of one metric that the rule is about.

    - rule: as `settings` gave it.
    - rows: tidy rows of one data set.
    - keys: columns that, with `repeat`, identify a value.
    - Returns: `keys`, `repeat` and `value`, sorted by keys and repeat; the value is NaN where the run failed.
    - Raises ConfigError: if the rule names a column that the rows do not have.
    - Raises DataError: if a key is missing in a row, or two rows have the same keys and repeat.
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
    picked = rows.loc[mask, [*keys, "repeat"]]
    for name in keys:
        if picked[name].isna().any():
            raise DataError(f"{rule['id']}: rows of {metric} have no {name}; choose others by where, or drop this axis")
    value, ran = rows["value"].to_numpy()[mask], among(rows["status"], ["ok"])[mask]
    # Text in the order of its letters, so that it is sorted as quickly as numbers.
    texts = [name for name in keys if isinstance(picked[name].dtype, pd.CategoricalDtype)]
    ranks = {name: _ranks(picked[name]) if name in texts else picked[name].to_numpy() for name in picked}
    order = np.lexsort([*reversed(ranks.values())])
    same = np.ones(max(len(order) - 1, 0), bool)
    for rank in ranks.values():
        same &= rank[order[1:]] == rank[order[:-1]]
    if same.any():
        twice = picked[picked.duplicated()]
        at = in_words([*keys, "repeat"], twice.iloc[0][[*keys, "repeat"]])
        raise DataError(
            f"{rule['id']}: {metric} has two values at {at}; add to points or where the column that tells them apart"
        )
    picked = picked.assign(value=np.where(ran & np.isfinite(value), value, math.nan)).iloc[order]
    # Categories with unused levels would give groups without rows.
    return picked.reset_index(drop=True).astype(dict.fromkeys(texts, object))


def groups(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give each point in words (empty where there are no keys) with its rows, which stand together (as of `chosen`).

    - Yields: tuple of str and DataFrame.
    """
    if not keys:
        yield "", frame
        return
    columns = [frame[name].to_numpy() for name in keys]
    first = np.arange(len(frame)) == 0
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(first)
    # Not groupby, which takes five times as long for many small groups.
    for start, end in itertools.pairwise([*starts.tolist(), len(frame)]):
        yield in_words(keys, [column[start] for column in columns]), frame.iloc[start:end]


def by_axis(group: pd.DataFrame, axis: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the values of the axis in rising order, and for each the repeats' values without the failed ones.

    - Raises DataError: if the axis is not a number.
    """
    if not pd.api.types.is_numeric_dtype(group[axis]):
        raise DataError(f"the axis {axis} must be a number in every row, not {group[axis].dtype}; choose another axis")
    parts = [(x, part["value"].dropna().to_numpy()) for x, part in group.groupby(axis, sort=True)]
    return np.array([x for x, _ in parts], dtype=float), [values for _, values in parts]


def random(rule: Mapping[str, Any], variant: str, rows: pd.DataFrame, where: str) -> np.random.Generator:
    """Return the generator of one point, seeded by its verdict's name and its place alone."""
    return np.random.default_rng(zlib.crc32(f"{rule['id']}/{variant}/{rows['dataset'].iloc[0]}/{where}".encode()))


def resample(
    values: np.ndarray, rng: np.random.Generator, statistic: Callable[[np.ndarray], np.ndarray] | None = None
) -> np.ndarray:
    """Return a statistic of `RESAMPLES` bootstrap samples.

    - values: shape (n,); one number for each independent repeat, n >= 1.
    - statistic: function; from samples of shape (b, n) to their statistics of shape (b,); by default the mean.
    - Returns: shape (RESAMPLES,).
    """
    statistic = statistic or _mean
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


def verdict(holds: Sequence[bool], refuted: Sequence[bool]) -> str:
    """Reproduced if the claim holds at all points, not reproduced if it is refuted at one, else inconclusive."""
    return "not reproduced" if any(refuted) else "reproduced" if all(holds) else "inconclusive"


def vacuous(rule: Mapping[str, Any], rows: pd.DataFrame, keys: Sequence[str], metric: str) -> str:
    """Say how many points the rule leaves out as vacuous (`without: {vacuous: 1}`); empty if it leaves out none.

    - rule: as `settings` gave it.
    - rows: tidy rows of one data set.
    - keys: columns that tell points apart.
    """
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


def words(metric: str) -> str:
    """Return the name of a metric as it is read."""
    return metric.replace("_", " ")


def _parts(rule: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The rule, its comparisons, and their terms: each may say which rows it is about."""
    comparisons = [*rule.get("comparisons", ()), *([rule["provided"]] if "provided" in rule else [])]
    return [rule, *comparisons, *(term for comparison in comparisons for term in comparison.get("terms", ()))]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " or ".join(map(_in_words, value))
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)
    return f"{value:g}" if number else str(value)


def _ranks(column: pd.Series) -> np.ndarray:
    """Return the place of each entry's category in the alphabet."""
    return np.argsort(np.argsort(column.cat.categories.to_numpy(dtype=str)))[column.cat.codes.to_numpy()]


def _mean(samples: np.ndarray) -> np.ndarray:
    return samples.mean(axis=1)
