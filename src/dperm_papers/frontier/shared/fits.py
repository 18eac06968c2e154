"""What the experiments of the frontier have in common: methods by name, and their fits with nothing set."""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dperm.errors import SolverError, VacuousWarning
from dperm_papers.frontier.shared.splits import Split
from dperm_pipeline.rows import Rows

RELATIONS = ("add_remove", "replace")


@dataclass(frozen=True)
class Method:
    """A way to a model: `make(**public)` returns the estimator, with nothing set but what is public.

    `mechanism` and `calibration` are the columns of its rows. `pure`: it serves delta = 0 as well; `relations`: those
    that it serves without a further public number.
    """

    name: str
    mechanism: str
    make: Callable[..., Any]
    calibration: str = "tight"
    pure: bool = False
    relations: tuple[str, ...] = RELATIONS
    variant: str = ""

    def serves(self, neighbours: str, delta: float) -> bool:
        """Return whether its theorem holds under this relation, at this delta."""
        return neighbours in self.relations and (delta > 0 or self.pure)

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns that tell its rows from others'."""
        names = {"mechanism": self.mechanism, "calibration": self.calibration, "variant": self.variant}
        return {**names, "method": self.name}


class Fit(NamedTuple):
    """The error of a fit and its guarantee; NaN and nothing where a solver gave up."""

    error: float
    guarantee: str


def fitted(model: Any, split: Split, most: int | None = None) -> Fit:
    """Fit a model and measure it on the test rows, the first `most` of them; if noise drowns them, errors show it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VacuousWarning)
        try:
            model.fit(split.X, split.y)
        except SolverError:
            return Fit(math.nan, "")
        return Fit(split.error(model.predict(split.Q[:most])), model.privacy_.guarantee)


def add(rows: Rows, found: Mapping[tuple, Sequence[Fit]]) -> None:
    """Add the errors of a method's fits, one a split, under their columns."""
    for columns, fits in found.items():
        values = [fit.error for fit in fits]
        guarantee = next((fit.guarantee for fit in fits if fit.guarantee), "none")
        rows.add("error", values, ok=np.isfinite(values), guarantee=guarantee, **dict(columns))


def majority(split: Split) -> float:
    """Return the error of the most frequent training label."""
    labels, counts = np.unique(split.y, return_counts=True)
    return split.error(np.full(len(split.target), labels[counts.argmax()]))
