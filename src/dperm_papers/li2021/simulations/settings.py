"""What li2021-simulations reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    deltas: list[float] = numbers("failure probabilities; 0 is pure privacy", low=0, below=1)
    side_repeats: int = number("private runs at side_deltas and under side_zetas", low=1, high=100_000)
    side_deltas: list[float] = numbers("failure probabilities beside deltas", least=0, low=0, below=1)
    side_zetas: list[str] = names("bounds on a record beside those of the range", "typical", "unit", least=0)
    density_zetas: list[str] = names(
        "bounds under which pure noise has, besides, the density of Equations 4 and 9",
        "range",
        "typical",
        "unit",
        least=0,
    )
    strengths: list[float] = numbers(
        "ends of a geometric grid of Lambda, the largest first", least=2, most=2, above=0, high=1_000_000
    )
    steps: int = number("values of Lambda on a path", low=2, high=1000)
    budget_share: float = number("r, the part of epsilon that b spends", above=0, below=1)
    other_shares: list[float] = numbers("r beside budget_share", above=0, below=1)
    test_rows: int = number("records of a test set", low=1, high=10_000_000)
    tolerance: float = number("certified gap relative to the objective", low=1e-12, high=0.1)


EXPERIMENT = Experiment(
    axes=("design", "epsilon"),
    settings=Settings,
    designs=("linear-200", "linear-500", "poisson-500", "poisson-1000", "logistic-500", "logistic-1000"),
    fixed=fixed("napp"),
)
