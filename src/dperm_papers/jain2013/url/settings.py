"""What jain2013-url reads of its configuration."""

from dataclasses import dataclass

from dperm_papers.jain2013.shared.row_splits import RowSplits
from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings(RowSplits):
    repeats: int = number("private runs at each point", low=1, high=100_000)
    draws: int = number("releases of the noise on each split", low=1, high=100_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    totals: list[float] = numbers(
        "n lambda, the weight of norm(w)^2/2 beside a sum of losses", low=0.001, high=1_000_000_000
    )
    query_epsilons: list[float] = numbers("epsilons at which every T is run", above=0, high=1000)
    large_queries: int = number("T beyond which only `large_splits` are run", low=1, high=20_000)
    large_splits: int = number("splits at the largest T", low=1, high=1000)
    path_rows: int = number("test rows that one Gaussian path answers", low=1, high=20_000)
    libsvm_rows: int = number("training rows of the fit by LibSVM", low=10, high=1_000_000)
    libsvm_splits: int = number("splits on which LibSVM is fitted", low=1, high=1000)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)


EXPERIMENT = Experiment(
    axes=("dataset",),
    settings=Settings,
    fixed=fixed("tddl", "paper", "replace"),
)
