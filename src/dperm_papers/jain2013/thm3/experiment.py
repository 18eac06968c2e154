r"""Private interactive prediction on fixed w* (`sphere`): its largest error against Theorems 3 and 10 of jain2013.

    M = max_t |y^_t - <w*, phi(z_t)>|,    ||w*|| = C,   R = L = 1,

over the queries T at n lambda = 10^6 and 10^8 and C = 1; over n lambda at T = 10^4, with lambda = 1 (`fixed` lambda)
and with n = 10^9 (`fixed` n), noise of their own each; over C at n lambda = 10^8 and T = 10^4. n lambda alone enters.
Algorithm 1 as printed, corrected and tight (mechanism pinp); one sample path of N(0, sigma^2 K) (rkhs_gaussian, erratum
J12); and the answer 0 (zero). Neighbours: replace-one.

    error           M of each repeat; `bound` holds Theorem 3's expression with constant 1,
                    C R^2 sqrt(L log(T/beta)) log^2(1/delta)/sqrt(n epsilon lambda); a run that halts before the last
                    query leaves queries unanswered: its error is `unknown`,
    halted          whether it has: printed runs alone do,
    error_live      M over the answers given before B updates; `bound_10` holds Theorem 10's expression,
                    S sqrt(B) log(1/delta) log(T/beta)/epsilon, S = 2 L R^2/(n lambda),
    violated        whether error_live is above 1.25 sigma, which it should be with probability beta (`gamma`) at most,
    updates         made in each repeat,
    allowed, threshold   B and sigma,
    excess          row `invariance`: |sigma(s)/sigma(1) - 1|, or of B (`form`), with phi scaled by s, so R by s, w* and
                    C by 1/s and lambda by s^2, which leaves all predictions as they are.

`vacuous` (of pinp) is 1 where Theorem 3's expression is at least C R L, B < 1 or sigma >= C R/2. `capped` is 1 where B
is T itself (corrected, tight): every query may be answered by noise, whose scale then grows with T, from far below what
the potential argument asks for. `log_queries` is log(2T/beta).
"""

import math
from typing import Any

import numpy as np

from dperm.domain import Budget
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting, sigma
from dperm_papers.jain2013.shared import sphere
from dperm_papers.jain2013.thm3.settings import Settings
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

CALIBRATIONS = ("paper", "corrected", "tight")
# Where the axes cross, and n where n is held fixed.
_TOTAL, _QUERIES, _RADIUS, _N = 1e8, 10_000, 1.0, 10**9
# T runs here too: the printed sigma is vacuous, and the others' B is far below T.
_LOW_TOTAL = 1e6
_SCALES = (0.1, 0.5, 2.0, 10.0)


def run(cell: Cell, rows: Rows) -> None:
    """Measure all mechanisms, calibrations and grid points."""
    cell.parts()
    settings = cell.settings
    Z = sphere.queries(cell.seed, max(_QUERIES, *settings.queries))
    answers = Z @ sphere.target(cell.seed)
    rows = rows.at(
        dataset=sphere.DATASET, epsilon=settings.epsilon, delta=settings.delta, form="", row="", fixed="", n=0,
        curvature=0.0, total=0.0, queries=0, radius=0.0, scale=1.0, log_queries=0.0, bound=0.0, bound_10=0.0,
        vacuous=0, capped=0, gamma=0.0,
    )  # fmt: skip
    for point in grid(settings):
        _interactive(cell, rows, point, Z, answers)
    _paths(cell, rows, Z)
    _invariance(settings, rows)


def grid(settings: Settings) -> list[dict[str, Any]]:
    """Return the grid points, each once: n, curvature, total, queries, radius and what is held `fixed`."""
    points = [
        *((total, T, _RADIUS, "lambda") for total in (_LOW_TOTAL, _TOTAL) for T in settings.queries),
        *((total, _QUERIES, _RADIUS, fixed) for fixed in ("lambda", "n") for total in settings.totals),
        *((_TOTAL, _QUERIES, radius, "lambda") for radius in settings.radii),
    ]
    return [
        {
            "total": float(total), "queries": int(T), "radius": float(radius), "fixed": fixed,
            "n": round(total) if fixed == "lambda" else _N, "curvature": 1.0 if fixed == "lambda" else total / _N,
        }
        for total, T, radius, fixed in dict.fromkeys(points)
    ]  # fmt: skip


def theorem_3(setting: Setting, budget: Budget, queries: float, beta: float) -> float:
    """Return C R^2 sqrt(L log(T/beta)) log^2(1/delta)/sqrt(n epsilon lambda), as printed, with constant 1."""
    square = setting.lipschitz * math.log(queries / beta) / (setting.total * budget.epsilon)
    return setting.radius * setting.feature_norm**2 * math.sqrt(square) * math.log(1 / budget.delta) ** 2


def theorem_10(setting: Setting, budget: Budget, updates: float, queries: float, beta: float) -> float:
    """Return S sqrt(B) log(1/delta) log(T/beta)/epsilon with constant 1 and S = R Delta_w (erratum J2)."""
    change = setting.feature_norm * setting.shift
    return change * math.sqrt(updates) * math.log(1 / budget.delta) * math.log(queries / beta) / budget.epsilon


def _known(settings: Settings, point: dict[str, Any]) -> tuple[Setting, Budget, dict[str, Any]]:
    """Return the public constants, the budget and the columns of a grid point, with Theorem 3's bound."""
    budget, beta = Budget(settings.epsilon, settings.delta), settings.gammas[0]
    setting, T = Setting(1.0, 1.0, point["total"], point["radius"]), point["queries"]
    bound = theorem_3(setting, budget, T, beta)
    return setting, budget, {**point, "bound": bound, "gamma": beta, "log_queries": math.log(2 * T / beta)}


def _interactive(cell: Cell, rows: Rows, point: dict[str, Any], Z: np.ndarray, answers: np.ndarray) -> None:
    """Measure PINP by every calibration, and the answer 0."""
    setting, budget, columns = _known(cell.settings, point)
    T, beta, f = point["queries"], columns["gamma"], point["radius"] * answers[: point["queries"]]
    rows = rows.at(**columns)
    rows.at(mechanism="zero", calibration="", guarantee="proved").add("error", np.abs(f).max())
    for calibration in CALIBRATIONS:
        known = pinp.constants(setting, budget, queries=T, beta=beta, calibration=calibration)
        rng = cell.rng("noise", point["total"], T, point["radius"], point["fixed"], calibration)
        made = pinp.run(known, setting, Z[:T], f, rng=rng, repeats=cell.settings.repeats, keep=False)
        here = rows.at(
            mechanism="pinp", calibration=calibration, guarantee=known.guarantee,
            bound_10=theorem_10(setting, budget, known.bound, T, beta),
            vacuous=int(known.vacuous or columns["bound"] >= point["radius"]),
            capped=int(calibration != "paper" and known.bound >= T),
        )  # fmt: skip
        # What is asked after the printed algorithm has halted gets no answer.
        halted = made.updates >= known.updates if calibration == "paper" else np.zeros(len(made.updates), bool)
        here.add("error", np.where(halted, np.nan, made.error))
        here.add("halted", halted)
        here.add("error_live", made.live_error)
        here.add("violated", made.live_error > known.error)
        here.add("updates", made.updates)
        here.add("allowed", known.bound)
        here.add("threshold", known.threshold)


def _paths(cell: Cell, rows: Rows, Z: np.ndarray) -> None:
    """Measure M of one sample path at all grid points: paths of their own for each n lambda, C and what is fixed."""
    lines: dict[tuple, list[dict[str, Any]]] = {}
    for point in grid(cell.settings):
        lines.setdefault((point["total"], point["radius"], point["fixed"]), []).append(point)
    for key, points in lines.items():
        points = sorted(points, key=lambda point: point["queries"])
        ends = [point["queries"] for point in points]
        worst = sphere.path_maxima(Z, ends, cell.settings.repeats, cell.rng("path", *key))
        # The last row is the supremum over the whole ball.
        for point, value in zip(points, worst[:-1], strict=True):
            setting, budget, columns = _known(cell.settings, point)
            here = rows.at(**columns, mechanism="rkhs_gaussian", calibration="tight", guarantee="proved")
            here.add("error", sigma(setting, budget) * value)


def _invariance(settings: Settings, rows: Rows) -> None:
    """Compare B and sigma with those of features scaled by s, which leaves all predictions as they are."""
    budget, beta = Budget(settings.epsilon, settings.delta), settings.gammas[0]
    for calibration in CALIBRATIONS:
        first, *scaled = [
            pinp.constants(
                Setting(1.0, s, _TOTAL * s**2, _RADIUS / s), budget, queries=_QUERIES, beta=beta,
                calibration=calibration,
            )
            for s in (1.0, *_SCALES)
        ]  # fmt: skip
        here = rows.at(
            mechanism="pinp", calibration=calibration, guarantee=first.guarantee, row="invariance", total=_TOTAL,
            queries=_QUERIES, radius=_RADIUS,
        )  # fmt: skip
        for s, other in zip(_SCALES, scaled, strict=True):
            here.add("excess", abs(other.threshold / first.threshold - 1), scale=s, form="threshold")
            here.add("excess", abs(other.bound / first.bound - 1), scale=s, form="allowed")
