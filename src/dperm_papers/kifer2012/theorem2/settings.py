"""What kifer2012-theorem2 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    deltas: list[float] = numbers("failure probabilities; 0 is pure privacy", low=0, below=1)
    curvature_epsilons: list[float] = numbers("privacy budgets at which Theorem 4's Delta is tried", above=0, high=100)
    points: int = number("points of an axis", low=2, high=1000)
    ridge_multiples: list[float] = numbers(
        "Delta in units of lambda/epsilon; Algorithm 1 of kifer2012 needs 2 or more", low=2, high=1_000_000
    )


EXPERIMENT = Experiment(
    axes=("design",),
    settings=Settings,
    designs=("q1", "half-plane"),
    releases=False,
    fixed=fixed("objective", "paper", "add_remove"),
)
