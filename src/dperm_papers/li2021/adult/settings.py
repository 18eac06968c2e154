"""What li2021-adult reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    deltas: list[float] = numbers("failure probabilities; 0 is pure privacy", low=0, below=1)
    lambdas: list[float] = numbers("weights of the l1 norm beside the sum of losses", above=0, high=1_000_000)
    budget_share: float = number("r, the part of epsilon that b spends", above=0, below=1)
    tolerance: float = number("certified gap relative to the objective", low=1e-12, high=0.1)
    literal_repeats: int = number("runs of Algorithm 1 to the letter at each point", low=1, high=100_000)
    literal_epsilons: list[float] = numbers("their privacy budgets", above=0, high=100)
    literal_strength: float = number("their weight of the l1 norm", above=0, high=1_000_000)
    augmented_rows: int = number("n_e, noise rows appended to the data; even", low=2, high=100_000_000, step=2)
    iterations: int = number("T, refits of Algorithm 1 of li2021", low=2, high=100_000)
    test_share: float = number("share of all rows that is set aside for testing", low=0.01, high=0.5)


EXPERIMENT = Experiment(
    axes=("dataset",),
    settings=Settings,
    fixed=fixed("napp"),
)
