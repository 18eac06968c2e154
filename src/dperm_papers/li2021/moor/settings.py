"""What li2021-moor reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    side_repeats: int = number("repeats of what stands beside a figure, and under side_zetas", low=1, high=100_000)
    side_zetas: list[str] = names("bounds on a record beside those of the range", "typical", "unit", least=0)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    strengths: list[float] = numbers(
        "ends of a geometric grid of Lambda, the largest first", least=2, most=2, above=0, high=1_000_000
    )
    steps: int = number("values of Lambda on a path", low=2, high=1000)
    budget_share: float = number("r, the part of epsilon that b spends", above=0, below=1)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    tolerance: float = number("certified gap relative to the objective", low=1e-12, high=0.1)


EXPERIMENT = Experiment(
    axes=("design",),
    settings=Settings,
    designs=("linear-200", "linear-500", "poisson-500", "poisson-1000", "logistic-500", "logistic-1000"),
    releases=False,
    fixed=fixed("napp", "paper"),
)
