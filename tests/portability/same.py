"""Hold two folders of Parquet files against each other: whether they say the same, to the bit or within rounding."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

# Other releases of the libraries, and other processors, add in another order. The scale is the largest value of the
# metric in its file (of the column, where rows are of no metric), of both files; so a value that happens to be near
# zero is not asked for digits that the sum behind it does not have.
TOLERANCE = 1e-9
# These say what a solver has left open, in units of losses or of the bound that they are held against: it stops below
# its target, how far below is luck. They are alike within this; what they are the error of is held to TOLERANCE.
LEFT_OPEN = frozenset({"certificate", "slack"})
OF_LEFT_OPEN = 1e-5
# The `excess` of these rows is such an error over its certificate, less 1.
OF_SOLVERS = "nuclear-prox"
# Of an exact attack the bound is the result: outcomes too improbable to change it may join its event or not.
# An attack may learn its event: by scikit-learn's trees, which another release grows otherwise. Where one of the two
# runs chose such an event this is what follows from the choice; the event of a mutant's twin is not even told.
LEARNED = "gradient-boosted trees"
OF_TWINS = frozenset({"twin_bound", "twin_p"})
FOLLOWS = OF_TWINS | {"attack", "event", "likelier", "hits", "other_hits", "mutant_bound", "mutant_p", "caught_by"}


def tables(folder: Path) -> dict[str, pa.Table]:
    """Return every Parquet file below a folder, by its path there."""
    return {
        path.relative_to(folder).as_posix(): pq.read_table(path, partitioning=None)
        for path in sorted(folder.rglob("*.parquet"))
    }


def differences(first: dict[str, pa.Table], second: dict[str, pa.Table], tolerance: float = 0.0) -> Iterator[str]:
    """Yield what is not the same: files, columns, rows, words and whole numbers always, floats beyond `tolerance`.

    Metadata are left out: they name the versions of the libraries.
    """
    for name in sorted(first.keys() ^ second.keys()):
        yield f"{name}: only in the {'first' if name in first else 'second'}"
    for name in sorted(first.keys() & second.keys()):
        one, other = first[name], second[name]
        if one.schema.remove_metadata() != other.schema.remove_metadata():
            yield f"{name}: other columns: {one.schema.names} and {other.schema.names}"
        elif len(one) != len(other):
            yield f"{name}: {len(one)} and {len(other)} rows"
        else:
            metrics = one["metric"].to_pylist() if "metric" in one.column_names else [""] * len(one)
            for row in _rows_of(one, "row", OF_SOLVERS):
                metrics[row] = "slack"
            learned = learned_rows(one, other) if tolerance else set()
            exact = _rows_of(one, "attack", "exact") if tolerance else set()
            open_rows = _zero_but_for_slack(one) & _zero_but_for_slack(other) if tolerance else set()
            for column in one.column_names:
                for row, left, right in _unlike(one[column], other[column], metrics, tolerance):
                    told = (row not in learned or column not in FOLLOWS) and (row not in open_rows or column != "value")
                    told = told and (row not in exact or column != "event")
                    if told and not (tolerance and column in OF_TWINS):
                        yield f"{name}: {column} of row {row} ({metrics[row]}): {left!r} and {right!r}"


def learned_rows(*tables: pa.Table) -> set[int]:
    """Return the rows whose event was learned in one of the tables."""
    return set().union(*(_rows_of(table, "event", LEARNED) for table in tables))


def _rows_of(table: pa.Table, column: str, words: str) -> set[int]:
    """Return the rows of a table whose column holds these words, if it has that column."""
    said = table[column].to_pylist() if column in table.column_names else []
    return {row for row, found in enumerate(said) if words in (found or "")}


def _zero_but_for_slack(table: pa.Table) -> set[int]:
    """Return the rows whose value is below what a solver has left open of it, by the row of `slack` beside it."""
    if "metric" not in table.column_names or "slack" not in table["metric"].unique().to_pylist():
        return set()
    rows = table.to_pandas()
    beside = [name for name in rows.columns if name not in ("metric", "value", "status")]
    left_open = rows[rows["metric"] == "slack"].groupby(beside, dropna=False, observed=True)["value"].max()
    small = rows[(rows["metric"] != "slack") & (rows["value"].abs() <= left_open.max())]
    own = left_open.reindex(pd.MultiIndex.from_frame(small[beside])).to_numpy()
    return {*small.index[small["value"].abs().to_numpy() <= own]}


def _unlike(one: pa.ChunkedArray, other: pa.ChunkedArray, metrics: list[str], tolerance: float) -> Iterator[tuple]:
    if one.equals(other):
        return
    if not pa.types.is_floating(one.type):
        pairs = enumerate(zip(one.to_pylist(), other.to_pylist(), strict=True))
        yield from ((row, left, right) for row, (left, right) in pairs if left != right)
        return
    left, right = (column.to_numpy(zero_copy_only=False).astype(float) for column in (one, other))
    allowed = np.zeros(len(left))
    labels = np.array(metrics)
    for metric in set(metrics) if tolerance else ():
        mine = labels == metric
        both = np.abs(np.concatenate([left[mine], right[mine]]))
        scale = max(both[np.isfinite(both)], default=0.0)
        allowed[mine] = OF_LEFT_OPEN if metric in LEFT_OPEN else tolerance * scale
    with np.errstate(invalid="ignore"):
        near = np.abs(left - right) <= allowed
    same = (left == right) | (np.isnan(left) & np.isnan(right)) | near
    yield from ((int(row), left[row].item(), right[row].item()) for row in np.flatnonzero(~same))
