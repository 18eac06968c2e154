"""What kifer2012-theorem6 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    supports: list[int] = numbers("sizes s of the support", low=1, high=1000)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    wide_features: list[int] = numbers("p where a law is exact and nothing is enumerated", low=2, high=1_000_000_000)
    wide_supports: list[int] = numbers("s where a law is exact and nothing is enumerated", low=1, high=1000)
    wide_sizes: list[int] = numbers("n where a law is exact and nothing is enumerated", low=1, high=1_000_000_000)


EXPERIMENT = Experiment(
    axes=("design",),
    settings=Settings,
    designs=("rademacher", "planted", "near-tie", "tiny-domain"),
    releases=False,
    fixed=fixed("exp_mech"),
)
