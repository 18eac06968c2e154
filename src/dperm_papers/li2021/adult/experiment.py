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
Methods share the noise of a cell (|b| where it is truncated). Neighbours: add/remove.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dperm import seeds
from dperm.domain import Budget, Domain
from dperm.mechanisms import napp
from dperm.mechanisms.napp import limit
from dperm.mechanisms.napp.noise import Bounds
from dperm.mechanisms.napp.scheme import Scheme
from dperm_pipeline.datasets import prepared

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
    """A data set cut in two."""

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


def baseline(cell: Mapping[str, Any], *, data: str) -> pd.DataFrame:
    """Return the rows of the two lassos without privacy, and the counts of records.

    - cell: as `dperm_pipeline.plan` made it.
    - data: the prepared data set.
    - Returns: metrics `error` by `variant` and `strength`; `records` and `excess` by `row` (split and label).
    """
    dataset, settings = prepared.read(data), cell["settings"]
    task, lambdas = _task(cell, dataset), settings["lambdas"]
    head = _head(cell) | {
        "mechanism": "nonprivate", "calibration": "", "neighbours": "", "guarantee": "none", "epsilon": np.inf,
        "delta": 0.0, "repeat": 0,
    }  # fmt: skip
    # The strongest first: each fit starts from the one before.
    weights = np.array(sorted({times * weight for times in _LASSOS.values() for weight in lambdas}, reverse=True))
    found = limit.path(
        task.train, np.zeros((1, task.features)), _LASSO, weights, variant="erm", floors=np.zeros((1, 1)),
        tolerance=settings["tolerance"],
    )  # fmt: skip
    errors = dict(zip(weights, np.where(found.converged[0], task.error(found.theta[0]), np.nan), strict=True))
    lines = [
        {"variant": name, "strength": weight, "metric": "error", "value": errors[times * weight], "row": ""}
        for name, times in _LASSOS.items()
        for weight in lambdas
    ]
    for (split, label), printed in COUNTS.get(dataset.name, {}).items():
        count = float(((dataset.split == split) & (dataset.y == label)).sum())
        row = {"variant": "", "strength": 0.0, "row": f"{split}, {'above' if label > 0 else 'at most'} $50K"}
        lines.append({**row, "metric": "records", "value": count})
        lines.append({**row, "metric": "excess", "value": abs(count - printed)})
    frame = pd.DataFrame([{**head, **line} for line in lines])
    return frame.assign(status=np.where(frame["value"].isna(), "failed", "ok"))


def run(cell: Mapping[str, Any], *, data: str, baseline: str) -> pd.DataFrame:
    """Return the rows of one calibration on one data set: every method, epsilon, delta, Lambda and repeat.

    - cell: as `dperm_pipeline.plan` made it.
    - data: the prepared data set.
    - baseline: the rows of `baseline`; no row here is measured against them.
    - Returns: metric `error`, with the column `strength` (Lambda).
    """
    dataset = prepared.read(data)
    task, settings = _task(cell, dataset), cell["settings"]
    frames = [
        frame
        for epsilon in settings["epsilons"]
        for delta in settings["deltas"]
        for frame in _fits(cell, task, Budget(epsilon, delta))
    ]
    return pd.concat(frames, ignore_index=True)


def _fits(cell: Mapping[str, Any], task: _Task, budget: Budget) -> Iterator[pd.DataFrame]:
    """Give the rows of each method at one budget."""
    settings, published = cell["settings"], cell["calibration"] == "paper"
    lambdas = np.array(sorted(settings["lambdas"], reverse=True))
    names = (cell["calibration"], cell["neighbours"], budget.epsilon, budget.delta)
    for variant, moor in _METHODS[cell["calibration"]]:
        made = napp.plan(
            "logistic", task.features, penalty="lasso", strength=float(lambdas.min()), domain=task.domain,
            budget=budget, neighbours=cell["neighbours"], calibration=cell["calibration"], variant=variant, moor=moor,
            share=settings["budget_share"], bounds=Bounds(1.0, 1.0, 1.0) if published else None,
        )  # fmt: skip
        b = made.law.sample((settings["repeats"], task.features), _generator(cell, "noise", *names))
        found = limit.path(
            task.train, b, made.scheme, lambdas, variant=variant if published else "erm", extra_l1=made.extra_l1,
            tolerance=settings["tolerance"],
        )  # fmt: skip
        repeats, steps = np.indices(found.gap.shape).reshape(2, -1)
        converged = found.converged.ravel()
        yield pd.DataFrame({
            **_head(cell),
            **{key: cell[key] for key in ("mechanism", "calibration", "neighbours")},
            "variant": f"{variant}-moor" if moor else variant,
            "guarantee": "none" if made.obstacles else "proved_exact",
            "epsilon": budget.epsilon, "delta": budget.delta, "strength": lambdas[steps], "repeat": repeats,
            "row": "", "metric": "error", "value": np.where(converged, task.error(found.theta).ravel(), np.nan),
            "status": np.where(converged, "ok", "failed"),
        })  # fmt: skip


def _task(cell: Mapping[str, Any], dataset: prepared.Dataset) -> _Task:
    """Cut by the source's own files, or by a stream of the data axes where it has no test file."""
    X = dataset.X.toarray() if hasattr(dataset.X, "toarray") else dataset.X
    test = dataset.split == "test"
    if not test.any():
        order = _generator(cell, "split").permutation(len(dataset.y))
        test = np.isin(np.arange(len(order)), order[: round(cell["settings"]["test_share"] * len(order))])
    train = limit.problems("logistic", X[~test], dataset.y[~test])
    return _Task(train, X[test], dataset.y[test], dataset.bounds)


def _head(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {key: cell[key] for key in ("paper", "experiment")} | {"dataset": cell["point"]["dataset"]}


def _generator(cell: Mapping[str, Any], *names: str | float) -> np.random.Generator:
    return seeds.generator(cell["seed"], cell["experiment"], cell["point"]["dataset"], *names)
