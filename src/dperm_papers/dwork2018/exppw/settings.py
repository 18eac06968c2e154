"""What dwork2018-exppw reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=(
        "repeats", "batch", "tail_repeats", "draws", "instances", "epsilons", "alphas", "agnostic_alphas", "ends",
        "records", "enumerated", "walk_bounds", "domains", "enumerated_epsilons", "size_epsilons", "size_shares",
        "flips", "gammas", "choice_alphas", "choice_epsilons",
    ),
    releases=False,
    fixed=fixed("exppw", "tight", "replace"),
)  # fmt: skip
