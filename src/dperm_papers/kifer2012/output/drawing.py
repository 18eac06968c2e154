"""Objective against output perturbation on real data (kifer2012, Section 1)."""

import math
import textwrap
from collections.abc import Iterable

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm.errors import DataError
from dperm_papers.kifer2012.shared import drawing_over_epsilon as over_epsilon
from dperm_pipeline.figures import style

_METHOD = ["mechanism", "calibration"]
_CANDIDATE = ["candidate", "ridge_multiple", "steps", "clip", "chosen"]
_METRICS = {"excess_risk": "excess risk", "test_loss": "test loss", "test_error": "test error"}
_DRAWN = ("excess_risk", "test_loss")
_MARKERS = ("v", "o", "s", "^", "D", "P")


def output(rows: pd.DataFrame) -> Figure:
    """Draw excess risk and test loss over epsilon, each method at the setting chosen on the public split.

    - rows: of the experiment kifer2012-output (kifer2012, Section 1: objective against output perturbation).
    - Returns: a column of panels for each data set, a row for each metric and delta; the panels of one data set and
      metric share their y-axis. Bands: 95 % t intervals of the mean over repeats. What failed or is not among the rows
      stands in words under the panels, and nothing is drawn in its place.
    - Raises DataError: if a method has two chosen settings at one point.
    """
    points, levels = _points(rows), _levels(rows)
    points = points[points["chosen"]]
    _check_chosen(points)
    datasets, epsilons, deltas = _datasets(rows), _epsilons(points), sorted(points["delta"].unique())
    methods, panels = _methods(points), [(metric, delta) for metric in _DRAWN for delta in deltas]
    notes = _notes(rows, points, _DRAWN)
    figure, axes = over_epsilon.grid(len(datasets), max(len(panels), 1), panel_height=1.35, notes=3 + len(notes))
    for column, dataset in enumerate(datasets):
        axes[0, column].set_title(dataset)
        for row, (metric, delta) in enumerate(panels):
            shared = points[(points["dataset"] == dataset) & (points["metric"] == metric)]
            here, axis = shared[shared["delta"] == delta], axes[row, column]
            over_epsilon.frame(
                axis, shared, levels.get((dataset, metric)), epsilons=epsilons, empty=not (here["ok"] > 0).any()
            )
            for method, line in over_epsilon.by(here, _METHOD):
                look, aside = style.look(*method), 1.2 * (methods.index(method) - (len(methods) - 1) / 2)
                over_epsilon.line(
                    axis, line, epsilons, look.colour, look.marker, "-", hollow=delta == 0, band=0.12, aside=aside
                )
            if row + 1 < len(panels):
                axis.tick_params(labelbottom=False)
        axes[-1, column].set_xlabel("ε")
    for row, (metric, delta) in enumerate(panels):
        axes[row, 0].set_ylabel(f"{_METRICS[metric]}\n{style.equals('δ', delta)}")
    looks = [style.look(*method) for method in methods]
    handles = [Line2D([], [], color=look.colour, marker=look.marker, label=look.label) for look in looks]
    caption = (
        "Excess risk over the non-private minimum on the private training rows, and mean loss on the held-out rows, at "
        "equal (ε, δ) under add/remove; each method at the setting chosen for it on the public split. Hollow: δ = 0. "
        f"Methods are drawn a little side by side. {_sample(rows, points)}"
    )
    style.footer(figure, [*handles, over_epsilon.nonprivate()], columns=3, lines=[caption, *notes])
    return figure


def output_sweep(rows: pd.DataFrame) -> Figure:
    """Draw excess risk over epsilon for every setting of every method; rings mark the chosen ones.

    - rows: of the experiment kifer2012-output.
    - Returns: a column of panels for each data set, a row for each method; the panels of a data set share their y-axis.
      Bands and missing points as in `output`.
    - Raises DataError: if a method has two chosen settings at one point.
    """
    return _sweep(rows, "excess_risk")


def output_sweep_test(rows: pd.DataFrame) -> Figure:
    """Draw the loss on test rows over epsilon for every setting of every method, as `output_sweep` does the risk.

    - rows: of the experiment kifer2012-output.
    - Raises ConfigError, DataError: as `output_sweep`.
    """
    return _sweep(rows, "test_loss")


def _sweep(rows: pd.DataFrame, metric: str) -> Figure:
    points, levels = _points(rows), _levels(rows)
    _check_chosen(points[points["chosen"]])
    points = points[points["metric"] == metric]
    datasets, methods, epsilons = _datasets(rows), _methods(points), _epsilons(points)
    lines = style.linestyles(points["delta"])
    notes = _notes(rows, points, [metric])
    figure, axes = over_epsilon.grid(len(datasets), max(len(methods), 1), panel_height=1.25, notes=3 + len(notes))
    for row, method in enumerate(methods):
        look = style.look(*method)
        mine = points[(points["mechanism"] == method[0]) & (points["calibration"] == method[1])]
        drawn = _candidates(mine, look.colour)
        for column, dataset in enumerate(datasets):
            axis, here = axes[row, column], mine[mine["dataset"] == dataset]
            shared = points[points["dataset"] == dataset]
            level = levels.get((dataset, metric))
            over_epsilon.frame(axis, shared, level, epsilons=epsilons, empty=not (here["ok"] > 0).any())
            for (candidate, delta), line in over_epsilon.by(here, ["candidate", "delta"]):
                colour, marker = drawn[candidate]
                over_epsilon.line(axis, line, epsilons, colour, marker, lines[delta], hollow=delta == 0, band=0.1)
                chosen = line[line["chosen"] & (line["ok"] > 0)]
                axis.plot(chosen["epsilon"], chosen["mean"], "o", ms=8, mfc="none", mec="black", mew=0.7, zorder=4)
            if row + 1 < len(methods):
                axis.tick_params(labelbottom=False)
        axes[row, 0].set_ylabel("\n".join(textwrap.wrap(look.label, 14)), color=look.colour)
        axes[row, -1].legend(
            handles=[Line2D([], [], color=c, marker=m, ls="", label=name) for name, (c, m) in drawn.items()],
            loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=7, handletextpad=0.0,
            labelspacing=0.25, borderaxespad=0.2,
        )  # fmt: skip
    for column, dataset in enumerate(datasets):
        axes[0, column].set_title(dataset)
        axes[-1, column].set_xlabel("ε")
    ring = Line2D([], [], ls="", marker="o", ms=8, mfc="none", mec="black", mew=0.7, label="chosen on the public split")
    caption = (
        f"{_METRICS[metric].capitalize()} of every setting that was tried. Multiple: the added curvature is "
        "multiple·λ/ε, or the method's own default where that is more; clip: in units of ζ. The panels of a data set "
        f"share their y-axis. {_sample(rows, points)}"
    )
    style.footer(figure, [ring, *_noise_handles(points, lines)], columns=2, lines=[caption, *notes])
    return figure


def _candidates(points: pd.DataFrame, colour: str) -> dict[str, tuple[tuple[float, float, float], str]]:
    """Return a shade and a marker for each setting of a method: by multiple, or shade by steps and marker by clip."""
    # A multiple that is the method's own default may differ from epsilon to epsilon.
    order = points.astype({"candidate": object}).groupby("candidate")[["ridge_multiple", "steps", "clip"]].mean()
    order = order.sort_values(["ridge_multiple", "steps", "clip"])
    lengths, clips = sorted(order["steps"].unique()), sorted(order["clip"].unique())
    two_axes = max(lengths, default=0) > 0
    shades = style.shades(colour, len(lengths) if two_axes else len(order))
    looks = {}
    for k, (name, at) in enumerate(order.iterrows()):
        shade, marker = (lengths.index(at["steps"]), clips.index(at["clip"])) if two_axes else (k, k)
        looks[name] = shades[shade], _MARKERS[marker % len(_MARKERS)]
    return looks


def output_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate each method at its chosen setting: means and 95 % t intervals over repeats.

    - rows: of the experiment kifer2012-output.
    - plain: numbers, with the ends of intervals in columns of their own; what does not exist (an interval of one run,
      the test error of a regression, a mean without a converged repeat) is null.
    - words: the same for people, all text: `mean [low, high]`, a dash for what does not exist.
    - Raises ConfigError: if a method has no name in words.
    - Raises DataError: if a method has two chosen settings at one point.
    """
    points = _points(rows, private_only=False)
    points = points[points["chosen"]]
    _check_chosen(points)
    plain, words = [], []
    groups = list(over_epsilon.by(points, ["dataset", "epsilon", "delta", *_METHOD, *_CANDIDATE[:-1]]))
    # Methods in the order of the legend; the sort is stable.
    order = {method: k for k, method in enumerate(style.METHODS)}
    groups.sort(key=lambda group: (*group[0][:3], order.get(group[0][3:5], len(order))))
    for (dataset, epsilon, delta, mechanism, calibration, candidate, *setting), lines in groups:
        private = mechanism != "nonprivate"
        look = style.look(mechanism, calibration) if private else style.NONPRIVATE
        counted = lines[lines["metric"].isin(_METRICS)]
        repeats, failed = (int(counted[name].max()) if len(counted) else 0 for name in ("ok", "failed"))
        head = {"dataset": dataset, "epsilon": epsilon, "delta": delta, "method": look.label}
        # 0 stands for a setting that the method does not have.
        used = {name: value or math.nan for name, value in zip(_CANDIDATE[1:-1], setting, strict=True)}
        plain.append({**head, "setting": candidate, **used})
        ε, δ = (style.number(value) if private else "–" for value in (epsilon, delta))
        words.append({"data set": dataset, "ε": ε, "δ": δ, "method": look.label, "setting": candidate or "–"})
        for metric, title in _METRICS.items():
            found = lines[lines["metric"] == metric]
            mean, low, high = found[["mean", "low", "high"]].iloc[0] if len(found) else (math.nan,) * 3
            plain[-1].update({metric: mean, f"{metric}_low": low, f"{metric}_high": high})
            words[-1][title] = _interval_in_words(mean, low, high)
        plain[-1].update(repeats=repeats, failed=failed)
        words[-1].update(repeats=str(repeats), failed=str(failed))
    return pd.DataFrame(plain).astype({"steps": "Int64"} if plain else {}), pd.DataFrame(words)


def _interval_in_words(mean: float, low: float, high: float) -> str:
    if math.isnan(mean):
        return "–"
    return f"{mean:.3g}" if math.isnan(low) else f"{mean:.3g} [{low:.3g}, {high:.3g}]"


def _points(rows: pd.DataFrame, *, private_only: bool = True) -> pd.DataFrame:
    """Return a line for each data set, method, epsilon, delta, setting and metric: mean, low, high, ok, failed."""
    private = rows["mechanism"] != "nonprivate"
    rows = rows[rows["metric"].isin(_METRICS) & (private if private_only else True)]
    keys = ["dataset", *_METHOD, "epsilon", "delta", *_CANDIDATE, "metric"]
    return over_epsilon.summary(rows, keys).astype({"chosen": bool})


def _levels(rows: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the non-private fit's metrics by data set and metric."""
    levels = rows[(rows["mechanism"] == "nonprivate") & (rows["status"] == "ok")]
    return {(row.dataset, row.metric): row.value for row in levels.itertuples()}


def _methods(points: pd.DataFrame) -> list[tuple[str, str]]:
    """Return (mechanism, calibration) pairs in the order of the style's table, unknown ones last."""
    known = list(style.METHODS)
    return sorted(
        (key for key, _ in over_epsilon.by(points, _METHOD)), key=lambda m: known.index(m) if m in known else len(known)
    )


def _datasets(rows: pd.DataFrame) -> list[str]:
    return sorted(rows["dataset"].unique())


def _epsilons(points: pd.DataFrame) -> list[float]:
    return sorted(points["epsilon"].unique())


def _check_chosen(points: pd.DataFrame) -> None:
    keys = ["dataset", *_METHOD, "epsilon", "delta", "metric"]
    twice = points[points.duplicated(keys)]
    if len(twice):
        first = ", ".join(f"{key}={value}" for key, value in twice.iloc[0][keys].items())
        raise DataError(f"two settings are chosen at {first}; delete these cells and run again")


def _noise_handles(points: pd.DataFrame, lines: dict[float, object]) -> list[Line2D]:
    handles = [
        Line2D(
            [], [], color=over_epsilon.GREY, marker="o", ls=lines[delta], label=style.noise_label(delta),
            mfc="white" if delta == 0 else over_epsilon.GREY,
        )
        for delta in sorted(points["delta"].unique())
    ]  # fmt: skip
    return [*handles, over_epsilon.nonprivate()]


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
    epsilons, served = sorted(private["epsilon"].unique()), private.groupby(_METHOD, observed=True)["delta"].unique()
    converged = points[points["ok"] > 0].set_index(["dataset", *_METHOD, "delta", "epsilon", "metric"]).index
    gaps, losses = [], []
    for dataset in _datasets(rows):
        for mechanism, calibration in methods:
            for delta in sorted(served[mechanism, calibration]):
                here = (dataset, mechanism, calibration, delta)
                who = f"{style.look(mechanism, calibration).label} ({style.equals('δ', delta)}) on {dataset}"
                gone = [e for e in epsilons if any((*here, e, metric) not in converged for metric in metrics)]
                if gone:
                    gaps.append(f"{who} at {style.equals('ε', *gone)}")
    part = points[(points["failed"] > 0) & (points["ok"] > 0) & points["metric"].isin(list(metrics))]
    for (dataset, mechanism, calibration, delta), lines in over_epsilon.by(part, ["dataset", *_METHOD, "delta"]):
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
