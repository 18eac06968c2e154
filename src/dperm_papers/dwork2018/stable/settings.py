"""What dwork2018-stable reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("sizes", "walk_sizes", "epsilons", "curvatures", "alphas", "rate_epsilons"),
    releases=False,
    fixed=fixed("stable_erm", "paper", "replace"),
)  # fmt: skip
