"""What kifer2012-table2 reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, number, tables


@dataclass(frozen=True)
class Settings:
    repeats: int = number("private runs at each point", low=1, high=100_000)
    draws: int = number("private runs on each data set", low=1, high=100_000)
    epsilon: float = number("privacy budget", above=0, high=100)
    delta: float = number("failure probability of approximate privacy", above=0, below=1)
    problems: dict[str, dict[str, list[int]]] = tables(
        "what is run, by the mechanism and what is asked of it: p, s and n, or n in units of Table 2's law",
        {
            "exp-mech": ("p", "s", "n"),
            "samp-agg": ("p", "s", "n"),
            "exp-mech-risk": ("p", "s", "ratio"),
            "samp-agg-risk": ("p", "s", "ratio"),
            "lasso-risk": ("p", "s", "ratio"),
        },
        low=1,
        high=1_000_000_000,
    )


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=("rademacher",),
    fixed=fixed("sparse"),
)
