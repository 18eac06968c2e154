"""Experiments of jain2013, by name."""

from dperm.catalogue import Catalogue
from dperm.experiments.experiment import Experiment, fixed

EXPERIMENTS: Catalogue[str, Experiment] = {
    "jain2013-stability": Experiment(
        "dperm.experiments.jain2013.stability",
        axes=("part",),
        settings=("repeats", "side_repeats", "sizes", "curvatures"),
        releases=False,
        fixed=fixed("pinp", "paper", "replace"),
    ),
    "jain2013-thm3": Experiment(
        "dperm.experiments.jain2013.thm3",
        axes=("part",),
        settings=("repeats", "queries", "totals", "radii", "epsilon", "delta", "gammas"),
        releases=False,
        fixed=fixed("pinp", "paper", "replace"),
    ),
    "jain2013-queries": Experiment(
        "dperm.experiments.jain2013.queries",
        axes=("part",),
        settings=("repeats", "sizes", "epsilon", "delta", "gammas"),
        releases=False,
        fixed=fixed("pinp", "tight", "replace"),
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
        fixed=fixed("tddl", "paper", "replace"),
    ),
    "jain2013-thm12": Experiment(
        "dperm.experiments.jain2013.thm12",
        axes=("part",),
        settings=("repeats", "designs", "queries", "features", "gammas"),
        releases=False,
        fixed=fixed("tddl", "paper", "replace"),
    ),
    "jain2013-thm8": Experiment(
        "dperm.experiments.jain2013.thm8",
        axes=("part",),
        settings=(
            "repeats", "side_repeats", "epsilon", "delta", "gammas", "totals", "features", "dimension", "wide_totals",
            "wide_features", "degrees", "net_totals", "concentrations",
        ),
        releases=False,
        fixed=fixed("tdil", "paper", "replace"),
    ),
    "jain2013-kdd": Experiment(
        "dperm.experiments.jain2013.kdd",
        axes=("dataset",),
        settings=(
            "repeats", "draws", "records", "pool_rows", "public_points", "test_rows", "tuning_rows", "columns",
            "epsilons", "totals", "features", "side_repeats", "delta", "huber_knee", "tolerance",
        ),
        fixed=fixed("tddl", "paper", "replace"),
    ),
    "jain2013-covertype": Experiment(
        "dperm.experiments.jain2013.covertype",
        axes=("dataset",),
        settings=(
            "row_splits", "repeats", "draws", "epsilons", "queries", "public_points", "query_epsilons", "large_queries",
            "large_splits", "path_rows", "libsvm_rows", "libsvm_splits", "scaling_splits", "delta",
        ),
        fixed=fixed("tddl", "paper", "replace"),
    ),
    "jain2013-url": Experiment(
        "dperm.experiments.jain2013.url",
        axes=("dataset",),
        settings=(
            "row_splits", "repeats", "draws", "epsilons", "totals", "queries", "public_points", "query_epsilons",
            "large_queries", "large_splits", "path_rows", "libsvm_rows", "libsvm_splits", "delta",
        ),
        fixed=fixed("tddl", "paper", "replace"),
    ),
    "jain2013-constants": Experiment(
        "dperm.experiments.jain2013.constants",
        axes=("part",),
        settings=(
            "epsilon", "delta", "gammas", "totals", "features", "queries", "epsilons", "query_epsilons",
            "public_points", "middle_total", "sizes",
        ),
        releases=False,
        fixed=fixed("tddl", "paper", "replace"),
    ),
}  # fmt: skip
