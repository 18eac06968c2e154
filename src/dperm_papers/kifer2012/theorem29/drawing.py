"""Theorem 29 of kifer2012: the risk on new records over n, and what privacy costs there over p."""

import itertools

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Delta of -> name, colour, marker.
ROWS = {
    "printed": ("Theorem 29, printed", "#D55E00", "s"),
    "mended": ("Theorem 29, mended", "#0072B2", "o"),
}
_GREY = "#777777"
_DOTTED, _DASHED = (0, (1, 1.2)), (0, (6, 2))
# Of n, on the right: a hue that is no row's, darker as n rises, and a marker.
_HUE, _MARKERS = "#009E73", ("o", "s", "^", "D", "v")


def theorem29(rows: pd.DataFrame) -> Figure:
    """Draw the excess risk on new records over n with its bounds, and its ratio to that without privacy over p.

    - rows: of the experiment kifer2012-theorem29.
    - Returns: all numbers are exact. On the right Delta is the printed one, which the paper speaks of.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    coin = rows[rows["dataset"] == "coin"]
    ratios = rows[(rows["metric"] == "private_ratio") & (rows["row"] == "printed")]
    figure = Figure(figsize=(7.0, 3.6))
    left, right = figure.subplots(1, 2, squeeze=True)
    _over_n(left, coin)
    left.set_title("one coin: mean excess risk on new records", size=8)
    sizes = sorted(int(n) for n in ratios["n"].unique())
    looks = dict(zip(sizes, zip(style.shades(_HUE, len(sizes)), itertools.cycle(_MARKERS), strict=False), strict=True))
    _over_p(right, ratios, looks)
    right.set_title("p coins: excess risk with privacy / without", size=8)
    handles = [
        Line2D([], [], color=colour, marker=marker, label=f"Δ of {name}") for name, colour, marker in ROWS.values()
    ]
    handles += [
        Line2D([], [], color=colour, ls=_DASHED, lw=1.0, label=f"bound of {name}") for name, colour, _ in ROWS.values()
    ]
    handles += [
        Line2D([], [], color=colour, marker=marker, label=f"p coins, n = {n:,}")
        for n, (colour, marker) in looks.items()
    ]
    handles.append(Line2D([], [], color=_GREY, ls=_DOTTED, label="√p, as the paper states it"))
    first = rows.iloc[0]
    lines = [
        "Huber loss of knee 1/2, y = 1 with probability 1/2 + 1/(2√m), else −1, m records on each axis (one coin: "
        f"m = n; p coins: m = n/p); Gaussian noise, {style.equals('ε', first['epsilon'])}, "
        f"{style.equals('δ', first['delta'])}; exact means over records and noise, no repeats. The printed bound "
        "leaves out what sampling costs. Right: Δ of Theorem 29, printed; the ratio depends on n/p alone.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def _over_n(axis: Axes, coin: pd.DataFrame) -> None:
    axis.set_xscale("log")
    shown = []
    for row, (_, colour, marker) in ROWS.items():
        here = coin[coin["row"] == row].sort_values("n")
        risk, bound = (here[here["metric"] == metric] for metric in ("excess_risk", "bound"))
        axis.plot(risk["n"], risk["value"], color=colour, marker=marker, zorder=3)
        axis.plot(bound["n"], bound["value"], color=colour, ls=_DASHED, lw=1.0, zorder=2)
        shown += [risk["value"], bound["value"]]
    _ticks(axis, "n", coin["n"])
    values = np.concatenate(shown)
    style.value_axis(axis.yaxis, values.min(), values.max())


def _over_p(axis: Axes, ratios: pd.DataFrame, looks: dict[int, tuple]) -> None:
    axis.set_xscale("log")
    axis.axhline(1.0, color=_GREY, lw=0.8)
    shown = [1.0]
    for n, (colour, marker) in looks.items():
        here = ratios[ratios["n"] == n].sort_values("p")
        axis.plot(here["p"], here["value"], color=colour, marker=marker, zorder=3)
        shown += list(here["value"])
    x = np.array(sorted(ratios["p"].unique()), dtype=float)
    stated = np.sqrt(x / x[0])
    axis.plot(x, stated, color=_GREY, lw=1.2, ls=_DOTTED, zorder=2)
    _ticks(axis, "p", ratios["p"])
    style.value_axis(axis.yaxis, min(shown), max(*shown, *stated))


def _ticks(axis: Axes, over: str, values: pd.Series) -> None:
    values = sorted(values.unique())
    axis.set_xticks(values, [style.number(value) for value in values])
    axis.minorticks_off()
    axis.set_xlabel(over)
