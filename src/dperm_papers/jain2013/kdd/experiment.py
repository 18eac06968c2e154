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
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dperm import kernels, losses, seeds
from dperm.domain import Budget, Domain
from dperm.errors import CorruptFile, SolverError
from dperm.mechanisms import cms11, objective
from dperm.mechanisms.kernel import explicit, tddl
from dperm.mechanisms.kernel.constants import Setting, a_priori_radius
from dperm.solvers import sparse as solver
from dperm_papers.jain2013.kdd import kdd_dimension
from dperm_papers.jain2013.shared.kdd_data import Split, splits, tuning
from dperm_pipeline import tables

FOLDS = 5
# The solver's public target, as a share of Delta_w (J9).
SLACK = 1 / 20
CALIBRATIONS = ("paper", "corrected", "tight")
DOMAIN = Domain(x_norm=1.0, y_bound=1.0)


def baseline(cell: Mapping[str, Any], *, data: str) -> pd.DataFrame:
    """Return the rows without privacy: the error of each predictor, and what chose the headline.

    - cell: as `dperm_pipeline.plan` made it.
    - data: the prepared data set.
    - Returns: metrics `error`, `cv_error` by `total` (one repeat), and `left_out`: public points that equal a training
      row.
    """
    errors = cross_validated(cell, *tuning(cell, data))
    chosen = min(errors, key=errors.get)
    lines = [
        {"variant": "least_squares", "total": total, "metric": "cv_error", "value": error, "repeat": 0}
        for total, error in errors.items()
    ]
    for repeat, split in enumerate(splits(cell, data)):
        found = {("zero", 0.0): 0.0, ("mean", 0.0): split.y.mean()}
        for total in cell["settings"]["totals"]:
            found["least_squares", total] = _fit(cell, split, losses.squared(), total).predict(split.Q)
            found["huber", total] = _fit(cell, split, _huber(cell), total).predict(split.Q)
        lines.append(
            {
                "variant": "pool",
                "total": 0.0,
                "metric": "left_out",
                "value": float(split.left_out),
                "repeat": repeat,
            }
        )
        lines += [
            {"variant": name, "total": total, "metric": "error", "value": rms(split, value), "repeat": repeat}
            for (name, total), value in found.items()
        ]
    head = _head(cell) | {
        "mechanism": "nonprivate", "calibration": "", "neighbours": "", "guarantee": "none", "epsilon": math.inf,
        "delta": 0.0, "status": "ok",
    }  # fmt: skip
    frame = pd.DataFrame([{**head, **line} for line in lines])
    return frame.assign(headline=frame["total"] == chosen, features=0)


def run(cell: Mapping[str, Any], *, data: str, baseline: str) -> pd.DataFrame:
    """Return the rows of every private method at every epsilon and total.

    - cell: as `dperm_pipeline.plan` made it.
    - data, baseline: the prepared data set, and the rows of `baseline`, which know the headline.
    - Returns: metric `error`; on a formula those of `kdd_dimension` too.
    - Raises CorruptFile: if the baseline does not say which total is the headline.
    """
    lines = [
        {**line, "repeat": repeat, "total": total, "features": split.features}
        for repeat, split in enumerate(splits(cell, data))
        for total in cell["settings"]["totals"]
        for line in _private(cell, split, total, repeat)
    ]
    frame = pd.DataFrame([{**_head(cell), "neighbours": "replace", "metric": "error", **line} for line in lines])
    frame = frame.assign(headline=frame["total"] == _headline(baseline))
    if cell["point"]["dataset"] in kdd_dimension.DATASETS:
        frame = pd.concat([frame, pd.DataFrame([{**_head(cell), **line} for line in kdd_dimension.lines(cell)])])
    failed = ~np.isfinite(frame["value"])
    return frame.assign(status=np.where(failed, "failed", "ok")).reset_index(drop=True)


def cross_validated(cell: Mapping[str, Any], X: sparse.csr_array, y: np.ndarray) -> dict[float, float]:
    """Return the root mean square error of least squares by total, each fold predicted from the others.

    - X: shape (n, m).
    - y: shape (n,).
    - Returns: total -> error. A fold keeps lambda: its total is smaller in proportion to its rows.
    """
    fold = _generator(cell, "folds").permutation(len(y)) % FOLDS
    errors = {}
    for total in cell["settings"]["totals"]:
        squares = 0.0
        for k in range(FOLDS):
            own, held = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
            weight = total * len(own) / len(y)
            fit = solver.minimise(X[own], y[own], losses.squared(), total=weight, slack=_slack(cell, weight))
            squares += float(((fit.predict(X[held]) - y[held]) ** 2).sum())
        errors[total] = math.sqrt(squares / len(y))
    return errors


def rms(split: Split, predictions: np.ndarray | float) -> float:
    """Return ||p - y||_2/sqrt(q) over the test rows, averaged over the draws.

    - predictions: shape (draws, q) or (q,), or float.
    """
    return float(np.sqrt(np.mean((predictions - split.target) ** 2, axis=-1)).mean())


def _private(cell: Mapping[str, Any], split: Split, total: float, repeat: int) -> Iterator[dict[str, Any]]:
    """Give the rows of one split and one total."""
    settings, loss = cell["settings"], _huber(cell)
    steepest = float(loss.suprema(DOMAIN)[0])
    start = float(loss.value(np.array(0.0), np.array(DOMAIN.y_bound)))
    setting = Setting(
        lipschitz=steepest, feature_norm=DOMAIN.x_norm, total=total, slack=_slack(cell, total),
        radius=a_priori_radius(start, steepest, DOMAIN.x_norm, total, len(split.y)),
    )  # fmt: skip
    fit = _fit(cell, split, loss, total)
    spectrum = tddl.spectrum(kernels.gram(kernels.linear(DOMAIN.x_norm), split.Z))
    answers, cross, exact = fit.predict(split.Z), (split.Q @ split.Z.T).toarray(), fit.predict(split.Q)
    asked = [(Budget(e, settings["delta"]), name, False) for e in settings["epsilons"] for name in CALIBRATIONS]
    fixed = {"rng": _generator(cell, "noise", "tddl", repeat, total), "repeats": settings["draws"]}
    for (budget, calibration, _), made in zip(
        asked, tddl.releases(spectrum, answers, setting, asked, **fixed), strict=True
    ):
        yield _line("tddl", calibration, made.guarantee, budget, rms(split, made.at(cross)))
    for epsilon in settings["epsilons"]:
        budget, pure = Budget(epsilon, settings["delta"]), Budget(epsilon, 0.0)

        def rng(name, epsilon=epsilon):
            return _generator(cell, "noise", name, repeat, total, epsilon)

        given = explicit.predictions(
            exact, split.Q, setting, budget, rng=rng("explicit"), repeats=settings["draws"]
        )  # fmt: skip
        yield _line("explicit_output", "tight", given.guarantee, budget, rms(split, given.answers))
        tilted = {
            "domain": DOMAIN, "neighbours": "replace", "repeats": settings["draws"], "features": split.features,
            "tolerance": settings["tolerance"],
        }  # fmt: skip
        made = cms11.release(
            split.X, split.y, loss, budget=pure, calibration="paper", curvature=total, rng=rng("cms11"), **tilted
        )  # fmt: skip
        yield _line("cms11", "paper", made.guarantee, pure, _tilted_error(split, made))
        curvature = max(total, objective.default_curvature(loss, DOMAIN, epsilon))
        made = objective.release(
            split.X, split.y, loss, budget=budget, calibration="tight", curvature=curvature, rng=rng("objective"),
            **tilted,
        )  # fmt: skip
        yield _line("objective", "tight", made.guarantee, budget, _tilted_error(split, made))


def _tilted_error(split: Split, made: Any) -> float:
    """Return the error of the released minimisers, or NaN if one of them is not within its target."""
    return rms(split, (split.Q @ made.theta.T).T) if made.converged.all() else math.nan


def _line(mechanism: str, calibration: str, guarantee: str, budget: Budget, value: float) -> dict[str, Any]:
    return {
        "mechanism": mechanism, "calibration": calibration, "guarantee": guarantee, "epsilon": budget.epsilon,
        "delta": budget.delta, "value": value,
    }  # fmt: skip


def _fit(cell: Mapping[str, Any], split: Split, loss: losses.Loss, total: float) -> solver.Fit:
    return solver.minimise(split.X, split.y, loss, total=total, slack=_slack(cell, total))


def _slack(cell: Mapping[str, Any], total: float) -> float:
    """Return the public target SLACK Delta_w, that of the Huber loss for least squares too."""
    return SLACK * 2 * cell["settings"]["huber_knee"] * DOMAIN.x_norm / total


def _huber(cell: Mapping[str, Any]) -> losses.Loss:
    return losses.huber(cell["settings"]["huber_knee"])


def _headline(path: str) -> float:
    """Return the total that the baseline chose."""
    if tables.given_up(path):
        raise SolverError(f"{path}: the non-private fits, which choose the headline, did not converge")
    rows = tables.read(path, filters=[("metric", "==", "cv_error")])
    chosen = rows.loc[rows["headline"], "total"]
    if len(chosen) != 1:
        raise CorruptFile(f"{path}: {len(chosen)} totals are the headline instead of one", made=path)
    return float(chosen.iloc[0])


def _head(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {key: cell[key] for key in ("paper", "experiment")} | {"dataset": cell["point"]["dataset"], "variant": ""}


def _generator(cell: Mapping[str, Any], *names: str | float) -> np.random.Generator:
    return seeds.generator(cell["seed"], cell["experiment"], cell["point"]["dataset"], *names)
