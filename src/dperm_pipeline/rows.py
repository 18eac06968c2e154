"""The row builder: an experiment adds measured numbers, and the builder adds the columns that describe them.

An experiment gets `Rows` with the columns of its cell, adds columns with `at` and measured numbers with `add`:

    for delta in cell.settings.deltas:
        here = rows.at(delta=delta, guarantee=released.guarantee)
        here.add("excess_risk", risk(released.theta) - best, ok=released.converged)
"""

from typing import Any

import numpy as np
import pandas as pd


class Rows:
    """What a cell has measured so far. All that `at` returns add to the same rows, in the order of the calls."""

    def __init__(self, **columns: Any):
        self._columns = columns
        self._added: list[dict[str, Any]] = []

    def at(self, **columns: Any) -> "Rows":
        """Return these rows with further columns, or other values of columns."""
        here = Rows(**{**self._columns, **columns})
        here._added = self._added
        return here

    def add(self, metric: str, values: Any, ok: Any = True, **columns: Any) -> None:
        """Add a number for each repeat: a row each, of status `ok`, `unknown` where it is NaN, `failed` where not `ok`.

        The first axis of an array is that of the repeats; columns that are arrays go along a second one, and
        the rows of a repeat stand together. `ok` says whether the solver met its target; what it gave otherwise
        is left out. A column `repeat`, here or of `at`, is the number of the first repeat.
        """
        values, ok = np.broadcast_arrays(np.asarray(values, float), np.asarray(ok, bool))
        shape = values.shape if values.ndim else (1,)
        repeat = np.arange(shape[0]).reshape(-1, *(1 for _ in shape[1:]))
        status = np.where(ok, np.where(np.isfinite(values), "ok", "unknown"), "failed")
        every = {"repeat": 0, **self._columns, **columns, "metric": metric}
        every |= {"repeat": every["repeat"] + repeat, "value": np.where(ok, values, np.nan), "status": status}
        self._added.append(
            {
                name: np.broadcast_to(value, shape).ravel() if isinstance(value, np.ndarray) else value
                for name, value in every.items()
            }
        )

    def frame(self) -> pd.DataFrame:
        """Return all rows, a column that some of them lack missing there; ValueError if nothing was added."""
        if not self._added:
            raise ValueError("an experiment measured nothing; call rows.add")
        sizes = [len(part["value"]) for part in self._added]
        names = dict.fromkeys(name for part in self._added for name in part)
        return pd.DataFrame({name: _column([part.get(name) for part in self._added], sizes) for name in names})


def _column(parts: list[Any], sizes: list[int]) -> Any:
    """Return one column from a value, or an array, for each part."""
    if not any(isinstance(part, np.ndarray) for part in parts):
        # Text stays text, counts stay counts: told from one value a part, of which a cell has far fewer than rows.
        values = pd.Series(np.array([*parts, None], object)[:-1]).infer_objects().array
        return values.take(np.repeat(np.arange(len(parts)), sizes))
    whole = [part if isinstance(part, np.ndarray) else np.full(n, part) for part, n in zip(parts, sizes, strict=True)]
    return np.concatenate(whole)
