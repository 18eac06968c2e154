"""What kifer2012-theorem2 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design",),
    settings=("epsilons", "deltas", "curvature_epsilons", "points", "ridge_multiples"),
    releases=False,
    fixed=fixed("objective", "paper", "add_remove"),
)  # fmt: skip
