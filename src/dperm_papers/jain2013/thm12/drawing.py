"""jain2013-thm12: the uniform deviation of a mean over T points, over T and over d."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Law -> name, colour, marker.
_LAWS = {
    "sphere": ("linear f, φ on the sphere", "#0072B2", "o"),
    "one-hot": ("linear f, φ one-hot", "#E69F00", "s"),
    "interval": ("|⟨w, φ⟩|, d = 1", "#009E73", "^"),
    "disc": ("|⟨w, φ⟩|, d = 2", "#CC79A7", "D"),
}
_BOUND = ("Theorem 12, constant 1", "#333333", (0, (5, 1.5)))


def thm12(rows: pd.DataFrame) -> Figure:
    """Draw the 95 % quantile of the supremum over T and over d, beside the bound.

    - rows: of the experiment jain2013-thm12.
    - Returns: bars reach from the median to the greatest repeat.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[(rows["status"] == "ok") & (rows["metric"] == "deviation")]
    linear = rows[rows["form"] == "linear"]
    most, many = int(linear["d"].max()), int(linear["queries"].max())
    figure = Figure(figsize=(7.0, 3.3))
    first, second = figure.subplots(1, 2, sharey=False)
    _panel(first, rows[(rows["form"] == "absolute") | (rows["d"] == most)], "queries")
    first.set_title(f"over T (linear f: d = {style.number(most)})", size=8)
    first.set_xlabel("T")
    first.set_ylabel("sup over the ball of |E f − mean f|")
    _panel(second, linear[linear["queries"] == many], "d")
    second.set_title(f"over d, T = {style.number(many)}", size=8)
    second.set_xlabel("d")
    handles = [Line2D([], [], color=colour, marker=marker, label=name) for name, colour, marker in _LAWS.values()]
    handles.append(Line2D([], [], color=_BOUND[1], ls=_BOUND[2], label=_BOUND[0]))
    line = (
        f"Markers: 95 % quantiles of {int(rows['repeat'].max()) + 1} repeats, bars from the median to the largest; "
        f"the supremum is exact. ‖w‖ ≤ 1, ‖φ‖ ≤ 1, {style.equals('β', 0.05)}: √(log(1/β)/T)."
    )
    style.footer(figure, handles, columns=3, lines=[line])
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, over: str) -> None:
    values, bound = [], rows.groupby(over)["bound"].first().sort_index()
    for law, (_, colour, marker) in _LAWS.items():
        part = rows[rows["dataset"] == law]
        if part.empty:
            continue
        found = [
            (x, *np.quantile(group["value"].to_numpy(), [0.5, 0.95, 1.0])) for x, group in part.groupby(over, sort=True)
        ]
        x, median, high, most = np.array(found).T
        axis.plot(x, high, color=colour, marker=marker, lw=0.9)
        axis.vlines(x, median, most, color=colour, lw=0.8)
        values += [*median, *most]
    axis.plot(bound.index, bound, color=_BOUND[1], ls=_BOUND[2])
    axis.set_xscale("log")
    ticks = sorted(rows[over].unique())
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    style.value_axis(axis.yaxis, min(values), max([*values, bound.max()]))
