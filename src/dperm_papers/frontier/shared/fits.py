"""What the experiments of the frontier have in common: methods by name, their fits on every split, and their rows.

A model is told epsilon, delta, the relation, the bound 1 on ||x|| and the labels, and nothing else (`clip=True`, so
that no record makes it fail). Metric `error`: the share of wrong test labels.
"""

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dperm.errors import SolverError, VacuousWarning
from dperm.mechanisms.estimators.gradient import NoisyGradientDescent
from dperm_papers.frontier.shared.splits import Split, splits
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

RELATIONS = ("add_remove", "replace")


@dataclass(frozen=True)
class Method:
    """A way to a model: `make(epsilon, delta, neighbours, classes, random_state)` returns the estimator.

    `mechanism`, `calibration` and `variant` are columns of its rows. `pure`: it serves delta = 0 as well; `relations`:
    those that it serves without a further public number; `tuned`: many fits make a number, so that it is run at the
    settings' `tuned_delta` alone; `most`: of how many test rows it answers the first; `setting`: in words, of methods
    that have several, of which the one of least error on the test rows is kept: no private choice, so no guarantee.
    """

    name: str
    mechanism: str
    make: Callable[..., Any]
    calibration: str = "tight"
    pure: bool = False
    relations: tuple[str, ...] = RELATIONS
    variant: str = ""
    tuned: bool = False
    most: int | None = None
    setting: str = ""

    def serves(self, neighbours: str, delta: float, tuned_delta: float) -> bool:
        """Return whether its theorem holds under this relation, at this delta, and it is run there."""
        proved = neighbours in self.relations and (delta > 0 or self.pure)
        return proved and (not self.tuned or delta == tuned_delta)

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns that tell its rows from others'."""
        names = {"mechanism": self.mechanism, "calibration": self.calibration, "variant": self.variant}
        return {**names, "method": self.name, "setting": self.setting}


class Fit(NamedTuple):
    """The error of a fit and its guarantee; NaN and nothing where a solver gave up."""

    error: float
    guarantee: str


def tuned_for_free(settings: Any, n: int) -> Iterable[Method]:
    """Give noisy gradient descent at its defaults and at every clip and step size of the settings."""
    ways = {"defaults": {}} | {
        f"clip {clip:g}, rate {rate:g}/n": {"steps": settings.steps, "gradient_clip": clip, "step_size": rate / n}
        for clip, rate in itertools.product(settings.clips, settings.rates)
    }
    for setting, given in ways.items():
        make = functools.partial(NoisyGradientDescent, clip=True, **given)
        yield Method("gradient_free", "gradient", make, variant="tuned-on-test-rows", tuned=True, setting=setting)


def measure(cell: Cell, rows: Rows, labels: tuple[int, ...], methods: Callable[[int], Iterable[Method]]) -> None:
    """Measure the error of `methods(n)` under one relation, on every split, at every epsilon and delta."""
    settings, found = cell.settings, {}
    for repeat, split in enumerate(splits(cell)):
        for epsilon, delta in itertools.product(settings.epsilons, settings.deltas):
            for method in methods(len(split.y)):
                if method.serves(cell.neighbours, delta, settings.tuned_delta):
                    names = (method.name, method.setting, cell.neighbours, epsilon, delta, repeat)
                    rng = cell.rng(cell.point["dataset"], *names)
                    public = {"epsilon": epsilon, "delta": delta, "neighbours": cell.neighbours, "classes": labels}
                    columns = {"epsilon": epsilon, "delta": delta, **method.columns}
                    fit = _fitted(method.make(**public, random_state=rng), split, method.most)
                    found.setdefault(tuple(columns.items()), []).append(fit)
    for columns, fits in _best(found).items():
        values, free = [fit.error for fit in fits], dict(columns)["setting"] != ""
        guarantee = "none" if free else next((fit.guarantee for fit in fits if fit.guarantee), "none")
        rows.add("error", values, ok=np.isfinite(values), guarantee=guarantee, **dict(columns))


def _fitted(model: Any, split: Split, most: int | None) -> Fit:
    """Fit a model and measure it on the first `most` test rows; where noise drowns the data, errors show it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VacuousWarning)
        try:
            model.fit(split.X, split.y)
        except SolverError:
            return Fit(math.nan, "")
        return Fit(split.error(model.predict(split.Q[:most])), model.privacy_.guarantee)


def _best(found: Mapping[tuple, Sequence[Fit]]) -> dict[tuple, Sequence[Fit]]:
    """Leave of the settings of one method and budget the one of least mean error on the test rows."""
    best: dict[tuple, tuple] = {}
    for columns, fits in found.items():
        key = tuple(item for item in columns if item[0] != "setting")
        if key not in best or _mean(fits) < _mean(found[best[key]]):
            best[key] = columns
    return {columns: found[columns] for columns in best.values()}


def _mean(fits: Sequence[Fit]) -> float:
    return float(np.mean([fit.error for fit in fits]))


def add_references(rows: Rows, name: str, plain: Sequence[float], most: Sequence[float]) -> None:
    """Add the errors of a fit without privacy, by its name, and of the most frequent training label; one a split."""
    rows = rows.at(method="nonprivate", setting="", epsilon=np.inf, delta=0.0)
    rows.add("error", plain, ok=np.isfinite(plain), variant=name)
    rows.add("error", most, variant="majority")


def majority(split: Split) -> float:
    """Return the error of the most frequent training label."""
    labels, counts = np.unique(split.y, return_counts=True)
    return split.error(np.full(len(split.target), labels[counts.argmax()]))
