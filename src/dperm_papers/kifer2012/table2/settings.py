"""What kifer2012-table2 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("part",),
    settings=("repeats", "draws", "epsilon", "delta", "problems"),
    fixed=fixed("sparse"),
)  # fmt: skip
