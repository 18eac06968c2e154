"""What an experiment runs: a cell is one mechanism at one point of the grid, with all its repeats, and becomes rows."""

import functools
import importlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dperm import seeds
from dperm.errors import ConfigError, SolverError
from dperm.solvers.blas import one_thread
from dperm_pipeline import places, tables
from dperm_pipeline.rows import Rows


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of a plan, or the baseline of some (`mechanism` is then "nonprivate").

    `point`: from the axes of the grid to its values. `settings`: the experiment's `Settings`, a name for each. `files`:
    `data`, the prepared data set, and `baseline`, the rows of the fit without privacy; neither where the cell makes its
    own data.
    """

    paper: str
    experiment: str
    seed: int
    point: Mapping[str, Any]
    settings: Any
    mechanism: str = "nonprivate"
    calibration: str = ""
    neighbours: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    def rng(self, *names: str | float) -> np.random.Generator:
        """Return the generator of these names: `seeds.generator` of the run's seed, the experiment and them."""
        return seeds.generator(self.seed, self.experiment, *names)

    def parts(self, *known: str) -> tuple[str, ...]:
        """Return which of these parts of its experiment this cell runs, one or all; ConfigError if another."""
        part = self.point["part"]
        if part not in (*known, "all"):
            raise ConfigError(f"unknown part {part!r} of {self.experiment}; known: {', '.join((*known, 'all'))}")
        return known if part == "all" else (part,)

    @functools.cached_property
    def data(self) -> Any:
        """Return the prepared data set."""
        from dperm_pipeline.datasets import prepared

        return prepared.read(self.files["data"])

    @functools.cached_property
    def baseline(self) -> Any:
        """Return the rows of the fit without privacy, a pandas.DataFrame."""
        return tables.read(self.files["baseline"])

    def rows(self) -> Rows:
        """Return rows without a number that know this cell: its columns, and no variant or guarantee."""
        head = {key: getattr(self, key) for key in ("paper", "experiment", "mechanism", "calibration", "neighbours")}
        point = {"dataset": self.point.get("dataset", self.point.get("design", ""))}
        point |= {"epsilon": self.point["epsilon"]} if "epsilon" in self.point else {}
        return Rows(**head, variant="", guarantee="none", **point)


def run(cell: Mapping[str, Any], **files: str) -> pd.DataFrame:
    """Return the rows of one cell; of one whose solver gave up, a single row of status `failed` that says where.

    `files` are `data` and `baseline`, as of `Cell`.
    """
    try:
        return _measured("run", cell, files)
    except SolverError as error:
        return _failed(cell, error, **{key: cell[key] for key in ("mechanism", "calibration", "neighbours")})


def run_all(cells: Sequence[Mapping[str, Any]], **files: str) -> Iterator[pd.DataFrame]:
    """Yield the rows of each cell of one job, in order; the log says which cell is on. `files` as of `run`."""
    for k, cell in enumerate(cells, start=1):
        point = ", ".join(f"{axis}={value}" for axis, value in cell["point"].items())
        logging.info("cell %d of %d: %s", k, len(cells), point)
        yield run(cell, **files)


def run_baseline(cell: Mapping[str, Any], *, data: str) -> pd.DataFrame:
    """Return the rows of the non-private fit that a cell is measured against."""
    try:
        return _measured("baseline", cell, {"data": data})
    except SolverError as error:
        return _failed(cell, error, mechanism="nonprivate", calibration="", neighbours="")


def _measured(function: str, cell: Mapping[str, Any], files: Mapping[str, str]) -> pd.DataFrame:
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


def _failed(cell: Mapping[str, Any], error: SolverError, **head: str) -> pd.DataFrame:
    where = ", ".join(f"{axis}={value}" for axis, value in cell["point"].items())
    logging.warning("no numbers at %s: %s", where, error)
    # No data set and no column of its own: nobody may take it for a measurement.
    row = {
        "paper": cell["paper"], "experiment": cell["experiment"], **head, "variant": where, "guarantee": "none",
        "dataset": "", "epsilon": math.nan, "delta": math.nan, "repeat": 0, "metric": tables.GIVEN_UP,
        "value": math.nan, "status": "failed",
    }  # fmt: skip
    return pd.DataFrame([row])
