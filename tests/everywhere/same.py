"""Hold two folders of Parquet files against each other: whether they say the same, to the bit or within rounding."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# Other releases of the libraries add in another order. The scale is the largest value of the metric in its file (of the
# column, where rows are of no metric), of both files; so a value that happens to be near zero is not asked for digits
# that the sum behind it does not have.
TOLERANCE = 1e-9
# These measure rounding itself: zero but for that. Their scale is that of the losses that they are differences of.
OF_SCALE_ONE = frozenset({"certificate"})
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
            learned = learned_rows(one, other) if tolerance else set()
            for column in one.column_names:
                for row, left, right in _unlike(one[column], other[column], metrics, tolerance):
                    told = row not in learned or column not in FOLLOWS
                    if told and not (tolerance and column in OF_TWINS):
                        yield f"{name}: {column} of row {row} ({metrics[row]}): {left!r} and {right!r}"


def learned_rows(*tables: pa.Table) -> set[int]:
    """Return the rows whose event was learned in one of the tables."""
    return {
        row
        for table in tables
        if "event" in table.column_names
        for row, event in enumerate(table["event"].to_pylist())
        if LEARNED in (event or "")
    }


def _unlike(one: pa.ChunkedArray, other: pa.ChunkedArray, metrics: list[str], tolerance: float) -> Iterator[tuple]:
    if not pa.types.is_floating(one.type):
        pairs = enumerate(zip(one.to_pylist(), other.to_pylist(), strict=True))
        yield from ((row, left, right) for row, (left, right) in pairs if left != right)
        return
    left, right = (column.to_numpy(zero_copy_only=False).astype(float) for column in (one, other))
    scale = np.ones(len(left))
    labels = np.array(metrics)
    for metric in set(metrics) - OF_SCALE_ONE:
        mine = labels == metric
        both = np.abs(np.concatenate([left[mine], right[mine]]))
        scale[mine] = max(both[np.isfinite(both)], default=0.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(left - right) <= tolerance * scale
    same = (left == right) | (np.isnan(left) & np.isnan(right)) | near
    yield from ((int(row), left[row].item(), right[row].item()) for row in np.flatnonzero(~same))
