r"""Rule S: a quantity grows like a power of an axis.

    log mean(x_j) ~ a + slope log x_j,    slope = sum_j (log x_j - mean log x) log mean(x_j) / sum_j (...)^2

by least squares over the values x_j of the axis. Its 95 % interval is the percentile bootstrap's, the repeats of every
x_j resampled apart (repeats that share their randomness along the axis make it wider than need be). With one exact
value at each x_j it is the range of the slopes between neighbours, or with `exact: point` the slope itself. With a
`side` the exponent is a bound: "at most expected", up to the margin, or "at least". With `against`, other rows, it is
the difference of two slopes, that of log mean(x_j) - log mean'(x_j); the repeats of both are resampled apart.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dperm.errors import DataError
from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Verdict

COLUMNS = select.COLUMNS
# An exponent is known up to the rounding of logarithms.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Fit:
    """The slope at one point; `problem` says why there is none."""

    where: str
    slope: float = math.nan
    low: float = -math.inf
    high: float = math.inf
    n: int = 0
    problem: str = ""


def decide(claim: Mapping[str, Any], variant: str, rows: pd.DataFrame) -> Verdict:
    """Decide one variant of a claim on one data set.

    - claim: entry of the catalogue: `metric`, `axis` (column above 0), `expected` (the exponent), `margin` (such as
      0.1), `points` (further columns, by default none: the slope is fitted at each combination), `side` ("upper": only
      a slope above expected + margin is against the claim; "lower": only one below expected - margin; without it both),
      `least_values` (values of the axis that a slope needs; by default 2), `exact` ("point", or by default "local"),
      `against` (from columns to values: those of `where` replaced by these), `variants` (each may hold `where` and set
      any of these anew).
    - variant: a key of `claim["variants"]`.
    - rows: the rows of the data set, with `COLUMNS` and those that the claim names.
    - Returns: `measured`: the slope at the point whose 95 % interval [`low`, `high`] reaches furthest from the
      exponent; `n`: the least number of repeats behind one of its means.

    Reproduced if every interval is inside expected +- margin (on the one side that counts, where one does); not
    reproduced if one is disjoint from it; else inconclusive. Points left out as vacuous (`without`) are counted.
    Nothing bounds the value of a failed run, so with any of them the verdict is inconclusive.

    - Raises ConfigError: if the claim names a column that the rows do not have.
    - Raises DataError: if a point has two values for one repeat, or the axis is not above 0.
    """
    rule = select.settings(claim, variant)
    axis, metric = rule["axis"], rule["metric"]
    points = [name for name in rule.get("points", ()) if name != axis]
    frame = select.chosen(rule, rows, [*points, axis], metric)
    vacuous = select.vacuous(rule, rows, [*points, axis], metric)
    if frame.empty:
        return Verdict("inconclusive", vacuous) if vacuous else Verdict("not run", select.absent(rule, metric))
    parts = {where: [group] for where, group in select.groups(frame, points)}
    if "against" in rule:
        other = {**rule, "where": {**rule.get("where", {}), **rule["against"]}}
        beside = select.chosen(other, rows, [*points, axis], metric)
        if beside.empty:
            return Verdict("not run", select.absent(other, metric))
        others = dict(select.groups(beside, points))
        if set(others) != set(parts):
            odd = sorted(set(others) ^ set(parts))[0]
            raise DataError(f"{rule['id']}: against: one side alone has rows at {odd}; choose the points by where")
        parts = {where: [*part, others[where]] for where, part in parts.items()}
        frame = pd.concat([frame, beside])
    fits = [_fit(part, rule, where, select.random(rule, variant, rows, where)) for where, part in parts.items()]
    problems = [f"there is no slope{select.at(fit.where)}: {fit.problem}" for fit in fits if fit.problem]
    fitted = [fit for fit in fits if not fit.problem]
    lost = select.failures(frame)
    if not fitted:
        least = rule.get("least_values", 2)
        enough = any(group[axis].nunique() >= least for part in parts.values() for group in part)
        reasons = [reason for reason in (*problems, vacuous, lost) if reason]
        return Verdict("inconclusive" if enough or vacuous or lost else "not run", "; ".join(reasons))
    return _verdict(rule, fitted, problems, vacuous, lost)


def _verdict(
    rule: Mapping[str, Any], fits: Sequence[_Fit], problems: Sequence[str], vacuous: str, lost: str
) -> Verdict:
    bottom, top = rule["expected"] - rule["margin"] - _ROUNDING, rule["expected"] + rule["margin"] + _ROUNDING
    bottom, top = (
        (-math.inf if rule.get("side") == "upper" else bottom),
        (math.inf if rule.get("side") == "lower" else top),
    )
    inside = [bottom <= fit.low and fit.high <= top for fit in fits]
    disjoint = [fit.high < bottom or fit.low > top for fit in fits]
    outcome = select.verdict([*inside, not problems], disjoint)
    if lost:
        outcome = "inconclusive"
    # Of the points that decided against the claim if there are any, the one furthest out.
    deciding = [fit for fit, out in zip(fits, disjoint, strict=True) if out] or fits
    worst = max(deciding, key=lambda fit: max(bottom - fit.low, fit.high - top))
    kind = "range of local slopes" if rule.get("exact", "local") == "local" else "of exact values"
    kind = "95 % bootstrap interval" if worst.n > 1 else kind
    what = "the slope of" if "against" not in rule else "the difference of the slopes of"
    reasons = [
        f"{what} {select.words(rule['metric'])} in {rule['axis']} is {_bounds(rule)} at {sum(inside)} of "
        f"{len(fits)} points and {'apart from it' if 'side' not in rule else 'shown not to be'} at {sum(disjoint)}",
        f"measured: {worst.slope:.3g}, {kind} [{worst.low:.3g}, {worst.high:.3g}]"
        + (f", at the least favourable point, {worst.where}" if worst.where else ""),
        *problems,
        *([vacuous] if vacuous else []),
    ]
    if lost:
        reasons.append(f"{lost}, and nothing bounds what they would have given")
    return Verdict(outcome, "; ".join(reasons), worst.slope, worst.low, worst.high, worst.n)


def _bounds(rule: Mapping[str, Any]) -> str:
    side, expected, margin = rule.get("side"), rule["expected"], rule["margin"]
    if side is None:
        return f"within {margin:g} of {expected:g}"
    return f"at most {expected + margin:g}" if side == "upper" else f"at least {expected - margin:g}"


def _fit(parts: Sequence[pd.DataFrame], rule: Mapping[str, Any], where: str, rng: np.random.Generator) -> _Fit:
    """Fit one slope, or the difference of the slopes of two parts, and its interval."""
    axis, least = rule["axis"], rule.get("least_values", 2)
    xs, sides = zip(*(select.by_axis(part, axis) for part in parts), strict=True)
    x = xs[0]
    if not all(np.array_equal(x, other) for other in xs):
        return _Fit(where, problem=f"the two sides have other values of {axis}")
    if x[0] <= 0:
        raise DataError(f"{axis}={x[0]:g} must be above 0 to have a logarithm; choose another axis")
    if len(x) < 2:
        return _Fit(where, problem=f"{axis} has the one value {x[0]:g} only")
    if len(x) < least:
        return _Fit(where, problem=f"{axis} has {len(x)} values, of {least} that the claim asks for")
    repeats = np.array([[len(v) for v in values] for values in sides])
    fewest = int(np.argmin(repeats.min(axis=0)))
    if repeats.min() == 0:
        return _Fit(where, problem=f"no run succeeded with {axis} {x[fewest]:g}")
    if any(side.min() == 1 < side.max() for side in repeats):
        return _Fit(where, problem=f"{axis} {x[fewest]:g} has a single repeat, which has no spread")
    means = np.array([[v.mean() for v in values] for values in sides])
    if means.min() <= 0:
        lowest = np.unravel_index(np.argmin(means), means.shape)
        return _Fit(
            where, problem=f"the mean with {axis} {x[lowest[1]]:g} is {means[lowest]:.3g}, which has no logarithm"
        )
    weights = np.log(x) - np.log(x).mean()
    weights /= weights @ weights
    logs = np.log(means[0]) - (np.log(means[1]) if len(means) > 1 else 0.0)
    slope = float(weights @ logs)
    if repeats.max() == 1:
        local = np.diff(logs) / np.diff(np.log(x)) if rule.get("exact", "local") == "local" else np.array([slope])
        return _Fit(where, slope, float(local.min()), float(local.max()), 1)
    sample = 0.0
    for sign, values in zip((1.0, -1.0), sides, strict=False):
        # A single value is exact: it has nothing to resample.
        sample = sample + sign * sum(w * _log(select.resample(v, rng)) for w, v in zip(weights, values, strict=True))
    return _Fit(
        where,
        slope,
        select.lower(sample, 0.025),
        select.upper(sample, 0.025),
        int(repeats[repeats.max(axis=1) > 1].min()),
    )


def _log(means: np.ndarray) -> np.ndarray:
    """Logarithms; NaN, which counts against either side, where a resampled mean is not above 0."""
    return np.log(means, out=np.full_like(means, math.nan), where=means > 0)
