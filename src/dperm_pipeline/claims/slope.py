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
from typing import Any

import numpy as np
import pandas as pd

from dperm.errors import DataError
from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Estimate, Verdict, overall

COLUMNS = select.COLUMNS
# An exponent is known up to the rounding of logarithms.
_ROUNDING = 1e-9


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the slope at every point.

    Keys: `metric`, `axis` (column above 0), `expected` (the exponent), `margin` (such as 0.1), `points` (further
    columns, by default none: the slope is fitted at each combination), `side` ("upper": only a slope above expected +
    margin is against the claim; "lower": only one below expected - margin; without it both), `least_values` (values of
    the axis that a slope needs; by default 2), `exact` ("point", or by default "local"), `against` (from columns to
    values: those of `where` replaced by these).

    Measured is the slope at the point whose 95 % interval reaches furthest from the exponent; `n`: the least number of
    repeats behind one of its means. Reproduced if every interval is inside expected +- margin (on the one side that
    counts, where one does); not reproduced if one is disjoint from it; else inconclusive. Points left out as vacuous
    (`without`) are counted. Nothing bounds the value of a failed run, so with any of them the verdict is inconclusive.
    """
    axis, metric = rule["axis"], rule["metric"]
    points = [name for name in rule.get("points", ()) if name != axis]
    frame = select.chosen(rule, rows, [*points, axis], metric)
    vacuous = select.vacuous(rule, rows, [*points, axis], metric)
    if frame.empty:
        if vacuous:
            return Verdict("inconclusive", vacuous)
        raise select.NoRows(select.absent(rule, metric))
    parts = {where: [group] for where, group in select.groups(frame, points)}
    if "against" in rule:
        other = {**rule, "where": {**rule.get("where", {}), **rule["against"]}}
        beside = select.required(other, rows, [*points, axis], metric)
        others = dict(select.groups(beside, points))
        if set(others) != set(parts):
            odd = sorted(set(others) ^ set(parts))[0]
            raise DataError(f"{rule['id']}: against: one side alone has rows at {odd}; choose the points by where")
        parts = {where: [*part, others[where]] for where, part in parts.items()}
        frame = pd.concat([frame, beside])
    slopes = [_slope(part, rule, where, select.random(rule, rows, where)) for where, part in parts.items()]
    problems = [f"there is no slope{select.at(one.where)}: {one.problem}" for one in slopes if one.problem]
    fitted = [one for one in slopes if not one.problem]
    lost = select.failures(frame)
    if not fitted:
        least = rule.get("least_values", 2)
        enough = any(group[axis].nunique() >= least for part in parts.values() for group in part)
        reasons = [reason for reason in (*problems, vacuous, lost) if reason]
        return Verdict("inconclusive" if enough or vacuous or lost else "not run", "; ".join(reasons))
    return _verdict(rule, fitted, problems, vacuous, lost)


def _verdict(
    rule: Mapping[str, Any], slopes: Sequence[Estimate], problems: Sequence[str], vacuous: str, lost: str
) -> Verdict:
    bottom, top = rule["expected"] - rule["margin"] - _ROUNDING, rule["expected"] + rule["margin"] + _ROUNDING
    if rule.get("side") == "upper":
        bottom = -math.inf
    if rule.get("side") == "lower":
        top = math.inf
    inside = [bottom <= one.low and one.high <= top for one in slopes]
    disjoint = [one.high < bottom or one.low > top for one in slopes]
    outcome = "inconclusive" if lost else overall([*inside, not problems], disjoint)
    # Of the points that decided against the claim if there are any, the one furthest out.
    deciding = [one for one, out in zip(slopes, disjoint, strict=True) if out] or slopes
    worst = max(deciding, key=lambda one: max(bottom - one.low, one.high - top))
    if worst.n > 1:
        kind = "95 % bootstrap interval"
    else:
        kind = "range of local slopes" if rule.get("exact", "local") == "local" else "of exact values"
    what = "the difference of the slopes of" if "against" in rule else "the slope of"
    reasons = [
        f"{what} {select.words(rule['metric'])} in {rule['axis']} is {_bounds(rule)} at {sum(inside)} of "
        f"{len(slopes)} points and {'apart from it' if 'side' not in rule else 'shown not to be'} at {sum(disjoint)}",
        f"measured: {worst.value:.3g}, {kind} [{worst.low:.3g}, {worst.high:.3g}]"
        f"{select.least_favourable(worst.where, ',')}",
        *problems,
    ]
    if vacuous:
        reasons.append(vacuous)
    if lost:
        reasons.append(f"{lost}, and nothing bounds what they would have given")
    elif outcome == "inconclusive":
        reasons.append(worst.power)
    return worst.verdict(outcome, reasons, inside)


def _bounds(rule: Mapping[str, Any]) -> str:
    side, expected, margin = rule.get("side"), rule["expected"], rule["margin"]
    if side is None:
        return f"within {margin:g} of {expected:g}"
    return f"at most {expected + margin:g}" if side == "upper" else f"at least {expected - margin:g}"


def _slope(parts: Sequence[pd.DataFrame], rule: Mapping[str, Any], where: str, rng: np.random.Generator) -> Estimate:
    """Fit one slope, or the difference of the slopes of two parts, and its interval."""
    axis, least = rule["axis"], rule.get("least_values", 2)
    xs, sides = zip(*(select.by_axis(part, axis) for part in parts), strict=True)
    x = xs[0]
    if not all(np.array_equal(x, other) for other in xs):
        return Estimate(where, problem=f"the two sides have other values of {axis}")
    if x[0] <= 0:
        raise DataError(f"{axis}={x[0]:g} must be above 0 to have a logarithm; choose another axis")
    if len(x) < 2:
        return Estimate(where, problem=f"{axis} has the one value {x[0]:g} only")
    if len(x) < least:
        return Estimate(where, problem=f"{axis} has {len(x)} values, of {least} that the claim asks for")
    repeats = np.array([[len(v) for v in values] for values in sides])
    fewest = int(np.argmin(repeats.min(axis=0)))
    if repeats.min() == 0:
        return Estimate(where, problem=f"no run succeeded with {axis} {x[fewest]:g}")
    if any(side.min() == 1 < side.max() for side in repeats):
        return Estimate(where, problem=f"{axis} {x[fewest]:g} has a single repeat, which has no spread")
    means = np.array([[v.mean() for v in values] for values in sides])
    if means.min() <= 0:
        lowest = np.unravel_index(np.argmin(means), means.shape)
        return Estimate(
            where, problem=f"the mean with {axis} {x[lowest[1]]:g} is {means[lowest]:.3g}, which has no logarithm"
        )
    weights = np.log(x) - np.log(x).mean()
    weights /= weights @ weights
    logs = np.log(means[0]) - (np.log(means[1]) if len(means) > 1 else 0.0)
    slope = float(weights @ logs)
    if repeats.max() == 1:
        # Exact values have no spread: their slope is known, or bounded by those between neighbours.
        local = np.diff(logs) / np.diff(np.log(x)) if rule.get("exact", "local") == "local" else np.array([slope])
        return Estimate(where, slope, float(local.min()), float(local.max()), 1)
    sample = 0.0
    for sign, values in zip((1.0, -1.0), sides, strict=False):
        sample = sample + sign * sum(w * _log(select.resample(v, rng)) for w, v in zip(weights, values, strict=True))
    # A side of single values is exact, and says nothing of the repeats.
    n = int(repeats[repeats.max(axis=1) > 1].min())
    return Estimate(where, slope, select.lower(sample, 0.025), select.upper(sample, 0.025), n)


def _log(means: np.ndarray) -> np.ndarray:
    """Logarithms; NaN, which counts against either side, where a resampled mean is not above 0."""
    return np.log(means, out=np.full_like(means, math.nan), where=means > 0)
