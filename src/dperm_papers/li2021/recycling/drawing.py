"""Figures 8 and S.4 of li2021: selection and prediction with the retrieved budget recycled, and without."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from dperm_pipeline.figures import style

# Variant -> its name and colour.
LOOKS = {
    "erm-moor": ("NAPP-ERM", "#0072B2"),
    "vs-moor": ("VS", "#009E73"),
    "vs_plus-moor": ("VS+", "#D55E00"),
}
PROVED = {
    "erm": ("NAPP-ERM, VS", "#0072B2"),
    "vs_plus": ("VS+", "#D55E00"),
}
# Round -> its line: dashed without recycling, solid with it.
LINES = {0: (0, (4, 1.6)), 1: "-"}
_SUFFIX = {0: "", 1: "-recycled"}
# What round 1 is called.
_SECOND = {"paper": ", recycled budget", "corrected": ", public split"}
_GREY = "#777777"


def fig8(rows: pd.DataFrame) -> Figure:
    """Draw ROC curves and test error of the published methods with Gaussian noise.

    - rows: of the experiment li2021-recycling.
    - Returns: a column for each epsilon; rows: the ROC curve and the error, for each n.
    """
    return _draw(rows, "paper", LOOKS, pure=False)


def fig8_corrected(rows: pd.DataFrame) -> Figure:
    """Draw the same as `fig8` where the guarantee is proved: a public split of the budget is all that is left."""
    return _draw(rows, "corrected", PROVED, pure=False)


def figs4(rows: pd.DataFrame) -> Figure:
    """Draw the same as `fig8` at delta = 0."""
    return _draw(rows, "paper", LOOKS, pure=True)


def figs4_corrected(rows: pd.DataFrame) -> Figure:
    """Draw the same as `fig8_corrected` at delta = 0."""
    return _draw(rows, "corrected", PROVED, pure=True)


_WORDS = {
    "paper": "Lasso by NAPP-ERM, VS and VS+ with MOOR, as published; with recycled budget: one round of Algorithm 2. "
    "Nothing is proved of these.",
    "corrected": "What is proved: Λ‖θ‖₁ + w‖θ‖² in [0, 1]¹⁶, w = Λ₀ without recycling, with it w = max{Λ, Λ₀} and the "
    "budget that this public w leaves to the noise. VS is NAPP-ERM there; VS+ has two-sided noise and an extra lasso.",
}


def _draw(rows: pd.DataFrame, calibration: str, looks: dict, *, pure: bool) -> Figure:
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[(rows["row"] == "figure") & (rows["calibration"] == calibration) & (rows["status"] == "ok")]
    rows = rows[(rows["delta"] == 0) == pure]
    designs = sorted(rows["dataset"].unique(), key=_size)
    epsilons = sorted(rows["epsilon"].unique())
    figure = Figure(figsize=(7.0, 1.5 + 3.1 * len(designs)))
    axes = figure.subplots(2 * len(designs), len(epsilons), squeeze=False)
    for place, design in enumerate(designs):
        shown: list[float] = []
        errors = [axes[len(designs) + place, k] for k in range(len(epsilons))]
        for column, epsilon in enumerate(epsilons):
            here = rows[(rows["dataset"] == design) & (rows["epsilon"] == epsilon)]
            words = f"n = {_size(design)}, {style.equals('ε', epsilon)}"
            _roc(axes[place, column], here, looks)
            shown += _error(errors[column], here, looks)
            for axis in (axes[place, column], errors[column]):
                axis.set_title(words, size=8)
        for column, axis in enumerate(errors):
            style.value_axis(axis.yaxis, min(shown), max(shown))
            axis.tick_params(labelleft=column == 0)
        axes[place, 0].set_ylabel("true positive rate")
        errors[0].set_ylabel("test MSE")
    handles = [
        Line2D([], [], color=colour, ls=line, label=name + (_SECOND[calibration] if k else ""))
        for k, line in LINES.items()
        for name, colour in looks.values()
    ]
    handles.append(Line2D([], [], color=_GREY, ls=(0, (1, 1.2)), label="θ = 0"))
    delta = rows["delta"].iloc[0]
    repeats = int(rows.loc[rows["metric"] == "auc", "repeat"].max()) + 1
    lines = [
        _WORDS[calibration],
        f"Linear regression of Table 4, {style.noise_label(delta)}; {repeats} repeats; bands: "
        "95 % intervals of the mean. ROC: mean rates along Λ, joined to (0, 0) and (1, 1); in the "
        "panels the mean area per repeat, dashed → solid. MSE: geometric mean.",
    ]
    style.footer(figure, handles, columns=len(looks), lines=lines)
    return figure


def _size(design: str) -> int:
    return int(design.rsplit("-", 1)[1])


def _roc(axis: Axes, rows: pd.DataFrame, looks: dict) -> None:
    axis.plot([0, 1], [0, 1], color=_GREY, lw=0.6, ls=(0, (1, 1.2)))
    for place, (variant, (_, colour)) in enumerate(looks.items()):
        areas = []
        for k, line in LINES.items():
            here = rows[rows["variant"] == variant + _SUFFIX[k]]
            false, true, reach = (along(here, metric) for metric in ("fpr_mean", "tpr_mean", "tpr_half"))
            axis.fill_between(false, true - reach, true + reach, color=colour, alpha=0.12, lw=0)
            axis.plot(np.r_[0, false, 1], np.r_[0, true, 1], color=colour, ls=line, lw=1.1)
            areas.append(here.loc[here["metric"] == "auc", "value"].mean())
        words = " → ".join(f"{area:.2f}" for area in areas)
        axis.text(0.97, 0.05 + 0.12 * (len(looks) - 1 - place), words, color=colour, size=6.5, ha="right")
    axis.set_xlim(-0.03, 1.03)
    axis.set_ylim(-0.03, 1.03)
    axis.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axis.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axis.set_xlabel("false positive rate")


def _error(axis: Axes, rows: pd.DataFrame, looks: dict) -> list[float]:
    """Draw the test error over Lambda; return the least and the largest value drawn."""
    shown = []
    for variant, (_, colour) in looks.items():
        for k, line in LINES.items():
            here = rows[rows["variant"] == variant + _SUFFIX[k]]
            x, mean, half = (along(here, metric) for metric in ("strength", "log_mse_mean", "log_mse_half"))
            axis.fill_between(x, np.exp(mean - half), np.exp(mean + half), color=colour, alpha=0.15, lw=0)
            axis.plot(x, np.exp(mean), color=colour, ls=line, lw=1.1)
            ends = np.exp(np.r_[mean, mean - half, mean + half])
            shown += [np.nanmin(ends), np.nanmax(ends)]
    zero = rows.loc[rows["metric"] == "log_mse_zero", "value"]
    axis.axhline(float(np.exp(zero.iloc[0])), color=_GREY, lw=0.9, ls=(0, (1, 1.2)))
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(FixedLocator([0.1, 1.0, 10.0, 100.0]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(lambda value, _: style.number(value))
    axis.set_xlabel("Λ")
    return shown


def along(rows: pd.DataFrame, metric: str) -> np.ndarray:
    """Return a summary along the path, the largest Lambda first, which starts at (0, 0); or Lambda itself.

    - rows: of one design, epsilon, variant and round.
    - metric: or "strength".
    - Returns: shape (L,).
    """
    column = "strength" if metric == "strength" else "value"
    asked = "log_mse_mean" if metric == "strength" else metric
    return rows[rows["metric"] == asked].sort_values("strength", ascending=False)[column].to_numpy()
