"""Figures and tables of jain2013-thm12: specifications, and what they show in words."""

from dperm_pipeline.figures.looks import MEDIUM_DASHED
from dperm_pipeline.figures.spec import Figure, Line, Panel, encoded, most
from dperm_pipeline.target import Catalogue, Target

_LAWS = {
    "sphere": ("linear f, φ on the sphere", "#0072B2", "o"),
    "one-hot": ("linear f, φ one-hot", "#E69F00", "s"),
    "interval": ("|⟨w, φ⟩|, d = 1", "#009E73", "^"),
    "disc": ("|⟨w, φ⟩|, d = 2", "#CC79A7", "D"),
}
_LINES = (
    *encoded("dataset", _LAWS, statistic="quantiles", bars=0.8, more={"lw": 0.9}),
    Line("Theorem 12, constant 1", "#333333", "", MEDIUM_DASHED, y="bound", statistic="first"),
)


_OVER_T = Panel(
    _LINES, "queries", "sup over the ball of |E f − mean f|", "over T (linear f: d = {#d.max:form=linear})",
    xticks="all", whole_bands=True,
    prepare=lambda rows: rows[(rows["form"] == "absolute") | (rows["d"] == rows["d"].max())],
)  # fmt: skip
thm12 = Figure(
    [
        [
            _OVER_T,
            _OVER_T.but(x="d", ylabel="", title="over d, T = {#queries.max}", where={"form": "linear", "queries": most},
                        prepare=None),
        ]
    ],
    height=3.3,
    where={"metric": "deviation"},
    notes=[
        "Markers: 95 % quantiles of {repeat.count} repeats, bars from the median to the largest; the supremum is "
        "exact. ‖w‖ ≤ 1, ‖φ‖ ≤ 1, β\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.05: √(log(1/β)/T).",
    ],
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "jain2013-thm12": Target(
        "Theorem 12: uniform deviation of means over public points",
        "Exact supremum over the unit ball of the difference between a mean over T points and its expectation, over T "
        "and over the dimension, beside the bound with constant 1. Markers: 95 % quantiles; bars: from the median to "
        "the largest repeat.",
        "Two panels on logarithmic axes; all markers lie below the dashed line of the bound, parallel to it over T.",
        metrics=("deviation",),
    ),
}
