"""Figures and tables of kifer2012-lasso: specifications, and what they show in words."""

import math

from dperm.errors import ConfigError
from dperm_papers.kifer2012.shared import drawing_data as shared
from dperm_pipeline.figures.looks import equals, number
from dperm_pipeline.figures.spec import DASHED, Column, Figure, Interval, Line, Table, means
from dperm_pipeline.target import Catalogue, Target

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
# More ticks than this collide: every second one is named.
_MOST_TICKS = 5


def _looks(rows):
    """Return l1 strength -> colour and marker."""
    shares = sorted(rows["l1_share"].unique())
    if len(shares) > len(_LOOKS):
        raise ConfigError(f"l1_shares: {len(shares)} are too many lines for one figure; at most {len(_LOOKS)}")
    return dict(zip(shares, _LOOKS, strict=False))


def _columns(rows):
    """Return data set and delta of each column of panels."""
    return sorted({(row.dataset, row.delta) for row in shared.private(rows).itertuples()})


def _span(metric):
    """Return what the panels of a data set and a metric show: an error is a ratio, a count and a share start at 0."""

    def span(rows):
        low = rows["mean"].min() if metric == "relative_error" else 0.0
        return low, 1.0 if metric == "overlap" else rows[["mean", "high"]].max().max()

    return span


def _panels(rows):
    looks, epsilons = _looks(rows), shared.epsilons(rows)
    levels = [shared.level(colour, l1_share=share) for share, (colour, _) in looks.items()]
    for metric, ylabel in _METRICS.items():
        across = []
        for dataset, delta in _columns(rows):
            lines = [
                shared.LINE.but(
                    colour=colour, marker=marker, line=line.line, hollow=line.hollow, band=0.12,
                    where={**line.where, "l1_share": share, "delta": delta},
                )
                for line in _CALIBRATIONS
                for share, (colour, marker) in looks.items()
            ]  # fmt: skip
            across.append(
                shared.panel(
                    lines, dataset, metric, levels=levels, span=_span(metric), ylabel="" if across else ylabel,
                    title=f"{dataset}\n{equals('δ', delta)}" if metric == "relative_error" else "",
                    xticks=epsilons[::2] if len(epsilons) > _MOST_TICKS else epsilons,
                    xlim=(epsilons[0] / 1.35, epsilons[-1] * 1.35),
                )
            )  # fmt: skip
        yield across


def _legend(rows):
    looks = [Line(f"Λ = {number(share)} n′", *look) for share, look in _looks(rows).items()]
    return [*looks, *_CALIBRATIONS, Line("non-private lasso", "#555555", line=shared.DOTS, key={"lw": 0.9})]


lasso = Figure(
    _panels,
    height=6.04,
    width=lambda rows: 7.0 if len(_columns(rows)) > 2 else 5.2,
    where={"metric": tuple(_METRICS)},
    prepare=means("mechanism", "dataset", "delta", "calibration", "l1_share", "epsilon", "metric"),
    keep_failed=True,
    legend=_legend,
    notes=lambda rows: [
        "Lasso by objective perturbation: squared loss within a box, Λ times the l1 norm, add/remove. Every Λ that was "
        "tried; n′: size of the private sample by the public shares. Test error 1: a prediction of the mean. "
        f"{shared.sample(rows)}"
    ],
)

lasso_table = Table(
    [
        Column("dataset", heading="data set"),
        Column("", shared.budget("delta"), "δ"),
        Column("delta", heading=""),
        Column("epsilon", heading="ε", words=lambda epsilon: "–" if math.isinf(epsilon) else number(epsilon)),
        Column("calibration", words=lambda calibration: calibration or "non-private"),
        Column("l1_share", heading="Λ/n′", words=number),
        *(
            Interval(metric, "", title.replace("\n", " "), where={"metric": metric})
            for metric, title in _METRICS.items()
        ),
        Column("repeats", shared.count("ok", "failed"), ""),
        Column("failed", shared.count("failed"), ""),
    ],
    by=("dataset", "delta", "calibration", "l1_share", "epsilon"),
    where={"metric": tuple(_METRICS)},
    keep_failed=True,
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-lasso": Target(
        "Lasso under objective perturbation on real data",
        "Test error relative to a prediction of the mean, number of coefficients that are not 0, and their overlap "
        "with those of the non-private lasso over epsilon, for every l1 strength that was tried, with pure and with "
        "Gaussian noise. Dotted: the non-private lasso. Bands: 95 % confidence intervals of the mean.",
        "Line plots, one column for each data set and noise: test error falls to the non-private level as epsilon "
        "grows, the support shrinks from nearly all coefficients to the non-private size, the overlap rises to 1.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-lasso": Target(
        "Lasso under objective perturbation on real data",
        "Mean over repeats with its 95 % confidence interval in brackets, for every l1 strength that was tried.",
    ),
}
