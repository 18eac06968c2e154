"""What kifer2012-theorem6 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design",),
    settings=(
        "repeats", "epsilon", "features", "supports", "sizes", "gammas", "wide_features", "wide_supports",
        "wide_sizes",
    ),
    releases=False,
    fixed=fixed("exp_mech"),
)  # fmt: skip
