"""What kifer2012-example1 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    huber_knee: float = number("knee of the Huber loss, in units of the scaled target", above=0, high=1000)
    indices: list[int] = numbers("indices i in a sequence of mechanisms", low=1, high=1_000_000_000)
    repeats: int = number("private runs at each point", low=1, high=100_000)


EXPERIMENT = Experiment(
    axes=("design",),
    settings=Settings,
    designs=("rademacher", "q1"),
    releases=False,
    fixed=fixed("objective", "paper", "add_remove"),
)
