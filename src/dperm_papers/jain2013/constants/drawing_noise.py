"""jain2013-noise: the sd of one prediction over T and over epsilon, every calibration, in closed form and measured."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dperm_pipeline.figures import style

_DASHED, _DOTTED = (0, (4, 1.6)), (0, (1, 1.2))
# (mechanism, calibration, variant) -> line; in the order of the legend.
_CURVES = {
    ("tddl", "paper", ""): "-",
    ("tddl", "corrected", ""): "-",
    ("tddl", "tight", ""): "-",
    ("pinp", "paper", ""): _DASHED,
    ("pinp", "corrected", ""): _DASHED,
    ("pinp", "tight", ""): _DASHED,
    ("rkhs_gaussian", "tight", ""): _DASHED,
    ("explicit_output", "tight", ""): _DOTTED,
    ("rkhs_gaussian", "tight", "fresh"): _DOTTED,
    ("tddl", "paper", "bare"): (0, (2, 1.2)),
    ("cms11", "paper", ""): (0, (6, 1.4, 1, 1.4)),
}
# What this figure shows of a method, where its name does not say it.
_WORDS = {
    ("pinp", "paper", ""): "PINP, an update's answer",
    ("cms11", "paper", ""): "CMS11 output, explicit map (δ = 0)",
}
# Of the cubic kernel on unit rows: K(x, x) = (1 + 1)^3.
_FEATURE_NORM = 2**1.5
_LEVEL = "#333333"


def noise(rows: pd.DataFrame) -> Figure:
    """Draw formulas as lines and what was drawn from the mechanisms as markers.

    - rows: of the experiment jain2013-constants.
    - Returns: a panel over T for each epsilon that has several T, and one over epsilon.
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
    level = float(rows["radius"].iloc[0]) * _FEATURE_NORM
    for axis in axes:
        axis.axhline(level, color=_LEVEL, ls=_DOTTED, lw=0.8)
    style.value_axis(axes[0].yaxis, float(rows["value"].min()), max(level, float(rows["value"].max())))
    axes[0].set_ylabel("sd of one prediction")
    for axis in axes[1:]:
        axis.tick_params("y", labelleft=False)
    present = _keys(rows)
    measured = _keys(rows[rows["metric"] == "sd_measured"])
    handles = [
        Line2D([], [], **{**_line(key), **({} if key in measured else {"marker": ""})}, label=words)
        for key, words in ((key, _WORDS.get(key, _look(key).label)) for key in _CURVES)
        if key in present
    ]
    handles.append(Line2D([], [], color=_LEVEL, ls=_DOTTED, lw=0.8, label="C R, bound on an exact prediction"))
    style.footer(figure, handles, columns=3, lines=_said(rows))
    return figure


def _keys(rows: pd.DataFrame) -> set[tuple[str, ...]]:
    return {tuple(key) for key in rows[["mechanism", "calibration", "variant"]].drop_duplicates().to_numpy()}


def _said(rows: pd.DataFrame) -> list[str]:
    first = rows.iloc[0]
    asked = rows[(rows["mechanism"] == "pinp") & (rows["metric"] == "sd")]
    idle = asked.groupby("calibration")["vacuous"].mean()
    words = {"paper": "as printed", "corrected": "corrected", "tight": "tight"}
    vacuous = [f"{words[how]} {'everywhere' if idle[how] == 1 else 'at some points'}" for how in words if idle[how] > 0]
    d = int(rows.loc[rows["mechanism"] == "cms11", "d"].max())
    return [
        f"No data set: the cubic kernel on unit rows, L = 1, {style.equals('nλ', float(first['total']))}, C = "
        f"{float(first['radius']):.3g}, {style.equals('δ', float(rows['delta'].max()))}, replace-one. Lines: "
        "formulas. Markers: drawn from the mechanisms, filled at orthogonal public points, hollow at unit vectors of "
        "R¹⁰, where least squares average the noise once T is larger than the dimension of the span of their "
        f"features. TDDL, tight, and the Gaussian comparators coincide. CMS11: {d:,} monomials.",
        f"PINP promises nothing (B < 1 or σ ≥ C R/2) {'; '.join(vacuous)}; its other answers come from its own model."
        if vacuous
        else "PINP's other answers come from its own model.",
    ]


def _panel(axis: Axes, rows: pd.DataFrame, over: str, label: str) -> None:
    for key in _CURVES:
        colour, marker = _look(key).colour, _look(key).marker
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
    look = _look(key)
    return {"color": look.colour, "marker": look.marker, "ls": _CURVES[key], "lw": 1.1, "ms": 3.4}


def _look(key: tuple[str, str, str]) -> style.Look:
    return style.look(*key)
