"""What li2021-recycling reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    side_repeats: int = number(
        "repeats of what stands beside a figure, at side_deltas and under side_zetas", low=1, high=100_000
    )
    side_deltas: list[float] = numbers("failure probabilities beside deltas", least=0, low=0, below=1)
    side_zetas: list[str] = names("bounds on a record beside those of the range", "typical", "unit", least=0)
    density_zetas: list[str] = names(
        "bounds under which pure noise has, besides, the density of Equations 4 and 9",
        "range",
        "typical",
        "unit",
        least=0,
    )
    rounds: int = number("re-runs of budget recycling", low=1, high=100)
    deltas: list[float] = numbers("failure probabilities; 0 is pure privacy", low=0, below=1)
    strengths: list[float] = numbers(
        "ends of a geometric grid of Lambda, the largest first", least=2, most=2, above=0, high=1_000_000
    )
    steps: int = number("values of Lambda on a path", low=2, high=1000)
    budget_share: float = number("r, the part of epsilon that b spends", above=0, below=1)
    tolerance: float = number("certified gap relative to the objective", low=1e-12, high=0.1)
    test_rows: int = number("records of a test set", low=1, high=10_000_000)


EXPERIMENT = Experiment(
    axes=("design", "epsilon"),
    settings=Settings,
    designs=("linear-200", "linear-500"),
    fixed=fixed("napp"),
)
