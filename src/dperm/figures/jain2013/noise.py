"""jain2013-noise: the sd of one prediction over T and over epsilon, every calibration, in closed form and measured."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dperm.figures import style

_PRINTED, _CORRECTED, _TIGHT = "#D55E00", "#E69F00", "#CC79A7"
_DASHED, _DOTTED = (0, (4, 1.6)), (0, (1, 1.2))
# (mechanism, calibration, variant) -> words, colour, marker, line; in the order of the legend.
_CURVES = {
    ("tddl", "paper", ""): ("TDDL", _PRINTED, "s", "-"),
    ("tddl", "corrected", ""): ("TDDL, corrected", _CORRECTED, "D", "-"),
    ("tddl", "tight", ""): ("TDDL, tight", _TIGHT, "v", "-"),
    ("pinp", "paper", ""): ("PINP, an update's answer", _PRINTED, "s", _DASHED),
    ("pinp", "corrected", ""): ("PINP, corrected", _CORRECTED, "D", _DASHED),
    ("pinp", "tight", ""): ("PINP, tight", _TIGHT, "v", _DASHED),
    ("rkhs_gaussian", "tight", ""): ("RKHS Gaussian, one path", "#0072B2", "o", _DASHED),
    ("explicit_output", "tight", ""): ("Gaussian output", "#009E73", "^", _DOTTED),
    ("rkhs_gaussian", "tight", "fresh"): ("fresh Gaussian noise, composed", "#0072B2", "", _DOTTED),
    ("tddl", "paper", "bare"): ("bare O(·), constant 1 (not private)", "#999999", "x", (0, (2, 1.2))),
    ("cms11", "paper", ""): ("CMS11 output, explicit map (δ = 0)", "#56B4E9", "P", (0, (6, 1.4, 1, 1.4))),
}
_LEVEL = "#333333"


def noise(rows: pd.DataFrame) -> Figure:
    """Draw formulas as lines and what was drawn from the mechanisms as markers.

    Parameters
    ----------
    rows : DataFrame
        Of the experiment jain2013-constants.

    Returns
    -------
    Figure
        A panel over T for each epsilon that has several T, and one over epsilon.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[(rows["series"] == "noise") & (rows["status"] == "ok")]
    counts = rows.groupby("epsilon")["queries"].nunique()
    several = [float(epsilon) for epsilon in counts.index[counts == counts.max()]][:2]
    per = rows.groupby("queries")["epsilon"].nunique()
    T = int(per.idxmax())
    figure = Figure(figsize=(7.0, 4.9))
    axes = figure.subplots(1, len(several) + 1, sharey=True, squeeze=False)[0]
    for axis, epsilon in zip(axes, several, strict=False):
        _panel(axis, rows[rows["epsilon"] == epsilon], "queries", "T")
        axis.set_title(f"over T, {style.equals('ε', epsilon)}")
    _panel(axes[-1], rows[rows["queries"] == T], "epsilon", "ε")
    axes[-1].set_title(f"over ε, T = {T:,}")
    level = float((rows["radius"] * np.sqrt(8.0)).iloc[0])
    for axis in axes:
        axis.axhline(level, color=_LEVEL, ls=_DOTTED, lw=0.8)
    style.value_axis(axes[0].yaxis, float(rows["value"].min()), max(level, float(rows["value"].max())))
    axes[0].set_ylabel("sd of one prediction")
    for axis in axes[1:]:
        axis.tick_params("y", labelleft=False)
    present = {tuple(key) for key in rows[["mechanism", "calibration", "variant"]].drop_duplicates().to_numpy()}
    handles = [Line2D([], [], **_line(key), label=words) for key, (words, *_) in _CURVES.items() if key in present]
    handles.append(Line2D([], [], color=_LEVEL, ls=_DOTTED, lw=0.8, label="C R, bound on an exact prediction"))
    style.footer(figure, handles, columns=3, lines=_said(rows))
    return figure


def _said(rows: pd.DataFrame) -> list[str]:
    first = rows.iloc[0]
    asked = rows[(rows["mechanism"] == "pinp") & (rows["metric"] == "sd")]
    idle = asked.groupby("calibration")["vacuous"].mean()
    words = {"paper": "as printed", "corrected": "corrected", "tight": "tight"}
    vacuous = [f"{words[how]} {'everywhere' if idle[how] == 1 else 'at some points'}" for how in words if idle[how] > 0]
    d = int(rows.loc[rows["mechanism"] == "cms11", "d"].max())
    return [
        f"No data set: the cubic kernel on unit rows, R² = 8, L = 1, {style.equals('nλ', float(first['total']))}, C = "
        f"{float(first['radius']):.3g}, {style.equals('δ', 1e-6)}, replace-one neighbours. Lines: formulas. Markers: "
        "drawn from the mechanisms, filled at orthogonal public points, hollow at unit vectors of R¹⁰ (286 monomials), "
        "where least squares average the noise once T is larger. TDDL, tight, and the Gaussian comparators coincide. "
        f"CMS11: {d:,} monomials of 54 columns.",
        f"PINP promises nothing (B < 1 or σ ≥ C R/2) {'; '.join(vacuous)}; its other answers come from its own model."
        if vacuous
        else "PINP's other answers come from its own model.",
    ]


def _panel(axis: Axes, rows: pd.DataFrame, over: str, label: str) -> None:
    for key, (_, colour, marker, _) in _CURVES.items():
        mechanism, calibration, variant = key
        own = rows[
            (rows["mechanism"] == mechanism) & (rows["calibration"] == calibration) & (rows["variant"] == variant)
        ].sort_values(over)
        exact = own[own["metric"] == "sd"]
        axis.plot(exact[over], exact["value"], **{**_line(key), "marker": ""}, zorder=2)
        drawn = own[own["metric"] == "sd_measured"]
        for name, face in (("orthogonal", colour), ("sphere-10", "white")):
            part = drawn[drawn["dataset"] == name]
            axis.plot(part[over], part["value"], ls="", marker=marker, ms=3.4, mew=0.8, mfc=face, mec=colour, zorder=3)
    places = sorted(rows[over].unique())
    axis.set_xscale("log")
    ticks = places[:: -(-len(places) // 4)]
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.number(value)))
    axis.set_xlabel(label)


def _line(key: tuple[str, str, str]) -> Mapping[str, object]:
    _, colour, marker, line = _CURVES[key]
    return {"color": colour, "marker": marker, "ls": line, "lw": 1.1, "ms": 3.4}
