"""Figures and tables of jain2013-thm8: specifications, and what they show in words."""

from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_pipeline.figures.looks import TRIVIAL, equals, number
from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Line, Panel, encoded, like, power
from dperm_pipeline.target import Catalogue, Target

_MS = {"lw": 0.9, "ms": 3.2}
_CURVES = {
    ("tdil", "paper"): like(look("tdil", "paper"), label="TDIL (not private)"),
    ("tdil", "corrected"): look("tdil", "corrected"),
    ("tdil", "tight"): look("tdil", "tight"),
    ("explicit_output", "tight"): look("explicit_output", "tight"),
    ("cms11", "paper"): like(look("cms11", "paper"), label="CMS11 (pure ε)"),
    ("trivial", "paper"): like(TRIVIAL, label="ŵ = 0"),
}
_METHODS = encoded("mechanism calibration", _CURVES, statistic="mean", band=0.15, positive=True, hollow_if="vacuous")
_TDIL = [line.but(band=None, shades="degree") for line in _METHODS if line.where["mechanism"] == "tdil"]
_BOUND = Line(
    "Theorem 8 re-read, or its exponent", "#777777", "", DOTTED, y="bound_reread", statistic="first", more={"lw": 1.2}
)
_NOTHING = "nothing crosses it on this grid"
_TITLE = {"size": 7.5}


def _bound(**where):
    return _BOUND.but(where={**where, "bound_reread": lambda bound: bound <= 1})


def _stated(rows, metric, exponent):
    """Return the claimed exponent from the first point of the printed mechanism, or of the first that has any."""
    own = rows[rows["metric"] == metric]
    some = [
        how
        for how in ("paper", "corrected", "tight")
        if ((own["mechanism"] == "tdil") & (own["calibration"] == how)).any()
    ]
    where = {"mechanism": "tdil", "calibration": some[0] if some else "paper"}
    return _BOUND.but(where=where, y="value", statistic="mean", via=power(exponent))


def _panels(rows):
    grid = rows[(rows["series"] == "grid") & (rows["metric"] == "error")]
    common = sorted(grid.loc[grid["calibration"].eq("tight") & grid["mechanism"].eq("tdil"), "d"].unique())
    ends, most = [common[0], 50 if 50 in common else common[-1]], float(grid["total"].max())
    degrees = ", ".join(map(str, sorted(rows.loc[rows["series"] == "degrees", "degree"].unique())))
    totals = sorted(rows.loc[rows["metric"] == "net_digits", "total"].unique())
    # Where n is small nu is above 1, and the formula counts no net any more.
    chosen = [totals[len(totals) // 2], totals[-1]] if len(totals) > 1 else totals
    both = [
        line.but(where={**line.where, "d": d}, line=dashes)
        for d, dashes in zip(ends, ("-", DASHED), strict=False)
        for line in _METHODS
    ]
    on_grid = {"series": "grid", "metric": "error"}
    panel = Panel(_METHODS, more=_MS, xticks="decades", title_look=_TITLE, empty=_NOTHING)
    sizes = [
        Line(colour="#444444", marker="o", line=dashes, where={"total": total}, more={"lw": 1.2, "ms": 3})
        for total, dashes in zip(chosen, ("-", DASHED), strict=False)
    ]
    return [
        [
            panel.but(
                lines=[*both, _bound(d=ends[0])], x="total", title=f"d = {ends[0]} (solid), {ends[1]} (dashed)",
                ylabel="S, error over the ball", where=on_grid,
            ),
            panel.but(
                lines=[*_METHODS, _bound()], x="d", title=equals("nλ", most), ylabel="S",
                where={**on_grid, "total": most},
            ),
            panel.but(
                lines=[*_METHODS, _stated(rows, "needed", 1 / 3)], x="d", title="nλ at which S = 0.1", ylabel="nλ",
                where={"metric": "needed"},
            ),
        ],
        [
            panel.but(
                lines=[*_METHODS, _stated(rows, "crossing", 2)], x="total", title="d at which S = ‖w*‖/2", ylabel="d",
                where={"metric": "crossing"},
            ),
            panel.but(
                lines=_TDIL, x="total", title=f"degrees {degrees} (light to dark)", ylabel="S",
                where={"series": "degrees"}, more={"lw": 0.9, "ms": 3},
            ),
            panel.but(
                lines=sizes, x="d", title=f"a ν-net's size at nλ = {number(chosen[0])}, {number(chosen[-1])} (dashed)",
                ylabel="log₁₀ |S|", where={"metric": ("net_digits", "proposals")}, more={}, also=_proposals,
            ),
        ],
    ]  # fmt: skip


def _proposals(axis, rows):
    """Draw the proposals of the exact sampler on a second axis: a specification has one."""
    beside, proposals = axis.twinx(), rows[rows["metric"] == "proposals"].groupby("d")["value"].mean()
    beside.plot(proposals.index, proposals, color="#8a5f00", marker="D", ms=3)
    beside.set_ylim(0, 2.6)
    beside.grid(visible=False)
    beside.spines["right"].set_visible(True)
    beside.set_ylabel("the ball's sampler: proposals a draw", color="#8a5f00", size=7)


thm8 = Figure(
    _panels,
    height=5.6,
    legend=[*_METHODS, _BOUND],
    notes=[
        "Linear kernel, w* fixed, ‖w*‖ = C = R = L = λ = 1, {epsilon.first}, {delta.first}, {repeat.count} repeats; nλ "
        "is nominal. Hollow: B < 1, σ ≥ CR/2, or Theorem 8's bound ≥ 1. Bound: with 1 + ln(1 + Lφ) for ln Lφ = 0 "
        "(constant 1). The printed weight counts nλ twice (J1): not private. Degrees: ⟨x, v⟩ᵏ, d = 2, a public net of "
        "the disc.",
    ],
)


FIGURES: Catalogue[str, Target] = {
    "jain2013-thm8": Target(
        "Theorem 8: error of the test data independent learner over the input ball",
        "Largest error over the unit ball, over n lambda and the dimension d, beside Gaussian output and CMS11; the "
        "n lambda and the d at which it is 0.1 and half of the norm of w*; polynomial kernels; and the points of a net "
        "beside the proposals of the exact sampler. w* is fixed. Bands: 95 % confidence intervals.",
        "Six panels on logarithmic axes; the lines of TDIL lie above those of Gaussian output and CMS11 nearly "
        "everywhere.",
        metrics=("error", "needed", "crossing", "net_digits", "proposals"),
    ),
}
