"""Ticks and limits of a panel's axes, as a specification asks for them."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from dperm_pipeline.figures import spec, style


def set_x(axis: Axes, panel: spec.Panel, rows: pd.DataFrame) -> None:
    """Set ticks and limits of x, from what is drawn."""
    drawn = [np.asarray(line.get_xdata(), dtype=float) for line in axis.lines if line.get_transform() == axis.transData]
    values = sorted(set(np.concatenate(drawn))) if drawn else []
    if panel.epsilons:
        style.epsilon_axis(axis.xaxis, panel.xticks(rows) if callable(panel.xticks) else panel.xticks or values)
    elif panel.xticks is not None:
        ticks = panel.xticks(rows) if callable(panel.xticks) else panel.xticks
        if ticks == "all":
            ticks = values
        elif isinstance(ticks, int):
            ticks = values[:: -(-len(values) // ticks)]
        elif ticks == "powers":
            low, high = axis.get_xlim()
            ticks = [tick for tick in 10.0 ** np.arange(-12, 16) if low <= tick <= high]
        elif ticks == "decades":
            wide = values[-1] / values[0] > 3e3
            ticks = [value for value in values if not wide or np.isclose(np.log10(value) % 1, 0)]
            ticks = ticks[:: -(-len(ticks) // 5)]
        low, high = values[0] * (1 - 1e-9), values[-1] * (1 + 1e-9)
        if isinstance(panel.xticks, tuple) and panel.xlim is None:
            ticks = [tick for tick in ticks if low <= tick <= high]
        if panel.most and len(ticks) > panel.most:
            ticks = ticks[:: -(-len(ticks) // panel.most)]
        numbers = [style.number(float(f"{tick:.6g}")) for tick in ticks]
        axis.set_xticks([*ticks], [*ticks.values()] if isinstance(ticks, dict) else numbers)
        axis.minorticks_off()
    if callable(panel.xlim):
        axis.set_xlim(*panel.xlim(rows))
    elif isinstance(panel.xlim, (int, float)):
        axis.set_xlim(values[0] / panel.xlim, values[-1] * panel.xlim)
    elif panel.xlim:
        axis.set_xlim(*panel.xlim)


def set_y(axis: Axes, panel: spec.Panel, shown: list[float], sharing: pd.DataFrame) -> None:
    """Set ticks and limits of y, so that the values `shown` fit; `sharing` are the rows of all panels that share it."""
    if panel.ylim == "free":
        return
    if panel.ylim is not None:
        axis.set_yscale(panel.yscale)
        axis.set_ylim(*(panel.ylim(sharing) if callable(panel.ylim) else panel.ylim))
    elif panel.air:
        low, high = np.nanmin(shown), np.nanmax(shown)
        air = panel.air * (high - low) or 0.05
        axis.set_ylim(low - air, high + air)
    else:
        shown = [value for value in shown if np.isfinite(value)]
        span = [*panel.span(sharing)] if panel.span else []
        shown = span if panel.exactly else [*shown, *span]
        if not shown:
            axis.set_yticks([])
            return
        style.value_axis(axis.yaxis, min(shown), max(shown))
    if panel.yticks is not None:
        ticks = panel.yticks
        labels = [*ticks.values()] if isinstance(ticks, dict) else [style.number(tick) for tick in ticks]
        axis.set_yticks([*ticks], labels)
        axis.yaxis.set_minor_locator(NullLocator())
