r"""Test error of every private linear model of the library with nothing set (ours, no paper's).

Rows have a constant feature and length one, and are split at random (`dperm_papers.frontier.shared.splits`); what a
model is told stands in `dperm_papers.frontier.shared.fits`. Where a theorem does not serve a delta, or asks for one
more public number under a relation, the method has no row there: ApproximateMinima, StableERM and StableSGD need n,
which is private under add/remove.

    method                  a release of
    objective, ..., napp    the estimator of that name at its defaults
    stable_erm, stable_sgd  the same with answers="model": one w, from which all answers follow
    output_search           PrivateSearchCV over the curvature of OutputPerturbation, all trials paid for
    gradient_search         PrivateSearchCV over steps and clip of NoisyGradientDescent, likewise
    gradient_free           noisy gradient descent, of its defaults and every clip and step size the one of least mean
                            error ON THE TEST ROWS: not private, and better than anybody could do; `setting` says which
    nonprivate              logistic regression (variant logistic) and the most frequent label (variant majority)
"""

import functools
from collections.abc import Iterable
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
from dperm_papers.frontier.shared.fits import Method, add_references, majority, measure, tuned_for_free
from dperm_papers.frontier.shared.splits import splits
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

LABELS = (-1, 1)
_N_KNOWN = ("replace",)


def _clipping(kind: Any, **given: Any) -> Any:
    return functools.partial(kind, clip=True, **given)


def _model(kind: Any) -> dict[str, Any]:
    return {"mechanism": "stable_gaussian", "make": _clipping(kind, answers="model"), "relations": _N_KNOWN}


DEFAULTS = (
    Method("objective", "objective", _clipping(ObjectivePerturbation), pure=True),
    Method("output", "output", _clipping(OutputPerturbation), pure=True),
    Method("napp", "napp", _clipping(NAPP), pure=True),
    Method("gradient", "gradient", _clipping(NoisyGradientDescent)),
    Method("preconditioned", "preconditioned", _clipping(PreconditionedGradientDescent)),
    Method("approximate_minima", "approximate_minima", _clipping(ApproximateMinima), "paper", relations=_N_KNOWN),
    Method("stable_erm", **_model(StableERM)),
    Method("stable_sgd", **_model(StableSGD)),
)
# What a search draws from: values that anybody would try, an order of magnitude around the defaults and more.
SEARCHED: dict[str, tuple[Any, dict[str, list[float]]]] = {
    "output": (OutputPerturbation, {"curvature": [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]}),
    "gradient": (NoisyGradientDescent, {"steps": [25, 50, 100], "gradient_clip": [1 / 12, 1 / 6, 1 / 3]}),
}


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure the error of logistic regression without privacy and of the most frequent training label."""
    logistic, most = [], []
    for split in splits(cell):
        theta, _, met = nonprivate.fit(
            split.X, split.y.astype(float), losses.logistic(), ridge=cell.settings.ridge, tolerance=1e-6
        )
        logistic.append(split.error(np.where(split.Q @ theta > 0, 1, -1)) if met else np.nan)
        most.append(majority(split))
    add_references(rows, "logistic", logistic, most)


def run(cell: Cell, rows: Rows) -> None:
    """Measure the error of every method under one relation, on every split, at every epsilon and delta."""
    measure(
        cell, rows, LABELS, lambda n: [*DEFAULTS, *_searches(cell.settings.trials), *tuned_for_free(cell.settings, n)]
    )


def _searches(trials: float) -> Iterable[Method]:
    for name, (kind, choices) in SEARCHED.items():
        make = functools.partial(_search, kind, choices, trials)
        yield Method(f"{name}_search", name, make, variant="search", tuned=True)


def _search(kind: Any, choices: Any, trials: float, *, classes: Any, neighbours: str, **given: Any) -> PrivateSearchCV:
    return PrivateSearchCV(kind(classes=classes, neighbours=neighbours, clip=True), choices, n_iter=trials, **given)
