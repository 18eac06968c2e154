r"""Misclassification on Adult (li2021, Section 5.2, Figure 6): lasso logistic regression, six methods, over epsilon.

Records as the codebook gives them (config/datasets.yaml): numbers scaled to [0, 1] by public ranges, a column for each
level of each factor, and a constant, which is penalised as any other column. ||x||^2 <= 15 for Adult; the paper scales
nothing and states no bound. Train and test are the source's own files; where there is no test file (the stand-in for
Adult, which is not bundled) a share of the rows is set aside.

calibration `paper`, as published: zeta1 = zeta2 = zeta3 = 1, so that Lambda0 = 1/epsilon at r = 1/2; theta in R^p, the
slope 2 Lambda of erratum N6. A record may be as long as sqrt(15): no guarantee (erratum N12). Column `variant`: `erm`
(the existing DP-ERM), `vs`, `vs_plus`, each with MOOR (`-moor`) or without.

calibrations `corrected`, `tight`: zeta1 = sqrt(15), zeta2 = 1, zeta3 = 15/4, the target Lambda |theta|_1. No orthant is
known to hold theta, so of the six remain `erm`, and `vs_plus` with the lasso t sigma_b beside two-sided noise (errata
N2, N3); a lasso has no MOOR (erratum N4).

Fits are the limit n_e -> infinity of Algorithm 1 at its fixed point. Metric `error`: share of the test records with
another label than [<x, theta> > 0]. mechanism `nonprivate`: the lasso with Lambda (`lasso`) and with 2 Lambda
(`lasso-2`), and the number of records by split and label (`records`), `excess` being its distance from the paper's.
Methods share the noise of a cell (|b| where it is truncated).

Metric `literal_error`, as published: that share of VS+ by Algorithm 1 to the letter, with MOOR and without, at Lambda =
`literal_strength`: what a finite n_e changes may be more than what MOOR does (erratum N8). Both share b and the draws
behind the appended rows. Neighbours: add/remove.
"""

import contextlib
import itertools
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dperm.domain import Budget, Domain
from dperm.errors import SolverError
from dperm.mechanisms import napp
from dperm.mechanisms.napp import limit
from dperm.mechanisms.napp.noise import Bounds, calibrate, floor
from dperm.mechanisms.napp.scheme import Scheme
from dperm_papers.li2021.shared import measures, pairs
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Records by split and label, as Section 5.2 prints them.
COUNTS = {
    "adult": {("train", -1.0): 22_654, ("train", 1.0): 7_508, ("test", -1.0): 11_360, ("test", 1.0): 3_700},
}
_METHODS = {
    "paper": tuple((variant, moor) for variant in ("erm", "vs", "vs_plus") for moor in (False, True)),
    "corrected": (("erm", False), ("vs_plus", False)),
    "tight": (("erm", False), ("vs_plus", False)),
}
# The lasso itself: a scheme has a floor, and `floors` of 0 takes its place.
_LASSO = Scheme("lasso", 1.0, moor=True, halved=True)
_LASSOS = {"lasso": 1.0, "lasso-2": 2.0}


@dataclass(frozen=True)
class _Task:
    """A data set cut in two: `trained` are the records that `train` fits, X and y those of the test."""

    trained: tuple[np.ndarray, np.ndarray]
    train: limit.Problems
    X: np.ndarray
    y: np.ndarray
    domain: Domain

    @property
    def features(self) -> int:
        return self.X.shape[1]

    def error(self, theta: np.ndarray) -> np.ndarray:
        """Return the share of wrong labels among test records, for theta of shape (..., p)."""
        wrong = (self.X @ theta.reshape(-1, self.features).T > 0) != (self.y[:, None] > 0)
        return wrong.mean(axis=0).reshape(theta.shape[:-1])


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure both lassos without privacy, and count the records by split and label (the column `row`)."""
    dataset, lambdas = cell.data, cell.settings.lambdas
    task = _task(cell)
    rows = rows.at(epsilon=np.inf, delta=0.0, row="")
    # The strongest first: each fit starts from the one before.
    weights = np.array(sorted({times * weight for times in _LASSOS.values() for weight in lambdas}, reverse=True))
    found = limit.path(
        task.train, np.zeros((1, task.features)), _LASSO, weights, variant="erm", floors=np.zeros((1, 1)),
        tolerance=cell.settings.tolerance,
    )  # fmt: skip
    errors = dict(zip(weights, np.where(found.converged[0], task.error(found.theta[0]), np.nan), strict=True))
    for name, times in _LASSOS.items():
        values = np.array([errors[times * weight] for weight in lambdas])
        measures.add(rows, "error", values, variant=name, strength=np.array(lambdas))
    for (split, label), printed in COUNTS.get(dataset.name, {}).items():
        count = float(((dataset.split == split) & (dataset.y == label)).sum())
        here = rows.at(strength=0.0, row=f"{split}, {'above' if label > 0 else 'at most'} $50K")
        here.add("records", count)
        here.add("excess", abs(count - printed))


def run(cell: Cell, rows: Rows) -> None:
    """Measure one calibration on one data set: every method, epsilon, delta, Lambda (`strength`) and repeat."""
    task, settings = _task(cell), cell.settings
    for epsilon, delta in itertools.product(settings.epsilons, settings.deltas):
        _fits(cell, rows.at(epsilon=epsilon, delta=delta, row=""), task, Budget(epsilon, delta))
    if cell.calibration == "paper":
        for epsilon, delta in itertools.product(settings.literal_epsilons, settings.deltas):
            _literal(cell, rows.at(epsilon=epsilon, delta=delta, row=""), task, Budget(epsilon, delta))


def _fits(cell: Cell, rows: Rows, task: _Task, budget: Budget) -> None:
    """Measure each method at one budget."""
    settings, published = cell.settings, cell.calibration == "paper"
    lambdas = np.array(sorted(settings.lambdas, reverse=True))
    names = (cell.calibration, cell.neighbours, budget.epsilon, budget.delta)
    for variant, moor in _METHODS[cell.calibration]:
        made = napp.plan(
            "logistic", task.features, penalty="lasso", strength=float(lambdas.min()), domain=task.domain,
            budget=budget, neighbours=cell.neighbours, calibration=cell.calibration, variant=variant, moor=moor,
            share=settings.budget_share, bounds=Bounds(1.0, 1.0, 1.0) if published else None,
        )  # fmt: skip
        # The methods of a cell share its noise: each draws from a fresh generator of the same names.
        b = made.law.sample((settings.repeats, task.features), cell.rng(cell.point["dataset"], "noise", *names))
        found = limit.path(
            task.train, b, made.scheme, lambdas, variant=variant if published else "erm", extra_l1=made.extra_l1,
            tolerance=settings.tolerance,
        )  # fmt: skip
        here = rows.at(
            variant=f"{variant}-moor" if moor else variant, guarantee="none" if made.obstacles else "proved_exact"
        )
        here.add("error", task.error(found.theta), ok=found.converged, strength=lambdas)


def _literal(cell: Cell, rows: Rows, task: _Task, budget: Budget) -> None:
    """Measure VS+ by drawn rows at one budget, with MOOR and without."""
    settings, name = cell.settings, cell.point["dataset"]
    unit = Bounds(1.0, 1.0, 1.0)
    law, _, _ = calibrate(
        unit, budget, share=settings.budget_share, variant="vs_plus", calibration="paper", features=task.features
    )
    names = (name, "literal", budget.epsilon, budget.delta)
    b = law.sample((settings.literal_repeats, task.features), cell.rng(*names, "noise"))
    least, steps = floor(unit, budget.epsilon, settings.budget_share), settings.iterations
    theta = {moor: np.full_like(b, np.nan) for moor in (False, True)}
    # Categories make most of a record 0.
    X = sparse.csr_array(task.trained[0])
    for repeat in range(len(b)):
        draws = pairs.shared(cell.rng(*names, "rows", repeat), settings.augmented_rows, steps, task.features)
        for moor, found in theta.items():
            run = pairs.iterates(
                "logistic", X, task.trained[1], b[repeat], Scheme("lasso", least, moor=moor),
                settings.literal_strength, variant="vs_plus", rows=settings.augmented_rows, steps=steps, draws=draws,
            )  # fmt: skip
            with contextlib.suppress(SolverError):  # stays NaN, a failed fit
                found[repeat] = list(run)[-1]
    for moor, found in theta.items():
        here = rows.at(variant="vs_plus-moor" if moor else "vs_plus", guarantee="none")
        converged = np.isfinite(found).all(axis=1)
        here.add("literal_error", task.error(found), ok=converged, strength=settings.literal_strength)


def _task(cell: Cell) -> _Task:
    """Cut by the source's own files, or by a stream of the data axes where it has no test file."""
    dataset = cell.data
    X = dataset.X.toarray() if hasattr(dataset.X, "toarray") else dataset.X
    test = dataset.split == "test"
    if not test.any():
        order = cell.rng(cell.point["dataset"], "split").permutation(len(dataset.y))
        test = np.isin(np.arange(len(order)), order[: round(cell.settings.test_share * len(order))])
    trained = X[~test], dataset.y[~test]
    return _Task(trained, limit.problems("logistic", *trained), X[test], dataset.y[test], dataset.bounds)
