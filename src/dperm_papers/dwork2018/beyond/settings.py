"""What dwork2018-beyond reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    alphas: list[float] = numbers("errors asked for", above=0, below=1)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    alpha: float = number("error asked for along N and k", above=0, below=1)
    epsilon: float = number("privacy budget", above=0, high=100)
    flips: list[float] = numbers("shares of wrong labels", low=0, below=0.5)
    ends: list[int] = numbers("k, ends of a union of intervals", low=1, high=1000)
    log_domains: list[int] = numbers("log2 N, N the number of points of a domain", low=1, high=60)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("flip", "alternating", "two-points"),
    releases=False,
    fixed=fixed("exppw", "tight", "replace"),
)
