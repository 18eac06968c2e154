"""What kifer2012-bound reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    epsilon_range: list[float] = numbers("ends of an axis of epsilon", least=2, most=2, above=0, high=100)
    delta_range: list[float] = numbers("ends of an axis of delta", least=2, most=2, low=1e-300, below=1)
    points: int = number("points of an axis", low=2, high=1000)
    ridge_multiples: list[float] = numbers(
        "Delta in units of lambda/epsilon; Algorithm 1 of kifer2012 needs 2 or more", low=2, high=1_000_000
    )
    searched_multiples: list[float] = numbers(
        "ridge multiples at which the worst pair on the line is searched", low=2, high=1_000_000
    )


EXPERIMENT = Experiment(
    axes=("design",),
    settings=Settings,
    designs=("q1",),
    releases=False,
    fixed=fixed("objective", "tight", "add_remove"),
)
