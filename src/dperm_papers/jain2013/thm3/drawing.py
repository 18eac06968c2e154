"""jain2013, Theorem 3: the largest error of private interactive prediction, and its B and sigma."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dperm_pipeline.figures import style

# (mechanism, calibration) -> look, in the order of the legend.
METHODS = {
    **{
        key: style.look(*key)
        for key in (("pinp", "paper"), ("pinp", "corrected"), ("pinp", "tight"), ("rkhs_gaussian", "tight"))
    },
    ("zero", ""): style.TRIVIAL,
}
_BOUND = ("#000000", (0, (1, 1.2)))
_SHADE = "#ececec"
_LABELS = {"queries": "T", "total": "nλ", "radius": "C"}


def thm3(rows: pd.DataFrame) -> Figure:
    """Draw M over T, n lambda and C, and B and sigma over n lambda.

    - rows: of the experiment jain2013-thm3.
    - Returns: bands: 95 % intervals of the mean over repeats; hollow markers where the bound or the mechanism is
      vacuous.
    """
    rows = rows[rows["status"] == "ok"]
    figure = Figure(figsize=(7.0, 5.3))
    (low, high, over_total), (over_radius, updates, threshold) = figure.subplots(2, 3)
    errors = rows[(rows["metric"] == "error") & (rows["radius"] == 1)]
    nominal = errors[errors["fixed"] == "lambda"]
    counts = nominal.groupby("total")["queries"].nunique()
    for axis, total in zip((low, high), sorted(counts.index[counts > 1]), strict=True):
        _lines(axis, nominal[nominal["total"] == total], "queries")
        axis.set_title(f"nλ = {style.number(total)}")
    queries = int(nominal.groupby("queries")["total"].nunique().idxmax())
    main = nominal[nominal["queries"] == queries]
    _lines(over_total, main, "total")
    _crosses(over_total, errors[errors["fixed"] == "n"])
    over_total.set_title(style.equals("T", queries))
    total = float(rows.loc[rows["radius"] != 1, "total"].max())
    at = rows[(rows["queries"] == queries) & (rows["total"] == total) & (rows["fixed"] == "lambda")]
    _lines(over_radius, at[at["metric"] == "error"], "radius", bands=False)
    over_radius.set_title(f"{style.equals('T', queries)}, nλ = {style.number(total)}")
    own = rows[(rows["fixed"] == "lambda") & (rows["queries"] == queries) & (rows["radius"] == 1)]
    _constants(updates, own[own["metric"] == "allowed"], below=1.0)
    _constants(threshold, own[own["metric"] == "threshold"], above=0.5)
    updates.set_title(f"B, {style.equals('T', queries)}")
    threshold.set_title(f"σ/(CR), {style.equals('T', queries)}")
    low.set_ylabel("largest error M")
    over_radius.set_ylabel("largest error M")
    _footer(figure, rows)
    return figure


def _footer(figure: Figure, rows: pd.DataFrame) -> None:
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, ls="-" if look.marker else "--", label=look.label)
        for look in METHODS.values()
    ]
    fixed = style.equals("n", *sorted(rows.loc[rows["fixed"] == "n", "n"].unique()))
    colour, dotted = _BOUND
    handles += [
        Line2D([], [], color=colour, ls=dotted, label="Theorem 3, constant 1"),
        Line2D([], [], color="#666666", marker="s", mfc="white", ls="", label="vacuous bound or mechanism"),
        Line2D([], [], color="#666666", marker="x", ls="", label=f"at fixed {fixed}, not λ = 1"),
        Patch(color=_SHADE, label="B < 1 or σ ≥ CR/2"),
    ]
    head = rows[rows["mechanism"] == "pinp"].iloc[0]
    halted = rows[(rows["metric"] == "halted") & (rows["value"] > 0)]
    lines = [
        "sphere-10: w* and queries uniform directions of R¹⁰, L = R = 1, C = ‖w*‖ = 1 but in the fourth panel; no "
        f"data stand behind w*, noise depends on n only through the nominal nλ. {style.equals('ε', head['epsilon'])}, "
        f"{style.equals('δ', head['delta'])}, {style.equals('β', rows['gamma'].max())}, replace-one, "
        f"{int(rows['repeat'].max()) + 1} repeats; bands (mostly hidden by lines) 95 % intervals of the mean.",
    ]
    if len(halted):
        where = style.equals("C", *sorted(halted["radius"].unique()))
        lines.append(f"At {where} Algorithm 1 halts before the last query: no error can be given for it.")
    style.footer(figure, handles, columns=3, lines=lines)


def _lines(axis: Axes, rows: pd.DataFrame, over: str, *, bands: bool = True) -> None:
    """Draw M of all mechanisms, and Theorem 3's expression."""
    axis.set_xscale("log")
    for (mechanism, calibration), look in METHODS.items():
        colour, marker = look.colour, look.marker
        own = rows[(rows["mechanism"] == mechanism) & (rows["calibration"] == calibration)]
        groups = [(x, part) for x, part in own.groupby(over, sort=True)]
        means = np.array([style.mean_interval(part["value"].to_numpy()) for _, part in groups])
        x = [value for value, _ in groups]
        axis.plot(x, means[:, 0], color=colour, lw=1.0, ls="-" if marker else "--")
        if bands and mechanism != "zero":
            axis.fill_between(x, means[:, 1], means[:, 2], color=colour, alpha=0.25, lw=0)
        if marker:
            faces = ["white" if part["vacuous"].max() else colour for _, part in groups]
            axis.scatter(x, means[:, 0], c=faces, edgecolors=colour, marker=marker, s=13, lw=0.9, zorder=3)
    bound = rows[rows["mechanism"] == "zero"].groupby(over)["bound"].first()
    axis.plot(bound.index, bound, color=_BOUND[0], ls=_BOUND[1], lw=1.0)
    _dress(axis, over, [*rows["value"], *bound])


def _crosses(axis: Axes, rows: pd.DataFrame) -> None:
    for (mechanism, calibration), look in METHODS.items():
        own = rows[(rows["mechanism"] == mechanism) & (rows["calibration"] == calibration)]
        means = own.groupby("total")["value"].mean()
        axis.plot(means.index, means, color=look.colour, marker="x", ms=5.5, mew=0.8, ls="", zorder=4)


def _constants(axis: Axes, rows: pd.DataFrame, *, below: float = 0.0, above: float = np.inf) -> None:
    """Draw B or sigma of each calibration; what lies below or above is vacuous."""
    axis.set_xscale("log")
    for (mechanism, calibration), look in METHODS.items():
        own = rows[(rows["mechanism"] == mechanism) & (rows["calibration"] == calibration)].sort_values("total")
        if len(own):
            x, y = own["total"], own["value"]
            axis.plot(x, y, color=look.colour, lw=1.0)
            faces = np.where(own["vacuous"] == 1, "white", look.colour)
            axis.scatter(x, y, c=faces, edgecolors=look.colour, marker=look.marker, s=13, lw=0.9, zorder=3)
    _dress(axis, "total", [*rows["value"], *(value for value in (below, above) if 0 < value < np.inf)])
    bottom, top = axis.get_ylim()
    axis.axhspan(bottom, max(bottom, below), color=_SHADE, lw=0, zorder=0)
    axis.axhspan(min(top, above), top, color=_SHADE, lw=0, zorder=0)


def _dress(axis: Axes, over: str, values: list[float]) -> None:
    style.value_axis(axis.yaxis, min(values), max(values))
    low, high = axis.get_xlim()
    ticks = [10.0**k for k in range(-2, 13) if low <= 10.0**k <= high]
    ticks = ticks[:: -(-len(ticks) // 4)]
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel(_LABELS[over])
