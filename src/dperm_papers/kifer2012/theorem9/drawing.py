"""Theorems 7, 9, 35 and 44 of kifer2012: the two-stage risk and its bounds, and one stage where p = 4 n."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# First stage -> name, colour, marker.
LOOKS = {
    "exp_mech": ("Exp-mech", "#0072B2", "o"),
    "samp_agg": ("Samp-Agg", "#D55E00", "s"),
    "right": ("right support given", "#009E73", "^"),
    "none": ("one stage", "#CC79A7", "D"),
}
# Bound, by the first stage and its form -> name, line.
BOUNDS = {
    ("exp_mech", "printed"): ("Theorem 35", (0, (6, 2))),
    ("samp_agg", "printed"): ("Theorem 44", (0, (6, 2))),
    ("samp_agg", "mended"): ("Theorem 44, mended", (0, (1, 1.2))),
}
_GREY = "#777777"
# What counts as failing: L(theta) this share of L(0), or more.
FAILS = 0.9
_NOISE_LAWS = {1: "Theorem 7: s", 4: "its substitution: s⁴"}


def theorem9(rows: pd.DataFrame) -> Figure:
    """Draw the risk over n, over p, its noise term over s, and the risk of a single stage.

    - rows: of the experiment kifer2012-theorem9; without a single stage there is no panel for it.
    - Returns: lines: means over repeats with 95 % intervals. Bounds at the smallest gamma that was run.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[rows["status"] == "ok"]
    hadamard = rows[rows["dataset"] == "hadamard"]
    single = rows[rows["metric"] == "risk_ratio"]
    figure = Figure(figsize=(7.0, 5.0))
    axes = figure.subplots(2, 2, squeeze=False)
    least_p, largest_n = int(hadamard["p"].min()), int(hadamard["n"].max())
    s = int(hadamard.loc[hadamard["row"] == "both-stages", "s"].iloc[0])
    _risks(axes[0, 0], hadamard[hadamard["p"] == least_p], "n")
    axes[0, 0].set_title(f"risk and bounds, p = {least_p}, s = {s}", size=8)
    _risks(axes[0, 1], hadamard[hadamard["n"] == largest_n], "p")
    axes[0, 1].set_title(f"risk and bounds, n = {largest_n}, s = {s}", size=8)
    _noise_term(axes[1, 0], hadamard[hadamard["metric"] == "noise_risk"])
    if len(single):
        _single_stage(axes[1, 1], single)
    else:
        axes[1, 1].set_axis_off()
    handles = [
        Line2D([], [], color=colour, marker=marker, label=name)
        for support, (name, colour, marker) in LOOKS.items()
        if support != "none" or len(single)
    ]
    handles += [
        Line2D([], [], color=LOOKS[support][1], ls=line, lw=1.0, label=name)
        for (support, _), (name, line) in BOUNDS.items()
    ]
    first = hadamard.iloc[0]
    repeats = int(hadamard["repeat"].max()) + 1
    lines = [
        "Hadamard design, θ* = (½, −½, 0, …), noise of sd 0.05 in y, declared σ = 0.1; "
        f"{style.equals('ε', first['epsilon'])}, {style.equals('δ', first['delta'])}, half of ε for each stage; "
        f"printed constants; {repeats} repeats. Risk: L(θ) − L(θ*). Bounds at γ = {style.number(_gamma(rows))}, "
        "Samp-Agg's with p exp(−ε√n/8s) more, where that is below 1. Samp-Agg is drawn where Lemma 41 has enough "
        "records. Noise term: exact.",
    ]
    if len(single):
        lines.append(
            f"One stage: the lasso over an l1 ball by Algorithm 1 on all p = 4n features, random signs, "
            f"{int(single['repeat'].max()) + 1} data sets. θ = 0 has 1; from {FAILS} on (dotted) it counts as failing."
        )
    style.footer(figure, handles, columns=4, lines=lines)
    return figure


def _gamma(rows: pd.DataFrame) -> float:
    bound = rows[(rows["metric"] == "bound") & (rows["support"] == "exp_mech")]
    return float(bound["gamma"].min())


def _risks(axis: Axes, rows: pd.DataFrame, over: str) -> None:
    """Draw means with their intervals and the bounds, over n or p."""
    shown, bounds = [], rows[rows["metric"] == "bound"]
    for support, metric in (("exp_mech", "excess_risk"), ("samp_agg", "excess_risk"), ("right", "risk_right")):
        _, colour, marker = LOOKS[support]
        here = rows[(rows["support"] == support) & (rows["metric"] == metric)]
        points = [(x, *style.mean_interval(group["value"].to_numpy())) for x, group in here.groupby(over, sort=True)]
        if not points:
            continue
        x, mean, low, high = np.array(points).T
        # Where the right support is given and where it is found, the lines coincide: this one lies open on top.
        face = "white" if support == "right" else colour
        axis.plot(x, mean, color=colour, marker=marker, mfc=face, ms=4, ls="" if support == "right" else "-")
        kept = np.where(low > 0, low, mean)
        axis.vlines(x, kept, high, color=colour, lw=0.8)
        shown += [*mean, *high]
    for key, (_, line) in BOUNDS.items():
        here = bounds[(bounds["support"] == key[0]) & (bounds["sizing"] == key[1])]
        least = here.sort_values("gamma").groupby(over, sort=True)["value"].first()
        if len(least):
            marker = "_" if len(least) == 1 else ""
            axis.plot(least.index, least, color=LOOKS[key[0]][1], ls=line, lw=1.0, marker=marker, ms=8)
            shown += list(least)
    axis.set_xscale("log")
    values = sorted(rows.loc[rows["metric"].isin(["excess_risk", "risk_right"]), over].unique())
    axis.set_xticks(values, [f"{value:g}" for value in values])
    axis.minorticks_off()
    axis.set_xlim(values[0] / 1.3, values[-1] * 1.3)
    style.value_axis(axis.yaxis, min(shown), max(shown))
    axis.set_xlabel(over)
    axis.set_ylabel("L(θ) − L(θ*)")


def _noise_term(axis: Axes, rows: pd.DataFrame) -> None:
    line = rows.groupby("s", sort=True)["value"].first()
    x, y = line.index.to_numpy(dtype=float), line.to_numpy()
    axis.set_xscale("log")
    axis.plot(x, y, color=LOOKS["right"][1], marker=LOOKS["right"][2], ms=4, zorder=3)
    for exponent, words in _NOISE_LAWS.items():
        law = 2 * y[0] * (x / x[0]) ** exponent
        axis.plot(x, law, color=_GREY, lw=1.0, ls=(0, (1, 1.2)))
        place = max(len(x) - 2, 0)
        axis.annotate(words, (x[place], law[place]), xytext=(-4, 5), textcoords="offset points", size=6.5, ha="right",
                      color=_GREY)  # fmt: skip
    axis.set_xticks(x, [style.number(value) for value in x])
    axis.minorticks_off()
    style.value_axis(axis.yaxis, y.min(), 2 * y.max() if len(y) > 1 else 4 * y.max())
    axis.set_title("what b adds on the right support", size=8)
    axis.set_ylabel("risk added")
    axis.set_xlabel("s")


def _single_stage(axis: Axes, rows: pd.DataFrame) -> None:
    _, colour, marker = LOOKS["none"]
    points = [(x, *style.mean_interval(group["value"].to_numpy())) for x, group in rows.groupby("n", sort=True)]
    x, mean, low, high = np.array(points).T
    axis.set_xscale("log")
    axis.plot(x, mean, color=colour, marker=marker, ms=4)
    axis.vlines(x, low, high, color=colour, lw=0.8)
    axis.axhline(1.0, color=_GREY, lw=0.8)
    axis.axhline(FAILS, color=_GREY, lw=1.0, ls=(0, (1, 1.2)))
    axis.set_xticks(x, [style.number(value) for value in x])
    axis.minorticks_off()
    axis.set_xlim(x[0] / 1.5, x[-1] * 1.5)
    axis.set_ylim(0, 1.1 * float(np.nanmax(np.where(np.isnan(high), mean, high))))
    axis.set_title("one stage, p = 4n: L(θ) / L(0)", size=8)
    axis.set_xlabel("n")
