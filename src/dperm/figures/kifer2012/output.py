"""Objective against output perturbation on real data (kifer2012, Section 1)."""

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm.errors import DataError
from dperm.figures import style

_METHOD = ["mechanism", "calibration"]
_METRICS = {"excess_risk": "excess risk", "test_loss": "test loss", "test_error": "test error"}
_MARKERS = ("v", "o", "D", "s", "^", "P")
_GREY = "#555555"


def output(rows: pd.DataFrame) -> Figure:
    """Draw excess risk and test loss over epsilon, each method at the ridge multiple chosen on the public split.

    Parameters
    ----------
    rows : DataFrame
        Of the experiment kifer2012-output (kifer2012, Section 1: objective against output perturbation).

    Returns
    -------
    Figure
        A column of panels for each data set. Bands: 95 % t intervals of the mean over repeats. What failed or is not
        among the rows stands in words under the panels, and nothing is drawn in its place.

    Raises
    ------
    ConfigError
        If a method has no colour.
    DataError
        If a method has two chosen multiples at one point.
    """
    points, levels = _points(rows), _levels(rows)
    points = points[points["chosen"]]
    _check_chosen(points)
    datasets, epsilons = _datasets(rows), _epsilons(points)
    lines = style.linestyles(points["delta"])
    metrics = ("excess_risk", "test_loss")
    notes = _notes(rows, points, metrics)
    figure, axes = _grid(len(datasets), 2, panel_height=1.55, notes=3 + len(notes))
    for column, dataset in enumerate(datasets):
        axes[0, column].set_title(dataset)
        for row, metric in enumerate(metrics):
            here = points[(points["dataset"] == dataset) & (points["metric"] == metric)]
            axis = axes[row, column]
            _frame(axis, here, levels.get((dataset, metric)), epsilons=epsilons)
            for (mechanism, calibration, delta), line in _by(here, [*_METHOD, "delta"]):
                look = style.look(mechanism, calibration)
                _line(axis, line, epsilons, look.colour, look.marker, lines[delta], hollow=delta == 0)
        axes[-1, column].set_xlabel("ε")
    for row, metric in enumerate(metrics):
        axes[row, 0].set_ylabel(_METRICS[metric])
    looks = [style.look(*method) for method in _methods(points)]
    handles = [Line2D([], [], color=look.colour, marker=look.marker, label=look.label) for look in looks]
    handles += _noise_handles(points, lines)
    caption = (
        "Excess risk over the non-private minimum on the private training rows, and mean loss on the held-out rows; "
        f"each method at the ridge multiple chosen for it on the public split. {_sample(rows, points)}"
    )
    style.footer(figure, handles, columns=3, lines=[caption, *notes])
    return figure


def output_sweep(rows: pd.DataFrame) -> Figure:
    """Draw excess risk and test loss over epsilon for every ridge multiple; rings mark the chosen ones.

    Parameters
    ----------
    rows : DataFrame
        Of the experiment kifer2012-output.

    Returns
    -------
    Figure
        A column of panels for each data set, a row for each metric and method; the methods of one metric share their
        y-axis. Bands and missing points as in `output`.

    Raises
    ------
    ConfigError
        If a method has no colour.
    DataError
        If a method has two chosen multiples at one point.
    """
    points, levels = _points(rows), _levels(rows)
    _check_chosen(points[points["chosen"]])
    datasets, methods, epsilons = _datasets(rows), _methods(points), _epsilons(points)
    lines = style.linestyles(points["delta"])
    multiples = sorted(points["ridge_multiple"].unique())
    panels = [(metric, method) for metric in ("excess_risk", "test_loss") for method in methods]
    notes = _notes(rows, points, ("excess_risk", "test_loss"))
    figure, axes = _grid(len(datasets), max(len(panels), 1), panel_height=1.22, notes=3 + len(notes))
    for column, dataset in enumerate(datasets):
        axes[0, column].set_title(dataset)
        for row, (metric, method) in enumerate(panels):
            shared = points[(points["dataset"] == dataset) & (points["metric"] == metric)]
            here = shared[(shared["mechanism"] == method[0]) & (shared["calibration"] == method[1])]
            axis, look = axes[row, column], style.look(*method)
            _frame(
                axis,
                shared,
                levels.get((dataset, metric)),
                epsilons=epsilons,
                empty=not (here["ok"] > 0).any(),
            )
            colours = style.shades(look.colour, len(multiples))
            for (multiple, delta), line in _by(here, ["ridge_multiple", "delta"]):
                k = multiples.index(multiple)
                _line(
                    axis,
                    line,
                    epsilons,
                    colours[k],
                    _MARKERS[k % len(_MARKERS)],
                    lines[delta],
                    hollow=delta == 0,
                    band=0.1,
                )
                chosen = line[line["chosen"] & (line["ok"] > 0)]
                axis.plot(chosen["epsilon"], chosen["mean"], "o", ms=8, mfc="none", mec="black", mew=0.7, zorder=4)
            if row + 1 < len(panels):
                axis.tick_params(labelbottom=False)
        axes[-1, column].set_xlabel("ε")
    for row, (metric, method) in enumerate(panels):
        look = style.look(*method)
        axes[row, 0].set_ylabel(f"{look.label.replace(', ', chr(10))}\n{_METRICS[metric]}", color=look.colour)
    handles = [
        Line2D([], [], color=colour, marker=_MARKERS[k % len(_MARKERS)], label=f"multiple {style.number(multiple)}")
        for k, (multiple, colour) in enumerate(zip(multiples, style.shades("#777777", len(multiples)), strict=True))
    ]
    ring = Line2D([], [], ls="", marker="o", ms=8, mfc="none", mec="black", mew=0.7, label="chosen on the public split")
    handles += [ring, *_noise_handles(points, lines)]
    caption = (
        "Every ridge multiple that was tried (the added curvature is multiple·λ/ε), light to dark; panels of one data "
        f"set and metric share their y-axis. {_sample(rows, points)}"
    )
    style.footer(figure, handles, columns=4 if len(datasets) > 2 else 3, lines=[caption, *notes])
    return figure


def output_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate each method at its chosen ridge multiple: means and 95 % t intervals over repeats.

    Parameters
    ----------
    rows : DataFrame
        Of the experiment kifer2012-output.

    Returns
    -------
    plain : DataFrame
        Numbers, with the ends of intervals in columns of their own; what does not exist (an interval of one run, the
        test error of a regression, a mean without a converged repeat) is null.
    words : DataFrame
        The same for people, all text: `mean [low, high]`, a dash for what does not exist.

    Raises
    ------
    ConfigError
        If a method has no name in words.
    DataError
        If a method has two chosen multiples at one point.
    """
    points = _points(rows, private_only=False)
    points = points[points["chosen"]]
    _check_chosen(points)
    plain, words = [], []
    groups = list(_by(points, ["dataset", "epsilon", "delta", *_METHOD, "ridge_multiple"]))
    # Methods in the order of the legend; the sort is stable.
    order = {method: k for k, method in enumerate(style.METHODS)}
    groups.sort(key=lambda group: (*group[0][:3], order.get(group[0][3:5], len(order))))
    for (dataset, epsilon, delta, mechanism, calibration, multiple), lines in groups:
        private = mechanism != "nonprivate"
        look = style.look(mechanism, calibration) if private else style.NONPRIVATE
        counted = lines[lines["metric"].isin(_METRICS)]
        repeats, failed = (int(counted[name].max()) if len(counted) else 0 for name in ("ok", "failed"))
        head = {"dataset": dataset, "epsilon": epsilon, "delta": delta, "method": look.label}
        plain.append({**head, "ridge_multiple": multiple if private else math.nan})
        ε, δ, m = (style.number(value) if private else "–" for value in (epsilon, delta, multiple))
        words.append({"data set": dataset, "ε": ε, "δ": δ, "method": look.label, "multiple": m})
        for metric, title in _METRICS.items():
            found = lines[lines["metric"] == metric]
            mean, low, high = found[["mean", "low", "high"]].iloc[0] if len(found) else (math.nan,) * 3
            plain[-1].update({metric: mean, f"{metric}_low": low, f"{metric}_high": high})
            words[-1][title] = _interval_in_words(mean, low, high)
        plain[-1].update(repeats=repeats, failed=failed)
        words[-1].update(repeats=str(repeats), failed=str(failed))
    return pd.DataFrame(plain), pd.DataFrame(words)


def _interval_in_words(mean: float, low: float, high: float) -> str:
    if math.isnan(mean):
        return "–"
    return f"{mean:.3g}" if math.isnan(low) else f"{mean:.3g} [{low:.3g}, {high:.3g}]"


def _points(rows: pd.DataFrame, *, private_only: bool = True) -> pd.DataFrame:
    """Return a line for each data set, method, epsilon, delta, multiple and metric: mean, low, high, ok, failed."""
    private = rows["mechanism"] != "nonprivate"
    rows = rows[rows["metric"].isin(_METRICS) & (private if private_only else True)]
    keys = ["dataset", *_METHOD, "epsilon", "delta", "ridge_multiple", "chosen", "metric"]
    lines = []
    for key, group in _by(rows, keys):
        values = group.loc[group["status"] == "ok", "value"].to_numpy()
        mean, low, high = style.mean_interval(values)
        counts = {"ok": len(values), "failed": len(group) - len(values)}
        lines.append({**dict(zip(keys, key, strict=True)), "mean": mean, "low": low, "high": high, **counts})
    frame = pd.DataFrame(lines, columns=[*keys, "mean", "low", "high", "ok", "failed"])
    return frame.astype({"chosen": bool})


def _by(frame: pd.DataFrame, keys: list[str]) -> Iterable[tuple[tuple, pd.DataFrame]]:
    """Group by keys; text in alphabetical order whatever the order of its categories."""
    frame = frame.astype({key: object for key in keys if isinstance(frame[key].dtype, pd.CategoricalDtype)})
    return frame.groupby(keys, sort=True)


def _levels(rows: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the non-private fit's metrics by data set and metric."""
    levels = rows[(rows["mechanism"] == "nonprivate") & (rows["status"] == "ok")]
    return {(row.dataset, row.metric): row.value for row in levels.itertuples()}


def _methods(points: pd.DataFrame) -> list[tuple[str, str]]:
    """Return (mechanism, calibration) pairs in the order of the style's table, unknown ones last."""
    known = list(style.METHODS)
    return sorted((key for key, _ in _by(points, _METHOD)), key=lambda m: known.index(m) if m in known else len(known))


def _datasets(rows: pd.DataFrame) -> list[str]:
    return sorted(rows["dataset"].unique())


def _epsilons(points: pd.DataFrame) -> list[float]:
    return sorted(points["epsilon"].unique())


def _check_chosen(points: pd.DataFrame) -> None:
    keys = ["dataset", *_METHOD, "epsilon", "delta", "metric"]
    twice = points[points.duplicated(keys)]
    if len(twice):
        first = ", ".join(f"{key}={value}" for key, value in twice.iloc[0][keys].items())
        raise DataError(f"two ridge multiples are chosen at {first}; delete these cells and run again")


def _grid(columns: int, rows: int, *, panel_height: float, notes: int) -> tuple[Figure, np.ndarray]:
    """Return a figure as wide as a page's text, with room for the footer, and its panels, shape (rows, columns)."""
    figure = Figure(figsize=(7.0 if columns > 2 else 5.2, 1.0 + panel_height * rows + 0.135 * notes))
    axes = figure.subplots(rows, max(columns, 1), squeeze=False)
    if not columns:
        _say(axes[0, 0], "no rows")
    return figure, axes


def _say(axis: Axes, text: str) -> None:
    axis.text(0.5, 0.5, text, transform=axis.transAxes, ha="center", va="center", color=_GREY)


def _frame(axis: Axes, points: pd.DataFrame, level: float | None, *, epsilons: list[float], empty: bool = False):
    """Set the scales of a panel from everything that will be in it, and draw the non-private level."""
    drawn = points[points["ok"] > 0]
    if epsilons:
        style.epsilon_axis(axis.xaxis, epsilons)
    if drawn.empty or empty:
        _say(axis, "no converged fit")
    if drawn.empty:
        axis.set_yticks([])
        return
    values = np.concatenate([drawn["mean"], drawn["high"].dropna(), [] if level is None else [level]])
    # The lower end of an interval may be below 0 where the mean is not; a log axis then cuts the band, not the line.
    lows = drawn["low"].dropna()
    lows = lows[lows > 0] if values.min() > 0 else lows
    style.value_axis(axis.yaxis, min(values.min(), lows.min() if len(lows) else np.inf), values.max())
    if level is not None:
        axis.axhline(level, color=style.NONPRIVATE.colour, lw=0.9, ls=(0, (1, 1)), zorder=1.5)


def _line(
    axis: Axes,
    points: pd.DataFrame,
    epsilons: list[float],
    colour: str | tuple[float, float, float],
    marker: str,
    linestyle: object,
    *,
    hollow: bool,
    band: float = 0.18,
) -> None:
    """Draw one line with its band; where an epsilon is missing it breaks instead of bridging the gap."""
    points = points[points["ok"] > 0].set_index("epsilon").reindex(epsilons)
    face = "white" if hollow else colour
    axis.plot(epsilons, points["mean"], color=colour, marker=marker, ls=linestyle, mfc=face, mew=0.9, zorder=3)
    low, high = points["low"].to_numpy(), points["high"].to_numpy()
    if axis.get_yscale() == "log":
        low = np.maximum(low, axis.get_ylim()[0])
    known = ~np.isnan(low)
    axis.vlines(np.array(epsilons)[known], low[known], high[known], color=colour, lw=0.8, zorder=2.5)
    axis.fill_between(epsilons, low, high, color=colour, alpha=band, lw=0, zorder=2)


def _noise_handles(points: pd.DataFrame, lines: dict[float, object]) -> list[Line2D]:
    handles = [
        Line2D(
            [], [], color=_GREY, marker="o", ls=lines[delta], mfc="white" if delta == 0 else _GREY,
            label=style.noise_label(delta),
        )
        for delta in sorted(points["delta"].unique())
    ]  # fmt: skip
    level = Line2D([], [], color=style.NONPRIVATE.colour, lw=0.9, ls=(0, (1, 1)), label=style.NONPRIVATE.label)
    return [*handles, level]


def _sample(rows: pd.DataFrame, points: pd.DataFrame) -> str:
    """Say what was run: data sets and repeats."""
    if points.empty:
        return "There are no rows of private fits."
    repeats = sorted((points["ok"] + points["failed"]).unique())
    repeats = str(repeats[0]) if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    return (
        f"Lines: means over {repeats} repeats; bands: 95 % confidence intervals of the mean (Student's t). "
        f"Data sets: {', '.join(_datasets(rows))}."
    )


def _notes(rows: pd.DataFrame, points: pd.DataFrame, metrics: Iterable[str]) -> list[str]:
    """Say in words which points have no line and which means stand on fewer repeats than were run."""
    private = rows[rows["mechanism"] != "nonprivate"]
    methods = _methods(private)
    epsilons, deltas = sorted(private["epsilon"].unique()), sorted(private["delta"].unique())
    converged = points[points["ok"] > 0].set_index(["dataset", *_METHOD, "delta", "epsilon", "metric"]).index
    gaps, losses = [], []
    for dataset in _datasets(rows):
        for mechanism, calibration in methods:
            for delta in deltas:
                here = (dataset, mechanism, calibration, delta)
                who = f"{style.look(mechanism, calibration).label} ({style.equals('δ', delta)}) on {dataset}"
                gone = [e for e in epsilons if any((*here, e, metric) not in converged for metric in metrics)]
                if gone:
                    gaps.append(f"{who} at {style.equals('ε', *gone)}")
    part = points[(points["failed"] > 0) & (points["ok"] > 0) & points["metric"].isin(list(metrics))]
    for (dataset, mechanism, calibration, delta), lines in _by(part, ["dataset", *_METHOD, "delta"]):
        who = f"{style.look(mechanism, calibration).label} ({style.equals('δ', delta)}) on {dataset}"
        worst = lines.sort_values(["failed", "epsilon"]).iloc[-1]
        losses.append(
            f"{who}: {worst['failed']} of {worst['failed'] + worst['ok']} at {style.equals('ε', worst['epsilon'])}"
        )
    notes = []
    if gaps:
        notes.append(f"Missing, no converged fit: {_some(gaps)}.")
    if losses:
        notes.append(f"Repeats that did not converge and are left out: {_some(losses)}.")
    return notes


def _some(items: list[str], most: int = 4) -> str:
    rest = len(items) - most
    return "; ".join(items[:most]) + (f"; and {rest} more" if rest > 0 else "")
