"""Panels of test accuracy, over epsilon and over T: for Figure 2a of jain2013 and the same on URL Reputation."""

import math

from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_pipeline.figures.looks import NONPRIVATE, equals
from dperm_pipeline.figures.spec import Level, Line, Panel, encoded, like, select

YLABEL = "test accuracy"
_METHODS = encoded(
    "mechanism calibration variant",
    {
        ("tddl", "paper", ""): look("tddl", "paper"),
        ("tddl", "corrected", ""): look("tddl", "corrected"),
        ("tddl", "tight", ""): look("tddl", "tight"),
        ("tddl", "paper", "bare"): like(look("tddl", "paper", "bare"), line=(0, (2, 1.2))),
        ("rkhs_gaussian", "tight", ""): look("rkhs_gaussian", "tight"),
        ("explicit_output", "tight", ""): look("explicit_output", "tight"),
    },
    where={"metric": "accuracy"}, statistic="mean", band=0.15, key={"ms": 3.2},
)  # fmt: skip
# One draw on each of the first splits: the paper's runs.
_SPLITS = 5
_RUNS = [
    Line("", line.colour, "o", "none", {**line.where, "metric": "accuracy_one", "repeat": lambda k: k < _SPLITS},
         statistic="mean", more={"ms": 5, "mfc": "none", "mew": 0.7, "zorder": 4})
    for line in (_METHODS[0], _METHODS[2])
]  # fmt: skip
# Variant without privacy -> words, dashes.
_LEVELS = {
    "svm": ("support vector machine (not private)", "-"),
    "libsvm": ("LibSVM with bias (not private)", "--"),
    "majority": ("majority of the training labels", ":"),
}
# The epsilon at which the scalings are compared.
SHOWN = 0.1
# From which epsilon on the text calls TDDL similar to the machine, and the margin that is judged.
_FROM, _MARGIN = 0.1, 0.01
# Of the rows that are no sweep over scalings.
STORED = ("", "min-max+unit")


def percent(value):
    """Return a share in percent, for an axis."""
    return f"{100 * value:.0f} %"


_PANEL = Panel(_METHODS, ywords=percent, more={"ms": 3.2, "zorder": 3})


def of_one(wanted):
    """Return what keeps the rows of a data set, or of the one that stands in for it."""

    def prepare(rows):
        names = sorted(rows["dataset"].unique())
        rows = rows[rows["dataset"] == (wanted if wanted in names else names[0])]
        return rows if "scaling" in rows else rows.assign(scaling="")

    return prepare


def span(rows, stated=0.723):
    """Return the ends of the y-axis: of all means that are drawn, and of the stated accuracy."""
    drawn = rows[(rows["metric"] == "accuracy") & rows["scaling"].isin(STORED)]
    means = drawn.groupby(["mechanism", "variant", "calibration", "penalty", "queries", "epsilon"])["value"].mean()
    return min(0.48, means.min() - 0.01), min(1.0, max(means.max(), stated) + 0.03)


def swept_epsilons(rows):
    """Return the first two of the epsilons at which the most values of T were run."""
    counts = rows[rows["mechanism"] != "nonprivate"].groupby("epsilon")["queries"].nunique()
    return [float(epsilon) for epsilon in counts.index[counts == counts.max()]][:2]


def over_epsilon(rows, where, span):
    """Return the panel of some rows over epsilon, at the largest T that was run at the most epsilons."""
    here, dataset = select(rows, where), rows["dataset"].iloc[0]
    private = here[(here["mechanism"] != "nonprivate") & (here["metric"] == "accuracy")]
    counts = private[private["queries"] > 0].groupby("queries")["epsilon"].nunique()
    T = int(counts.index[counts == counts.max()].max())
    epsilons, machine = sorted(private["epsilon"].unique()), _level(here, "svm")

    def also(axis, _):
        """Shade what is similar to the machine: a specification has bands of lines alone."""
        ends = [_FROM, max(epsilons) * 1.35]
        axis.fill_between(ends, machine - _MARGIN, machine, color="black", alpha=0.1, lw=0, zorder=1)

    # The majority knows no penalty: it is the data set's.
    values = {"svm": machine, "libsvm": _level(here, "libsvm"), "majority": _level(rows, "majority")}
    levels = [_drawn(name, value) for name, value in values.items() if math.isfinite(value)]
    return _PANEL.but(
        lines=[*_METHODS, *_RUNS], ylabel=YLABEL, xlabel=f"ε (T = {T})",
        where={**where, "dataset": dataset, "scaling": STORED, "queries": (0, T)},
        levels=levels, epsilons=True, xticks=epsilons, tick_look={"axis": "x", "labelrotation": 45}, ylim=span,
        also=also,
    )  # fmt: skip


def over_queries(rows, where, epsilon, span):
    """Return the panel of some rows over T at one epsilon, beside the machine without privacy."""
    dataset = rows["dataset"].iloc[0]
    return _PANEL.but(
        x="queries", xlabel="T, public points", ylabel=YLABEL, title=f"over T, {equals('ε', epsilon)}",
        where={
            **where, "dataset": dataset, "scaling": STORED, "epsilon": epsilon, "metric": "accuracy",
            "queries": lambda T: T > 0,
        },
        levels=[_drawn("svm", _level(select(rows, where), "svm"))], ylim=span,
        xticks=lambda rows: {T: f"{T:,.0f}" for T in sorted(rows["queries"].unique())},
    )  # fmt: skip


def words(rows):
    """Return what is said of the rows under both figures."""
    private = rows[rows["mechanism"] != "nonprivate"]
    return (
        f"Data: {rows['dataset'].iloc[0]}. Test accuracy over {private['repeat'].nunique()} splits, each the mean of "
        "several draws of noise; bands: 95 % intervals over splits; open circles: one draw on each of the first "
        f"{_SPLITS} splits, the paper's runs. Replace-one neighbours, {equals('δ', private['delta'].max())}. The "
        "Gaussian path answers the first test rows only."
    )


def _level(rows, variant):
    """Return the mean accuracy without privacy; NaN where there is none."""
    own = rows[(rows["epsilon"] == math.inf) & (rows["variant"] == variant) & (rows["metric"] == "accuracy")]
    return own.loc[own["scaling"].isin(STORED), "value"].mean()


def _drawn(variant, value):
    label, dashes = _LEVELS[variant]
    return Level(value, label, NONPRIVATE.colour, dashes, more={"lw": 0.9, "zorder": 1.8})
