r"""The noise that Theorems 1 and 2 of docs/privacy.md save, over epsilon and over delta.

Objective perturbation with b ~ N(0, sigma^2 I), a = zeta/sigma, C = log(1 + lambda/Delta), e1 = epsilon - C, H the
hockey-stick divergence of two unit Gaussians a distance a apart, Delta = m lambda/epsilon with the ridge multiple m.
The column `calibration` says which sigma is the least, or the printed one; zeta bounds one record's gradient:

    add/remove   paper   zeta sqrt(8 log(2/delta) + 4 epsilon)/epsilon (kifer2012, Theorem 2)
                 twice   2 H_{e1}(a) = delta (the form of Redberg, Koskela & Wang 2023)
                 tight   Theorem 1: max{H_{e1}(a), 2 H_epsilon(a)} = delta; one sign of l': H_{e1}(a) = delta
    replace-one  paper   the printed noise with 2 zeta for zeta (erratum K3)
                 steps   min over e of H_{e - C}(a) + 2 e^e H_{epsilon - e}(a) = delta: removing one record, adding the
                         other (one sign: without the 2); docs/papers/kifer2012.md
                 tight   Theorem 2: 2 [H_{e1}(2a) + H_{e1}(sqrt(2) a)] = delta; one sign of l':
                         H_{e1}(2a) + 2 H_{e1}(a) = delta

`needed` is a lower bound on what any theorem could reach: the largest sigma at which a pair of data sets on the line
(p = 1, Huber loss; `worst_pairs`, exact laws) spends all of (epsilon, delta). It says how much of the noise
could still be saved at most. Nothing here depends on p.
"""

import functools
import math

import numpy as np

from dperm import losses
from dperm.accounting import gaussian, objective
from dperm.domain import Budget, Domain, Neighbours
from dperm.noise import Gaussian
from dperm_papers.kifer2012.shared.worst_pairs import Case, worst
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# At `needed` the pair spends the budget up to this share, found in so many steps at most; five are usual.
_ACCURACY, _STEPS = 1e-3, 30
# Splits of epsilon that are tried; each of them is a bound.
_SPLITS = 800
_HUBER = losses.make("huber", knee=1.0)


def run(cell: Cell, rows: Rows) -> None:
    """Measure `noise`, sigma/zeta, of every theorem, and what the worst pair on the line needs.

    `sign`: whether l' keeps its sign (`one`) or not (`any`). `row`: the axis along which the point lies.
    """
    settings = cell.settings
    ranges = (settings.epsilon_range, settings.delta_range)
    epsilons, deltas = (np.geomspace(low, high, settings.points) for low, high in ranges)
    grid = [("epsilon", float(epsilon), settings.delta) for epsilon in epsilons]
    grid += [("delta", settings.epsilon, float(delta)) for delta in deltas]
    for axis, epsilon, delta in grid:
        for multiple in settings.ridge_multiples:
            for neighbours in ("add_remove", "replace"):
                here = rows.at(
                    variant="gaussian", row=axis, epsilon=epsilon, delta=delta, ridge_multiple=multiple,
                    neighbours=neighbours,
                )  # fmt: skip
                searched = multiple in settings.searched_multiples
                _add_noises(here, Budget(epsilon, delta), multiple, neighbours, searched)


def _add_noises(rows: Rows, budget: Budget, multiple: float, neighbours: Neighbours, searched: bool) -> None:
    epsilon, delta = budget.epsilon, budget.delta
    log_det = math.log1p(epsilon / multiple)
    steps = {"add_remove": 1, "replace": 2}[neighbours]
    printed = steps * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
    shared = {"epsilon": epsilon, "delta": delta, "log_det": log_det}
    for sign, one_sided in (("any", False), ("one", True)):
        tight = 1 / objective.objective_ratio(**shared, one_sided=one_sided, neighbours=neighbours)
        sigmas = {"paper": (printed, "proved_exact"), "tight": (tight, "proved_exact")}
        if neighbours == "add_remove" and not one_sided:
            ratio = gaussian.largest_ratio(
                lambda a: min(1.0, 2 * gaussian.hockey_stick(epsilon - log_det, a)), epsilon=epsilon, delta=delta
            )
            sigmas["twice"] = (1 / ratio, "proved_exact")
        if neighbours == "replace":
            ratio = gaussian.largest_ratio(
                functools.partial(two_steps, epsilon=epsilon, log_det=log_det, one_sided=one_sided),
                epsilon=epsilon, delta=delta,
            )  # fmt: skip
            sigmas["steps"] = (1 / ratio, "proved_exact")
        if searched and not one_sided:
            sigmas["needed"] = (_needed(budget, multiple, neighbours, tight), "none")
        for calibration, (sigma, guarantee) in sigmas.items():
            rows.add("noise", sigma, sign=sign, calibration=calibration, guarantee=guarantee)


def two_steps(a: float, *, epsilon: float, log_det: float, one_sided: bool) -> float:
    """Return the delta of replace-one by way of the data set without the record, at the best split of epsilon."""
    first = np.linspace(log_det, epsilon, _SPLITS)
    adding = gaussian.hockey_stick(first - log_det, a)
    removing = gaussian.hockey_stick(epsilon - first, a) * (1 if one_sided else 2)
    return float(min(1.0, np.min(adding + np.exp(first) * np.minimum(removing, 1.0))))


def _needed(budget: Budget, multiple: float, neighbours: Neighbours, tight: float) -> float:
    """Return the sigma at which the worst pair on the line spends the whole budget."""
    case = Case("smooth", _HUBER, Domain(x_norm=1.0))
    curvature = multiple * case.zeta_and_lambda()[1] / budget.epsilon

    sigma = tight
    for _ in range(_STEPS):
        found = worst(case, curvature, Gaussian(sigma), budget, neighbours)
        share = max(pair.epsilon(budget.delta) for _, pair in found.values()) / budget.epsilon
        if abs(share - 1) <= _ACCURACY:
            break
        # What is spent falls about as 1/sigma.
        sigma *= share
    return sigma
