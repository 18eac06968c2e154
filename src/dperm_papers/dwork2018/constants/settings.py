"""What dwork2018-constants reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("repeats", "epsilons", "sizes", "alphas", "gammas", "delta", "dimension", "features"),
    releases=False,
    fixed=fixed("stable_erm", "paper", "replace"),
)  # fmt: skip
