"""Figure 6 of li2021: misclassification on Adult over epsilon, a panel for each Lambda."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from dperm_papers.li2021.shared import drawing_panels as panels
from dperm_papers.li2021.shared.drawing_panels import Curve
from dperm_pipeline.figures import style

_ADULT = "adult"
# What Section 5.2 says of Adult: (words, misclassified, marker), drawn at epsilon = 1.
_STATED = (("the paper: VS+ at ε = 1, 15.5 %", 0.155, "x"), ("the paper: not private, 15.2 %", 0.152, "+"))
_LABELS = {
    ("vs_plus", "corrected"): "VS+ → fixed lasso",
    ("vs_plus", "tight"): "VS+ → fixed lasso, tight",
    ("erm", "corrected"): "NAPP-ERM",
    ("erm", "tight"): "NAPP-ERM, tight",
}
_CORRECTED = tuple(
    replace(curve, label=_LABELS[curve.where["variant"], curve.where["calibration"]])
    for curve in panels.CORRECTED
    if curve.where["target"] == "lasso"
)
_PRINTED = (
    "As published: records unscaled and the noise made for ‖x‖ ≤ 1 (N12), a lasso of 2Λ (N6), MOOR and truncated noise "
    "(N2–N4): no guarantee."
)
_SOUND = (
    "Noise and Λ0 are made for the declared bound on ‖x‖, √15 for Adult. No orthant is known to hold θ, so VS is left "
    "out (N3); VS+ has a fixed lasso tσ in the place of truncated noise (N2); a lasso has no MOOR (N4). The lasso "
    "reached is Λ (N6)."
)


def _draw(rows: pd.DataFrame, *, corrected: bool) -> Figure:
    """Draw Adult, or the data set that stands in for it where it is not among the rows.

    - rows: of the experiment li2021-adult: metric `error`.
    - corrected: the corrected mechanisms instead of the published ones.
    - Returns: a panel for each Lambda, all with one y-axis.
    """
    names = sorted(map(str, rows["dataset"].unique()))
    dataset = _ADULT if _ADULT in names else names[0]
    rows = rows[(rows["dataset"] == dataset) & (rows["metric"] == "error")]
    private = rows[rows["mechanism"] != "nonprivate"]
    private = private[(private["calibration"] != "paper") == corrected]
    delta = panels.of_delta(private, pure=False)
    private, lost = private[private["delta"] == delta], int((private["status"] != "ok").sum())
    found, levels = panels.plain(private), panels.plain(rows[rows["mechanism"] == "nonprivate"])
    curves = _CORRECTED if corrected else panels.PUBLISHED
    strengths, epsilons = (sorted(float(v) for v in private[name].unique()) for name in ("strength", "epsilon"))
    figure = Figure(figsize=(7.0, 3.9))
    axes = figure.subplots(1, len(strengths), squeeze=False, sharey=True)[0]
    for axis, strength in zip(axes, strengths, strict=True):
        axis.set_title(f"{dataset}, {style.equals('Λ', strength)}")
        here = found[found["strength"] == strength]
        for curve in reversed(curves):
            _line(axis, here, curve, epsilons)
        for curve in panels.LASSOS:
            level = levels[(levels["strength"] == strength) & (levels["variant"] == curve.where["variant"])]["value"]
            for value in level:
                axis.axhline(value, color=curve.colour, ls=curve.line, lw=0.9, zorder=1.8)
        if dataset == _ADULT:
            for _, value, marker in _STATED:
                axis.plot([1.0], [value], color="black", marker=marker, ms=5, mew=1.1, ls="none", zorder=5)
        axis.set_xlabel("ε")
        axis.set_xticks(epsilons[::3] if len(epsilons) > 4 else epsilons)
    axes[0].set_ylabel("misclassified")
    axes[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1))
    repeats = int(private["repeat"].nunique())
    lines = [
        f"Share of wrong labels on the test records of {dataset}; {style.equals('δ', delta)}, {repeats} repeats of "
        "the noise. Bands: 95 % intervals of the mean."
        + (f" {lost} of {len(private)} private fits did not converge and are left out." if lost else "")
        + ("" if dataset == _ADULT else f" Adult is not among the rows: {dataset} stands in for it."),
        _SOUND if corrected else _PRINTED,
    ]
    return _finish(figure, [*curves, *panels.LASSOS], lines, stated=dataset == _ADULT)


def _line(axis: Axes, rows: pd.DataFrame, curve: Curve, epsilons: Sequence[float]) -> None:
    """Draw the means of one method over epsilon with their bands."""
    own = rows[(rows["variant"] == curve.where["variant"]) & (rows["calibration"] == curve.where["calibration"])]
    values = {epsilon: group["value"].to_numpy() for epsilon, group in own.groupby("epsilon")}
    points = np.array([style.mean_interval(values.get(epsilon, np.array([]))) for epsilon in epsilons])
    axis.plot(epsilons, points[:, 0], **curve.look, zorder=3)
    low, high = (np.where(np.isnan(points[:, k]), math.nan, points[:, k]) for k in (1, 2))
    axis.fill_between(epsilons, low, high, color=curve.colour, alpha=0.13, lw=0, zorder=1.5)


def _finish(figure: Figure, curves: Sequence[Curve], lines: Sequence[str], *, stated: bool) -> Figure:
    handles = [Line2D([], [], **{**curve.look, "ms": 3.5}, label=curve.label) for curve in curves]
    handles += [Line2D([], [], color="black", marker=m, ls="none", label=words) for words, _, m in _STATED if stated]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


fig6 = partial(_draw, corrected=False)
fig6_corrected = partial(_draw, corrected=True)
