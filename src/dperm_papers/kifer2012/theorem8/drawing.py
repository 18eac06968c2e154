"""Samp-Agg of kifer2012: recovery over the number of blocks, by Theorem 8's bound, exactly, and in runs."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
_MARKERS = ("o", "s", "^", "D")
_BOUND = (0, (6, 2))
_GREY = "#777777"
# Failure probabilities below this are not drawn.
_LEAST = 1e-12
_ENOUGH = 0.9


def theorem8(rows: pd.DataFrame) -> Figure:
    """Draw P(right support) and P(failure) over k, and what runs on random signs give.

    - rows: of the experiment kifer2012-theorem8.
    - Returns: a column for each s. Where all blocks agree, exactly and by Theorem 8: P(right), and P(wrong). Below
      (where they were run) runs with k = sqrt(n) blocks beside the exact probability if all blocks agreed.
    """
    rows = _plain(rows)
    agreed, runs = rows[rows["row"] == "theorem-8"], rows[rows["row"] == "run"]
    supports = sorted(agreed["s"].unique())
    features = sorted(set(agreed["p"]) | set(runs["p"]))
    looks = {p: (_COLOURS[k % 4], _MARKERS[k % 4]) for k, p in enumerate(features)}
    figure = Figure(figsize=(7.0, 7.0 if len(runs) else 5.0))
    axes = figure.subplots(3 if len(runs) else 2, len(supports), squeeze=False)
    for column, size in enumerate(supports):
        _recovery(axes[0, column], agreed[agreed["s"] == size], looks)
        _failure(axes[1, column], agreed[agreed["s"] == size], looks)
        axes[0, column].set_title(f"s = {size}, all k blocks right", size=8)
        if len(runs):
            _runs(axes[2, column], rows[rows["s"] == size], looks)
            axes[2, column].set_title(f"s = {size}, random signs, k = √n", size=8)
    for place, label in enumerate(("P(right support)", "P(wrong support)", "P(right support)")[: len(axes)]):
        axes[place, 0].set_ylabel(label)
    handles = [
        Line2D([], [], color=colour, marker=marker, label=f"p = {style.number(p)}")
        for p, (colour, marker) in looks.items()
    ]
    handles += [
        Line2D([], [], color="black", label="exact, all blocks right"),
        Line2D([], [], color="black", lw=1.0, ls=_BOUND, label="bound of Theorem 8"),
    ]
    lines = [
        f"Samp-Agg, {style.equals('ε', rows['epsilon'].iloc[0])}, Laplace noise of scale 2s/(kε). Where "
        "p exp(−εk/(4s)) ≥ 1 the bound says nothing: it is drawn from where it does. " + _vacuous(agreed),
    ]
    if len(runs):
        handles.append(Line2D([], [], color="black", ls="", marker="o", mfc="white", label="run, given the data exact"))
        lines.append(f"Runs: means over {int(runs['repeat'].max()) + 1} data sets, 95 % intervals.{_failed(runs)}")
    style.footer(figure, handles, columns=4, lines=lines)
    return figure


def theorem8_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate how many blocks are enough: by the exact law, by Theorem 8's bound.

    - rows: of the experiment kifer2012-theorem8.
    - plain: k at which P(right) is 0.9: the exact one by interpolation of log P(wrong) in k, the bound's by its
      formula; and from which k on the bound says anything at all. Missing where it is outside the grid.
    - words: the same for people.
    """
    rows = _plain(rows)
    found = []
    for (p, size), line in rows[rows["row"] == "theorem-8"].groupby(["p", "s"], sort=True):
        epsilon = line["epsilon"].iloc[0]
        exact = line[line["metric"] == "log_failure"].sort_values("k")
        enough, unit = math.log(1 - _ENOUGH), 4 * size / epsilon
        falls, k = exact["value"].to_numpy(), exact["k"].to_numpy(dtype=float)
        inside = falls[-1] <= enough <= falls[0]
        found.append(
            {
                "p": int(p), "s": int(size),
                "k, exact": float(np.interp(-enough, -falls, k)) if inside else math.nan,
                "k, Theorem 8": unit * (math.log(p) - enough), "bound above 0 from k": unit * math.log(p),
            }
        )  # fmt: skip
    plain = pd.DataFrame(found)
    words = plain.map(lambda value: "–" if math.isnan(value) else f"{value:.0f}")
    return plain, words


def _plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that succeeded, categories as text: they would group by what is not there."""
    rows = rows[(rows["status"] == "ok") | (rows["row"] == "run")]
    return rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})


def _line(rows: pd.DataFrame, metric: str, p: int) -> tuple[np.ndarray, np.ndarray]:
    line = rows[(rows["metric"] == metric) & (rows["p"] == p)].sort_values("k")
    return line["k"].to_numpy(dtype=float), line["value"].to_numpy()


def _recovery(axis: Axes, rows: pd.DataFrame, looks: dict[int, tuple[str, str]]) -> None:
    for p in sorted(rows["p"].unique()):
        colour, marker = looks[p]
        axis.plot(*_line(rows, "recovery", p), color=colour, marker=marker, ms=3)
        k, stated = _line(rows, "recovery_bound", p)
        axis.plot(k[stated > 0], stated[stated > 0], color=colour, ls=_BOUND, lw=1.0)
    axis.set_ylim(-0.03, 1.03)
    _x_axis(axis, rows["k"])


def _failure(axis: Axes, rows: pd.DataFrame, looks: dict[int, tuple[str, str]]) -> None:
    for p in sorted(rows["p"].unique()):
        colour, marker = looks[p]
        k, exact = _line(rows, "log_failure", p)
        axis.plot(k, np.exp(exact), color=colour, marker=marker, ms=3)
        k, stated = _line(rows, "log_failure_bound", p)
        axis.plot(k[stated < 0], np.exp(stated[stated < 0]), color=colour, ls=_BOUND, lw=1.0)
    style.value_axis(axis.yaxis, _LEAST, 1.0)
    _x_axis(axis, rows["k"])


def _runs(axis: Axes, rows: pd.DataFrame, looks: dict[int, tuple[str, str]]) -> None:
    runs = rows[(rows["row"] == "run") & (rows["metric"] == "recovery") & (rows["status"] == "ok")]
    shifts = dict(zip(sorted(runs["p"].unique()), (1.0, 1.04, 0.96, 1.08), strict=False))
    for p, line in runs.groupby("p", sort=True):
        colour, marker = looks[p]
        axis.plot(*_line(rows[rows["row"] == "unanimous"], "recovery", p), color=colour, lw=1.0)
        points = line.groupby("k", sort=True)["value"]
        mean, low, high = np.array([style.mean_interval(values) for _, values in points]).T
        error = np.nan_to_num([mean - np.maximum(low, 0), np.minimum(high, 1) - mean])
        # Shifted a little, so that no marker hides another.
        k = np.array(sorted(points.groups), dtype=float) * shifts[p]
        axis.errorbar(k, mean, yerr=np.maximum(error, 0), color=colour, marker=marker, mfc="white", ms=4, ls="", lw=0.9)
    axis.set_ylim(-0.03, 1.03)
    _x_axis(axis, runs["k"])


def _x_axis(axis: Axes, values: pd.Series) -> None:
    values = sorted(values.unique())
    axis.set_xscale("log")
    step = -(-len(values) // 6)
    axis.set_xticks(values[::step], [style.number(value) for value in values[::step]])
    axis.minorticks_off()
    axis.set_xlim(values[0] / 1.2, values[-1] * 1.2)
    axis.set_xlabel("k")


def _vacuous(rows: pd.DataFrame) -> str:
    """Say of the largest s and k that are vacuous at p = 1,000 (or the middle p) what the bound and the truth are."""
    features, size = sorted(rows["p"].unique()), rows["s"].max()
    p = features[len(features) // 2]
    here = rows[(rows["p"] == p) & (rows["s"] == size)].pivot_table(index="k", columns="metric", values="value")
    empty = here[here["recovery_bound"] <= 0]
    if empty.empty:
        return ""
    last = empty.iloc[-1]
    bound, exact = (style.number(float(f"{last[name]:.2g}")) for name in ("recovery_bound", "recovery"))
    bound = bound.replace("-", "\N{MINUS SIGN}")
    where = f"p = {style.number(p)}, s = {size}, k = {empty.index[-1]}"
    return f"So at {where}: bound {bound}, exact {exact}."


def _failed(runs: pd.DataFrame) -> str:
    failed = int(((runs["metric"] == "recovery") & (runs["status"] == "failed")).sum())
    return f" {failed} runs did not converge and are left out." if failed else ""
