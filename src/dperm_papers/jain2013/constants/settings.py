"""What jain2013-constants reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    totals: list[float] = numbers(
        "n lambda, the weight of norm(w)^2/2 beside a sum of losses", low=0.001, high=1_000_000_000
    )
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    queries: list[int] = numbers("T, numbers of queries or of public points", low=1, high=1_000_000_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    query_epsilons: list[float] = numbers("epsilons at which every T is run", above=0, high=1000)
    public_points: int = number("T, public points drawn from the pool", low=1, high=20_000)
    middle_total: float = number("n lambda while something else is swept", above=0, high=1_000_000_000)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data", "sphere-10", "orthogonal"),
    releases=False,
    fixed=fixed("tddl", "paper", "replace"),
)
