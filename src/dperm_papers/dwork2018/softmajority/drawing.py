"""dwork2018-softmajority: records that soft majority is promised and needs, what any private bit needs, and margins."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_SOFT = style.METHODS["soft_majority", "tight"]
# form -> name, colour, marker, line.
_RECORDS = {
    "promised": ("promised (Theorem 4.1)", "#333333", "", (0, (5, 1.5))),
    "printed": ("needed at the printed r", _SOFT.colour, _SOFT.marker, "-"),
    "best": ("needed at the best r", "#0072B2", "o", "-"),
    "pure": ("least of any private bit, δ = 0", "#D55E00", "s", (0, (4, 1.6))),
    "approximate": ("least of any private bit, δ = ε/3", "#D55E00", "s", "-"),
    "bound": ("Theorem 4.3, d/(32 ε α)", "#777777", "", (0, (1, 1.2))),
}
_RULES = {
    "soft": ("one bit: soft majority", _SOFT.colour, _SOFT.marker, "-"),
    "prose": ("one bit: weights e^(ε count) (2ε-private)", _SOFT.colour, "", (0, (1, 1.2))),
    "laplace": ("one bit: majority with Laplace noise", "#E69F00", "D", "-"),
    "best": ("one bit: best private, δ = 0", "#D55E00", "", (0, (4, 1.6))),
}


def softmajority(rows: pd.DataFrame) -> Figure:
    """Draw n over 1/alpha and over d on pts, n over 1/alpha on thr, and the error of a bit over the margin.

    - rows: of the experiment dwork2018-softmajority, both parts.
    - Returns: a column for each epsilon but the last row's.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    records = rows[(rows["metric"] == "records") & rows["over"].isin(["alpha", "d"])].copy()
    least = records["form"] == "least"
    records.loc[least, "form"] = ["approximate" if delta else "pure" for delta in records.loc[least, "delta"]]
    epsilons = sorted(records["epsilon"].unique())[:2]
    figure = Figure(figsize=(7.0, 8.1))
    axes = figure.subplots(3, 2, squeeze=False)
    pts = records[records["dataset"] == "pts"]
    for column, epsilon in enumerate(epsilons):
        for row, (over, other) in enumerate((("alpha", "d"), ("d", "alpha"))):
            part = pts[(pts["epsilon"] == epsilon) & (pts["over"] == over)]
            axis = axes[row, column]
            _records(axis, part, over)
            fixed = style.equals({"d": "d", "alpha": "α"}[other], part[other].iloc[0])
            axis.set_title(f"pts, {style.equals('ε', epsilon)}, {fixed}", size=8)
    for axis in [axis for row in axes[:2] for axis in row[len(epsilons) :]]:
        axis.set_axis_off()
    thr = records[(records["dataset"] == "thr") & (records["epsilon"] == epsilons[0])]
    _records(axes[2, 0], thr, "alpha")
    axes[2, 0].set_title(f"thr, {style.equals('ε', epsilons[0])}", size=8)
    margins = rows[(rows["series"] == "margin") & (rows["metric"] == "error") & (rows["epsilon"] == epsilons[0])]
    _margins(axes[2, 1], margins)
    handles = [_handle(*look) for look in (*_RECORDS.values(), *_RULES.values())]
    beta = records["gamma"].iloc[0]
    line = (
        f"Promised: {style.equals('β', beta)}. Needed: least n with a mean error of at most α. Least of any private "
        "bit: for a mean error of 1/3 on the light points of pts, which error α with confidence 1/12 implies. All "
        "values are exact. pts: one heavy point, d − 1 light ones that share 4α; thr: a threshold on [0, 1]."
    )
    style.footer(figure, handles, columns=2, lines=[line])
    return figure


def _handle(name: str, colour: str, marker: str, line) -> Line2D:
    return Line2D([], [], color=colour, marker=marker, ls=line, label=name)


def _records(axis: Axes, rows: pd.DataFrame, over: str) -> None:
    """Draw n of every form over 1/alpha or d."""
    values = []
    for form, (_, colour, marker, line) in _RECORDS.items():
        part = rows[rows["form"] == ("approximate" if form == "bound" else form)]
        if part.empty:
            continue
        x = 1 / part["alpha"] if over == "alpha" else part["d"]
        y = part["bound" if form == "bound" else "value"]
        axis.plot(*zip(*sorted(zip(x, y, strict=True)), strict=True), color=colour, marker=marker, ls=line)
        values += [*y]
    axis.set_xscale("log")
    axis.set_xlabel({"alpha": "1/α", "d": "d"}[over])
    axis.set_ylabel("records n")
    low, high = axis.get_xlim()
    ticks = [tick for power in range(-1, 8) for tick in (10.0**power,) if low <= tick <= high]
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    style.value_axis(axis.yaxis, min(values), max(values))


def _margins(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw the error of a bit over how far its votes lie apart."""
    for form, (_, colour, marker, line) in _RULES.items():
        part = rows[rows["form"] == form].sort_values("margin")
        axis.plot(part["margin"], part["value"], color=colour, marker=marker, ls=line, markevery=4)
    epsilon, r = rows["epsilon"].iloc[0], int(rows["r"].iloc[0])
    axis.axvline(r / 3, color="#999999", lw=0.8)
    axis.annotate(
        "r/3", (r / 3, 1), xycoords=("data", "axes fraction"), xytext=(3, -8), textcoords="offset points", size=7
    )
    axis.set_title(f"one bit, {style.equals('ε', epsilon)}, {style.equals('r', r)}", size=8)
    axis.set_xlabel("margin: votes for less votes against")
    axis.set_ylabel("probability of the wrong label")
    shown = rows.loc[rows["form"] != "prose", "value"]
    style.value_axis(axis.yaxis, shown.min(), shown.max())
