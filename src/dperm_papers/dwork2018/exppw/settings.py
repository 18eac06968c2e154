"""What dwork2018-exppw reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    batch: int = number("repeats whose mean is one row; a divisor of repeats", low=1, high=1000)
    tail_repeats: int = number("samples of which those beyond a bound are counted", low=1, high=100_000)
    draws: int = number("private runs on each data set", low=1, high=100_000)
    instances: int = number("random instances of a lemma or of a design", low=1, high=100_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    alphas: list[float] = numbers("errors asked for", above=0, below=1)
    agnostic_alphas: list[float] = numbers("accuracies at which epsilon is half of them", above=0, high=0.5)
    ends: list[int] = numbers("k, ends of a union of intervals", low=1, high=1000)
    records: int = number("n of a design whose records are really drawn", low=16, high=1_000_000)
    enumerated: int = number("n at which all labellings are tried", low=2, high=18)
    walk_bounds: list[int] = numbers("T, the end of a walk's range, along an axis", low=1, high=100_000)
    domains: list[int] = numbers("N, different points of tied records", low=1, high=10_000)
    enumerated_epsilons: list[float] = numbers("epsilons at which all labellings are tried besides", above=0, high=100)
    size_epsilons: list[float] = numbers("epsilons along which n is swept", above=0, high=100)
    size_shares: list[float] = numbers("n in units of what a theorem asks for", above=0, high=1000)
    flips: list[float] = numbers("shares of wrong labels", low=0, below=0.5)
    gammas: list[float] = numbers("allowed failure probabilities of a bound", above=0, below=1)
    choice_alphas: list[float] = numbers("accuracies at which a choice of n is checked", above=0, below=1)
    choice_epsilons: list[float] = numbers("epsilons at which a choice of n is checked", above=0, high=100)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("no-data", "tie", "alternating", "labellings", "multisets"),
    releases=False,
    fixed=fixed("exppw", "tight", "replace"),
)
