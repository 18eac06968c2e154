"""What a test says of a claim."""

from dataclasses import dataclass

VERDICTS = ("reproduced", "not reproduced", "inconclusive", "not run")


@dataclass(frozen=True)
class Verdict:
    """One verdict, its reason in words, and the number it stands on.

    `measured` is the claim's quantity with its 95 % interval [`low`, `high`], `n` the number of independent repeats
    behind it; all None where nothing could be measured.
    """

    verdict: str
    reason: str
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    def __post_init__(self):
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is none of {', '.join(VERDICTS)}")
