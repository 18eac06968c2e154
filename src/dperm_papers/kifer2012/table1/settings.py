"""What kifer2012-table1 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("p",),
    settings=("repeats", "designs", "epsilon", "delta", "sizes", "gammas"),
    fixed=fixed("objective"),
)  # fmt: skip
