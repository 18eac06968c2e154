"""The families of attacks. Each is found by the place of its file: a job loads, and depends on, its own family alone.

A module beside this one attacks a family of mechanisms if it has a function `run` and declares its pairs in one line,
as `PAIRS = ("line", "sixteen")`; the name of the family is that of its file. The mutants are one more family, and its
pairs are their groups: the modules of `dperm.audit.mutants` that declare `MUTANTS`.
"""

from pathlib import Path
from typing import NamedTuple

from dperm import by_place

_AUDIT = Path(__file__).parent


class Family(NamedTuple):
    """Mechanisms that are attacked by the same code, with their pair families (of mutants: the groups).

    `run(job)` of the module returns the rows of one job.
    """

    module: str
    pairs: tuple[str, ...]


def _families() -> dict[str, Family]:
    found = {
        module.rpartition(".")[2]: Family(module, by_place.constant(text, "PAIRS"))
        for module, text in by_place.declaring(_AUDIT, "dperm.audit", "PAIRS")
        if "\ndef run(" in text
    }
    groups = by_place.declaring(_AUDIT / "mutants", "dperm.audit.mutants", "MUTANTS")
    return found | {"mutants": Family("dperm.audit.mutants", tuple(module.rpartition(".")[2] for module, _ in groups))}


FAMILIES = _families()
