r"""Rule C: a bound that may fail with probability gamma fails no more often.

At each point k of n repeats violate the bound. The one-sided Clopper-Pearson bounds on the violation rate,

    upper = B^-1(1 - a; k + 1, n - k),    lower = B^-1(a; k, n - k + 1),    a = level / points,

B^-1 being the quantile of the beta law, hold at all points at once with probability 1 - level (Bonferroni); if the
points stand `apart`, a = level.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy import special

from dperm.errors import DataError
from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Verdict, overall

COLUMNS = (*select.COLUMNS, "gamma")
_MOST = 10**9


@dataclass(frozen=True)
class _Point:
    """The count at one point; the bounds take failed runs for violations (`high`) or for none (`low`)."""

    where: str
    gamma: float
    violated: int
    ran: int
    n: int
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return self.high <= self.gamma

    @property
    def refutes(self) -> bool:
        return self.low > self.gamma


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide from counts of violations.

    Keys: `points` (columns; `gamma` is added), `metric` (by default "violated"; 0 or 1 for each repeat), `level` (by
    default 0.05), `apart` (true: the level of each point), `least_values` (points that have to be left, by default 1).
    Rows: `gamma` in [0, 1] is the probability with which the bound may fail.

    Measured is the violation rate at the least favourable point (failed runs left out), between the bounds that decide
    there; `n`: the repeats there. A failed run counts as the strongest evidence against whichever direction is being
    tested. Points left out as vacuous (`without`) are counted.
    """
    keys = list(dict.fromkeys([*rule.get("points", ()), "gamma"]))
    metric, level = rule.get("metric", "violated"), rule.get("level", 0.05)
    frame = select.chosen(rule, rows, keys, metric)
    vacuous = select.vacuous(rule, rows, keys, metric)
    if frame.empty:
        if vacuous:
            return Verdict("inconclusive", vacuous)
        raise select.NoRows(select.absent(rule, metric))
    _check(rule, metric, frame)
    # Each point has its share of the level, by Bonferroni.
    groups = list(select.groups(frame, keys))
    apart = rule.get("apart", False)
    share = level if apart else level / len(groups)
    points = [_point(where, group, share) for where, group in groups]
    holds, refuted = [point.holds for point in points], [point.refutes for point in points]
    enough = len(points) >= rule.get("least_values", 1)
    outcome = overall([enough, *holds], refuted)
    # The point that is shown: the clearest refutation, else the one with the least room.
    if any(refuted):
        worst = max(points, key=lambda point: point.low - point.gamma)
    else:
        worst = max(points, key=lambda point: point.high - point.gamma)
    reasons = [
        f"the violation rate is shown to be at most gamma at {sum(holds)} of {len(points)} points and above it at "
        f"{sum(refuted)} (one-sided Clopper-Pearson, {'at each point' if apart else 'Bonferroni over all points'}, "
        f"level {level:g})",
        f"measured: {worst.violated} violations in {worst.ran} runs at the least favourable point, {worst.where}: the "
        f"rate is between {worst.low:.3g} and {worst.high:.3g}",
    ]
    if lost := select.failures(frame):
        reasons.append(f"{lost} and count against the verdict")
    if vacuous:
        reasons.append(vacuous)
    if not enough:
        reasons.append(f"the claim asks for {rule['least_values']} points")
    if outcome == "inconclusive" and not all(holds):
        reasons.append(_power_in_words(points, share))
    rate = worst.violated / worst.ran if worst.ran else None
    return Verdict(outcome, "; ".join(reasons), rate, worst.low, worst.high, worst.n, sum(holds), len(points))


def rate_bounds(violated: int, n: int, share: float) -> tuple[float, float]:
    """Return the one-sided bounds on a probability, lower and upper, each wrong with probability at most `share`.

    Clopper and Pearson, Biometrika 26 (1934); `violated` in 0..n, n at least 1.
    """
    low = float(special.betaincinv(violated, n - violated + 1, share)) if violated else 0.0
    high = float(special.betainccinv(violated + 1, n - violated, share)) if violated < n else 1.0
    return low, high


def needed(rate: float, gamma: float, share: float) -> float:
    """Return with how many repeats n a point would be decided if the violation rate stayed as it is.

    upper(ceil(rate n), n) <= gamma, or lower(floor(rate n), n) > gamma if rate > gamma; found by bisection, so that
    n - 1 would not do. Infinite above 1e9 repeats, such as where the rate is gamma.
    """

    def decided(n: int) -> bool:
        if rate > gamma:
            return rate_bounds(math.floor(rate * n), n, share)[0] > gamma
        return rate_bounds(min(n, math.ceil(rate * n)), n, share)[1] <= gamma

    return _least(decided)


def _least(decided: Callable[[int], bool]) -> float:
    enough = 1
    while not decided(enough):
        enough *= 2
        if enough > _MOST:
            return math.inf
    short = enough // 2
    while enough - short > 1:
        middle = (short + enough) // 2
        if decided(middle):
            enough = middle
        else:
            short = middle
    return enough


def _check(rule: Mapping[str, Any], metric: str, frame: pd.DataFrame) -> None:
    odd = frame["value"].dropna()
    odd = odd[~odd.isin([0.0, 1.0])]
    if len(odd):
        raise DataError(f"{rule['id']}: {metric}={odd.iloc[0]:g} must be 0 or 1 in every row; choose another metric")
    outside = frame.loc[~frame["gamma"].between(0.0, 1.0), "gamma"]
    if len(outside):
        raise DataError(f"{rule['id']}: gamma={outside.iloc[0]:g} must be in [0, 1]: it is a probability")


def _point(where: str, group: pd.DataFrame, share: float) -> _Point:
    n, violated, lost = len(group), int(group["value"].sum()), int(group["value"].isna().sum())
    low, high = rate_bounds(violated, n, share)[0], rate_bounds(violated + lost, n, share)[1]
    return _Point(where, float(group["gamma"].iloc[0]), violated, n - lost, n, low, high)


def _power_in_words(points: list[_Point], share: float) -> str:
    """Say how many repeats the undecided point that needs most would need."""
    open_points = [p for p in points if p.high > p.gamma]
    counts = [needed(p.violated / p.n, p.gamma, share) for p in open_points]
    most = max(counts)
    point = open_points[counts.index(most)]
    number = "more than 1e9" if math.isinf(most) else f"{most}"
    return (
        f"power: {number} repeats would be needed at {point.where} to decide if its violation rate stayed "
        f"{point.violated / point.n:.3g}"
    )
