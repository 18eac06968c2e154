"""Figures and tables of kifer2012-lasso: specifications, and what they show in words."""

import math

from dperm.catalogue import Catalogue
from dperm.errors import ConfigError
from dperm_pipeline.figures.looks import equals, number
from dperm_pipeline.figures.spec import DASHED, Column, Figure, Interval, Level, Line, Panel, Table, means
from dperm_pipeline.target import Target

_METRICS = {
    "relative_error": "test error\n(1 − R²)",
    "support": "coefficients\nnot 0",
    "overlap": "overlap with\nnon-private support",
}
# One for each l1 strength, weakest first; Okabe & Ito (2008).
_LOOKS = (("#0072B2", "o"), ("#E69F00", "s"), ("#CC79A7", "^"), ("#009E73", "D"))
_CALIBRATIONS = (
    Line("tight", "#555555", "o", "-", {"calibration": "tight"}),
    Line("Algorithm 1", "#555555", "o", DASHED, {"calibration": "paper"}, hollow=True),
)
_LEVEL = Line("non-private lasso", "#555555", line=(0, (1, 1)), key={"lw": 0.9})
# More ticks than this collide: every second one is named.
_MOST_TICKS = 5


def _looks(rows):
    """Return l1 strength -> colour and marker."""
    shares = sorted(rows["l1_share"].unique())
    if len(shares) > len(_LOOKS):
        raise ConfigError(f"l1_shares: {len(shares)} are too many lines for one figure; at most {len(_LOOKS)}")
    return dict(zip(shares, _LOOKS, strict=False))


def _private(rows):
    return rows[rows["mechanism"] != "nonprivate"]


def _columns(rows):
    """Return data set and delta of each column of panels."""
    return sorted({(row.dataset, row.delta) for row in _private(rows).itertuples()})


def _epsilons(rows):
    return sorted(_private(rows)["epsilon"].unique())


def _span(metric):
    """Return what the panels of a data set and a metric show: an error is a ratio, a count and a share start at 0."""

    def span(rows):
        low = rows["mean"].min() if metric == "relative_error" else 0.0
        return low, 1.0 if metric == "overlap" else rows[["mean", "high"]].max().max()

    return span


def _panels(rows):
    looks, epsilons = _looks(rows), _epsilons(rows)
    for metric, ylabel in _METRICS.items():
        across = []
        for dataset, delta in _columns(rows):
            lines = [
                line.but(
                    label="", colour=colour, marker=marker, where={**line.where, "l1_share": share, "delta": delta},
                    statistic="points", band=0.12, bars=0.8, cut=True, more={"mew": 0.9, "zorder": 3},
                )
                for line in _CALIBRATIONS
                for share, (colour, marker) in looks.items()
            ]  # fmt: skip
            levels = [
                Level(
                    lambda rows: rows["mean"].iloc[0], "", colour, (0, (1, 1)),
                    {"mechanism": "nonprivate", "l1_share": share}, {"lw": 0.9, "zorder": 1.5},
                )
                for share, (colour, _) in looks.items()
            ]  # fmt: skip
            title = "" if metric != "relative_error" else f"{dataset}\n{equals('δ', delta)}"
            across.append(
                Panel(
                    lines, "epsilon", "" if across else ylabel, title, {"dataset": dataset, "metric": metric}, levels,
                    epsilons=True, xticks=epsilons[::2] if len(epsilons) > _MOST_TICKS else epsilons,
                    xlim=(epsilons[0] / 1.35, epsilons[-1] * 1.35), span=_span(metric), exactly=True, sharex=True,
                    same_y=f"{metric} on {dataset}", empty="no converged fit", title_look={},
                )
            )  # fmt: skip
        yield across


def _legend(rows):
    looks = [Line(f"Λ = {number(share)} n′", *look) for share, look in _looks(rows).items()]
    return [*looks, *_CALIBRATIONS, _LEVEL]


def _notes(rows):
    private = _private(rows)
    repeats = sorted((private["ok"] + private["failed"]).unique())
    return [
        "Lasso by objective perturbation: squared loss within a box, Λ times the l1 norm, add/remove. Every Λ that was "
        "tried; n′: size of the private sample by the public shares. Test error 1: a prediction of the mean. Lines: "
        f"means over {' or '.join(map(str, repeats))} repeats; bands: 95 % confidence intervals of the mean (Student's "
        f"t). Data sets: {', '.join(sorted(private['dataset'].unique()))}."
    ]


lasso = Figure(
    _panels,
    height=6.04,
    width=lambda rows: 7.0 if len(_columns(rows)) > 2 else 5.2,
    where={"metric": tuple(_METRICS)},
    prepare=means("mechanism", "dataset", "delta", "calibration", "l1_share", "epsilon", "metric"),
    keep_failed=True,
    legend=_legend,
    notes=_notes,
)


def _count(*statuses):
    """Return the largest number of repeats of a metric whose status is one of these, of the non-private fit too."""

    def count(part):
        here = part[part["status"].isin(statuses)]
        return int(here.groupby("metric").size().max()) if len(here) else 0

    return count


def _of_budget(part):
    """Return delta in words, a dash for the fit without privacy."""
    return "–" if math.isinf(part["epsilon"].iloc[0]) else number(part["delta"].iloc[0])


lasso_table = Table(
    [
        Column("dataset", heading="data set"),
        Column("", _of_budget, "δ"),
        Column("delta", heading=""),
        Column("epsilon", heading="ε", words=lambda epsilon: "–" if math.isinf(epsilon) else number(epsilon)),
        Column("calibration", words=lambda calibration: calibration or "non-private"),
        Column("l1_share", heading="Λ/n′", words=number),
        *(
            Interval(metric, "", title.replace("\n", " "), where={"metric": metric})
            for metric, title in _METRICS.items()
        ),
        Column("repeats", _count("ok", "failed"), ""),
        Column("failed", _count("failed"), ""),
    ],
    by=("dataset", "delta", "calibration", "l1_share", "epsilon"),
    where={"metric": tuple(_METRICS)},
    keep_failed=True,
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-lasso": Target(
        "lasso",
        ("l1_share",),
        "Lasso under objective perturbation on real data",
        "Test error relative to a prediction of the mean, number of coefficients that are not 0, and their overlap "
        "with those of the non-private lasso over epsilon, for every l1 strength that was tried, with the noise of "
        "pure privacy and with Gaussian noise. Dotted: the non-private lasso. Bands: 95 % confidence intervals of "
        "the mean.",
        "Line plots, one column for each data set and noise: test error falls to the non-private level as epsilon "
        "grows, the support shrinks from nearly all coefficients to the non-private size, the overlap rises to 1. The "
        "numbers are in the table kifer2012-lasso.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-lasso": Target(
        "lasso_table",
        ("l1_share",),
        "Lasso under objective perturbation on real data",
        "Mean over repeats with its 95 % confidence interval in brackets, for every l1 strength that was tried.",
    ),
}
