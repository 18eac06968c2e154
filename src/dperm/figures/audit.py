"""The privacy ledger and the mutants: claim and attack, drawn and as tables."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from dperm.errors import DataError
from dperm.figures import style

_ORDER = ("refuted", "holds up", "not audited")
# Blue and vermillion of Okabe & Ito (2008); hatching and words say it too.
_BARS = {
    "refuted": {"facecolor": "#F3B48A", "edgecolor": "#9C3F00", "hatch": "////"},
    "holds up": {"facecolor": "#0072B2", "edgecolor": "#0072B2", "hatch": ""},
}
_RELATIONS = {"add_remove": "add/remove", "replace": "replace-one"}
_WIDTH, _BAR = 6.6, 0.235
# Bars end here, in claims: an infinite or huge bound is said in words.
_FURTHEST = 3.0


def ledger(rows: pd.DataFrame) -> Figure:
    """Draw what the strongest attack on each guarantee certifies, beside the claim.

    Parameters
    ----------
    rows : DataFrame
        Of `privacy.parquet`.

    Returns
    -------
    Figure
        A bar for each row that was attacked, as a share of the claimed epsilon, refuted ones first; the claim is the
        line at 1. What was not audited is counted under the panel.

    Raises
    ------
    DataError
        If a verdict is unknown.
    """
    rows = _sorted(rows)
    attacked = rows[rows["verdict"] != "not audited"]
    share = (attacked["audit_lower_bound"] / attacked["epsilon"]).to_numpy(dtype=float)
    figure = Figure(figsize=(_WIDTH, 1.25 + _BAR * max(len(attacked), 3)))
    axis = figure.subplots()
    axis.grid(visible=False, axis="y")
    for place, (row, reached) in enumerate(zip(attacked.itertuples(), share, strict=True)):
        length = min(reached, _FURTHEST)
        axis.barh(place, length, height=0.66, linewidth=0.7, **_BARS[row.verdict])
        more = " →" if reached > _FURTHEST else ""
        text = f"{row.audit_lower_bound:.3g} of {row.epsilon:g}: {row.verdict}{more}"
        axis.text(max(length, 1.0) + 0.02, place, text, va="center", size=7)
    axis.axvline(1.0, color="#222222", linewidth=1.1)
    axis.set_yticks(range(len(attacked)), [_words(row) for row in attacked.itertuples()])
    axis.tick_params(axis="y", length=0)
    axis.set_ylim(max(len(attacked), 1) - 0.4, -0.6)
    # Room for the words to the right of the longest bar.
    axis.set_xlim(0, max(1.0, min(_FURTHEST, share.max(initial=1.0))) + 0.75)
    axis.xaxis.set_major_locator(MaxNLocator(6))
    axis.set_xlabel("certified lower bound, as a share of the claimed ε")
    if attacked.empty:
        axis.text(0.5, 0.5, "nothing was attacked", transform=axis.transAxes, ha="center")
    left_out = int((rows["verdict"] == "not audited").sum())
    lines = [
        "Every guarantee is attacked at its worst budget; bars are not results on data. Refuted: the bound is beyond "
        "the claim by Holm's procedure over the whole ledger."
    ]
    if left_out:
        noun = "budget that an experiment uses is" if left_out == 1 else "budgets that experiments use are"
        lines.append(f"{left_out} further {noun} not audited; the table privacy-ledger says why.")
    handles = [Line2D([], [], color="#222222", linewidth=1.1, label="the claim")]
    handles += [Patch(label=verdict, linewidth=0.7, **look) for verdict, look in _BARS.items()]
    style.footer(figure, handles, columns=3, lines=lines)
    return figure


def ledger_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the table of the ledger, refuted guarantees first.

    Parameters
    ----------
    rows : DataFrame
        Of `privacy.parquet`.

    Returns
    -------
    plain : DataFrame
        All columns, for machines.
    words : DataFrame
        For people.

    Raises
    ------
    DataError
        If a verdict is unknown.
    """
    rows = _sorted(rows)
    words = pd.DataFrame(
        {
            "verdict": rows["verdict"],
            "paper": rows["paper"],
            "mechanism": rows["mechanism"],
            "calibration": rows["calibration"],
            "neighbours": rows["neighbours"].map(lambda name: _RELATIONS.get(name, name)),
            "noise": rows["variant"],
            "claimed ε": rows["epsilon"].map(style.number),
            "δ": rows["delta"].map(style.number),
            "spends at least": rows["audit_lower_bound"].map(_number),
            "attack": rows["attack"].map(_text),
            "pair": rows["pair"].map(_text),
            "event": rows["event"].map(_text),
            "how often": rows["counts"].map(_text),
            "p (Holm)": rows["p_holm"].map(_p_value),
            "p of the noise test": rows["white_box_p"].map(_p_value),
            "reason": rows["reason"].map(_text),
        }
    )
    return rows, words


def mutants_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Make the table of mutants: those that were not caught first.

    Parameters
    ----------
    rows : DataFrame
        Of `mutants.parquet`.

    Returns
    -------
    plain : DataFrame
        All columns, for machines.
    words : DataFrame
        For people.
    """
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
            "spends at least": rows["mutant_bound"].map(_number),
            "verdict": rows["verdict"],
            "its twin spends at least": rows["twin_bound"].map(_number),
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


def _words(row: Any) -> str:
    noise = {"gamma": "Gamma", "gaussian": "Gaussian"}.get(row.variant, row.variant)
    return (
        f"{row.mechanism}, {row.calibration}, {_RELATIONS.get(row.neighbours, row.neighbours)}, {noise}, "
        f"{style.equals('ε', row.epsilon)}, {style.equals('δ', row.delta)}"
    )


def _number(value: float) -> str:
    return "-" if pd.isna(value) else "∞" if math.isinf(value) else f"{value:.4g}"


def _p_value(value: float) -> str:
    return "-" if pd.isna(value) else "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def _text(value: Any) -> str:
    return "-" if pd.isna(value) else str(value)
