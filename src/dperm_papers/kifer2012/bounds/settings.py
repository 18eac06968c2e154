"""What kifer2012-bounds reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    instances: int = number("random instances of a lemma", low=1, high=100_000)
    draws: int = number("draws of the noise whose norm is held against a bound", low=1, high=100_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    records: int = number("n of a design whose records are really drawn", low=16, high=1_000_000)
    ridge_multiples: list[float] = numbers(
        "Delta in units of lambda/epsilon; Algorithm 1 of kifer2012 needs 2 or more", low=2, high=1_000_000
    )
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    variances: list[float] = numbers("variances of an entry of a Gaussian design", above=0, below=1)
    growth: float = number("n of random designs in units of s log p", low=16, high=1_000_000)


EXPERIMENT = Experiment(
    axes=("p",),
    settings=Settings,
    designs=("extremal", "hadamard", "rademacher", "gaussian", "instances", "matrices"),
    fixed=fixed("objective"),
)
