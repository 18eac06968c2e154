"""What kifer2012-theorem8 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    supports: list[int] = numbers("sizes s of the support", low=1, high=1000)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    blocks: list[int] = numbers("numbers k of blocks of sample and aggregate", low=1, high=1_000_000)
    wide_features: list[int] = numbers("p where a law is exact and nothing is enumerated", low=2, high=1_000_000_000)
    hadamard_features: list[int] = numbers(
        "p of stacked Hadamard rows", among=[2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    )


EXPERIMENT = Experiment(
    axes=("design",),
    settings=Settings,
    designs=("hadamard", "rademacher", "votes"),
    releases=False,
    fixed=fixed("samp_agg"),
)
