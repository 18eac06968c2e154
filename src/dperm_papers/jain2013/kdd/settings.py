"""What jain2013-kdd reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("dataset",),
    settings=(
        "repeats", "draws", "records", "pool_rows", "public_points", "test_rows", "tuning_rows", "columns",
        "epsilons", "totals", "features", "side_repeats", "delta", "huber_knee", "tolerance",
    ),
    fixed=fixed("tddl", "paper", "replace"),
)  # fmt: skip
