"""The privacy ledger: which attacks are run, and what they found, in rows."""

from collections.abc import Mapping
from typing import Any

from dperm.audit import families


def modules(job: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modules that an audit job starts from: what its code digest is taken of."""
    return ("dperm_pipeline.audits.attacks", families.FAMILIES[job["family"]].module)
