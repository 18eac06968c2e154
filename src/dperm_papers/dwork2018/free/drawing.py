"""dwork2018-free: noise excess over statistical excess along eps n^{1/4}, and the epsilon at which they are equal."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Law -> title, colour, marker.
_LAWS = {
    "hard": ("hard: Huber, K = [−1, 1]²", "#CC79A7", "v"),
    "sq": ("sq: strongly convex", "#0072B2", "o"),
}
# (calibration, variant) -> words, line style, whether markers are filled.
_WAYS = {
    ("paper", "halved"): ("half the step, printed noise", "-", True),
    ("corrected", ""): ("printed step, mended noise", (0, (4, 1.6)), False),
}
_TERMS = {
    "paper": ("Corollary 4.13's terms equal, printed", (0, (1, 1.2))),
    "corrected": ("the same, mended", (0, (6, 1.4, 1, 1.4))),
}


def free(rows: pd.DataFrame) -> Figure:
    """Draw the ratio of both parts for each law, and eps* over n.

    - rows: of the experiment dwork2018-free.
    - Returns: all values are exact.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[rows["status"] == "ok"]
    laws = [law for law in _LAWS if law in set(rows["dataset"])]
    figure = Figure(figsize=(7.0, 3.0))
    panels = figure.subplots(1, len(laws) + 1)
    ratios = rows[(rows["series"] == "ratio") & (rows["metric"] == "ratio")]
    for axis, law in zip(panels, laws, strict=False):
        _ratios(axis, ratios[ratios["dataset"] == law], law, ratios["value"])
    _crossings(panels[-1], rows[rows["metric"] == "crossing"], laws)
    handles = [
        Line2D(
            [], [], color="#333333", ls=line, marker="s", markerfacecolor="#333333" if full else "white", label=words
        )
        for words, line, full in _WAYS.values()
    ]
    handles += [Line2D([], [], color="#333333", ls=line, label=words) for words, line in _TERMS.values()]
    line = (
        "Exact laws, at the worst mean of y. Left and middle: half the step, noise as printed; light to dark: n = "
        f"{', '.join(style.number(n) for n in sorted(ratios['n'].unique()))}. Right: pink hard, blue sq."
    )
    style.footer(figure, handles, columns=2, lines=[line])
    return figure


def _ratios(axis: Axes, rows: pd.DataFrame, law: str, together: pd.Series) -> None:
    title, colour, _ = _LAWS[law]
    for (_, group), shade in zip(rows.groupby("n", sort=True), style.shades(colour, rows["n"].nunique()), strict=True):
        group = group.sort_values("scaled")
        axis.plot(group["scaled"], group["value"], color=shade, marker=".")
    axis.axhline(1, color="#333333", lw=0.8)
    axis.set_xscale("log")
    style.value_axis(axis.yaxis, together.min(), together.max())
    axis.set_title(title, size=8)
    axis.set_xlabel("ε n$^{1/4}$")
    if law == next(iter(_LAWS)):
        axis.set_ylabel("noise excess / statistical excess")


def _crossings(axis: Axes, rows: pd.DataFrame, laws: list[str]) -> None:
    shown = []
    for law in laws:
        _, colour, marker = _LAWS[law]
        own = rows[rows["dataset"] == law]
        measured, terms = own[own["series"] == "crossing"], own[own["series"] == "algebra"]
        for (calibration, variant), (_, line, full) in _WAYS.items():
            group = measured[(measured["calibration"] == calibration) & (measured["variant"] == variant)]
            group = group.sort_values("n")
            face = colour if full else "white"
            axis.plot(group["n"], group["value"], color=colour, marker=marker, ls=line, markerfacecolor=face)
            shown += list(group["value"])
        for calibration, (_, line) in _TERMS.items():
            group = terms[terms["calibration"] == calibration].sort_values("n")
            axis.plot(group["n"], group["value"], color=colour, ls=line, lw=0.9)
            shown += list(group["value"])
    axis.set_xscale("log")
    style.value_axis(axis.yaxis, np.min(shown), np.max(shown))
    axis.set_title("both parts equal", size=8)
    axis.set_xlabel("n")
    axis.set_ylabel("ε*(n)")
