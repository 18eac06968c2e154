"""Rule ORD: one quantity is above another.

A point (`dperm_pipeline.claims.points`) holds if the 95 % interval of its sum less the `offset` is above 0; else it
fails if the interval ends below the margin, so that no difference of that size is left; it is reversed if all of it is
below 0. A point where the two are level in every repeat says nothing of their order: it is counted for neither side.
"""

from collections.abc import Mapping
from dataclasses import replace
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

    found = points.contrasts(rule, rows)
    ordered = [point for point in found if not (len(point.values) and (point.values == offset).all())]
    level = len(found) - len(ordered)
    words = f"{level} of {len(found)} points are level in every repeat and count for neither side"
    if not ordered:
        return Verdict("inconclusive", words, offset, offset, offset, len(found[0].values))
    decided = list(map(judged, ordered))
    verdict = points.by_shares(rule, decided, f"are above {offset:g}", f"are below {offset:g}")
    near = sum(point.fails and not point.reversed for point in decided)
    told = [f"{near} points, though not reversed, are level within the margin"] * bool(near) + [words] * bool(level)
    return replace(verdict, reason="; ".join([verdict.reason, *told]))
