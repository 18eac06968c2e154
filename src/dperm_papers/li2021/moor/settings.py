"""What li2021-moor reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design",),
    settings=(
        "repeats", "side_repeats", "epsilons", "strengths", "steps", "budget_share", "delta", "tolerance",
    ),
    releases=False,
    fixed=fixed("napp", "paper"),
)  # fmt: skip
