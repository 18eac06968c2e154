"""jain2013, Section 2: how many queries can be answered, by one sample path, by fresh noise and by PINP."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# (mechanism, variant) -> look; PINP's calibration is the tight one.
_METHODS = {
    ("rkhs_gaussian", ""): style.look("rkhs_gaussian", "tight"),
    ("rkhs_gaussian", "fresh"): style.look("rkhs_gaussian", "tight", "fresh"),
    ("pinp", ""): style.look("pinp", "tight"),
    ("zero", ""): style.TRIVIAL,
}
_SUPREMUM = style.look("rkhs_gaussian", "tight").colour
# Calibration -> look, of log T.
_PROMISED = {calibration: style.look("pinp", calibration) for calibration in ("paper", "corrected", "tight")}


def queries(rows: pd.DataFrame) -> Figure:
    """Draw M at T = n^3 over n for each lambda, and the log of the most queries that PINP promises to answer.

    - rows: of the experiment jain2013-queries.
    - Returns: bands: 95 % intervals of the mean over repeats; hollow markers where PINP is vacuous.
    """
    rows = rows[rows["status"] == "ok"]
    errors = rows[rows["metric"] == "error"]
    lams = sorted(errors["curvature"].unique())
    figure = Figure(figsize=(7.0, 3.75))
    panels = figure.subplots(1, len(lams) + 1)
    for axis, lam in zip(panels, lams, strict=False):
        _errors(axis, rows[rows["curvature"] == lam])
        axis.set_title(f"T = n³, {style.equals('λ', lam)}")
    panels[0].set_ylabel("largest error M")
    _promised(panels[-1], rows[rows["metric"] == "log_queries"])
    panels[-1].set_title("log T with 5σ/4 = CR/10")
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, ls="-" if look.marker else "--", label=look.label)
        for look in _METHODS.values()
    ]
    handles.insert(1, Line2D([], [], color=_SUPREMUM, ls=":", label="the same path, all queries"))
    handles += [
        Line2D([], [], color=look.colour, marker=look.marker, label=look.label)
        for key, look in _PROMISED.items()
        if key != "tight"
    ]
    handles.append(Line2D([], [], color="#CC79A7", marker="v", mfc="white", ls="", label="PINP vacuous: σ ≥ CR/2"))
    repeats = int(errors["repeat"].max()) + 1
    head = errors[errors["mechanism"] == "pinp"].iloc[0]
    lines = [
        "sphere-10: w* and queries uniform directions of R¹⁰, L = R = C = ‖w*‖ = 1; no data stand behind w*, noise "
        f"depends on n only through the nominal nλ. {style.equals('ε', head['epsilon'])}, "
        f"{style.equals('δ', head['delta'])}, {style.equals('β', rows['gamma'].max())}, replace-one, {repeats} "
        "repeats; bands 95 % intervals of the mean. Right: formulas; grey lines have slopes 2/3 and 1.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def _errors(axis: Axes, rows: pd.DataFrame) -> None:
    axis.set_xscale("log")
    own = rows[rows["metric"] == "error"]
    for (mechanism, variant), look in _METHODS.items():
        colour, marker = look.colour, look.marker
        groups = list(own[(own["mechanism"] == mechanism) & (own["variant"] == variant)].groupby("n", sort=True))
        x, means = [n for n, _ in groups], _means(groups)
        axis.plot(x, means[:, 0], color=colour, lw=1.0, ls="-" if marker else "--")
        if marker:
            axis.fill_between(x, means[:, 1], means[:, 2], color=colour, alpha=0.25, lw=0)
            faces = ["white" if part["vacuous"].max() else colour for _, part in groups]
            edges = {} if marker == "x" else {"edgecolors": colour}  # an x has none
            axis.scatter(x, means[:, 0], c=faces, marker=marker, s=13, lw=0.9, zorder=3, **edges)
    groups = list(rows[rows["metric"] == "supremum"].groupby("n", sort=True))
    axis.plot([n for n, _ in groups], _means(groups)[:, 0], color=_SUPREMUM, ls=":", lw=1.2)
    style.value_axis(axis.yaxis, own["value"].min(), own["value"].max())
    ticks = sorted(own["n"].unique())
    # 16, 32, 64, ... where there are more: neighbours on a logarithmic axis would touch.
    ticks = [n for k, n in enumerate(ticks) if k == 0 or (n >= 1.9 * ticks[0] and n & (n - 1) == 0)] or ticks
    axis.set_xticks(ticks, [style.number(n) for n in ticks])
    axis.minorticks_off()
    axis.set_xlabel("n")


def _means(groups: list) -> np.ndarray:
    return np.array([style.mean_interval(part["value"].to_numpy()) for _, part in groups])


def _promised(axis: Axes, rows: pd.DataFrame) -> None:
    axis.set_xscale("log")
    for calibration, look in _PROMISED.items():
        own = rows[(rows["calibration"] == calibration) & (rows["vacuous"] == 0)].sort_values("total")
        if own.empty:
            continue
        axis.plot(own["total"], own["value"], color=look.colour, marker=look.marker, lw=1.0, ms=3.4)
        slope = 2 / 3 if calibration == "paper" else 1.0
        x, y = own["total"].to_numpy(), own["value"].to_numpy()
        axis.plot(x, 0.55 * y[-1] * (x / x[-1]) ** slope, color="#aaaaaa", lw=0.8, zorder=1)
    style.value_axis(axis.yaxis, rows["value"].clip(lower=1).min(), rows["value"].max())
    low, high = rows["total"].min(), rows["total"].max()
    ticks = [10.0**k for k in range(6, 16) if low <= 10.0**k <= high]
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("nominal n, λ = 1")
