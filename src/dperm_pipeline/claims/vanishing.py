"""Rule V: a quantity goes to 0 along an axis: its mean at the last value is at most a tenth of that at the first.

The ratio's one-sided 95 % bounds are the percentile bootstrap's, both means resampled apart; with one exact value at
either end they are the ratio itself.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Estimate, Verdict, overall

COLUMNS = select.COLUMNS
VANISHED, STAYED = 0.1, 0.5
_SHARE = 0.05


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the ratio of means at every point.

    Keys: `metric` (at least 0), `axis`, `points` (further columns, by default none).

    Measured is the mean at the last value of the axis over the mean at its first, at the least favourable point,
    between its one-sided 95 % bounds; `n`: the fewer of the repeats at the two ends. Reproduced if the upper bound is
    at most 0.1 at every point; not reproduced if the lower bound is above 0.5 at one; else inconclusive. Nothing bounds
    the value of a failed run, so with one at either end it is inconclusive.
    """
    axis, metric = rule["axis"], rule["metric"]
    points = [name for name in rule.get("points", ()) if name != axis]
    found, ends = [], []
    for where, group in select.groups(select.required(rule, rows, [*points, axis], metric), points):
        found.append(_ratio(group, axis, where, select.random(rule, rows, where)))
        ends.append(group[group[axis].isin([group[axis].min(), group[axis].max()])])
    lost = select.failures(pd.concat(ends))
    problems = [f"there is no ratio{select.at(one.where)}: {one.problem}" for one in found if one.problem]
    ratios = [(one, end) for one, end in zip(found, ends, strict=True) if not one.problem]
    if not ratios:
        two_ends = any(end[axis].nunique() > 1 for end in ends)
        reasons = [*problems, lost] if lost else problems
        return Verdict("inconclusive" if two_ends else "not run", "; ".join(reasons))
    vanished = [one.high <= VANISHED for one, _ in ratios]
    stayed = [one.low > STAYED for one, _ in ratios]
    outcome = "inconclusive" if lost else overall([*vanished, not problems], stayed)
    side = "low" if any(stayed) else "high"
    worst, end = max(ratios, key=lambda ratio: getattr(ratio[0], side))
    reasons = [
        f"mean {select.words(metric)} falls to at most {VANISHED:g} of its first value at {sum(vanished)} of "
        f"{len(ratios)} points and stays above {STAYED:g} of it at {sum(stayed)} (one-sided 95 % bootstrap bounds)",
        f"measured: from {axis} {end[axis].min():g} to {end[axis].max():g} it falls to {worst.value:.3g}, between "
        f"{worst.low:.3g} and {worst.high:.3g}{select.least_favourable(worst.where, ',')}",
        *problems,
    ]
    if lost:
        reasons.append(f"{lost} at the ends of the axis, and nothing bounds what they would have given")
    return worst.verdict(outcome, reasons, vanished)


def _ratio(group: pd.DataFrame, axis: str, where: str, rng: np.random.Generator) -> Estimate:
    """Return the ratio of means and its bounds at one point."""
    x, values = select.by_axis(group, axis)
    first, last = values[0], values[-1]
    n = min(len(first), len(last))
    if len(x) < 2:
        return Estimate(where, problem=f"{axis} has the one value {x[0]:g} only")
    if n == 0:
        return Estimate(where, problem=f"no run succeeded with {axis} {x[0] if len(first) == 0 else x[-1]:g}")
    if n == 1 < max(len(first), len(last)):
        return Estimate(where, problem=f"one end of {axis} has a single repeat, which has no spread")
    if first.mean() <= 0 or last.mean() < 0:
        problem = f"the means at the ends of {axis} are {first.mean():.3g} and {last.mean():.3g}"
        return Estimate(where, problem=problem)
    ratio = float(last.mean() / first.mean())
    if n == 1:
        return Estimate(where, ratio, ratio, ratio, 1)
    above, below = select.resample(last, rng), select.resample(first, rng)
    # A resampled mean of 0 at the first value counts against either side.
    sample = np.divide(above, below, out=np.full_like(above, math.nan), where=below > 0)
    return Estimate(where, ratio, select.lower(sample, _SHARE), select.upper(sample, _SHARE), n)
