"""What li2021-augmentation reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design",),
    settings=(
        "repeats", "wide_repeats", "settled_repeats", "draws", "rows_added", "augmented_rows", "iterations",
        "settled_iterations", "exact_iterations", "strength", "floor", "kappa", "bridge_gamma", "reach", "points",
        "epsilon", "delta", "budget_share", "test_rows",
    ),
    releases=False,
    fixed=fixed("napp", "paper", "add_remove"),
)  # fmt: skip
