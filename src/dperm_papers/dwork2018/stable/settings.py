"""What dwork2018-stable reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, numbers


@dataclass(frozen=True)
class Settings:
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    walk_sizes: list[int] = numbers("n at which the law of a walk is stepped forward", low=64, high=1_000_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    curvatures: list[float] = numbers(
        "lambda, the weight of norm(w)^2/2 beside a mean of losses", above=0, high=1_000_000
    )
    alphas: list[float] = numbers("errors asked for", above=0, below=1)
    rate_epsilons: list[float] = numbers("privacy budgets along which a growth is fitted", least=2, above=0, high=100)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data", "lin", "sq", "hard", "abs", "signs"),
    releases=False,
    fixed=fixed("stable_erm", "paper", "replace"),
)
