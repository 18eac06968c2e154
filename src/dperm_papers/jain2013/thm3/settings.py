"""What jain2013-thm3 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("repeats", "queries", "totals", "radii", "epsilon", "delta", "gammas"),
    releases=False,
    fixed=fixed("pinp", "paper", "replace"),
)  # fmt: skip
