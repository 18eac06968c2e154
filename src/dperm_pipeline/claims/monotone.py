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


def decide(claim: Mapping[str, Any], variant: str, rows: pd.DataFrame) -> Verdict:
    """Decide one variant of a claim.

    - claim: entry of the catalogue, with the keys of `dperm_pipeline.claims.points`, and `axis`, a column.
    - variant: a key of `claim["variants"]`.
    - rows: with `COLUMNS` and those that the claim names.
    - Returns: as `dperm_pipeline.claims.points.by_shares` gives it; not run where the axis has a single value.
    - Raises ConfigError, DataError: as `dperm_pipeline.claims.points.contrasts`; DataError too if the axis is not a
      number.
    - Source: li2021, catalogue of claims: MON.
    """
    rule = select.settings(claim, variant)
    axis = rule["axis"]
    if rows[axis].nunique() < 2:
        return Verdict("not run", f"{axis} has fewer than two values")

    def judged(point):
        low, high = points.interval(point, 0.95)
        return points.Decided(point, low, high, low > 0, high < 0, high < 0)

    return points.verdict(rule, rows, judged, lambda found: (f"rise along {axis}", "fall along it"))
