"""dwork2018-averaging: mean excess over the number of shards, and the records promised and needed over 1/alpha."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_ORANGE, _BLUE, _GREY = style.look("averaged", "tight").colour, "#0072B2", style.NONPRIVATE.colour
_DASHED, _DOTTED = (0, (5, 1.5)), (0, (1, 1.2))
# (series, calibration) -> words, colour, line, marker.
_SPLIT = {
    ("shard", "paper"): ("mean shard and average, not private", _GREY, "-", ""),
    ("noised", "paper"): ("printed noise (n needed: at the printed r)", _ORANGE, "-", "D"),
    ("noised", "tight"): ("tight noise (n needed: at the best r)", _BLUE, "-", "."),
    ("bound", "paper"): ("bound of the noise, 1/(rε)", "#000000", _DOTTED, ""),
}
# (metric, variant or series, calibration) -> the same; those without words are told by the ones above.
_RECORDS = {
    ("promised", "printed", "paper"): ("n promised, Corollary 4.7 as printed", _ORANGE, _DASHED, ""),
    ("promised", "mended", "paper"): ("n promised, mended", "#D55E00", _DASHED, "s"),
    ("promised", "tight", "tight"): ("n promised, tight noise", _BLUE, _DASHED, "."),
    ("needed", "printed shards", "paper"): ("", _ORANGE, "-", "D"),
    ("needed", "best shards", "tight"): ("", _BLUE, "-", "."),
}


def averaging(rows: pd.DataFrame) -> Figure:
    """Draw the mean excess over r and n over 1/alpha, a column for each epsilon.

    - rows: of the experiment dwork2018-averaging.
    - Returns: all values are exact.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[(rows["status"] == "ok") & (rows["dataset"] == "flip")]
    split, records = rows[rows["metric"] == "mean_excess"], rows[rows["metric"].isin(("promised", "needed"))]
    epsilons = sorted(split["epsilon"].unique())
    figure = Figure(figsize=(7.0, 5.6))
    panels = figure.subplots(2, len(epsilons), squeeze=False)
    for column, epsilon in enumerate(epsilons):
        _over_shards(panels[0, column], split[split["epsilon"] == epsilon], split["value"])
        _over_alpha(panels[1, column], records[records["epsilon"] == epsilon], records["value"])
        panels[0, column].set_title(style.equals("ε", epsilon), size=8)
    panels[0, 0].set_ylabel("mean excess error")
    panels[1, 0].set_ylabel("records n")
    looks = [look for look in (*_SPLIT.values(), *_RECORDS.values()) if look[0]]
    handles = [Line2D([], [], color=colour, ls=ls, marker=mark, label=words) for words, colour, ls, mark in looks]
    line = (
        f"Flip law: thresholds, 20 % of the labels wrong. Top: {style.equals('n', int(split['n'].max()))} records "
        "shared out among r shards. Bottom: excess error α with probability 1 − β, "
        f"{style.equals('β', records['beta'].iloc[0])} (promised), or in the mean (needed). All values are exact."
    )
    style.footer(figure, handles, columns=2, lines=[line])
    return figure


def _over_shards(axis: Axes, rows: pd.DataFrame, together: pd.Series) -> None:
    for (series, calibration), (_, colour, line, marker) in _SPLIT.items():
        own = rows[(rows["series"] == series) & (rows["calibration"] == calibration)].sort_values("r")
        axis.plot(own["r"], own["value"], color=colour, ls=line, marker=marker)
    axis.set_xscale("log")
    axis.set_xlabel("shards r")
    style.value_axis(axis.yaxis, together.min(), together.max())


def _over_alpha(axis: Axes, rows: pd.DataFrame, together: pd.Series) -> None:
    for (metric, name, calibration), (_, colour, line, marker) in _RECORDS.items():
        column = "variant" if metric == "promised" else "series"
        own = rows[(rows["metric"] == metric) & (rows[column] == name) & (rows["calibration"] == calibration)]
        own = own.sort_values("alpha")
        axis.plot(1 / own["alpha"], own["value"], color=colour, ls=line, marker=marker)
    axis.set_xscale("log")
    ticks = sorted(1 / rows["alpha"].unique())
    axis.set_xticks(ticks, [style.number(round(tick, 6)) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("1/α")
    style.value_axis(axis.yaxis, together.min(), together.max())
