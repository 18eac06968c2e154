"""What dwork2018-service reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("servers that are started at each point", low=1, high=100_000)
    queries: list[int] = numbers("m, answers that a budget is for", low=10, high=10_000, step=10)
    records: int = number("n, a multiple of the shards", low=16, high=1_000_000)
    shards: int = number("r", low=2, high=100_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    share: float = number("share of all answers that one analyst may have", above=0.5, below=1)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("flip",),
    fixed=fixed("soft_majority", "tight", "replace"),
)
