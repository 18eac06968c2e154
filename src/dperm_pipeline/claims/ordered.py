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


def decide(claim: Mapping[str, Any], variant: str, rows: pd.DataFrame) -> Verdict:
    """Decide one variant of a claim.

    - claim: entry of the catalogue, with the keys of `dperm_pipeline.claims.points`, and maybe `offset` (default 0):
      what the sum has to be above, such as minus a margin where a loss is said to be below that.
    - variant: a key of `claim["variants"]`.
    - rows: with `COLUMNS` and those that the claim names.
    - Returns: as `dperm_pipeline.claims.points.by_shares` gives it.
    - Raises ConfigError, DataError: as `dperm_pipeline.claims.points.contrasts`.
    - Source: li2021, catalogue of claims: ORD.
    """
    rule = select.settings(claim, variant)
    offset = rule.get("offset", 0.0)

    def judged(point):
        low, high = points.interval(point, 0.95)
        holds = low > offset
        fails = not holds and high < offset + point.margin
        return points.Decided(point, low, high, holds, fails, high < offset)

    return points.verdict(rule, rows, judged, lambda found: (f"are above {offset:g}", f"are below {offset:g}"))
