"""Rule EQ: two quantities are equal up to a margin, or one is a stated number up to it.

A point (`dperm_pipeline.claims.points`) holds if the 90 % interval of its sum lies inside expected +- margin (two
one-sided tests at 5 %; Schuirmann, J. Pharmacokinet. Biopharm. 15, 1987); it fails, and counts as reversed, if its 95 %
interval lies outside expected +- `outer`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dperm_pipeline.claims import points, select
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = select.COLUMNS


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the shares of points that hold (li2021, catalogue of claims: EQ).

    Keys: those of `points`, `expected` (default 0: a difference) and `outer` (by default, and at least, the margin).
    """
    expected = rule.get("expected", 0.0)

    def judged(point: points.Point) -> points.Decided:
        inner, outer = points.interval(point, 0.90), points.interval(point, 0.95)
        holds = expected - point.margin <= inner[0] and inner[1] <= expected + point.margin
        reach = max(point.margin, rule.get("outer", point.margin))
        fails = outer[0] > expected + reach or outer[1] < expected - reach
        return points.Decided(point, *outer, holds, fails, fails)

    decided = [judged(point) for point in points.contrasts(rule, rows)]
    margins = " or ".join(f"{margin:g}" for margin in sorted({one.point.margin for one in decided}))
    return points.by_shares(rule, decided, f"are within {margins} of {expected:g}", "are shown to be further off")
