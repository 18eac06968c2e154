"""What dwork2018-dimension reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("repeats", "data_sets", "features", "sizes", "epsilons", "alphas", "delta"),
    releases=False,
    fixed=fixed("stable_erm", "paper", "replace"),
)  # fmt: skip
