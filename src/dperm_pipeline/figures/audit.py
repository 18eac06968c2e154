"""The privacy ledger and the mutants: claim and attack, drawn and as tables."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm.errors import DataError
from dperm_pipeline import names
from dperm_pipeline.figures import style

_ORDER = ("refuted", "holds up", "not audited")
# Calibration -> colour (Okabe & Ito, 2008); relation -> marker.
_CALIBRATIONS = {"paper": "#E69F00", "corrected": "#009E73", "tight": "#0072B2", "separate": "#56B4E9"}
_MARKERS = {"add_remove": "o", "replace": "s"}
_LANES = [(calibration, relation) for calibration in _CALIBRATIONS for relation in _MARKERS]
_REFUTED = "#9C3F00"
_CALLED = "as called"
# In inches: the picture, its least line, a mark's part of it, and the words over a group of lines.
_WIDTH, _ROW, _LANE, _HEAD = 7.0, 0.19, 0.09, 0.26
# Shares above it stand at the edge, with an arrow; their numbers are beside them anyhow.
_FURTHEST = 1.35
# Beyond e^this, ratios are those of the least doubles: the number is theirs, not the mechanism's. As on the page.
NO_BOUND = 600.0


def ledger(rows: pd.DataFrame) -> Figure:
    """Draw what the strongest attack on each guarantee certifies, beside the claim; DataError if a verdict is unknown.

    There is a line for each mechanism and law of its noise, and one for all that its estimator was called with:
    those of which anything is refuted stand together above, the furthest from the claim first, the others by name. On
    it stands a mark for each calibration and relation that was attacked, at the certified share of the claimed epsilon;
    the claim is the line at 1. Refuted marks have a thick rim and their numbers beside them. What was not audited
    is counted under the panel.
    """
    rows = _sorted(rows)
    attacked = rows[rows["verdict"] != "not audited"]
    attacked = attacked.assign(variant=attacked["variant"].map(_shown))
    attacked = attacked.assign(
        share=attacked["audit_lower_bound"] / attacked["epsilon"],
        lane=[
            _LANES.index((row.calibration, row.neighbours))
            for row in attacked[["calibration", "neighbours"]].itertuples()
        ],
    )
    laws = _laws(attacked)
    # A line is as high as it has marks, and never less than its words.
    heights = {law: max(_ROW, _LANE * (1 + part["lane"].nunique())) for law, part in laws.items()}
    refuted = [law for law, part in laws.items() if (part["verdict"] == "refuted").any()]
    figure = Figure(figsize=(_WIDTH, 1.9 + max(sum(heights.values()), 3 * _ROW)))
    axis = figure.subplots()
    axis.grid(visible=False, axis="y")
    ticks, top = [], 0.0
    for place, (law, part) in enumerate(laws.items()):
        if place in (0, len(refuted)):
            _headline(axis, top, len(refuted) if law in refuted else len(laws) - len(refuted), law in refuted)
            top += _HEAD
        if place % 2:
            axis.axhspan(top, top + heights[law], color="#000000", alpha=0.035, linewidth=0)
        lanes = sorted(set(part["lane"]))
        # Of marks that share a lane (pure and approximate privacy) the furthest has its numbers beside it.
        furthest = set(part.groupby("lane")["share"].idxmax())
        for row in part.itertuples():
            y = top + heights[law] * (lanes.index(row.lane) + 1) / (len(lanes) + 1)
            _mark(axis, row, y, numbered=row.Index in furthest)
        ticks.append(top + heights[law] / 2)
        top += heights[law]
    axis.axvline(1.0, color="#222222", linewidth=1.1, zorder=1)
    axis.set_yticks(ticks, [": ".join(_words(*law)) for law in laws])
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(max(top, _ROW), 0)
    # Room for the numbers to the right of the last mark.
    axis.set_xlim(0, _FURTHEST + 0.3)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1.0, 1.25])
    axis.set_xlabel("ε certified to be spent, as a share of the ε that is claimed")
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


def _laws(attacked: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """Return the guarantees of each (mechanism, law), in the order in which they are drawn."""
    laws = dict(list(attacked.groupby(["mechanism", "variant"])))

    def place(law: tuple[str, str]) -> tuple[float, str, str]:
        refuted = laws[law].loc[laws[law]["verdict"] == "refuted", "share"]
        return -refuted.max() if len(refuted) else 0.0, *_words(*law)

    return {law: laws[law] for law in sorted(laws, key=place)}


def _headline(axis: Axes, top: float, count: int, refuted: bool) -> None:
    """Say over a group of lines what they have in common."""
    noun = "law" if count == 1 else "laws"
    words = f"refuted: {count} {noun}, the furthest first" if refuted else f"not refuted: {count} {noun}"
    colour = _REFUTED if refuted else "#222222"
    axis.axhline(top, color="#999999", linewidth=0.6)
    # White behind it, where the claim's line runs through.
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    axis.text(0.012, top + 0.6 * _HEAD, words, va="center", size=7.5, weight="bold", color=colour, bbox=behind)


def _mark(axis: Axes, row: Any, y: float, *, numbered: bool) -> None:
    """Draw one guarantee."""
    colour, marker = _CALIBRATIONS[row.calibration], _MARKERS[row.neighbours]
    x, refuted = min(row.share, _FURTHEST), row.verdict == "refuted"
    rim = {"markeredgecolor": _REFUTED, "markeredgewidth": 1.3} if refuted else {"markeredgewidth": 0}
    axis.plot([0, x], [y, y], color=colour, linewidth=0.6, alpha=0.5, zorder=2)
    axis.plot(x, y, marker=marker, color=colour, markersize=4.6 if refuted else 4, zorder=3, clip_on=False, **rim)
    if refuted and numbered:
        arrow = "→ " if row.share > _FURTHEST else ""
        # An event that is impossible for one of the two data sets has no finite bound.
        bounded = row.audit_lower_bound <= NO_BOUND
        words = arrow + (f"{row.audit_lower_bound:.3g} of {row.epsilon:g}" if bounded else "no bound")
        axis.text(x + 0.025, y, words, va="center", size=6, color=_REFUTED)


def _handles(attacked: pd.DataFrame) -> list:
    """Return the legend: the claim, calibrations and relations that are there, and refuted marks."""
    point = {"linestyle": "", "markersize": 4.5}
    handles = [
        Line2D([], [], color=colour, marker="D", label=names.constants(name), **point)
        for name, colour in _CALIBRATIONS.items()
        if (attacked["calibration"] == name).any()
    ]
    handles += [
        Line2D([], [], color="#555555", marker=marker, label=names.RELATIONS[name], **point)
        for name, marker in _MARKERS.items()
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
            "neighbours": rows["neighbours"].map(lambda name: names.RELATIONS.get(name, name)),
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
            "neighbours": rows["neighbours"].map(lambda name: names.RELATIONS.get(name, name)),
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


def _words(mechanism: str, law: str) -> tuple[str, str]:
    return names.mechanism(mechanism), "as called in the library" if law == _CALLED else names.law(law)


def _bound(value: float) -> str:
    """A lower bound of epsilon in words; an outcome that is impossible for the neighbour has none."""
    return "-" if pd.isna(value) else "no bound" if value > NO_BOUND else f"{value:.4g}"


def _p_value(value: float) -> str:
    return "-" if pd.isna(value) else "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def _text(value: Any) -> str:
    return "-" if pd.isna(value) else str(value)
