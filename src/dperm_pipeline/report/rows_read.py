"""Counts, repeats and failures of the files of rows behind a report; the files are read a part at a time."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dperm_pipeline import tables

_RUNS = "runs"


@dataclass
class RowsSummary:
    """What one experiment's `rows.parquet` holds: how many rows, how many failed, and the metrics by data set.

    `repeats` maps each metric to its number of different repeats; where a cell has averaged over its repeats, it
    says of how many in the metric `runs`.
    """

    name: str
    rows: int
    failed: int
    sha256: str
    datasets: dict[str, set[str]] = field(default_factory=dict)
    repeats: dict[str, int] = field(default_factory=dict)


def summary(path: str | Path) -> RowsSummary:
    """Summarise `<experiment>/rows.parquet`; CorruptFile if it is not Parquet or lacks a column of the schema."""
    path = Path(path)
    found = RowsSummary(f"{path.parent.name}/{path.name}", 0, 0, _sha256(path))
    repeats: dict[str, set[int]] = {}
    runs = 0
    for part in tables.parts(path, ["dataset", "metric", "repeat", "status", "value"]):
        found.rows += len(part)
        found.failed += _failed(part)
        datasets, dataset = _codes(part["dataset"])
        metrics, metric = _codes(part["metric"])
        for d, m in _distinct_pairs(dataset, metric):
            found.datasets.setdefault(datasets[d], set()).add(metrics[m])
        for m, repeat in _distinct_pairs(metric, part["repeat"].to_numpy().astype(np.int64)):
            repeats.setdefault(metrics[m], set()).add(repeat)
        if _RUNS in metrics:
            averaged_over = part["value"].to_numpy()[metric == metrics.index(_RUNS)]
            runs = max(runs, int(np.nanmax(averaged_over, initial=0)))
    found.repeats = {metric: len(of) for metric, of in sorted(repeats.items())}
    if runs:
        found.repeats[_RUNS] = runs
    return found


def failures(folder: str | Path) -> list[str]:
    """Return a line for each experiment of `results/<scale>` with rows whose solver did not converge.

    CorruptFile if rows cannot be read.
    """
    lines = []
    for path in sorted(Path(folder).glob("*/rows.parquet")):
        count, lost = 0, 0
        for part in tables.parts(path, ["status"]):
            count += len(part)
            lost += _failed(part)
        if lost:
            whole = tables.given_up(path)
            cells = f"; whole cells: {'; '.join(whole)}" if whole else ""
            lines.append(f"not converged: {lost} of {count} rows of {path.parent.name}{cells}")
    return lines


def _failed(part: pa.Table) -> int:
    return pc.sum(pc.equal(part["status"].cast(pa.string()), "failed")).as_py() or 0


def _distinct_pairs(first: np.ndarray, second: np.ndarray) -> list[tuple[int, int]]:
    """Return the pairs of whole numbers, 0 and above, that stand beside each other; as one number each, for speed."""
    width = int(second.max(initial=0)) + 1
    return [divmod(pair, width) for pair in np.unique(first * width + second).tolist()]


def _codes(column: pa.ChunkedArray) -> tuple[list[str], np.ndarray]:
    """Return the values of a column of text, and for each row the place of its value."""
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.string()).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
