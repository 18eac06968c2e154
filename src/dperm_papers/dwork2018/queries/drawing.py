"""dwork2018-queries: accuracy over the number of answers within one budget, what they cost together, and how many fit.

The table dwork2018-queries-answered turns the first question around: how many answers there are at a given accuracy.
"""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

# Accountant -> name, colour, marker.
_ACCOUNTANTS = {
    "basic": ("basic", "#333333", "s"),
    "advanced": ("advanced (Dwork & Roth 3.20)", "#E69F00", "D"),
    "zcdp": ("zCDP", "#56B4E9", "P"),
    "optimal": ("PLD: exact for e-DP", "#009E73", "^"),
    "bounded_range": ("bounded range", "#D55E00", "o"),
}
_CONSENSUS = ("consensus, B", "#CC79A7", ["v", "<", ">"])
_STUDENT = ("student (m: rows it asked about)", "#0072B2", "X")
_ATTACK = ("best adaptive attack, upper bound", "#D55E00", "x")
_LEVELS = {
    "erm": "not private, all records", "logistic": "not private, all records", "majority": "majority label"
}  # fmt: skip
_LINES = {"not private, all records": "-", "majority label": (0, (1, 1.5))}


def queries(rows: pd.DataFrame) -> Figure:
    """Draw accuracy over m for both laws, total epsilon over m, and the exact delta at that epsilon.

    - rows: of the experiment dwork2018-queries.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[rows["status"] == "ok"]
    figure = Figure(figsize=(7.0, 6.6))
    axes = figure.subplots(2, 2)
    accuracy = rows[rows["metric"] == "accuracy"]
    names = ["flip", *sorted(set(accuracy["dataset"]) - {"flip"})]
    budget = accuracy[accuracy["mechanism"] == "soft_majority"].iloc[0]
    epsilon, delta = float(budget["epsilon"]), float(budget["delta"])
    for axis, name in zip(axes[0], names, strict=False):
        own = accuracy[accuracy["dataset"] == name]
        _accuracy(axis, own)
        n = int(own["n"].max())
        axis.set_title(f"{name}, n = {n:,}: {style.equals('ε', epsilon)} for all answers", size=8)
    for axis in axes[0, len(names) :]:
        axis.set_axis_off()
    total = rows[(rows["series"] == "total") & (rows["metric"] == "total_epsilon")]
    _curves(axes[1, 0], total)
    axes[1, 0].set_ylabel("total ε")
    price = float(total["each"].iloc[0])
    axes[1, 0].set_title(f"total ε of m answers of {style.equals('ε', price)} each", size=8)
    style.value_axis(axes[1, 0].yaxis, total["value"].min(), total["value"].max())
    _deltas(axes[1, 1], rows[rows["metric"] == "delta"], delta)
    handles = [Line2D([], [], color=c, marker=marker, label=name) for name, c, marker in _ACCOUNTANTS.values()]
    for count, marker in zip(_contested(accuracy), _CONSENSUS[2], strict=False):
        handles.append(Line2D([], [], color=_CONSENSUS[1], marker=marker, label=f"{_CONSENSUS[0]} = {count}"))
    handles.append(Line2D([], [], color=_STUDENT[1], marker=_STUDENT[2], ls=(0, (4, 1.5)), label=_STUDENT[0]))
    handles.append(Line2D([], [], color=_ATTACK[1], marker=_ATTACK[2], ls="none", label=_ATTACK[0]))
    handles += [Line2D([], [], color="#999999", ls=ls, label=label) for label, ls in _LINES.items()]
    splits = int(accuracy["repeat"].max()) + 1
    lines = [
        f"Soft majority. {style.equals('δ', delta)}. flip: exact, but for the student; digits: means over {splits} "
        "splits; bands and bars: 95 % confidence intervals. Consensus: rows after the last of B contested answers get "
        "a coin; it needs over a thousand shards, and digits has no records for them. A student answers any number of "
        "queries. All accountants price the same bits; only the last one uses that their range is bounded.",
    ]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def answered_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate how many queries are answered at a given accuracy.

    - rows: of the experiment dwork2018-queries.
    - plain: a line for each law, level and way to answer; `answered` is infinite for a student that has the accuracy.
    - words: a line for each way to answer, a column for each law and level.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    rows = rows[(rows["status"] == "ok") & rows["metric"].isin(["answered", "unlimited"])]
    ways = {(name, 0): label for name, (label, *_) in _ACCOUNTANTS.items()}
    ways |= {("consensus", count): f"{_CONSENSUS[0]} = {count:,}" for count in _contested(rows)}
    ways |= {("student", 0): "student"}
    plain, words = [], {key: {"answered by": label} for key, label in ways.items()}
    names = ["flip", *sorted(set(rows["dataset"]) - {"flip"})]
    order = rows["dataset"].map(names.index)
    for _, row in rows.assign(order=order).sort_values(["order", "level"], ascending=[True, False]).iterrows():
        key = (row["accountant"] or row["series"], int(row["contested"]))
        unlimited = row["metric"] == "unlimited" and row["value"] > 0
        count = math.inf if unlimited else row["value"]
        at = {"dataset": row["dataset"], "n": int(row["n"]), "accuracy": row["level"], "by": ways[key]}
        plain.append({**at, "answered": count, "labels": int(row["m"]) if unlimited else math.nan})
        word = f"unlimited, {int(row['m']):,} labels" if unlimited else f"{int(count):,}" if count else "–"
        words[key][f"{row['dataset']}, {style.number(round(100 * row['level'], 4))} %"] = word
    return pd.DataFrame(plain), pd.DataFrame(words.values()).fillna("–")


def _contested(rows: pd.DataFrame) -> list[int]:
    return sorted({int(count) for count in rows.loc[rows["series"] == "consensus", "contested"]})


def _accuracy(axis: Axes, rows: pd.DataFrame) -> None:
    private = rows[rows["mechanism"] == "soft_majority"]
    _curves(axis, private[private["series"] == "accuracy"])
    for count, marker in zip(_contested(private), _CONSENSUS[2], strict=False):
        own = private[(private["series"] == "consensus") & (private["contested"] == count)].sort_values("m")
        axis.plot(own["m"], own["value"], color=_CONSENSUS[1], marker=marker)
    student = private[private["series"] == "student"]
    if not student.empty:
        found = [(m, *style.mean_interval(group["value"].to_numpy())) for m, group in student.groupby("m")]
        m, mean, low, high = np.array(found).T
        axis.plot(m, mean, color=_STUDENT[1], marker=_STUDENT[2], ls=(0, (4, 1.5)))
        axis.vlines(m, low, high, color=_STUDENT[1], lw=0.8)
    for variant, group in rows[rows["mechanism"] == "nonprivate"].groupby("variant"):
        label = _LEVELS[variant]
        axis.axhline(group["value"].mean(), color="#999999", ls=_LINES[label], lw=0.9, zorder=1)
    axis.set_ylabel("accuracy of an answer")
    _over_m(axis, private["m"])


def _curves(axis: Axes, rows: pd.DataFrame) -> None:
    for name, (_, colour, marker) in _ACCOUNTANTS.items():
        own = rows[rows["accountant"] == name]
        found = [(m, *style.mean_interval(group["value"].to_numpy())) for m, group in own.groupby("m")]
        if not found:
            continue
        m, mean, low, high = np.array(found, dtype=float).T
        axis.plot(m, mean, color=colour, marker=marker)
        axis.fill_between(m, low, high, color=colour, alpha=0.15, lw=0)
    if len(rows):
        _over_m(axis, rows["m"])


def _deltas(axis: Axes, rows: pd.DataFrame, delta: float) -> None:
    # Basic composition's is 0, and so are those of few answers.
    rows = rows[rows["value"] > 0]
    _curves(axis, rows[rows["series"] == "total"])
    # At the prices of other accountants it is farther below.
    attack = rows[(rows["series"] == "adaptive") & (rows["accountant"] == "bounded_range")]
    axis.plot(attack["m"], attack["value"], color=_ATTACK[1], marker=_ATTACK[2], ls="none", ms=6, mew=1.4, zorder=4)
    axis.axhline(delta, color="#333333", ls=(0, (5, 1.5)))
    axis.set_title("exact δ of the m worst bits at that ε (dashed: allowed)", size=8)
    axis.set_ylabel("δ")
    style.value_axis(axis.yaxis, max(delta * 1e-5, rows["value"].min()), 2 * delta)


def _over_m(axis: Axes, m: pd.Series) -> None:
    axis.set_xscale("log")
    powers = range(round(np.log10(m.max())) + 1)
    step = 1 if len(powers) <= 5 else 2
    axis.set_xticks([10.0**k for k in powers[::step]], [style.number(10**k) for k in powers[::step]])
    axis.minorticks_off()
    axis.set_xlabel("number m of answers")
