"""What dwork2018-softmajority reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    alphas: list[float] = numbers("errors asked for", above=0, below=1)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    dimension: int = number("d where it is not swept", low=2, high=10_000_000)
    wide_alphas: list[float] = numbers("errors asked for where nothing is drawn", above=0, high=0.25)
    wide_epsilons: list[float] = numbers("epsilons where nothing is drawn", above=0, high=100)
    wide_gammas: list[float] = numbers("failure probabilities where nothing is drawn", above=0, below=1)
    wide_features: list[int] = numbers("p where a law is exact and nothing is enumerated", low=2, high=1_000_000_000)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data", "thr", "pts"),
    releases=False,
    fixed=fixed("soft_majority", "tight", "replace"),
)
