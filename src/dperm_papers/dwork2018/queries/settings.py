"""What dwork2018-queries reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("dataset",),
    settings=(
        "repeats", "records", "queries", "attacked_queries", "labelled", "contested", "epsilon", "delta", "each",
        "alpha", "test_share", "public_share", "levels",
    ),
    fixed=fixed("soft_majority", "tight", "replace"),
)  # fmt: skip
