"""Which rows of an experiment may be compared at an equal budget: what the report's explorer offers, as plain values.

An experiment's `comparison.py` holds its COMPARISON, beside its `figures.py`. Every setting that the visitor does not
choose is the one that the experiment fixed beforehand; none was chosen on test rows. A setting that the visitor may
choose (`choices`) was run at every value and is shown at every value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dperm_pipeline.figures.looks import Look, unknown

# Units of repeats that several experiments share.
ONE_SPLIT = "draws of the noise on one split of the data: the intervals know the noise, not another choice of test rows"
SPLITS = (
    "random splits of the same rows, each already the mean over its draws of noise; the intervals speak of the mean "
    "over splits of these rows, not of another sample"
)
# From markers of matplotlib to shapes of Vega, and those that Vega has.
_SHAPES = {
    "o": "circle",
    "s": "square",
    "P": "cross",
    "+": "cross",
    "D": "diamond",
    "^": "triangle-up",
    "v": "triangle-down",
}
SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right", "triangle-left")


@dataclass(frozen=True)
class Metric:
    """What is measured; `log`: rows hold logarithms, and means are shown as geometric ones."""

    label: str
    lower: bool = True
    log: bool = False


@dataclass(frozen=True)
class Reference:
    """A reference without privacy: which rows, matched to a point by the columns `by`; `trivial` looks at no feature.

    Where rows hold it as a mean already, `metric` is that mean's name.
    """

    label: str
    where: Mapping[str, Any]
    by: tuple[str, ...] = ()
    metric: str = ""
    trivial: bool = False


@dataclass(frozen=True)
class Choice:
    """A column that the visitor sets; where it is `free`, a release with 0 in it serves every value.

    It begins with `first` ("middle": that of all values), with the value of rows for which the column `marked` is true,
    or with the least.
    """

    column: str
    label: str
    first: Any = None
    free: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    marked: str = ""


@dataclass(frozen=True)
class Comparison:
    """The rows of one experiment that can be compared, and what a reader has to know of them.

    `rank`: the place of the experiment on the page. `datasets`: the order in which data sets are offered, the others
    after these. `dataset_of`: what a data set that the experiment makes up is called. `metric_of`: what a metric is
    called on a data set, where it is not called the same on all. `named`: the look of a method, by mechanism,
    calibration, variant and the columns `extra`. `code`: how a method is called, by its first of these columns, with
    `{epsilon}`, `{delta}` and `{neighbours}` to be filled in.
    """

    title: str
    metrics: Mapping[str, Metric]
    unit: str
    fixed: str
    public: str
    filters: tuple[tuple[str, str, Any], ...] = ()
    choices: tuple[Choice, ...] = ()
    references: tuple[Reference, ...] = ()
    extra: tuple[str, ...] = ()
    keep: Callable[[Any], Any] | None = None
    warnings: Mapping[str, str] = field(default_factory=dict)
    rank: int = 100
    datasets: tuple[str, ...] = ()
    dataset_of: Callable[[str], str] | None = None
    metric_of: Callable[[str, str], Metric] | None = None
    named: Callable[..., Look] = unknown
    code: Mapping[str, str] = field(default_factory=dict)

    def metric(self, name: str, dataset: str) -> Metric:
        """Return what a metric is called on a data set."""
        return self.metric_of(name, dataset) if self.metric_of else self.metrics[name]

    def look(self, mechanism: str, calibration: str, variant: str, *extra: str) -> Look:
        """Return how a method is called and drawn, its marker in Vega's words."""
        found = self.named(mechanism, calibration, variant, *extra)
        return Look(found.label, found.colour, _SHAPES.get(found.marker, "circle"))
