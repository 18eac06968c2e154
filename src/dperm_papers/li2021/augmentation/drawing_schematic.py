"""Figure 2 of li2021: stacked bars and a budget cut into parts, for which no specification has a word."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from dperm_pipeline.figures import style
from dperm_pipeline.figures.points import plain

_DASHED = (0, (6, 2))
_BLUE, _ORANGE, _GREEN = "#0072B2", "#D55E00", "#009E73"
_CASES = {"nothing": "one coefficient is large", "some": "all coefficients are small"}


def fig2(rows: pd.DataFrame) -> Figure:
    """Draw Fig 2 anew: by case, where each coefficient's modulus comes from, and when budget can be retrieved."""
    rows = plain(rows)
    needed = float(rows.loc[(rows["row"] == "schematic") & (rows["form"] == "needed"), "value"].iloc[0])
    figure = Figure(figsize=(7.0, 4.6))
    axes = figure.subplots(2, 3, squeeze=False, width_ratios=(3, 3, 2.2))
    for place, (case, words) in enumerate(_CASES.items()):
        here = rows[rows["row"] == f"schematic-{case}"]
        moduli = {
            form: here[(here["form"] == form) & (here["metric"] == "modulus")].sort_values("at")["value"].to_numpy()
            for form in ("target", "napp", "dp-erm")
        }
        share = float(here.loc[here["metric"] == "retrieved", "value"].iloc[0])
        top = 1.12 * max(moduli["dp-erm"])
        for axis, form in zip(axes[place], ("dp-erm", "napp"), strict=False):
            _stacks(axis, moduli["target"], moduli[form], needed, top)
        axes[place, 0].set_ylabel(f"{words}\nmodulus 2w")
        _retrieval_note(axes[place, 1], moduli["napp"], needed)
        _budget(axes[place, 2], share)
    axes[0, 0].set_title("existing DP-ERM: target + floor", size=8)
    axes[0, 1].set_title("NAPP-ERM: the larger of the two", size=8)
    axes[0, 2].set_title("privacy budget ε", size=8)
    for axis in axes[1, :2]:
        axis.set_xlabel("coefficient")
    handles = [
        Patch(color=_BLUE, label="from the target, 2Λ/|θ|"),
        Patch(color=_ORANGE, label="added for strong convexity"),
        Line2D([], [], color="#000000", ls=_DASHED, lw=1.0, label="2Λ₀, needed"),
        Patch(facecolor=_GREEN, label="retrieved (Eq 13)"),
    ]
    drawn = rows[rows["row"].isin([f"schematic-{case}" for case in _CASES])]
    lines = [
        f"Lasso, {style.equals('Λ', *drawn['strength'].unique())}, {style.equals('Λ₀', needed / 2)}, "
        f"{len(moduli['target'])} coefficients. DP-ERM adds the floor everywhere; NAPP-ERM tops up only what falls "
        "short of it. The share (1 − r)ε pays for the least modulus: if all exceed 2Λ₀, the rest is called "
        "retrievable. The moduli are those of one iteration, which depend on the data; at the fixed point the lasso "
        "has none below Λ/Λ₀ (erratum N4), and what is retrieved depends on the data too (N5).",
    ]
    style.footer(figure, handles, columns=4, lines=lines)
    return figure


def _stacks(axis: Axes, target: np.ndarray, whole: np.ndarray, needed: float, top: float) -> None:
    """Draw the target's part of each modulus, and what is added to it."""
    places = np.arange(1, len(target) + 1)
    axis.bar(places, target, width=0.6, color=_BLUE)
    axis.bar(places, whole - target, bottom=target, width=0.6, color=_ORANGE)
    axis.axhline(needed, color="#000000", ls=_DASHED, lw=1.0)
    axis.set_ylim(0, top)
    axis.set_xticks(places, [f"θ{'₁₂₃₄₅'[k]}" for k in range(len(places))])
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.grid(visible=False, axis="x")


def _retrieval_note(axis: Axes, whole: np.ndarray, needed: float) -> None:
    """Mark the least modulus, which decides."""
    place = int(np.argmin(whole)) + 1
    over = whole.min() > needed * (1 + 1e-9)
    words = f"least: {style.number(round(float(whole.min()), 2))}" + (" > 2Λ₀" if over else " = 2Λ₀")
    axis.annotate(
        words, (place, whole.min()), xytext=(place - 0.2, axis.get_ylim()[1] * 0.55), ha="center",
        arrowprops={"arrowstyle": "->", "lw": 0.7, "color": "#333333"}, color="#333333", size=7,
    )  # fmt: skip


def _budget(axis: Axes, share: float) -> None:
    """Draw epsilon as one bar: r epsilon for b, the rest for the modulus, of it the retrieved share."""
    axis.set_xlim(0, 1)
    axis.set_ylim(0, 1)
    axis.axis("off")
    parts = [(0.0, 0.5, "#bbbbbb", "rε: noise b"), (0.5, 0.5 * (1 - share), "#888888", "(1 − r)ε:\nmodulus")]
    parts += (
        [(1 - 0.5 * share, 0.5 * share, _GREEN, f"retrieved\n{100 * share:.0f} % of (1 − r)ε")] if share > 0 else []
    )
    for bottom, height, colour, words in parts:
        low = 0.05 + 0.9 * bottom
        axis.add_patch(Rectangle((0.02, low), 0.3, 0.9 * height, facecolor=colour, edgecolor="white", lw=1.0))
        axis.text(0.37, low + 0.45 * height, words, va="center", size=7)
    if share <= 0:
        axis.text(0.37, 0.93, "nothing is retrieved", va="center", size=7, color="#333333")
