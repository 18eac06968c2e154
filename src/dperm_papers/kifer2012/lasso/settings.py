"""What kifer2012-lasso reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("dataset",),
    settings=("repeats", "epsilons", "deltas", "l1_shares", "box", "ridge", "public_share", "test_share"),
    fixed=fixed("objective"),
)  # fmt: skip
