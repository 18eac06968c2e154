"""Rule V: a quantity goes to 0 along an axis: its mean at the last value is at most a tenth of that at the first.

The ratio's one-sided 95 % bounds are the percentile bootstrap's, both means resampled apart; with one exact value at
either end they are the ratio itself.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = select.COLUMNS
VANISHED, STAYED = 0.1, 0.5
_SHARE = 0.05


@dataclass(frozen=True)
class _Ratio:
    """The ratio at one point; `problem` says why there is none."""

    where: str
    ends: tuple[float, float]
    ratio: float = math.nan
    low: float = -math.inf
    high: float = math.inf
    n: int = 0
    problem: str = ""


def decide(claim: Mapping[str, Any], variant: str, rows: pd.DataFrame) -> Verdict:
    """Decide one variant of a claim on one data set.

    - claim: entry of the catalogue: `metric` (at least 0), `axis`, `points` (further columns, by default none),
      `variants` (each may hold `where` and set any of these anew).
    - variant: a key of `claim["variants"]`.
    - rows: the rows of the data set, with `COLUMNS` and those that the claim names.
    - Returns: `measured`: mean at the last value of the axis over the mean at its first, at the least favourable
      combination of `points`, between its one-sided 95 % bounds; `n`: the fewer of the repeats at the two ends.

    Reproduced if the upper bound is at most 0.1 at every combination; not reproduced if the lower bound is above 0.5 at
    one; else inconclusive. Nothing bounds the value of a failed run, so with one at either end it is inconclusive.

    - Raises ConfigError: if the claim names a column that the rows do not have.
    - Raises DataError: if a point has two values for one repeat, or the axis is not a number.
    """
    rule = select.settings(claim, variant)
    axis, metric = rule["axis"], rule["metric"]
    points = [name for name in rule.get("points", ()) if name != axis]
    frame = select.chosen(rule, rows, [*points, axis], metric)
    if frame.empty:
        return Verdict("not run", select.absent(rule, metric))
    found, ends = [], []
    for where, group in select.groups(frame, points):
        found.append(_ratio(group, axis, where, select.random(rule, variant, rows, where)))
        ends.append(group[group[axis].isin(found[-1].ends)])
    lost = select.failures(pd.concat(ends))
    problems = [f"there is no ratio{select.at(one.where)}: {one.problem}" for one in found if one.problem]
    ratios = [one for one in found if not one.problem]
    if not ratios:
        along = any(one.ends[0] < one.ends[1] for one in found)
        return Verdict("inconclusive" if along else "not run", "; ".join([*problems, *([lost] if lost else [])]))
    return _verdict(rule, ratios, problems, lost)


def _verdict(rule: Mapping[str, Any], ratios: Sequence[_Ratio], problems: Sequence[str], lost: str) -> Verdict:
    vanished = [one.high <= VANISHED for one in ratios]
    stayed = [one.low > STAYED for one in ratios]
    outcome = select.verdict([*vanished, not problems], stayed)
    if lost:
        outcome = "inconclusive"
    side = "low" if any(stayed) else "high"
    worst = max(ratios, key=lambda one: getattr(one, side))
    reasons = [
        f"mean {select.words(rule['metric'])} falls to at most {VANISHED:g} of its first value at {sum(vanished)} of "
        f"{len(ratios)} points and stays above {STAYED:g} of it at {sum(stayed)} (one-sided 95 % bootstrap bounds)",
        f"measured: from {rule['axis']} {worst.ends[0]:g} to {worst.ends[1]:g} it falls to {worst.ratio:.3g}, between "
        f"{worst.low:.3g} and {worst.high:.3g}"
        + (f", at the least favourable point, {worst.where}" if worst.where else ""),
        *problems,
    ]
    if lost:
        reasons.append(f"{lost} at the ends of the axis, and nothing bounds what they would have given")
    return Verdict(outcome, "; ".join(reasons), worst.ratio, worst.low, worst.high, worst.n)


def _ratio(group: pd.DataFrame, axis: str, where: str, rng: np.random.Generator) -> _Ratio:
    """Return the ratio of means and its bounds at one point."""
    x, values = select.by_axis(group, axis)
    first, last, ends = values[0], values[-1], (float(x[0]), float(x[-1]))
    n = min(len(first), len(last))
    if len(x) < 2:
        return _Ratio(where, ends, problem=f"{axis} has the one value {x[0]:g} only")
    if n == 0:
        return _Ratio(where, ends, problem=f"no run succeeded with {axis} {ends[0] if len(first) == 0 else ends[1]:g}")
    if n == 1 < max(len(first), len(last)):
        return _Ratio(where, ends, problem=f"one end of {axis} has a single repeat, which has no spread")
    if first.mean() <= 0 or last.mean() < 0:
        return _Ratio(
            where, ends, problem=f"the means at the ends of {axis} are {first.mean():.3g} and {last.mean():.3g}"
        )
    ratio = float(last.mean() / first.mean())
    if n == 1:
        return _Ratio(where, ends, ratio, ratio, ratio, 1)
    above, below = select.resample(last, rng), select.resample(first, rng)
    # A resampled mean of 0 at the first value counts against either side.
    sample = np.divide(above, below, out=np.full_like(above, math.nan), where=below > 0)
    return _Ratio(where, ends, ratio, select.lower(sample, _SHARE), select.upper(sample, _SHARE), n)
