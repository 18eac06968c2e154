"""jain2013, equation (3): how far one record moves w* and its predictions, in units of the bounds."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_KERNELS = {"linear": "linear kernel", "cubic": "(⟨x, v⟩ + 1)³", "gaussian": "Gaussian kernel"}
_LOSSES = {
    "hinge": ("hinge", "#0072B2", 0.9),
    "logistic": ("logistic", "#D55E00", 1.0),
    "huber": ("Huber", "#009E73", 1.11),
}
_ROWS = {"weights": "‖w − w′‖/Δ_w", "prediction": "max |f − f′|/Δ₁"}
_LIBSVM = {"libsvm": ("random pairs, LibSVM with bias", "+"), "majority": ("flipped majority, LibSVM with bias", "x")}
_BIAS = "#CC79A7"
# Size of a marker by the place of its lambda: the smallest first.
_SIZES = (7, 16, 30)


def stability(rows: pd.DataFrame) -> Figure:
    """Draw the largest ratio over random pairs, and that of the worst pair, over n for each loss, kernel and lambda.

    - rows: of the experiment jain2013-stability: metric `excess`.
    - Returns: a row for w and one for predictions, a column for each kernel.
    """
    rows = rows[(rows["metric"] == "excess") & rows["row"].isin(list(_ROWS))]
    rows = rows.assign(ratio=1 + rows["value"])
    figure = Figure(figsize=(7.0, 5.2))
    panels = figure.subplots(len(_ROWS), len(_KERNELS), sharex=True, sharey="row")
    lams = sorted(rows["curvature"].unique())
    for line, (row, label) in zip(panels, _ROWS.items(), strict=True):
        for axis, kernel in zip(line, _KERNELS, strict=True):
            _panel(axis, rows[(rows["row"] == row) & (rows["kernel"] == kernel)], lams)
        line[0].set_ylabel(label)
        shown = rows[rows["row"] == row].groupby(["form", "loss", "kernel", "n", "curvature"])["ratio"].max()
        style.value_axis(line[0].yaxis, shown[shown > 0].min(), shown.max())
    for top, bottom, name in zip(*panels, _KERNELS.values(), strict=True):
        top.set_title(name)
        bottom.set_xlabel("n")
    handles = [
        Line2D([], [], color=colour, marker="o", label=f"{name}, largest of random pairs")
        for name, colour, _ in _LOSSES.values()
    ]
    handles += [Line2D([], [], color="#555555", marker="D", mfc="white", ls="", label="flipped label, no bias")]
    handles += [Line2D([], [], color=_BIAS, marker=m, ls="", label=name) for name, m in _LIBSVM.values()]
    pairs, few = (int(rows.loc[rows["form"] == form, "repeat"].max()) + 1 for form in ("random", "libsvm"))
    lines = [
        f"sphere-3: {pairs} random pairs at each point (LibSVM: {few}), replace-one; larger markers for larger λ "
        f"({style.equals('λ', *lams)}). Black line: equation (3)'s bound. Not private: exact minimisers, certified to "
        "Δ_w/50 a pair; LibSVM's have no certificate. Flipped labels attain the bound for Huber, and for the hinge "
        "where nλ ≥ R²; the flipped majority moves predictions by nλ/R² times the bound, through the bias alone (its "
        "w stays 0, off the scale).",
    ]
    style.footer(figure, handles, columns=2, lines=lines)
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, lams: list[float]) -> None:
    axis.set_xscale("log")
    for loss, (_, colour, shift) in _LOSSES.items():
        for k, lam in enumerate(lams):
            own = rows[(rows["loss"] == loss) & (rows["curvature"] == lam)]
            size = _SIZES[min(k, len(_SIZES) - 1)]
            top = own[own["form"] == "random"].groupby("n")["ratio"].max()
            axis.plot(top.index * shift, top, color=colour, lw=0.7, marker="o", ms=size**0.5)
            worst = own[own["form"] == "flip"].groupby("n")["ratio"].max()
            axis.scatter(worst.index * shift, worst, marker="D", s=size, facecolors="white", edgecolors=colour, lw=0.8)
            for form, (_, marker) in _LIBSVM.items():
                part = own[(own["form"] == form) & (own["ratio"] > 0)].groupby("n")["ratio"].max()
                axis.scatter(part.index, part, marker=marker, s=1.6 * size, color=_BIAS, lw=0.8, zorder=4)
    axis.axhline(1.0, color="black", lw=0.9)
    ticks = sorted(rows.loc[rows["form"] == "random", "n"].unique())
    axis.set_xticks(ticks, [style.number(n) for n in ticks])
    axis.minorticks_off()
