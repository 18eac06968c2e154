"""What li2021-recycling reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design", "epsilon"),
    settings=(
        "repeats", "side_repeats", "rounds", "deltas", "strengths", "steps", "budget_share", "tolerance",
        "test_rows",
    ),
    fixed=fixed("napp"),
)  # fmt: skip
