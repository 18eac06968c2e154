"""What dwork2018-softmajority reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=(
        "repeats", "alphas", "epsilons", "features", "gammas", "dimension", "wide_alphas", "wide_epsilons",
        "wide_gammas", "wide_features",
    ),
    releases=False,
    fixed=fixed("soft_majority", "tight", "replace"),
)  # fmt: skip
