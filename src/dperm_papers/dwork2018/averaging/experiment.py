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
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dperm import seeds
from dperm.errors import ConfigError
from dperm.mechanisms.prediction import averaged
from dperm_papers.dwork2018.shared import averages, flips, realizable
from dperm_pipeline.rows import frame

# Lemma 4.6 on thr: shards and the probability with which one fails, and the error that sets their size.
_LEMMA, _SHARD_ERROR = ((5, 0.02), (20, 0.005)), 0.1
_BLANK = {
    "form": "", "series": "", "loss": "", "learner": "", "alpha": 0.0, "beta": 0.0, "gamma": 0.0, "stability": 0.0,
    "sigma": 0.0, "epsilon": 0.0, "n": 0, "r": 0, "m": 0, "calibration": "paper", "mechanism": "averaged",
    "guarantee": "none", "variant": "",
}  # fmt: skip


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of everything above.

    - cell: as `dperm_pipeline.plan` made it.
    - Raises ConfigError: if the cell's part is another than `all`.
    """
    if cell["point"]["part"] != "all":
        raise ConfigError(f"part: {cell['point']['part']!r} is none of dwork2018-averaging; there is: all")
    settings = cell["settings"]
    found = [*averages.checks(cell), *_split(settings), *_records(settings), *_rates(settings)]
    found += [*_corollary(cell), *_lemma(cell)]
    head = {key: cell[key] for key in ("paper", "experiment", "neighbours")} | {"delta": 0.0}
    shared = {key: _BLANK[key] for key in ("mechanism", "calibration", "guarantee")}
    blank = {key: value for key, value in _BLANK.items() if key not in shared} | {"dataset": "flip"}
    return frame([{**shared, **row} for row in found], blank, head)


def promised(alpha: float, beta: float, epsilon: float, variant: str) -> tuple[int, int, int]:
    """Return r, m and n of Corollary 4.7 for thresholds.

    - alpha, beta, epsilon: excess error, failure probability, and epsilon of one answer; epsilon at most 1.
    - r, m, n: n of "printed" is 2 m/(alpha epsilon), rounded up; else r m.
    """
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
    """Return Corollary 4.8's (d + log(1/(alpha beta epsilon)))/(epsilon alpha^3).

    - d: VC dimension.
    """
    return (d + math.log(1 / (alpha * beta * epsilon))) / (epsilon * alpha**3)


def _split(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    n = settings["records"]
    for r, epsilon in itertools.product(settings["shards"], settings["epsilons"]):
        m, told = n // r, {"form": "split", "metric": "mean_excess", "epsilon": epsilon, "n": n, "r": r, "m": n // r}
        shard = flips.mean_excess(m, r, 0.0)
        yield {**told, "series": "shard", "value": shard}
        yield {**told, "series": "bound", "value": 1 / (r * epsilon)}
        for calibration in ("paper", "tight"):
            b = averaged.scale(r, epsilon, calibration, bits=True)
            noised = {**told, "calibration": calibration, "guarantee": "proved", "series": "noised"}
            yield {**noised, "value": flips.mean_excess(m, r, b)}


def _records(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    beta = settings["gammas"][0]
    for alpha, epsilon in itertools.product(settings["alphas"], settings["epsilons"]):
        told = {"alpha": alpha, "beta": beta, "epsilon": epsilon}
        for variant, calibration in (("printed", "paper"), ("mended", "paper"), ("tight", "tight")):
            r, m, n = promised(alpha, beta, epsilon, variant)
            row = {**told, "variant": variant, "calibration": calibration, "guarantee": "proved"}
            yield {**row, "r": r, "m": m, "n": n, "metric": "promised", "value": n}
            yield {
                **row,
                "r": r,
                "m": m,
                "n": n,
                "metric": "rate",
                "form": "alpha",
                "value": n / rate(alpha, beta, epsilon),
            }
        r = averaged.shards_needed(alpha, epsilon, "corrected")
        for calibration in ("paper", "tight"):
            m = flips.least_records(alpha, r, averaged.scale(r, epsilon, calibration, bits=True))
            for series, (shards, records) in (
                ("printed shards", (r, m)),
                ("best shards", flips.best_split(alpha, epsilon, calibration)),
            ):
                row = {**told, "calibration": calibration, "guarantee": "proved", "series": series, "metric": "needed"}
                yield {**row, "r": shards, "m": records, "n": shards * records, "value": shards * records}


def _rates(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """promised/rate along beta and along epsilon; along alpha it is given by `_records`."""
    alpha, beta, epsilon = min(settings["alphas"]), settings["gammas"][0], max(settings["epsilons"])
    points = [("beta", alpha, value, epsilon) for value in settings["rate_gammas"]]
    points += [("epsilon", alpha, beta, value) for value in settings["rate_epsilons"]]
    for (form, *point), variant in itertools.product(points, ("printed", "mended", "tight")):
        told = dict(zip(("alpha", "beta", "epsilon"), point, strict=True))
        r, m, n = promised(*point, variant)
        yield {
            **told,
            "form": form,
            "variant": variant,
            "r": r,
            "m": m,
            "n": n,
            "metric": "rate",
            "value": n / rate(*point),
        }


def _corollary(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    settings = cell["settings"]
    beta = settings["gammas"][0]
    for alpha, epsilon, variant in itertools.product(
        settings["coverage_alphas"], settings["coverage_epsilons"], ("printed", "mended")
    ):
        r, m, n = promised(alpha, beta, epsilon, variant)
        rng = seeds.generator(cell["seed"], cell["experiment"], "corollary", alpha, epsilon, variant)
        drawn = flips.thresholds(m, (settings["repeats"], r), rng)
        excess = flips.excesses(drawn, averaged.scale(r, epsilon, "paper"))
        told = {"form": "corollary", "variant": variant, "guarantee": "proved", "alpha": alpha, "epsilon": epsilon}
        told |= {"beta": beta, "gamma": beta, "r": r, "m": m, "n": n}
        yield {**told, "metric": "violated", "value": excess > alpha}


def _lemma(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for r, beta in _LEMMA:
        m = realizable.thr_records(_SHARD_ERROR, beta)
        rng = seeds.generator(cell["seed"], cell["experiment"], "lemma", r)
        # (1 - v)^m = beta: a shard errs by v or more with probability beta. The errors of thresholds have one sign, so
        # that the loss of their average is the average of their losses.
        errors = realizable.thr_errors(m, r, cell["settings"]["repeats"], rng).mean(axis=1)
        violated = errors >= -np.expm1(np.log(beta) / m)
        told = {"form": "lemma", "dataset": "thr", "r": r, "m": m, "n": r * m, "beta": beta, "gamma": r * beta}
        yield {**told, "alpha": _SHARD_ERROR, "metric": "violated", "value": violated}
