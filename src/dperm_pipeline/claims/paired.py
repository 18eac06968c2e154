"""Rule P: one method is better than another, decided by paired one-sided Wilcoxon tests with Holm's correction.

A *point* is one combination of the claim's axes (epsilon, delta) and metrics; the pairs are the repeats. Reproduced if
the test rejects at every point for the claim; not reproduced if it rejects at any point against it, with the same
correction over all points; else inconclusive.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dperm.errors import DataError
from dperm_pipeline.claims import select, wilcoxon
from dperm_pipeline.claims.verdict import Verdict, overall
from dperm_pipeline.multiple import holm

COLUMNS = select.COLUMNS
_RESAMPLES = 10_000
# Points against the claim that a reason names.
_NAMED = 4


@dataclass(frozen=True)
class _Point:
    """The pairs at one point: `difference` = worse - better, NaN where one of the two did not converge."""

    where: str
    metric: str
    difference: np.ndarray
    ratio: float
    p_for: float
    p_against: float


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by paired tests (K-c38: kifer2012, Section 1).

    Keys: `better` and `worse` (the two methods, from columns to values), `points`, `metrics`, `measured` (the metric
    whose difference is reported), `ratio` (the metric whose ratio is), `level`.

    Measured is the mean of worse - better at the least favourable point of that metric (the one with the largest p),
    with its 95 % percentile bootstrap interval; `n`: the pairs there. A pair of which one run did not converge is
    counted as the strongest evidence against whichever direction is being tested, so that a failure can only weaken a
    verdict. Zero differences are dropped, ties share their mean rank.
    """
    points = _points(rule, rows)
    better, worse = _slug(rule["better"]), _slug(rule["worse"])
    if not points:
        raise select.NoRows(f"there are no rows of {better} or {worse}")
    metric = select.words(rule["measured"])
    measurable = [point for point in points if point.metric == rule["measured"]]
    if not measurable:
        raise select.NoRows(f"there are no rows of {metric}, which the claim is measured by")
    level = rule["level"]
    wins = holm([point.p_for for point in points], level)
    losses = holm([point.p_against for point in points], level)
    outcome = overall(wins, losses)

    def unfavourable(point: _Point) -> tuple[float, float]:
        return point.p_for, -np.nanmean(point.difference) if _pairs(point) else math.inf

    least = max(measurable, key=unfavourable)
    reasons = [
        f"{sum(wins)} of {len(points)} points reject in favour of the claim and {sum(losses)} against it "
        f"(one-sided paired Wilcoxon, Holm over all points, level {level:g})",
        *_against([point for point, lost in zip(points, losses, strict=True) if lost]),
        _ratios(rule, points),
        f"measured: mean {metric} of {worse} minus that of {better} at its least favourable point, {least.where} "
        f"(p = {least.p_for:.2g})",
        *_failures(points),
    ]
    if outcome == "inconclusive":
        reasons.append(_power_in_words(least, len(points), level, metric))
    pairs = least.difference[~np.isnan(least.difference)]
    name = f"{rule['id']}/{rule['variant']}/{rows['dataset'].iloc[0]}"
    measured, low, high = _bootstrap(pairs, name) if len(pairs) else (None, None, None)
    return Verdict(outcome, "; ".join(reasons), measured, low, high, len(pairs), sum(wins), len(points))


def _points(rule: Mapping[str, Any], rows: pd.DataFrame) -> list[_Point]:
    """Pair the two methods by repeat at every point where either was run."""
    rows = rows[rows["metric"].isin(rule["metrics"]) & select.matches(rows, rule.get("where", {}))]
    axes = rule["points"]
    keys = [*axes, "metric", "repeat"]
    sides = {}
    for side in ("better", "worse"):
        chosen = rows[select.matches(rows, rule[side])].astype({"metric": object})
        twice = chosen[chosen.duplicated(keys)]
        if len(twice):
            at = ", ".join(f"{key}={value}" for key, value in twice.iloc[0][keys].items())
            raise DataError(f"{_slug(rule[side])} has two values at {at}; tell them apart by where or points")
        sides[side] = chosen.set_index(keys)["value"].where(chosen.set_index(keys)["status"] == "ok")
    pairs = pd.DataFrame(sides).sort_index()
    points = []
    for key, group in pairs.groupby(level=[*axes, "metric"], sort=True):
        difference = (group["worse"] - group["better"]).to_numpy()
        both = group.dropna()
        means = both.mean()
        ratio = means["worse"] / means["better"] if len(both) and means["better"] > 0 else math.nan
        where = select.in_words(axes, key[:-1])
        points.append(
            _Point(
                where,
                key[-1],
                difference,
                ratio,
                wilcoxon.signed_rank_p(np.where(np.isnan(difference), -math.inf, difference)),
                wilcoxon.signed_rank_p(np.where(np.isnan(difference), -math.inf, -difference)),
            )
        )
    return points


def _bootstrap(pairs: np.ndarray, name: str) -> tuple[float, float, float]:
    """Return the mean and its 95 % percentile bootstrap interval; the stream is seeded by the verdict's name."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    means = pairs[rng.integers(len(pairs), size=(_RESAMPLES, len(pairs)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(pairs.mean()), float(low), float(high)


def _against(points: Sequence[_Point]) -> list[str]:
    """Name the points that decided against the claim, the clearest first."""
    if not points:
        return []
    clearest = sorted(points, key=lambda point: point.p_against)
    named = [f"{select.words(point.metric)} at {point.where}" for point in clearest]
    more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
    return [f"against it: {' / '.join(named[:_NAMED])}{more}"]


def _ratios(rule: Mapping[str, Any], points: Sequence[_Point]) -> str:
    metric = select.words(rule["ratio"])
    ratios = [point.ratio for point in points if point.metric == rule["ratio"] and not math.isnan(point.ratio)]
    if not ratios:
        return f"no ratio of mean {metric} exists"
    better, worse = _slug(rule["better"]), _slug(rule["worse"])
    return f"mean {metric} of {worse} is {min(ratios):.3g} to {max(ratios):.3g} times that of {better}"


def _failures(points: Sequence[_Point]) -> list[str]:
    lost = [point for point in points if _pairs(point) < len(point.difference)]
    if not lost:
        return []
    worst = min(lost, key=_pairs)
    all_pairs = len(worst.difference)
    return [
        f"pairs lack a converged run at {len(lost)} points and count against the verdict (most: "
        f"{all_pairs - _pairs(worst)} of {all_pairs} in {select.words(worst.metric)} at {worst.where})"
    ]


def _power_in_words(point: _Point, points: int, level: float, metric: str) -> str:
    """Say what the test could have seen at the level it has to pass in the worst case, level/points."""
    n, worst = _pairs(point), level / points
    # Only differences other than 0 have a sign to speak with.
    signed = int((np.nan_to_num(point.difference) != 0).sum())
    effect = wilcoxon.detectable(signed, worst)
    if math.isinf(effect):
        needed = math.ceil(-math.log2(worst))
        return (
            f"power: none, {signed} differing pairs there cannot reject at level {worst:.2g} whatever they hold; at "
            f"least {needed} are needed"
        )
    spread = float(np.nanstd(point.difference, ddof=1))
    return (
        f"power: {n} pairs detect a mean difference of {effect:.2f} standard deviations ({effect * spread:.2g} in "
        f"{metric} there) with probability {wilcoxon.POWER:g} at level {worst:.2g}"
    )


def _pairs(point: _Point) -> int:
    return int((~np.isnan(point.difference)).sum())


def _slug(method: Mapping[str, str]) -> str:
    return ".".join(map(str, method.values()))
