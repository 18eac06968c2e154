"""What jain2013-thm12 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("repeats", "designs", "queries", "features", "gammas"),
    releases=False,
    fixed=fixed("tddl", "paper", "replace"),
)  # fmt: skip
