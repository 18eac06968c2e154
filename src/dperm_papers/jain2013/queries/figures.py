"""Figures and tables of jain2013-queries: specifications, and what they show in words."""

from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_pipeline.figures.looks import TRIVIAL
from dperm_pipeline.figures.spec import Facet, Figure, Line, Panel, encoded, like
from dperm_pipeline.target import Catalogue, Target

_PATH, _PROMISED = look("rkhs_gaussian", "tight"), {how: look("pinp", how) for how in ("paper", "corrected", "tight")}
_METHODS = encoded(
    "mechanism variant",
    {
        ("rkhs_gaussian", ""): _PATH,
        ("rkhs_gaussian", "fresh"): look("rkhs_gaussian", "tight", "fresh"),
        ("pinp", ""): _PROMISED["tight"],
    },
    where={"metric": "error"}, band=0.25, hollow_if="vacuous", dots={"s": 13, "lw": 0.9, "zorder": 3},
    more={"lw": 1.0},
)  # fmt: skip
_ZERO = like(TRIVIAL, line="--", where={"mechanism": "zero", "metric": "error"}, more={"lw": 1.0})
_ALL = Line("the same path, all queries", _PATH.colour, "", ":", {"metric": "supremum"}, fits=False, more={"lw": 1.2})
_LOG_T = encoded("calibration", _PROMISED, where={"vacuous": 0}, more={"lw": 1.0, "ms": 3.4})


def _slope(exponent):
    """Return the line of a slope, below the last point."""
    return lambda means: 0.55 * means.iloc[-1] * (means.index.to_series() / means.index[-1]) ** exponent


_SLOPES = [
    line.but(colour="#aaaaaa", marker="", via=_slope(2 / 3 if how == "paper" else 1.0), fits=False,
             more={"lw": 0.8, "zorder": 1})
    for how, line in zip(_PROMISED, _LOG_T, strict=True)
]  # fmt: skip


def _sizes(rows):
    """Return n, from the second on powers of 2 alone where there are some: others would touch on this axis."""
    sizes = sorted(rows["n"].unique())
    return [n for n in sizes if n == sizes[0] or (n >= 1.9 * sizes[0] and n & (n - 1) == 0)] or sizes


def _powers(rows):
    return [10.0**k for k in range(6, 16) if rows["total"].min() <= 10.0**k <= rows["total"].max()]


queries = Figure(
    [
        [
            Panel(
                [*_METHODS, _ZERO, _ALL], "n", "largest error M", "T = n³, {}", {"metric": ("error", "supremum")},
                across=Facet("curvature"), statistic="mean", xticks=_sizes, same_y="none",
                span=lambda rows: rows.loc[rows["metric"] == "error", "value"],
            ),
            Panel(
                [*_LOG_T, *_SLOPES], "total", "", "log T with 5σ/4 = CR/10", {"metric": "log_queries"},
                xlabel="nominal n, λ = 1", xticks=_powers, span=lambda rows: rows["value"].clip(lower=1), exactly=True,
            ),
        ]
    ],
    height=3.75,
    legend=[
        _METHODS[0],
        _ALL.but(more={}),
        *_METHODS[1:],
        _ZERO,
        *_LOG_T[:2],
        Line("PINP vacuous: σ ≥ CR/2", "#CC79A7", "v", "none", hollow=True),
    ],
    notes=[
        "sphere-10: w* and queries uniform directions of R¹⁰, L = R = C = ‖w*‖ = 1; no data stand behind w*, noise "
        "depends on n only through the nominal nλ. {epsilon.first}, {delta.first}, {β=gamma.max}, "
        "replace-one, {repeat.count} repeats; bands 95 % intervals of the mean. Right: formulas; grey "
        "lines have slopes 2/3 and 1.",
    ],
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "jain2013-queries": Target(
        "Section 2: how many queries can be answered",
        "Largest error over n cubed queries by one sample path of Gaussian noise, by fresh noise for each query and by "
        "PINP, over n; and the logarithm of the most queries that PINP promises to answer. w* is fixed; n lambda is "
        "nominal. Bands: 95 % confidence intervals.",
        "Three panels on logarithmic axes: the line of the Gaussian path falls and that of fresh noise rises; log T "
        "rises along slopes of 2/3 as printed and of 1 corrected.",
        metrics=("error", "supremum", "log_queries"),
    ),
}
