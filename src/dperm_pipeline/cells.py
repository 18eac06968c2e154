"""A cell, which is what an experiment runs: one mechanism at one point of the grid, with all its repeats."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dperm import seeds
from dperm.errors import ConfigError
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
        """Return the parts of its experiment that this cell runs: one of these, or all.

        - Raises ConfigError: if the grid asks for another.
        """
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
        from dperm_pipeline import tables

        return tables.read(self.files["baseline"])

    def rows(self) -> Rows:
        """Return rows without a number that know this cell: its columns, and no variant or guarantee."""
        head = {key: getattr(self, key) for key in ("paper", "experiment", "mechanism", "calibration", "neighbours")}
        point = {"dataset": self.point.get("dataset", self.point.get("design", ""))}
        point |= {"epsilon": self.point["epsilon"]} if "epsilon" in self.point else {}
        return Rows(**head, variant="", guarantee="none", **point)
