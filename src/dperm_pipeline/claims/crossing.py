"""Rule X: one method is ahead of another up to some value of an axis, and no further.

    x* = the last x_j of the axis with mean(worse - better) > 0 at all x_1 < ... < x_j,    0 if not even at x_1,

in pairs by repeat. Its 95 % interval is the percentile bootstrap's, whole repeats resampled, each with its values at
all x_j: an x* is a value of the axis, and so are the ends of its interval.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dperm.errors import DataError
from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Estimate, Verdict, overall

COLUMNS = select.COLUMNS
_SHARE = 0.025


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the crossing at every point.

    Keys: `metric` (small is good), `axis` (a number in every row), `better` and `worse` (the two methods, from columns
    to values; each may hold less than `where` does), `points` (further columns, by default none), `at_least` (a value
    of the axis up to which `better` has to be ahead). A method without a value at some x_j has one value for all of
    them: it stands in rows whose axis is 0.

    Measured is x* at the point where it is least, with its 95 % interval; `n`: the pairs there. Reproduced if at every
    point the interval begins at `at_least` or above and ends before the last value of the axis (it is finite: there is
    a number at which the other method is not behind any more); not reproduced if it ends below `at_least` at any
    point; else inconclusive. A repeat that lacks a value at any x_j is left out; with more than 5 % of them lost a
    point stays open.
    """
    axis, metric, least = rule["axis"], rule["metric"], rule["at_least"]
    points = [name for name in rule.get("points", ()) if name != axis]
    # The rows of the two methods.
    sides = {}
    for side in ("better", "worse"):
        asked = {**rule, "where": {**rule.get("where", {}), **rule[side]}}
        sides[side] = select.required(asked, rows, [*points, axis], metric)
    # At every point the repeats in pairs: up to which number is `better` ahead?
    others = dict(select.groups(sides["worse"], points))
    found, lasts, problems = [], [], []
    for where, group in select.groups(sides["better"], points):
        if where not in others:
            raise DataError(f"{rule['id']}: {metric} of worse has no rows at {where}; choose the points by where")
        x, differences, repeats = _differences(group, others[where], axis)
        if len(differences) < max(2, 0.95 * repeats) or not len(x):
            problems.append(f"{repeats - len(differences)} of {repeats} repeats lack a value{select.at(where)}")
            continue
        found.append(_crossing(x, differences, where, select.random(rule, rows, where)))
        lasts.append(float(x[-1]))
    if not found:
        return Verdict("inconclusive", "; ".join(problems), n=0)
    # An interval that reaches the last value of the axis may have no end.
    endless = [one.high >= last for one, last in zip(found, lasts, strict=True)]
    holds = [one.low >= least and not without_end for one, without_end in zip(found, endless, strict=True)]
    refuted = [one.high < least for one in found]
    worst = min(found, key=lambda one: (one.high, one.value))
    reasons = [
        f"ahead up to a number of {axis} from {least:g} on, and finite, at {sum(holds)} of {len(found)} points; shown "
        f"to be ahead up to less at {sum(refuted)} (95 % percentile bootstrap over repeats)",
        f"measured: {worst.value:g} [{worst.low:g}, {worst.high:g}]{select.least_favourable(worst.where)}",
    ]
    if any(endless):
        reasons.append(f"ahead at all values of {axis} at {sum(endless)} points")
    return worst.verdict(overall([*holds, not problems], refuted), [*reasons, *problems], holds)


def _crossing(x: np.ndarray, differences: np.ndarray, where: str, rng: np.random.Generator) -> Estimate:
    """Return x* and its interval at one point; `differences` has shape (repeats, values of the axis)."""
    n = len(differences)
    picks = rng.integers(n, size=(select.RESAMPLES, n))
    # One x_j at a time: all at once would take repeats times as much memory.
    ahead = np.stack([column[picks].mean(axis=1) for column in differences.T], axis=1) > 0
    sample = _last(x, ahead)
    middle = float(_last(x, differences.mean(axis=0, keepdims=True) > 0)[0])
    return Estimate(where, middle, select.lower(sample, _SHARE), select.upper(sample, _SHARE), n)


def _differences(better: pd.DataFrame, worse: pd.DataFrame, axis: str) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the axis, worse - better by repeat (rows) and value of the axis (columns), and the repeats that ran."""
    if not all(pd.api.types.is_numeric_dtype(side[axis]) for side in (better, worse)):
        raise DataError(f"the axis {axis} must be a number in every row; choose another axis")
    first = better.pivot(index="repeat", columns=axis, values="value").sort_index(axis="columns")
    second = worse.pivot(index="repeat", columns=axis, values="value")
    if list(second.columns) == [0]:
        # The other method's answer does not hang on the axis.
        second = pd.DataFrame({name: second[0] for name in first.columns})
    first, second = first.align(second, join="outer", axis=0)
    shared = [name for name in first.columns if name in second.columns]
    table = (second[shared] - first[shared]).dropna()
    return np.array(shared, dtype=float), table.to_numpy(), len(first)


def _last(x: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """Return for each row of `ahead` the last value of the axis up to which it is true throughout; 0 if none is."""
    steps = np.cumprod(ahead, axis=1).sum(axis=1).astype(int)
    return np.concatenate([[0.0], x])[steps]
