"""What kifer2012-theorem4 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    run_features: list[int] = numbers("p at which a mechanism is run beside its exact risk", low=2, high=1000)
    wide_features: list[int] = numbers("p where a law is exact and nothing is enumerated", low=2, high=1_000_000_000)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    looseness: list[float] = numbers("bound on the minimiser's norm over the norm itself", low=1, high=1000)
    gram_multiples: list[float] = numbers("eigenvalue of X'X in units of Delta", above=0, high=1000)


EXPERIMENT = Experiment(
    axes=("design",),
    settings=Settings,
    designs=("extremal", "hadamard", "no-data"),
    releases=False,
    fixed=fixed("objective"),
)
