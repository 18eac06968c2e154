r"""Constants of jain2013: what Algorithms 1 to 3 and Theorem 5 set, what one prediction's noise is, and exact checks.

Series, by the column `series`:

    pinp, tddl, tdil   the theory grid, R = L = C = L_phi = lambda = 1 (so n = n lambda), by calibration: `rounds` (B),
                       `epsilon0`, `threshold` (sigma; TDDL: nu, tight: sigma), `net_digits` (log10 |S| of the printed
                       net), `own_queries` (T of Theorem 5); `vacuous` is 1 where B < 1 or sigma >= C R/2
    noise              `dperm_papers.jain2013.constants.noise`
    net, composition, exponential, translation, work-n, work-t
                       `dperm_papers.jain2013.constants.checks`

No record is drawn: noise depends on n through the nominal n lambda. Neighbours: replace-one.

References
----------
jain2013, Algorithms 1 to 3, Theorems 5 and 11, Appendix C; errata J1 to J6, J12.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.mechanisms.kernel import pinp, tddl
from dperm_papers.jain2013.constants import checks, noise
from dperm_papers.jain2013.thm5.experiment import theorem5_queries

# T of the table.
_QUERIES = (100, 10_000, 1_000_000)
_BLANK = {
    "variant": "", "dataset": "no-data", "total": 0.0, "queries": 0, "d": 0, "n": 0, "vacuous": 0, "repeat": 0,
    "radius": 1.0,
}  # fmt: skip


def run(cell: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of one part, or of all.

    - cell: as `dperm_pipeline.plan` made it.
    - Returns: as the module says.
    - Raises ConfigError: if there is no such part.
    """
    part, settings = cell["point"]["part"], cell["settings"]
    if part not in (*_PARTS, "all"):
        raise ConfigError(f"part: {part!r} is none of jain2013-constants; choose from {', '.join(_PARTS)}, all")
    blank = _BLANK | {"epsilon": settings["epsilon"], "delta": settings["delta"]}
    found = [
        {**blank, **line}
        for name in (_PARTS if part == "all" else [part])
        for give in _PARTS[name]
        for line in give(cell)
    ]
    head = {key: cell[key] for key in ("paper", "experiment", "neighbours")}
    return pd.DataFrame(found).assign(**head, status="ok")


def _interactive(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Algorithm 1."""
    settings = cell["settings"]
    for total in map(float, settings["totals"]):
        for T in _QUERIES:
            for how in checks.CALIBRATIONS:
                made = pinp.constants(
                    checks.unit_setting(total), Budget(settings["epsilon"], settings["delta"]), queries=T,
                    beta=settings["gammas"][0], calibration=how,
                )  # fmt: skip
                told = {"series": "pinp", "mechanism": "pinp", "calibration": how, "guarantee": made.guarantee}
                told |= {"total": total, "queries": T, "vacuous": int(made.vacuous)}
                values = {"rounds": made.bound, "epsilon0": made.epsilon0, "threshold": made.threshold}
                for metric, value in values.items():
                    yield {**told, "metric": metric, "value": value}


def _dependent(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Algorithm 2, at Theorem 5's T and at the table's."""
    settings = cell["settings"]
    budget = Budget(settings["epsilon"], settings["delta"])
    for total in map(float, settings["totals"]):
        own = theorem5_queries(total, 1.0, budget.epsilon, budget.delta)
        for T in (own, *_QUERIES):
            for how in checks.CALIBRATIONS:
                setting = checks.unit_setting(total)
                scale, guarantee = tddl.scale(setting, budget, T, how)
                told = {"series": "tddl", "mechanism": "tddl", "calibration": how, "guarantee": guarantee}
                told |= {"total": total, "queries": T, "vacuous": int(2 * scale >= setting.radius)}
                yield {**told, "metric": "threshold", "value": scale}
                yield {**told, "metric": "own_queries", "value": float(own)}


def _independent(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Algorithm 3."""
    settings = cell["settings"]
    for total in map(float, settings["totals"]):
        for d in settings["features"]:
            for how in checks.CALIBRATIONS:
                made = checks.tdil_constants(settings, total, d, how)
                told = {"series": "tdil", "mechanism": "tdil", "calibration": how, "guarantee": made.guarantee}
                told |= {"total": total, "d": d, "vacuous": int(made.vacuous)}
                values = {"rounds": made.bound, "epsilon0": made.epsilon0, "threshold": made.threshold}
                if how == "paper":
                    values["net_digits"] = d * math.log10(4 / made.radius)
                for metric, value in values.items():
                    yield {**told, "metric": metric, "value": value}


_PARTS: dict[str, tuple[Callable[[Mapping[str, Any]], Iterator[dict[str, Any]]], ...]] = {
    "constants": (_interactive, _dependent, _independent),
    "noise": (noise.rows,),
    "checks": (checks.net, checks.theorem11, checks.exponential, checks.translation, checks.work),
}
