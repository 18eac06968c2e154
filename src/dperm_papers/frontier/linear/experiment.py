r"""Test error of every private linear model of the library with nothing set (ours, no paper's).

Rows have a constant feature and length one, and are split at random (`dperm_papers.frontier.shared.splits`). A model
is told epsilon, delta, the relation, the bound 1 on ||x|| and the two labels, and nothing else. Where a theorem does
not serve a delta, or asks for one more public number under a relation, the method has no row there: ApproximateMinima,
StableERM and StableSGD need n, which is private under add/remove. Metric `error`: the share of wrong test labels.

    method                  a release of
    objective, ..., napp    the estimator of that name at its defaults
    stable_erm, stable_sgd  the same with answers="model": one w, from which all answers follow
    output_search           PrivateSearchCV over the curvature of OutputPerturbation, all trials paid for
    gradient_search         PrivateSearchCV over steps and clip of NoisyGradientDescent, likewise
    gradient_free           noisy gradient descent, of every clip and step size of the settings the one of least mean
                            error ON THE TEST ROWS: not private, and better than anybody could do; `setting` says which
    nonprivate              logistic regression (variant logistic) and the most frequent label (variant majority)
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from dperm import losses
from dperm.mechanisms import nonprivate
from dperm.mechanisms.estimators.approximate_minima import ApproximateMinima
from dperm.mechanisms.estimators.gradient import NoisyGradientDescent
from dperm.mechanisms.estimators.napp import NAPP
from dperm.mechanisms.estimators.objective import ObjectivePerturbation
from dperm.mechanisms.estimators.output import OutputPerturbation
from dperm.mechanisms.estimators.preconditioned import PreconditionedGradientDescent
from dperm.mechanisms.estimators.search import PrivateSearchCV
from dperm.mechanisms.estimators.stable_erm import StableERM
from dperm.mechanisms.estimators.stable_sgd import StableSGD
from dperm_papers.frontier.shared.fits import Fit, Method, add, fitted, majority
from dperm_papers.frontier.shared.splits import Split, splits
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

LABELS = (-1, 1)
_N_KNOWN = ("replace",)
DEFAULTS = (
    Method("objective", "objective", ObjectivePerturbation, pure=True),
    Method("output", "output", OutputPerturbation, pure=True),
    Method("napp", "napp", NAPP, pure=True),
    Method("gradient", "gradient", NoisyGradientDescent),
    Method("preconditioned", "preconditioned", PreconditionedGradientDescent),
    Method("approximate_minima", "approximate_minima", ApproximateMinima, calibration="paper", relations=_N_KNOWN),
    Method("stable_erm", "stable_gaussian", functools.partial(StableERM, answers="model"), relations=_N_KNOWN),
    Method("stable_sgd", "stable_gaussian", functools.partial(StableSGD, answers="model"), relations=_N_KNOWN),
)
# What a search draws from: values that anybody would try, an order of magnitude around the defaults and more.
SEARCHED: dict[str, tuple[Any, dict[str, list[float]]]] = {
    "output": (OutputPerturbation, {"curvature": [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]}),
    "gradient": (NoisyGradientDescent, {"steps": [25, 50, 100], "gradient_clip": [1 / 12, 1 / 6, 1 / 3]}),
}
SEARCH = "search"
FREE = Method("gradient_free", "gradient", NoisyGradientDescent, variant="tuned-on-test-rows")


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure the error of logistic regression without privacy and of the most frequent training label."""
    logistic, most = [], []
    for split in splits(cell):
        theta, _, met = nonprivate.fit(
            split.X, split.y.astype(float), losses.logistic(), ridge=cell.settings.ridge, tolerance=1e-6
        )
        logistic.append(split.error(np.where(split.Q @ theta > 0, 1, -1)) if met else np.nan)
        most.append(majority(split))
    rows = rows.at(method="nonprivate", setting="", epsilon=np.inf, delta=0.0)
    rows.add("error", logistic, ok=np.isfinite(logistic), variant="logistic")
    rows.add("error", most, variant="majority")


def run(cell: Cell, rows: Rows) -> None:
    """Measure the error of every method under one relation, on every split, at every epsilon and delta."""
    found: dict[tuple, list[Fit]] = {}
    for repeat, split in enumerate(splits(cell)):
        for columns, fit in _measured(cell, split, repeat):
            found.setdefault(tuple(columns.items()), []).append(fit)
    add(rows, _best(found))


def _measured(cell: Cell, split: Split, repeat: int) -> Iterator[tuple[dict[str, Any], Fit]]:
    """Give the columns and the error of every fit on one split."""
    settings = cell.settings
    for epsilon, delta in itertools.product(settings.epsilons, settings.deltas):
        public = {"epsilon": epsilon, "delta": delta, "neighbours": cell.neighbours, "classes": LABELS}
        for method, setting, make in _ways(settings, len(split.y)):
            if not method.serves(cell.neighbours, delta):
                continue
            if method.variant and delta != settings.tuned_delta:
                continue
            rng = cell.rng(cell.point["dataset"], method.name, setting, cell.neighbours, epsilon, delta, repeat)
            columns = {"epsilon": epsilon, "delta": delta, **method.columns, "setting": setting}
            yield columns, fitted(make(**public, random_state=rng), split)


def _ways(settings: Any, n: int) -> Iterator[tuple[Method, str, Any]]:
    """Give each method, the setting in words, and what makes its estimator."""
    for method in DEFAULTS:
        yield method, "", functools.partial(method.make, clip=True)
    for name, (kind, choices) in SEARCHED.items():
        make = functools.partial(_search, kind, choices, settings.trials)
        yield Method(f"{name}_search", name, make, variant=SEARCH), "", make
    for clip, rate in itertools.product(settings.clips, settings.rates):
        given = {"steps": settings.steps, "gradient_clip": clip, "step_size": rate / n, "clip": True}
        yield FREE, f"clip {clip:g}, rate {rate:g}/n", functools.partial(FREE.make, **given)


def _search(kind: Any, choices: Any, trials: float, *, classes: Any, neighbours: str, **given: Any) -> PrivateSearchCV:
    return PrivateSearchCV(kind(classes=classes, neighbours=neighbours, clip=True), choices, n_iter=trials, **given)


def _best(found: dict[tuple, list[Fit]]) -> dict[tuple, list[Fit]]:
    """Leave of the settings of one method and budget the one of least mean error on the test rows.

    A setting that is picked on test rows is no private choice: it has no guarantee.
    """
    best: dict[tuple, tuple] = {}
    for columns in found:
        key = tuple(item for item in columns if item[0] != "setting")
        if key not in best or _mean(found[columns]) < _mean(found[best[key]]):
            best[key] = columns
    free = ("method", FREE.name)
    return {
        columns: [Fit(fit.error, "none") if free in columns else fit for fit in found[columns]]
        for columns in best.values()
    }


def _mean(fits: list[Fit]) -> float:
    return float(np.mean([fit.error for fit in fits]))
