"""jain2013-thm5: the error of TDDL over n lambda, n, T and d, the constant of its bound, and PINP's answers instead."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# (mechanism, variant, calibration) -> words, in the order of the legend.
_WORDS = {
    ("tddl", "", "paper"): "TDDL",
    ("tddl", "", "corrected"): "TDDL, corrected",
    ("tddl", "", "tight"): "TDDL, tight",
    ("tddl", "bare", "paper"): "bare O(·), not private",
    ("explicit_output", "", "tight"): "Gaussian output",
    ("cms11", "", "paper"): "CMS11 (pure ε)",
    ("trivial", "", "paper"): "ŵ = 0",
}
_CURVES = {
    (mechanism, variant, how): style.TRIVIAL if mechanism == "trivial" else style.look(mechanism, how, variant)
    for mechanism, variant, how in _WORDS
}
_PRINTED = _CURVES["tddl", "", "paper"].colour
_TDDL = [key for key in _CURVES if key[:2] == ("tddl", "")]
_LAWS = {"ten-directions": ("ten equal directions", "-"), "decaying": ("variances j⁻²", (0, (4, 1.6)))}
_D = "D = mean |⟨ŵ − w*, φ⟩|"


def thm5(rows: pd.DataFrame) -> Figure:
    """Draw D along the sweeps, the constant of Theorem 5's bound, and D with PINP's answers.

    - rows: of the experiment jain2013-thm5.
    - Returns: lines: means over repeats with 95 % intervals.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[rows["status"] == "ok"]
    error = rows[rows["metric"] == "error"]
    figure = Figure(figsize=(7.0, 5.6))
    (first, second, third), (fourth, fifth, sixth) = figure.subplots(2, 3)
    shown = [key for key in _CURVES if key[0] != "cms11"]
    _lines(first, error[error["series"] == "total"], "total", shown)
    _titled(first, "T as in Theorem 5, C = 1", "nλ", _D)
    _corollary(second, error[error["series"] == "corollary"])
    swept = error[error["series"] == "queries"]
    _lines(third, swept, "queries", shown)
    own = int(swept["own_queries"].iloc[0])
    third.axvline(own, color="#555555", lw=0.8, ls=":")
    third.annotate(f"T = {own}\nof Theorem 5", (own, 0.6), xycoords=("data", "axes fraction"), size=6.5,
                   ha="right", va="bottom", xytext=(-2, 0), textcoords="offset points")  # fmt: skip
    _titled(third, style.equals("nλ", swept["total"].iloc[0]), "T", _D)
    wide = error[(error["series"] == "features") & (error["radius"] == 1)]
    _lines(fourth, wide, "d", [key for key in _CURVES if key != ("tddl", "bare", "paper")])
    _titled(fourth, f"{style.equals('nλ', wide['total'].iloc[0])}, T = {int(wide['queries'].iloc[0])}", "d", _D)
    _constants(fifth, error[error["series"] == "total"], error[error["series"] == "queries"])
    exchange = error[error["series"] == "exchange"]
    _exchange(sixth, exchange)
    handles = [
        Line2D([], [], color=_CURVES[key].colour, marker=_CURVES[key].marker, label=_WORDS[key]) for key in _WORDS
    ]
    handles += [Line2D([], [], color="#555555", ls=line, label=name) for name, line in _LAWS.values()]
    one = rows.iloc[0]
    lines = [
        f"w* fixed, ‖w*‖ = R = L = 1, {style.equals('ε', one['epsilon'])}, {style.equals('δ', one['delta'])}, "
        f"{int(error['repeat'].max()) + 1} repeats (public points and noise anew), d = {int(one['d'])} where it is not "
        "swept; nλ is nominal: noise depends on n through it alone. Corollary 6: C = 2LR/λ, T = nε/√log(1/δ). "
        "Constant: 95 % quantile of L D over Theorem 5's expression, over nλ (with markers) and over T (without). "
        f"PINP's answers: TDDL fitted to them (hollow) beside TDDL (filled), T = {int(exchange['queries'].max())}, "
        "where PINP is not vacuous.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def _titled(axis: Axes, title: str, x: str, y: str) -> None:
    axis.set_title(title, size=7.5)
    axis.set_xlabel(x)
    axis.set_ylabel(y)


def _of(rows: pd.DataFrame, key: tuple[str, str, str]) -> pd.DataFrame:
    mechanism, variant, calibration = key
    return rows[(rows["mechanism"] == mechanism) & (rows["variant"] == variant) & (rows["calibration"] == calibration)]


def _means(rows: pd.DataFrame, over: str) -> np.ndarray:
    """Return x, mean, low, high, a column each."""
    return np.array([(x, *style.mean_interval(part["value"].to_numpy())) for x, part in rows.groupby(over, sort=True)])


def _lines(axis: Axes, rows: pd.DataFrame, over: str, shown: list[tuple[str, str, str]]) -> None:
    values = []
    for key in shown:
        colour, marker = _CURVES[key].colour, _CURVES[key].marker
        for law, (_, line) in _LAWS.items():
            part = _of(rows[rows["dataset"] == law], key)
            if part.empty:
                continue
            x, mean, low, high = _means(part, over).T
            axis.plot(x, mean, color=colour, marker=marker, ls=line, lw=0.9, ms=3.2)
            axis.fill_between(x, np.where(low > 0, low, mean), high, color=colour, alpha=0.15, lw=0)
            values += list(mean)
    _axes(axis, rows[over].unique(), values)


def _axes(axis: Axes, x: np.ndarray, values: list[float]) -> None:
    axis.set_xscale("log")
    ticks = sorted(x)
    ticks = ticks[:: -(-len(ticks) // 4)]
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    style.value_axis(axis.yaxis, min(values), max(values))


def _corollary(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw D of the paper's calibration over n for each lambda."""
    values, rows = [], _of(rows, ("tddl", "", "paper"))
    curvatures = sorted(rows["curvature"].unique())
    for colour, curvature in zip(style.shades(_PRINTED, len(curvatures)), curvatures, strict=True):
        for law, (_, line) in _LAWS.items():
            part = rows[(rows["curvature"] == curvature) & (rows["dataset"] == law)]
            if part.empty:
                continue
            x, mean, low, high = _means(part, "n").T
            axis.plot(x, mean, color=colour, marker="o", ls=line, lw=0.9, ms=3)
            axis.fill_between(x, np.where(low > 0, low, mean), high, color=colour, alpha=0.15, lw=0)
            values += list(mean)
    handles = [
        Line2D([], [], color=colour, label=style.equals("λ", curvature))
        for colour, curvature in zip(style.shades(_PRINTED, len(curvatures)), curvatures, strict=True)
    ]
    axis.legend(handles=handles, loc="lower left", fontsize=6.5, frameon=False, handlelength=1.2)
    _axes(axis, rows["n"].unique(), values)
    _titled(axis, "Corollary 6: C = 2LR/λ, paper", "n", _D)


def _constants(axis: Axes, over_total: pd.DataFrame, over_queries: pd.DataFrame) -> None:
    """Draw the 95 % quantile of L D over the bound, over n lambda and, on a second axis, over T."""
    values = []
    above = axis.twiny()
    for target, rows, over, marked in ((axis, over_total, "total", True), (above, over_queries, "queries", False)):
        rows = rows[rows["vacuous"] == 0]
        for key in _TDDL:
            colour, marker = _CURVES[key].colour, _CURVES[key].marker if marked else ""
            for law, (_, line) in _LAWS.items():
                part = _of(rows[rows["dataset"] == law], key)
                if part.empty:
                    continue
                ratio = (part["value"] / part["bound"]).groupby(part[over]).quantile(0.95)
                target.plot(ratio.index, ratio, color=colour, marker=marker, ls=line, lw=0.7, ms=3.2)
                values += list(ratio)
        target.set_xscale("log")
        ticks = sorted(rows[over].unique())
        ticks = ticks[:: -(-len(ticks) // 4)]
        target.set_xticks(ticks, [style.number(tick) for tick in ticks])
        target.minorticks_off()
    above.set_xlabel("T (without markers)", size=7)
    above.grid(visible=False)
    style.value_axis(axis.yaxis, min(values), max(values))
    axis.set_xlabel("nλ (with markers)")
    axis.set_ylabel("constant of Theorem 5's bound")


def _exchange(axis: Axes, rows: pd.DataFrame) -> None:
    values = []
    for key in _TDDL:
        colour, marker = _CURVES[key].colour, _CURVES[key].marker
        for law, (_, line) in _LAWS.items():
            here = rows[(rows["dataset"] == law) & (rows["calibration"] == key[2]) & (rows["vacuous"] == 0)]
            for variant, face in (("", colour), ("pinp-answers", "white")):
                part = here[here["variant"] == variant]
                if part.empty:
                    continue
                x, mean, _, _ = _means(part, "total").T
                axis.plot(x, mean, color=colour, marker=marker, ls=line, lw=0.9, mfc=face, ms=3.5)
                values += list(mean)
    if values:
        _axes(axis, rows["total"].unique(), values)
    _titled(axis, "PINP's answers instead (hollow)", "nλ", _D)
