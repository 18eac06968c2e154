"""dwork2018-stable: excess of stable learning over n beside its bounds, and stability over the replaced position."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_PRINTED, _MENDED, _HALVED, _TIGHT = ("#D55E00", "s"), ("#E69F00", "D"), ("#0072B2", "o"), ("#CC79A7", "v")
_DASHED = (0, (4, 1.6))
# (calibration, variant) of noise that is private; as printed it is so for minimisers alone.
_NOISE = {("paper", ""): _PRINTED, ("corrected", ""): _MENDED, ("corrected", "halved"): _HALVED, ("tight", ""): _TIGHT}
# Whose bound, of which noise (its calibration and variant).
_BOUNDS = {
    ("printed", "paper", ""): _PRINTED,
    ("mended", "corrected", ""): _MENDED,
    ("tight", "corrected", "halved"): _HALVED,
    ("tight", "tight", ""): _TIGHT,
}
# Series, data and name of a row of panels.
_PANELS = (
    ("4.10", "signs", "Cor. 4.10"),
    ("4.11", "abs", "Cor. 4.11"),
    ("4.13", "hard", "Cor. 4.13, hard"),
    ("4.13", "sq", "Cor. 4.13, sq"),
)
# lambda of Corollary 4.10's panels: the one of the rows nearest to it.
_CURVATURE = 0.1
_NOT_PRIVATE = "#777777"


def stable(rows: pd.DataFrame) -> Figure:
    """Draw the excess over n for each epsilon and corollary, and how far a label moves an answer.

    - rows: of the experiment dwork2018-stable.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[(rows["status"] == "ok") & (rows["metric"] == "excess")]
    curvatures = rows.loc[rows["series"] == "4.10", "curvature"].unique()
    curvature = min(curvatures, key=lambda value: abs(value - _CURVATURE))
    epsilons = sorted(rows.loc[rows["series"] == "4.13", "epsilon"].unique())
    sizes = sorted(rows.loc[rows["series"] == "4.13", "n"].unique())
    figure = Figure(figsize=(7.0, 9.4))
    grid = figure.add_gridspec(len(_PANELS) + 1, len(epsilons), height_ratios=[*[1.0] * len(_PANELS), 1.25])
    for line, (series, dataset, name) in enumerate(_PANELS):
        part = rows[(rows["series"] == series) & (rows["dataset"] == dataset)]
        part = part[part["curvature"] == curvature] if series == "4.10" else part
        first = None
        for column, epsilon in enumerate(epsilons):
            first = axis = figure.add_subplot(grid[line, column], sharey=first)
            _excess(axis, part[part["epsilon"] == epsilon], sizes)
            if line == 0:
                axis.set_title(style.equals("ε", epsilon), size=8)
            if column == 0:
                axis.set_ylabel(f"{name}\nexcess loss")
            else:
                axis.tick_params(labelleft=False)
            if line == len(_PANELS) - 1:
                axis.set_xlabel("n")
            else:
                axis.tick_params(labelbottom=False)
        drawn = pd.concat([part["value"] + part["bound"], part["bound"]])
        style.value_axis(first.yaxis, drawn.min(), drawn.max())
    _stability(figure.add_subplot(grid[len(_PANELS), :]), rows[rows["series"] == "stability"], curvature)
    handles = [
        Line2D([], [], color=colour, marker=marker, label=label)
        for (colour, marker), label in (
            (_PRINTED, "as printed (4.13: not private, grey)"),
            (_MENDED, "mended noise"),
            (_HALVED, "halved step"),
            (_TIGHT, "tight noise"),
        )
    ]
    handles.append(Line2D([], [], color="#333333", ls=_DASHED, label="bound, in its mechanism's colour"))
    line = (
        "Exact expectations at the worst mean of the labels. Corollary 4.10: "
        f"{style.equals('λ', curvature)}. Of 4.13 tight noise is (n − 1)/n of the mended one, and its curve left out. "
        "Below: the change of an answer when one label is replaced, over the rate as Theorem 4.9 or 4.12 prints it; "
        "the minimisers do not know the order of the records."
    )
    style.footer(figure, handles, columns=3, lines=[line])
    return figure


def _excess(axis: Axes, rows: pd.DataFrame, sizes: list[int]) -> None:
    descends = (rows["mechanism"] == "stable_sgd").any()
    for (calibration, variant), (colour, marker) in _NOISE.items():
        part = rows[(rows["calibration"] == calibration) & (rows["variant"] == variant)]
        part = part[part["bound_of"] == "printed"].sort_values("n")
        if part.empty or (descends and calibration == "tight"):
            continue
        grey = descends and calibration == "paper"
        drawn = {"color": _NOT_PRIVATE, "lw": 0.9, "mfc": "white"} if grey else {"color": colour}
        axis.plot(part["n"], part["value"] + part["bound"], marker=marker, **drawn)
    for (bound_of, calibration, variant), (colour, _) in _BOUNDS.items():
        part = rows[(rows["calibration"] == calibration) & (rows["variant"] == variant)]
        part = part[part["bound_of"] == bound_of].sort_values("n")
        axis.plot(part["n"], part["bound"], color=colour, ls=_DASHED, lw=1.0)
    axis.set_xscale("log")
    ticks = [n for n in sizes if f"{n:e}".startswith("1.000000e")]
    axis.set_xticks(ticks, [style.number(n) for n in ticks])
    axis.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    axis.minorticks_off()


def _stability(axis: Axes, rows: pd.DataFrame, curvature: float) -> None:
    most = rows.loc[rows["position"] > 0, "n"].max()
    drawn = (
        ("lin", "corrected", "", _MENDED[0], "-", "4.13 on lin"),
        ("lin", "corrected", "halved", _HALVED[0], "-", "4.13 on lin, halved step"),
        ("sq", "corrected", "", _MENDED[0], ":", "4.13 on sq"),
    )
    printed = rows[(rows["calibration"] == "paper") & (rows["n"] == most)]
    for dataset, calibration, variant, colour, style_, label in drawn:
        part = rows[(rows["dataset"] == dataset) & (rows["calibration"] == calibration) & (rows["variant"] == variant)]
        part = part[(part["n"] == most) & (part["position"] > 0)].sort_values("position")
        unit = printed.loc[printed["dataset"] == dataset, "bound"].iloc[0]
        axis.plot(part["position"] / most, (part["value"] + part["bound"]) / unit, color=colour, ls=style_, label=label)
    for dataset, colour, label in (
        ("signs", "#009E73", f"4.10, {style.equals('λ', curvature)}"),
        ("abs", "#56B4E9", "4.11"),
    ):
        part = printed[(printed["dataset"] == dataset) & (printed["curvature"] == curvature)].iloc[0]
        axis.axhline((part["value"] + part["bound"]) / part["bound"], color=colour, label=label)
    axis.axhline(1.0, color=_PRINTED[0], ls=_DASHED, lw=1.0, label="rate as printed")
    axis.axhline(2.0, color=_MENDED[0], ls=_DASHED, lw=1.0, label="rate of 4.13 mended")
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 2.85)
    axis.set_yticks([0, 0.5, 1, 1.5, 2])
    axis.set_xlabel(f"position of the replaced record in the pass, i/n (n = {style.number(most)})")
    axis.set_ylabel("change of an answer\n/ printed rate")
    axis.legend(loc="upper right", ncols=4, frameon=False, fontsize=7)
