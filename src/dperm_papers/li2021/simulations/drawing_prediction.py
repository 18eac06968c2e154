"""Figures 5 and S.2 of li2021: the error on test data along the path of Lambda."""

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from dperm_papers.li2021.shared import drawing_panels as panels
from dperm_pipeline.figures import style

METRICS = ("error_mean", "error_half")
_MODELS = ("linear", "poisson", "logistic")


def _draw(rows: pd.DataFrame, *, pure: bool, corrected: bool) -> Figure:
    """Draw a panel for each design and epsilon; those of a design share their y-axis.

    - rows: of the experiment li2021-simulations: `METRICS` and `runs`.
    - pure: delta = 0.
    - corrected: the corrected mechanisms instead of the published ones.
    """
    curves = panels.CORRECTED_AND_LASSOS if corrected else panels.PUBLISHED_AND_LASSOS
    rows = panels.plain(rows)
    delta = panels.of_delta(rows, pure)
    designs = panels.ordered(list(rows["dataset"].unique()), _MODELS)
    figure, places = panels.grid(rows, designs, notes=1.7)
    drawn: dict[str, list] = {design: [] for design in designs}
    axes: dict[str, list] = {design: [] for design in designs}
    for axis, design, epsilon, i, j in places:
        here = rows[(rows["dataset"] == design) & (rows["epsilon"] == epsilon)]
        shares = design.startswith("logistic")
        for curve in reversed(curves):
            own = here[here["delta"] == delta] if curve.of_delta else here
            points = panels.read(own, curve, METRICS)
            drawn[design] += panels.along(axis, points, curve, "error", (lambda v: v) if shares else np.exp)
        panels.strengths_axis(axis, last=i == len(designs) - 1)
        axes[design].append(axis)
        if j == 0:
            axis.set_ylabel("misclassified" if shares else "test MSE", size=6.8, labelpad=1)
    for design, line in axes.items():
        for axis in line:
            if design.startswith("logistic"):
                axis.set_ylim(*_widened(drawn[design]))
            else:
                style.value_axis(axis.yaxis, np.nanmin(drawn[design]), np.nanmax(drawn[design]))
            if axis is not line[0]:
                axis.set_yticklabels([])
    lines = [
        f"{panels.setting(rows, pure)} One test set a design. MSE: geometric mean over repeats; Poisson predictions "
        "are capped at e^7.5. Bands: 95 % intervals.",
        *([panels.SOUND] if corrected else []),
    ]
    return panels.finish(figure, curves, lines, columns=4)


def _widened(values: list[float]) -> tuple[float, float]:
    low, high = np.nanmin(values), np.nanmax(values)
    air = 0.06 * (high - low) or 0.05
    return low - air, high + air


fig5 = partial(_draw, pure=False, corrected=False)
fig5_corrected = partial(_draw, pure=False, corrected=True)
figs2 = partial(_draw, pure=True, corrected=False)
figs2_corrected = partial(_draw, pure=True, corrected=True)
