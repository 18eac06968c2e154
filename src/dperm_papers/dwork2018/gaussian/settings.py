"""What dwork2018-gaussian reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    deltas: list[float] = numbers("failure probabilities of approximate privacy", above=0, below=1)
    rates: list[float] = numbers("gamma, by how much one record moves a prediction", above=0, high=1000)
    smoothnesses: list[float] = numbers("sigma of the smooth losses", above=0, high=1000)
    counts: list[int] = numbers("m, numbers of answers under one budget", low=1, high=10_000_000)
    epsilon: float = number("epsilon of all answers together", above=0, high=100)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data",),
    releases=False,
    fixed=fixed("stable_gaussian", "tight", "replace"),
)
