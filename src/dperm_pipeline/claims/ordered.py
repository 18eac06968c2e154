"""Rule ORD: one quantity is above another.

A point (`dperm_pipeline.claims.points`) holds if the 95 % interval of its sum less the `offset` is above 0; else it
fails if the interval ends below the margin, so that no difference of that size is left; it is reversed if all of it is
below 0.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dperm_pipeline.claims import points, select
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = select.COLUMNS


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the shares of points that hold (li2021, catalogue of claims: ORD).

    Keys: those of `points`, and `offset` (default 0): what the sum has to be above, such as minus a margin where a loss
    is said to be below that.
    """
    offset = rule.get("offset", 0.0)

    def judged(point: points.Point) -> points.Decided:
        low, high = points.interval(point, 0.95)
        holds = low > offset
        fails = not holds and high < offset + point.margin
        return points.Decided(point, low, high, holds, fails, high < offset)

    decided = [judged(point) for point in points.contrasts(rule, rows)]
    return points.by_shares(rule, decided, f"are above {offset:g}", f"are below {offset:g}")
