"""What dwork2018-generalization reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    side_repeats: int = number("pairs of samples of the tail, at the smallest n", low=1, high=100_000)
    batch: int = number("samples whose mean is one row; a divisor of repeats", low=1, high=1000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    deltas: list[float] = numbers("failure probabilities; 0 is pure privacy", low=0, below=1)
    alphas: list[float] = numbers("errors asked for", above=0, below=1)
    shards: list[int] = numbers("r, numbers of shards", low=1, high=1_000_000)
    changes: int = number("most records in which two data sets differ", low=1, high=100)
    instances: int = number("random laws and losses", low=1, high=100_000)
    moments: list[int] = numbers("k of the k-th moments", low=1, high=3)
    enumerated_sizes: list[int] = numbers("n at which all labels are enumerated", low=1, high=12)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    tail_gammas: list[float] = numbers(
        "failure probabilities of a bound at which its violations are counted", above=0, below=1
    )
    tail_epsilons: list[float] = numbers("epsilons at which samples are drawn", above=0, high=100)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data", "coin", "member", "thr", "flip"),
    releases=False,
    fixed=fixed("exppw", "tight", "replace"),
)
