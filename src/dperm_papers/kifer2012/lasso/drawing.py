"""Lasso under objective perturbation on real data: error, support and its overlap over epsilon (kifer2012, Alg. 1)."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from dperm.errors import ConfigError
from dperm_papers.kifer2012.shared import drawing_over_epsilon as over_epsilon
from dperm_pipeline.figures import style

_METRICS = {
    "relative_error": "test error\n(1 − R²)",
    "support": "coefficients\nnot 0",
    "overlap": "overlap with\nnon-private support",
}
# One for each l1 strength, weakest first; Okabe & Ito (2008).
_LOOKS = (("#0072B2", "o"), ("#E69F00", "s"), ("#CC79A7", "^"), ("#009E73", "D"))
_LINES = {"tight": ("-", False), "paper": ((0, (4, 1.6)), True)}
_KEYS = ["dataset", "delta", "calibration", "l1_share", "epsilon", "metric"]
# More ticks than this collide: every second one is named.
_MOST_TICKS = 5


def lasso(rows: pd.DataFrame) -> Figure:
    """Draw test error, size of the support and its overlap over epsilon, for every l1 strength.

    - rows: of the experiment kifer2012-lasso (kifer2012, Algorithm 1 with r = l1).
    - Returns: a column of panels for each data set and delta, a row for each metric; the panels of one data set and
      metric share their y-axis. A line for each l1 strength and calibration, a level for each non-private lasso. Bands:
      95 % t intervals of the mean over repeats. What failed stands in words under the panels.
    - Raises ConfigError: if there are more l1 strengths than colours.
    """
    private, points, levels = _read(rows)
    shares, epsilons = sorted(rows["l1_share"].unique()), sorted(points["epsilon"].unique())
    if len(shares) > len(_LOOKS):
        raise ConfigError(f"l1_shares: {len(shares)} are too many lines for one figure; at most {len(_LOOKS)}")
    looks = dict(zip(shares, _LOOKS, strict=False))
    columns = sorted({(row.dataset, row.delta) for row in points.itertuples()})
    failed = _failed(private)
    figure, axes = over_epsilon.grid(len(columns), len(_METRICS), panel_height=1.5, notes=4 + len(failed))
    for column, (dataset, delta) in enumerate(columns):
        axes[0, column].set_title(f"{dataset}\n{style.equals('δ', delta)}")
        for row, metric in enumerate(_METRICS):
            axis = axes[row, column]
            shared = points[(points["dataset"] == dataset) & (points["metric"] == metric)]
            here = levels[(levels["dataset"] == dataset) & (levels["metric"] == metric)]
            _scale(axis, metric, pd.concat([shared[["mean", "high"]].stack(), here["value"]]), epsilons)
            for level in here.itertuples():
                axis.axhline(level.value, color=looks[level.l1_share][0], lw=0.9, ls=(0, (1, 1)), zorder=1.5)
            drawn = shared[shared["delta"] == delta]
            if not (drawn["ok"] > 0).any():
                over_epsilon.say(axis, "no converged fit")
            for (calibration, share), line in over_epsilon.by(drawn, ["calibration", "l1_share"]):
                (colour, marker), (dashes, hollow) = looks[share], _LINES[calibration]
                over_epsilon.line(axis, line, epsilons, colour, marker, dashes, hollow=hollow, band=0.12)
            if row + 1 < len(_METRICS):
                axis.tick_params(labelbottom=False)
        axes[-1, column].set_xlabel("ε")
    for row, label in enumerate(_METRICS.values()):
        axes[row, 0].set_ylabel(label)
    handles = [
        Line2D([], [], color=colour, marker=marker, label=f"Λ = {style.number(share)} n′")
        for share, (colour, marker) in looks.items()
    ]
    handles += [
        Line2D([], [], color=over_epsilon.GREY, marker="o", ls=dashes, mfc="white" if hollow else None, label=name)
        for name, (dashes, hollow) in {"tight": _LINES["tight"], "Algorithm 1": _LINES["paper"]}.items()
    ]
    handles.append(Line2D([], [], color=over_epsilon.GREY, lw=0.9, ls=(0, (1, 1)), label="non-private lasso"))
    caption = (
        "Lasso by objective perturbation: squared loss within a box, Λ times the l1 norm, add/remove. Every Λ that was "
        "tried; n′: size of the private sample by the public shares. Test error 1: a prediction of the mean. "
        f"{_sample(points)}"
    )
    style.footer(figure, handles, columns=3, lines=[caption, *failed])
    return figure


def lasso_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate test error, support and overlap: means and 95 % t intervals over repeats.

    - rows: of the experiment kifer2012-lasso.
    - plain: numbers, with the ends of intervals in columns of their own; what does not exist is null.
    - words: the same for people, all text.
    """
    _, points, levels = _read(rows)
    levels = levels.rename(columns={"value": "mean"}).assign(
        epsilon=math.inf, delta=0.0, calibration="", ok=1, failed=0
    )
    plain, words = [], []
    for key, lines in over_epsilon.by(pd.concat([points, levels], ignore_index=True), _KEYS[:-1]):
        dataset, delta, calibration, share, epsilon = key
        lines = lines.set_index("metric")
        head = {"dataset": dataset, "delta": delta, "epsilon": epsilon, "calibration": calibration, "l1_share": share}
        plain.append(head)
        ε, δ = ("–" if math.isinf(epsilon) else style.number(value) for value in (epsilon, delta))
        words.append({"data set": dataset, "δ": δ, "ε": ε, "calibration": calibration or "non-private"})
        words[-1]["Λ/n′"] = style.number(share)
        for metric, title in _METRICS.items():
            found = metric in lines.index
            mean, low, high = lines.loc[metric, ["mean", "low", "high"]] if found else (math.nan,) * 3
            plain[-1].update({metric: mean, f"{metric}_low": low, f"{metric}_high": high})
            interval = "" if math.isnan(low) else f" [{low:.3g}, {high:.3g}]"
            words[-1][title.replace("\n", " ")] = "–" if math.isnan(mean) else f"{mean:.3g}{interval}"
        counts = lines[["ok", "failed"]].max()
        plain[-1].update(repeats=int(counts.sum()), failed=int(counts["failed"]))
    return pd.DataFrame(plain), pd.DataFrame(words)


def _read(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the private rows of drawn metrics, their means, and the levels of the non-private lasso."""
    rows = rows[rows["metric"].isin(_METRICS)]
    private = rows[rows["mechanism"] != "nonprivate"]
    levels = rows[(rows["mechanism"] == "nonprivate") & (rows["status"] == "ok")]
    levels = levels.astype({"dataset": object, "metric": object})[["dataset", "metric", "l1_share", "value"]]
    return private, over_epsilon.summary(private, _KEYS), levels.sort_values(["dataset", "metric", "l1_share"])


def _scale(axis: Axes, metric: str, values: pd.Series, epsilons: list[float]) -> None:
    """Set a panel's scales: an error is a ratio, a count and a share start at 0."""
    if values.notna().sum() == 0 or not epsilons:
        axis.set_yticks([])
        return
    style.epsilon_axis(axis.xaxis, epsilons)
    if len(epsilons) > _MOST_TICKS:
        axis.xaxis.set_major_locator(FixedLocator(epsilons[::2]))
    low = values.min() if metric == "relative_error" else 0.0
    style.value_axis(axis.yaxis, low, 1.0 if metric == "overlap" else values.max())


def _sample(points: pd.DataFrame) -> str:
    repeats = sorted((points["ok"] + points["failed"]).unique())
    if not repeats:
        return "There are no rows of private fits."
    return (
        f"Lines: means over {' or '.join(map(str, repeats))} repeats; bands: 95 % confidence intervals of the mean "
        f"(Student's t). Data sets: {', '.join(sorted(points['dataset'].unique()))}."
    )


def _failed(private: pd.DataFrame) -> list[str]:
    """Say how many fits are left out."""
    lost = private[private["metric"] == "support"]
    count = int((lost["status"] != "ok").sum())
    return [f"Fits that did not converge and are left out: {count} of {len(lost)}."] if count else []
