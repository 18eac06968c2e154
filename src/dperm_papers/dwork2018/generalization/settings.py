"""What dwork2018-generalization reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=(
        "repeats", "side_repeats", "batch", "epsilons", "deltas", "alphas", "shards", "changes", "instances",
        "moments", "enumerated_sizes", "gammas", "tail_gammas", "tail_epsilons", "sizes",
    ),
    releases=False,
    fixed=fixed("exppw", "tight", "replace"),
)  # fmt: skip
