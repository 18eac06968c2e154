r"""Averages of thresholds on the flip law: what they cost beside one shard, and the records that they need.

    mean_excess   (`form` split) over r at n records in all: of a mean shard of n/r records, and so of the average
                  without noise, of the average with noise, and the bound 1/(r epsilon) of its noise (`series`); exact;
    promised      n of Corollary 4.7: printed r = 2/(alpha epsilon) shards of m(alpha/2, 2 beta alpha epsilon) records,
                  mended r = ceil(2/(alpha epsilon)) of m(alpha/2, alpha beta epsilon/2) (erratum D8). Tight: the least
                  r whose tight noise costs alpha/2, and beta/r for each shard. `rate` is n over Corollary 4.8's
                  (1 + log(1/(alpha beta epsilon)))/(epsilon alpha^3), d = 1, along alpha, beta and epsilon;
    needed        the least n = r m with a mean excess of at most alpha: at the printed r, and at the best (`series`);
    violated      (`form` corollary) whether the excess of one draw of the promised n, integrated over x, is above
                  alpha: with probability beta at most (`gamma`); (lemma) Lemma 4.6 on the law thr: whether the mean
                  error of r shards is v or more, v exactly that of a shard with probability `beta`, `gamma` = r beta;
    excess        the exact checks of `averages`.

Neighbours: replace-one. m(alpha, beta) = ceil(8 ln(4/beta)/alpha^2).
"""

import itertools
import math

import numpy as np

from dperm.mechanisms.prediction import averaged
from dperm_papers.dwork2018.averaging.settings import Settings
from dperm_papers.dwork2018.shared import averages, flips, realizable
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Lemma 4.6 on thr: shards and the probability with which one fails, and the error that sets their size.
_LEMMA, _SHARD_ERROR = ((5, 0.02), (20, 0.005)), 0.1


def run(cell: Cell, rows: Rows) -> None:
    """Measure everything above."""
    cell.parts()
    rows = rows.at(
        mechanism="averaged", calibration="paper", dataset="flip", epsilon=0.0, delta=0.0, form="", series="", loss="",
        learner="", alpha=0.0, beta=0.0, gamma=0.0, stability=0.0, sigma=0.0, n=0, r=0, m=0,
    )  # fmt: skip
    averages.check(cell, rows)
    _split(cell.settings, rows)
    _records(cell.settings, rows)
    _rates(cell.settings, rows)
    _corollary(cell, rows)
    _lemma(cell, rows)


def promised(alpha: float, beta: float, epsilon: float, variant: str) -> tuple[int, int, int]:
    """Return r, m, n of Corollary 4.7 for thresholds, epsilon <= 1: n is 2 m/(alpha epsilon) if printed, else r m."""
    if variant == "tight":
        # The cost falls with r, and the printed scale's is enough at ceil(2/(alpha epsilon)).
        low, r = 0, averaged.shards_needed(alpha, epsilon, "corrected")
        while r - low > 1:
            middle = (low + r) // 2
            enough = averaged.expected_clip(0.0, averaged.scale(middle, epsilon, bits=True)) <= alpha / 2
            low, r = (low, middle) if enough else (middle, r)
        m = flips.agnostic_size(alpha / 2, beta / r)
        return r, m, r * m
    r = averaged.shards_needed(alpha, epsilon, "corrected")
    m = flips.agnostic_size(alpha / 2, averages.failure(alpha, beta, epsilon, variant))
    return r, m, math.ceil(2 * m / (alpha * epsilon) * (1 - 1e-12)) if variant == "printed" else r * m


def rate(alpha: float, beta: float, epsilon: float, d: int = 1) -> float:
    """Return Corollary 4.8's (d + log(1/(alpha beta epsilon)))/(epsilon alpha^3), d the VC dimension."""
    return (d + math.log(1 / (alpha * beta * epsilon))) / (epsilon * alpha**3)


def _split(settings: Settings, rows: Rows) -> None:
    n = settings.records
    for r, epsilon in itertools.product(settings.shards, settings.epsilons):
        m = n // r
        here = rows.at(form="split", epsilon=epsilon, n=n, r=r, m=m)
        here.add("mean_excess", flips.mean_excess(m, r, 0.0), series="shard")
        here.add("mean_excess", 1 / (r * epsilon), series="bound")
        for calibration in ("paper", "tight"):
            excess = flips.mean_excess(m, r, averaged.scale(r, epsilon, calibration, bits=True))
            here.add("mean_excess", excess, calibration=calibration, guarantee="proved", series="noised")


def _records(settings: Settings, rows: Rows) -> None:
    beta = settings.gammas[0]
    for alpha, epsilon in itertools.product(settings.alphas, settings.epsilons):
        told = rows.at(alpha=alpha, beta=beta, epsilon=epsilon, guarantee="proved")
        for variant, calibration in (("printed", "paper"), ("mended", "paper"), ("tight", "tight")):
            r, m, n = promised(alpha, beta, epsilon, variant)
            here = told.at(variant=variant, calibration=calibration, r=r, m=m, n=n)
            here.add("promised", n)
            here.add("rate", n / rate(alpha, beta, epsilon), form="alpha")
        printed = averaged.shards_needed(alpha, epsilon, "corrected")
        for calibration in ("paper", "tight"):
            records = flips.least_records(alpha, printed, averaged.scale(printed, epsilon, calibration, bits=True))
            best = flips.best_split(alpha, epsilon, calibration)
            for series, (r, m) in (("printed shards", (printed, records)), ("best shards", best)):
                told.add("needed", r * m, calibration=calibration, series=series, r=r, m=m, n=r * m)


def _rates(settings: Settings, rows: Rows) -> None:
    """promised/rate along beta and along epsilon; along alpha it is given by `_records`."""
    alpha, beta, epsilon = min(settings.alphas), settings.gammas[0], max(settings.epsilons)
    points = [("beta", alpha, value, epsilon) for value in settings.rate_gammas]
    points += [("epsilon", alpha, beta, value) for value in settings.rate_epsilons]
    for (form, *point), variant in itertools.product(points, ("printed", "mended", "tight")):
        r, m, n = promised(*point, variant)
        here = rows.at(form=form, variant=variant, **dict(zip(("alpha", "beta", "epsilon"), point, strict=True)))
        here.add("rate", n / rate(*point), r=r, m=m, n=n)


def _corollary(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    beta = settings.gammas[0]
    for alpha, epsilon, variant in itertools.product(
        settings.coverage_alphas, settings.coverage_epsilons, ("printed", "mended")
    ):
        r, m, n = promised(alpha, beta, epsilon, variant)
        rng = cell.rng("corollary", alpha, epsilon, variant)
        drawn = flips.thresholds(m, (settings.repeats, r), rng)
        excess = flips.excesses(drawn, averaged.scale(r, epsilon, "paper"))
        told = rows.at(form="corollary", variant=variant, guarantee="proved", alpha=alpha, epsilon=epsilon)
        told = told.at(beta=beta, gamma=beta, r=r, m=m, n=n)
        told.add("violated", excess > alpha)


def _lemma(cell: Cell, rows: Rows) -> None:
    for r, beta in _LEMMA:
        m = realizable.thr_records(_SHARD_ERROR, beta)
        rng = cell.rng("lemma", r)
        # (1 - v)^m = beta: a shard errs by v or more with probability beta. The errors of thresholds have one sign, so
        # that the loss of their average is the average of their losses.
        errors = realizable.thr_errors(m, r, cell.settings.repeats, rng).mean(axis=1)
        violated = errors >= -np.expm1(np.log(beta) / m)
        told = rows.at(form="lemma", dataset="thr", r=r, m=m, n=r * m, beta=beta, gamma=r * beta)
        told.add("violated", violated, alpha=_SHARD_ERROR)
