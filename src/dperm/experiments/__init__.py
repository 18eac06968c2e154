"""The experiments, looked up by name: each turns one cell and its data into rows."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import threadpoolctl

from dperm import mechanisms

if TYPE_CHECKING:
    import pandas as pd


class Experiment(NamedTuple):
    """A module, and what it reads of a configuration.

    Parameters
    ----------
    module : str
        Offers `run(cell)`, or where a grid names data sets `run(cell, data=, baseline=)` and `baseline(cell, data=)`.
    axes : tuple of str
        Of the grid: all of them needed, no other used.
    settings : tuple of str
        Under `settings` and `common`: all of them needed, no other used.
    """

    module: str
    axes: tuple[str, ...]
    settings: tuple[str, ...]


# By the name in configurations and rows.
REGISTRY = {
    "kifer2012-table1": Experiment(
        "dperm.experiments.kifer2012.table1",
        axes=("p",),
        settings=("repeats", "designs", "epsilon", "delta", "sizes", "gammas"),
    ),
    "kifer2012-output": Experiment(
        "dperm.experiments.kifer2012.output",
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
