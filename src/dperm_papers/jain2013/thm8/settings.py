"""What jain2013-thm8 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    side_repeats: int = number("repeats of what stands beside a figure", low=1, high=100_000)
    premise_repeats: int = number("further runs where few of them meet a premise", low=1, high=1_000_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    totals: list[float] = numbers(
        "n lambda, the weight of norm(w)^2/2 beside a sum of losses", low=0.001, high=1_000_000_000
    )
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    dimension: int = number("largest d of the tight calibration, whose kernel ridge costs d^3", low=2, high=10_000_000)
    wide_totals: list[float] = numbers("n lambda at which d goes far beyond what can be run", above=0, high=1e12)
    wide_features: list[int] = numbers("p where a law is exact and nothing is enumerated", low=2, high=1_000_000_000)
    degrees: list[int] = numbers("degrees of a polynomial kernel", low=1, high=10)
    net_totals: list[float] = numbers("n lambda of runs over a finite public set", above=0, high=1e12)
    concentrations: list[float] = numbers("c of the kernel exp(c |<z, u>|)", low=0, high=1e12)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("ball",),
    releases=False,
    fixed=fixed("tdil", "paper", "replace"),
)
