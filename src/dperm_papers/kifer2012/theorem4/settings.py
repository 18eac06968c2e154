"""What kifer2012-theorem4 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design",),
    settings=(
        "repeats", "epsilon", "delta", "features", "run_features", "wide_features", "sizes", "gammas", "looseness",
        "gram_multiples",
    ),
    releases=False,
    fixed=fixed("objective"),
)  # fmt: skip
