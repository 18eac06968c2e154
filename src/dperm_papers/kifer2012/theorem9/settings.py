"""What kifer2012-theorem9 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("p",),
    settings=(
        "repeats", "draws", "data_sets", "designs", "epsilon", "delta", "sizes", "gammas", "supports",
        "single_stage",
    ),
    fixed=fixed("sparse"),
)  # fmt: skip
