"""What dwork2018-agnostic reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    alphas: list[float] = numbers("excess errors asked for", above=0, high=0.25)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=1)
    dimensions: list[int] = numbers("d, numbers of points", low=2, high=1_000_000)
    alpha: float = number("excess error where it is not swept", above=0, high=0.25)
    epsilon: float = number("epsilon where it is not swept", above=0, high=1)
    dimension: int = number("d where it is not swept", low=2, high=1_000_000)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("noisy-points",),
    releases=False,
    fixed=fixed("averaged", "paper", "replace"),
)
