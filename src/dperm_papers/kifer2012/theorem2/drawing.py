"""What Algorithm 1 spends: exact delta(epsilon) of the worst pair on the line, and the noise by theorem."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# (relation, calibration) -> label, colour (Okabe & Ito).
_WAYS = {
    ("add_remove", "paper"): ("add/remove, Algorithm 1", "#009E73"),
    ("add_remove", "tight"): ("add/remove, tight", "#0072B2"),
    ("replace", "paper"): ("Algorithm 1 read as replace-one", "#D55E00"),
    ("replace", "corrected"): ("replace-one, corrected (2ζ)", "#E69F00"),
    ("replace", "tight"): ("replace-one, tight", "#CC79A7"),
}
_CLASSICAL = ("#000000", "sensitivity ζ alone, classical")
_DIRECTIONS = {"adding": "-", "removing": (0, (4, 1.6)), "either": "-"}
# Smallest delta that a panel shows, as a share of the promised one (of 1 for pure privacy).
_SHOWN = {True: 1e-7, False: 1e-6}
_ROWS = ("smooth", "lasso", "ball", "box", "norm", "curvature")


def theorem2(rows: pd.DataFrame) -> Figure:
    """Draw delta(epsilon) at every budget, and the scale of the noise over epsilon.

    - rows: of the experiment kifer2012-theorem2.
    - Returns: a row of panels for each delta and a column for each epsilon that is promised; the cross marks the
      promise, and a line that passes above it breaks it. Below: the noise's scale over zeta, a panel for each delta.
    """
    profile = rows[rows["metric"] == "profile"]
    epsilons, deltas = sorted(profile["epsilon"].unique()), sorted(profile["delta"].unique())
    columns = len(epsilons) * len(deltas)
    figure = Figure(figsize=(7.0, 1.55 * len(deltas) + 3.3))
    grid = figure.add_gridspec(len(deltas) + 1, columns, height_ratios=[1] * len(deltas) + [1.15])
    for k, delta in enumerate(deltas):
        first = None
        for j, epsilon in enumerate(epsilons):
            width = columns // len(epsilons)
            axis = figure.add_subplot(grid[k, j * width : (j + 1) * width], sharey=first)
            first = first or axis
            _profile(axis, profile[(profile["delta"] == delta) & (profile["epsilon"] == epsilon)], epsilon, delta)
            axis.tick_params(labelleft=j == 0)
            if k == 0:
                axis.set_title(style.equals("ε", epsilon))
            if k == len(deltas) - 1:
                axis.set_xlabel("ε′")
        first.set_ylabel(f"δ(ε′), {style.equals('δ', delta)}")
    for k, delta in enumerate(deltas):
        width = columns // len(deltas)
        axis = figure.add_subplot(grid[-1, k * width : (k + 1) * width])
        _noise(axis, rows[(rows["metric"] == "noise") & (rows["delta"] == delta)])
        axis.set_title(style.noise_label(delta))
        if k == 0:
            axis.set_ylabel("scale of b, over ζ")
    handles = [Line2D([], [], color=colour, label=label) for label, colour in _WAYS.values()]
    handles += [
        Line2D([], [], color=_CLASSICAL[0], ls=(0, (1, 1.2)), label=_CLASSICAL[1]),
        Line2D([], [], color="#777777", ls=_DIRECTIONS["adding"], label="adding (upper panels)"),
        Line2D([], [], color="#777777", ls=_DIRECTIONS["removing"], label="removing (upper panels)"),
        Line2D([], [], color="#000000", marker="x", ls="", label="what is promised"),
    ]
    lines = [
        "Exact laws on the line (design q1: p = 1, at most two records, Huber loss), Δ = 2λ/ε, no repeats: nothing is "
        "sampled. Upper panels: δ(ε′) of the worst pair of data sets that a search found; a line above the cross "
        "breaks the promise. Under add/remove nothing needs correcting. Attacks are in the figure privacy-ledger.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def theorem2_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate what is spent of the promise, by statement and calibration: the largest share over all budgets.

    - rows: of the experiment kifer2012-theorem2.
    - plain: numbers.
    - words: the same for people.
    """
    spent = rows[rows["metric"] == "spent"].assign(share=lambda frame: frame["value"] / frame["epsilon"])
    keys = ["row", "loss", "variant", "neighbours", "calibration", "ridge_multiple"]
    spent = spent.astype({key: object for key in keys if isinstance(spent[key].dtype, pd.CategoricalDtype)})
    found = []
    for key, group in sorted(spent.groupby(keys), key=lambda item: (_ROWS.index(item[0][0]), item[0])):
        worst = group.sort_values(["share", "epsilon", "direction"]).iloc[-1]
        found.append(
            {
                "statement": key[0], "loss": key[1], "noise": key[2], "relation": key[3].replace("_", "/"),
                "calibration": key[4], "Δε/λ": key[5], "largest share of ε spent": worst["share"],
                "at ε": worst["epsilon"], "at δ": worst["delta"], "direction": worst["direction"],
                "pair": worst["pair"],
            }
        )  # fmt: skip
    plain = pd.DataFrame(found)
    words = plain.map(lambda value: value if isinstance(value, str) else style.number(float(f"{value:.4g}")))
    return plain, words


def _profile(axis: Axes, rows: pd.DataFrame, epsilon: float, delta: float) -> None:
    top = delta or 1.0
    low = top * _SHOWN[delta > 0]
    for (neighbours, calibration), (_, colour) in _WAYS.items():
        here = rows[(rows["neighbours"] == neighbours) & (rows["calibration"] == calibration)]
        for direction in here["direction"].unique():
            line = here[here["direction"] == direction].sort_values("at")
            # A logarithmic axis has no 0: the line leaves the panel downwards.
            axis.plot(line["at"], np.maximum(line["value"], low * 1e-3), color=colour, ls=_DIRECTIONS[direction], lw=1)
    axis.plot([epsilon], [delta or low], marker="x", color="#000000", ms=6, mew=1.4, zorder=5, clip_on=False)
    axis.set_yscale("log")
    axis.set_ylim(low, max(top * 1e3, rows["value"].max() * 2) if delta else 1.0)
    axis.set_ylim(low, min(axis.get_ylim()[1], 1.0))
    axis.set_xlim(0, 2 * epsilon)
    axis.set_xticks([0, epsilon, 2 * epsilon], [style.number(value) for value in (0, epsilon, 2 * epsilon)])
    decades = range(math.ceil(math.log10(low)), 1, 2)
    axis.set_yticks([10.0**k for k in decades], [style.number(10.0**k) for k in decades])
    axis.minorticks_off()


def _noise(axis: Axes, rows: pd.DataFrame) -> None:
    shown = rows[(rows["loss"] == "huber") & ~((rows["neighbours"] == "replace") & (rows["calibration"] == "paper"))]
    classical = rows[rows["calibration"] == "classical"].sort_values("epsilon")
    for (neighbours, calibration), (_, colour) in _WAYS.items():
        line = shown[(shown["neighbours"] == neighbours) & (shown["calibration"] == calibration)].sort_values("epsilon")
        axis.plot(line["epsilon"], line["value"], color=colour)
    axis.plot(classical["epsilon"], classical["value"], color=_CLASSICAL[0], ls=(0, (1, 1.2)))
    values = sorted(rows["epsilon"].unique())
    ticks = [value for value in (0.05, 0.1, 0.2, 0.5, 1, 2, 5) if values[0] * 0.999 <= value <= values[-1] * 1.001]
    style.epsilon_axis(axis.xaxis, ticks or values)
    axis.set_xlim(values[0] / 1.1, values[-1] * 1.1)
    axis.set_xlabel("ε")
    style.value_axis(axis.yaxis, min(shown["value"].min(), classical["value"].min()), shown["value"].max())
