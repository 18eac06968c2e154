"""The experiments, looked up by name: each turns one cell and its data into rows."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import threadpoolctl

from dperm import mechanisms

if TYPE_CHECKING:
    import pandas as pd

# Experiment -> (module, function of a cell, function of its baseline).
REGISTRY = {
    "kifer2012-output": ("dperm.experiments.kifer2012", "output", "output_baseline"),
}


def modules(experiment: str, mechanism: str | None = None) -> tuple[str, ...]:
    """Return the modules that a cell starts from: what its code digest is taken of."""
    named = () if mechanism is None else (mechanisms.REGISTRY[mechanism],)
    return ("dperm.experiments", REGISTRY[experiment][0], *named)


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
    module, function, _ = REGISTRY[cell["experiment"]]
    # One BLAS thread: the same bytes whatever the number of cores.
    with threadpoolctl.threadpool_limits(1):
        return getattr(importlib.import_module(module), function)(cell, data=data, baseline=baseline)


def run_baseline(cell: Mapping[str, Any], *, data: str) -> "pd.DataFrame":
    """Return the rows of the non-private fit that a cell is measured against."""
    module, _, function = REGISTRY[cell["experiment"]]
    with threadpoolctl.threadpool_limits(1):
        return getattr(importlib.import_module(module), function)(cell, data=data)
