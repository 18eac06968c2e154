r"""Soft majority on laws without label noise, and the least that any private prediction needs (dwork2018, Section 4.1).

Part `laws` (thr and pts, `dperm_papers.dwork2018.shared.realizable`; r = ceil(6 ln(4/alpha)/epsilon) shards, m(alpha/4,
beta/r) records each; `gamma` is beta):

    excess, series ratios    largest log ratio of either bit between neighbouring counts, less epsilon;
    excess, series others    |log(r of another rule/r of soft majority)| - log 2; `shards` holds the r: from which on a
                             bit that a third of the shards vote against is wrong with probability alpha/4 at most.
                             Rules: soft, Laplace noise on the count (laplace), the best private bit (best);
    excess, series markov    on thr, largest of all draws: share of x at which more than r/4 shards are wrong less 4
                             times the largest error of a shard (quarter), at which r/3 are less 3 times it (third);
    violated, promise        whether the error, integrated over x, is above alpha, of each repeat;
    records                  n promised, and n needed for a mean error of at most alpha, exactly, at the printed r
                             (printed) and at the best r up to it (best), over alpha and over d (`over`);
    growth                   n promised over Corollary 4.2's expression, over alpha, epsilon, d and beta (`over`);
    excess, series agnostic  three predictors, each right on one third of x: error of a shard less that of the (soft)
                             majority of r of them;
    error, series margin     of a bit with v = `margin` more votes for than against: soft, prose (weights
                             e^{eps count}), laplace, best.

Part `lower` (`dperm_papers.dwork2018.shared.best_bit`), delta = epsilon/3 or 0: at alpha = 1/4 on d equal points
(`even`), else on D_alpha (`light`; the mean error is that on light points, and D_alpha's alpha is `alpha`),

    error, excess            least mean error at n = floor(bound); 1/3 less it;
    records                  least n with a mean error of 1/3 (delta in the rows); `bound` is d/(8 epsilon), or
                             d/(32 epsilon alpha);
    probability, excess      Pr[t <= 1/(4 epsilon)], t ~ Bin(floor(d/(8 epsilon)), 1/d); 1/24 or 23/24 less it;
    reach                    up to which of many epsilons from 0.001 to 1 that is at least 23/24;
    overhead                 n promised over the least n (delta = epsilon/3), by Corollary 4.2's logarithms.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import log_expit

from dperm.domain import Budget
from dperm.mechanisms.prediction import soft_majority
from dperm_papers.dwork2018.shared import best_bit, realizable
from dperm_papers.dwork2018.shared.counting import least
from dperm_papers.dwork2018.softmajority.settings import Settings
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Where the axes cross.
_ALPHA, _EPSILON = 0.05, 0.1
# Rates are about many points: below this occupancies see every single box.
_MANY = 10
_MOST_VOTES = 50
_SCANNED = np.geomspace(1e-3, 1, 301).tolist()


def run(cell: Cell, rows: Rows) -> None:
    """Measure one part."""
    rows = rows.at(
        mechanism="soft_majority", calibration="tight", dataset="no-data", epsilon=0.0, delta=0.0, series="", form="",
        over="", alpha=0.0, d=0, n=0, r=0, margin=0, gamma=0.0, bound=0.0,
    )  # fmt: skip
    for part in cell.parts(*_PARTS):
        for measure in _PARTS[part]:
            measure(cell, rows)


def promised(dataset: str, d: int, alpha: float, epsilon: float, beta: float) -> tuple[int, int]:
    """Return r and the n records of a shard that Theorem 4.1 asks for: n r in all; d is of pts."""
    r = soft_majority.shards_needed(alpha, epsilon)
    if dataset == "thr":
        return r, realizable.thr_records(alpha / 4, beta / r)
    return r, realizable.pts_records(d, alpha, alpha / 4, beta / r)


def logarithms(d: int, alpha: float, epsilon: float, beta: float) -> float:
    """Return Corollary 4.2's n over d/(epsilon alpha), its constant 1 and d the VC dimension."""
    log = math.log(1 / alpha)
    return log**2 + log * math.log(log / (epsilon * beta)) / d


def needed(dataset: str, d: int, alpha: float, wrong: np.ndarray, most: float = math.inf) -> float:
    """Return the least n of a shard with a mean error of the majority of at most alpha; infinite if above `most`.

    `wrong` is how often the bit is wrong if W = 0..r shards are.
    """

    def enough(n: int) -> bool:
        mean = realizable.thr_mean(n, wrong) if dataset == "thr" else realizable.pts_mean(d, alpha, n, wrong)
        return mean <= alpha

    if wrong[0] > alpha or most < 1:
        return math.inf
    if math.isinf(most):
        return least(enough)
    return least(enough, int(most)) if enough(int(most)) else math.inf


def _votes(r: int, epsilon: float, calibration: str = "tight") -> np.ndarray:
    """Return how often the bit is wrong if 0..r shards are."""
    return soft_majority.probability(np.arange(r + 1), r, epsilon, calibration)


def _ratios(cell: Cell, rows: Rows) -> None:
    for calibration in ("paper", "tight"):
        here = rows.at(series="ratios", calibration=calibration, guarantee=soft_majority.guarantee(calibration))
        for epsilon, r in itertools.product(cell.settings.wide_epsilons, range(2, _MOST_VOTES + 1)):
            odds = soft_majority.log_odds(np.arange(r + 1), r, epsilon, calibration)
            largest = max(np.abs(np.diff(log_expit(sign * odds))).max() for sign in (1, -1))
            here.add("excess", largest - epsilon, epsilon=epsilon, r=r)


# How often a bit is wrong that r - W shards vote for and W against, W <= r/2.
_RULES = {
    "soft": lambda W, r, epsilon: soft_majority.probability(W, r, epsilon),
    # The count moves by 1 under replace-one: Laplace noise of scale 1/epsilon on it.
    "laplace": lambda W, r, epsilon: 0.5 * np.exp(-epsilon * (r / 2 - W)),
    "best": lambda W, r, epsilon: best_bit.wrong(r - 2 * W, Budget(epsilon)),
}


def _others(cell: Cell, rows: Rows) -> None:
    for alpha, epsilon in itertools.product(cell.settings.wide_alphas, cell.settings.wide_epsilons):
        here = rows.at(series="others", alpha=alpha, epsilon=epsilon)
        r = np.arange(1, soft_majority.shards_needed(alpha, epsilon) + 4)
        shards = {form: _enough(rule(r // 3, r, epsilon) <= alpha / 4) for form, rule in _RULES.items()}
        for form, value in shards.items():
            here.add("shards", value, form=form)
        for form in ("laplace", "best"):
            excess = abs(math.log(shards[form] / shards["soft"])) - math.log(2)
            here.add("excess", excess, form=form)


def _enough(holds: np.ndarray) -> int:
    """Return from which r = 1, 2, .. on it holds."""
    fails = np.flatnonzero(~holds)
    return int(fails[-1]) + 2 if len(fails) else 1


def _promises(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    beta, laws = settings.gammas[0], [("thr", 1), *(("pts", d) for d in settings.features)]
    for alpha, epsilon, (dataset, d) in itertools.product(settings.alphas, settings.epsilons, laws):
        r, n = promised(dataset, d, alpha, epsilon, beta)
        rng = cell.rng(dataset, d, alpha, epsilon)
        rules = np.stack([_votes(r, epsilon, calibration) for calibration in ("tight", "paper")])
        here = rows.at(dataset=dataset, d=d, alpha=alpha, epsilon=epsilon, r=r, n=n * r)
        if dataset == "thr":
            errors = realizable.thr_errors(n, r, settings.repeats, rng)
            risks = [realizable.thr_risk(errors, wrong) for wrong in rules]
            for form, value in markov(errors).items():
                here.add("excess", value, series="markov", form=form)
        else:
            risks = realizable.pts_risk(d, alpha, n, rules, settings.repeats, rng)
        tight, prose = (risk > alpha + 1e-12 for risk in risks)
        here = here.at(series="promise", gamma=beta)
        here.add("violated", tight, guarantee="proved")
        here.add("violated", prose, calibration="paper")


def markov(errors: np.ndarray) -> dict[str, float]:
    """Return, for a quarter and a third of the shards, the share of x at which more err less what Markov allows."""
    # At 1/2 + t the shards with an error above t are wrong.
    r, largest = errors.shape[1], errors[:, -1]
    limits = {"quarter": (4, r // 4 + 1), "third": (3, -(-r // 3))}
    return {form: (errors[:, r - least] - factor * largest).max() for form, (factor, least) in limits.items()}


def _crossing(settings: Settings, over: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the points of axes through the centre, for each epsilon if that is not the axis."""
    axes = {
        "alpha": settings.wide_alphas, "d": [d for d in settings.wide_features if d >= _MANY],
        "epsilon": settings.wide_epsilons, "gamma": settings.wide_gammas,
    }  # fmt: skip
    for axis in over:
        for epsilon in [_EPSILON] if axis == "epsilon" else settings.epsilons:
            centre = {"alpha": _ALPHA, "epsilon": epsilon, "d": settings.dimension, "gamma": settings.gammas[0]}
            for value in axes[axis]:
                yield axis, {**centre, axis: value}


def _records(cell: Cell, rows: Rows) -> None:
    for dataset, axes in (("thr", ("alpha",)), ("pts", ("alpha", "d"))):
        for axis, at in _crossing(cell.settings, axes):
            alpha, epsilon, d = at["alpha"], at["epsilon"], at["d"]
            here = rows.at(**{**at, "d": 1 if dataset == "thr" else d}, dataset=dataset, over=axis)
            r, n = promised(dataset, d, alpha, epsilon, at["gamma"])
            here.add("records", n * r, form="promised", r=r)
            least = best = r * needed(dataset, d, alpha, _votes(r, epsilon))
            here.add("records", least, form="printed", r=r)
            shards = r
            # The best r is about a third of the printed one: from there on, few are better than what is known.
            for fewer in sorted(range(1, r), key=lambda fewer: abs(fewer - r / 3)):
                each = needed(dataset, d, alpha, _votes(fewer, epsilon), (best - 1) // fewer)
                if each * fewer < best:
                    best, shards = each * fewer, fewer
            here.add("records", best, form="best", r=shards)


def _growth(cell: Cell, rows: Rows) -> None:
    for dataset, axes in (("thr", ("alpha", "epsilon", "gamma")), ("pts", ("alpha", "epsilon", "gamma", "d"))):
        for axis, at in _crossing(cell.settings, axes):
            if dataset == "thr":
                at["d"] = 1
            alpha, epsilon, d, beta = at["alpha"], at["epsilon"], at["d"], at["gamma"]
            r, n = promised(dataset, d, alpha, epsilon, beta)
            rate = logarithms(d, alpha, epsilon, beta) * d / (epsilon * alpha)
            here = rows.at(**at, dataset=dataset, over=axis, bound=rate)
            here.add("growth", n * r / rate, r=r, n=n * r)


def _agnostic(cell: Cell, rows: Rows) -> None:
    # Predictor i is right on the i-th third of x; a shard holds one of them, and r = 3 k shards k of each.
    right = np.eye(3, dtype=int)
    shard = float(1 - right.mean(axis=1).max())
    for epsilon in cell.settings.epsilons:
        r = 3 * -(-soft_majority.shards_needed(_ALPHA, epsilon) // 3)
        W = r - r // 3 * right.sum(axis=0)
        here = rows.at(series="agnostic", epsilon=epsilon, alpha=_ALPHA, r=r)
        here.add("excess", shard - (r < 2 * W).mean(), form="majority")
        here.add("excess", shard - _votes(r, epsilon)[W].mean(), form="soft")


def _margins(cell: Cell, rows: Rows) -> None:
    for epsilon in cell.settings.epsilons:
        r = soft_majority.shards_needed(_ALPHA, epsilon)
        # Of the parity of r, up to all votes.
        W = np.unique(np.linspace(0, r // 2, 41).astype(int))
        here = rows.at(series="margin", epsilon=epsilon, alpha=_ALPHA, r=r, margin=r - 2 * W)
        for form, rule in _RULES.items():
            here.add("error", rule(W, r, epsilon)[None], form=form)
        here.add("error", _votes(r, epsilon, "paper")[W][None], form="prose", calibration="paper")


def _errors(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for epsilon, d in itertools.product(settings.wide_epsilons, settings.wide_features):
        budget = Budget(epsilon, epsilon / 3)
        places = [("even", 0.25, 1 / d, d / (8 * epsilon))]
        places += [
            ("light", alpha, 4 * alpha / (d - 1), d / (32 * epsilon * alpha)) for alpha in settings.wide_alphas
        ]  # fmt: skip
        for series, alpha, q, bound in places:
            # A quotient that is a whole number may have been rounded down.
            n = math.floor(bound * (1 + 1e-12))
            here = rows.at(dataset="pts", series=series, epsilon=epsilon, delta=epsilon / 3, alpha=alpha)
            here = here.at(d=d, bound=bound, n=n)
            value = best_bit.error(n, q, budget)
            here.add("error", value)
            here.add("excess", 1 / 3 - value)
            if series == "even":
                here.add("records", best_bit.records(q, budget, 1 / 3), form="least")


def _least(cell: Cell, rows: Rows) -> None:
    for axis, at in _crossing(cell.settings, ("alpha", "d", "epsilon")):
        alpha, epsilon, d = at["alpha"], at["epsilon"], at["d"]
        here = rows.at(**at, dataset="pts", series="light", over=axis, bound=d / (32 * epsilon * alpha))
        r, n = promised("pts", d, alpha, epsilon, at["gamma"])
        for delta in (epsilon / 3, 0.0):
            least = best_bit.records(4 * alpha / (d - 1), Budget(epsilon, delta), 1 / 3)
            here.add("records", least, form="least", delta=delta)
            if delta:
                overhead = r * n / least / logarithms(d, alpha, epsilon, at["gamma"])
                here.add("overhead", overhead, delta=delta, r=r, n=r * n)


def _tails(cell: Cell, rows: Rows) -> None:
    settings, rows = cell.settings, rows.at(dataset="pts", series="tail", alpha=0.25)
    for epsilon, d in itertools.product(settings.wide_epsilons, settings.wide_features):
        value, here = best_bit.few(d, epsilon), rows.at(epsilon=epsilon, d=d)
        here.add("probability", value)
        for form, bound in (("printed", 1 / 24), ("mended", 23 / 24)):
            here.add("excess", bound - value, form=form, bound=bound)
    for d in settings.wide_features:
        fails = [epsilon for epsilon in _SCANNED if best_bit.few(d, epsilon) < 23 / 24]
        reached = max((epsilon for epsilon in _SCANNED if epsilon < min(fails, default=math.inf)), default=0.0)
        rows.add("reach", reached, d=d, bound=23 / 24)


_PARTS = {
    "laws": (_ratios, _others, _promises, _records, _growth, _agnostic, _margins),
    "lower": (_errors, _least, _tails),
}
