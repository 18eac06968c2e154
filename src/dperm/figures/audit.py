"""The privacy ledger and the auditor's mutants, as a figure and as tables."""

import math
from typing import Any

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dperm.errors import DataError
from dperm.figures import style

# Verdict -> colour and hatch: told apart without colour too.
_LOOKS = {"holds up": ("#0072B2", ""), "refuted": ("#D55E00", "////")}
_RELATIONS = {"add_remove": "add/remove", "replace": "replace-one"}
_WIDTH, _ROW, _BESIDE = 6.9, 0.19, 1.3


def ledger(rows: pd.DataFrame) -> Figure:
    """Draw claim and attack side by side: a bar for each attacked guarantee, as a share of the claimed epsilon.

    Parameters
    ----------
    rows : DataFrame
        The privacy ledger.

    Returns
    -------
    Figure

    Raises
    ------
    DataError
        If nothing was attacked.
    """
    attacked = _in_order(rows[rows["verdict"] != "not audited"])
    if attacked.empty:
        raise DataError("the privacy ledger holds no attacked row; declare attacks in config/audits.yaml")
    figure = Figure(figsize=(_WIDTH, _BESIDE + _ROW * len(attacked)))
    axis = figure.add_subplot()
    shares = attacked["audit_lower_bound"] / attacked["epsilon"]
    for place, (row, share) in enumerate(zip(attacked.itertuples(), shares, strict=True)):
        colour, hatch = _LOOKS[row.verdict]
        axis.barh(place, share, height=0.72, color=colour, hatch=hatch, edgecolor="white", linewidth=0.0)
        words = f"{row.audit_lower_bound:.3g} of {style.number(row.epsilon)}"
        words += "  refuted" if row.verdict == "refuted" else ""
        axis.text(share + 0.012, place, words, va="center", size=6.5)
    axis.axvline(1.0, color="#222222", linewidth=1.0)
    axis.set_yticks(range(len(attacked)), [_guarantee_in_words(row) for row in attacked.itertuples()])
    axis.set_ylim(len(attacked) - 0.4, -0.6)
    axis.set_xlim(0, max(1.25, 1.22 * float(shares.max())))
    axis.set_xlabel("certified lower bound / claimed ε")
    axis.grid(visible=False, axis="y")
    handles = [
        Patch(facecolor=_LOOKS[verdict][0], hatch=_LOOKS[verdict][1], edgecolor="white", label=verdict)
        for verdict in _LOOKS
        if verdict in set(attacked["verdict"])
    ]
    handles.append(Line2D([], [], color="#222222", linewidth=1.0, label="claim"))
    left = int((rows["verdict"] == "not audited").sum())
    figure_lines = [
        "Each mechanism, calibration, relation and law of the noise is attacked at its worst budget; the bound is "
        "exact where the output lies on a line, else certified at 95 % by sampling. Refuted: Holm's correction over the "
        f"whole ledger. {left} other released budgets were not attacked."
    ]
    style.footer(figure, handles, columns=3, lines=figure_lines)
    return figure


def ledger_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate the ledger: whole for machines; for people the attacked guarantees.

    Parameters
    ----------
    rows : DataFrame
        The privacy ledger.

    Returns
    -------
    plain : DataFrame
        All rows and columns.
    words : DataFrame
        All text.
    """
    words = [
        {
            "mechanism": row.mechanism,
            "constants": row.calibration,
            "neighbours": _RELATIONS[row.neighbours],
            "noise": row.variant,
            "claimed ε": style.number(row.epsilon),
            "δ": style.number(row.delta),
            "guarantee": row.guarantee.replace("_", " "),
            "lower bound": f"{row.audit_lower_bound:.4g}",
            "how": row.attack,
            "event": row.event,
            "counts": row.counts,
            "noise test p": _p_in_words(row.white_box_p),
            "verdict": row.verdict,
        }
        for row in _in_order(rows[rows["verdict"] != "not audited"]).itertuples()
    ]
    return _in_order(rows), pd.DataFrame(words)


def mutants_table(rows: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tabulate the mutants and their twins.

    Parameters
    ----------
    rows : DataFrame
        Of mutants.parquet.

    Returns
    -------
    plain : DataFrame
        All columns.
    words : DataFrame
        All text.
    """
    words = [
        {
            "mutant": row.name_,
            "what is broken": row.broken,
            "source": row.source,
            "neighbours": _RELATIONS[row.neighbours],
            "claim": f"({style.number(row.epsilon)}, {style.number(row.delta)})",
            "attack": row.attack,
            "lower bound": _bound_in_words(row.mutant_bound),
            "its twin's": _bound_in_words(row.twin_bound),
            "noise test p": _p_in_words(row.white_box_p),
            "verdict": row.verdict,
            "twin": row.twin_verdict,
        }
        for row in rows.rename(columns={"name": "name_"}).itertuples()
    ]
    return rows, pd.DataFrame(words)


def _in_order(rows: pd.DataFrame) -> pd.DataFrame:
    """Refuted first, then by mechanism; the sort is stable."""
    first = {"refuted": 0, "holds up": 1, "not audited": 2}
    return rows.sort_values("verdict", key=lambda verdicts: verdicts.map(first), kind="stable")


def _guarantee_in_words(row: Any) -> str:
    constants = {"paper": "printed constants", "tight": "tight", "corrected": "corrected"}[row.calibration]
    noise = {"gamma": "gamma noise", "gaussian": "Gaussian noise"}.get(row.variant, row.variant)
    budget = f"ε = {style.number(row.epsilon)}" + (f", δ = {style.number(row.delta)}" if row.delta else "")
    return f"{row.mechanism}, {constants}, {_RELATIONS[row.neighbours]}, {noise}, {budget}"


def _bound_in_words(bound: float) -> str:
    if pd.isna(bound):
        return "–"
    return "∞" if math.isinf(bound) else f"{bound:.3g}"


def _p_in_words(p: float) -> str:
    if pd.isna(p):
        return "–"
    return f"{p:.2g}" if p >= 1e-4 else "< 1e-4"
