"""What dwork2018-renyi reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    epsilons: list[float] = numbers("privacy budgets of one answer", above=0, high=100)
    orders: list[float] = numbers("orders a of the Renyi divergence", above=1, high=1_000_000)
    changes: list[int] = numbers("k, numbers of changed records", low=1, high=1000)
    counts: list[int] = numbers("m, numbers of answers under one budget", low=1, high=1_000_000)
    laws: int = number("random finite mechanisms", low=1, high=100_000)
    each: float = number("epsilon of each of m answers", above=0, high=100)
    delta: float = number("failure probability of all answers together", above=0, below=1)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data",),
    releases=False,
    fixed=fixed("soft_majority", "tight", "replace"),
)
