"""Rule E: an inequality holds at every grid point, up to rounding and the solver's certificate.

A row of the metric `excess` is measured minus bound; it may be at most the claim's tolerance plus the `slack` (the
certificate) of the same point and repeat, if there is such a row. Where the excess is itself an upper confidence limit,
`undecided` is the width of its interval: an excess above what is allowed by no more than this width decides nothing.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dperm.errors import DataError
from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Verdict, overall

COLUMNS = select.COLUMNS
TOLERANCE = 1e-9


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the point that is furthest beyond what is allowed.

    Keys: `points` (columns that, with `repeat`, tell grid points apart; by default none), `metric` (by default
    "excess"), `tolerance` (at least 0, in the metric's units; by default 1e-9), `undecided` (likewise; by default 0).

    Measured, `low` and `high` are the largest excess; `n`: the grid points (each repeat is one). A counterexample
    stands whatever else failed; where no point contradicts, a failed one leaves the claim open.
    """
    keys, metric = list(rule.get("points", ())), rule.get("metric", "excess")
    grid = select.required(rule, rows, keys, metric)
    slack = select.chosen(rule, rows, keys, "slack")
    if (slack["value"] < 0).any():
        raise DataError(f"{rule['id']}: slack={slack['value'].min():g} is below 0; it must be a bound on an error")
    # Where the certificate failed nothing is known of the point; NaN stays free for points that have none.
    slack["value"] = slack["value"].fillna(np.inf)
    if slack.empty:
        grid["slack"] = np.nan
    else:
        grid = grid.merge(slack.rename(columns={"value": "slack"}), on=[*keys, "repeat"], how="left")
    grid.loc[np.isinf(grid["slack"]), "value"] = np.nan
    allowed = rule.get("tolerance", TOLERANCE) + grid["slack"].fillna(0.0)
    over = grid["value"] - allowed
    wrong, lost = int((over > rule.get("undecided", 0.0)).sum()), int(over.isna().sum())
    between = int((over > 0).sum()) - wrong
    held = len(grid) - wrong - lost - between
    reasons = [f"the bound holds at {held} of {len(grid)} grid points"]
    if between:
        reasons.append(f"at {between} the interval has it on both sides")
    if lost:
        reasons.append(f"{select.failures(grid)}, of which nothing is known")
    if lost == len(grid):
        return Verdict("inconclusive", "; ".join(reasons), n=len(grid))
    worst = over.idxmax()
    place = select.in_words([*keys, "repeat"], grid.loc[worst, [*keys, "repeat"]])
    reasons.append(
        f"the worst is {place}, where {select.words(metric)} is {grid['value'][worst]:.3g} and at most "
        f"{allowed[worst]:.2g} is allowed (tolerance and certificate)"
    )
    largest = float(grid["value"].max())
    outcome = overall([not lost and not wrong and not between], [wrong > 0])
    return Verdict(outcome, "; ".join(reasons), largest, largest, largest, len(grid), held, len(grid))
