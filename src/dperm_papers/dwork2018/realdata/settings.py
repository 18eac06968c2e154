"""What dwork2018-realdata reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("dataset",),
    settings=(
        "repeats", "side_repeats", "draws", "epsilons", "epsilon", "delta", "queries", "fine_queries", "alpha",
        "radius", "radii", "ridge", "test_share", "test_rows", "train_rows", "walk_features",
    ),
    fixed=fixed("soft_majority", "tight", "replace"),
)  # fmt: skip
