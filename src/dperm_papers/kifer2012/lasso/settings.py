"""What kifer2012-lasso reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    epsilons: list[float] = numbers("privacy budgets", above=0, high=100)
    deltas: list[float] = numbers("failure probabilities; 0 is pure privacy", low=0, below=1)
    l1_shares: list[float] = numbers(
        "weights of the l1 norm over the public size of the private sample", above=0, high=1000
    )
    box: float = number("bound on every coefficient, for rows scaled to norm(x) <= 1", low=0.001, high=1000)
    ridge: float = number("curvature of the risk's own regularizer, of a sum and not a mean", above=0, high=1000)
    public_share: float = number("share of the training rows that is set aside as public", low=0.01, high=0.5)
    test_share: float = number("share of all rows that is set aside for testing", low=0.01, high=0.5)


EXPERIMENT = Experiment(
    axes=("dataset",),
    settings=Settings,
    fixed=fixed("objective"),
)
