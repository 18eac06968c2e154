"""What kifer2012-theorem8 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design",),
    settings=(
        "repeats", "epsilon", "features", "supports", "sizes", "blocks", "wide_features", "hadamard_features",
    ),
    releases=False,
    fixed=fixed("samp_agg"),
)  # fmt: skip
