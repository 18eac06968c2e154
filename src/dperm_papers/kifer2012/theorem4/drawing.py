"""Theorem 4 of kifer2012: risks and bounds over p and n, lengths of the noise, and the gap between the two noises."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Noise -> name, colour, exponent of p that Theorem 4 states on the way to Table 1 (gamma: times log p).
NOISES = {"gamma": ("gamma noise", "#D55E00", 3.0), "gaussian": ("Gaussian noise", "#0072B2", 2.5)}
# Design -> marker, filled; dashes are left to what is stated.
DESIGNS = {"extremal": ("o", True), "hadamard": ("s", False)}
# Bounds on the noise's length: row -> name, noise, line; with the least gamma.
LENGTHS = {
    "lemma-27": ("Lemma 27", "gamma", (0, (8, 1.6, 1, 1.6))),
    "d12-printed": ("D.1.2", "gaussian", (0, (8, 1.6, 1, 1.6))),
    "d12-mended": ("D.1.2, mended", "gaussian", (0, (8, 1.6, 1, 1.6, 1, 1.6))),
}
# The printed bound of D.1.2 again, with a gamma at which it fails (erratum K12): it should leave a tenth of B below.
_FAILING, _FAILING_LINE = 0.9, (0, (3, 3))
_GREY = "#777777"
_DOTTED, _DASHED = (0, (1, 1.2)), (0, (6, 2))
# What is stated starts this far above (or below) what is measured, which would cover it.
_APART = 2.2
# The same of mean risks, whose lines cross: above both.
_STATED = 6.0


class _Ratio(NamedTuple):
    """A line of the gap: its rows, its look, and the exponent that the paper states for it."""

    name: str
    where: dict[str, str]
    stated: float
    colour: str
    marker: str
    face: str


_GAPS = (
    _Ratio("gamma/Gaussian, extremal (Theorem 4)", {"metric": "risk_ratio", "dataset": "extremal", "row": "theorem-4",
           "calibration": "paper"}, 0.5, "#0072B2", "o", "#0072B2"),
    _Ratio("the same, tight calibration", {"metric": "risk_ratio", "dataset": "extremal", "row": "theorem-4",
           "calibration": "tight"}, 0.5, "#0072B2", "o", "white"),
    _Ratio("gamma/Gaussian, Hadamard (Theorem 5)", {"metric": "risk_ratio", "dataset": "hadamard", "row": "theorem-5",
           "calibration": "paper"}, 0.5, "#D55E00", "s", "#D55E00"),
)  # fmt: skip
_GAINS = (
    _Ratio("Gaussian, Theorem 4 / Theorem 5", {"metric": "over_nice", "variant": "gaussian", "row": "theorem-4",
           "calibration": "paper"}, 0.5, "#009E73", "^", "#009E73"),
    _Ratio("gamma, Theorem 4 / Gaussian, Theorem 5", {"metric": "over_nice", "variant": "gamma", "row": "theorem-4",
           "calibration": "paper"}, 1.0, "#CC79A7", "v", "#CC79A7"),
    _Ratio("as ▲ with p = s and ε/2 (Section 3.1)", {"metric": "over_nice", "variant": "gaussian", "row": "stage-two",
           "calibration": "paper"}, 0.5, "#E69F00", "D", "white"),
)  # fmt: skip


def theorem4(rows: pd.DataFrame) -> Figure:
    """Draw the mean risk over p and over n, the length of the noise, and what it does to the minimiser.

    - rows: of the experiment kifer2012-theorem4; the printed calibration is drawn.
    - Returns: all numbers are exact. Over p: at the least n that every p has; over n: at the largest p that has every
      n.
    """
    rows = _plain(rows)
    rows = rows[rows["calibration"] == "paper"]
    risks = rows[(rows["row"] == "theorem-4") & (rows["sizing"] == "fixed")]
    shared = risks.groupby("n")["p"].nunique()
    n = int(shared.index[shared == shared.max()].min())
    sizes = risks.groupby("p")["n"].nunique()
    p = int(sizes.index[sizes == sizes.max()].max())
    figure = Figure(figsize=(7.0, 5.4))
    axes = figure.subplots(2, 2, squeeze=False)
    _risks(axes[0, 0], risks[risks["n"] == n], "p")
    axes[0, 0].set_title(f"mean excess risk, n = {style.number(n)}", size=8)
    _risks(axes[0, 1], risks[risks["p"] == p], "n")
    axes[0, 1].set_title(f"mean excess risk, p = {p}", size=8)
    gamma = _lengths(axes[1, 0], rows[rows["dataset"] == "no-data"])
    axes[1, 0].set_title("length B of the noise, in units of ζ/ε", size=8)
    _distortion(axes[1, 1], rows[(rows["row"] == "distort") & (rows["metric"] == "noise_ratio")])
    axes[1, 1].set_title("noise of objective / output perturbation in θ", size=8)
    handles = [
        Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            mfc=colour if filled else "white",
            label=f"{name}, {design.replace('h', 'H')}",
        )
        for name, colour, _ in NOISES.values()
        for design, (marker, filled) in DESIGNS.items()
    ]
    handles += [
        Line2D([], [], color=_GREY, lw=1.0, ls=_DASHED, label="Lemma 3 in the mean (over n)"),
        Line2D([], [], color=_GREY, lw=1.2, ls=_DOTTED, label="slope in Theorem 4 (over p)"),
    ]
    handles += [
        Line2D([], [], color=NOISES[noise][1], ls=line, lw=1.0, label=f"{name}, γ = {style.number(gamma)}")
        for name, noise, line in LENGTHS.values()
    ]
    label = f"D.1.2, γ = {style.number(_FAILING)}"
    handles.append(Line2D([], [], color=NOISES["gaussian"][1], ls=_FAILING_LINE, lw=1.0, label=label))
    first = rows.iloc[0]
    lines = [
        "Private linear regression (squared loss on the ball of radius √p), exact means by quadrature, no repeats; "
        f"{style.equals('ε', first['epsilon'])}; Gaussian noise: {style.equals('δ', rows['delta'].max())}; constants "
        "as printed, Δ of Theorem 4. Extremal design: X'X = Δ I; Hadamard design: "
        "X'X = n I. Dotted (shifted up) and dashed lines of the upper panels are for the extremal design.",
        "B: medians, and bands from its 1 % to its 99 % quantile; a bound with γ should have at most a share γ of B "
        "above it. Last panel: gamma noise, equal ε and Δ, c the eigenvalue of X'X; the quotient is the same for every "
        "p.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def gap(rows: pd.DataFrame) -> Figure:
    """Draw what gamma noise and data that are not nice cost, as ratios of mean risks over p.

    - rows: of the experiment kifer2012-theorem4.
    - Returns: lines are exact, at n = 100 p^2. Crosses: ratios of means over runs of Algorithm 1, with 95 % intervals.
    """
    rows = _plain(rows)
    figure = Figure(figsize=(7.0, 3.9))
    left, right = figure.subplots(1, 2, squeeze=True)
    repeats = _ratios(left, rows, _GAPS, runs=rows[rows["metric"] == "run_risk"])
    left.set_title("risk with gamma noise / with Gaussian noise", size=8)
    _ratios(right, rows, _GAINS)
    right.set_title("risk on the extremal / on the Hadamard design", size=8)
    right.set_xlabel("p, or s")
    handles = [
        Line2D([], [], color=line.colour, marker=line.marker, mfc=line.face, label=line.name)
        for line in (*_GAPS, *_GAINS)
    ]
    handles = [handle for pair in zip(handles[: len(_GAPS)], handles[len(_GAPS) :], strict=True) for handle in pair]
    handles += [
        Line2D([], [], color=_GREY, lw=1.2, ls=_DOTTED, label="√p and p"),
        Line2D([], [], color="#222222", ls="none", marker="x", label="runs of Algorithm 1, with 95 % intervals"),
    ]
    crossings = rows[rows["metric"] == "crossover"].set_index("calibration")["value"]
    from_p = ", ".join(f"{int(value)} ({name})" for name, value in crossings.sort_index().items())
    first = rows.iloc[0]
    lines = [
        "Ratios of mean excess risks, exact by quadrature, at n = 100 p²; crosses: ratios of means over "
        f"{repeats} runs each, on the extremal design. {style.equals('ε', first['epsilon'])}; Gaussian noise: "
        f"{style.equals('δ', rows['delta'].max())}. Above 1 Gaussian noise, or nice data, is better. On the extremal "
        f"design Gaussian noise is better from p = {from_p} on.",
    ]
    failed = int(((rows["metric"] == "run_risk") & (rows["status"] == "failed")).sum())
    lines += [f"{failed} runs did not converge and are left out."] * (failed > 0)
    style.footer(figure, handles, columns=2, lines=lines)
    return figure


def gap_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate the slopes of the ratios beside those that the paper states.

    - rows: of the experiment kifer2012-theorem4.
    - plain: numbers.
    - words: the same for people.
    """
    rows, found = _plain(rows), []
    for line in (*_GAPS, *_GAINS):
        points = _of(rows, line.where).sort_values("p")
        x, y = (np.log(points[name].to_numpy(dtype=float)) for name in ("p", "value"))
        if len(x) < 2:
            continue
        local = np.diff(y) / np.diff(x)
        found.append(
            {
                "ratio": line.name.replace("▲", "above"), "stated slope in p": line.stated,
                "slope in p": float(np.polyfit(x, y, 1)[0]), "least local slope": local.min(),
                "largest local slope": local.max(), "least p": int(points["p"].min()),
                "largest p": int(points["p"].max()), "ratio at the largest p": points["value"].iloc[-1],
            }
        )  # fmt: skip
    plain = pd.DataFrame(found)
    words = plain.map(lambda value: value if isinstance(value, str) else f"{value:.3g}" if value < 1e3 else str(value))
    return plain, words


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})


def _of(rows: pd.DataFrame, where: dict[str, str | float]) -> pd.DataFrame:
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


def _risks(axis: Axes, risks: pd.DataFrame, over: str) -> None:
    """Draw a line for each noise and design; over p the slope that Theorem 4 states, over n Lemma 3's bound."""
    axis.set_xscale("log")
    shown = []
    for noise, (_, colour, exponent) in NOISES.items():
        for design, (marker, filled) in DESIGNS.items():
            here = _of(risks, {"metric": "excess_risk", "dataset": design, "variant": noise}).sort_values(over)
            face = colour if filled else "white"
            axis.plot(here[over], here["value"], color=colour, marker=marker, mfc=face, zorder=3)
            shown += [here["value"]]
            if design != "extremal":
                continue
            if over == "n":
                bound = _of(risks, {"metric": "bound", "dataset": design, "variant": noise}).sort_values(over)
                axis.plot(bound[over], bound["value"], color=colour, lw=1.0, ls=_DASHED, zorder=2)
                shown += [bound["value"]]
                continue
            x = here[over].to_numpy(dtype=float)
            law = x**exponent * (np.log(x) if noise == "gamma" else 1.0)
            stated = _STATED * here["value"].iloc[0] * law / law[0]
            axis.plot(x, stated, color=colour, lw=1.2, ls=_DOTTED, zorder=2)
            shown += [stated]
    _ticks(axis, over, risks[over])
    values = np.concatenate(shown)
    style.value_axis(axis.yaxis, values.min(), values.max())


def _lengths(axis: Axes, rows: pd.DataFrame) -> float:
    """Draw medians and bands of B, and the bounds on it; return their gamma."""
    axis.set_xscale("log")
    bounds = rows[rows["metric"] == "length_bound"]
    shown, gamma = [], float(bounds["gamma"].min())
    for noise, (_, colour, _) in NOISES.items():
        here = _of(rows, {"metric": "noise_length", "variant": noise})
        low, middle, high = (part.sort_values("p") for _, part in sorted(here.groupby("quantile"), key=lambda x: x[0]))
        axis.fill_between(low["p"], low["value"], high["value"], color=colour, alpha=0.25, lw=0)
        axis.plot(middle["p"], middle["value"], color=colour, zorder=3)
        shown += [low["value"], high["value"]]
    drawn = [(row, gamma, noise, line) for row, (_, noise, line) in LENGTHS.items()]
    for row, at, noise, line in (*drawn, ("d12-printed", _FAILING, "gaussian", _FAILING_LINE)):
        bound = _of(bounds, {"row": row, "gamma": at}).sort_values("p")
        axis.plot(bound["p"], bound["value"], color=NOISES[noise][1], ls=line, lw=1.0, zorder=2)
        shown += [bound["value"]]
    _ticks(axis, "p", rows.loc[rows["metric"] == "noise_length", "p"])
    values = np.concatenate(shown)
    style.value_axis(axis.yaxis, values.min(), values.max())
    return gamma


def _distortion(axis: Axes, rows: pd.DataFrame) -> None:
    axis.set_xscale("log")
    line = rows.groupby("gram_multiple")["value"].first()
    axis.plot(line.index, line.to_numpy(), color=NOISES["gamma"][1], marker="s", zorder=3)
    axis.axhline(1.0, color=_GREY, lw=0.8)
    axis.axvline(1.0, color=_GREY, lw=0.8)
    axis.set_xlabel("c/Δ")
    ticks = [0.1, 1, 10, 100]
    axis.set_xticks(ticks, [style.number(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set_xlim(line.index.min() / 1.3, line.index.max() * 1.3)
    style.value_axis(axis.yaxis, line.min(), line.max())


def _ratios(axis: Axes, rows: pd.DataFrame, lines: tuple[_Ratio, ...], runs: pd.DataFrame | None = None) -> int:
    """Draw ratios over p with the slopes that are stated; return the number of repeats of the runs."""
    axis.set_xscale("log")
    axis.axhline(1.0, color=_GREY, lw=0.8)
    shown, ticks, repeats = [], set(), 0
    for line in lines:
        here = _of(rows, line.where).sort_values("p")
        x, y = here["p"].to_numpy(dtype=float), here["value"].to_numpy()
        axis.plot(x, y, color=line.colour, marker=line.marker, mfc=line.face, zorder=3)
        shown, ticks = [*shown, *y], ticks | set(here["p"])
    x = np.array(sorted(ticks), dtype=float)
    for exponent in (0.5, 1.0):
        stated = _APART * max(shown[0], 1e-9) * (x / x[0]) ** exponent
        axis.plot(x, stated, color=_GREY, lw=1.2, ls=_DOTTED, zorder=2)
        axis.annotate(
            {0.5: "√p", 1.0: "p"}[exponent], (x[-1], stated[-1]), xytext=(3, 0), textcoords="offset points", size=7,
            color="#555555", va="center",
        )  # fmt: skip
        shown += list(stated)
    for p, ratio, low, high, count in () if runs is None else _run_ratios(runs):
        interval = [[ratio - low], [high - ratio]]
        axis.errorbar([p], [ratio], interval, color="#222222", marker="x", ms=5, lw=1.0, zorder=4)
        shown, ticks, repeats = [*shown, low, high], ticks | {p}, count
    _ticks(axis, "p", pd.Series(sorted(ticks)))
    style.value_axis(axis.yaxis, min(shown), max(shown))
    return repeats


def _run_ratios(runs: pd.DataFrame) -> Iterator[tuple[float, float, float, float, int]]:
    """Give p, the ratio of means, its 95 % interval by the delta method for logarithms, and the repeats."""
    for (_, p), group in runs[runs["status"] == "ok"].groupby(["calibration", "p"], sort=True):
        sides = [group.loc[group["variant"] == noise, "value"].to_numpy() for noise in ("gamma", "gaussian")]
        means = [side.mean() for side in sides]
        error = math.sqrt(sum(side.var(ddof=1) / len(side) / mean**2 for side, mean in zip(sides, means, strict=True)))
        ratio = means[0] / means[1]
        # 1.96: the quantile of the normal law; there are at least twenty repeats.
        yield float(p), ratio, ratio * math.exp(-1.96 * error), ratio * math.exp(1.96 * error), len(sides[0])


def _ticks(axis: Axes, over: str, values: pd.Series) -> None:
    values = sorted(values.unique())
    axis.set_xticks(values, [style.number(value) for value in values])
    axis.minorticks_off()
    axis.set_xlabel(over)
