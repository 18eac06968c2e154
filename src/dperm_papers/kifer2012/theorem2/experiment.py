r"""Theorem 2 of kifer2012, by exact laws: what Algorithm 1 spends, under either relation and with either noise.

Symbols as in the paper: zeta >= ||grad l||, lambda >= the eigenvalue of the Hessian of one record's l, Delta the added
curvature, C = log(1 + lambda/Delta). With Delta >= 2 lambda/epsilon the noise vector b is

    paper      gamma noise of scale 2 zeta/epsilon (Lemma 14, part 1), or Gaussian noise of standard deviation
               zeta sqrt(8 log(2/delta) + 4 epsilon)/epsilon (part 2);
    corrected  under replace-one, the same with 2 zeta for zeta (erratum K3);
    tight      the least noise that docs/privacy.md proves enough.

Design `q1` (p = 1, at most two records): `quadrature` gives the law of theta, its atoms included, and from two laws the
exact delta(epsilon) and the exact epsilon. What the claims are about stands in the column `row`:

    smooth     Theorem 2, Lemma 14: no regularizer, theta free (Huber and logistic loss);
    lasso      Lemma 20: r = |theta|, an atom at 0;
    ball, box  Theorem 2: squared loss over F = [-1, 1] and F = [0, 1], atoms at the ends. Outside F the loss counts as
               continued linearly; no law depends on it;
    curvature  Theorem 4: gamma noise at Delta = lambda/(2 epsilon), which it assumes, and at 2 lambda/epsilon (K2).

Design `half-plane` (p = 2): row `norm`, a loss of rank-one Hessian that is no GLM loss (erratum K1; `half_plane`).

Each number is that of the worst pair of a search that reads no claim (`worst_pairs`). Neighbours: one record more
(Definition 1), or one record replaced; adding is D + d against D, removing D against D + d.
"""

import math

import numpy as np

from dperm import losses
from dperm.accounting import objective as accounting
from dperm.domain import Budget, Domain, Neighbours
from dperm.feasible import Region
from dperm.laws.quadrature import Noise
from dperm.mechanisms import base, objective
from dperm.noise import SphericalLaplace
from dperm_papers.kifer2012.shared.worst_pairs import Case, worst
from dperm_papers.kifer2012.theorem2.half_plane import HalfPlane
from dperm_papers.kifer2012.theorem2.settings import Settings
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Algorithm 1's Delta, and what Theorem 4 assumes of it, in units of lambda/epsilon.
PRINTED, ASSUMED = 2.0, 0.5
# Where delta(epsilon) is drawn, in units of the epsilon that is promised.
_PROFILE = np.linspace(0, 2, 41)


def run(cell: Cell, rows: Rows) -> None:
    """Measure one design: all budgets, calibrations and relations.

    Metrics: `spent`, the exact epsilon at the row's delta; `excess`, it less what `bound` names (`claim`: epsilon;
    `terms`: epsilon/2 + C, gamma noise alone); `profile`, delta at the epsilon in `at`; `noise`, the noise's scale over
    zeta.
    """
    rows = rows.at(loss="", direction="", bound="", at=0.0, pair="")
    {"q1": _line, "half-plane": _plane}[cell.point["design"]](cell.settings, rows)


def _line(settings: Settings, rows: Rows) -> None:
    _add_noises(settings, rows.at(row="noise", ridge_multiple=PRINTED))
    for epsilon in settings.curvature_epsilons:
        _add_theorem_4(epsilon, rows)
    for epsilon in settings.epsilons:
        for delta in settings.deltas:
            for case in _cases():
                for neighbours, calibration in ways(case.row):
                    _add_spent(case, Budget(epsilon, delta), neighbours, calibration, rows)


def _cases() -> list[Case]:
    free, unit = Domain(x_norm=1.0), Domain(x_norm=1.0, y_bound=1.0)
    huber, logistic, squared = losses.make("huber", knee=1.0), losses.make("logistic"), losses.squared()
    return [
        Case("smooth", huber, free),
        Case("smooth", logistic, free),
        Case("lasso", huber, free, l1=1.0),
        Case("lasso", logistic, free, l1=1.0),
        Case("ball", squared, base.searched(unit, Region(radius=1.0), 1), low=-1.0, high=1.0),
        Case("box", squared, base.searched(unit, Region(low=0.0, high=1.0), 1), low=0.0, high=1.0),
    ]


def ways(row: str) -> list[tuple[Neighbours, str]]:
    """Return the relations and calibrations of a row."""
    replace = [("replace", name) for name in ("paper", "corrected", "tight")]
    return [("add_remove", "paper"), ("add_remove", "tight"), *(replace if row == "smooth" else [])]


def _add_spent(case: Case, budget: Budget, neighbours: Neighbours, calibration: str, rows: Rows) -> None:
    """Measure what the worst pair of each direction spends, and its delta(epsilon) where it is drawn."""
    lam = case.loss.curvature_bound(case.domain)
    curvature = PRINTED * lam / budget.epsilon
    noise, guarantee = _noise(case, budget, curvature, neighbours, calibration)
    rows = rows.at(
        row=case.row, loss=case.loss.name, neighbours=neighbours, calibration=calibration,
        variant="gaussian" if budget.delta else "gamma", epsilon=budget.epsilon, delta=budget.delta,
        guarantee=guarantee, ridge_multiple=PRINTED,
    )  # fmt: skip
    for direction, (words, pair) in worst(case, curvature, noise, budget, neighbours).items():
        spent = pair.epsilon(budget.delta) if budget.delta else max(pair.largest(), 0.0)
        here = rows.at(direction=direction, pair=words)
        here.add("spent", spent)
        here.add("excess", spent - budget.epsilon, bound="claim")
        if not budget.delta and calibration == "paper" and neighbours == "add_remove":
            terms = budget.epsilon / 2 + math.log1p(lam / curvature)
            here.add("excess", spent - terms, bound="terms")
        if case.row == "smooth" and case.loss.name == "huber":
            for at in _PROFILE * budget.epsilon:
                here.add("profile", pair.delta(at), at=at)


def _noise(case: Case, budget: Budget, curvature: float, neighbours: Neighbours, calibration: str) -> tuple[Noise, str]:
    """Return the law of b, and the guarantee it carries."""
    given = {"curvature": curvature, "neighbours": neighbours}
    if calibration != "corrected":
        return objective.calibrate(case.loss, case.domain, budget, calibration=calibration, **given)
    printed, _ = objective.calibrate(case.loss, case.domain, budget, calibration="paper", **given)
    return type(printed)(2 * printed.scale), "proved_exact"


def _add_theorem_4(epsilon: float, rows: Rows) -> None:
    """Measure what gamma noise spends at the curvature that Theorem 4 assumes, and at Algorithm 1's."""
    case, noise, budget = _cases()[0], SphericalLaplace(2.0 / epsilon), Budget(epsilon, 0.0)
    rows = rows.at(
        row="curvature", loss="huber", neighbours="add_remove", calibration="paper", variant="gamma", epsilon=epsilon,
        delta=0.0,
    )  # fmt: skip
    for multiple in (ASSUMED, PRINTED):
        here = rows.at(ridge_multiple=multiple, guarantee="proved_exact" if multiple == PRINTED else "none")
        for direction, (words, pair) in worst(case, multiple / epsilon, noise, budget, "add_remove").items():
            spent = pair.largest()
            here.add("spent", spent, direction=direction, pair=words)
            here.add("excess", spent - epsilon, direction=direction, pair=words, bound="claim")


def _add_noises(settings: Settings, rows: Rows) -> None:
    """Measure noise scales over zeta at Delta = 2 lambda/epsilon; `classical`: for a sensitivity of zeta alone."""
    for epsilon in np.unique(np.geomspace(min(settings.epsilons), max(settings.epsilons), settings.points)):
        for delta in settings.deltas:
            budget = Budget(float(epsilon), delta)
            here = rows.at(epsilon=float(epsilon), delta=delta, variant="gaussian" if delta else "gamma")
            plain = math.sqrt(2 * math.log(1.25 / delta)) / epsilon if delta else 1 / epsilon
            here.add("noise", plain, neighbours="add_remove", calibration="classical")
            for case in _cases()[:2]:
                curvature = PRINTED * case.loss.curvature_bound(case.domain) / epsilon
                for neighbours, calibration in ways("smooth"):
                    noise, guarantee = _noise(case, budget, curvature, neighbours, calibration)
                    here.add(
                        "noise", noise.scale,
                        neighbours=neighbours, calibration=calibration, guarantee=guarantee, loss=case.loss.name,
                    )  # fmt: skip


def _plane(settings: Settings, rows: Rows) -> None:
    """Measure what the norm loss over the half-plane spends; `tight` takes Theorem 1, which does not speak of it."""
    rows = rows.at(row="norm", loss="norm", neighbours="add_remove", variant="gaussian")
    for epsilon in settings.epsilons:
        for delta in [delta for delta in settings.deltas if delta]:
            for multiple in settings.ridge_multiples:
                curvature = multiple / epsilon
                log_det = math.log1p(1 / curvature)
                printed = math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon
                tight = 1 / accounting.objective_ratio(
                    epsilon=epsilon, delta=delta, log_det=log_det, one_sided=False, neighbours="add_remove"
                )
                # docs/papers/kifer2012.md proves the printed noise enough for p = 2 and a half-plane.
                sigmas = {"paper": (printed, "proved_exact"), "tight": (tight, "none")}
                for calibration, (sigma, guarantee) in sigmas.items():
                    laws = HalfPlane(1.0, curvature, sigma)
                    here = rows.at(
                        epsilon=epsilon, delta=delta, ridge_multiple=multiple, calibration=calibration,
                        guarantee=guarantee,
                    )  # fmt: skip
                    here.add("boundary", laws.mass(0)[1])
                    _add_both(laws, epsilon, delta, here)


def _add_both(laws: HalfPlane, epsilon: float, delta: float, rows: Rows) -> None:
    for direction, more, less in (("adding", 1, 0), ("removing", 0, 1)):
        # From no record to one, and from one to two.
        spent, count = max((laws.epsilon(delta, k + more, k + less), k) for k in (0, 1))
        here = rows.at(direction=direction, pair=f"{count} and {count + 1} records")
        here.add("spent", spent)
        here.add("excess", spent - epsilon, bound="claim")
