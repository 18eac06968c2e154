"""What kifer2012-table1 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, number, numbers

DESIGNS = ("extremal", "hadamard", "rademacher")


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    designs: list[str] = names("synthetic data that are run", *DESIGNS)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)


EXPERIMENT = Experiment(
    axes=("p",),
    settings=Settings,
    designs=DESIGNS,
    fixed=fixed("objective"),
)
