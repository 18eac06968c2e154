"""What jain2013-constants reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=(
        "epsilon", "delta", "gammas", "totals", "features", "queries", "epsilons", "query_epsilons",
        "public_points", "middle_total", "sizes",
    ),
    releases=False,
    fixed=fixed("tddl", "paper", "replace"),
)  # fmt: skip
