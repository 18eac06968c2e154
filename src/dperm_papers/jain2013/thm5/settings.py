"""What jain2013-thm5 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=(
        "repeats", "side_repeats", "designs", "epsilon", "delta", "gammas", "totals", "middle_total", "queries",
        "sizes", "curvatures", "features", "dimension", "exchange_totals", "public_points", "test_rows",
        "pool_rows",
    ),
    releases=False,
    fixed=fixed("tddl", "paper", "replace"),
)  # fmt: skip
