"""What jain2013-stability reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("random pairs of neighbours at each loss, kernel, n and lambda", low=1, high=100_000)
    side_repeats: int = number("pairs that LibSVM, with its bias, is fitted on as well", low=1, high=100_000)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    curvatures: list[float] = numbers(
        "lambda, the weight of norm(w)^2/2 beside a mean of losses", above=0, high=1_000_000
    )


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("sphere-3",),
    releases=False,
    fixed=fixed("pinp", "paper", "replace"),
)
