"""What an audit says of a claim: for people, for machines, for a page."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral, Number
from typing import Any

import numpy as np

from dperm.audit.sampling import Audit

_COLUMNS = ("subject", "pair", "claim", "delta", "spends at least", "p", "draws a side", "verdict")


@dataclass(frozen=True)
class Report:
    """An audit held against a claim.

    Parameters
    ----------
    subject : str
        What was attacked.
    audit : Audit
    claim : float, optional
        The epsilon that is claimed at the audit's delta.
    pair : str
        In words, the data sets, where they were searched for.
    """

    subject: str
    audit: Audit
    claim: float | None = None
    pair: str = ""

    @property
    def p_value(self) -> float | None:
        """How surprising the counts are if the claim holds; None without a claim."""
        return None if self.claim is None else self.audit.p_value(self.claim)

    @property
    def refuted(self) -> bool:
        """Is the claim refuted at the audit's confidence?"""
        return self.claim is not None and self.audit.refutes(self.claim)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        found = asdict(self.audit)
        mine = {"claim": self.claim, "p_value": self.p_value, "refuted": self.refuted, "pair": self.pair}
        return _plain({"subject": self.subject, **found, **mine})

    def json(self) -> str:
        """Return the same as JSON."""
        return json.dumps(self.as_dict(), indent=2)

    def markdown(self) -> str:
        """Return a table of one row."""
        return markdown([self.as_dict()])

    def text(self) -> str:
        """Return a few lines for people."""
        found, counts = self.audit, self.audit.counts
        at = f" at delta = {found.delta:g}" if found.delta else ""
        other = "neighbour" if found.likelier == "data" else "data"
        spends = f"spends       epsilon >= {found.epsilon:.4g}{at}, with confidence {found.confidence:g}"
        if found.model == "gaussian":
            spends += f"; model-based: assumes a Gaussian trade-off, mu >= {found.mu:.4g}"
        lines = [
            f"subject      {self.subject}",
            *([f"pair         {self.pair}"] if self.pair else []),
            spends,
            f"event        {found.event}, likelier for the {found.likelier}",
            f"guesses      {counts.hits:,} right and {counts.other_hits:,} wrong in {counts.tries:,} draws"
            if found.both
            else f"seen         {counts.hits:,} times in {counts.tries:,} draws for the {found.likelier}, "
            f"{counts.other_hits:,} in {counts.other_tries:,} for the {other}",
        ]
        if self.claim is None:
            return "\n".join([*lines, "claim        none given (--epsilon)"])
        model = " if the trade-off is a Gaussian's (model-based)" if found.model == "gaussian" else ""
        verdict = f"not refuted (p = {self.p_value:.2g}); that is no proof of privacy"
        if self.refuted:
            verdict = f"REFUTED{model} (p = {self.p_value:.2g})"
        return "\n".join([*lines, f"claim        epsilon = {self.claim:g}{at}", f"verdict      {verdict}"])


def _plain(value: Any) -> Any:
    """Return what neither JSON nor pytest-xdist refuses, which know no numbers but Python's own."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if value is None or isinstance(value, (bool, np.bool_)):
        return value if value is None else bool(value)
    if isinstance(value, Number):
        return int(value) if isinstance(value, Integral) else float(value)
    return str(value)


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of reports, each as `Report.as_dict` gives it."""
    lines = ["| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    for row in rows:
        claim, p = ("" if row[name] is None else f"{row[name]:.4g}" for name in ("claim", "p_value"))
        verdict = "**refuted**" if row["refuted"] else "not refuted" if claim else "no claim"
        if row["model"] == "gaussian":
            verdict += " (model-based)"
        cells = row["subject"], row["pair"], claim, f"{row['delta']:g}", f"{row['epsilon']:.4g}", p
        cells = *cells, f"{row['draws']:,}", verdict
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
