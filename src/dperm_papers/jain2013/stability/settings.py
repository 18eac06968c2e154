"""What jain2013-stability reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("repeats", "side_repeats", "sizes", "curvatures"),
    releases=False,
    fixed=fixed("pinp", "paper", "replace"),
)  # fmt: skip
