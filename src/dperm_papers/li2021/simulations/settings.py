"""What li2021-simulations reads of a configuration."""

from dperm_pipeline.settings import Experiment, fixed

EXPERIMENT = Experiment(axes=("design", "epsilon"),
    settings=(
        "repeats", "deltas", "strengths", "steps", "budget_share", "other_shares", "test_rows", "tolerance",
    ),
    fixed=fixed("napp"),
)  # fmt: skip
