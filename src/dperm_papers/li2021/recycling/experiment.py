r"""Figures 8 and S.4 of li2021: lasso selection and prediction with the retrieved budget recycled, and without.

Linear regression as in Table 4 (`designs`), the limit n_e -> infinity, r = 1/2; NAPP-ERM, VS and VS+, with MOOR
(variants `erm-moor`, `vs-moor`, `vs_plus-moor`), for each delta. Rows `figure`; `round` 0 is the first run, 1 the one
with what it retrieved (variants with `-recycled`):

    auc                 per repeat, of the path over Lambda,
    log_mse             log of the mean squared error on the test records, per repeat and Lambda; `_zero`: of theta = 0,
    fpr_*, tpr_*        `_mean` over repeats and `_half` of its 95 % interval, for each Lambda,
    share_*, log_mse_*  the same, of what the run retrieves, over (1 - r) epsilon, and of the error,
    order               how far round 1 ranks the methods as round 0 does (N-c64): in [-1, 1], Kendall's tau of
                        the mean errors, ties that stay ties counted as agreement, averaged over the Lambda at which
                        some method's error changes; for each of ten batches of repeats.

Rows `rounds`, for `side_repeats` data sets: Algorithm 2 (errata N5 and N14 mended) for several rounds.

    credit              what has been retrieved before round k, over (1 - r) epsilon: 1 - Lambda0/(modulus of round k),
    modulus_change      1 - (modulus of round k - 1)/(modulus of round k), k >= 1.

`informative` is False at strengths where no repeat of a method retrieves anything (`rounds`), or where recycling
changes no error of any method (`figure`).

Calibration `corrected`: what is left when the guarantee is real. Retrieval is proved where the modulus is public
(`retrieval`), so for the ridge part of the penalty alone. The problem is without MOOR, sum l + b'theta + Lambda
||theta||_1 + w ||theta||^2, in Theta = [0, 1]^16, where the gradient is bounded; VS is the same there, for b'|theta| is
b'theta; VS+ has two-sided b and the lasso t sigma_b (variants `erm`, `vs_plus`). Round 0: w = Lambda0, r = 1/2. Round
1: w = max{Lambda, Lambda0}, as Table 2's ridge has it, and r = 1 - zeta3/(2 w epsilon): a split of epsilon that is as
public as Lambda. Rows `rounds`: Algorithm 2 itself for the target ridge.

Column `zeta`: which bounds stand for those that li2021 does not print (`designs.bounded`): `range` with all repeats,
the others, and the deltas of `side_deltas`, with the first `side_repeats`; `unit`, which are no bounds, as published
alone. `typical-density`: pure noise by the density of Equations 4 and 9 (erratum N1), rows `figure` as published alone.

Neighbours: add/remove.
"""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dperm.domain import Budget
from dperm.mechanisms.napp import limit, noise, retrieval
from dperm.mechanisms.napp.scheme import Scheme
from dperm_papers.li2021.shared import designs, measures
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

PUBLISHED = ("erm", "vs", "vs_plus")
# Within one orthant VS is NAPP-ERM (erratum N3).
CORRECTED = ("erm", "vs_plus")
_RECYCLED = "-recycled"
_BATCHES = 10
# Of a logarithm of an error: one model, tested beside others, has the same error but for the last digits of its sums.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class _Task:
    """One design at one budget: the cell, its data, the grid of Lambda, and the public bounds, by their name `zeta`."""

    cell: Cell
    zeta: str
    design: designs.Design
    X: np.ndarray
    y: np.ndarray
    strengths: np.ndarray
    budget: Budget
    bounds: noise.Bounds
    density: bool = False

    @property
    def paper(self) -> bool:
        """Whether the mechanism is run as published."""
        return self.cell.calibration == "paper"

    @property
    def share(self) -> float:
        """Return r of the first run."""
        return self.cell.settings.budget_share

    @property
    def floor(self) -> float:
        """Return Lambda0 of the first run."""
        return noise.floor(self.bounds, self.budget.epsilon, self.share)

    @property
    def solver(self) -> dict[str, Any]:
        """Return what every fit is solved with."""
        return {"tolerance": self.cell.settings.tolerance, "box": None if self.paper else self.design.box}

    def data(self, repeats: int) -> limit.Problems:
        eta_bound = math.inf if self.paper else self.design.eta_bound
        return limit.problems(self.design.loss, self.X[:repeats], self.y[:repeats], eta_bound)

    def law(self, variant: str, share: float) -> tuple[noise.Law, float, str]:
        law, *others = noise.calibrate(
            self.bounds, self.budget, share=share, variant=variant, calibration=self.cell.calibration,
            features=self.design.p, neighbours=self.cell.neighbours,
        )  # fmt: skip
        return noise.by_density(law) if self.density else law, *others

    def draw(self, law: noise.Law, variant: str) -> np.ndarray:
        """Return b of every repeat, shape (R, p): laws of one kind give the same b but for its scale."""
        cell, budget = self.cell, self.budget
        method = (cell.mechanism, cell.calibration, cell.neighbours, cell.point["design"])
        own = () if self.zeta == "range" else (self.zeta,)
        rng = cell.rng("noise", *method, budget.epsilon, budget.delta, variant, *own)
        return law.sample((len(self.X), self.design.p), rng)


@dataclass(frozen=True)
class _Run:
    """One round of one method: theta (R, L, p), certified (R, L), retrieved (R, L), and what is proved."""

    theta: np.ndarray
    converged: np.ndarray
    share: np.ndarray
    guarantee: str


def run(cell: Cell, rows: Rows) -> None:
    """Measure one design at one epsilon; columns strength (Lambda; 0: a whole path), row, round, informative, zeta."""
    settings, name = cell.settings, cell.point["design"]
    X, y = designs.training(cell.seed, cell.experiment, name, settings.repeats)
    test = designs.test(cell.seed, cell.experiment, name, settings.test_rows)
    zetas = [zeta for zeta in settings.side_zetas if cell.calibration == "paper" or zeta != "unit"]
    budgets = [("range", delta) for delta in (*settings.deltas, *settings.side_deltas)]
    for zeta, delta in (*budgets, *itertools.product(zetas, settings.deltas)):
        beside = zeta != "range" or delta in settings.side_deltas
        repeats = settings.side_repeats if beside else settings.repeats
        task = _task(cell, zeta, delta, X[:repeats], y[:repeats])
        here = rows.at(delta=delta, strength=0.0, informative=True, round=0, zeta=zeta)
        _figure(here.at(row="figure"), task, test)
        _rounds(here.at(row="rounds"), task)
    for zeta in settings.density_zetas if cell.calibration == "paper" else ():
        task = _task(cell, zeta, 0.0, X[: settings.side_repeats], y[: settings.side_repeats])
        task = replace(task, zeta=f"{zeta}-density", density=True)
        here = rows.at(delta=0.0, strength=0.0, informative=True, round=0, zeta=task.zeta)
        _figure(here.at(row="figure"), task, test)


def _task(cell: Cell, zeta: str, delta: float, X: np.ndarray, y: np.ndarray) -> _Task:
    settings, paper = cell.settings, cell.calibration == "paper"
    design = designs.bounded(designs.find(cell.point["design"]), zeta)
    # The corrected bounds hold for what is clipped to them.
    y = y if paper else np.clip(y, -design.y_bound, design.y_bound)
    bounds = noise.Bounds(design.zeta1, design.zeta2 if paper else design.boxed_zeta2, design.zeta3)
    strengths = np.geomspace(*settings.strengths, settings.steps)
    return _Task(cell, zeta, design, X, y, strengths, Budget(float(cell.point["epsilon"]), delta), bounds)


def _figure(rows: Rows, task: _Task, test: tuple[np.ndarray, np.ndarray]) -> None:
    """Measure what Figure 8 draws."""
    runs, suffix = (_published(task), "-moor") if task.paper else (_proved(task), "")

    def error(theta: np.ndarray) -> np.ndarray:
        return measures.test_error(task.design.loss, *test, theta, eta_bound=task.design.eta_bound)

    errors = {key: error(np.where(one.converged[..., None], one.theta, np.nan)) for key, one in runs.items()}
    before, after = (np.stack([value for (_, k), value in errors.items() if k == which]) for which in (0, 1))
    at = {"strength": task.strengths, "informative": _changed(before, after)}
    for (variant, k), one in runs.items():
        here = rows.at(variant=variant + suffix + (_RECYCLED if k else ""), round=k, guarantee=one.guarantee)
        false, true = measures.rates(one.theta, task.design.relevant)
        here.add("auc", measures.area(false, true), ok=one.converged.all(axis=1))
        here.add("log_mse", errors[variant, k], ok=one.converged, **at)
        for metric, values in (("fpr", false), ("tpr", true), ("share", one.share), ("log_mse", errors[variant, k])):
            measures.add_summary(here, metric, np.where(one.converged, values, np.nan), **at)
    # Of no method alone, which the privacy ledger would list.
    here = rows.at(mechanism="nonprivate")
    here.add("log_mse_zero", error(np.zeros((1, task.design.p))), variant="zero")
    order = agreement(before, after)
    here.add("order", order, ok=~np.isnan(order), variant="all")


def _published(task: _Task) -> dict[tuple[str, int], _Run]:
    """Run Algorithm 2 once, with MOOR."""
    found, scheme = {}, Scheme("lasso", task.floor, moor=True)
    data = task.data(len(task.X))
    for variant in PUBLISHED:
        law, _, _ = task.law(variant, task.share)
        rounds = retrieval.recycle(
            data, task.draw(law, variant), scheme, task.strengths, variant=variant, budget=task.budget,
            share=task.share, solver=task.solver,
        )  # fmt: skip
        for k, one in enumerate(rounds):
            found[variant, k] = _Run(one.theta, one.converged, one.share, "none")
    return found


def _proved(task: _Task) -> dict[tuple[str, int], _Run]:
    """Run objective perturbation with r = 1/2, and with the split that Lambda's own ridge allows."""
    found, data = {}, task.data(len(task.X))
    for variant in CORRECTED:
        for k in (0, 1):
            fits, shares, guarantees = [], [], set()
            for strength in task.strengths:
                modulus = max(strength, task.floor) if k else task.floor
                law, extra, guarantee = task.law(variant, retrieval.split(task.bounds, task.budget.epsilon, modulus))
                fits.append(
                    limit.path(
                        data, task.draw(law, variant), Scheme("lasso", modulus, moor=False, halved=True),
                        np.array([strength]), variant="erm", extra_l1=extra, **task.solver,
                    )
                )  # fmt: skip
                shares.append(1 - task.floor / max(strength, task.floor))
                guarantees.add(guarantee)
            found[variant, k] = _Run(
                np.concatenate([fit.theta for fit in fits], axis=1),
                np.concatenate([fit.converged for fit in fits], axis=1),
                np.broadcast_to(shares, (len(task.X), len(shares))),
                "proved_exact" if guarantees == {"proved_exact"} else "none",
            )
    return found


def _rounds(rows: Rows, task: _Task) -> None:
    """Measure what several rounds of Algorithm 2 retrieve: with MOOR's lasso, or corrected with ridge."""
    settings, paper = task.cell.settings, task.paper
    few = min(settings.side_repeats, settings.repeats)
    data = task.data(few)
    scheme = Scheme("lasso", task.floor, moor=True) if paper else Scheme("ridge", task.floor, moor=False)
    for variant in PUBLISHED if paper else ("erm",):
        law, _, guarantee = task.law(variant, task.share)
        found = retrieval.recycle(
            data, task.draw(law, variant)[:few], scheme, task.strengths, variant=variant, budget=task.budget,
            share=task.share, rounds=settings.rounds, solver=task.solver,
        )  # fmt: skip
        name = variant + ("-moor" if paper else "") + _RECYCLED
        at = {"strength": task.strengths, "informative": (found[0].share > 0).any(axis=0)}
        for k, one in enumerate(found):
            here = rows.at(variant=name, round=k, guarantee="none" if paper else guarantee)
            here.add("credit", one.credit, ok=one.converged, **at)
            if k:
                here.add("modulus_change", _change(found[k - 1].floors, one.floors), ok=one.converged, **at)


def _change(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return 1 - before/after; 0 where both are infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(before), 0.0, 1 - before / after)


def _changed(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return at which strengths any error of any method changes by more than rounding; lost ones do not count."""
    return (np.abs(before - after) > _ROUNDING).any(axis=(0, 1))


def agreement(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return how far two rankings of methods by mean error agree, for each of at most 10 batches of repeats.

    `before` and `after` hold errors of shape (methods, repeats, strengths); repeats with NaN are left out of their
    batch's means. It is the mean over pairs of methods, and over the strengths at which any error changes, of 1
    where both have the same order (or both a tie, up to 1e-9), -1 where the opposite, 0 where one of them alone is
    a tie: Kendall's tau, but for common ties. NaN where no error changes: such strengths would say nothing but 1.
    """
    changed = _changed(before, after)
    before, after = before[..., changed], after[..., changed]
    batches = np.array_split(np.arange(before.shape[1]), min(_BATCHES, before.shape[1]))
    found = []
    for batch in batches:
        whole = ~(np.isnan(before[:, batch]) | np.isnan(after[:, batch])).any(axis=(0, 2))
        if not whole.any():
            continue
        means = [errors[:, batch[whole]].mean(axis=1) for errors in (before, after)]
        pairs = list(itertools.combinations(range(len(means[0])), 2))
        signs = [np.array([_sign(mean[i] - mean[j]) for i, j in pairs]) for mean in means]
        agree = np.where((signs[0] == 0) & (signs[1] == 0), 1.0, signs[0] * signs[1])
        found.append(agree.mean() if changed.any() else math.nan)
    return np.array(found)


def _sign(difference: np.ndarray) -> np.ndarray:
    return np.where(np.abs(difference) < 1e-9, 0.0, np.sign(difference))
