"""Rule EQ: two quantities are equal up to a margin, or one is a stated number up to it.

A point (`dperm_pipeline.claims.points`) holds if the 90 % interval of its sum lies inside expected +- margin (two
one-sided tests at 5 %); it fails, and counts as reversed, if its 95 % interval lies outside expected +- `outer`.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from dperm_pipeline.claims import points, select
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = select.COLUMNS


def decide(claim: Mapping[str, Any], variant: str, rows: pd.DataFrame) -> Verdict:
    """Decide one variant of a claim.

    - claim: entry of the catalogue, with the keys of `dperm_pipeline.claims.points`, and maybe `expected` (default 0: a
      difference) and `outer` (default: the margin; at least that).
    - variant: a key of `claim["variants"]`.
    - rows: with `COLUMNS` and those that the claim names.
    - Returns: as `dperm_pipeline.claims.points.by_shares` gives it.
    - Raises ConfigError, DataError: as `dperm_pipeline.claims.points.contrasts`.
    - Source: li2021, catalogue of claims: EQ; Schuirmann, J. Pharmacokinet. Biopharm. 15 (1987), for the two one-sided
      tests.
    """
    rule = select.settings(claim, variant)
    expected = rule.get("expected", 0.0)

    def judged(point):
        inner, outer = points.interval(point, 0.90), points.interval(point, 0.95)
        holds = expected - point.margin <= inner[0] and inner[1] <= expected + point.margin
        reach = max(point.margin, rule.get("outer", point.margin))
        fails = outer[0] > expected + reach or outer[1] < expected - reach
        return points.Decided(point, *outer, holds, fails, fails)

    def words(found):
        margins = " or ".join(f"{margin:g}" for margin in sorted({point.margin for point in found}))
        return f"are within {margins} of {expected:g}", "are shown to be further off"

    return points.verdict(rule, rows, judged, words)
