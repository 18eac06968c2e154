"""Panels over epsilon: the lines, bands and scales that the figures on real data share."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from dperm_pipeline.figures import style

GREY = "#555555"


def by(frame: pd.DataFrame, keys: list[str]) -> Iterable[tuple[tuple, pd.DataFrame]]:
    """Group by keys; text in alphabetical order whatever the order of its categories.

    - Returns: iterable of (key, DataFrame).
    """
    frame = frame.astype({key: object for key in keys if isinstance(frame[key].dtype, pd.CategoricalDtype)})
    return frame.groupby(keys, sort=True)


def summary(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return a line for each combination of keys: mean and 95 % t interval over repeats that converged.

    - rows: with `keys`, `value` and `status`.
    - Returns: columns `keys`, mean, low, high, ok and failed (numbers of repeats).
    """
    lines = []
    for key, group in by(rows, keys):
        values = group.loc[group["status"] == "ok", "value"].to_numpy()
        mean, low, high = style.mean_interval(values)
        counts = {"ok": len(values), "failed": len(group) - len(values)}
        lines.append({**dict(zip(keys, key, strict=True)), "mean": mean, "low": low, "high": high, **counts})
    return pd.DataFrame(lines, columns=[*keys, "mean", "low", "high", "ok", "failed"])


def grid(columns: int, rows: int, *, panel_height: float, notes: int) -> tuple[Figure, np.ndarray]:
    """Return a figure as wide as a page's text, with room for the footer, and its panels.

    - columns, rows: without columns there is one panel, which says so.
    - panel_height: in inches.
    - notes: lines of text under the panels.
    - axes: shape (rows, max(columns, 1)).
    """
    figure = Figure(figsize=(7.0 if columns > 2 else 5.2, 1.0 + panel_height * rows + 0.135 * notes))
    axes = figure.subplots(rows, max(columns, 1), squeeze=False)
    if not columns:
        say(axes[0, 0], "no rows")
    return figure, axes


def say(axis: Axes, text: str) -> None:
    """Write what a panel cannot show into its middle."""
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", color=GREY)


def frame(
    axis: Axes, points: pd.DataFrame, level: float | None, *, epsilons: Sequence[float], empty: bool = False
) -> None:
    """Set the scales of a panel from everything that will be in it, and draw the non-private level.

    - points: as `summary` makes them; also those of panels that share the y-axis.
    - empty: say that nothing of this panel converged.
    """
    drawn = points[points["ok"] > 0]
    if epsilons:
        style.epsilon_axis(axis.xaxis, epsilons)
    if drawn.empty or empty:
        say(axis, "no converged fit")
    if drawn.empty:
        axis.set_yticks([])
        return
    values = np.concatenate([drawn["mean"], drawn["high"].dropna(), [] if level is None else [level]])
    # The lower end of an interval may be below 0 where the mean is not; a log axis then cuts the band, not the line.
    lows = drawn["low"].dropna()
    lows = lows[lows > 0] if values.min() > 0 else lows
    style.value_axis(axis.yaxis, min(values.min(), lows.min() if len(lows) else np.inf), values.max())
    if level is not None:
        axis.axhline(level, color=style.NONPRIVATE.colour, lw=0.9, ls=(0, (1, 1)), zorder=1.5)


def line(
    axis: Axes,
    points: pd.DataFrame,
    epsilons: Sequence[float],
    colour: str | tuple[float, float, float],
    marker: str,
    linestyle: object,
    *,
    hollow: bool,
    band: float = 0.18,
    aside: float = 0.0,
) -> None:
    """Draw one line with its band; where an epsilon is missing it breaks instead of bridging the gap.

    - axis: framed already.
    - points: as `summary` makes them, one for each epsilon.
    - colour, marker, linestyle: as matplotlib takes them.
    - hollow: white markers.
    - band: opacity.
    - aside: points of 1/72 inch by which to move the line to the right, so that equal lines are seen as two.
    """
    points = points[points["ok"] > 0].set_index("epsilon").reindex(epsilons)
    face = "white" if hollow else colour
    moved = axis.transData + ScaledTranslation(aside / 72, 0, axis.figure.dpi_scale_trans)
    look = {"color": colour, "marker": marker, "ls": linestyle, "mfc": face}
    axis.plot(epsilons, points["mean"], **look, mew=0.9, zorder=3, transform=moved)
    low, high = points["low"].to_numpy(), points["high"].to_numpy()
    if axis.get_yscale() == "log":
        low = np.maximum(low, axis.get_ylim()[0])
    known = ~np.isnan(low)
    axis.vlines(np.array(epsilons)[known], low[known], high[known], color=colour, lw=0.8, zorder=2.5, transform=moved)
    axis.fill_between(epsilons, low, high, color=colour, alpha=band, lw=0, zorder=2, transform=moved)


def nonprivate() -> Line2D:
    """Return the legend's entry of the non-private level."""
    return Line2D([], [], color=style.NONPRIVATE.colour, lw=0.9, ls=(0, (1, 1)), label=style.NONPRIVATE.label)
