"""What dwork2018-free reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("sizes", "scaled_epsilons", "designs"),
    releases=False,
    fixed=fixed("stable_sgd", "paper", "replace"),
)  # fmt: skip
