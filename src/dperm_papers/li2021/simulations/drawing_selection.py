"""Figures 4 and S.1 of li2021: variable selection as ROC curves along the path of Lambda."""

from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dperm_papers.li2021.shared import drawing_panels as panels
from dperm_pipeline.figures import style

METRICS = tuple(f"{rate}_{word}" for rate in ("fpr", "tpr") for word in ("mean", "half"))
_MODELS = ("linear", "logistic", "poisson")


def _draw(rows: pd.DataFrame, *, pure: bool, corrected: bool) -> Figure:
    """Draw a panel for each design and epsilon.

    - rows: of the experiment li2021-simulations: `METRICS` and `runs`.
    - pure: delta = 0.
    - corrected: the corrected mechanisms instead of the published ones.
    """
    curves = panels.CORRECTED_AND_LASSOS if corrected else panels.PUBLISHED_AND_LASSOS
    rows = panels.plain(rows)
    delta = panels.of_delta(rows, pure)
    figure, places = panels.grid(rows, panels.ordered(list(rows["dataset"].unique()), _MODELS), notes=1.5)
    height = len(rows["dataset"].unique())
    for axis, design, epsilon, i, j in places:
        here = rows[(rows["dataset"] == design) & (rows["epsilon"] == epsilon)]
        axis.plot([0, 1], [0, 1], color="#bbbbbb", lw=0.7, zorder=1)
        for curve in reversed(curves):
            own = here[here["delta"] == delta] if curve.of_delta else here
            _curve(axis, panels.read(own, curve, METRICS), curve)
        axis.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        ticks = [0, 0.5, 1]
        axis.set_xticks(ticks, ["0", "½", "1"] if i == height - 1 else [""] * 3)
        axis.set_yticks(ticks, ["0", "½", "1"] if j == 0 else [""] * 3)
        if i == height - 1:
            axis.set_xlabel("false positive rate", size=6.8, labelpad=1)
        if j == 0:
            axis.set_ylabel("true positive rate", size=6.8, labelpad=1)
    lines = [
        f"{panels.setting(rows, pure)} Points: mean rates at each Λ, with 95 % intervals; a curve that starts at "
        f"(0, 0) has an empty model at the largest {style.equals('Λ', rows['strength'].max())}. Grey line: random "
        "selection.",
        *([panels.SOUND] if corrected else []),
    ]
    return panels.finish(figure, curves, lines, columns=4)


def _curve(axis: Axes, points: pd.DataFrame, curve: panels.Curve) -> None:
    x, y = points["fpr_mean"], points["tpr_mean"]
    axis.plot(x, y, **curve.look, zorder=3 if curve.of_delta else 2)
    if curve.of_delta:
        axis.errorbar(x, y, xerr=points["fpr_half"], yerr=points["tpr_half"], fmt="none", ecolor=curve.colour,
                      elinewidth=0.5, alpha=0.4, zorder=1.5)  # fmt: skip


fig4 = partial(_draw, pure=False, corrected=False)
fig4_corrected = partial(_draw, pure=False, corrected=True)
figs1 = partial(_draw, pure=True, corrected=False)
figs1_corrected = partial(_draw, pure=True, corrected=True)
