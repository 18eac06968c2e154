"""What kifer2012-output reads of a configuration."""

from dperm_pipeline.settings import Experiment

EXPERIMENT = Experiment(axes=("dataset", "epsilon"),
    settings=(
        "repeats", "tuning_repeats", "deltas", "ridge_multiples", "gradient_steps", "clips", "momentum", "ridge",
        "public_share", "test_share", "huber_knee",
    ),
)  # fmt: skip
