"""dwork2018-beyond: the records that ExpPW needs, over 1/alpha beside averages, over N, and over k."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_DASHED, _DOTTED = (0, (5, 1.5)), (0, (1, 1.2))
_WALK, _AVERAGES = style.look("exppw", "tight"), style.look("averaged", "tight")
_LEARNER = style.Look("exponential mechanism over thresholds (a private model)", "#0072B2", "o")
# (mechanism, metric, variant) -> words, colour, line, marker.
_ALPHA = {
    ("exppw", "needed", "tight"): ("ExpPW, n needed", _WALK.colour, "-", _WALK.marker),
    ("averaged", "needed", "printed"): ("averaging, n needed, printed noise", _AVERAGES.colour, "-", _AVERAGES.marker),
    ("averaged", "needed", "tight"): ("averaging, n needed, tight noise", _AVERAGES.colour, _DOTTED, "."),
    ("exppw", "promised", "printed"): ("ExpPW, n promised, as printed", _WALK.colour, _DOTTED, ""),
    ("exppw", "promised", "mended"): ("ExpPW, n promised, mended", _WALK.colour, _DASHED, ""),
    ("averaged", "promised", "mended"): ("averaging, n promised, mended", _AVERAGES.colour, _DASHED, ""),
}
# Share of wrong labels -> marker of the panel over k.
_FLIPS = {0.0: _WALK.marker, 0.2: "^"}


def beyond(rows: pd.DataFrame) -> Figure:
    """Draw n over 1/alpha for each epsilon, over N and over k.

    - rows: of the experiment dwork2018-beyond.
    - Returns: all values are exact.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[(rows["status"] == "ok") & rows["metric"].isin(("needed", "promised"))]
    over_alpha = rows[rows["form"] == "alpha"]
    epsilons = sorted(over_alpha["epsilon"].unique())
    figure = Figure(figsize=(7.0, 5.8))
    panels = figure.subplots(2, max(2, len(epsilons)), squeeze=False)
    for axis, epsilon in zip(panels[0], epsilons, strict=False):
        _over_alpha(axis, over_alpha[over_alpha["epsilon"] == epsilon], over_alpha["value"])
        axis.set_title(f"flip law, {style.equals('ε', epsilon)}", size=8)
    domain, ends = rows[rows["form"] == "domain"], rows[rows["form"] == "ends"]
    _over_domain(panels[1, 0], domain)
    _over_ends(panels[1, 1], ends)
    for row in panels:
        row[0].set_ylabel("records n")
    looks = [*_ALPHA.values(), (_LEARNER.label, _LEARNER.colour, "-", _LEARNER.marker)]
    handles = [Line2D([], [], color=colour, ls=ls, marker=mark, label=words) for words, colour, ls, mark in looks]
    words = "ExpPW over k, 20 % of labels wrong (squares: none)"
    handles.append(Line2D([], [], color=_WALK.colour, marker=_FLIPS[0.2], label=words))
    alpha, epsilon = style.equals("α", domain["alpha"].iloc[0]), style.equals("ε", domain["epsilon"].iloc[0])
    line = (
        "Needed: the least n whose mean excess error is at most α (averaging: at the best number of shards); exact. "
        f"Bottom: {alpha}, {epsilon}; left on two neighbouring points of N, right on k + 1 alternating intervals."
    )
    style.footer(figure, handles, columns=2, lines=[line])
    return figure


def _over_alpha(axis: Axes, rows: pd.DataFrame, together: pd.Series) -> None:
    for (mechanism, metric, variant), (_, colour, line, marker) in _ALPHA.items():
        own = rows[(rows["mechanism"] == mechanism) & (rows["metric"] == metric) & (rows["variant"] == variant)]
        own = own.sort_values("alpha")
        axis.plot(1 / own["alpha"], own["value"], color=colour, ls=line, marker=marker)
    axis.set_xscale("log")
    axis.set_xticks(ticks := [5, 10, 20, 50, 100], [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlim(0.9 / rows["alpha"].max(), 1.1 / rows["alpha"].min())
    axis.set_xlabel("1/α")
    style.value_axis(axis.yaxis, together.min(), together.max())


def _over_domain(axis: Axes, rows: pd.DataFrame) -> None:
    for mechanism, look in (("exppw", _WALK), ("exp_mech", _LEARNER)):
        own = rows[rows["mechanism"] == mechanism].sort_values("log_domain")
        axis.plot(own["log_domain"], own["value"], color=look.colour, marker=look.marker)
    axis.set_ylim(0, 1.08 * rows["value"].max())
    axis.set_xlabel("log$_2$ N")


def _over_ends(axis: Axes, rows: pd.DataFrame) -> None:
    for flip, marker in _FLIPS.items():
        own = rows[(rows["flip"] == flip) & (rows["metric"] == "needed")].sort_values("k")
        axis.plot(own["k"], own["value"], color=_WALK.colour, marker=marker)
    promised = rows[(rows["metric"] == "promised") & (rows["flip"] == rows["flip"].min())].sort_values("k")
    axis.plot(promised["k"], promised["value"], color=_WALK.colour, ls=_DASHED)
    axis.set_xscale("log")
    axis.set_xticks(ticks := [k for k in (1, 2, 3, 5, 10, 20, 30) if k <= rows["k"].max()], [f"{k}" for k in ticks])
    axis.minorticks_off()
    axis.set_xlabel("ends k")
    style.value_axis(axis.yaxis, rows["value"].min(), rows["value"].max())
