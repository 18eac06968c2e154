"""What li2021-bounds reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, number, numbers

DESIGNS = ("linear-500", "logistic-500")


@dataclass(frozen=True)
class Settings:
    designs: list[str] = names("synthetic data that are run", *DESIGNS)
    repeats: int = number("private runs at each point", low=1, high=100_000)
    data_sets: int = number("data sets with one private run each", low=1, high=10_000)
    draws: int = number("draws of b at each data set", low=1, high=100_000)
    sample_sets: int = number("data sets of the size that a sample complexity asks for", low=1, high=10_000)
    excesses: list[float] = numbers("excess of the expected loss that a sample complexity is for", above=0, high=1000)
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    features: list[int] = numbers("numbers of features", low=2, high=10_000_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    risk_epsilons: list[float] = numbers("privacy budgets at which bounds on the risk are tried", above=0, high=100)
    rate_epsilons: list[float] = numbers("privacy budgets along which a growth is fitted", least=2, above=0, high=100)
    lambdas: list[float] = numbers("weights of the l1 norm beside the sum of losses", above=0, high=1_000_000)
    deltas: list[float] = numbers("failure probabilities; 0 is pure privacy", low=0, below=1)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    refits: list[int] = numbers("t, iterations of Algorithm 1 of li2021 at which a bound is tried", low=1, high=100_000)
    instances: int = number("points theta at which penalty and target are compared", low=1, high=100_000)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=(*DESIGNS, "no-data"),
    releases=False,
    fixed=fixed("napp", "paper", "add_remove"),
)
