"""What jain2013-kdd reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    draws: int = number("releases of the noise on each split", low=1, high=100_000)
    records: int = number("n of a design whose records are really drawn", low=16, high=1_000_000)
    pool_rows: int = number("records set aside for public points", low=1, high=10_000_000)
    public_points: int = number("T, public points drawn from the pool", low=1, high=20_000)
    test_rows: int = number("records of a test set", low=1, high=10_000_000)
    tuning_rows: int = number("public records that n lambda is chosen on", low=10, high=10_000_000)
    columns: int = number("number of features of a data set that is a formula", low=360, high=2_000_000_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    totals: list[float] = numbers(
        "n lambda, the weight of norm(w)^2/2 beside a sum of losses", low=0.001, high=1_000_000_000
    )
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    side_repeats: int = number("repeats of the sweep over the dimension", low=1, high=100_000)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    huber_knee: float = number("knee of the Huber loss, in units of the scaled target", above=0, high=1000)
    tolerance: float = number("certified gap relative to the objective", low=1e-12, high=0.1)


EXPERIMENT = Experiment(
    axes=("dataset",),
    settings=Settings,
    fixed=fixed("tddl", "paper", "replace"),
)
