"""The rows that figures and tables show: a file may hold millions, and is read once for all that one job draws."""

import functools
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from dperm_pipeline import elsewhere, tables
from dperm_pipeline.target import Target

_COLUMNS = ("mechanism", "calibration", "dataset", "epsilon", "delta", "repeat", "metric", "value", "status")
WHOLE = "whole cells, whose solver did not converge"


class Rows:
    """What some figures and tables show of one file of rows, or of a ledger; a target that is None does not exist.

    `others`: files of what was measured elsewhere, shown beside the rows.
    """

    def __init__(self, path: str | Path, targets: Iterable[Target | None], others: Iterable[str | Path] = ()):
        self._path, self._others = path, list(others)
        self._targets = [target for target in targets if target is not None]

    def of(self, target: Target) -> tuple[Any, str]:
        """Return what one shows, with rows that failed to converge; and in words what did, if any.

        CorruptFile or ValueError if the rows cannot be read or lack a column.
        """
        if target.source != "rows":
            ledger = tables.read_records(self._path)
            return ledger[ledger["paper"] == target.paper] if target.paper else ledger, ""
        whole, table = tables.given_up(self._path), self._table
        columns = [*_COLUMNS, *target.columns] if target.columns else table.column_names
        if whole:
            # Where all cells gave up, nobody wrote the experiment's own columns.
            columns = [name for name in columns if name in table.column_names]
        tables.check_columns(self._path, columns, table.column_names)
        filters = [("metric", *self._wanted([target]))]
        rows = tables.narrowed(table, columns=columns, filters=filters).to_pandas(ignore_metadata=True)
        said = {"failed": "their solver did not converge", "unknown": "nothing is known there"}
        lost = {status: int((rows["status"] == status).sum()) for status in said}
        words = [f"{count} of {len(rows)} values: {said[status]}" for status, count in lost.items() if count]
        words += [f"{WHOLE}: {'; '.join(whole)}"] if whole else []
        for other in self._others:
            rows = elsewhere.beside(rows, other)
        return rows, f"Missing here: {', and '.join(words)}." if words else ""

    @functools.cached_property
    def _table(self) -> pa.Table:
        """All that any of them shows."""
        columns = None
        if all(target.columns for target in self._targets):
            asked = {*_COLUMNS, *(name for target in self._targets for name in target.columns)}
            columns = [name for name in tables.columns(self._path) if name in asked]
        return tables.load(self._path, columns=columns, filters=[("metric", *self._wanted(self._targets))])

    @staticmethod
    def _wanted(targets: Iterable[Target]) -> tuple[str, Any]:
        """Return a filter on metrics, in pyarrow's form: those that targets name, or all if one of them names none."""
        named = [target.metrics for target in targets]
        return ("in", sorted({*itertools.chain(*named)})) if all(named) else ("!=", tables.GIVEN_UP)
