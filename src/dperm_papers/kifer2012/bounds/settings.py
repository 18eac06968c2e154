"""What kifer2012-bounds reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("p",),
    settings=(
        "repeats", "instances", "draws", "epsilon", "delta", "sizes", "records", "ridge_multiples", "gammas",
        "variances", "growth",
    ),
    fixed=fixed("objective"),
)  # fmt: skip
