"""What dwork2018-beyond reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("alphas", "epsilons", "gammas", "alpha", "epsilon", "flips", "ends", "log_domains"),
    releases=False,
    fixed=fixed("exppw", "tight", "replace"),
)  # fmt: skip
