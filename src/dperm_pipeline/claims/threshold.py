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
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dperm.errors import ConfigError
from dperm_pipeline.claims import select
from dperm_pipeline.claims.coverage import rate_bounds
from dperm_pipeline.claims.verdict import Estimate, Verdict, overall

COLUMNS = select.COLUMNS


def decide(rule: Mapping[str, Any], rows: pd.DataFrame) -> Verdict:
    """Decide by the mean at every point.

    Keys: `metric`, one of `at_least` and `at_most` (in the metric's units), `points` (columns, by default none),
    `level` (by default 0.05), `beyond` (then the mean is that of 1 where the metric is above it, else 0), `limits`
    ("student" or, by default, "bootstrap").

    Measured is the mean at the least favourable point, between the bounds that decide there; `n`: its repeats.
    Reproduced if it holds at all points; not reproduced if it is refuted at one; else inconclusive. Nothing bounds the
    value of a failed run, so with any of them the verdict is inconclusive.
    """
    sides = [name for name in ("at_least", "at_most") if name in rule]
    if len(sides) != 1:
        raise ConfigError(
            f"{rule['id']}: at_least, at_most: {' and '.join(sides) or 'neither'} given; give one of them"
        )
    points, metric, level = list(rule.get("points", ())), rule["metric"], rule.get("level", 0.05)
    frame = select.required(rule, rows, points, metric)
    what = f"mean {select.words(metric)}"
    if "beyond" in rule:
        frame["value"] = (frame["value"] > rule["beyond"]).astype(float).where(frame["value"].notna())
        what = f"share of {select.words(metric)} above {rule['beyond']:g}"
    groups = list(select.groups(frame, points))
    share, lost = level / len(groups), select.failures(frame)
    student = rule.get("limits", "bootstrap") == "student"
    means = []
    for where, group in groups:
        values = group["value"].dropna().to_numpy()
        if student and len(values):
            means.append(_student(values, share, where))
        elif len(values):
            means.append(_bounds(values, share, where, select.random(rule, rows, where)))
    if not means:
        return Verdict("inconclusive", f"{lost}, so that nothing was measured", n=0)
    limit = rule[sides[0]]
    # By how much the claim holds at the bound for it, and at the bound against it.
    if sides[0] == "at_least":
        least, most = [one.low - limit for one in means], [one.high - limit for one in means]
    else:
        least, most = [limit - one.high for one in means], [limit - one.low for one in means]
    holds, refuted = [margin >= 0 for margin in least], [margin < 0 for margin in most]
    outcome = "inconclusive" if lost else overall(holds, refuted)
    worst = means[int(np.argmin(most if any(refuted) else least))]
    reasons = [
        f"{what} is shown to be {sides[0].replace('_', ' ')} {limit:g} at {sum(holds)} of {len(means)} points and "
        f"shown not to be at {sum(refuted)} (one-sided {'Student ' if student else ''}bounds, Bonferroni over all "
        f"points, level {level:g})",
        f"measured: {worst.value:.3g}, between {worst.low:.3g} and {worst.high:.3g}, from {worst.n} repeats"
        f"{select.least_favourable(worst.where)}",
    ]
    if lost:
        reasons.append(f"{lost}, and nothing bounds what they would have given")
    elif outcome == "inconclusive":
        reasons.append(worst.power)
    return worst.verdict(outcome, reasons, holds)


def _student(values: np.ndarray, share: float, where: str) -> Estimate:
    """Return the mean and Student's one-sided limits, each at level `share`; of a single value itself."""
    n, mean = len(values), float(values.mean())
    if values.min() == values.max():
        return Estimate(where, float(values[0]), float(values[0]), float(values[0]), n)
    reach = -float(special.stdtrit(n - 1, share)) * float(values.std(ddof=1)) / math.sqrt(n)
    return Estimate(where, mean, mean - reach, mean + reach, n)


def _bounds(values: np.ndarray, share: float, where: str, rng: np.random.Generator) -> Estimate:
    """Return the mean and its one-sided bounds, each wrong with probability about `share`."""
    n, mean = len(values), float(values.mean())
    if n == 1:
        return Estimate(where, mean, mean, mean, n)
    if np.isin(values, (0.0, 1.0)).all():
        return Estimate(where, mean, *rate_bounds(int(values.sum()), n, share), n)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    if values.min() == values.max() or error == 0:  # values so near that their spread underflows
        return Estimate(where, float(values[0]), float(values[0]), float(values[0]), n)

    def studentised(samples: np.ndarray) -> np.ndarray:
        errors = samples.std(axis=1, ddof=1) / math.sqrt(n)
        # A sample of one value n times has no spread but rounding: NaN counts against either side.
        spread = (samples.min(axis=1) < samples.max(axis=1)) & (errors > 0)
        return np.divide(samples.mean(axis=1) - mean, errors, out=np.full(len(samples), math.nan), where=spread)

    t = select.resample(values, rng, studentised)
    return Estimate(where, mean, mean - error * select.upper(t, share), mean - error * select.lower(t, share), n)
