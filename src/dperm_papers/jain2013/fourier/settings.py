"""What jain2013-fourier reads of its configuration."""

from dataclasses import dataclass

from dperm_papers.jain2013.shared.row_splits import RowSplits
from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings(RowSplits):
    repeats: int = number("private runs at each point", low=1, high=100_000)
    draws: int = number("releases of the noise on each split", low=1, high=100_000)
    tilted_draws: int = number("releases of those that are fitted anew for each draw", low=1, high=100_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    features: list[int] = numbers("numbers of random features, two for each frequency", low=2, high=100_000)
    total: float = number("n lambda, the weight of norm(w)^2/2 beside a sum of losses", low=0.001, high=1_000_000_000)
    bandwidth: float = number("h of the Gaussian kernel exp(-norm(x - v)^2/(2 h^2))", above=0, high=1000)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    tolerance: float = number("public target of the solver, as a share of one record's gradient", low=1e-12, high=0.1)


EXPERIMENT = Experiment(
    axes=("dataset",),
    settings=Settings,
    fixed=fixed("random_features", "paper", "replace"),
)
