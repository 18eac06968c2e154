"""What a rule finds at one point, and what it says of the claim."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

VERDICTS = ("reproduced", "not reproduced", "inconclusive", "not run")


@dataclass(frozen=True)
class Verdict:
    """One verdict, its reason in words, and the number it stands on.

    `measured` is the claim's quantity with its interval [`low`, `high`], `n` the number of independent repeats behind
    it; the claim is shown to hold at `held` of `points` points; `certified` is the epsilon of the ledger's strongest
    attack. All None where nothing could be measured.
    """

    verdict: str
    reason: str
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    held: int | None = None
    points: int | None = None
    certified: float | None = None

    def __post_init__(self):
        if self.verdict not in VERDICTS:
            raise ValueError(f"unknown verdict {self.verdict!r}; known: {', '.join(VERDICTS)}")


@dataclass(frozen=True)
class Estimate:
    """A quantity at one point between its bounds, from n repeats; `problem` says why there is none."""

    where: str
    value: float = math.nan
    low: float = -math.inf
    high: float = math.inf
    n: int = 0
    problem: str = ""

    @property
    def power(self) -> str:
        """Say what more repeats would do for the interval."""
        if self.n < 2 or not math.isfinite(self.high - self.low):
            return "power: one value, or too few repeats for an interval"
        return (
            f"power: its interval is {self.high - self.low:.2g} wide for {self.n} repeats (half as wide takes four "
            "times as many)"
        )

    def verdict(self, outcome: str, reasons: Sequence[str], holds: Sequence[bool]) -> Verdict:
        """Return the verdict that stands on this estimate, the least favourable of points that hold or do not."""
        held, points = sum(holds), len(holds)
        return Verdict(outcome, "; ".join(reasons), self.value, self.low, self.high, self.n, held, points)


def overall(holds: Sequence[bool], refuted: Sequence[bool]) -> str:
    """Reproduced if the claim holds at all points, not reproduced if it is refuted at one, else inconclusive."""
    if any(refuted):
        return "not reproduced"
    return "reproduced" if all(holds) else "inconclusive"
