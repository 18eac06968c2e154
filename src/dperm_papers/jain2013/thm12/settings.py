"""What jain2013-thm12 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, number, numbers

DESIGNS = ("sphere", "one-hot", "interval", "disc")


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    designs: list[str] = names("synthetic data that are run", *DESIGNS)
    queries: list[int] = numbers("T, numbers of queries or of public points", low=1, high=1_000_000_000)
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=DESIGNS,
    releases=False,
    fixed=fixed("tddl", "paper", "replace"),
)
