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

import numpy as np
from scipy import special

from dperm.domain import Budget
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting, sigma
from dperm_papers.jain2013.queries.settings import Settings
from dperm_papers.jain2013.shared import sphere
from dperm_papers.jain2013.thm3 import experiment as thm3
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# n of log T: half-decades, so that log(2/beta) is soon small beside log T.
_NOMINAL = tuple(10 ** (k / 2) for k in range(18, 25))
_LAMBDAS = (1.0, 1000.0)
_POWER = 3
_SHARE = 0.1


def run(cell: Cell, rows: Rows) -> None:
    """Measure all mechanisms at all n."""
    cell.parts()
    settings, sizes = cell.settings, sorted(int(n) for n in cell.settings.sizes)
    Z = sphere.queries(cell.seed, sizes[-1] ** _POWER)
    answers = Z @ sphere.target(cell.seed)
    rows = rows.at(
        dataset=sphere.DATASET, epsilon=settings.epsilon, delta=settings.delta, n=0, curvature=0.0, total=0.0,
        queries=0, vacuous=0, gamma=0.0,
    )  # fmt: skip
    _promised(settings, rows)
    for lam in _LAMBDAS:
        for n in sizes:
            zero = _at(rows, n, lam).at(mechanism="zero", calibration="", guarantee="proved")
            zero.add("error", np.abs(answers[: n**_POWER]).max())
    _paths(cell, rows, sizes, Z)
    for lam in _LAMBDAS:
        for n in sizes:
            path = _at(rows, n, lam).at(mechanism="rkhs_gaussian", calibration="tight", guarantee="proved")
            path.add("error", fresh(cell, n, lam), variant="fresh")
            _interactive(cell, rows, n, lam, Z, answers)


def _at(rows: Rows, n: int, lam: float) -> Rows:
    return rows.at(n=n, curvature=lam, total=n * lam, queries=n**_POWER)


def _promised(settings: Settings, rows: Rows) -> None:
    budget, beta = Budget(settings.epsilon, settings.delta), settings.gammas[0]
    for calibration in thm3.CALIBRATIONS:
        for n in _NOMINAL:
            setting = Setting(1.0, 1.0, n, 1.0)
            value = pinp.log_queries(setting, budget, error=_SHARE, beta=beta, calibration=calibration)
            guarantee = pinp.constants(setting, budget, queries=1, beta=beta, calibration=calibration).guarantee
            here = rows.at(mechanism="pinp", calibration=calibration, guarantee=guarantee, vacuous=int(value < 0))
            here.add("log_queries", value, n=round(n), curvature=1.0, total=n, gamma=beta)


def _paths(cell: Cell, rows: Rows, sizes: list[int], Z: np.ndarray) -> None:
    """Measure M and the supremum of one path: independent paths for every n."""
    settings = cell.settings
    budget = Budget(settings.epsilon, settings.delta)
    for n in sizes:
        worst, supremum = sphere.path_maxima(Z, [n**_POWER], settings.repeats, cell.rng("path", n))
        for lam in _LAMBDAS:
            scale = sigma(Setting(1.0, 1.0, n * lam, 1.0), budget)
            here = _at(rows, n, lam).at(mechanism="rkhs_gaussian", calibration="tight", guarantee="proved")
            here.add("error", scale * worst)
            here.add("supremum", scale * supremum)


def fresh(cell: Cell, n: int, lam: float) -> np.ndarray:
    """Return M of T answers with noise of their own, by the exact law of the largest of T normal variables."""
    settings, T = cell.settings, n**_POWER
    scale = math.sqrt(T) * sigma(Setting(1.0, 1.0, n * lam, 1.0), Budget(settings.epsilon, settings.delta))
    uniform = cell.rng("fresh", n, lam).random(settings.repeats)
    # P(max |N| <= x) = (1 - 2 Phi(-x))^T = u.
    tail = -0.5 * np.expm1(np.log(uniform) / T)
    return -scale * special.ndtri(tail)


def _interactive(cell: Cell, rows: Rows, n: int, lam: float, Z: np.ndarray, answers: np.ndarray) -> None:
    settings, T = cell.settings, n**_POWER
    setting, beta = Setting(1.0, 1.0, n * lam, 1.0), settings.gammas[0]
    budget = Budget(settings.epsilon, settings.delta)
    known = pinp.constants(setting, budget, queries=T, beta=beta, calibration="tight")
    rng = cell.rng("pinp", n, lam)
    made = pinp.run(known, setting, Z[:T], answers[:T], rng=rng, repeats=settings.repeats, keep=False)
    here = _at(rows, n, lam).at(mechanism="pinp", calibration="tight", guarantee=known.guarantee)
    here.add("error", made.error, gamma=beta, vacuous=int(known.vacuous))
