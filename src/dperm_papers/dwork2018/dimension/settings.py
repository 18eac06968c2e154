"""What dwork2018-dimension reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("batches of data sets, each an estimate of n*", low=1, high=100_000)
    data_sets: int = number("data sets in each batch, at each n and mean", low=1, high=10_000)
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    alphas: list[float] = numbers("errors asked for", above=0, below=1)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("abs", "cube"),
    releases=False,
    fixed=fixed("stable_erm", "paper", "replace"),
)
