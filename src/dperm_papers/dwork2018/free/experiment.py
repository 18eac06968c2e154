r"""Privacy for free (dwork2018, Section 4.4): the epsilon at which noise costs as much as having only n records.

Corollary 4.13 bounds the excess of stable gradient descent by 2 R L/sqrt n (statistics) + k sigma_l R^2 L_f^2/(n eps^2)
(noise), k = 1 as printed and 4 mended (erratum D2). The terms are equal at

    eps = sqrt(k) n^{-1/4} sqrt(sigma_l R L_f/(2 L_l)),

an identity (`excess`: how far that is from the root of the terms, in logarithms). Whether the two *measured* parts are
equal at eps*(n) ~ n^{-1/4} is another question, asked of two laws whose parts are exact
(`dperm_papers.dwork2018.shared.projected`): `hard`, where the statistical bound is met up to a constant, and `sq`,
which is strongly convex. There the statistical part is O(1/n) like the noise's.

Series, by the column `series`: `ratio`, noise excess over statistical excess along eps n^{1/4} (with both parts) of the
halved step; `crossing`, eps*(n) and the statistical part of each way to set step and noise; `algebra`.

Ways, by `calibration` and `variant`: printed (step 1, noise for R L_f/sqrt n: not private), corrected and tight (step
1, twice that), and `halved` (half the step, noise for R L_f/sqrt n). Laws are those of one answer at the worst c or mu
of the statistical part. Neighbours: replace-one. Nothing is drawn.

References
----------
dwork2018, Section 4.4, Corollary 4.13; errata D2, D15.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy import optimize

from dperm.mechanisms.prediction import stable_sgd
from dperm_papers.dwork2018.shared import bounds, projected
from dperm_papers.dwork2018.shared.projected import PROBLEMS, Problem
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# (calibration, variant) -> eta of the mechanism and its share of the printed step.
WAYS = {
    ("paper", "halved"): ("halved", 0.5),
    ("paper", ""): ("printed", 1.0),
    ("corrected", ""): ("printed", 1.0),
    ("tight", ""): ("printed", 1.0),
}
_MEANS = np.linspace(-1, 1, 201)
# Each of R, L_f, L_l and sigma_l at which the algebra is checked.
_CONSTANTS = (0.5, 1.0, 3.0)


def run(cell: Cell, rows: Rows) -> None:
    """Measure all laws and sizes; `dataset` is the law, `scaled` is eps n^{1/4}."""
    cell.parts()
    settings = cell.settings
    rows = rows.at(delta=0.0, scaled=0.0, radius=0.0, x_norm=0.0, lipschitz=0.0, smoothness=0.0)
    _algebra(settings.sizes, rows)
    for law, n in itertools.product(settings.designs, settings.sizes):
        _measured(law, n, settings.scaled_epsilons, rows)


def crossing(noise: Callable[[float], float], statistical: float, start: float) -> float:
    """Return the scale of Laplace noise, near `start`, at which the noise costs as much as the statistics.

    `noise` gives the noise excess at a scale; it rises from 0 without bound.
    """
    low, high = start / 2, 2 * start
    while noise(low) >= statistical:
        low /= 2
    while noise(high) <= statistical:
        high *= 2
    root = optimize.brentq(
        lambda u: math.log(noise(math.exp(u)) / statistical), math.log(low), math.log(high), xtol=1e-12, rtol=1e-12
    )
    return math.exp(root)


def _measured(law: str, n: int, scaled: list[float], rows: Rows) -> None:
    """Both parts of the excess of a law at n, over epsilon, and where they meet."""
    problem, by_share = PROBLEMS[law], {}
    for (calibration, variant), (eta, share) in WAYS.items():
        if share not in by_share:
            statistical, noise = excess_parts(law, n, share)
            by_share[share] = statistical, noise, crossing(noise, statistical, math.sqrt(statistical))
        statistical, noise, scale = by_share[share]
        rate = stable_sgd.rate(problem.lipschitz, problem.x_norm, problem.radius, n, calibration=calibration, eta=eta)
        guarantee = stable_sgd.guarantee(calibration, eta)
        here = rows.at(dataset=law, n=n, calibration=calibration, variant=variant, guarantee=guarantee)
        epsilon = rate / scale
        here.add("crossing", epsilon, series="crossing", epsilon=epsilon, scaled=epsilon * n**0.25)
        here.add("statistical", statistical, series="crossing", epsilon=0.0)
        if variant != "halved":
            continue
        for multiple in scaled:
            epsilon = multiple / n**0.25
            cost = noise(rate / epsilon)
            scaled_here = here.at(series="ratio", epsilon=epsilon, scaled=multiple)
            scaled_here.add("noise", cost)
            scaled_here.add("ratio", cost / statistical)


def excess_parts(law: str, n: int, share: float) -> tuple[float, Callable[[float], float]]:
    """Return the statistical excess at the worst case, and the noise excess there as a function of the scale."""
    if law == "sq":
        return projected.squared_statistical(n, share, _MEANS)[0], lambda scale: scale**2
    statistical, c = projected.hard_statistical(n, share)
    return statistical, lambda scale: projected.hard_noise(n, share, c, scale)


def _algebra(sizes: list[int], rows: Rows) -> None:
    """The epsilon at which Corollary 4.13's terms are equal, by formula and by root; and of the laws' own constants."""
    grid = [Problem(*values) for values in itertools.product(_CONSTANTS, repeat=4)]
    for n, (calibration, mended), problem in itertools.product(
        sizes, (("paper", False), ("corrected", True)), [*grid, *PROBLEMS.values()]
    ):
        formula = bounds.free_epsilon(*problem, n, mended=mended)

        def gap(u: float, at=problem, n=n, mended=mended) -> float:
            statistical, noise = bounds.corollary413(*at, n, math.exp(u), mended=mended)
            return math.log(noise / statistical)

        root = optimize.brentq(gap, -60, 60, xtol=1e-13, rtol=1e-13)
        here = rows.at(dataset="no-data", n=n, calibration=calibration, series="algebra", epsilon=formula)
        here = here.at(**problem._asdict())
        here.add("excess", abs(root - math.log(formula)))
        for law, own in PROBLEMS.items():
            if problem == own:
                here.add("crossing", formula, dataset=law)
