r"""The law of excess errors: what share of all that can be learned a method loses to its noise.

With N records that pull as hard as the noise (`dperm.planning.noise`), n records, p features and k classes,

    share lost = X^b/(1 + X^b),     X = e^{a/b} k sqrt(p) N/n,

    excess error = share lost times (error of the most frequent label - error without privacy).

sqrt(p) N is the noise's length, n/k what the records of one class can do against it. a and b are fitted for each
method, by least squares, to the test errors of the experiments of the frontier: docs/update_planner.py makes law.json,
and docs/planning.md says how far it misses data sets that it was not fitted to.
"""

import functools
import json
import math
from importlib import resources
from typing import Any, NamedTuple

from dperm.planning import noise
from dperm.planning.noise import Told

# Beyond it nobody has records.
MOST_RECORDS = 1e12
# Of the number of records that are needed; a public noise may depend on it.
_EXACT = 1e-3


class Line(NamedTuple):
    """Log odds of the share lost: a + b log(k sqrt(p) N/n)."""

    a: float
    b: float

    def share(self, place: float) -> float:
        """Return the share lost at log(k sqrt(p) N/n)."""
        return 1 / (1 + math.exp(-min(max(self.a + self.b * place, -700.0), 700.0)))


@functools.cache
def table() -> dict[str, Any]:
    """Return law.json."""
    return json.loads(resources.files("dperm.planning").joinpath("law.json").read_text(encoding="utf-8"))


def line(name: str, classes: int) -> Line:
    """Return the fitted line of a method of `noise.methods(classes)`."""
    return Line(*table()["lines"]["binary" if classes == 2 else "several"][name])


def place(records: float, n: float, p: int, classes: int) -> float:
    """Return log(k sqrt(p) N/n)."""
    return math.log(classes * math.sqrt(p) * records / n)


def share_lost(name: str, told: Told, classes: int) -> float:
    """Return the share of what can be learned that a method is expected to lose; in (0, 1)."""
    return line(name, classes).share(place(noise.records(name, told, classes).records, told.n, told.p, classes))


def needed(name: str, told: Told, classes: int, share: float) -> float:
    """Return the least n at which the share lost is expected to be `share`; infinite if above `MOST_RECORDS`."""
    low, high = 0.0, math.log(MOST_RECORDS)

    def enough(n: float) -> bool:
        return share_lost(name, told._replace(n=math.ceil(math.exp(n))), classes) <= share

    if not enough(high):
        return math.inf
    while high - low > _EXACT:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(math.ceil(math.exp(high)))
