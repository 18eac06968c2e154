"""jain2013-thm8: the error of TDIL over the ball, over n lambda, d and the degree, and what its sampler costs."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# (mechanism, calibration) -> words, in the order of the legend.
_WORDS = {
    ("tdil", "paper"): "TDIL (not private)",
    ("tdil", "corrected"): "TDIL, corrected",
    ("tdil", "tight"): "TDIL, tight",
    ("explicit_output", "tight"): "Gaussian output",
    ("cms11", "paper"): "CMS11 (pure ε)",
    ("trivial", "paper"): "ŵ = 0",
}
_CURVES = {key: style.TRIVIAL if key[0] == "trivial" else style.look(*key) for key in _WORDS}
_TDIL = [key for key in _CURVES if key[0] == "tdil"]
_BOUND = ("#777777", (0, (1, 1.2)))
_LINES = ("-", (0, (4, 1.6)))


def thm8(rows: pd.DataFrame) -> Figure:
    """Draw S over n lambda, d and degrees, the n lambda and the d that it asks for, and the sampler's cost.

    - rows: of the experiment jain2013-thm8.
    - Returns: lines: means over repeats with 95 % intervals; hollow where Theorem 8, or the mechanism, is vacuous.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[rows["status"] == "ok"]
    grid = rows[(rows["series"] == "grid") & (rows["metric"] == "error")]
    common = sorted(grid.loc[grid["calibration"].eq("tight") & grid["mechanism"].eq("tdil"), "d"].unique())
    ends = [common[0], 50 if 50 in common else common[-1]]
    most = float(grid["total"].max())
    figure = Figure(figsize=(7.0, 5.6))
    (first, second, third), (fourth, fifth, sixth) = figure.subplots(2, 3)
    for line, d in zip(_LINES, ends, strict=True):
        _lines(first, grid[grid["d"] == d], "total", line)
    _bound(first, grid[grid["d"] == ends[0]], "total")
    _finish(first, f"d = {ends[0]} (solid), {ends[1]} (dashed)", "nλ", "S, error over the ball")
    _lines(second, grid[grid["total"] == most], "d", "-")
    _bound(second, grid[grid["total"] == most], "d")
    _finish(second, style.equals("nλ", most), "d", "S")
    _lines(third, rows[rows["metric"] == "needed"], "d", "-")
    _slope(third, rows[rows["metric"] == "needed"], "d", 1 / 3)
    _finish(third, "nλ at which S = 0.1", "d", "nλ")
    _lines(fourth, rows[rows["metric"] == "crossing"], "total", "-")
    _slope(fourth, rows[rows["metric"] == "crossing"], "total", 2)
    _finish(fourth, "d at which S = ‖w*‖/2", "nλ", "d")
    _degrees(fifth, rows[rows["series"] == "degrees"])
    _cost(sixth, rows)
    handles = [
        Line2D([], [], color=_CURVES[key].colour, marker=_CURVES[key].marker, label=_WORDS[key]) for key in _WORDS
    ]
    handles.append(Line2D([], [], color=_BOUND[0], ls=_BOUND[1], label="Theorem 8 re-read, or its exponent"))
    one = rows.iloc[0]
    lines = [
        f"Linear kernel, w* fixed, ‖w*‖ = C = R = L = λ = 1, {style.equals('ε', one['epsilon'])}, "
        f"{style.equals('δ', one['delta'])}, {int(grid['repeat'].max()) + 1} repeats; nλ is nominal. Hollow: B < 1, "
        "σ ≥ CR/2, or Theorem 8's bound ≥ 1. Bound: with 1 + ln(1 + Lφ) for ln Lφ = 0 (constant 1). The printed weight "
        "counts nλ twice (J1): not private. Degrees: ⟨x, v⟩ᵏ, d = 2, a public net of the disc.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def _of(rows: pd.DataFrame, key: tuple[str, str]) -> pd.DataFrame:
    return rows[(rows["mechanism"] == key[0]) & (rows["calibration"] == key[1])]


def _lines(axis: Axes, rows: pd.DataFrame, over: str, line: object) -> None:
    for key, look in _CURVES.items():
        colour, marker = look.colour, look.marker
        part = _of(rows, key)
        if part.empty:
            continue
        groups = list(part.groupby(over, sort=True))
        x = np.array([at for at, _ in groups], float)
        mean, low, high = np.array([style.mean_interval(group["value"].to_numpy()) for _, group in groups]).T
        axis.plot(x, mean, color=colour, ls=line, lw=0.9)
        if marker:
            vacuous = np.array([bool(group["vacuous"].iloc[0]) for _, group in groups])
            for mask, face in ((vacuous, "white"), (~vacuous, colour)):
                axis.plot(x[mask], mean[mask], color=colour, marker=marker, mfc=face, ms=3.2, ls="")
        axis.fill_between(x, np.where(low > 0, low, mean), high, color=colour, alpha=0.15, lw=0)


def _bound(axis: Axes, rows: pd.DataFrame, over: str) -> None:
    bound = rows.groupby(over)["bound_reread"].first().sort_index()
    bound = bound[bound <= 1]
    axis.plot(bound.index, bound, color=_BOUND[0], ls=_BOUND[1])


def _slope(axis: Axes, rows: pd.DataFrame, over: str, exponent: float) -> None:
    """Draw the claimed exponent from the first point of the printed mechanism, or of the first that has any."""
    for key in _TDIL:
        line = _of(rows, key).groupby(over)["value"].mean()
        if len(line):
            x, y = line.index.to_numpy(float), line.to_numpy()
            axis.plot(x, y[0] * (x / x[0]) ** exponent, color=_BOUND[0], ls=_BOUND[1])
            return


def _finish(axis: Axes, title: str, x: str, y: str) -> None:
    axis.set_title(title, size=7.5)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    drawn = [line for line in axis.lines if len(line.get_xdata())]
    if not drawn:
        axis.text(0.5, 0.5, "nothing crosses it on this grid", transform=axis.transAxes, ha="center", size=7)
        return
    axis.set_xscale("log")
    values = np.concatenate([line.get_ydata() for line in drawn])
    style.value_axis(axis.yaxis, values.min(), values.max())
    ticks = np.unique(np.concatenate([line.get_xdata() for line in drawn]))
    if ticks.max() / ticks.min() > 3e3:
        ticks = ticks[np.isclose(np.log10(ticks) % 1, 0)]
    ticks = ticks[:: -(-len(ticks) // 5)]
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()


def _degrees(axis: Axes, rows: pd.DataFrame) -> None:
    degrees = sorted(rows["degree"].unique())
    for key in _TDIL:
        look = _CURVES[key]
        for degree, shade in zip(degrees, style.shades(look.colour, len(degrees)), strict=True):
            groups = _of(rows[rows["degree"] == degree], key).groupby("total")
            mean, vacuous = groups["value"].mean(), groups["vacuous"].max() == 1
            axis.plot(mean.index, mean, color=shade, lw=0.9)
            for part, face in ((mean[vacuous], "white"), (mean[~vacuous], shade)):
                axis.plot(part.index, part, color=shade, marker=look.marker, mfc=face, ms=3, ls="")
    _finish(axis, f"degrees {', '.join(map(str, degrees))} (light to dark)", "nλ", "S")


def _cost(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw the digits of |S| over d and, on a second axis, the proposals of the exact sampler."""
    digits = rows[rows["metric"] == "net_digits"]
    totals = sorted(digits["total"].unique())
    # Where n is small nu is above 1, and the formula counts no net any more.
    chosen = [totals[len(totals) // 2], totals[-1]] if len(totals) > 1 else totals
    for total, line in zip(chosen, _LINES, strict=False):
        part = digits[digits["total"] == total].sort_values("d")
        axis.plot(part["d"], part["value"], color="#444444", ls=line, marker="o", ms=3)
    title = f"a ν-net's size at nλ = {style.number(chosen[0])}, {style.number(chosen[-1])} (dashed)"
    _finish(axis, title, "d", "log₁₀ |S|")
    beside = axis.twinx()
    proposals = rows[rows["metric"] == "proposals"].groupby("d")["value"].mean()
    beside.plot(proposals.index, proposals, color="#8a5f00", marker="D", ms=3)
    beside.set_ylim(0, 2.6)
    beside.grid(visible=False)
    beside.spines["right"].set_visible(True)
    beside.set_ylabel("the ball's sampler: proposals a draw", color="#8a5f00", size=7)
