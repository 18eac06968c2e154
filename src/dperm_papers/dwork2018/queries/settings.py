"""What dwork2018-queries reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, numbers


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    records: int = number("n of a design whose records are really drawn", low=16, high=1_000_000)
    queries: list[int] = numbers("T, numbers of queries or of public points", low=1, high=1_000_000_000)
    attacked_queries: list[int] = numbers(
        "numbers of answers whose best adaptive attack is computed", low=1, high=10_000
    )
    labelled: list[int] = numbers("public rows that a student asks about", low=2, high=100_000)
    contested: list[int] = numbers("B, contested answers of consensus mode", low=1, high=1_000_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    each: float = number("epsilon of one answer", above=0, high=100)
    alpha: float = number("error that decides the number of shards", above=0, below=1)
    test_share: float = number("share of all rows that is set aside for testing", low=0.01, high=0.5)
    public_share: float = number("share of the training rows that is set aside as public", low=0.01, high=0.5)
    levels: list[float] = numbers("accuracies above which answers are counted", low=0.51, below=1)


EXPERIMENT = Experiment(
    axes=("dataset",),
    settings=Settings,
    designs=("votes", "no-data", "flip"),
    fixed=fixed("soft_majority", "tight", "replace"),
)
