"""dwork2018-dimension: records needed over the dimension p, and the excess of stable ERM and of averaging over n."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# (mechanism, calibration, whether delta > 0) -> words, line style, whether markers are filled; words of what is said.
_METHODS = {
    ("stable_erm", "paper", False): ("stable ERM, printed noise", "-", True, "Corollary 4.11"),
    ("stable_erm", "tight", False): ("stable ERM, tight noise", (0, (4, 1.6)), False, None),
    ("objective", "tight", False): ("objective perturbation, gamma", "-", True, "p/(εα²), constant 1"),
    ("objective", "tight", True): ("objective perturbation, Gaussian", (0, (4, 1.6)), False, "√p/(εα²), constant 1"),
    ("nonprivate", "", False): ("without privacy", "-", True, None),
    ("averaged", "paper", False): ("averaging, best r", "-", True, None),
}
_PROMISED = {False: (0, (1, 1.2)), True: (0, (6, 1.4, 1, 1.4))}


def dimension(rows: pd.DataFrame) -> Figure:
    """Draw n* over p at two epsilons, and the excess over n.

    - rows: of the experiment dwork2018-dimension.
    - Returns: bars: 95 % confidence intervals of what was estimated.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[rows["status"] == "ok"]
    cube = rows[rows["dataset"] == "cube"]
    alpha = float(cube["alpha"].max())
    cube = cube[cube["alpha"] == alpha]
    epsilons = sorted({float(value) for value in cube["epsilon"] if math.isfinite(value)})
    shown = list(dict.fromkeys((epsilons[0], epsilons[-1])))
    figure = Figure(figsize=(7.0, 3.5))
    panels = figure.subplots(1, len(shown) + 1)
    for axis, epsilon in zip(panels, shown, strict=False):
        _sizes(axis, cube[cube["epsilon"].isin([epsilon, math.inf])], (cube["value"].min(), cube["value"].max()))
        axis.set_title(style.equals("ε", epsilon), size=8)
    panels[0].set_ylabel(f"n*: least n with excess ≤ {style.number(alpha)}")
    _excesses(panels[-1], rows[(rows["dataset"] == "abs") & rows["epsilon"].isin(shown)])
    lines = [
        "Left: linear loss on the unit ball, worst mean; stable ERM with 95 % intervals, the rest exact. Right: "
        f"absolute loss on coins, exact; dark to light: {style.equals('ε', *shown)}. "
        f"{style.equals('δ', float(rows['delta'].max()))} with Gaussian noise, else 0."
    ]
    style.footer(figure, _handles(), columns=3, lines=lines)
    return figure


def _handles() -> list[Line2D]:
    found = []
    for (mechanism, calibration, gaussian), (words, line, full, promised) in _METHODS.items():
        look = _look(mechanism, calibration)
        face = look.colour if full else "white"
        found.append(Line2D([], [], color=look.colour, marker=look.marker, ls=line, markerfacecolor=face, label=words))
        if promised:
            found.append(Line2D([], [], color=look.colour, ls=_PROMISED[gaussian], lw=0.9, label=promised))
    return found


def _sizes(axis: Axes, rows: pd.DataFrame, span: tuple[float, float]) -> None:
    for (mechanism, calibration, gaussian), (_, line, full, promised) in _METHODS.items():
        own = rows[(rows["mechanism"] == mechanism) & (rows["calibration"] == calibration)]
        own = own[(own["delta"] > 0) == gaussian]
        look, found = _look(mechanism, calibration), []
        for p, group in own[own["metric"] == "n_star"].groupby("p", sort=True):
            found.append((p, *style.mean_interval(group["value"].to_numpy())))
        if not found:
            continue
        p, mean, low, high = zip(*found, strict=True)
        face = look.colour if full else "white"
        axis.plot(p, mean, color=look.colour, marker=look.marker, ls=line, markerfacecolor=face)
        axis.vlines(p, low, high, color=look.colour)
        if promised:
            said = own[own["metric"] == "promised"].sort_values("p")
            axis.plot(said["p"], said["value"], color=look.colour, ls=_PROMISED[gaussian], lw=0.9)
    axis.set_xscale("log")
    style.value_axis(axis.yaxis, *span)
    axis.set_xlabel("p")


def _excesses(axis: Axes, rows: pd.DataFrame) -> None:
    for (mechanism, calibration, gaussian), (_, line, full, _) in _METHODS.items():
        own = rows[(rows["mechanism"] == mechanism) & (rows["calibration"] == calibration) & (rows["delta"] == 0)]
        if gaussian or own.empty:
            continue
        look = _look(mechanism, calibration)
        tones = style.shades(look.colour, own["epsilon"].nunique())[::-1]
        for (_, group), tone in zip(own.groupby("epsilon", sort=True), tones, strict=True):
            group = group.sort_values("n")
            face = tone if full else "white"
            axis.plot(group["n"], group["value"], color=tone, marker=look.marker, ls=line, markerfacecolor=face)
    axis.set_xscale("log")
    style.value_axis(axis.yaxis, rows["value"].min(), rows["value"].max())
    axis.set_title("stable ERM and averaging", size=8)
    axis.set_xlabel("n")
    axis.set_ylabel("excess at the worst mean")


def _look(mechanism: str, calibration: str) -> style.Look:
    return style.NONPRIVATE if mechanism == "nonprivate" else style.look(mechanism, calibration)
