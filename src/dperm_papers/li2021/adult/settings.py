"""What li2021-adult reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("dataset",),
    settings=("repeats", "epsilons", "deltas", "lambdas", "budget_share", "tolerance", "test_share"),
    fixed=fixed("napp"),
)  # fmt: skip
