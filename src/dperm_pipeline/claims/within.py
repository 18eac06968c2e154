r"""Rule W: a difference or a ratio lies inside an interval, or on the stated side of a number, at every point.

A point (`dperm_pipeline.claims.points`; with `log: true` a sum is the logarithm of a ratio) has n repeats with the mean
m and the standard deviation s. Its 95 % interval is Student's,

    m +- t_{n-1}(0.975) s sqrt(1/n + overlap),

where `overlap` = (rows tested on)/(rows trained on) is Nadeau and Bengio's factor (Machine Learning 52, 2003) for
repeats that are random splits of the same rows, whose training sets overlap; 0 for repeats that are independent. With
`holm: true` two one-sided tests decide, each with Holm's procedure over all points: a point is inside if "it is
outside" is rejected, and outside if "it is inside" is rejected. With `some: true` the claim speaks of what may happen:
one point that is inside suffices, and all have to be outside against it.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dperm.errors import ConfigError
from dperm_pipeline import multiple
from dperm_pipeline.claims import points, select
from dperm_pipeline.claims.verdict import Verdict, overall

COLUMNS = select.COLUMNS
_LEVEL = 0.05


@dataclass(frozen=True)
class _Interval:
    """The mean at one point with its 95 % interval, and one-sided p-values.

    `p_inside` is that of its being inside (small: it is shown to be outside), `p_outside` that of its being outside.
    """

    point: points.Point
    mean: float
    low: float
    high: float
    p_inside: float
    p_outside: float


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the mean at every point (jain2013, catalogue of claims: J-c18, c20, c34, c35, c38).

    Keys: those of `points`, at least one of `low` and `high` (in the sum's units: logarithms where its comparison is
    one), maybe `overlap` (at least 0, default 0), `holm` (true: the level is shared by Holm for the claim too, not only
    against it) and `some` (true: one point that is inside suffices; only with `holm`).

    Measured is the mean at the least favourable point (with `some` at the most favourable one, which is open where the
    verdict is) with its 95 % interval; `n`: its repeats. Reproduced if the interval lies inside [low, high] at every
    point (with `holm`: if Holm's procedure at 5 % rejects, at every point, that it does not); not reproduced if it is
    disjoint at any, the level shared among the points by Holm; else inconclusive. A repeat that lacks a value is left
    out; a point that lacks more than 5 % of them stays open.
    """
    if "low" not in rule and "high" not in rule:
        raise ConfigError(f"{rule['id']}: low, high: neither given; give one or both")
    bottom, top = rule.get("low", -math.inf), rule.get("high", math.inf)
    overlap, shared, some = rule.get("overlap", 0.0), rule.get("holm", False), rule.get("some", False)
    if some and not shared:
        raise ConfigError(f"{rule['id']}: some: needs holm, as one point of many may be inside by chance")
    found = [_interval(point, bottom, top, overlap) for point in points.contrasts(rule, rows)]
    # Holm shares the level against the claim always, for it where the rule says so.
    if shared:
        inside = multiple.holm([one.p_outside for one in found], _LEVEL)
        outside = multiple.holm([one.p_inside for one in found], _LEVEL)
    else:
        inside = [bottom <= one.low and one.high <= top for one in found]
        outside = multiple.holm([one.p_inside for one in found], _LEVEL / 2)
    test = "tests" if shared else "intervals"
    factor = f", overlap {overlap:.3g}" if overlap else ""
    reasons = [
        f"{sum(inside)} of {len(found)} points are shown to be {_in_words(bottom, top)} and {sum(outside)} not to be "
        f"(95 % Student {test}{factor}; Holm over the points{'' if shared else ' against the claim'})"
    ]
    measured = [one for one in found if len(one.point.values)]
    if not measured:
        return Verdict("inconclusive", "; ".join([*reasons, "no repeat has all values"]), n=0)
    outcome = overall([any(inside)], [all(outside)]) if some else overall(inside, outside)
    # The point that is shown; where it is open whether any is inside, the one that may most easily be.
    if some and outcome == "inconclusive":
        undecided = [one for one, out in zip(found, outside, strict=True) if len(one.point.values) and not out]
        shown = min(undecided or measured, key=lambda one: one.p_outside)
        at = f" at the most favourable point, {shown.point.where}" if shown.point.where else ""
    elif some:
        shown = min(measured, key=lambda one: max(one.high - top, bottom - one.low))
        at = f" at the most favourable point, {shown.point.where}" if shown.point.where else ""
    else:
        shown = max(
            measured, key=lambda one: (one.low > top or one.high < bottom, max(one.high - top, bottom - one.low))
        )
        at = select.least_favourable(shown.point.where)
    reasons.append(f"measured: {shown.mean:.3g} [{shown.low:.3g}, {shown.high:.3g}]{at}")
    lost = sum(one.point.repeats - len(one.point.values) for one in found)
    if lost:
        reasons.append(f"{lost} repeats lack a value")
    n = len(shown.point.values)
    if outcome == "inconclusive":
        reasons.append(_power(shown, bottom, top, overlap))
    return Verdict(outcome, "; ".join(reasons), shown.mean, shown.low, shown.high, n, sum(inside), len(found))


def _power(shown: _Interval, bottom: float, top: float, overlap: float) -> str:
    """Say what more repeats would do for the interval that is shown."""
    if not math.isfinite(shown.high - shown.low):
        return "too few repeats have a value for an interval"
    asked = f", the range asked for {top - bottom:.2g}" if math.isfinite(top - bottom) else ""
    n = len(shown.point.values)
    shrinks = "half as wide takes four times as many"
    if overlap:
        shrinks = "of which more splits leave what the overlap of their training rows adds"
    return f"its interval is {shown.high - shown.low:.2g} wide for {n} repeats{asked} ({shrinks})"


def _interval(point: points.Point, bottom: float, top: float, overlap: float) -> _Interval:
    n = len(point.values)
    if point.exact and n:
        return _certain(point, float(point.values[0]), bottom, top)
    if n < 2 or n < (1 - points.LOST) * point.repeats:
        return _Interval(point, float(np.mean(point.values)) if n else math.nan, -math.inf, math.inf, 1.0, 1.0)
    mean, error = float(point.values.mean()), float(point.values.std(ddof=1)) * math.sqrt(1 / n + overlap)
    if error == 0:
        return _certain(point, mean, bottom, top)
    reach = float(special.stdtrit(n - 1, 1 - _LEVEL / 2)) * error
    beyond = max(mean - top, bottom - mean) / error
    tails = (float(special.stdtr(n - 1, -beyond)), float(special.stdtr(n - 1, beyond)))
    return _Interval(point, mean, mean - reach, mean + reach, *tails)


def _certain(point: points.Point, value: float, bottom: float, top: float) -> _Interval:
    inside = bottom <= value <= top
    return _Interval(point, value, value, value, float(inside), float(not inside))


def _in_words(bottom: float, top: float) -> str:
    if math.isinf(bottom):
        return f"at most {top:.4g}"
    return f"at least {bottom:.4g}" if math.isinf(top) else f"within [{bottom:.4g}, {top:.4g}]"
