"""What li2021-augmentation reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    wide_repeats: int = number("repeats at the largest n_e", low=2, high=100_000)
    error_repeats: int = number("private runs of whose models the test errors are taken", low=1, high=100_000)
    settled_repeats: int = number("runs whose last iterations are looked at", low=1, high=100_000)
    draws: int = number("draws of b whose law is tested", low=1, high=100_000)
    rows_added: list[int] = numbers(
        "n_e, noise rows appended to the data, along an axis; even", low=2, high=100_000_000, step=2
    )
    augmented_rows: int = number("n_e of a run that is not along an axis; even", low=2, high=100_000_000, step=2)
    iterations: int = number("T, refits of Algorithm 1 of li2021", low=2, high=100_000)
    settled_iterations: int = number("T of runs that are to settle", low=11, high=100_000)
    exact_iterations: int = number("T of runs at n_e = infinity", low=1, high=1_000_000)
    strength: float = number("Lambda, the weight of the penalty", above=0, high=1_000_000)
    floor: float = number("Lambda0, the smallest Lambda of a picture", above=0, high=1_000_000)
    kappa: float = number("share of the square in an elastic net", above=0, below=1)
    bridge_gamma: float = number("gamma of the bridge penalty, the power 2 - gamma", above=0, below=2)
    reach: float = number("theta runs from minus this to this", above=0, high=1000)
    points: int = number("points of an axis", low=2, high=1000)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    budget_share: float = number("r, the part of epsilon that b spends", above=0, below=1)
    test_rows: int = number("records of a test set", low=1, high=10_000_000)


EXPERIMENT = Experiment(
    axes=("design",),
    settings=Settings,
    designs=("no-data", "linear-500", "poisson-500", "logistic-500"),
    releases=False,
    fixed=fixed("napp", "paper", "add_remove"),
)
