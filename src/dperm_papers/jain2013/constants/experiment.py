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
from collections.abc import Callable

from dperm.domain import Budget
from dperm.mechanisms.kernel import pinp, tddl, tdil
from dperm_papers.jain2013.constants import checks, noise
from dperm_papers.jain2013.thm5.experiment import theorem5_queries
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# T of the table.
_QUERIES = (100, 10_000, 1_000_000)


def run(cell: Cell, rows: Rows) -> None:
    """Compute one part, or all."""
    settings = cell.settings
    rows = rows.at(
        dataset="no-data", epsilon=settings.epsilon, delta=settings.delta, total=0.0, queries=0, d=0, n=0, vacuous=0,
        radius=1.0,
    )  # fmt: skip
    for part in cell.parts(*_PARTS):
        for measure in _PARTS[part]:
            measure(cell, rows)


def _add_rounds(rows: Rows, made: pinp.Constants | tdil.Constants) -> None:
    rows = rows.at(calibration=made.calibration, guarantee=made.guarantee, vacuous=int(made.vacuous))
    for metric, value in {"rounds": made.bound, "epsilon0": made.epsilon0, "threshold": made.threshold}.items():
        rows.add(metric, value)


def _interactive(cell: Cell, rows: Rows) -> None:
    """Add the constants of Algorithm 1."""
    settings, rows = cell.settings, rows.at(series="pinp", mechanism="pinp")
    budget = Budget(settings.epsilon, settings.delta)
    for total in map(float, settings.totals):
        for T in _QUERIES:
            for how in checks.CALIBRATIONS:
                made = pinp.constants(
                    checks.unit_setting(total), budget, queries=T, beta=settings.gammas[0], calibration=how
                )
                _add_rounds(rows.at(total=total, queries=T), made)


def _dependent(cell: Cell, rows: Rows) -> None:
    """Add those of Algorithm 2, at Theorem 5's T and at the table's."""
    budget = Budget(cell.settings.epsilon, cell.settings.delta)
    for total in map(float, cell.settings.totals):
        own = theorem5_queries(total, 1.0, budget.epsilon, budget.delta)
        for T in (own, *_QUERIES):
            for how in checks.CALIBRATIONS:
                setting = checks.unit_setting(total)
                scale, guarantee = tddl.scale(setting, budget, T, how)
                here = rows.at(series="tddl", mechanism="tddl", calibration=how, guarantee=guarantee)
                here = here.at(total=total, queries=T, vacuous=int(2 * scale >= setting.radius))
                here.add("threshold", scale)
                here.add("own_queries", own)


def _independent(cell: Cell, rows: Rows) -> None:
    """Add those of Algorithm 3."""
    rows = rows.at(series="tdil", mechanism="tdil")
    for total in map(float, cell.settings.totals):
        for d in cell.settings.features:
            for how in checks.CALIBRATIONS:
                made = checks.tdil_constants(cell.settings, total, d, how)
                here = rows.at(total=total, d=d)
                _add_rounds(here, made)
                if how == "paper":
                    digits = d * math.log10(4 / made.radius)
                    here.add("net_digits", digits, calibration=how, guarantee=made.guarantee, vacuous=int(made.vacuous))


_PARTS: dict[str, tuple[Callable[[Cell, Rows], None], ...]] = {
    "constants": (_interactive, _dependent, _independent),
    "noise": (noise.measure,),
    "checks": (checks.net, checks.theorem11, checks.exponential, checks.translation, checks.work),
}
