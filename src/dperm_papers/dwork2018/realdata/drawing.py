"""dwork2018-realdata: misclassification of private predictions and of a private model, a row for each data set."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_MECHANISMS = ("soft_majority", "averaged", "stable_erm", "stable_sgd", "exppw")
_LABELS = {"objective": "private model (objective perturbation)"}
_LEVELS = {"logistic": ("logistic regression (not private)", "--"), "majority": ("majority class (not private)", ":")}


def realdata(rows: pd.DataFrame) -> Figure:
    """Draw the error over epsilon, over the number of queries and over R.

    - rows: of the experiment dwork2018-realdata.
    - Returns: means over splits; bands are 95 % intervals.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[(rows["status"] == "ok") & (rows["metric"] == "error")]
    names = sorted(rows["dataset"].unique())
    figure = Figure(figsize=(7.0, 1.15 + 1.85 * len(names)))
    panels = figure.subplots(len(names), 3, squeeze=False, sharey="row")
    inside = rows.loc[rows["series"] == "queries", "epsilon"].max()
    for line, name in zip(panels, names, strict=True):
        own = rows[rows["dataset"] == name]
        _over(line[0], own[own["series"] == "epsilon"], "epsilon", "ε, one query")
        _over(line[1], own[own["series"] == "queries"], "queries", f"queries answered, {style.equals('ε', inside)}")
        _over(line[2], own[own["series"] == "radius"], "radius", f"R, one query, {style.equals('ε', inside)}")
        for axis in line:
            for variant, (_, dashes) in _LEVELS.items():
                level = own[own["variant"] == variant]["value"].mean()
                axis.axhline(level, color=style.NONPRIVATE.colour, ls=dashes, lw=0.9)
        # A coin is wrong half of the time.
        means = own.groupby(["series", "mechanism", "variant", "epsilon", "queries", "radius"])["value"].mean()
        style.value_axis(line[0].yaxis, max(0.8 * means.min(), 0.005), 0.6)
        line[0].set_ylabel("error")
        line[0].set_title(name, size=8, loc="left")
    handles = [_handle(name) for name in (*_MECHANISMS, "objective")]
    handles += [
        Line2D([], [], color=style.NONPRIVATE.colour, ls=dashes, lw=0.9, label=label)
        for label, dashes in _LEVELS.values()
    ]
    delta = rows.loc[rows["series"] == "epsilon", "delta"].max()
    radius = rows.loc[(rows["series"] == "epsilon") & (rows["mechanism"] == "stable_erm"), "radius"].max()
    counts = rows.groupby(["series", "dataset"])["repeat"].nunique().groupby("series").min()
    lines = [
        f"Data: {', '.join(names)}; means over {style.number(counts['epsilon'])} random splits (over R: "
        f"{style.number(counts['radius'])}), bands: 95 % intervals. All answers of a curve's point, or the private "
        f"model, spend ε and {style.equals('δ', delta)} together; {style.equals('R', radius)} on the left and in the "
        "middle. The error of an answer is exact over noise and bits.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def _handle(mechanism: str) -> Line2D:
    look = style.look(mechanism, "tight")
    return Line2D([], [], color=look.colour, marker=look.marker, label=_LABELS.get(mechanism, look.label))


def _over(axis: Axes, rows: pd.DataFrame, over: str, words: str) -> None:
    axis.set_xscale("log")
    axis.set_xlabel(words)
    # Where all private predictions have a value; the numbers between, of one of them, are a line without markers.
    asked = rows[rows["mechanism"].isin(_MECHANISMS)].groupby(over)["mechanism"].nunique()
    ticks = sorted(asked.index[asked == asked.max()])
    for mechanism in (*_MECHANISMS, "objective"):
        look, own = style.look(mechanism, "tight"), rows[rows["mechanism"] == mechanism]
        if own.empty:
            continue
        found = [(x, *style.mean_interval(part["value"].to_numpy())) for x, part in own.groupby(over)]
        x, mean, low, high = np.array(found).T
        # The model's answers cost nothing: one level for all numbers of queries.
        marker = look.marker
        if len(x) == 1 and x[0] == 0:
            x, marker = np.array([min(ticks), max(ticks)]), ""
            mean, low, high = (np.repeat(value, 2) for value in (mean, low, high))
        axis.plot(x, mean, color=look.colour, marker=marker, markevery=list(np.isin(x, ticks)), lw=0.9)
        axis.fill_between(x, low, high, color=look.colour, alpha=0.25, lw=0)
    if len(ticks):
        style.epsilon_axis(axis.xaxis, ticks)
