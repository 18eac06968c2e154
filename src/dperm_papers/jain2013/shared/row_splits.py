"""How the experiments of jain2013 on large data sets divide the rows, and the public points that they need."""

from dataclasses import dataclass

from dperm.errors import ConfigError
from dperm_pipeline.settings import by_dataset, number, numbers


@dataclass(frozen=True)
class RowSplits:
    """Settings of an experiment that draws its public points from a pool of rows."""

    row_splits: dict[str, list[int]] = by_dataset(
        "training rows, rows of the pool of public points, test rows", length=3, low=1, high=100_000_000
    )
    queries: list[int] = numbers("T, numbers of public points", low=1, high=1_000_000_000)
    public_points: int = number("T at all epsilons", low=1, high=20_000)

    def __post_init__(self):
        most = max(self.queries)
        for name, (_, pool, _) in self.row_splits.items():
            if most > pool:
                raise ConfigError(
                    f"row_splits.{name}: a pool of {pool} has no T={most} public points; raise its second number or "
                    "lower queries"
                )
        if self.public_points not in self.queries:
            raise ConfigError(f"public_points: {self.public_points} must be one of queries, {self.queries}")
