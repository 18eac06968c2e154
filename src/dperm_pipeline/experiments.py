"""The experiments, looked up by name: each turns one cell and its data into rows."""

import importlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dperm import mechanisms
from dperm.errors import SolverError
from dperm_pipeline import places

if TYPE_CHECKING:
    import pandas as pd


def modules(experiment: str, mechanism: str | None = None) -> tuple[str, ...]:
    """Return the modules that a cell starts from: what its code digest is taken of."""
    named = () if mechanism is None else (mechanisms.REGISTRY[mechanism].module,)
    return ("dperm_pipeline.experiments", f"{places.package(experiment)}.experiment", *named)


def run(cell: Mapping[str, Any], **files: str) -> "pd.DataFrame":
    """Return the rows of one cell; of one whose solver gave up, a single row of status `failed` that says where.

    - cell: as `dperm_pipeline.plan` made it.
    - **files: of an experiment on data sets: `data`, the prepared one, and `baseline`, the rows of the non-private fit
      on it. None where the cell makes its own data.
    """
    try:
        return _measured("run", cell, files)
    except SolverError as error:
        return _failed(cell, error, **{key: cell[key] for key in ("mechanism", "calibration", "neighbours")})


def run_all(cells: Sequence[Mapping[str, Any]], **files: str) -> Iterator["pd.DataFrame"]:
    """Yield the rows of the cells of one job, in order; the log says which cell is on.

    - cells: as `dperm_pipeline.plan` made them: on the same data set, or on data that each makes itself.
    - **files: as of `run`.
    - Yields: the rows of a cell.
    """
    for k, cell in enumerate(cells, start=1):
        point = ", ".join(f"{axis}={value}" for axis, value in cell["point"].items())
        logging.info("cell %d of %d: %s", k, len(cells), point)
        yield run(cell, **files)


def run_baseline(cell: Mapping[str, Any], *, data: str) -> "pd.DataFrame":
    """Return the rows of the non-private fit that a cell is measured against."""
    try:
        return _measured("baseline", cell, {"data": data})
    except SolverError as error:
        return _failed(cell, error, mechanism="nonprivate", calibration="", neighbours="")


def _measured(function: str, cell: Mapping[str, Any], files: Mapping[str, str]) -> "pd.DataFrame":
    # Here, because a plan reads this module too and computes nothing.
    from dperm.solvers.blas import one_thread
    from dperm_pipeline.cells import Cell

    package = places.package(cell["experiment"])
    experiment = importlib.import_module(f"{package}.experiment")
    settings = importlib.import_module(f"{package}.settings").Settings(**cell["settings"])
    known = {key: cell[key] for key in ("mechanism", "calibration", "neighbours") if key in cell}
    given = Cell(cell["paper"], cell["experiment"], cell["seed"], cell["point"], settings, **known, files=files)
    rows = given.rows()
    # One BLAS thread: the same bytes whatever the number of cores.
    with one_thread():
        getattr(experiment, function)(given, rows)
    return rows.frame()


def _failed(cell: Mapping[str, Any], error: SolverError, **head: str) -> "pd.DataFrame":
    # Here, because a plan reads this module too and computes nothing.
    import pandas as pd

    from dperm_pipeline import tables

    where = ", ".join(f"{axis}={value}" for axis, value in cell["point"].items())
    logging.warning("no numbers at %s: %s", where, error)
    # No data set and no column of its own: nobody may take it for a measurement.
    row = {
        "paper": cell["paper"], "experiment": cell["experiment"], **head, "variant": where, "guarantee": "none",
        "dataset": "", "epsilon": math.nan, "delta": math.nan, "repeat": 0, "metric": tables.GIVEN_UP,
        "value": math.nan, "status": "failed",
    }  # fmt: skip
    return pd.DataFrame([row])
