"""The noise that the theorems of docs/privacy.md save, against the printed one and against other bounds."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from dperm_pipeline.figures import style

# Calibration -> colour (Okabe & Ito).
_COLOURS = {
    "paper": "#009E73", "twice": "#E69F00", "steps": "#CC79A7", "tight": "#0072B2", "needed": "#555555",
}  # fmt: skip
_LABELS = {
    "paper": "as printed (replace-one: with 2ζ)",
    "twice": "2 Hₑ₁(a) = δ",
    "steps": "replace-one in two steps",
    "tight": "Theorems 1 and 2",
    "needed": "needed by the worst pair found",
}
_RELATIONS = {"add_remove": "add/remove", "replace": "replace-one"}
# What the third column compares with.
_OTHERS = {"add_remove": _LABELS["twice"], "replace": "two steps"}
_STYLES = ("-", (0, (4, 1.6)), (0, (1, 1.2)))
_TICKS = {"epsilon": (0.1, 0.3, 1, 3), "delta": (1e-10, 1e-6, 1e-2)}


def bound(rows: pd.DataFrame) -> Figure:
    """Draw sigma/zeta over epsilon, and the share of it that our theorems save, over epsilon and over delta.

    - rows: of the experiment kifer2012-bound.
    - Returns: above add/remove, below replace-one; losses with any sign of l'. Line styles tell ridge multiples apart.
    """
    shown = rows[(rows["metric"] == "noise") & (rows["sign"] == "any")]
    multiples = sorted(shown["ridge_multiple"].unique())
    along = {axis: shown[shown["row"] == axis] for axis in ("epsilon", "delta")}
    epsilon, delta = along["delta"]["epsilon"].iloc[0], along["epsilon"]["delta"].iloc[0]
    # The noise itself is drawn where the worst pair was searched.
    searched = float(shown.loc[shown["calibration"] == "needed", "ridge_multiple"].min())
    figure = Figure(figsize=(7.0, 5.3))
    axes = figure.subplots(2, 4, squeeze=False)
    for k, (relation, title) in enumerate(_RELATIONS.items()):
        here = {axis: part[part["neighbours"] == relation] for axis, part in along.items()}
        _levels(axes[k, 0], here["epsilon"][here["epsilon"]["ridge_multiple"] == searched])
        axes[k, 0].set_ylabel(f"{title}: σ/ζ")
        _saved(axes[k, 1], here["epsilon"], "epsilon", multiples, ("paper", "needed"))
        _saved(axes[k, 2], here["epsilon"], "epsilon", multiples, ("twice", "steps"))
        _saved(axes[k, 3], here["delta"], "delta", multiples, ("paper", "twice", "steps", "needed"))
        at, other = style.equals("δ", delta), _OTHERS[relation]
        titles = (
            f"noise, {at},\n{style.equals('Δ', searched)} λ/ε", f"saved of the printed,\n{at}",
            f"saved of {other},\n{at} (another scale)", f"saved of both,\n{style.equals('ε', epsilon)}",
        )  # fmt: skip
        for axis, title in zip(axes[k], titles, strict=True):
            axis.set_title(title, size=7)
        for axis in axes[k, 1:]:
            axis.set_ylabel("noise saved, %", labelpad=1)
    handles = [Line2D([], [], color=colour, label=_LABELS[name]) for name, colour in _COLOURS.items()]
    handles += [
        Line2D([], [], color="#777777", ls=line, label=f"{style.equals('Δ', multiple)} λ/ε")
        for line, multiple in zip(_STYLES, multiples, strict=False)
    ]
    lines = [
        "Standard deviation σ of Gaussian b over ζ, for losses whose derivative has any sign (Huber); formulas, no "
        "repeats. a = ζ/σ, e1 = ε − log(1 + λ/Δ). Saved: 1 less the σ of Theorem 1 (replace-one: Theorem 2) of "
        "docs/privacy.md over the other; below 0 the other needs less. Grey: at this σ a pair of at most two records a "
        "side (design q1, exact laws) spends the whole budget, so no theorem can ask for less; in the other panels, "
        "the share of the theorem's noise that is above it.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def _levels(axis: Axes, rows: pd.DataFrame) -> None:
    for name, colour in _COLOURS.items():
        line = rows[rows["calibration"] == name].sort_values("epsilon")
        axis.plot(line["epsilon"], line["value"], color=colour, lw=1.2)
    _axis(axis, rows, "epsilon")
    style.value_axis(axis.yaxis, rows["value"].min(), rows["value"].max())


def _saved(axis: Axes, rows: pd.DataFrame, over: str, multiples: list[float], names: tuple[str, ...]) -> None:
    """Draw what the theorem saves against each bound, in per cent; for `needed`, what could be saved of the theorem."""
    axis.axhline(0.0, color=_COLOURS["tight"], lw=1.0)
    wide = rows.pivot_table(index=["ridge_multiple", over], columns="calibration", values="value", observed=True)
    for name in [name for name in names if name in wide]:
        saved = 1 - (wide["needed"] / wide["tight"] if name == "needed" else wide["tight"] / wide[name])
        for multiple, line in zip(multiples, _STYLES, strict=False):
            drawn = 100 * saved.loc[multiple].dropna().sort_index()
            axis.plot(drawn.index, drawn, color=_COLOURS[name], ls=line, lw=1.1)
    _axis(axis, rows, over)


def _axis(axis: Axes, rows: pd.DataFrame, over: str) -> None:
    axis.set_xscale("log")
    low, high = rows[over].min(), rows[over].max()
    ticks = [tick for tick in _TICKS[over] if low * 0.999 <= tick <= high * 1.001]
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel({"epsilon": "ε", "delta": "δ"}[over])
