"""What dwork2018-constants reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    alphas: list[float] = numbers("errors asked for", above=0, below=1)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    dimension: int = number("d of the points, and of Theorem 4.3", low=2, high=10_000_000)
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data",),
    releases=False,
    fixed=fixed("stable_erm", "paper", "replace"),
)
