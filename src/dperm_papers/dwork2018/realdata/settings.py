"""What dwork2018-realdata reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, by_dataset, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    side_repeats: int = number("repeats of what stands beside a figure", low=1, high=100_000)
    draws: int = number("private models on each split", low=1, high=100_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    queries: list[int] = numbers("T, numbers of queries or of public points", low=1, high=1_000_000_000)
    fine_queries: list[int] = numbers("numbers of queries between those of all methods", low=1, high=1_000_000_000)
    alpha: float = number("error asked for: it decides the number of shards, and T of ExpPW", above=0, below=1)
    radius: float = number("R, radius of the ball that is searched", above=0, high=1_000_000)
    radii: list[float] = numbers("C = norm(w*), of the minimiser", above=0, high=1_000_000)
    ridge: float = number("curvature of the risk's own regularizer, of a sum and not a mean", above=0, high=1000)
    test_share: float = number("share of all rows that is set aside for testing", low=0.01, high=0.5)
    test_rows: int = number("records of a test set", low=1, high=10_000_000)
    train_rows: int = number("most records to train on", low=40, high=10_000_000)
    walk_features: dict[str, str] = by_dataset("the feature that ExpPW walks along, named without a look at the data")


EXPERIMENT = Experiment(
    axes=("dataset",),
    settings=Settings,
    fixed=fixed("soft_majority", "tight", "replace"),
)
