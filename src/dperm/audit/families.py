"""What can be attacked, by name: a job loads, and hangs on, the code of its own family alone.

Nothing here loads what attacks, so that a plan can ask for names; a test holds the names against the code.
"""

from typing import NamedTuple

from dperm.catalogue import Catalogue


class Family(NamedTuple):
    """Mechanisms that are attacked by the same code.

    - module: its `run(job)` returns the rows of one job.
    - pairs: the pair families (of mutants: the groups) that there are.
    """

    module: str
    pairs: tuple[str, ...]


FAMILIES: Catalogue[str, Family] = {
    "linear": Family("dperm.audit.linear", ("saturating", "knee", "line", "linear", "random", "edge", "sixteen")),
    "support": Family("dperm.audit.support", ("shifted", "votes")),
    "composed": Family("dperm.audit.composed", ("joint",)),
    "comparators": Family("dperm.audit.comparators", ("linear", "line")),
    "napp": Family("dperm.audit.napp", ("line", "sixteen")),
    "kernel": Family("dperm.audit.kernel", ("flip",)),
    "prediction": Family("dperm.audit.prediction", ("record",)),
    "called": Family("dperm.audit.called", ("corners",)),
    "mutants": Family(
        "dperm.audit.mutants", ("noise", "data", "selection", "augmented", "kernel", "prediction", "called")
    ),
}
