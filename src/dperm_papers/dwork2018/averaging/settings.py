"""What dwork2018-averaging reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=(
        "repeats", "alphas", "epsilons", "gammas", "records", "shards", "rate_gammas", "rate_epsilons",
        "coverage_alphas", "coverage_epsilons",
    ),
    releases=False,
    fixed=fixed("averaged", "paper", "replace"),
)  # fmt: skip
