r"""Rule "threshold": a mean, or the share of repeats beyond a number, is at least, or at most, a stated number.

One-sided bounds at level a = level / points (Bonferroni): with mean m and standard error s of the n repeats,

    lower = m - q(1 - a) s,    upper = m - q(a) s,    q the quantiles of t* = (m* - m) / s* over bootstrap samples,

the bootstrap-t, which follows a skewed law better than the percentiles of m*. Values that are all 0 or 1 have the exact
bounds of Clopper and Pearson instead, for samples all alike have no spread to resample; a single value is taken as
exact, and its bounds are the value itself. With `limits: student` the q are Student's quantiles, n - 1 degrees of
freedom, whatever the values.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dperm.errors import ConfigError
from dperm_pipeline.claims import select
from dperm_pipeline.claims.coverage import rate_bounds
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = select.COLUMNS


@dataclass(frozen=True)
class _Mean:
    """The mean at one point between its bounds."""

    where: str
    mean: float
    low: float
    high: float
    n: int


def decide(claim: Mapping[str, Any], variant: str, rows: pd.DataFrame) -> Verdict:
    """Decide one variant of a claim on one data set.

    - claim: entry of the catalogue: `metric`, one of `at_least` and `at_most` (in the metric's units), `points`
      (columns, by default none), `level` (by default 0.05), `beyond` (then the mean is that of 1 where the metric is
      above it, else 0), `limits` ("student" or, by default, "bootstrap"), `variants` (each may hold `where` and set any
      of these anew).
    - variant: a key of `claim["variants"]`.
    - rows: the rows of the data set, with `COLUMNS` and those that the claim names.
    - Returns: `measured`: the mean at the least favourable point, between the bounds that decide there; `n`: its
      repeats.

    Reproduced if it holds at all points; not reproduced if it is refuted at one; else inconclusive. Nothing bounds the
    value of a failed run, so with any of them the verdict is inconclusive.

    - Raises ConfigError: if the claim names a column that the rows do not have, or not exactly one of `at_least` and
      `at_most`.
    - Raises DataError: if a point has two values for one repeat.
    """
    rule = select.settings(claim, variant)
    sides = [name for name in ("at_least", "at_most") if name in rule]
    if len(sides) != 1:
        raise ConfigError(
            f"{rule['id']}: at_least, at_most: {' and '.join(sides) or 'neither'} given; give one of them"
        )
    points, metric, level = list(rule.get("points", ())), rule["metric"], rule.get("level", 0.05)
    frame = select.chosen(rule, rows, points, metric)
    if frame.empty:
        return Verdict("not run", select.absent(rule, metric))
    if "beyond" in rule:
        frame["value"] = (frame["value"] > rule["beyond"]).astype(float).where(frame["value"].notna())
    groups = list(select.groups(frame, points))
    share, lost = level / len(groups), select.failures(frame)
    student = rule.get("limits", "bootstrap") == "student"
    means = [
        _student(group["value"].dropna().to_numpy(), share, where)
        if student
        else _bounds(group["value"].dropna().to_numpy(), share, where, select.random(rule, variant, rows, where))
        for where, group in groups
        if group["value"].notna().any()
    ]
    if not means:
        return Verdict("inconclusive", f"{lost}, so that nothing was measured", n=0)
    limit, sign = rule[sides[0]], 1 if sides[0] == "at_least" else -1
    # By how much the claim holds at the bound for it, and at the bound against it.
    least = [sign * ((one.low if sign > 0 else one.high) - limit) for one in means]
    most = [sign * ((one.high if sign > 0 else one.low) - limit) for one in means]
    outcome = "inconclusive" if lost else select.verdict([m >= 0 for m in least], [m < 0 for m in most])
    worst = means[int(np.argmin(most if min(most) < 0 else least))]
    what = f"share of {select.words(metric)} above {rule['beyond']:g}" if "beyond" in rule else ""
    what = what or f"mean {select.words(metric)}"
    reasons = [
        f"{what} is shown to be {sides[0].replace('_', ' ')} {limit:g} at "
        f"{sum(m >= 0 for m in least)} of {len(means)} points and shown not to be at {sum(m < 0 for m in most)} "
        f"(one-sided {'Student ' if student else ''}bounds, Bonferroni over all points, level {level:g})",
        f"measured: {worst.mean:.3g}, between {worst.low:.3g} and {worst.high:.3g}, from {worst.n} repeats"
        + (f" at the least favourable point, {worst.where}" if worst.where else ""),
    ]
    if lost:
        reasons.append(f"{lost}, and nothing bounds what they would have given")
    return Verdict(outcome, "; ".join(reasons), worst.mean, worst.low, worst.high, worst.n)


def _student(values: np.ndarray, share: float, where: str) -> _Mean:
    """Return the mean and Student's one-sided limits, each at level `share`; of a single value itself."""
    n, mean = len(values), float(values.mean())
    if values.min() == values.max():
        return _Mean(where, float(values[0]), float(values[0]), float(values[0]), n)
    reach = -float(special.stdtrit(n - 1, share)) * float(values.std(ddof=1)) / math.sqrt(n)
    return _Mean(where, mean, mean - reach, mean + reach, n)


def _bounds(values: np.ndarray, share: float, where: str, rng: np.random.Generator) -> _Mean:
    """Return the mean and its one-sided bounds, each wrong with probability about `share`."""
    n, mean = len(values), float(values.mean())
    if n == 1:
        return _Mean(where, mean, mean, mean, n)
    if np.isin(values, (0.0, 1.0)).all():
        return _Mean(where, mean, *rate_bounds(int(values.sum()), n, share), n)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    if values.min() == values.max() or error == 0:  # values so near that their spread underflows
        return _Mean(where, float(values[0]), float(values[0]), float(values[0]), n)

    def studentised(samples: np.ndarray) -> np.ndarray:
        errors = samples.std(axis=1, ddof=1) / math.sqrt(n)
        # A sample of one value n times has no spread but rounding: NaN counts against either side.
        spread = (samples.min(axis=1) < samples.max(axis=1)) & (errors > 0)
        return np.divide(samples.mean(axis=1) - mean, errors, out=np.full(len(samples), math.nan), where=spread)

    t = select.resample(values, rng, studentised)
    return _Mean(where, mean, mean - error * select.upper(t, share), mean - error * select.lower(t, share), n)
