"""Make a table from its specification (`figures.spec`): with plain numbers for machines, and formatted for people."""

import math
import numbers
from typing import Any

import pandas as pd

from dperm_pipeline.figures import spec, style
from dperm_pipeline.figures.points import plain, select


def tabulate(table: spec.Table, rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a table of an experiment's rows as numbers, null where there is none, and the same as text for people."""
    rows = select(plain(rows), table.where)
    rows = rows if table.keep_failed or "status" not in rows else rows[rows["status"] == "ok"]
    rows = table.prepare(rows) if table.prepare else rows
    groups = [part for _, part in rows.groupby([*table.by], sort=True)] if table.by else _single(rows)
    if table.order:
        groups.sort(key=table.order)
    numbers_found, words_found = [], []
    for part in groups:
        line, words = {}, {}
        for column in table.columns:
            heading = column.name if column.heading is None else column.heading
            found = _values(column, part)
            if column.name:
                line |= dict(zip(_names(column), found, strict=True))
            if heading:
                words[heading] = (column.words or table.words or word)(*found[:1]) + _interval(*found[1:])
        numbers_found.append(line)
        words_found.append(words)
    whole = {column.name: "Int64" for column in table.columns if column.whole}
    return pd.DataFrame(numbers_found).astype(whole if groups else {}), pd.DataFrame(words_found)


def word(value: Any) -> str:
    """Return a value as text: a number with three digits, a dash for none."""
    if isinstance(value, str | numbers.Integral):
        return str(value)
    return "–" if math.isnan(value) else f"{value:.3g}"


def _single(rows: pd.DataFrame) -> list[pd.DataFrame]:
    return [rows.iloc[[k]] for k in range(len(rows))]


def _names(column: spec.Column) -> list[str]:
    ends = ("", "_low", "_high") if isinstance(column, spec.Interval) else ("",)
    return [f"{column.name}{end}" for end in ends]


def _values(column: spec.Column, part: pd.DataFrame) -> tuple[Any, ...]:
    """Return the value of a group, or its mean and the ends of its interval."""
    if isinstance(column, spec.Interval):
        here = select(part, column.where)
        return style.mean_interval(here.loc[here["status"] == "ok", "value"].to_numpy())
    if callable(column.value):
        return (column.value(part),)
    return (part[column.value or column.name].iloc[0],)


def _interval(low: float = math.nan, high: float = math.nan) -> str:
    return "" if math.isnan(low) else f" [{word(low)}, {word(high)}]"
