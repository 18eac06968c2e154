"""The privacy ledger and the mutants: claim and attack, drawn and as tables."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm.errors import DataError
from dperm_pipeline.figures import style

_ORDER = ("refuted", "holds up", "not audited")
# Calibration -> colour (Okabe & Ito, 2008) and its lane; relation -> marker and its lane.
_CALIBRATIONS = {
    "paper": ("#E69F00", 0),
    "corrected": ("#009E73", 1),
    "tight": ("#0072B2", 2),
    "separate": ("#56B4E9", 2),
}
_RELATIONS = {"add_remove": "add/remove", "replace": "replace-one"}
_MARKERS = {"add_remove": ("o", 0), "replace": ("s", 1)}
_REFUTED = "#9C3F00"
_CALLED = "as called"
_LAWS = {"gamma": "Gamma", "gaussian": "Gaussian", "laplace": "Laplace"}
_WIDTH, _ROW, _LANES = 7.0, 0.36, 6
# Shares above it stand at the edge, with an arrow; their numbers are beside them anyhow.
_FURTHEST = 1.35
# Beyond e^this, ratios are those of the least doubles: the number is theirs, not the mechanism's. As on the page.
NO_BOUND = 600.0


def ledger(rows: pd.DataFrame) -> Figure:
    """Draw what the strongest attack on each guarantee certifies, beside the claim; DataError if a verdict is unknown.

    There is a line for each mechanism and law of its noise, and one for all that its estimator was called with, on
    it a mark for each calibration and relation that was attacked, at the certified share of the claimed epsilon;
    the claim is the line at 1. Refuted marks have a thick rim and their numbers beside them. What was not audited
    is counted under the panel.
    """
    rows = _sorted(rows)
    attacked = rows[rows["verdict"] != "not audited"]
    attacked = attacked.assign(variant=attacked["variant"].map(_shown))
    laws = list(dict.fromkeys(zip(attacked["mechanism"], attacked["variant"], strict=True)))
    laws.sort()
    figure = Figure(figsize=(_WIDTH, 1.6 + _ROW * max(len(laws), 3)))
    axis = figure.subplots()
    axis.grid(visible=False, axis="y")
    for place in range(1, len(laws), 2):
        axis.axhspan(place - 0.5, place + 0.5, color="#000000", alpha=0.035, linewidth=0)
    # Of marks that share a lane (pure and approximate privacy) the furthest has its numbers beside it.
    shares = attacked["audit_lower_bound"] / attacked["epsilon"]
    lanes = [attacked[name].astype(str) for name in ("mechanism", "variant", "calibration", "neighbours")]
    furthest = set(shares.groupby(lanes).idxmax())
    for row in attacked.itertuples():
        _mark(axis, row, laws.index((row.mechanism, row.variant)), numbered=row.Index in furthest)
    axis.axvline(1.0, color="#222222", linewidth=1.1, zorder=1)
    axis.set_yticks(range(len(laws)), [_words(*law) for law in laws])
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(max(len(laws), 1) - 0.5, -0.5)
    # Room for the numbers to the right of the last mark.
    axis.set_xlim(0, _FURTHEST + 0.3)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1.0, 1.25])
    axis.set_xlabel("certified lower bound, as a share of the claimed ε")
    if attacked.empty:
        axis.text(0.5, 0.5, "nothing was attacked", transform=axis.transAxes, ha="center")
    left_out = int((rows["verdict"] == "not audited").sum())
    lines = [
        "Every guarantee is attacked at its worst budget; marks are not results on data. Refuted: the bound is beyond "
        "the claim by Holm's procedure over the whole ledger; beside it stand the certified and the claimed ε."
    ]
    if left_out:
        noun = "budget that an experiment uses is" if left_out == 1 else "budgets that experiments use are"
        lines.append(f"{left_out} further {noun} not audited; the table privacy-ledger says why.")
    style.footer(figure, _handles(attacked), columns=3, lines=lines)
    return figure


def _mark(axis: Axes, row: Any, place: int, *, numbered: bool) -> None:
    """Draw one guarantee; each calibration and relation has a lane of its own within the row."""
    colour, first = _CALIBRATIONS[row.calibration]
    marker, second = _MARKERS[row.neighbours]
    y = place + (2 * first + second - (_LANES - 1) / 2) / (_LANES + 1.5)
    share = row.audit_lower_bound / row.epsilon
    x, refuted = min(share, _FURTHEST), row.verdict == "refuted"
    rim = {"markeredgecolor": _REFUTED, "markeredgewidth": 1.3} if refuted else {"markeredgewidth": 0}
    axis.plot([0, x], [y, y], color=colour, linewidth=0.6, alpha=0.5, zorder=2)
    axis.plot(x, y, marker=marker, color=colour, markersize=4.6 if refuted else 4, zorder=3, clip_on=False, **rim)
    if refuted and numbered:
        arrow = "→ " if share > _FURTHEST else ""
        # An event that is impossible for one of the two data sets has no finite bound.
        bounded = row.audit_lower_bound <= NO_BOUND
        words = arrow + (f"{row.audit_lower_bound:.3g} of {row.epsilon:g}" if bounded else "no bound")
        # The lanes of both relations lie closer than two lines of text.
        axis.text(x + 0.025 + 0.2 * second, y, words, va="center", size=6, color=_REFUTED)


def _handles(attacked: pd.DataFrame) -> list:
    """Return the legend: the claim, calibrations and relations that are there, and refuted marks."""
    point = {"linestyle": "", "markersize": 4.5}
    handles = [
        Line2D([], [], color=colour, marker="D", label=f"constants: {name}", **point)
        for name, (colour, _) in _CALIBRATIONS.items()
        if (attacked["calibration"] == name).any()
    ]
    handles += [
        Line2D([], [], color="#555555", marker=marker, label=_RELATIONS[name], **point)
        for name, (marker, _) in _MARKERS.items()
        if (attacked["neighbours"] == name).any()
    ]
    rim = {"markeredgecolor": _REFUTED, "markeredgewidth": 1.3}
    handles.append(Line2D([], [], color="#CCCCCC", marker="o", label="refuted", **point, **rim))
    return [*handles, Line2D([], [], color="#222222", linewidth=1.1, label="the claim")]


def ledger_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the table of the ledger, refuted guarantees first, plain and in words; DataError if a verdict is unknown.

    In words, budgets that nobody attacked are one line where they differ in epsilon alone.
    """
    plain = _sorted(rows)
    rows = _one_row_each(plain)
    words = pd.DataFrame(
        {
            "verdict": rows["verdict"],
            "paper": rows["paper"],
            "mechanism": rows["mechanism"],
            "calibration": rows["calibration"],
            "neighbours": rows["neighbours"].map(lambda name: _RELATIONS.get(name, name)),
            "noise": rows["variant"],
            "claimed ε": rows["claimed"],
            "δ": rows["delta"].map(style.number),
            "spends at least": rows["audit_lower_bound"].map(_bound),
            "attack": rows["attack"].map(_text),
            "pair": rows["pair"].map(_text),
            "event": rows["event"].map(_text),
            "how often": rows["counts"].map(_text),
            "p (Holm)": rows["p_holm"].map(_p_value),
            "p of the noise test": rows["white_box_p"].map(_p_value),
            "reason": rows["reason"].map(_text),
        }
    )
    return plain, words


def mutants_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the table of mutants, plain and in words: those that were not caught first."""
    rows = rows.assign(_missed=rows["verdict"] != "not caught").sort_values(["_missed", "group", "name"], kind="stable")
    rows = rows.drop(columns="_missed").reset_index(drop=True)
    words = pd.DataFrame(
        {
            "mutant": rows["name"],
            "what is wrong": rows["broken"],
            "source": rows["source"],
            "neighbours": rows["neighbours"].map(lambda name: _RELATIONS.get(name, name)),
            "claimed ε": rows["epsilon"].map(style.number),
            "δ": rows["delta"].map(style.number),
            "spends at least": rows["mutant_bound"].map(_bound),
            "verdict": rows["verdict"],
            "its twin spends at least": rows["twin_bound"].map(_bound),
            "the twin": rows["twin_verdict"],
            "attack": rows["attack"],
            "event": rows["event"].map(_text),
        }
    )
    return rows, words


def _sorted(rows: pd.DataFrame) -> pd.DataFrame:
    """Order by verdict, then by name: the same whatever the order in the file."""
    unknown = sorted(set(rows["verdict"]) - set(_ORDER))
    if unknown:
        raise DataError(f"verdicts {', '.join(unknown)} are unknown; there are: {', '.join(_ORDER)}")
    keys = ["_rank", "paper", "mechanism", "calibration", "variant", "neighbours", "epsilon", "delta"]
    ranked = rows.assign(_rank=rows["verdict"].map(_ORDER.index).astype(np.int64)).sort_values(keys, kind="stable")
    return ranked.drop(columns="_rank").reset_index(drop=True)


def _one_row_each(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the claimed epsilon in words; of those not audited one for all that differ in it alone."""
    rows = rows.assign(claimed=rows["epsilon"].map(style.number))
    left_out = rows["verdict"] == "not audited"
    keys = ["paper", "mechanism", "variant", "calibration", "neighbours", "delta", "guarantee", "reason"]
    found = [rows[~left_out]]
    for _, group in rows[left_out].groupby(keys, sort=False, dropna=False):
        low, high = (style.number(group["epsilon"].agg(end)) for end in ("min", "max"))
        claimed = low if len(group) == 1 else f"{low} to {high} ({len(group)})"
        found.append(group.iloc[:1].assign(claimed=claimed))
    return pd.concat(found, ignore_index=True)


def _shown(variant: str) -> str:
    """Return the line that a variant stands on: whatever an estimator was called with is one."""
    return _CALLED if variant.startswith("called-") else variant


def _words(mechanism: str, law: str) -> str:
    first, _, rest = law.partition("_")
    noise = f"{_LAWS[first]} ({rest})" if first in _LAWS and rest else _LAWS.get(law, law.replace("_", " "))
    return f"{mechanism.replace('_', ' ')}: {noise}"


def _bound(value: float) -> str:
    """A lower bound of epsilon in words; an outcome that is impossible for the neighbour has none."""
    return "-" if pd.isna(value) else "no bound" if value > NO_BOUND else f"{value:.4g}"


def _p_value(value: float) -> str:
    return "-" if pd.isna(value) else "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def _text(value: Any) -> str:
    return "-" if pd.isna(value) else str(value)
