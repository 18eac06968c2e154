"""Verdicts in words: what each rule does, a number with its interval, the ledger of one claim as Markdown.

This module is separate from the rules, so that a new wording does not re-run the verdicts.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from dperm_pipeline import claims, files

# Name of the rule in the catalogue -> how it decides, in a sentence or two for people; dperm_pipeline.claims.<rule> has
# it all.
RULES = {
    "bound": "A bound O(...) holds with one constant. The constant is measured over bound, at the upper 95 % limit of "
    "its quantile; it has to be at most 1000 at every point and must not grow along any axis (slope at most 0.05, "
    "bootstrap).",
    "coverage": "A bound that may fail with probability gamma fails no more often: one-sided Clopper-Pearson limits on "
    "the share of repeats that violate it, at every point.",
    "crossing": "One method is ahead of another up to some value of an axis. Where they cross has a 95 % bootstrap "
    "interval, whole repeats resampled.",
    "equal": "Two quantities are equal, or one is a stated number, up to a margin: two one-sided t tests at 5 % in "
    "pairs of repeats, at every point, and a verdict by the share of points that hold.",
    "exact": "An inequality holds at every single grid point, up to rounding and the solver's certificate. One point "
    "beyond it refutes it.",
    "ledger": "A promise of privacy: not reproduced if an attack of the privacy ledger refutes it (Holm over the whole "
    "ledger) or the code draws another noise than it promises, reproduced only if a checked proof carries it too.",
    "monotone": "A quantity rises (or falls) along an axis: Spearman's rank correlation of every repeat, the 95 % t "
    "interval of their mean at every point, and a verdict by the share of points that hold.",
    "ordered": "One quantity is above another: the 95 % interval of their difference in pairs of repeats, at every "
    "point, and a verdict by the share of points that hold.",
    "paired": "One method is better than another: paired one-sided Wilcoxon tests at every point, Holm's correction "
    "over all points, for the claim and against it.",
    "slope": "A quantity grows like a stated power of an axis: least squares on logarithms, with the 95 % bootstrap "
    "interval of the slope against the exponent and its margin.",
    "threshold": "A mean, or a share of repeats, is on the stated side of a number: one-sided bounds (bootstrap-t, "
    "exact for 0 and 1), the level shared by all points.",
    "vanishing": "A quantity goes to 0 along an axis: its mean at the last value is shown to be at most a tenth of "
    "that at the first (one-sided bootstrap bounds); above half of it refutes.",
    "weakest": "A claim of several parts: not reproduced if a part is not, reproduced if all parts are.",
    "within": "A difference or a ratio lies inside a stated interval: Student's 95 % interval at every point, Holm "
    "over the points against the claim.",
}
GLYPHS = {"reproduced": "✓", "not reproduced": "✗", "inconclusive": "~", "not run": "–"}


# From where on a note tells of what was changed, up to its end.
_CHANGED = re.compile(
    r"(?:(?:Changed|Mended|Added) (?:again )?after outcomes were known|Until 20\d\d-\d\d-\d\d (?:this|it) was).*",
    re.DOTALL,
)


def changed(note: str) -> str:
    """Return what an entry's note tells of changes when outcomes were known: what, why, and what stood before."""
    told = _CHANGED.search(note)
    return told[0] if told else ""


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many digits, such as `0.0123`; nothing where there is none."""
    return "" if value is None or math.isnan(value) else f"{value:.{digits}g}".replace("inf", "∞")


def interval(measured: float | None, low: float | None, high: float | None) -> str:
    """Return such as `0.3 [0.2, 0.4]`: a value and its interval, which may lack an end, and an exact value alone."""
    ends = [number(low), number(high)]
    if not number(measured) or not any(ends) or low == measured == high:
        return number(measured)
    return f"{number(measured)} [{ends[0] or '–'}, {ends[1] or '–'}]"


def write(path: str | Path, out: str | Path) -> None:
    """Write verdicts for people, as Markdown: statement and place, the verdicts, their reasons and the rule.

    CorruptFile if the file is not what `judge` writes.
    """
    files.write_text(out, "\n".join(_lines(claims.read(path))))


def _lines(verdicts: pd.DataFrame) -> Iterator[str]:
    # A claim with two tests has two statements.
    for (name, statement), part in verdicts.groupby(["id", "statement"], sort=False):
        first = part.iloc[0]
        yield from (f"# {name}", "", statement, "")
        yield f"{first['paper']}, {first['place']}{' (a headline claim)' if first['headline'] else ''}."
        yield from ("", "| form | data set | verdict | measured | the paper says | n |", "|---|---|---|---|---|---|")
        for row in part.itertuples():
            name = f"{row.words} (beside)" if row.beside else row.words
            cells = [name, row.dataset, f"{GLYPHS[row.verdict]} {row.verdict}"]
            cells += [interval(row.measured, row.low, row.high), number(row.expected), "" if pd.isna(row.n) else row.n]
            yield f"| {' | '.join(map(_cell, cells))} |"
        yield ""
        for row in part.itertuples():
            yield f"- {', '.join(filter(None, (row.words, row.dataset)))}: {row.reason}"
        how = f"Decided from the rows of {first['experiment']}. {RULES[first['test']]} {first['note']}"
        yield from ("", how.rstrip(), "")


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|") or "–"
