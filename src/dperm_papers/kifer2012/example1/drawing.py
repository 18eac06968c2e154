"""Example 1: mechanisms with densities whose limit has an atom, what they spend, and how they converge."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_LIMIT, _BOUND = "#000000", "#D55E00"
# The indices that are drawn with a line of their own: the first, one between, the last.
_COLOURS = ("#56B4E9", "#0072B2", "#CC79A7")
_DIRECTIONS = {"adding": "-", "removing": (0, (4, 1.6))}
# The record whose delta(epsilon) is drawn: within the reach of the first bumps.
_TARGET = 0.05


def example1(rows: pd.DataFrame) -> Figure:
    """Draw the distribution functions, delta(epsilon), and the distance of phi_i from phi over i.

    - rows: of the experiment kifer2012-example1.
    - Returns: three panels, for the Huber loss on design q1.
    """
    rows = rows[(rows["dataset"] == "q1") & (rows["loss"] == "huber")]
    finite = sorted(index for index in rows["index"].unique() if math.isfinite(index))
    drawn = dict(zip(dict.fromkeys((finite[0], finite[len(finite) // 2], finite[-1])), _COLOURS, strict=False))
    figure = Figure(figsize=(7.0, 3.3))
    cdf, profile, distance = figure.subplots(1, 3)
    _distribution(cdf, rows[rows["metric"] == "cdf"], drawn)
    _profile(profile, rows[(rows["metric"] == "profile") & np.isclose(rows["target"], _TARGET)], drawn)
    _distance(distance, rows)
    atom = float(rows.loc[rows["metric"] == "atom", "value"].iloc[0])
    handles = [Line2D([], [], color=_LIMIT, lw=1.6, label="φ, with r = |θ|")]
    handles += [Line2D([], [], color=c, label=f"φᵢ, {style.equals('i', index)}") for index, c in drawn.items()]
    handles += [
        Line2D([], [], color=_BOUND, ls=(0, (1, 1.2)), label="√(12w/Δ), Lemma 18"),
        Line2D([], [], color="#777777", ls=_DIRECTIONS["adding"], label="adding a record"),
        Line2D([], [], color="#777777", ls=_DIRECTIONS["removing"], label="removing it"),
    ]
    first = rows.iloc[0]
    lines = [
        "Exact laws on the line (design q1), no repeats: no record against one with a Huber loss at "
        f"{style.equals('y', _TARGET)}, Δ = 2λ/ε, Gaussian b as printed for {style.equals('ε', first['epsilon'])}, "
        f"{style.equals('δ', first['delta'])}. φ is 0 with probability {atom:.3f}; no φᵢ has an atom, so every one of "
        "them is that far from φ in total variation, and yet |φᵢ − φ| → 0 for every b, and φ keeps their privacy.",
    ]
    style.footer(figure, handles, columns=4, lines=lines)
    return figure


def _lines(rows: pd.DataFrame, drawn: dict[float, str]):
    """Give the rows of the limit and of every index that is drawn, with colour and width."""
    yield rows[rows["index"] == math.inf], _LIMIT, 1.6
    for index, colour in drawn.items():
        yield rows[rows["index"] == index], colour, 1.1


def _distribution(axis: Axes, rows: pd.DataFrame, drawn: dict[float, str]) -> None:
    for line, colour, width in _lines(rows, drawn):
        line = line.sort_values(["at", "value"])
        axis.plot(line["at"], line["value"], color=colour, lw=width)
    axis.set_xlabel("θ")
    axis.set_ylabel("P(φ ≤ θ)")
    axis.set_title("no record")
    axis.set_ylim(0, 1)
    reach = rows["at"].abs().max() / 2
    axis.set_xlim(-reach, reach)


def _profile(axis: Axes, rows: pd.DataFrame, drawn: dict[float, str]) -> None:
    least = rows.loc[(rows["index"] == math.inf) & (rows["at"] == 0), "value"].min() * 1e-4
    for part, colour, width in _lines(rows, drawn):
        for direction, dashes in _DIRECTIONS.items():
            line = part[part["direction"] == direction].sort_values("at")
            # A logarithmic axis has no 0: the line leaves the panel downwards.
            axis.plot(line["at"], np.maximum(line["value"], least * 1e-3), color=colour, lw=width, ls=dashes)
    axis.set_xlabel("ε′")
    axis.set_ylabel("δ(ε′)")
    axis.set_title("what is spent")
    style.value_axis(axis.yaxis, least, rows["value"].max())
    axis.set_xlim(0, rows["at"].max())


def _distance(axis: Axes, rows: pd.DataFrame) -> None:
    for metric, colour, dashes, marker in (("distance", "#0072B2", "-", "o"), ("bound", _BOUND, (0, (1, 1.2)), "")):
        line = rows[rows["metric"] == metric].sort_values("index")
        axis.plot(line["index"], line["value"], color=colour, ls=dashes, marker=marker)
    axis.set_xscale("log")
    shown = rows[rows["metric"].isin(["distance", "bound"])]
    ticks = sorted(shown["index"].unique())
    ticks = ticks[:: max(1, math.ceil(len(ticks) / 4))]
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("i")
    axis.set_ylabel("max over b of |φᵢ(b) − φ(b)|")
    axis.set_title("convergence")
    style.value_axis(axis.yaxis, shown["value"].min(), shown["value"].max())
