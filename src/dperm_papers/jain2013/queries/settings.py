"""What jain2013-queries reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("repeats", "sizes", "epsilon", "delta", "gammas"),
    releases=False,
    fixed=fixed("pinp", "tight", "replace"),
)  # fmt: skip
