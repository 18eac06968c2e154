"""Which measurements the explorer offers: a table of experiments, and how their methods are called and drawn.

Every setting that the visitor does not choose is the one that the experiment fixed beforehand; none was chosen on test
rows. What is left open (`choices`) was run at every value and is shown at every value.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from dperm.errors import ConfigError
from dperm_pipeline.figures import style


@dataclass(frozen=True)
class Metric:
    """What is measured; `log`: rows hold logarithms, and means are shown as geometric ones."""

    label: str
    lower: bool = True
    log: bool = False


@dataclass(frozen=True)
class Level:
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
class Source:
    """The rows of one experiment that can be compared, and what a reader has to know of them."""

    title: str
    metrics: Mapping[str, Metric]
    unit: str
    fixed: str
    public: str
    filters: tuple[tuple[str, str, Any], ...] = ()
    choices: tuple[Choice, ...] = ()
    levels: tuple[Level, ...] = ()
    extra: tuple[str, ...] = ()
    keep: Callable[[pd.DataFrame], pd.Series] | None = None
    warnings: Mapping[str, str] = field(default_factory=dict)


_ONE_SPLIT = (
    "draws of the noise on one split of the data: the intervals know the noise, not another choice of test rows"
)
_SPLITS = (
    "random splits of the same rows, each already the mean over its draws of noise; the intervals speak of the mean "
    "over splits of these rows, not of another sample"
)
_MADE_UP = "a formula stands in for {}: no number here is its"
_MACHINE = {"variant": "svm"}
_WALKS = "The RKHS Gaussian answers the first test rows only. TDDL needs T unlabelled public points, no training rows."

SOURCES: Mapping[str, Source] = {
    "kifer2012-output": Source(
        title="a linear model",
        metrics={
            "test_error": Metric("misclassified test rows"),
            "test_loss": Metric("loss per test row"),
            "excess_risk": Metric("excess risk per training row"),
        },
        unit=_ONE_SPLIT,
        fixed="each method's setting (added curvature; steps and clipping) is the best on public rows, by one rule for "
        "all methods; neither private nor test rows had a part in it",
        public="a fifth of the training rows, in which no method is trained; the bounds on a record",
        filters=(("chosen", "==", True),),
        levels=(Level("without privacy", {"variant": ""}),),
        warnings={"hadamard": "a design made by a formula, with labels drawn from a logistic model"},
    ),
    "dwork2018-realdata": Source(
        title="labels for m queries, or a model",
        metrics={"error": Metric("probability of a wrong answer")},
        unit="random splits of the same rows; within a split the error of an answer is exact over its noise, that of a "
        "model the mean of its draws; the intervals speak of the mean over splits of these rows, not of another sample",
        fixed="R = 5, ridge 0.01, and the number of shards by the printed rule (at least 20 records a shard)",
        public="the bound on a record, n, and which feature ExpPW looks at. All answers together spend the budget; "
        "objective perturbation releases a model, which answers any number of queries",
        filters=(("series", "in", ["", "epsilon", "queries"]),),
        # One query stands in both series.
        keep=lambda rows: (rows["series"] != "queries") | (rows["queries"] != 1),
        choices=(Choice("queries", "queries answered", first=1, free=True),),
        levels=(
            Level("logistic regression without privacy", {"variant": "logistic"}),
            Level("majority class", {"variant": "majority"}, trivial=True),
        ),
        warnings={"covertype-16pct": "a 16 % sample of Covertype"},
    ),
    "li2021-adult": Source(
        title="sparse logistic regression",
        metrics={"error": Metric("misclassified test rows")},
        unit=_ONE_SPLIT,
        fixed="r = 1/2; Λ is not chosen by anything: every value was run",
        public="the bounds on a record",
        choices=(Choice("strength", "Λ"),),
        levels=(Level("lasso without privacy", {"variant": "lasso"}, by=("strength",)),),
        warnings={"breast-cancer": "stands in for Adult in this experiment"},
    ),
    "kifer2012-lasso": Source(
        title="sparse linear regression",
        metrics={
            "relative_error": Metric("squared test error / variance of the targets"),
            "overlap": Metric("overlap with the support without privacy", lower=False),
        },
        unit=_ONE_SPLIT,
        fixed="F is the box of side 2, ridge 0.01; Λ is not chosen by anything: every value was run",
        public="the bounds on a record; a fifth of the training rows, of which the size of the sample alone is used",
        choices=(Choice("l1_share", "Λ / n′"),),
        levels=(Level("lasso without privacy", {"variant": ""}, by=("l1_share",)),),
    ),
    "jain2013-covertype": Source(
        title="a cubic kernel machine",
        metrics={"accuracy": Metric("accuracy on test rows", lower=False)},
        unit=_SPLITS,
        fixed="the cubic kernel, min-max scaling by public ranges, rows of length 1. At T of 1,000 and more fewer "
        "splits were run: all methods are then compared on those",
        public=f"n, and the ranges of the features. {_WALKS}",
        filters=(("scaling", "in", ["", "min-max+unit"]),),
        choices=(
            Choice("penalty", "penalty", first="C", words={"C": "C = 0.001, printed", "nC": "n·C = 500, printed"}),
            Choice("queries", "T, public points", first=300, free=True),
        ),
        levels=(
            Level("support vector machine without privacy", _MACHINE, by=("penalty",)),
            Level("majority class", {"variant": "majority"}, trivial=True),
        ),
        warnings={
            "covertype-16pct": "a 16 % sample of Covertype: with fewer rows the same noise weighs more",
            "covertype-like": _MADE_UP.format("Covertype"),
        },
    ),
    "jain2013-url": Source(
        title="a linear machine in 3,231,961 dimensions",
        metrics={"accuracy": Metric("accuracy on test rows", lower=False)},
        unit=_SPLITS,
        fixed="the linear kernel, rows of length 1; nλ is not chosen by anything: every value was run",
        public=f"n, and the scaling. {_WALKS}",
        choices=(Choice("penalty", "nλ"), Choice("queries", "T, public points", first=300, free=True)),
        levels=(
            Level("support vector machine without privacy", _MACHINE, by=("penalty",)),
            Level("majority class", {"variant": "majority"}, trivial=True),
        ),
        warnings={
            "url-5700": "not a utility figure: the days of these rows are unknown, and their classes partly balanced "
            "by hand"
        },
    ),
    "jain2013-kdd": Source(
        title="linear regression in 2,000,000 dimensions",
        metrics={"error": Metric("root mean square error on test rows")},
        unit="splits, each already the mean over its draws of noise; of a formula every split is drawn anew",
        fixed="nλ to begin with is the one that 5-fold cross-validation of least squares chooses on public rows; the "
        "others were run too",
        public="n, the bounds on a record, and the rows for that cross-validation. TDDL needs T = 300 unlabelled "
        "public points that are no training rows",
        choices=(Choice("total", "nλ", marked="headline"),),
        levels=(
            Level("least squares without privacy", {"variant": "least_squares"}, by=("total",)),
            Level("mean of the targets", {"variant": "mean"}, trivial=True),
        ),
        warnings={"kdd-like": _MADE_UP.format("KDD Cup 2010")},
    ),
    "li2021-simulations": Source(
        title="sparse regression on simulated data",
        metrics={"error": Metric("test error")},
        unit="simulated training sets, with one test set a design",
        fixed="r = 1/2; Λ is not chosen by anything: five values along its path are shown, of fifteen that were run",
        public="the bounds on a record; and to the corrected and tight methods, not to the printed ones, a box in one "
        "orthant that holds θ, so the signs of θ",
        filters=(("step", "in", [0, 3, 6, 9, 12]),),
        extra=("target",),
        choices=(Choice("strength", "Λ", first="middle"),),
        levels=(Level("lasso without privacy", {"variant": "lasso"}, by=("strength",), metric="error_mean"),),
    ),
}
# What rows call `error` is the share of wrong labels of the logistic designs, and a logarithm of the others.
LOG_ERROR = Metric("mean squared error on test rows, geometric mean", log=True)
SHARE_ERROR = Metric("misclassified test rows")
# The order of data sets: the first that is there is shown to begin with.
DATASETS = (
    "adult",
    "breast-cancer",
    "digits",
    "diabetes",
    "hadamard",
    "covertype",
    "covertype-16pct",
    "covertype-like",
)

_NAPP = {"erm": ("NAPP-ERM", "#0072B2"), "vs": ("NAPP-VS", "#009E73"), "vs_plus": ("NAPP-VS+", "#D55E00")}
_CALIBRATIONS = {"paper": "as printed", "corrected": "corrected", "tight": "tight"}
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


def metric_of(key: str, name: str, dataset: str) -> Metric:
    """Return what a metric is called on a data set.

    - key: of `SOURCES`.
    """
    if key != "li2021-simulations":
        return SOURCES[key].metrics[name]
    return SHARE_ERROR if dataset.startswith("logistic") else LOG_ERROR


def look(mechanism: str, variant: str, calibration: str, target: str = "") -> style.Look:
    """Return how a method is called and drawn: as in the figures, its marker in Vega's words.

    - mechanism, variant, calibration, target: as in rows; `target` is a column of li2021-simulations.
    - Returns: one that no figure knows is called by its own name.
    """
    if mechanism == "napp":
        kind, _, moor = variant.partition("-")
        name, colour = _NAPP.get(kind, (f"NAPP {kind}", "#666666"))
        if (kind, moor, calibration) == ("erm", "", "paper"):
            name = "DP-ERM"
        words = [name, *(["MOOR"] if moor else []), *(["elastic net"] if target == "elastic_net" else [])]
        return style.Look(", ".join([*words, _CALIBRATIONS.get(calibration, calibration)]), colour, "circle")
    try:
        found = style.look(mechanism, calibration, variant)
    except ConfigError:
        words = [part for part in (mechanism.replace("_", " "), variant, calibration) if part]
        return style.Look(", ".join(words), "#666666", "circle")
    return style.Look(found.label, found.colour, _SHAPES.get(found.marker, "circle"))
