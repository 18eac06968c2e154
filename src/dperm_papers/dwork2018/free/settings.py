"""What dwork2018-free reads of its configuration."""

from dataclasses import dataclass

from dperm_pipeline.settings import Experiment, fixed, names, numbers

DESIGNS = ("sq", "hard")


@dataclass(frozen=True)
class Settings:
    sizes: list[int] = numbers("numbers of records n", low=1, high=1_000_000_000)
    scaled_epsilons: list[float] = numbers("epsilon n^(1/4)", above=0, high=1000)
    designs: list[str] = names("synthetic data that are run", *DESIGNS)


EXPERIMENT = Experiment(
    axes=("part",),
    settings=Settings,
    designs=(*DESIGNS, "no-data"),
    releases=False,
    fixed=fixed("stable_sgd", "paper", "replace"),
)
