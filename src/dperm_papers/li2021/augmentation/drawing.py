"""Figures 1 and 2 of li2021, and Algorithm 1 against its limit: what noise augmentation realises."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from dperm_pipeline.figures import style

_DOTTED, _DASHED, _SHORT = (0, (1, 1.2)), (0, (6, 2)), (0, (3, 1.5))
_BLUE, _ORANGE, _GREEN, _PURPLE, _GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777777"
# Form -> name, colour, line, width; drawn in this order.
_LOOKS = {
    "dp-erm": ("existing DP-ERM", _ORANGE, _DASHED, 1.4),
    "napp": ("NAPP-ERM", _BLUE, "-", 1.8),
    "reached-dp-erm": ("reached by DP-ERM's weights", _PURPLE, _SHORT, 1.2),
    "reached": ("reached by NAPP-ERM's weights", _GREEN, "-", 1.2),
    "target": ("target ΛR", "#000000", _DOTTED, 1.6),
}
_TARGETS = {"lasso": "lasso", "elastic_net": "elastic net", "bridge": "l₀.₅", "ridge": "ridge"}
_MODELS = {
    "linear": ("linear", _BLUE, "o"),
    "logistic": ("logistic", _ORANGE, "s"),
    "poisson": ("Poisson", _GREEN, "^"),
}
# n_e of the paper.
_PAPER = 10_000
_CASES = {"nothing": "one coefficient is large", "some": "all coefficients are small"}


def fig1(rows: pd.DataFrame) -> Figure:
    """Draw regularizer and modulus of NAPP-ERM as published, beside what the fixed point reaches.

    - rows: of the experiment li2021-augmentation.
    - Returns: a column for each target; above the regularizer, below its modulus.
    """
    rows = _of(rows, "figure-1", "paper")
    figure = _panels(rows, ("lasso", "elastic_net", "bridge"), (12.0, 14.0), -3.0)
    handles = [Line2D([], [], color=c, ls=ls, lw=lw, label=name) for name, c, ls, lw in _LOOKS.values()]
    handles.insert(2, Line2D([], [], color="#000000", marker="x", ls="", ms=4, label="NAPP-ERM, rows drawn"))
    handles.append(Line2D([], [], color=_GREY, lw=0.8, label="2Λ₀, the modulus that is needed"))
    drawn = int(rows.loc[rows["form"] == "augmented", "rows_added"].max())
    lines = [
        f"{_constants(rows)}. NAPP-ERM and existing DP-ERM: the quadratic of an iteration that "
        "starts at θ, as Figure 1 draws it (maximum and sum of target and floor), and nₑl″V. Crosses: logistic "
        f"regression on {drawn:,} drawn rows. Reached: the penalty and the curvature P″ where the iteration stands, a "
        "lasso of 2Λ (errata N4, N6): with MOOR its curvature is 0 on (0, Λ/Λ₀) for the lasso, and negative for l₀.₅.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def fig1_corrected(rows: pd.DataFrame) -> Figure:
    """Draw regularizer and curvature of the forms whose modulus is 2 Lambda0 for all data.

    - rows: of the experiment li2021-augmentation.
    - Returns: as `fig1`.
    """
    rows = _of(rows, "figure-1", "corrected")
    figure = _panels(rows, ("lasso", "elastic_net", "ridge"), (12.0, 7.0), -0.5)
    handles = [
        Line2D([], [], color=_BLUE, lw=1.8, label="corrected NAPP-ERM"),
        Line2D([], [], color=_ORANGE, ls=_DASHED, lw=1.4, label="Eq 2: ΛR + Λ₀θ²"),
        Line2D([], [], color="#000000", ls=_DOTTED, lw=1.6, label="target ΛR"),
        Line2D([], [], color=_GREY, lw=0.8, label="2Λ₀, the modulus that is needed"),
    ]
    strengths = rows.groupby("target", observed=True)["strength"].first()
    lines = [
        "The penalty that is minimised, and its curvature, for what the proof covers: a lasso without MOOR "
        f"({style.equals('Λ', strengths['lasso'])}), which is Eq 2; with MOOR an elastic net with Λκ ≥ Λ₀ "
        f"({style.equals('Λ', strengths['elastic_net'])}, {style.equals('κ', _kappa(rows))}) and ridge "
        f"({style.equals('Λ', strengths['ridge'])}), where the target alone has the modulus that is needed and nothing "
        "is added. Λ₀ = 1; weights halved where they are adaptive, so that the target is ΛR (erratum N6). There is no "
        "valid form for l₀.₅, which is not convex.",
    ]
    style.footer(figure, handles, columns=4, lines=lines)
    return figure


def fig2(rows: pd.DataFrame) -> Figure:
    """Draw Fig 2 anew: where the modulus of each coefficient comes from, and when budget can be retrieved.

    - rows: of the experiment li2021-augmentation.
    - Returns: a row for each case; existing DP-ERM, NAPP-ERM, and the budget.
    """
    rows = _text(rows)
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


def convergence(rows: pd.DataFrame) -> Figure:
    """Draw the distance of Algorithm 1's theta to the limit over n_e, and to what the mean over the rows gives.

    - rows: of the experiment li2021-augmentation.
    - Returns: a panel for each model: means over repeats with 95 % intervals; dotted the slope -1/2 of Proposition 1.
    """
    rows = _text(rows)
    rows = rows[(rows["row"] == "convergence") & (rows["status"] == "ok")]
    figure = Figure(figsize=(7.0, 3.4))
    axes = figure.subplots(1, len(_MODELS), sharey=True, squeeze=True)
    means = [0.01, *rows.groupby(["dataset", "form", "rows_added"])["value"].mean()]
    for axis, (model, (name, colour, marker)) in zip(axes, _MODELS.items(), strict=True):
        here = rows[rows["dataset"].str.startswith(model)]
        axis.set_title(name, size=8)
        if here.empty:
            axis.text(0.5, 0.5, "not run at this scale", ha="center", transform=axis.transAxes)
            continue
        _over_rows(axis, here, colour, marker)
        style.value_axis(axis.yaxis, 0.6 * min(means), 1.7 * max(means))
        axis.axhline(0.01, color=_GREY, lw=0.8)
    axes[0].set_ylabel("relative distance ‖θ − θ′‖/‖θ′‖")
    handles = [
        Line2D([], [], color="#333333", marker="o", label="θ′ the limit nₑ = ∞"),
        Line2D([], [], color="#333333", marker="o", mfc="white", ls=_SHORT, label="θ′ of the mean over the rows"),
        Line2D([], [], color=_GREY, ls=_DOTTED, lw=1.3, label="slope −1/2 (Proposition 1)"),
        Line2D([], [], color=_GREY, lw=0.8, label="1 %"),
    ]
    lines = [
        "NAPP-ERM with MOOR, lasso, T = 15, drawn row by row and refitted, e_y repaired (erratum N7); designs of Table "
        f"4 with n = 500. {_settings_in_words(rows)}Bars: 95 % intervals. Filled: what is left at a finite nₑ. Open: "
        "what is left when the mean over the rows stands for the limit, that is what drawing adds; the difference is "
        f"systematic (erratum N8). Mean distance to the limit at nₑ = {_PAPER:,}, which the paper runs: "
        f"{_at_paper(rows)}.",
    ]
    style.footer(figure, handles, columns=4, lines=lines)
    return figure


def _settings_in_words(rows: pd.DataFrame) -> str:
    """Return budget, Lambda and repeats, as far as anything was run."""
    if rows.empty:
        return ""
    first = rows.iloc[0]
    counts = rows[rows["form"] == "limit"].groupby(["rows_added", "dataset"]).size().groupby("rows_added").min()
    repeats = ", ".join(f"{number:,} at nₑ = {int(size):,}" for size, number in counts.items())
    budget = [style.equals(name, first[key]) for name, key in (("ε", "epsilon"), ("δ", "delta"), ("Λ", "strength"))]
    return f"{', '.join(budget)}; repeats: {repeats}. "


def _at_paper(rows: pd.DataFrame) -> str:
    """Return the mean distances to the limit at the paper's n_e, in words."""
    here = rows[(rows["form"] == "limit") & (rows["rows_added"] == _PAPER)]
    parts = []
    for model, (name, _, _) in _MODELS.items():
        values = here.loc[here["dataset"].str.startswith(model), "value"]
        parts += [f"{name} {100 * values.mean():.2g} %"] if len(values) else []
    return ", ".join(parts) or "not run"


def _text(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})


def _of(rows: pd.DataFrame, row: str, calibration: str) -> pd.DataFrame:
    rows = _text(rows)
    return rows[(rows["row"] == row) & (rows["calibration"] == calibration)]


def _constants(rows: pd.DataFrame) -> str:
    """Return Lambda = Lambda0 and kappa in words."""
    return f"{style.equals('Λ = Λ₀', rows['strength'].iloc[0])}; elastic net with {style.equals('κ', _kappa(rows))}"


def _kappa(rows: pd.DataFrame) -> float:
    """Return kappa, of Lambda (|theta| + kappa theta^2) at the largest theta."""
    net = rows[(rows["target"] == "elastic_net") & (rows["form"] == "target") & (rows["metric"] == "regularizer")]
    last = net.sort_values("at").iloc[-1]
    return round(float((last["value"] / last["strength"] - last["at"]) / last["at"] ** 2), 9)


def _panels(rows: pd.DataFrame, targets: tuple[str, ...], tops: tuple[float, float], bottom: float) -> Figure:
    figure = Figure(figsize=(7.0, 4.9))
    axes = figure.subplots(2, len(targets), sharex=True, squeeze=False)
    for column, target in enumerate(targets):
        for axis, metric, top in zip(axes[:, column], ("regularizer", "modulus"), tops, strict=True):
            here = rows[(rows["target"] == target) & (rows["metric"] == metric)]
            _curves(axis, here)
            axis.set_ylim(0 if metric == "regularizer" else bottom, top)
            axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes[0, column].set_title(_TARGETS[target], size=8)
        axes[1, column].set_xlabel("θ")
        axes[1, column].axhline(2.0, color=_GREY, lw=0.8, zorder=1)
    axes[0, 0].set_ylabel("regularizer")
    axes[1, 0].set_ylabel("modulus, curvature")
    return figure


def _curves(axis: Axes, here: pd.DataFrame) -> None:
    for form, (_, colour, line, width) in _LOOKS.items():
        curve = here[here["form"] == form].sort_values("at")
        for side in (curve[curve["at"] < 0], curve[curve["at"] > 0]):
            axis.plot(side["at"], side["value"], color=colour, ls=line, lw=width, zorder=4 if form == "target" else 3)
    crosses = here[here["form"] == "augmented"]
    axis.plot(crosses["at"], crosses["value"], color="#000000", marker="x", ls="", ms=3.2, mew=0.7, zorder=5)


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


def _over_rows(axis: Axes, here: pd.DataFrame, colour: str, marker: str) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    for form, face, line in (("limit", colour, "-"), ("mean", "white", _SHORT)):
        lines = here[here["form"] == form].groupby("rows_added")["value"]
        points = np.array([[size, *style.mean_interval(values.to_numpy())] for size, values in lines])
        if not len(points):
            continue
        size, mean, low, high = points.T
        reach = np.nan_to_num([mean - np.maximum(low, 0.05 * mean), high - mean])
        axis.errorbar(
            size, mean, yerr=reach, color=colour, marker=marker, mfc=face, ls=line, capsize=2, elinewidth=0.8, zorder=3
        )
        if form == "limit":
            axis.plot(size, 1.25 * mean[0] * (size / size[0]) ** -0.5, color=_GREY, ls=_DOTTED, lw=1.3, zorder=2)
    sizes = sorted(here["rows_added"].unique())
    axis.set_xticks(sizes, [style.number(size) for size in sizes])
    axis.minorticks_off()
    axis.set_xlabel("nₑ, rows appended")
