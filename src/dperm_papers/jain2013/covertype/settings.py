"""What jain2013-covertype reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("dataset",),
    settings=(
        "row_splits", "repeats", "draws", "epsilons", "queries", "public_points", "query_epsilons", "large_queries",
        "large_splits", "path_rows", "libsvm_rows", "libsvm_splits", "scaling_splits", "delta",
    ),
    fixed=fixed("tddl", "paper", "replace"),
)  # fmt: skip
