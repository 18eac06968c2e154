"""What kifer2012-example1 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design",),
    settings=("epsilon", "delta", "huber_knee", "indices", "repeats"),
    releases=False,
    fixed=fixed("objective", "paper", "add_remove"),
)  # fmt: skip
