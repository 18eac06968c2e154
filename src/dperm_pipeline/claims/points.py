r"""What `ordered`, `equal` and `monotone` share: signed sums at many points, and a verdict by how many of them hold.

A *comparison* is a signed sum of a metric over methods, one number for each repeat,

    z_r = sum_k times_k value_k(point, r),

and a *point* one comparison at one combination of the columns `claim["points"]`. Keys of the claim, or of a variant:

- `comparisons`: list; each has `above` and `below` (columns to values: times +1 and -1) or `terms`, a list of {times
  (default 1), where, metric, constant}, or neither (the metric itself); and maybe `where` (rows of all its terms),
  `metric`, `margin`, `log` (true: logarithms of the values). `constant` names columns among points and `repeat` along
  which a term has one value, which serves at all points and repeats: a benchmark without noise. If every term has one
  value for all repeats, so has their sum, which is then taken as exact.
- `points`: with `dataset` among them, all of the claim's data sets are decided together.
- `metric`, `margin`: of the comparisons that do not set their own (margin: 0 by default).
- `wilcoxon_for`: data sets, whose intervals are Wilcoxon's (all Walsh averages) instead of Student's.
- `hold`, `reversed`: shares, 0.8 and 0.1 by default; `general: true` says 0.6 and 0.2.

A rule decides each point: it *holds*, *fails*, or is open; *reversed* is one that shows the opposite. Reproduced if at
least `hold` of the points hold and at most `reversed` are reversed; not reproduced if at least half fail; else
inconclusive. With `every: true` all points have to hold, and a single one that is reversed refutes. A repeat that lacks
a value is left out; a point that lacks more than 5 % of its repeats stays open.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dperm.errors import ConfigError, DataError
from dperm_pipeline.claims import select, wilcoxon
from dperm_pipeline.claims.verdict import Verdict

# Of the repeats of a point: with more of them lost it stays open.
LOST = 0.05
_SHARES = {False: (0.8, 0.1), True: (0.6, 0.2)}
_FAIL = 0.5
# At which the rules ask for intervals.
_LEVELS = (0.90, 0.95)


@dataclass(frozen=True)
class Point:
    """One point: `values` of the repeats that have all terms, of `repeats` in all; `by_rank` asks for Wilcoxon's.

    `exact` is a single value without repeats.
    """

    where: str
    values: np.ndarray
    repeats: int
    margin: float
    by_rank: bool
    exact: bool = False

    @cached_property
    def _ordered(self) -> dict[int, float]:
        """Order statistics of the Walsh averages by place: all that intervals and the median ask, found in one go."""
        n = len(self.values)
        count = n * (n + 1) // 2
        tails = [outside for outside in (wilcoxon.averages_outside(n, level) for level in _LEVELS) if outside]
        places = {(count - 1) // 2, count // 2, *(t - 1 for t in tails), *(count - t for t in tails)}
        return wilcoxon.order_statistics(np.sort(self.values), sorted(places))


@dataclass(frozen=True)
class Decided:
    """What a rule says of one point, whose 95 % interval is [`low`, `high`]."""

    point: Point
    low: float
    high: float
    holds: bool
    fails: bool
    reversed: bool


def contrasts(rule: Mapping[str, Any], rows: pd.DataFrame) -> list[Point]:
    """Return every point of every comparison; with `axis` its values are Spearman's correlations of sums along it.

    NoRows if there are no rows of a term; ConfigError if the rule names a column that the rows do not have, or
    `wilcoxon_for` without knowing the data set; DataError if a term has two values for one repeat of a point, or a
    logarithm is asked of a value that is not above 0.
    """
    axis = rule.get("axis")
    keys = [name for name in rule["points"] if name != axis]
    several = len(rule["comparisons"]) > 1
    found = []
    for comparison in rule["comparisons"]:
        frame = _sums(rule, comparison, rows, [*keys, axis] if axis else keys)
        margin = comparison.get("margin", rule.get("margin", 0.0))
        exact = _one_value_for_all_repeats(comparison)
        name, by_rank = _slug(comparison, rule) if several else "", _by_rank(rule, rows, frame)
        sums = None if axis else frame["sum"].to_numpy()
        for where, part in select.spans(frame, keys):
            values = _correlations(frame.iloc[part], axis) if axis else sums[part]
            complete = values[~np.isnan(values)]
            words = ", ".join(filter(None, [name, where]))
            found.append(Point(words, complete, len(values), margin, by_rank(part.start), exact))
    return found


def interval(point: Point, level: float) -> tuple[float, float]:
    """Return the two-sided interval for the centre of a point's values: Student's for the mean, or by rank.

    By rank it is the order statistics of the Walsh averages (z_i + z_j)/2, i <= j, at which the signed-rank test
    turns (exact for a symmetric continuous law). Infinite where the repeats do not suffice, or more than `LOST` of
    them are missing. An exact value is its own interval.
    """
    n = len(point.values)
    if point.exact and n:
        return float(point.values[0]), float(point.values[0])
    if n < 2 or n < (1 - LOST) * point.repeats:
        return -math.inf, math.inf
    if not point.by_rank:
        mean, error = float(point.values.mean()), float(point.values.std(ddof=1)) / math.sqrt(n)
        reach = float(special.stdtrit(n - 1, 0.5 * (1 + level))) * error
        return mean - reach, mean + reach
    outside = wilcoxon.averages_outside(n, level)
    if not outside:
        return -math.inf, math.inf
    low, high = _statistics(point, (outside - 1, n * (n + 1) // 2 - outside))
    return low, high


def centre(point: Point) -> float:
    """Return the mean of a point's values, or, by rank, the median of their Walsh averages (Hodges and Lehmann)."""
    if not len(point.values):
        return math.nan
    if not point.by_rank:
        return float(point.values.mean())
    count = len(point.values) * (len(point.values) + 1) // 2
    low, high = _statistics(point, ((count - 1) // 2, count // 2))
    return 0.5 * (low + high)


def by_shares(rule: Mapping[str, Any], decided: Sequence[Decided], holding: str, against: str) -> Verdict:
    """Return the verdict that the shares of points give.

    `holding` and `against` say what a point does that holds, and one that is reversed. `measured` is the centre at the
    middle point (the lower median of all points' centres) with its 95 % interval; `n`: its repeats.
    """
    hold, most_reversed = _SHARES[rule.get("general", False)]
    hold, most_reversed = rule.get("hold", hold), rule.get("reversed", most_reversed)
    every = rule.get("every", False)
    if every:
        hold, most_reversed = 1.0, 0.0
    count = len(decided)
    holds, fails, reverse = (sum(getattr(one, name) for one in decided) for name in ("holds", "fails", "reversed"))
    # In whole points, up to rounding: 0.8 * 5 is not 4.
    rounding = 1e-9 * count
    refuted = reverse > 0 if every else fails >= _FAIL * count
    if holds >= hold * count - rounding and reverse <= most_reversed * count + rounding:
        outcome = "reproduced"
    elif refuted:
        outcome = "not reproduced"
    else:
        outcome = "inconclusive"
    against_it = "one that is reversed" if every else f"{_FAIL:.0%} that fail"
    reasons = [
        f"{holds} of {count} points {holding}, {fails} fail and {reverse} {against} (reproduced needs {hold:.0%} and "
        f"at most {most_reversed:.0%}, not reproduced {against_it})"
    ]
    ranked = sorted((one for one in decided if len(one.point.values)), key=lambda one: centre(one.point))
    if not ranked:
        return Verdict("inconclusive", "; ".join([*reasons, "no repeat has all values"]), n=0)
    middle = ranked[(len(ranked) - 1) // 2]
    at = f" at the middle point, {middle.point.where}" if middle.point.where else ""
    reasons.append(f"measured: {centre(middle.point):.3g} [{middle.low:.3g}, {middle.high:.3g}]{at}")
    if count > 1:
        ends = [f"{centre(one.point):.3g} ({one.point.where})" for one in (ranked[0], ranked[-1])]
        reasons.append(f"from {ends[0]} to {ends[1]}")
    lost = sum(one.point.repeats - len(one.point.values) for one in decided)
    if lost:
        wanting = sum(len(one.point.values) < (1 - LOST) * one.point.repeats for one in decided)
        reasons.append(f"{lost} repeats lack a value, which leaves {wanting} points open")
    if outcome == "inconclusive":
        reasons.append(_power(decided, hold, 0.0 if every else _FAIL))
    measured = centre(middle.point)
    n = len(middle.point.values)
    return Verdict(outcome, "; ".join(reasons), measured, middle.low, middle.high, n, held=holds, points=count)


def _power(decided: Sequence[Decided], hold: float, fail: float) -> str:
    """Say whether more repeats could decide what is open: how many points are, and how wide their intervals."""
    count = len(decided)
    open_ones = [one for one in decided if not (one.holds or one.fails)]
    if not open_ones:
        return "no point is open: more repeats would hardly decide it"
    holds, fails = (sum(getattr(one, name) for one in decided) for name in ("holds", "fails"))
    enough = holds + len(open_ones) >= hold * count or fails + len(open_ones) >= max(fail * count, 1)
    middle = sorted(open_ones, key=lambda one: one.high - one.low)[len(open_ones) // 2]
    width, repeats = middle.high - middle.low, middle.point.repeats
    could = "could decide it" if enough else "could not decide it"
    if math.isinf(width):
        return f"{len(open_ones)} points are open, most for too few repeats with a value: more {could}"
    return (
        f"{len(open_ones)} points are open, with intervals {width:.2g} wide for {repeats} repeats at the middle one "
        f"(half as wide takes four times as many): they {could}"
    )


def _statistics(point: Point, places: tuple[int, int]) -> list[float]:
    """Return the Walsh averages at these places of their order, from 0."""
    known = point._ordered
    if not known.keys() >= set(places):
        known = np.sort(wilcoxon.walsh_averages(point.values))
    return [float(known[place]) for place in places]


def _terms(comparison: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if "above" in comparison:
        return [{"where": comparison["above"]}, {"where": comparison["below"], "times": -1.0}]
    return comparison.get("terms", [{}])


def _one_value_for_all_repeats(comparison: Mapping[str, Any]) -> bool:
    return all("repeat" in term.get("constant", ()) for term in _terms(comparison))


def _sums(rule: Mapping[str, Any], comparison: Mapping[str, Any], rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the signed sum at every point and repeat where any term has a value that varies; NaN where one lacks."""
    full = keys if _one_value_for_all_repeats(comparison) else [*keys, "repeat"]
    total = None
    # Terms that vary along all columns come first: they say which points there are.
    for term in sorted(_terms(comparison), key=lambda term: len(term.get("constant", ()))):
        constant = [name for name in term.get("constant", ()) if name in full]
        varying = [name for name in full if name not in constant]
        if total is None and constant:
            raise ConfigError(f"{rule['id']}: constant: every term is constant along {', '.join(constant)}")
        values = _values(rule, comparison, term, rows, varying)
        if total is None:
            total = values.rename(columns={"value": "sum"})
        elif not constant and all(np.array_equal(total[name], values[name]) for name in varying):
            # The usual case, without a slow merge.
            total["sum"] += values["value"]
        else:
            total = total.merge(values, on=varying, how="left" if constant else "outer")
            total = total.sort_values(full, ignore_index=True)
            total["sum"] += total.pop("value")
    return total if "repeat" in full else total.assign(repeat=0)


def _values(
    rule: Mapping[str, Any], comparison: Mapping[str, Any], term: Mapping[str, Any], rows: pd.DataFrame, keys: list[str]
) -> pd.DataFrame:
    """Return one term, its factor (and logarithm) taken: a value for each combination of the key columns."""
    metric = term.get("metric", comparison.get("metric", rule.get("metric")))
    where: dict[str, Any] = {}
    for part in (rule, comparison, term):
        for name, value in part.get("where", {}).items():
            # Where two of them narrow one column, both conditions hold.
            where[name] = _both(where[name], value) if name in where else value
    values = select.required({**rule, "where": where}, rows, [name for name in keys if name != "repeat"], metric)
    if "repeat" not in keys:
        values = values.drop(columns="repeat")
        if values.duplicated(keys).any():
            raise DataError(f"{rule['id']}: constant: {metric} has several repeats; leave repeat out of constant")
    if comparison.get("log", False):
        if (values["value"] <= 0).any():
            raise DataError(f"{rule['id']}: {metric}={values['value'].min():g} must be above 0 to have a logarithm")
        values["value"] = np.log(values["value"])
    values["value"] *= term.get("times", 1.0)
    return values


def _both(first: Any, second: Any) -> list[Any]:
    return [value for value in select.listed(first) if value in select.listed(second)]


def _correlations(group: pd.DataFrame, axis: str) -> np.ndarray:
    """Return Spearman's correlation along the axis of every repeat; 0 where it has none, NaN where a value lacks."""
    if not pd.api.types.is_numeric_dtype(group[axis]):
        raise DataError(f"the axis {axis} must be a number in every row, not {group[axis].dtype}; choose another axis")
    table = _by_repeat(group, axis)
    ranks = table.rank(axis="columns").to_numpy()
    ranks = ranks - ranks.mean(axis=1, keepdims=True)
    steps = np.arange(ranks.shape[1]) - 0.5 * (ranks.shape[1] - 1)
    spread = np.sqrt((ranks**2).sum(axis=1) * (steps @ steps))
    found = np.divide(ranks @ steps, spread, out=np.zeros(len(ranks)), where=spread > 0)
    return np.where(np.isnan(spread) | table.isna().any(axis="columns").to_numpy(), math.nan, found)


def _by_repeat(group: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Return a row for each repeat and a column for each value of the axis, both rising; NaN where there is no sum."""
    x, repeat = group[axis].to_numpy(), group["repeat"].to_numpy()
    columns, index = np.unique(x), np.unique(repeat)
    shape = len(columns), len(index)
    # Sums come in this order; where none lacks they only have to be put into rows and columns.
    if np.array_equal(x, np.repeat(columns, shape[1])) and np.array_equal(repeat, np.tile(index, shape[0])):
        return pd.DataFrame(group["sum"].to_numpy().reshape(shape).T)
    return group.pivot(index="repeat", columns=axis, values="sum").sort_index(axis="columns")


def _by_rank(rule: Mapping[str, Any], rows: pd.DataFrame, frame: pd.DataFrame) -> Callable[[int], bool]:
    """Return whether the point of a row of the frame is of a data set whose intervals are Wilcoxon's."""
    if "wilcoxon_for" not in rule:
        return lambda _: False
    # Each point is of one data set where they are points.
    if "dataset" in frame:
        names = frame["dataset"].to_numpy()
        return lambda row: names[row] in rule["wilcoxon_for"]
    names = rows["dataset"].unique()
    if len(names) > 1:
        raise ConfigError(f"{rule['id']}: wilcoxon_for needs dataset among the points, to know which they are")
    return lambda _: names[0] in rule["wilcoxon_for"]


def _slug(comparison: Mapping[str, Any], rule: Mapping[str, Any]) -> str:
    """Name a comparison, such as `vs_plus - vs`: the values that its terms are told apart by."""
    metric = comparison.get("metric", rule.get("metric"))
    words = ""
    for term in _terms(comparison):
        times = term.get("times", 1.0)
        sign = "-" if times < 0 else "+"
        factor = "" if abs(times) == 1 else f"{abs(times):g} "
        named_by = term.get("where") or comparison.get("where") or {"metric": select.words(term.get("metric", metric))}
        values = [" or ".join(map(str, select.listed(value))) for value in named_by.values()]
        if words:
            words += f" {sign}{factor} {'.'.join(values)}"
        else:
            words = f"{sign if times < 0 else ''}{factor}{'.'.join(values)}"
    return f"{words} ({select.words(metric)})" if comparison.get("metric") else words
