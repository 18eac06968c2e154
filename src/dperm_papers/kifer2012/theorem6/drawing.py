"""Exp-mech of kifer2012: right support and excess risk over n, Theorem 34's tail, and Theorem 6's growth in s."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Calibration -> name, colour; design -> name, marker. Dashes are left to bounds.
_CALIBRATIONS = {"paper": ("printed", "#D55E00"), "tight": ("tight", "#0072B2")}
_DESIGNS = {"rademacher": ("random signs", "o"), "planted": ("planted", "D")}
_GREY = "#777777"
# The bound that is drawn over n: half of all draws may lie above it.
_GAMMA = 0.5
# The stated slope starts this far below the measured line.
_BELOW = 3.0


def theorem6(rows: pd.DataFrame) -> Figure:
    """Draw how well Exp-mech selects, beside what Theorems 6 and 34 state.

    - rows: of the experiment kifer2012-theorem6.
    - Returns: P(right support) and mean excess over n at the smallest p and s (bands: 95 % over data sets); the excess
      that is exceeded with probability gamma over gamma, and the mean excess over s at the largest p, on the planted
      design.
    """
    rows = _plain(rows)
    wide = rows["p"] == rows["p"].max()
    near = rows[rows["dataset"] == "rademacher"]
    p, size = int(near["p"].min()), int(near["s"].min())
    here = rows[(rows["p"] == p) & (rows["s"] == size)]
    figure = Figure(figsize=(7.0, 5.4))
    axes = figure.subplots(2, 2)
    _right(axes[0, 0], near)
    axes[0, 0].set_title(f"P(right support), {_several('p', near['p'])}, {_several('s', near['s'])}", size=8)
    _excess(axes[0, 1], here)
    axes[0, 1].set_title(f"mean excess risk, p = {p}, s = {size}", size=8)
    planted = here[here["dataset"] == "planted"]
    _quantiles(axes[1, 0], planted[planted["n"] == planted["n"].max()])
    axes[1, 0].set_title(f"excess exceeded with P ≤ γ, p = {p}, s = {size}, planted", size=8)
    slope = rows[wide & (rows["dataset"] == "planted")]
    _growth(axes[1, 1], slope[slope["n"] == slope["n"].max()])
    axes[1, 1].set_title(f"mean excess risk over s, p = {style.number(slope['p'].iloc[0])}, planted", size=8)
    handles = [
        *(Line2D([], [], color=colour, lw=2.5, label=f"{name} weights") for name, colour in _CALIBRATIONS.values()),
        *(Line2D([], [], color="black", marker=marker, lw=0.9, label=name) for name, marker in _DESIGNS.values()),
        Line2D([], [], color=_GREY, lw=1.0, ls=(0, (6, 2)), label="bound of Theorem 34 (over n: γ = 0.5)"),
        Line2D([], [], color=_GREY, lw=1.0, ls=(0, (1, 1.2)), label="s³, Theorem 6 (shifted down)"),
    ]  # fmt: skip
    ends = [("γ", planted), ("s", slope)]
    sizes = [f"{style.number(frame['n'].max())} (over {name})" for name, frame in ends if len(frame)]
    several = ""
    if len(near[["p", "s"]].drop_duplicates()) > 1:
        several = f" P(right support): filled markers s = {size}, open ones above; p rises from left to right."
    lines = [
        f"Exponential mechanism over all supports of size s, {style.equals('ε', rows['epsilon'].iloc[0])}, add/remove. "
        f"All laws are exact; random signs: means over {int(near['repeat'].max()) + 1} data sets, 95 % bands. Planted: "
        f"one data set, the same for both weights; n = {' and '.join(sizes)}. Tight weights are four times the printed "
        f"ones (erratum K5).{several}",
    ]  # fmt: skip
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that succeeded, categories as text: they would group by what is not there."""
    rows = rows[rows["status"] == "ok"]
    return rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})


def _several(name: str, values: pd.Series) -> str:
    return f"{name} = {', '.join(map(style.number, sorted(values.unique())))}"


def _means(rows: pd.DataFrame, metric: str) -> Iterator[tuple[Any, np.ndarray, np.ndarray]]:
    """Give calibration, p and s with the n and the mean and its interval at each."""
    for key, line in rows[rows["metric"] == metric].groupby(["calibration", "p", "s"], sort=True):
        points = line.groupby("n", sort=True)["value"]
        yield key, np.array(sorted(points.groups), dtype=float), np.array([style.mean_interval(v) for _, v in points])


def _right(axis: Axes, rows: pd.DataFrame) -> None:
    first = rows["s"].min()
    for (calibration, _, size), n, values in _means(rows, "right"):
        colour, marker = _CALIBRATIONS[calibration][1], _DESIGNS["rademacher"][1]
        face = colour if size == first else "white"
        axis.plot(n, values[:, 0], color=colour, marker=marker, mfc=face, ms=3, lw=0.9)
        axis.fill_between(n, np.maximum(values[:, 1], 0), np.minimum(values[:, 2], 1), color=colour, alpha=0.18, lw=0)
    axis.set_ylim(-0.03, 1.03)
    _x_axis(axis, "n", rows["n"])


def _excess(axis: Axes, rows: pd.DataFrame) -> None:
    shown = []
    for design, (_, marker) in _DESIGNS.items():
        for (calibration, *_), n, values in _means(rows[rows["dataset"] == design], "excess_risk"):
            colour = _CALIBRATIONS[calibration][1]
            axis.plot(n, values[:, 0], color=colour, marker=marker, ms=3, lw=0.9)
            if design == "rademacher":
                low = np.maximum(values[:, 1], values[:, 0] / 10)
                axis.fill_between(n, low, values[:, 2], color=colour, alpha=0.18, lw=0)
            shown.append(values[:, 0])
    bounds = rows[(rows["metric"] == "bound") & (rows["gamma"] == _GAMMA)]
    for calibration, line in bounds.groupby("calibration", sort=True):
        line = line.groupby("n", sort=True)["value"].first()
        axis.plot(line.index, line, color=_CALIBRATIONS[calibration][1], ls=(0, (6, 2)), lw=0.9, alpha=0.7)
        shown.append(line.to_numpy())
    _x_axis(axis, "n", rows.loc[rows["metric"] == "excess_risk", "n"])
    # Far below lies what no draw would ever show.
    low, high = min(map(np.min, shown)), max(map(np.max, shown))
    style.value_axis(axis.yaxis, max(low, high * 1e-8), high)


def _quantiles(axis: Axes, rows: pd.DataFrame) -> None:
    shown = [0.0]
    for calibration, line in rows[rows["metric"] == "quantile"].groupby("calibration", sort=True):
        colour, line = _CALIBRATIONS[calibration][1], line.sort_values("gamma")
        axis.plot(line["gamma"], line["value"], color=colour, marker=_DESIGNS["planted"][1], ms=3.5, lw=0.9)
        bound = rows[(rows["metric"] == "bound") & (rows["calibration"] == calibration)].sort_values("gamma")
        axis.plot(bound["gamma"], bound["value"], color=colour, ls=(0, (6, 2)), lw=0.9, alpha=0.7)
        shown += [*line["value"], *bound["value"]]
    _x_axis(axis, "γ", rows.loc[rows["metric"] == "quantile", "gamma"])
    style.value_axis(axis.yaxis, 0.0, max(shown))


def _growth(axis: Axes, rows: pd.DataFrame) -> None:
    # The design attains the theorem for the printed weights; the tight ones lose almost nothing on it.
    rows = rows[rows["calibration"] == "paper"].sort_values("s")
    colour = _CALIBRATIONS["paper"][1]
    line = rows[rows["metric"] == "excess_risk"]
    s, value = line["s"].to_numpy(dtype=float), line["value"].to_numpy()
    bound = rows[(rows["metric"] == "bound") & (rows["gamma"] == _GAMMA)]
    stated = value[0] * (s / s[0]) ** 3 / _BELOW
    axis.plot(s, value, color=colour, marker=_DESIGNS["planted"][1], ms=3.5, lw=0.9)
    axis.plot(s, stated, color=_GREY, lw=1.2, ls=(0, (1, 1.2)))
    axis.plot(bound["s"], bound["value"], color=colour, ls=(0, (6, 2)), lw=0.9, alpha=0.7)
    _x_axis(axis, "s", line["s"])
    style.value_axis(axis.yaxis, stated.min(), bound["value"].max())


def _x_axis(axis: Axes, name: str, values: pd.Series) -> None:
    """Make a logarithmic x-axis with a tick at the values, of many at every decade."""
    values = sorted(values.unique())
    axis.set_xscale("log")
    low, high = values[0] / 1.3, values[-1] * 1.3
    ticks = values if len(values) <= 6 else [10.0**k for k in range(-9, 10) if low <= 10.0**k <= high]
    axis.set_xticks(ticks, [style.number(value) for value in ticks])
    axis.minorticks_off()
    axis.set_xlim(low, high)
    axis.set_xlabel(name)
