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
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from dperm import seeds
from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting, sigma
from dperm_papers.jain2013.shared import sphere
from dperm_pipeline.rows import frame

CALIBRATIONS = ("paper", "corrected", "tight")
# Where the axes cross, and n where n is held fixed.
_TOTAL, _QUERIES, _RADIUS, _N = 1e8, 10_000, 1.0, 10**9
# T runs here too: the printed sigma is vacuous, and the others' B is far below T.
_LOW_TOTAL = 1e6
_SCALES = (0.1, 0.5, 2.0, 10.0)
_BLANK = {
    "form": "", "row": "", "fixed": "", "n": 0, "curvature": 0.0, "total": 0.0, "queries": 0, "radius": 0.0,
    "scale": 1.0, "log_queries": 0.0, "bound": 0.0, "bound_10": 0.0, "vacuous": 0, "capped": 0, "gamma": 0.0,
}  # fmt: skip


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of all mechanisms, calibrations and grid points.

    - cell: as `dperm_pipeline.plan` made it.
    - Returns: columns as in the module's text.
    - Raises ConfigError: if the cell's part is another than `all`.
    """
    if cell["point"]["part"] != "all":
        raise ConfigError(f"part: {cell['point']['part']!r} is none of jain2013-thm3; there is: all")
    settings = cell["settings"]
    Z = sphere.queries(cell["seed"], max(_QUERIES, *settings["queries"]))
    answers = Z @ sphere.target(cell["seed"])
    beta = settings["gammas"][0]
    found = [row for point in grid(settings) for row in _of_point(cell, point, Z, answers, beta)]
    found += list(_paths(cell, Z, beta)) + list(_invariance(settings, beta))
    head = {key: cell[key] for key in ("paper", "experiment", "neighbours")}
    head |= {"variant": "", "dataset": sphere.DATASET, "epsilon": settings["epsilon"], "delta": settings["delta"]}
    return frame(found, _BLANK, head)


def grid(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the grid points, each once: n, curvature, total, queries, radius and what is held `fixed`.

    - settings: of the cell.
    """
    points = [
        *((total, T, _RADIUS, "lambda") for total in (_LOW_TOTAL, _TOTAL) for T in settings["queries"]),
        *((total, _QUERIES, _RADIUS, fixed) for fixed in ("lambda", "n") for total in settings["totals"]),
        *((_TOTAL, _QUERIES, radius, "lambda") for radius in settings["radii"]),
    ]
    return [
        {
            "total": float(total), "queries": int(T), "radius": float(radius), "fixed": fixed,
            "n": round(total) if fixed == "lambda" else _N, "curvature": 1.0 if fixed == "lambda" else total / _N,
        }
        for total, T, radius, fixed in dict.fromkeys(points)
    ]  # fmt: skip


def theorem_3(setting: Setting, budget: Budget, queries: float, beta: float) -> float:
    """Return C R^2 sqrt(L log(T/beta)) log^2(1/delta)/sqrt(n epsilon lambda), as printed, with constant 1.

    - queries: T.
    - Returns: in units of the answers.
    - Source: jain2013, Theorem 3.
    """
    square = setting.lipschitz * math.log(queries / beta) / (setting.total * budget.epsilon)
    return setting.radius * setting.feature_norm**2 * math.sqrt(square) * math.log(1 / budget.delta) ** 2


def theorem_10(setting: Setting, budget: Budget, updates: float, queries: float, beta: float) -> float:
    """Return S sqrt(B) log(1/delta) log(T/beta)/epsilon with constant 1 and S = R Delta_w.

    - updates: B.
    - queries: T.
    - Returns: in units of the answers.
    - Source: jain2013, Theorem 10 (Appendix A.2); erratum J2 for the place of S.
    """
    change = setting.feature_norm * setting.shift
    return change * math.sqrt(updates) * math.log(1 / budget.delta) * math.log(queries / beta) / budget.epsilon


def _of_point(cell, point: dict[str, Any], Z: np.ndarray, answers: np.ndarray, beta: float) -> Iterator[dict[str, Any]]:
    """Give PINP by every calibration, and the answer 0."""
    settings, T = cell["settings"], point["queries"]
    budget = Budget(settings["epsilon"], settings["delta"])
    setting = Setting(1.0, 1.0, point["total"], point["radius"])
    f = point["radius"] * answers[:T]
    bound = theorem_3(setting, budget, T, beta)
    here = {**point, "bound": bound, "gamma": beta, "log_queries": math.log(2 * T / beta)}
    zero = {**here, "mechanism": "zero", "calibration": "", "guarantee": "proved"}
    yield {**zero, "vacuous": 0, "metric": "error", "value": np.abs(f).max()}
    for calibration in CALIBRATIONS:
        known = pinp.constants(setting, budget, queries=T, beta=beta, calibration=calibration)
        names = (point["total"], T, point["radius"], point["fixed"], calibration)
        rng = seeds.generator(cell["seed"], cell["experiment"], "noise", *names)
        made = pinp.run(known, setting, Z[:T], f, rng=rng, repeats=settings["repeats"], keep=False)
        own = {
            **here, "mechanism": "pinp", "calibration": calibration, "guarantee": known.guarantee,
            "bound_10": theorem_10(setting, budget, known.bound, T, beta),
            "vacuous": int(known.vacuous or bound >= point["radius"]),
            "capped": int(calibration != "paper" and known.bound >= T),
        }  # fmt: skip
        # What is asked after the printed algorithm has halted gets no answer.
        halted = made.updates >= known.updates if calibration == "paper" else np.zeros(len(made.updates), bool)
        yield {**own, "metric": "error", "value": np.where(halted, np.nan, made.error)}
        yield {**own, "metric": "halted", "value": halted}
        yield {**own, "metric": "error_live", "value": made.live_error}
        yield {**own, "metric": "violated", "value": made.live_error > known.error}
        yield {**own, "metric": "updates", "value": made.updates}
        yield {**own, "metric": "allowed", "value": known.bound}
        yield {**own, "metric": "threshold", "value": known.threshold}


def _paths(cell, Z: np.ndarray, beta: float) -> Iterator[dict[str, Any]]:
    """Give M of one sample path at all grid points: paths of their own for each n lambda, C and what is fixed."""
    settings = cell["settings"]
    budget = Budget(settings["epsilon"], settings["delta"])
    lines: dict[tuple, list[dict[str, Any]]] = {}
    for point in grid(settings):
        lines.setdefault((point["total"], point["radius"], point["fixed"]), []).append(point)
    for key, points in lines.items():
        rng = seeds.generator(cell["seed"], cell["experiment"], "path", *key)
        points = sorted(points, key=lambda point: point["queries"])
        worst = sphere.path_maxima(Z, [point["queries"] for point in points], settings["repeats"], rng)
        for point, value in zip(points, worst, strict=False):
            setting, T = Setting(1.0, 1.0, point["total"], point["radius"]), point["queries"]
            bound = theorem_3(setting, budget, T, beta)
            yield {
                **point, "mechanism": "rkhs_gaussian", "calibration": "tight", "guarantee": "proved", "bound": bound,
                "gamma": beta, "log_queries": math.log(2 * T / beta), "metric": "error",
                "value": sigma(setting, budget) * value,
            }  # fmt: skip


def _invariance(settings: Mapping[str, Any], beta: float) -> Iterator[dict[str, Any]]:
    budget = Budget(settings["epsilon"], settings["delta"])
    for calibration in CALIBRATIONS:
        known = [
            pinp.constants(
                Setting(1.0, s, _TOTAL * s**2, _RADIUS / s), budget, queries=_QUERIES, beta=beta,
                calibration=calibration,
            )
            for s in (1.0, *_SCALES)
        ]  # fmt: skip
        here = {
            "mechanism": "pinp", "calibration": calibration, "guarantee": known[0].guarantee, "row": "invariance",
            "total": _TOTAL, "queries": _QUERIES, "radius": _RADIUS, "metric": "excess",
        }  # fmt: skip
        for s, other in zip(_SCALES, known[1:], strict=True):
            for form, ratio in (
                ("threshold", other.threshold / known[0].threshold),
                ("allowed", other.bound / known[0].bound),
            ):
                yield {**here, "scale": s, "form": form, "value": abs(ratio - 1)}
