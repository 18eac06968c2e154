"""dwork2018-exppw: the excess on the sample over T, on fresh points over n, and with ties over their number."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Kind of sample -> name, colour, marker.
_KINDS = {
    "exhaustive": ("all labellings", "#000000", "*"),
    "realizable": ("realizable", "#0072B2", "o"),
    "flipped": ("flipped", "#E69F00", "D"),
    "random": ("random", "#009E73", "^"),
    "blocks": ("blocks", "#CC79A7", "v"),
}
_STRICT = ("Section 2.2 as printed, worst kind", "#8A8A8A", "x")
# Treatment of ties -> name, colour, marker.
_TIES = {
    "sorted": ("ties sorted by (x, y)", "#D55E00", "s"),
    "": ("ties lifted", "#0072B2", "o"),
    "fresh": ("lifted, asked with a new key", "#56B4E9", "P"),
}
_BOUND = "#333333"
# The least ratio that is drawn.
_LEAST = 0.05
_COLOUR, _MARKERS = "#6A3D9A", ("o", "s", "^", "D", "v")
# Of the epsilons, the smallest first, the largest solid.
_DASHES = ((0, (1, 1.4)), (0, (4, 1.6)))


def exppw(rows: pd.DataFrame) -> Figure:
    """Draw the panels: on the sample, with ties, and on fresh points for each alpha.

    - rows: of the experiment dwork2018-exppw.
    - Returns: bars: 95 % confidence intervals of means.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[rows["status"] == "ok"]
    ratios, sizes, ties = (
        rows[(rows["series"] == series) & rows["metric"].isin(metrics)]
        for series, metrics in (("lemma", ["ratio"]), ("size", ["scaled"]), ("ties", ["error", "allowed"]))
    )
    lines = _lines(set(ratios["epsilon"]) & set(sizes["epsilon"]) & set(ties["epsilon"]))
    alphas = sorted(sizes["alpha"].unique(), reverse=True)
    figure = Figure(figsize=(7.0, 4.2 + 2.5 * len(alphas)))
    panels = figure.subplots(1 + len(alphas), 2)
    _over_T(panels[0, 0], ratios, lines)
    _over_N(panels[0, 1], ties, lines)
    ks = sorted(sizes["k"].unique())
    shades = dict(zip(ks, style.shades(_COLOUR, len(ks)), strict=True))
    for alpha, pair in zip(alphas, panels[1:], strict=True):
        span = _span(sizes[sizes["alpha"] == alpha])
        for axis, flip in zip(pair, (0.0, sizes["flip"].max()), strict=True):
            words = "realizable" if flip == 0 else f"{flip:.0%} of the labels flipped".replace("%", " %")
            axis.set_title(f"(c) fresh points, {style.equals('α', alpha)}, {words}", size=8)
            _over_n(axis, sizes[(sizes["flip"] == flip) & (sizes["alpha"] == alpha)], shades, lines, span)
    handles = [
        Line2D([], [], color=colour, marker=marker, ls="-", label=name)
        for name, colour, marker in (*_KINDS.values(), _STRICT, *_TIES.values())
    ]
    handles += [
        Line2D([], [], color=shades[k], marker=marker, label=f"k = {k}")
        for k, marker in zip(ks, _MARKERS, strict=False)
    ]
    handles += [
        Line2D([], [], color=_BOUND, ls=line, label=style.equals("ε", epsilon)) for epsilon, line in lines.items()
    ]
    handles.append(Line2D([], [], color=_BOUND, marker="_", ms=9, mew=1.6, lw=1.0, label="bound"))
    small = int(ratios.loc[ratios["kind"] == "exhaustive", "n"].max())
    large = int(ratios.loc[ratios["kind"] != "exhaustive", "n"].max())
    line = (
        f"(a) (Err_S − Opt_S) over Lemma 5.2's (k + 2)T/n + exp(−εT/2), printed exp(−εT), the largest of all samples "
        f"and k where it is {_LEAST:g} or more; n = {style.number(large)}, all labellings n = {small}{_open(ratios)}. "
        f"(b) Err_S on tie(N), Pr[y = 1] = 1/4, {style.equals('α', float(ties['alpha'].iloc[0]))}; lifted: means over "
        f"{style.number(_repeats(ties))} samples. (c) Means of exact Err_P over {style.number(_repeats(sizes))} "
        "samples; bars: Theorem 5.3 at its n."
    )
    style.footer(figure, handles, columns=4, lines=[line])
    return figure


def _lines(epsilons: set[float]) -> dict[float, object]:
    """The two smallest epsilons broken, the largest solid; those between are left out."""
    *broken, largest = sorted(epsilons)
    return {**dict(zip(broken, _DASHES[-len(broken) :], strict=False)), largest: "-"}


def _repeats(rows: pd.DataFrame) -> int:
    return int(rows["repeat"].max()) + 1


def _open(ratios: pd.DataFrame) -> str:
    """Where all labellings could have broken the bound, and how near they come."""
    part = ratios[(ratios["kind"] == "exhaustive") & (ratios["variant"] == "") & (ratios["form"] == "open")]
    if part.empty:
        return ""
    epsilons = " and ".join(f"{epsilon:g}" for epsilon in sorted(part["epsilon"].unique()))
    return f" (at ε = {epsilons}, where the bound is below their largest error, up to {part['value'].max():.2f})"


def _over_T(axis: Axes, rows: pd.DataFrame, lines: dict[float, object]) -> None:
    drawn = []
    for epsilon, line in lines.items():
        here = rows[rows["epsilon"] == epsilon]
        for kind, (_, colour, marker) in _KINDS.items():
            part = here[(here["kind"] == kind) & (here["variant"] == "")]
            top = part.groupby("bound")["value"].max()
            axis.plot(top.index, top.where(top >= _LEAST), color=colour, marker=marker, ls=line, lw=0.9)
        top = here[here["variant"] == "strict"].groupby("bound")["value"].max()
        axis.plot(top.index, top, color=_STRICT[1], marker=_STRICT[2], ls=line, lw=0.9)
        drawn.append(top)
    axis.axhline(1.0, color=_BOUND, lw=1.0)
    # Samples on which the walk is better than the best function have no place on a logarithmic axis.
    style.value_axis(axis.yaxis, _LEAST, float(max(1.0, *(top.max() for top in drawn))))
    axis.set_xscale("log", base=2)
    ticks = sorted(rows["bound"].unique())
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlabel("T")
    axis.set_ylabel("excess / bound")
    axis.set_title("(a) on the sample: Lemma 5.2", size=8)


def _span(rows: pd.DataFrame) -> tuple[float, float]:
    means = rows.groupby(["epsilon", "k", "flip", "share"])["value"].mean()
    return float(means.min()), float(max(means.max(), _allowed(rows).max()))


def _allowed(rows: pd.DataFrame) -> np.ndarray:
    """Theorem 5.3's bound on (Err_P - Opt)/alpha."""
    alpha, flip = rows["alpha"].to_numpy(), rows["flip"].to_numpy()
    return (np.exp(rows["epsilon"].to_numpy()) * (flip + alpha) - flip) / alpha


def _over_n(
    axis: Axes, rows: pd.DataFrame, shades: dict[int, tuple], lines: dict[float, object], span: tuple[float, float]
) -> None:
    for (epsilon, line), (k, marker) in ((a, b) for a in lines.items() for b in zip(shades, _MARKERS, strict=False)):
        part = rows[(rows["epsilon"] == epsilon) & (rows["k"] == k)]
        groups = list(part.groupby("n", sort=True))
        mean, low, high = np.array([style.mean_interval(group["value"].to_numpy()) for _, group in groups]).T
        n = [size for size, _ in groups]
        axis.plot(n, mean, color=shades[k], marker=marker, ls=line, lw=0.9)
        axis.vlines(n, low, high, color=shades[k], lw=0.8)
        at = part[part["share"] == 1.0].iloc[:1]
        axis.plot(at["n"], _allowed(at), color=shades[k], marker="_", ms=9, mew=1.6, ls="")
    axis.set_xscale("log")
    axis.set_xlabel("n")
    axis.set_ylabel("(Err_P − Opt)/α")
    style.value_axis(axis.yaxis, *span)


def _over_N(axis: Axes, rows: pd.DataFrame, lines: dict[float, object]) -> None:
    for epsilon, line in lines.items():
        here = rows[rows["epsilon"] == epsilon]
        for variant, (_, colour, marker) in _TIES.items():
            part = here[(here["variant"] == variant) & (here["metric"] == "error")].groupby("domain")["value"].mean()
            axis.plot(part.index, part, color=colour, marker=marker, ls=line, lw=0.9)
        allowed = here[here["metric"] == "allowed"].groupby("domain")["value"].first()
        axis.plot(allowed.index, allowed, color=_BOUND, ls=line, lw=1.0)
    axis.axhline(0.25, color="#999999", lw=0.8)
    axis.annotate("Opt", (1, 0.25), xytext=(2, -8), textcoords="offset points", size=7, color="#666666")
    axis.set_xscale("log")
    ticks = sorted(rows["domain"].unique())
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    top = rows["value"].max()
    axis.set_ylim(0.2, math.ceil(top * 10) / 10)
    axis.set_xlabel("N, points that share all records")
    axis.set_ylabel("Err_S")
    axis.set_title("(b) ties", size=8)
