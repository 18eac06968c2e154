"""Figure 2b of jain2013: regression error on KDD Cup 2010 algebra over epsilon, a column for each n lambda."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_KDD = "kdd-algebra"
_METHODS = (
    ("tddl", "paper"), ("tddl", "corrected"), ("tddl", "tight"), ("cms11", "paper"), ("objective", "tight"),
    ("explicit_output", "tight"),
)  # fmt: skip
# Without privacy: (variant, words, line). `huber`, the private methods' own start, is the same line to the eye.
_LINES = (
    ("least_squares", "least squares (not private)", "-"),
    ("mean", "mean of the targets (not private)", "--"),
    ("zero", "zero", ":"),
)
# The lower row's axis, in multiples of least squares; and the margin at which "close" is judged, from this epsilon on.
_ZOOM, _CLOSE, _FROM = (0.9, 2.0), 1.1, 0.5


def fig2b(rows: pd.DataFrame) -> Figure:
    """Draw KDD Cup 2010 algebra, or the data set that stands in for it where it is not among the rows.

    - rows: of the experiment jain2013-kdd: metric `error`, one row for each split.
    - Returns: above the error, below its ratio to least squares, a column for each n lambda.
    """
    names = sorted(map(str, rows["dataset"].unique()))
    dataset = _KDD if _KDD in names else names[0]
    rows = rows[(rows["dataset"] == dataset) & (rows["metric"] == "error")]
    public = rows[rows["mechanism"] == "nonprivate"]
    private = rows[rows["mechanism"] != "nonprivate"]
    lost = int((private["status"] != "ok").sum())
    private = private[private["status"] == "ok"]
    totals, epsilons = (sorted(float(value) for value in private[name].unique()) for name in ("total", "epsilon"))
    figure = Figure(figsize=(7.0, 5.6))
    grid = figure.subplots(2, len(totals), squeeze=False, sharex=True, gridspec_kw={"height_ratios": (1.5, 1)})
    for axis, below, total in zip(*grid, totals, strict=True):
        chosen = bool(private.loc[private["total"] == total, "headline"].any())
        axis.set_title(f"{dataset}, {style.equals('nλ', total)}{' *' if chosen else ''}")
        here = private[private["total"] == total]
        level = public[public["total"].isin([total, 0.0])].set_index(["variant", "repeat"])["value"]
        least = level["least_squares"]
        for method in _METHODS:
            own = here[(here["mechanism"] == method[0]) & (here["calibration"] == method[1])]
            _line(axis, own, method, epsilons, own["value"])
            _line(below, own, method, epsilons, own["value"] / own["repeat"].map(least).astype(float))
        for variant, _, line in _LINES:
            axis.axhline(level[variant].mean(), color=style.NONPRIVATE.colour, ls=line, lw=0.9, zorder=1.8)
            below.axhline((level[variant] / least).mean(), color=style.NONPRIVATE.colour, ls=line, lw=0.9, zorder=1.8)
        below.fill_between([_FROM, max(epsilons) * 1.35], 1, _CLOSE, color="black", alpha=0.08, lw=0, zorder=1)
        below.set_ylim(*_ZOOM)
        below.set_xlabel("ε")
        style.epsilon_axis(below.xaxis, epsilons)
        below.tick_params("x", labelrotation=60)
    low = min(float(public["value"].min()), float(private["value"].min()))
    for axis in grid[0]:
        style.value_axis(axis.yaxis, low, float(private["value"].max()))
        axis.label_outer()
    for axis in grid[1]:
        axis.label_outer()
    grid[0][0].set_ylabel("test error, ‖Xw − y‖₂/√rows")
    grid[1][0].set_ylabel("error / least squares")
    return _finish(figure, dataset, private, lost)


def _line(axis: Axes, own: pd.DataFrame, method: tuple[str, str], epsilons: Sequence[float], values: pd.Series) -> None:
    """Draw the means of one method over epsilon with their bands."""
    look = style.look(*method)
    groups = {epsilon: group.to_numpy() for epsilon, group in values.groupby(own["epsilon"])}
    points = np.array([style.mean_interval(groups.get(epsilon, np.array([]))) for epsilon in epsilons])
    axis.plot(epsilons, points[:, 0], **_drawn(method), zorder=3)
    low, high = (np.where(np.isnan(points[:, k]), math.nan, points[:, k]) for k in (1, 2))
    axis.fill_between(epsilons, np.maximum(low, 1e-3), high, color=look.colour, alpha=0.15, lw=0, zorder=1.5)


def _drawn(method: tuple[str, str]) -> dict[str, object]:
    """Return the look of a line; pure privacy is dashed, as everywhere."""
    look = style.look(*method)
    dashes = style.linestyles([0.0])[0.0] if method[0] == "cms11" else "-"
    return {"color": look.colour, "marker": look.marker, "ls": dashes, "ms": 3.2}


def _finish(figure: Figure, dataset: str, private: pd.DataFrame, lost: int) -> Figure:
    handles = [Line2D([], [], **_drawn(method), label=style.look(*method).label) for method in _METHODS]
    handles += [
        Line2D([], [], color=style.NONPRIVATE.colour, ls=line, lw=0.9, label=words) for _, words, line in _LINES
    ]
    delta = float(private["delta"].max())
    count, percent = int(private["repeat"].nunique()), style.number(round(100 * (_CLOSE - 1), 6))
    splits = f"{count} split{'s' * (count > 1)}"
    lines = [
        f"Root mean square error on test rows of {dataset}, {splits} with several draws of noise each; replace-one "
        f"neighbours; {style.equals('δ', delta)}, CMS11 pure. Bands: 95 % intervals of the mean over splits."
        + (f" {lost} private rows did not converge and are left out." if lost else ""),
        "* The headline: the nλ chosen by 5-fold cross-validation of least squares on public rows. Below: a curve that "
        f"leaves the panel is above {style.number(_ZOOM[1])} times least squares; grey field: within {percent} % of it "
        f"at ε ≥ {style.number(_FROM)}, where the paper says that TDDL is close to it. CMS11 raises nλ only where its "
        "ε′ is not above 0: where ε′ is barely above 0 its noise is huge.",
    ]
    if dataset != _KDD:
        lines.append(f"{_KDD} is not among the rows: {dataset}, a formula, stands in for it.")
    style.footer(figure, handles, columns=3, lines=lines)
    return figure
