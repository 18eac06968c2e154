"""What li2021-bounds reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=(
        "designs", "repeats", "data_sets", "draws", "sample_sets", "excesses", "sizes", "features", "epsilons",
        "risk_epsilons", "rate_epsilons", "lambdas", "deltas", "gammas", "refits", "instances",
    ),
    releases=False,
    fixed=fixed("napp", "paper", "add_remove"),
)  # fmt: skip
