r"""Rule B: a bound O(expr) that may fail with probability beta holds with one constant.

At each grid point j the n_j repeats of measure/expr have the order statistics c_(1) <= ... <= c_(n_j), and

    c^_j = c_(k),    k = min{k: P(Bin(n_j, 1 - beta) <= k - 1) >= 0.975},

is the upper end of the 95 % interval of their (1 - beta)-quantile, whatever their law (beta = 0.05 needs n_j >= 72;
David and Nagaraja, Order Statistics, 2003, Section 7.1).
The constant is one if c^_j does not grow: in each axis, the other axes held fixed,

    log c^_j ~ a + slope log x_j,

whose 95 % interval is the percentile bootstrap's, the repeats of every x_j resampled apart: the k-th value of a sample
of n_j from them is c_(1 + floor(n_j u)) with u ~ Beta(k, n_j + 1 - k), the law of the k-th of n_j uniform numbers. A
point is *vacuous* where the bound, or the mechanism itself, says nothing; such points are left out and counted.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dperm.errors import ConfigError, DataError
from dperm_pipeline.claims import select
from dperm_pipeline.claims.verdict import Estimate, Verdict, overall

COLUMNS = (*select.COLUMNS, "vacuous")
_LEVEL = 0.025
_MARGIN = 0.05
_MOST, _LEAST = 1000.0, 4


@dataclass(frozen=True)
class _Constant:
    """The repeats' measure/expr at one grid point in order, and the two ends of the interval of their quantile."""

    ordered: np.ndarray
    middle: float
    low: float
    high: float
    rank: int


@dataclass(frozen=True)
class _Growth:
    """The slope of c^ along one axis; the estimate's `where` is the rest of the grid point, held fixed."""

    axis: str
    slope: Estimate

    @property
    def flat(self) -> bool:
        return self.slope.high <= _MARGIN

    @property
    def steep(self) -> bool:
        return self.slope.low > _MARGIN


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the constants at all grid points (jain2013, catalogue of claims: BOUND).

    Keys: `metric` (the measure, at least 0), `axes` (columns above 0 in which c^ may not grow), `points` (further
    columns), `bound` (the rows' column that holds expr, its constant 1; by default "bound"), `beta` (by default 0.05),
    `at_most` (of c^; by default 1000), `growth` (another metric: of its measure/expr is the c^ that may not grow, where
    the measure itself may be 0; by default the metric), `least_values` (grid points along an axis that have to be left,
    by default 4). Rows: `vacuous` is 0 or 1.

    Measured is the (1 - beta)-quantile of measure/expr at the grid point with the largest c^, between the ends of its
    95 % interval; `n`: its repeats. Reproduced if c^ is at most 1000 everywhere and the upper end of its slope at most
    0.05 along every axis; not reproduced if the lower end of a slope is above 0.05, or expr is 0 where the measure is
    above it; else inconclusive, such as where under 4 points are left along an axis. Nothing bounds a failed run: with
    any of them a claim that is not refuted is inconclusive.
    """
    axes, metric = list(rule["axes"]), rule["metric"]
    keys = [*(name for name in rule.get("points", ()) if name not in axes), *axes]
    frame = _chosen(rule, rows, keys, metric)
    if frame.empty:
        raise select.NoRows(select.absent(rule, metric))
    # Points at which the bound says nothing are left out, and counted.
    places = frame.groupby(keys)["vacuous"].max()
    vacuous = f"{int(places.sum())} of {len(places)} grid points are vacuous and left out"
    frame = frame[frame["vacuous"] == 0]
    if frame.empty:
        return Verdict("inconclusive", vacuous, n=0)
    lost = select.failures(frame)
    frame = frame.dropna(subset=["value"])
    # A bound of 0 holds for no constant.
    broken = frame[(frame["expr"] == 0) & (frame["value"] > 0)]
    if len(broken):
        return _broken(broken, len(frame), keys, metric, vacuous)
    beta = rule.get("beta", 0.05)
    constants = _constants(frame, keys, beta)
    # Along each axis the constant may not grow; of another metric, where the rule names one.
    growing = constants
    if "growth" in rule:
        beside = _chosen(rule, rows, keys, rule["growth"])
        growing = _constants(beside[(beside["vacuous"] == 0) & beside["value"].notna()], keys, beta)
    growths, problems = [], []
    for axis in axes:
        found = list(_growths(rule, rows, growing, keys, axis))
        growths += found
        if not found:
            problems.append(f"under {rule.get('least_values', _LEAST)} points are left along {axis}")
    if lost:
        problems.append(lost)
    return _verdict(rule, constants, keys, growths, problems, vacuous)


def limits(n: int, beta: float) -> tuple[int, int]:
    """Return the ranks, from 1 to n, of the repeats between which the (1 - beta)-quantile lies at 95 %.

    A rank of 0 or n + 1 says that no repeat is low or high enough: that end is open.
    """
    law = special.bdtr(np.arange(n), n, 1 - beta)  # P(Bin <= k - 1) for k = 1..n
    # P(quantile < c_(k)) = P(at most k - 1 repeats lie below it).
    return int(np.searchsorted(law, _LEVEL, side="right")), int(np.searchsorted(law, 1 - _LEVEL)) + 1


def _chosen(rule: Mapping[str, Any], rows: pd.DataFrame, keys: list[str], metric: str) -> pd.DataFrame:
    """Return value, `expr` and `vacuous` of every repeat of the grid points."""
    bound = rule.get("bound", "bound")
    absent = [name for name in (bound, "vacuous") if name not in rows.columns]
    if absent:
        raise ConfigError(f"{rule['id']}: the rows of {rule['experiment']} have no column {', '.join(absent)}")
    frame = select.chosen(rule, rows, keys, metric)
    for name, column in (("expr", bound), ("vacuous", "vacuous")):
        # In the place of the metric's values, so that selection and order are the same.
        replaced = rows.assign(value=np.asarray(rows[column], float), status="ok")
        frame[name] = select.chosen(rule, replaced, keys, metric)["value"].to_numpy()
    used = frame[frame["vacuous"] == 0]
    if (used["expr"].isna() | (used["expr"] < 0)).any():
        raise DataError(f"{rule['id']}: {bound} must be a number of at least 0 at every point that is not vacuous")
    if (used["value"] < 0).any():
        raise DataError(f"{rule['id']}: {metric}={used['value'].min():g} must be at least 0; choose another metric")
    return frame


def _broken(broken: pd.DataFrame, count: int, keys: list[str], metric: str, vacuous: str) -> Verdict:
    """Refute a bound of 0 below a measure above it: no constant mends that."""
    first = broken.iloc[0]
    reason = (
        f"the bound is 0 at {select.in_words(keys, first[keys])}, where {select.words(metric)} is "
        f"{first['value']:.3g}, and at {len(broken)} of {count} repeats in all; {vacuous}"
    )
    return Verdict("not reproduced", reason, math.inf, math.inf, math.inf, len(broken), count - len(broken), count)


def _constants(frame: pd.DataFrame, keys: list[str], beta: float) -> dict[tuple, _Constant]:
    """Return c^ of every grid point that is left."""
    return {key: _constant(part, beta) for key, part in frame.groupby(keys, sort=True)}


def _constant(part: pd.DataFrame, beta: float) -> _Constant:
    # 0/0 is 0: a bound of 0 that holds holds with any constant.
    value, expr = part["value"].to_numpy(), part["expr"].to_numpy()
    ordered = np.sort(np.divide(value, expr, out=np.zeros(len(part)), where=expr > 0))
    n = len(ordered)
    low, high = limits(n, beta)
    # Less a rounding: 0.95 * 100 may come out above 95.
    middle = float(ordered[math.ceil((1 - beta) * n * (1 - 1e-12)) - 1])
    bottom = float(ordered[low - 1]) if low else 0.0
    top = float(ordered[high - 1]) if high <= n else math.inf
    return _Constant(ordered, middle, bottom, top, high)


def _growths(
    rule: Mapping[str, Any], rows: pd.DataFrame, constants: Mapping[tuple, _Constant], keys: list[str], axis: str
) -> Iterator[_Growth]:
    """Give the slope of c^ along an axis at every combination of the other keys that has enough points."""
    place, others = keys.index(axis), [name for name in keys if name != axis]
    # Values of the other keys -> value of the axis -> its constant.
    lines: dict[tuple, dict[float, _Constant]] = {}
    for key, constant in constants.items():
        if not key[place] > 0:
            raise DataError(f"{rule['id']}: {axis}={key[place]} must be above 0 to have a logarithm")
        rest = (*key[:place], *key[place + 1 :])
        lines.setdefault(rest, {})[float(key[place])] = constant
    for rest, line in lines.items():
        if len(line) < rule.get("least_values", _LEAST):
            continue
        where = select.in_words(others, rest)
        yield _Growth(axis, _slope(line, where, select.random(rule, rows, f"{axis}/{where}")))


def _slope(line: Mapping[float, _Constant], where: str, rng: np.random.Generator) -> Estimate:
    """Fit log c^ ~ a + slope log x by least squares."""
    x = np.array(sorted(line))
    along = [line[value] for value in x]
    if not all(0 < constant.high < math.inf for constant in along):
        return Estimate(where)
    weights = np.log(x) - np.log(x).mean()
    weights /= weights @ weights
    sample = sum(weight * _logarithms(constant, rng) for weight, constant in zip(weights, along, strict=True))
    slope = float(weights @ np.log([constant.high for constant in along]))
    return Estimate(where, slope, select.lower(sample, 0.025), select.upper(sample, 0.025))


def _logarithms(constant: _Constant, rng: np.random.Generator) -> np.ndarray:
    """Logarithms of c^ in bootstrap samples; NaN, which counts against either side, where one is 0."""
    n = len(constant.ordered)
    places = n * rng.beta(constant.rank, n + 1 - constant.rank, size=select.RESAMPLES)
    found = constant.ordered[np.minimum(places.astype(int), n - 1)]
    return np.log(found, out=np.full_like(found, math.nan), where=found > 0)


def _verdict(
    rule: Mapping[str, Any],
    constants: Mapping[tuple, _Constant],
    keys: list[str],
    growths: list[_Growth],
    problems: list[str],
    vacuous: str,
) -> Verdict:
    most = rule.get("at_most", _MOST)
    small = [constant.high <= most for constant in constants.values()]
    flat, steep = [growth.flat for growth in growths], [growth.steep for growth in growths]
    outcome = overall([*small, *flat, not problems], steep)
    worst = max(constants, key=lambda key: constants[key].high)
    largest = constants[worst]
    reasons = [
        f"the constant of {select.words(rule['metric'])} over {select.words(rule.get('bound', 'bound'))} is shown to "
        f"be at most {most:g} at {sum(small)} of {len(small)} grid points; along the axes it is shown not to grow "
        f"(slope at most {_MARGIN:g}) on {sum(flat)} of {len(growths)} lines and shown to grow on {sum(steep)}",
        f"the largest is {largest.high:.3g} at {select.in_words(keys, worst)} (upper limit of the "
        f"{1 - rule.get('beta', 0.05):g}-quantile of {len(largest.ordered)} repeats)",
    ]
    for axis in rule["axes"]:
        along = [growth for growth in growths if growth.axis == axis]
        if along:
            slope = max(along, key=lambda growth: (growth.steep, growth.slope.high)).slope
            reasons.append(
                f"slope in {axis}: {slope.value:.3g} [{slope.low:.3g}, {slope.high:.3g}]{select.at(slope.where)}, the "
                "largest"
            )
    reasons += [vacuous, *problems]
    n = len(largest.ordered)
    held = [*small, *flat]
    return Verdict(
        outcome, "; ".join(reasons), largest.middle, largest.low, largest.high, n, held=sum(held), points=len(held)
    )
