"""What kifer2012-theorem9 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, number, numbers

DESIGNS = ("hadamard", "rademacher")


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    draws: int = number("private runs behind each repeat on the right support", low=1, high=100_000)
    data_sets: int = number("data sets with one private run each", low=1, high=10_000)
    designs: list[str] = names("synthetic data that are run", *DESIGNS)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    supports: list[int] = numbers("sizes s of the support", low=1, high=1000)
    single_stage: list[int] = numbers("n of the lasso without support selection, on 4 n features", low=2, high=10_000)
    wide_single_stage: list[int] = numbers("n of that lasso on n^2 features", low=2, high=1_000)


EXPERIMENT = Experiment(
    axes=("p",),
    settings=Settings,
    designs=DESIGNS,
    fixed=fixed("sparse"),
)
