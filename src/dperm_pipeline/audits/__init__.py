"""The privacy ledger: which attacks are run, and what they found, in rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from dperm.audit.families import FAMILIES


def modules(audits: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the modules that a job starts from, of its family and its groups of mutants: the roots of its digest."""
    family = FAMILIES[audits[0]["family"]].module
    groups = [f"{family}.{audit['group']}" for audit in audits if "group" in audit]
    return ("dperm_pipeline.audits.attacks", family, *groups)
