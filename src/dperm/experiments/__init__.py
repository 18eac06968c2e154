"""The experiments, looked up by name: each turns one cell and its data into rows."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import threadpoolctl

from dperm import mechanisms
from dperm.experiments import dwork2018, jain2013, kifer2012, li2021

if TYPE_CHECKING:
    import pandas as pd

# By the name in configurations and rows.
REGISTRY = {
    **dwork2018.EXPERIMENTS,
    **jain2013.EXPERIMENTS,
    **kifer2012.EXPERIMENTS,
    **li2021.EXPERIMENTS,
}


def modules(experiment: str, mechanism: str | None = None) -> tuple[str, ...]:
    """Return the modules that a cell starts from: what its code digest is taken of."""
    named = () if mechanism is None else (mechanisms.REGISTRY[mechanism].module,)
    return ("dperm.experiments", REGISTRY[experiment].module, *named)


def run(cell: Mapping[str, Any], **files: str) -> "pd.DataFrame":
    """Return the rows of one cell.

    Parameters
    ----------
    cell : mapping
        As `dperm.plan` made it.
    **files : path
        Of an experiment on data sets: `data`, the prepared one, and `baseline`, the rows of the non-private fit on it.
        None where the cell makes its own data.
    """
    # One BLAS thread: the same bytes whatever the number of cores.
    with threadpoolctl.threadpool_limits(1):
        return importlib.import_module(REGISTRY[cell["experiment"]].module).run(cell, **files)


def run_baseline(cell: Mapping[str, Any], *, data: str) -> "pd.DataFrame":
    """Return the rows of the non-private fit that a cell is measured against."""
    with threadpoolctl.threadpool_limits(1):
        return importlib.import_module(REGISTRY[cell["experiment"]].module).baseline(cell, data=data)
