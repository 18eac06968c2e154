"""The experiments, looked up by name: each turns one cell and its data into rows."""

import importlib
import types
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
    releases : bool
        False where rows are about formulas and exact laws: their budgets are none that anybody spent, and the privacy
        ledger does not list them.
    fixed : mapping of str to str
        From `mechanism`, `calibration`, `neighbours` to the one value that an entry of `mechanisms` may have: what the
        code does not read, so that no other would be run. Its rows say what was run themselves.
    """

    module: str
    axes: tuple[str, ...]
    settings: tuple[str, ...]
    releases: bool = True
    fixed: Mapping[str, str] = types.MappingProxyType({})


def _fixed(mechanism: str, calibration: str | None = None, neighbours: str | None = None) -> dict[str, str]:
    entry = {"mechanism": mechanism, "calibration": calibration, "neighbours": neighbours}
    return {key: value for key, value in entry.items() if value is not None}


# By the name in configurations and rows.
REGISTRY = {
    "kifer2012-table1": Experiment(
        "dperm.experiments.kifer2012.table1",
        axes=("p",),
        settings=("repeats", "designs", "epsilon", "delta", "sizes", "gammas"),
        fixed=_fixed("objective"),
    ),
    "kifer2012-output": Experiment(
        "dperm.experiments.kifer2012.output",
        axes=("dataset", "epsilon"),
        settings=(
            "repeats", "tuning_repeats", "deltas", "ridge_multiples", "gradient_steps", "clips", "momentum", "ridge",
            "public_share", "test_share", "huber_knee",
        ),
    ),
    "kifer2012-lasso": Experiment(
        "dperm.experiments.kifer2012.lasso",
        axes=("dataset",),
        settings=("repeats", "epsilons", "deltas", "l1_shares", "box", "ridge", "public_share", "test_share"),
        fixed=_fixed("objective"),
    ),
    "kifer2012-theorem2": Experiment(
        "dperm.experiments.kifer2012.theorem2",
        axes=("design",),
        settings=("epsilons", "deltas", "curvature_epsilons", "points", "ridge_multiples"),
        releases=False,
        fixed=_fixed("objective", "paper", "add_remove"),
    ),
    "kifer2012-bound": Experiment(
        "dperm.experiments.kifer2012.bound",
        axes=("design",),
        settings=(
            "epsilon", "delta", "epsilon_range", "delta_range", "points", "ridge_multiples", "searched_multiples",
        ),
        releases=False,
        fixed=_fixed("objective", "tight", "add_remove"),
    ),
    "kifer2012-example1": Experiment(
        "dperm.experiments.kifer2012.example1",
        axes=("design",),
        settings=("epsilon", "delta", "huber_knee", "indices", "repeats"),
        releases=False,
        fixed=_fixed("objective", "paper", "add_remove"),
    ),
    "kifer2012-theorem6": Experiment(
        "dperm.experiments.kifer2012.theorem6",
        axes=("design",),
        settings=(
            "repeats", "epsilon", "features", "supports", "sizes", "gammas", "wide_features", "wide_supports",
            "wide_sizes",
        ),
        releases=False,
        fixed=_fixed("exp_mech"),
    ),
    "kifer2012-theorem8": Experiment(
        "dperm.experiments.kifer2012.theorem8",
        axes=("design",),
        settings=(
            "repeats", "epsilon", "features", "supports", "sizes", "blocks", "wide_features", "hadamard_features",
        ),
        releases=False,
        fixed=_fixed("samp_agg"),
    ),
    "kifer2012-theorem4": Experiment(
        "dperm.experiments.kifer2012.theorem4",
        axes=("design",),
        settings=(
            "repeats", "epsilon", "delta", "features", "run_features", "wide_features", "sizes", "gammas", "looseness",
            "gram_multiples",
        ),
        releases=False,
        fixed=_fixed("objective"),
    ),
    "kifer2012-theorem29": Experiment(
        "dperm.experiments.kifer2012.theorem29",
        axes=("design",),
        settings=("epsilon", "delta", "sizes", "copied_sizes", "features"),
        releases=False,
        fixed=_fixed("objective"),
    ),
    "kifer2012-table2": Experiment(
        "dperm.experiments.kifer2012.table2",
        axes=("part",),
        settings=("repeats", "draws", "epsilon", "delta", "problems"),
        fixed=_fixed("sparse"),
    ),
    "kifer2012-theorem9": Experiment(
        "dperm.experiments.kifer2012.theorem9",
        axes=("p",),
        settings=(
            "repeats", "draws", "data_sets", "designs", "epsilon", "delta", "sizes", "gammas", "supports",
            "single_stage",
        ),
        fixed=_fixed("sparse"),
    ),
    "kifer2012-bounds": Experiment(
        "dperm.experiments.kifer2012.bounds",
        axes=("p",),
        settings=(
            "repeats", "instances", "draws", "epsilon", "delta", "sizes", "records", "ridge_multiples", "gammas",
            "variances", "growth",
        ),
        fixed=_fixed("objective"),
    ),
    "li2021-simulations": Experiment(
        "dperm.experiments.li2021.simulations",
        axes=("design", "epsilon"),
        settings=(
            "repeats", "deltas", "strengths", "steps", "budget_share", "other_shares", "test_rows", "tolerance",
        ),
        fixed=_fixed("napp"),
    ),
    "li2021-moor": Experiment(
        "dperm.experiments.li2021.moor",
        axes=("design",),
        settings=(
            "repeats", "side_repeats", "epsilons", "strengths", "steps", "budget_share", "delta", "tolerance",
        ),
        releases=False,
        fixed=_fixed("napp", "paper"),
    ),
    "li2021-recycling": Experiment(
        "dperm.experiments.li2021.recycling",
        axes=("design", "epsilon"),
        settings=(
            "repeats", "side_repeats", "rounds", "deltas", "strengths", "steps", "budget_share", "tolerance",
            "test_rows",
        ),
        fixed=_fixed("napp"),
    ),
    "li2021-augmentation": Experiment(
        "dperm.experiments.li2021.augmentation",
        axes=("design",),
        settings=(
            "repeats", "wide_repeats", "settled_repeats", "draws", "rows_added", "augmented_rows", "iterations",
            "settled_iterations", "exact_iterations", "strength", "floor", "kappa", "bridge_gamma", "reach", "points",
            "epsilon", "delta", "budget_share", "test_rows",
        ),
        releases=False,
        fixed=_fixed("napp", "paper", "add_remove"),
    ),
    "li2021-bounds": Experiment(
        "dperm.experiments.li2021.bounds",
        axes=("part",),
        settings=(
            "designs", "repeats", "data_sets", "draws", "sample_sets", "excesses", "sizes", "features", "epsilons",
            "risk_epsilons", "rate_epsilons", "lambdas", "deltas", "gammas", "refits", "instances",
        ),
        releases=False,
        fixed=_fixed("napp", "paper", "add_remove"),
    ),
    "li2021-adult": Experiment(
        "dperm.experiments.li2021.adult",
        axes=("dataset",),
        settings=("repeats", "epsilons", "deltas", "lambdas", "budget_share", "tolerance", "test_share"),
        fixed=_fixed("napp"),
    ),
    "jain2013-stability": Experiment(
        "dperm.experiments.jain2013.stability",
        axes=("part",),
        settings=("repeats", "side_repeats", "sizes", "curvatures"),
        releases=False,
        fixed=_fixed("pinp", "paper", "replace"),
    ),
    "jain2013-thm3": Experiment(
        "dperm.experiments.jain2013.thm3",
        axes=("part",),
        settings=("repeats", "queries", "totals", "radii", "epsilon", "delta", "gammas"),
        releases=False,
        fixed=_fixed("pinp", "paper", "replace"),
    ),
    "jain2013-queries": Experiment(
        "dperm.experiments.jain2013.queries",
        axes=("part",),
        settings=("repeats", "sizes", "epsilon", "delta", "gammas"),
        releases=False,
        fixed=_fixed("pinp", "tight", "replace"),
    ),
    "jain2013-thm5": Experiment(
        "dperm.experiments.jain2013.thm5",
        axes=("part",),
        settings=(
            "repeats", "side_repeats", "designs", "epsilon", "delta", "gammas", "totals", "middle_total", "queries",
            "sizes", "curvatures", "features", "dimension", "exchange_totals", "public_points", "test_rows",
            "pool_rows",
        ),
        releases=False,
        fixed=_fixed("tddl", "paper", "replace"),
    ),
    "jain2013-thm12": Experiment(
        "dperm.experiments.jain2013.thm12",
        axes=("part",),
        settings=("repeats", "designs", "queries", "features", "gammas"),
        releases=False,
        fixed=_fixed("tddl", "paper", "replace"),
    ),
    "jain2013-thm8": Experiment(
        "dperm.experiments.jain2013.thm8",
        axes=("part",),
        settings=(
            "repeats", "side_repeats", "epsilon", "delta", "gammas", "totals", "features", "dimension", "wide_totals",
            "wide_features", "degrees", "net_totals", "concentrations",
        ),
        releases=False,
        fixed=_fixed("tdil", "paper", "replace"),
    ),
    "jain2013-kdd": Experiment(
        "dperm.experiments.jain2013.kdd",
        axes=("dataset",),
        settings=(
            "repeats", "draws", "records", "pool_rows", "public_points", "test_rows", "tuning_rows", "columns",
            "epsilons", "totals", "features", "side_repeats", "delta", "huber_knee", "tolerance",
        ),
        fixed=_fixed("tddl", "paper", "replace"),
    ),
    "jain2013-covertype": Experiment(
        "dperm.experiments.jain2013.covertype",
        axes=("dataset",),
        settings=(
            "row_splits", "repeats", "draws", "epsilons", "queries", "public_points", "query_epsilons", "large_queries",
            "large_splits", "path_rows", "libsvm_rows", "libsvm_splits", "scaling_splits", "delta",
        ),
        fixed=_fixed("tddl", "paper", "replace"),
    ),
    "jain2013-url": Experiment(
        "dperm.experiments.jain2013.url",
        axes=("dataset",),
        settings=(
            "row_splits", "repeats", "draws", "epsilons", "totals", "queries", "public_points", "query_epsilons",
            "large_queries", "large_splits", "path_rows", "libsvm_rows", "libsvm_splits", "delta",
        ),
        fixed=_fixed("tddl", "paper", "replace"),
    ),
    "jain2013-constants": Experiment(
        "dperm.experiments.jain2013.constants",
        axes=("part",),
        settings=(
            "epsilon", "delta", "gammas", "totals", "features", "queries", "epsilons", "query_epsilons",
            "public_points", "middle_total", "sizes",
        ),
        releases=False,
        fixed=_fixed("tddl", "paper", "replace"),
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
