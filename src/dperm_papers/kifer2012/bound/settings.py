"""What kifer2012-bound reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design",),
    settings=(
        "epsilon", "delta", "epsilon_range", "delta_range", "points", "ridge_multiples", "searched_multiples",
    ),
    releases=False,
    fixed=fixed("objective", "tight", "add_remove"),
)  # fmt: skip
