"""What li2021-further reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=2, high=100_000)
    cut_repeats: int = number("private runs at each truncation point", low=2, high=100_000)
    literal_repeats: int = number("runs of Algorithm 1 to the letter", low=2, high=100_000)
    draws: int = number("draws of b whose signs are tested", low=100, high=10_000_000)
    sizes: list[int] = numbers("numbers of records n among which Lambda is chosen", low=10, high=10_000_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    candidates: list[float] = numbers("values of Lambda to choose from", least=2, above=0, high=1_000_000)
    public_share: float = number("public records, as a share of n", above=0, high=1)
    held_share: float = number("share of the public records on which mistakes are counted", above=0, below=1)
    allowed: float = number("probability with which a bound on mistakes may fail", above=0, below=1)
    rows_added: list[int] = numbers("n_e, noise rows appended to the data; even", least=2, low=2, high=10**8, step=2)
    iterations: int = number("T, refits of Algorithm 1 of li2021", low=2, high=100_000)
    strength: float = number("Lambda of the SVM", above=0, high=1_000_000)
    cuts: list[float] = numbers("-c, in standard deviations of b before the cut", above=0, high=100)
    zetas: list[float] = numbers("zeta2 of the linear design", above=0, high=1000)
    strengths: list[float] = numbers(
        "ends of a geometric grid of Lambda, the largest first", least=2, most=2, above=0, high=1_000_000
    )
    steps: int = number("values of Lambda on a path", low=2, high=1000)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    budget_share: float = number("r, the part of epsilon that b spends", above=0, below=1)
    test_rows: int = number("records of a test set", low=1, high=10_000_000)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data", "linear-500", "logistic-500", "logistic-1000"),
    releases=False,
    fixed=fixed("napp", "paper", "add_remove"),
)
