r"""Regression error on KDD Cup 2010 algebra (jain2013, Section 7, Figure 2b): TDDL beside CMS11.

Rows with ||x|| <= 1 (R = 1), y in {0, 1}, the linear kernel. The squared loss is not Lipschitz (erratum J11): private
methods start from the Huber loss with knee 1, L = 1,

    w* = argmin_w sum_i huber(<x_i, w> - y_i) + total/2 ||w||^2,      total = n lambda,

of which a prediction moves by at most Delta_1 = 2/total (replace-one). Metric `error`: ||Q w - y||_2/sqrt(q) over the q
test rows, the root mean square (the paper plots ||X w - y||_2; ratios are the same). A row is one split, its value the
mean over the split's draws of noise.

    tddl                paper, corrected, tight; T public points, C = min(sqrt(n/total), n/total) (erratum J10)
    cms11               Algorithm 2, delta = 0: b has p = d features; where epsilon' <= 0 it raises its own curvature
    objective           tight, Gaussian b of the same tilt; its curvature is total, or 2/epsilon where that is larger
    explicit_output     tight: w* + N(0, sigma^2 I), which needs no public points
    nonprivate          variants `least_squares` (the squared loss, at the same total), `huber` (w* itself), `zero` and
                        `mean` (of the training targets); `total` is 0 for the last two

`headline` marks the total that 5-fold cross-validation of least squares on public rows (`tuning_rows`) chooses: metric
`cv_error`. Nothing is chosen on test rows. All private rows are replace-one; delta > 0 but for cms11. Column `features`
is d, and 0 without privacy.

On a formula (`kdd-like`) `dperm_papers.jain2013.kdd.kdd_dimension` adds what grows with d.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from dperm import kernels, losses
from dperm.domain import Budget, Domain
from dperm.errors import CorruptFile, SolverError
from dperm.mechanisms import cms11, objective
from dperm.mechanisms.kernel import explicit, tddl
from dperm.mechanisms.kernel.constants import Setting, a_priori_radius
from dperm.solvers import sparse as solver
from dperm_papers.jain2013.kdd import kdd_dimension
from dperm_papers.jain2013.shared.kdd_data import Split, generator, splits, tuning
from dperm_pipeline import tables
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

FOLDS = 5
# The solver's public target, as a share of Delta_w (J9).
SLACK = 1 / 20
CALIBRATIONS = ("paper", "corrected", "tight")
DOMAIN = Domain(x_norm=1.0, y_bound=1.0)


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure each predictor without privacy, and what chose the headline.

    Metrics `error`, `cv_error` by `total`, and `equal_rows`: rows of the pool that equal a training row.
    """
    errors = cross_validated(cell, *tuning(cell))
    chosen = min(errors, key=errors.get)
    rows = rows.at(
        mechanism="nonprivate", calibration="", neighbours="", epsilon=math.inf, delta=0.0, features=0, total=0.0,
        headline=False,
    )  # fmt: skip
    for total, error in errors.items():
        rows.add("cv_error", error, variant="least_squares", total=total, headline=total == chosen)
    for repeat, split in enumerate(splits(cell)):
        here = rows.at(repeat=repeat)
        here.add("equal_rows", split.equal_rows, variant="pool")
        here.add("error", rms(split, 0.0), variant="zero")
        here.add("error", rms(split, split.y.mean()), variant="mean")
        for total in cell.settings.totals:
            for name, loss in (("least_squares", losses.squared()), ("huber", _huber(cell))):
                error = rms(split, _fit(cell, split, loss, total).predict(split.Q))
                here.add("error", error, variant=name, total=total, headline=total == chosen)


def run(cell: Cell, rows: Rows) -> None:
    """Measure every private method at every epsilon and total; on a formula what `kdd_dimension` says too."""
    headline = _headline(cell.files["baseline"])
    for repeat, split in enumerate(splits(cell)):
        for total in cell.settings.totals:
            here = rows.at(repeat=repeat, total=total, features=split.features, headline=total == headline)
            _private(cell, here, split, total, repeat)
    if cell.point["dataset"] in kdd_dimension.DATASETS:
        kdd_dimension.measure(cell, rows)


def cross_validated(cell: Cell, X: sparse.csr_array, y: np.ndarray) -> dict[float, float]:
    """Return the root mean square error of least squares by total, each fold predicted from the others.

    A fold keeps lambda: its total is smaller in proportion to its rows.
    """
    fold = generator(cell, "folds").permutation(len(y)) % FOLDS
    errors = {}
    for total in cell.settings.totals:
        squares = 0.0
        for k in range(FOLDS):
            own, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            weight = total * len(own) / len(y)
            fit = solver.minimise(X[own], y[own], losses.squared(), total=weight, slack=_slack(cell, weight))
            squares += float(((fit.predict(X[held]) - y[held]) ** 2).sum())
        errors[total] = math.sqrt(squares / len(y))
    return errors


def rms(split: Split, predictions: np.ndarray | float) -> float:
    """Return ||p - y||_2/sqrt(q) over the test rows, averaged over the draws: predictions (draws, q), (q,) or one."""
    return float(np.sqrt(np.mean((predictions - split.target) ** 2, axis=-1)).mean())


def _private(cell: Cell, rows: Rows, split: Split, total: float, repeat: int) -> None:
    """Measure every private method on one split at one total."""
    settings, loss = cell.settings, _huber(cell)
    steepest = float(loss.suprema(DOMAIN)[0])
    start = float(loss.value(np.array(0.0), np.array(DOMAIN.y_bound)))
    setting = Setting(
        lipschitz=steepest, feature_norm=DOMAIN.x_norm, total=total, slack=_slack(cell, total),
        radius=a_priori_radius(start, steepest, DOMAIN.x_norm, total, len(split.y)),
    )  # fmt: skip
    fit = _fit(cell, split, loss, total)
    spectrum = tddl.spectrum(kernels.gram(kernels.linear(DOMAIN.x_norm), split.Z))
    answers, cross, exact = fit.predict(split.Z), (split.Q @ split.Z.T).toarray(), fit.predict(split.Q)
    asked = [(Budget(e, settings.delta), name, False) for e in settings.epsilons for name in CALIBRATIONS]
    rng = generator(cell, "noise", "tddl", repeat, total)
    released = tddl.releases(spectrum, answers, setting, asked, rng=rng, repeats=settings.draws)
    for (budget, calibration, _), made in zip(asked, released, strict=True):
        error = rms(split, made.at(cross))
        _at(rows, "tddl", calibration, budget).add("error", error, guarantee=made.guarantee)
    tilted = {
        "domain": DOMAIN, "neighbours": "replace", "repeats": settings.draws, "features": split.features,
        "tolerance": settings.tolerance,
    }  # fmt: skip
    for epsilon in settings.epsilons:
        budget, pure = Budget(epsilon, settings.delta), Budget(epsilon, 0.0)
        rngs = {
            name: generator(cell, "noise", name, repeat, total, epsilon) for name in ("explicit", "cms11", "objective")
        }
        given = explicit.predictions(exact, split.Q, setting, budget, rng=rngs["explicit"], repeats=settings.draws)
        here = _at(rows, "explicit_output", "tight", budget)
        here.add("error", rms(split, given.answers), guarantee=given.guarantee)
        made = cms11.release(
            split.X, split.y, loss, budget=pure, calibration="paper", curvature=total, rng=rngs["cms11"], **tilted
        )
        _add_tilted(_at(rows, "cms11", "paper", pure), split, made)
        curvature = max(total, objective.default_curvature(loss, DOMAIN, epsilon))
        made = objective.release(
            split.X, split.y, loss, budget=budget, calibration="tight", curvature=curvature, rng=rngs["objective"],
            **tilted,
        )  # fmt: skip
        _add_tilted(_at(rows, "objective", "tight", budget), split, made)


def _add_tilted(rows: Rows, split: Split, made: Any) -> None:
    """Add the error of released minimisers; of no use if one of them is not within its target."""
    rows.add("error", rms(split, (split.Q @ made.theta.T).T), ok=made.converged.all(), guarantee=made.guarantee)


def _at(rows: Rows, mechanism: str, calibration: str, budget: Budget) -> Rows:
    return rows.at(mechanism=mechanism, calibration=calibration, epsilon=budget.epsilon, delta=budget.delta)


def _fit(cell: Cell, split: Split, loss: losses.Loss, total: float) -> solver.Fit:
    return solver.minimise(split.X, split.y, loss, total=total, slack=_slack(cell, total))


def _slack(cell: Cell, total: float) -> float:
    """Return the public target SLACK Delta_w, that of the Huber loss for least squares too."""
    return SLACK * 2 * cell.settings.huber_knee * DOMAIN.x_norm / total


def _huber(cell: Cell) -> losses.Loss:
    return losses.huber(cell.settings.huber_knee)


def _headline(path: str) -> float:
    """Return the total that the baseline chose."""
    if tables.given_up(path):
        raise SolverError(f"{path}: the non-private fits, which choose the headline, did not converge")
    rows = tables.read(path, filters=[("metric", "==", "cv_error")])
    chosen = rows.loc[rows["headline"], "total"]
    if len(chosen) != 1:
        raise CorruptFile(f"{path}: {len(chosen)} totals are the headline instead of one", made=path)
    return float(chosen.iloc[0])
