"""The experiments, looked up by name: each turns one cell and its data into rows."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import threadpoolctl

from dperm import mechanisms

if TYPE_CHECKING:
    import pandas as pd


class Experiment(NamedTuple):
    """Two functions of a module, and what they read of a configuration.

    Parameters
    ----------
    module : str
    run : str
        Its function of a cell.
    baseline : str
        Its function of a baseline.
    axes : tuple of str
        Of the grid: all of them needed, no other used.
    settings : tuple of str
        Under `settings` and `common`: all of them needed, no other used.
    """

    module: str
    run: str
    baseline: str
    axes: tuple[str, ...]
    settings: tuple[str, ...]


# By the name in configurations and rows.
REGISTRY = {
    "kifer2012-output": Experiment(
        "dperm.experiments.kifer2012",
        "output",
        "output_baseline",
        axes=("dataset", "epsilon"),
        settings=(
            "repeats", "tuning_repeats", "deltas", "ridge_multiples", "ridge", "public_share", "test_share",
            "huber_knee",
        ),
    ),
}  # fmt: skip


def modules(experiment: str, mechanism: str | None = None) -> tuple[str, ...]:
    """Return the modules that a cell starts from: what its code digest is taken of."""
    named = () if mechanism is None else (mechanisms.REGISTRY[mechanism].module,)
    return ("dperm.experiments", REGISTRY[experiment].module, *named)


def run(cell: Mapping[str, Any], *, data: str, baseline: str) -> "pd.DataFrame":
    """Return the rows of one cell.

    Parameters
    ----------
    cell : mapping
        As `dperm.plan` made it.
    data : path
        The prepared data set.
    baseline : path
        The rows of the non-private fit on the same data.
    """
    experiment = REGISTRY[cell["experiment"]]
    # One BLAS thread: the same bytes whatever the number of cores.
    with threadpoolctl.threadpool_limits(1):
        return getattr(importlib.import_module(experiment.module), experiment.run)(cell, data=data, baseline=baseline)


def run_baseline(cell: Mapping[str, Any], *, data: str) -> "pd.DataFrame":
    """Return the rows of the non-private fit that a cell is measured against."""
    experiment = REGISTRY[cell["experiment"]]
    with threadpoolctl.threadpool_limits(1):
        return getattr(importlib.import_module(experiment.module), experiment.baseline)(cell, data=data)
