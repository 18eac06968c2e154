"""What kifer2012-output reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    small_repeats: int = number("private runs at each point of a small data set", low=1, high=100_000)
    small_rows: int = number("private rows of the smallest data set that is not small", low=1, high=1_000_000_000)
    tuning_repeats: int = number("runs on public rows for each candidate", low=1, high=1000)
    deltas: list[float] = numbers("failure probabilities; 0 is pure privacy", low=0, below=1)
    ridge_multiples: list[float] = numbers(
        "Delta in units of lambda/epsilon; Algorithm 1 of kifer2012 needs 2 or more", low=2, high=1_000_000
    )
    gradient_steps: list[int] = numbers("passes over the data of noisy gradient descent", low=1, high=100_000)
    clips: list[float] = numbers(
        "largest norms of one record's gradient, in units of zeta; 1 clips nothing", above=0, high=1
    )
    momentum: float = number("momentum of noisy gradient descent; 0 is none", low=0, below=1)
    ridge: float = number("curvature of the risk's own regularizer, of a sum and not a mean", above=0, high=1000)
    public_share: float = number("share of the training rows that is set aside as public", low=0.01, high=0.5)
    test_share: float = number("share of all rows that is set aside for testing", low=0.01, high=0.5)
    huber_knee: float = number("knee of the Huber loss, in units of the scaled target", above=0, high=1000)


EXPERIMENT = Experiment(axes=("dataset", "epsilon"), settings=Settings)
