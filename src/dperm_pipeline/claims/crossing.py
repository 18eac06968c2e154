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
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = select.COLUMNS
_SHARE = 0.025


def decide(claim: Mapping[str, Any], variant: str, rows: pd.DataFrame) -> Verdict:
    """Decide one variant of a claim on one data set.

    - claim: entry of the catalogue: `metric` (small is good), `axis` (a number in every row), `better` and `worse` (the
      two methods, from columns to values; each may hold less than `where` does), `points` (further columns, by default
      none), `at_least` (a value of the axis up to which `better` has to be ahead), `variants` (each may hold `where`
      and set any of these anew).
    - variant: a key of `claim["variants"]`.
    - rows: the rows of the data set, with `COLUMNS` and those that the claim names. A method without a value at some
      x_j has one value for all of them: it stands in rows whose axis is 0.
    - Returns: `measured`: x* at the point where it is least, with its 95 % interval; `n`: the pairs there.

    Reproduced if at every point the interval begins at `at_least` or above and ends before the last value of the axis
    (it is finite: there is a number at which the other method is not behind any more); not reproduced if it ends below
    `at_least` at any point; else inconclusive. A repeat that lacks a value at any x_j is left out; with more than 5 %
    of them lost a point stays open.

    - Raises ConfigError: if the claim names a column that the rows do not have.
    - Raises DataError: if a point has two values for one repeat, or the axis is not a number.
    """
    rule = select.settings(claim, variant)
    axis, metric, least = rule["axis"], rule["metric"], rule["at_least"]
    points = [name for name in rule.get("points", ()) if name != axis]
    sides = {}
    for side in ("better", "worse"):
        asked = {**rule, "where": {**rule.get("where", {}), **rule[side]}}
        sides[side] = select.chosen(asked, rows, [*points, axis], metric)
        if sides[side].empty:
            return Verdict("not run", select.absent(asked, metric))
    others = dict(select.groups(sides["worse"], points))
    found, problems = [], []
    for where, group in select.groups(sides["better"], points):
        if where not in others:
            raise DataError(f"{rule['id']}: {metric} of worse has no rows at {where}; choose the points by where")
        x, differences, repeats = _differences(group, others[where], axis)
        if len(differences) < max(2, 0.95 * repeats) or not len(x):
            problems.append(f"{repeats - len(differences)} of {repeats} repeats lack a value{select.at(where)}")
            continue
        rng = select.random(rule, variant, rows, where)
        picks = rng.integers(len(differences), size=(select.RESAMPLES, len(differences)))
        # One x_j at a time: all at once would take repeats times as much memory.
        ahead = np.stack([column[picks].mean(axis=1) for column in differences.T], axis=1) > 0
        sample = _last(x, ahead)
        middle = float(_last(x, differences.mean(axis=0, keepdims=True) > 0)[0])
        ends = (select.lower(sample, _SHARE), select.upper(sample, _SHARE))
        found.append((middle, *ends, len(differences), float(x[-1]), where))
    if not found:
        return Verdict("inconclusive", "; ".join(problems), n=0)
    holds = [low >= least and high < last for _, low, high, _, last, _ in found]
    refuted = [high < least for _, _, high, _, _, _ in found]
    middle, low, high, n, _, where = min(found, key=lambda one: (one[2], one[0]))
    open_ended = sum(high >= last for _, _, high, _, last, _ in found)
    reasons = [
        f"ahead up to a number of {axis} from {least:g} on, and finite, at {sum(holds)} of {len(found)} points; shown "
        f"to be ahead up to less at {sum(refuted)} (95 % percentile bootstrap over repeats)",
        f"measured: {middle:g} [{low:g}, {high:g}]" + (f" at the least favourable point, {where}" if where else ""),
        *([f"ahead at all values of {axis} at {open_ended} points"] if open_ended else []),
        *problems,
    ]
    outcome = select.verdict([*holds, not problems], refuted)
    return Verdict(outcome, "; ".join(reasons), middle, low, high, n)


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
