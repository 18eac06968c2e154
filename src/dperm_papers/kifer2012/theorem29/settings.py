"""What kifer2012-theorem29 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    copied_sizes: list[int] = numbers("n of p problems together; a multiple of each p", low=1, high=1_000_000_000)
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)


EXPERIMENT = Experiment(
    axes=("design",),
    settings=Settings,
    designs=("coin", "copies"),
    releases=False,
    fixed=fixed("objective"),
)
