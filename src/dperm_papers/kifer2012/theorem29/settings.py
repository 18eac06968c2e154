"""What kifer2012-theorem29 reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design",),
    settings=("epsilon", "delta", "sizes", "copied_sizes", "features"),
    releases=False,
    fixed=fixed("objective"),
)  # fmt: skip
