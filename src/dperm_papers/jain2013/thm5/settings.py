"""What jain2013-thm5 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, number, numbers

DESIGNS = ("ten-directions", "decaying")


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    side_repeats: int = number("repeats of what stands beside a figure", low=1, high=100_000)
    noise_draws: int = number("draws of noise on the same public points", low=1, high=10_000)
    designs: list[str] = names("synthetic data that are run", *DESIGNS)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    totals: list[float] = numbers(
        "n lambda, the weight of norm(w)^2/2 beside a sum of losses", low=0.001, high=1_000_000_000
    )
    middle_total: float = number("n lambda while something else is swept", above=0, high=1_000_000_000)
    queries: list[int] = numbers("T, numbers of queries or of public points", low=1, high=1_000_000_000)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    curvatures: list[float] = numbers(
        "lambda, the weight of norm(w)^2/2 beside a mean of losses", above=0, high=1_000_000
    )
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    dimension: int = number("d of what is not swept over d", low=2, high=10_000_000)
    exchange_totals: list[float] = numbers("n lambda at which PINP may say something", above=0, high=1e12)
    public_points: int = number("T, public points drawn from the pool", low=1, high=20_000)
    test_rows: int = number("records of a test set", low=1, high=10_000_000)
    pool_rows: int = number("records set aside for public points", low=1, high=10_000_000)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=(*DESIGNS, "half-outside"),
    releases=False,
    fixed=fixed("tddl", "paper", "replace"),
)
