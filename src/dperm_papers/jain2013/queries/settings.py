"""What jain2013-queries reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("sphere-10",),
    releases=False,
    fixed=fixed("pinp", "tight", "replace"),
)
