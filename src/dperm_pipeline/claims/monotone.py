"""Rule MON: a quantity rises along an axis.

Each repeat's sum (`dperm_pipeline.claims.points`; times -1 if it is to fall) has Spearman's rank correlation with the
axis, 0 where it does not change. A point holds if the 95 % interval of their mean is above 0; it fails, and is
reversed, if that interval is below 0. Sums without repeats (`constant: [repeat]`) have one exact correlation, its own
interval.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dperm_pipeline.claims import points, select
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = select.COLUMNS


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the shares of points that hold (li2021, catalogue of claims: MON).

    Keys: those of `points`, and `axis`, a column of numbers. Where it has a single value the claim is not run.
    """
    axis = rule["axis"]
    if rows[axis].nunique() < 2:
        raise select.NoRows(f"{axis} has fewer than two values")
    decided = []
    for point in points.contrasts(rule, rows):
        low, high = points.interval(point, 0.95)
        decided.append(points.Decided(point, low, high, low > 0, high < 0, high < 0))
    return points.by_shares(rule, decided, f"rise along {axis}", "fall along it")
