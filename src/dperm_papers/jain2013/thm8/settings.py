"""What jain2013-thm8 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=(
        "repeats", "side_repeats", "epsilon", "delta", "gammas", "totals", "features", "dimension", "wide_totals",
        "wide_features", "degrees", "net_totals", "concentrations",
    ),
    releases=False,
    fixed=fixed("tdil", "paper", "replace"),
)  # fmt: skip
