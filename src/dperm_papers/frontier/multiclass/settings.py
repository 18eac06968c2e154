"""What frontier-multiclass reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("random splits of a data set", low=1, high=1000)
    small_repeats: int = number("random splits of a small data set", low=1, high=1000)
    small_rows: int = number("training rows of the smallest data set that is not small", low=1, high=1_000_000_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    deltas: list[float] = numbers("failure probabilities; 0 is pure privacy", low=0, below=1)
    tuned_delta: float = number("failure probability of what is tuned for free", above=0, below=1)
    labels: int = number("test rows that SoftMajority labels for one budget", low=1, high=10_000)
    committee_rows: int = number("most training rows of a set on which SoftMajority is run", low=1, high=10_000_000)
    steps: int = number("passes over the data of noisy gradient descent that is tuned for free", low=1, high=100_000)
    clips: list[float] = numbers("largest norms of one record's gradient that it tries", above=0, high=1)
    rates: list[float] = numbers("step sizes that it tries, times the number of records", above=0, high=1e6)
    ridge: float = number("curvature of the risk's own regularizer, of a sum and not a mean", above=0, high=1000)
    test_share: float = number("share of all rows that is set aside for testing", low=0.01, high=0.5)
    test_rows: int = number("most records of a test set", low=1, high=10_000_000)
    train_rows: int = number("most records to train on", low=40, high=10_000_000)


EXPERIMENT = Experiment(axes=("dataset",), settings=Settings, fixed=fixed("gradient", "tight"))
