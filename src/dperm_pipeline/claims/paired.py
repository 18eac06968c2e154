"""Rule P: one method is better than another, decided by paired one-sided Wilcoxon tests with Holm's correction.

A *point* is one combination of the claim's axes (epsilon, delta) and metrics; the pairs are the repeats. Reproduced if
the test rejects at every point for the claim; not reproduced if it rejects at any point against it, with the same
correction over all points; else inconclusive.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dperm.errors import DataError
from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Verdict
from dperm_pipeline.multiple import holm

COLUMNS = select.COLUMNS
_RESAMPLES = 10_000
_POWER = 0.8


@dataclass(frozen=True)
class _Point:
    """The pairs at one point: `difference` = worse - better, NaN where one of the two did not converge."""

    where: str
    metric: str
    difference: np.ndarray
    ratio: float
    p_for: float
    p_against: float


def decide(claim: Mapping[str, Any], variant: str, rows: pd.DataFrame) -> Verdict:
    """Decide one variant of a claim on one data set.

    - claim: entry of the catalogue: `variants` (each with the methods `better` and `worse`, from columns to values, and
      maybe `where`, which rows of both), `points`, `metrics`, `measured` (the metric whose difference is reported),
      `ratio` (the metric whose ratio is), `level`.
    - variant: a key of `claim["variants"]`.
    - rows: the rows of the data set, with `COLUMNS`.
    - Returns: `measured`: the mean of worse - better at the least favourable point of the metric `claim["measured"]`
      (the one with the largest p), with its 95 % percentile bootstrap interval; `n`: the pairs there.

    Claims: K-c38 (kifer2012, Section 1). A pair of which one run did not converge is counted as the strongest evidence
    against whichever direction is being tested, so that a failure can only weaken a verdict. Zero differences are
    dropped (Wilcoxon), ties share their mean rank, and the null distribution is exact for the ranks as they are.

    - Raises DataError: if a method has two values for one repeat of a point, such as two chosen settings.
    """
    methods = claim["variants"][variant]
    points = _points(select.settings(claim, variant), rows)
    if not points:
        return Verdict("not run", f"there are no rows of {_slug(methods['better'])} or {_slug(methods['worse'])}")
    measurable = [point for point in points if point.metric == claim["measured"]]
    if not measurable:
        return Verdict("not run", f"there are no rows of {_words(claim['measured'])}, which the claim is measured by")
    level = claim["level"]
    wins = holm([point.p_for for point in points], level)
    losses = holm([point.p_against for point in points], level)
    least = max(
        measurable,
        key=lambda point: (point.p_for, -np.nanmean(point.difference) if _pairs(point) else math.inf),
    )
    verdict = "reproduced" if all(wins) else "not reproduced" if any(losses) else "inconclusive"
    reasons = [
        f"{sum(wins)} of {len(points)} points reject in favour of the claim and {sum(losses)} against it "
        f"(one-sided paired Wilcoxon, Holm over all points, level {level:g})",
        *_against([point for point, lost in zip(points, losses, strict=True) if lost]),
        *_ratios(claim, methods, points),
        f"measured: mean {_words(claim['measured'])} of {_slug(methods['worse'])} minus that of "
        f"{_slug(methods['better'])} at its least favourable point, {least.where} (p = {least.p_for:.2g})",
        *_failures(points),
    ]
    if verdict == "inconclusive":
        reasons.append(_power_in_words(least, len(points), level, claim["measured"]))
    pairs = least.difference[~np.isnan(least.difference)]
    name = f"{claim['id']}/{variant}/{rows['dataset'].iloc[0]}"
    measured, low, high = _bootstrap(pairs, name) if len(pairs) else (None, None, None)
    return Verdict(verdict, "; ".join(reasons), measured, low, high, len(pairs))


def signed_rank_p(difference: np.ndarray) -> float:
    """Return the one-sided p-value of Wilcoxon's signed-rank test that differences tend to be above 0.

    Exact given the ranks: 2 T is compared with all 2^n sums of signs by convolution, so that ties are no approximation.

    - difference: shape (n,); may hold infinities (tied among themselves); zeros are dropped.
    - Returns: P(T >= the observed sum of ranks of positive differences) under random signs; 1 without a nonzero
      difference.
    - Source: Wilcoxon 1945; agrees with `scipy.stats.wilcoxon(method="exact")` where there are no ties.
    """
    difference = difference[difference != 0]
    if not len(difference):
        return 1.0
    # Mean ranks are multiples of 1/2: twice them are integers.
    doubled = np.rint(2 * pd.Series(np.abs(difference)).rank()).astype(int)
    return min(1.0, float(signed_rank_law(doubled)[doubled[difference > 0].sum() :].sum()))


def signed_rank_law(ranks: np.ndarray) -> np.ndarray:
    """Return Wilcoxon's null law: P(T = t) of the sum T of those ranks whose fair coin shows heads.

    - ranks: shape (n,); at least 0; 1, ..., n where there are no ties.
    - Returns: shape (sum(ranks) + 1,).
    """
    return _law(tuple(np.sort(ranks).tolist())).copy()


@lru_cache(maxsize=8)
def _law(ranks: tuple[int, ...]) -> np.ndarray:
    law, reach = np.zeros(sum(ranks) + 1), 1
    law[0] = 1.0
    for rank in ranks:
        # Beyond `reach` the law is 0 yet.
        low, high = law[:reach].copy(), law[rank : reach + rank]
        law[:reach] *= 0.5
        high += 0.5 * low
        reach += rank
    return law


def detectable(n: int, level: float, power: float = _POWER) -> float:
    """Return the mean of normal differences, in standard deviations, that the test detects with probability `power`.

    - n: pairs.
    - level: one-sided level of the single test.
    - power: in (0, 1).
    - Returns: infinite if `n` pairs cannot reject at `level` at all: the smallest p-value is 2^-n.

    T is the number of positive Walsh averages (z_i + z_j)/2, i <= j, so a sample is rejected from the shift on that
    lifts the c-th largest of them above 0, c being the critical value: the answer is a quantile of that shift over
    2,000 simulated samples (fixed seed; standard error about 0.01). Above 100 pairs the normal approximation with
    Wilcoxon's efficiency 3/pi serves; below, and at small levels, it promises too much.
    """
    if 2.0**-n > level:
        return math.inf
    if n > 100:
        return float((special.ndtri(power) - special.ndtri(level)) / math.sqrt(3 / math.pi * n))
    tail = np.cumsum(signed_rank_law(np.arange(1, n + 1))[::-1])[::-1]
    critical = int(np.argmax(tail <= level))
    z = np.random.default_rng(n).standard_normal((2000, n))
    i, j = np.triu_indices(n)
    walsh = 0.5 * (z[:, i] + z[:, j])
    return float(np.quantile(-np.partition(walsh, -critical, axis=1)[:, -critical], power))


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
                signed_rank_p(np.where(np.isnan(difference), -math.inf, difference)),
                signed_rank_p(np.where(np.isnan(difference), -math.inf, -difference)),
            )
        )
    return points


def _bootstrap(pairs: np.ndarray, name: str) -> tuple[float, float, float]:
    """Return the mean and its 95 % percentile bootstrap interval; the stream is seeded by the verdict's name."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    means = pairs[rng.integers(len(pairs), size=(_RESAMPLES, len(pairs)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(pairs.mean()), float(low), float(high)


def _against(points: Sequence[_Point], most: int = 4) -> list[str]:
    """Name the points that decided against the claim, the clearest first."""
    named = [f"{_words(point.metric)} at {point.where}" for point in sorted(points, key=lambda point: point.p_against)]
    more = f" and {len(named) - most} more" if len(named) > most else ""
    return [f"against it: {' / '.join(named[:most])}{more}"] if named else []


def _ratios(claim: Mapping[str, Any], methods: Mapping[str, Any], points: Sequence[_Point]) -> list[str]:
    metric = _words(claim["ratio"])
    ratios = [point.ratio for point in points if point.metric == claim["ratio"] and not math.isnan(point.ratio)]
    if not ratios:
        return [f"no ratio of mean {metric} exists"]
    better, worse = (_slug(methods[side]) for side in ("better", "worse"))
    return [f"mean {metric} of {worse} is {min(ratios):.3g} to {max(ratios):.3g} times that of {better}"]


def _failures(points: Sequence[_Point]) -> list[str]:
    lost = [point for point in points if _pairs(point) < len(point.difference)]
    if not lost:
        return []
    worst = min(lost, key=_pairs)
    all_pairs = len(worst.difference)
    return [
        f"pairs lack a converged run at {len(lost)} points and count against the verdict (most: "
        f"{all_pairs - _pairs(worst)} of {all_pairs} in {_words(worst.metric)} at {worst.where})"
    ]


def _power_in_words(point: _Point, points: int, level: float, metric: str) -> str:
    """Say what the test could have seen at the level it has to pass in the worst case, level/points."""
    n, worst = _pairs(point), level / points
    # Only differences other than 0 have a sign to speak with.
    signed = int((np.nan_to_num(point.difference) != 0).sum())
    effect = detectable(signed, worst)
    if math.isinf(effect):
        needed = math.ceil(-math.log2(worst))
        return (
            f"power: none, {signed} differing pairs there cannot reject at level {worst:.2g} whatever they hold; at "
            f"least {needed} are needed"
        )
    spread = float(np.nanstd(point.difference, ddof=1))
    return (
        f"power: {n} pairs detect a mean difference of {effect:.2f} standard deviations ({effect * spread:.2g} in "
        f"{_words(metric)} there) with probability {_POWER:g} at level {worst:.2g}"
    )


def _pairs(point: _Point) -> int:
    return int((~np.isnan(point.difference)).sum())


def _slug(method: Mapping[str, str]) -> str:
    return ".".join(map(str, method.values()))


def _words(metric: str) -> str:
    return metric.replace("_", " ")
