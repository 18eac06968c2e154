r"""How many queries can be answered: jain2013, Sections 1, 1.1 and 2, on fixed w* (`sphere`), ||w*|| = C = R = L = 1.

    log_queries   log T of the most queries that PINP promises to answer within a tenth of C R, 5 sigma/4 = C R/10, over
                  a nominal n from 10^9 to 10^12 at lambda = 1: a formula, for each calibration,
    error         M = max_t |y^_t - <w*, phi(z_t)>| over T = n^3 queries, by n, at lambda = 1 and 1000,
    supremum      of one path over the whole unit ball, sigma ||xi||: as many queries as one likes.

Mechanisms of `error`: one sample path of N(0, sigma^2 K) (rkhs_gaussian, erratum J12: the noise of Hall, Rinaldo &
Wasserman does not grow with the number of queries); fresh Gaussian noise for each query, T of them composed (variant
`fresh`: sd sqrt(T) Delta_1/a each, exactly, by Gaussian differential privacy); PINP, tight; and the answer 0. Noise
depends on n only through n lambda, nominal here. `vacuous` is 1 where M of the mechanism is promised to be no less than
that of 0: PINP's B < 1 or sigma >= C R/2. Neighbours: replace-one.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from dperm import seeds
from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting, sigma
from dperm_papers.jain2013.shared import sphere
from dperm_papers.jain2013.thm3 import experiment as thm3

# n of log T: half-decades, so that log(2/beta) is soon small beside log T.
_NOMINAL = tuple(10 ** (k / 2) for k in range(18, 25))
_LAMBDAS = (1.0, 1000.0)
_POWER = 3
_SHARE = 0.1
_BLANK = {"variant": "", "n": 0, "curvature": 0.0, "total": 0.0, "queries": 0, "vacuous": 0, "gamma": 0.0}


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of all mechanisms and n.

    - cell: as `dperm_pipeline.plan` made it.
    - Returns: columns as in the module's text.
    - Raises ConfigError: if the cell's part is another than `all`.
    """
    if cell["point"]["part"] != "all":
        raise ConfigError(f"part: {cell['point']['part']!r} is none of jain2013-queries; there is: all")
    settings = cell["settings"]
    sizes = sorted(int(n) for n in settings["sizes"])
    Z = sphere.queries(cell["seed"], sizes[-1] ** _POWER)
    answers = Z @ sphere.target(cell["seed"])
    found = [*_promised(settings), *_zero(sizes, answers), *_paths(cell, sizes, Z)]
    for lam in _LAMBDAS:
        for n in sizes:
            found += [_fresh(cell, n, lam), _pinp(cell, n, lam, Z, answers)]
    head = {key: cell[key] for key in ("paper", "experiment", "neighbours")}
    head |= {"dataset": sphere.DATASET, "epsilon": settings["epsilon"], "delta": settings["delta"]}
    return thm3.frame(found, _BLANK, head)


def _promised(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    budget, beta = Budget(settings["epsilon"], settings["delta"]), settings["gammas"][0]
    for calibration in thm3.CALIBRATIONS:
        for n in _NOMINAL:
            setting = Setting(1.0, 1.0, n, 1.0)
            value = pinp.log_queries(setting, budget, error=_SHARE, beta=beta, calibration=calibration)
            guarantee = pinp.constants(setting, budget, queries=1, beta=beta, calibration=calibration).guarantee
            yield {
                "mechanism": "pinp", "calibration": calibration, "guarantee": guarantee, "n": round(n),
                "curvature": 1.0, "total": n, "gamma": beta, "metric": "log_queries", "value": value,
                "vacuous": int(value < 0),
            }  # fmt: skip


def _zero(sizes: list[int], answers: np.ndarray) -> Iterator[dict[str, Any]]:
    for lam in _LAMBDAS:
        for n in sizes:
            yield {
                **_place(n, lam), "mechanism": "zero", "calibration": "", "guarantee": "proved", "metric": "error",
                "value": np.abs(answers[: n**_POWER]).max(),
            }  # fmt: skip


def _paths(cell: Mapping[str, Any], sizes: list[int], Z: np.ndarray) -> Iterator[dict[str, Any]]:
    """Give M and the supremum of one path: independent paths for every n."""
    settings = cell["settings"]
    budget = Budget(settings["epsilon"], settings["delta"])
    for n in sizes:
        rng = seeds.generator(cell["seed"], cell["experiment"], "path", n)
        worst, supremum = sphere.path_maxima(Z, [n**_POWER], settings["repeats"], rng)
        for lam in _LAMBDAS:
            scale = sigma(Setting(1.0, 1.0, n * lam, 1.0), budget)
            here = {**_place(n, lam), "mechanism": "rkhs_gaussian", "calibration": "tight", "guarantee": "proved"}
            yield {**here, "metric": "error", "value": scale * worst}
            yield {**here, "metric": "supremum", "value": scale * supremum}


def _fresh(cell: Mapping[str, Any], n: int, lam: float) -> dict[str, Any]:
    """Give M of T answers with noise of their own, by the exact law of the largest of T normal variables."""
    settings, T = cell["settings"], n**_POWER
    scale = math.sqrt(T) * sigma(Setting(1.0, 1.0, n * lam, 1.0), Budget(settings["epsilon"], settings["delta"]))
    uniform = seeds.generator(cell["seed"], cell["experiment"], "fresh", n, lam).random(settings["repeats"])
    # P(max |N| <= x) = (1 - 2 Phi(-x))^T = u.
    tail = -0.5 * np.expm1(np.log(uniform) / T)
    return {
        **_place(n, lam), "mechanism": "rkhs_gaussian", "variant": "fresh", "calibration": "tight",
        "guarantee": "proved", "metric": "error", "value": -scale * special.ndtri(tail),
    }  # fmt: skip


def _pinp(cell: Mapping[str, Any], n: int, lam: float, Z: np.ndarray, answers: np.ndarray) -> dict[str, Any]:
    settings, T = cell["settings"], n**_POWER
    budget, beta = Budget(settings["epsilon"], settings["delta"]), settings["gammas"][0]
    setting = Setting(1.0, 1.0, n * lam, 1.0)
    known = pinp.constants(setting, budget, queries=T, beta=beta, calibration="tight")
    rng = seeds.generator(cell["seed"], cell["experiment"], "pinp", n, lam)
    made = pinp.run(known, setting, Z[:T], answers[:T], rng=rng, repeats=settings["repeats"], keep=False)
    return {
        **_place(n, lam), "mechanism": "pinp", "calibration": "tight", "guarantee": known.guarantee, "gamma": beta,
        "vacuous": int(known.vacuous), "metric": "error", "value": made.error,
    }  # fmt: skip


def _place(n: int, lam: float) -> dict[str, Any]:
    return {"n": n, "curvature": lam, "total": n * lam, "queries": n**_POWER}
