"""What li2021-literal reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    side_repeats: int = number("private runs at each point of side_deltas", low=1, high=100_000)
    zetas: list[str] = names("bounds on a record", "range", "typical", "unit")
    strengths: list[float] = numbers(
        "ends of a geometric grid of Lambda, the largest first", least=2, most=2, above=0, high=1_000_000
    )
    steps: int = number("values of Lambda", low=2, high=1000)
    augmented_rows: int = number("n_e, noise rows appended to the data; even", low=2, high=100_000_000, step=2)
    iterations: int = number("T, refits of Algorithm 1 of li2021", low=2, high=100_000)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    side_deltas: list[float] = numbers("failure probabilities beside delta", above=0, below=1)
    budget_share: float = number("r, the part of epsilon that b spends", above=0, below=1)
    test_rows: int = number("records of a test set", low=1, high=10_000_000)


EXPERIMENT = Experiment(
    axes=("design", "epsilon"),
    settings=Settings,
    designs=("linear-200", "linear-500", "poisson-500", "poisson-1000", "logistic-500", "logistic-1000"),
    releases=False,
    fixed=fixed("napp", "paper", "add_remove"),
)
