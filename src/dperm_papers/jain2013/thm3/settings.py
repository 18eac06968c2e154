"""What jain2013-thm3 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    queries: list[int] = numbers("T, numbers of queries or of public points", low=1, high=1_000_000_000)
    totals: list[float] = numbers(
        "n lambda, the weight of norm(w)^2/2 beside a sum of losses", low=0.001, high=1_000_000_000
    )
    radii: list[float] = numbers("C = norm(w*), of the minimiser", above=0, high=1_000_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("sphere-10",),
    releases=False,
    fixed=fixed("pinp", "paper", "replace"),
)
