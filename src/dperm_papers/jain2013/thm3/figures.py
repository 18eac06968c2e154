"""Figures and tables of jain2013-thm3: specifications, and what they show in words."""

from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_pipeline.figures.looks import TRIVIAL, equals, number
from dperm_pipeline.figures.spec import DOTTED, Figure, Line, Panel, encoded, like
from dperm_pipeline.target import Catalogue, Target

_DOTS = {"s": 13, "lw": 0.9, "zorder": 3}
_PINP = encoded("mechanism calibration", {("pinp", how): look("pinp", how) for how in ("paper", "corrected", "tight")})
_PATH = encoded("mechanism calibration", {("rkhs_gaussian", "tight"): look("rkhs_gaussian", "tight")})
_ZERO = like(TRIVIAL, line="--", where={"mechanism": "zero"})
_METHODS = [line.but(hollow_if="vacuous", dots=_DOTS, band=0.25) for line in (*_PINP, *_PATH)]
_BOUND = Line("Theorem 3, constant 1", "#000000", "", DOTTED, {"mechanism": "zero"}, y="bound", statistic="first")
_CROSSES = [
    line.but(label="", marker="x", line="none", where={**line.where, "fixed": "n"}, fits=False,
             more={"ms": 5.5, "mew": 0.8, "zorder": 4})
    for line in (*_PINP, *_PATH, _ZERO)
]  # fmt: skip
_SHADE = "#ececec"


def _errors(rows):
    return [*rows.loc[rows["fixed"] == "lambda", "value"]]


_ERROR = Panel(
    [*_METHODS, _ZERO, _BOUND], "queries", "", statistic="mean", xlabel="T", xticks="powers", most=4, span=_errors,
    more={"lw": 1.0},
)  # fmt: skip


def _shaded(axis, low, high):
    """Shade what is vacuous, up to the edge of the panel: a specification has bands of lines alone."""
    bottom, top = axis.get_ylim()
    axis.axhspan(bottom, max(bottom, low), color=_SHADE, lw=0, zorder=0)
    axis.axhspan(min(top, high), top, color=_SHADE, lw=0, zorder=0)


def _panels(rows):
    errors = {"metric": "error", "radius": 1}
    nominal = rows[(rows["metric"] == "error") & (rows["radius"] == 1) & (rows["fixed"] == "lambda")]
    counts = nominal.groupby("total")["queries"].nunique()
    few, many = sorted(counts.index[counts > 1])
    T = int(nominal.groupby("queries")["total"].nunique().idxmax())
    total = float(rows.loc[rows["radius"] != 1, "total"].max())
    at_T, on_total = equals("T", T), _ERROR.but(x="total", xlabel="nλ")
    over_total = [line.but(where={**line.where, "fixed": "lambda"}) for line in _ERROR.lines]
    over_radius = [line.but(band=None) for line in _ERROR.lines]
    constant = on_total.but(lines=[line.but(band=None) for line in _METHODS], statistic="value")
    own = {"fixed": "lambda", "queries": T, "radius": 1}
    return [
        [
            *(
                _ERROR.but(title=f"nλ = {number(value)}", where={**errors, "fixed": "lambda", "total": value}, ylabel=y)
                for value, y in ((few, "largest error M"), (many, ""))
            ),
            on_total.but(lines=[*over_total, *_CROSSES], title=at_T, where={**errors, "queries": T}),
        ],
        [
            _ERROR.but(
                lines=over_radius, x="radius", xlabel="C", title=f"{at_T}, nλ = {number(total)}",
                ylabel="largest error M",
                where={"metric": "error", "fixed": "lambda", "queries": T, "total": total},
            ),
            constant.but(
                title=f"B, {at_T}", where={**own, "metric": "allowed"}, span=lambda rows: [*rows["value"], 1.0],
                also=lambda axis, rows: _shaded(axis, 1.0, float("inf")),
            ),
            constant.but(
                title=f"σ/(CR), {at_T}", where={**own, "metric": "threshold"},
                span=lambda rows: [*rows["value"], 0.5], also=lambda axis, rows: _shaded(axis, 0.0, 0.5),
            ),
        ],
    ]  # fmt: skip


def _legend(rows):
    from matplotlib.patches import Patch

    fixed = equals("n", *sorted(rows.loc[rows["fixed"] == "n", "n"].unique()))
    return [
        *(line.but(hollow=False) for line in (*_PINP, *_PATH, _ZERO)),
        _BOUND,
        Line("vacuous bound or mechanism", "#666666", "s", "none", hollow=True),
        Line(f"at fixed {fixed}, not λ = 1", "#666666", "x", "none"),
        Patch(color=_SHADE, label="B < 1 or σ ≥ CR/2"),
    ]


def _notes(rows):
    yield (
        "sphere-10: w* and queries uniform directions of R¹⁰, L = R = 1, C = ‖w*‖ = 1 but in the fourth panel; no "
        "data stand behind w*, noise depends on n only through the nominal nλ. {epsilon.first:mechanism=pinp}, "
        "{delta.first:mechanism=pinp}, {β=gamma.max}, replace-one, {repeat.count} repeats; "
        "bands (mostly hidden by lines) 95 % intervals of the mean."
    )
    halted = rows[(rows["metric"] == "halted") & (rows["value"] > 0)]
    if len(halted):
        where = equals("C", *sorted(halted["radius"].unique()))
        yield f"At {where} Algorithm 1 halts before the last query: no error can be given for it."


thm3 = Figure(_panels, height=5.3, legend=_legend, notes=_notes)


FIGURES: Catalogue[str, Target] = {
    "jain2013-thm3": Target(
        "Theorem 3: error of private interactive prediction",
        "Largest error of PINP as printed, corrected and tight, of one sample path of Gaussian noise and of the answer "
        "0 over the number of queries, n lambda and C, and PINP's B and sigma. w* is fixed; noise depends on n only "
        "through the nominal n lambda. Bands: 95 % confidence intervals.",
        "Six panels on logarithmic axes: the printed algorithm close to the answer 0 until n lambda is in the "
        "millions, the corrected and tight ones below it, and the Gaussian path orders of magnitude below all.",
        metrics=("error", "allowed", "threshold", "halted"),
    ),
}
