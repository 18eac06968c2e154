"""What dwork2018-averaging reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    alphas: list[float] = numbers("errors asked for", above=0, below=1)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    records: int = number("n, shared out among the shards", low=16, high=1_000_000)
    shards: list[int] = numbers("r, numbers of shards", low=1, high=1_000_000)
    rate_gammas: list[float] = numbers(
        "failure probabilities along which a growth is fitted", least=2, above=0, below=1
    )
    rate_epsilons: list[float] = numbers("privacy budgets along which a growth is fitted", least=2, above=0, high=100)
    coverage_alphas: list[float] = numbers("errors asked for at which violations are counted", above=0, below=1)
    coverage_epsilons: list[float] = numbers("epsilons at which violations are counted", above=0, high=100)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data", "thr", "flip", "uniform-label"),
    releases=False,
    fixed=fixed("averaged", "paper", "replace"),
)
