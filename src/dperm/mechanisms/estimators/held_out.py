"""Private scores of a model on records that it was not fitted on: sums that one record moves by at most 1.

A record counts from 0 to 1, whatever it and the prediction are, so the sum moves by at most 1 where one is added,
removed or replaced. It is not divided by the number of records, which is private under add/remove.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier

from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import LEAST, MOST, Budget, number, one_of
from dperm.mechanisms.estimators.records import places

Scoring = Literal["accuracy", "squared_error", "absolute_error"]
# Model, rows and targets -> sum over records.
Score = Callable[[Any, np.ndarray, np.ndarray], float]


def scorer(estimator: Any, scoring: str | None, error_bound: float | None) -> Score:
    """Return the score of such estimators' models, or refuse a word or a bound (as `PrivateSearchCV` explains them)."""
    labels = is_classifier(estimator)
    scoring = ("accuracy" if labels else "squared_error") if scoring is None else scoring
    one_of("scoring", scoring, Scoring)
    if labels != (scoring == "accuracy"):
        raise ValueError(f"scoring={scoring!r} is not for {'labels' if labels else 'numbers'}; leave it out")
    if labels:
        return _right
    y_bound = getattr(estimator, "y_bound", None)
    bound = 2 * y_bound if error_bound is None and y_bound is not None else error_bound
    remedy = "it is the public error from which on all errors count alike, in units of y"
    bound = number("error_bound", bound, LEAST, MOST, ends="[]", remedy=remedy)
    power = 2 if scoring == "squared_error" else 1
    return lambda model, X, y: _near(model, X, y, bound, power)


def noise(budget: Budget, rng: np.random.Generator) -> float:
    """Return noise with which a sum spends the budget under both relations: Laplace or Gaussian."""
    if budget.delta == 0:
        return float(rng.laplace(0.0, 1 / budget.epsilon))
    return float(rng.normal(0.0, 1 / gaussian_ratio(budget.epsilon, budget.delta)))


def _right(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Return how many labels are right; one that is none of the classes (with `clip`) is the first of them."""
    if not len(y):
        return 0.0
    return float((places(model.predict(X), model.classes_) == places(y, model.classes_)).sum())


def _near(model: Any, X: np.ndarray, y: np.ndarray, bound: float, power: int) -> float:
    """Return the sum of 1 - (e/B)^power over records; one without a number counts 0."""
    if not len(y):
        return 0.0
    with np.errstate(all="ignore"):
        errors = np.abs(y - model.predict(X)) / bound
    return float((1 - np.nan_to_num(errors, nan=1.0, posinf=1.0).clip(0, 1) ** power).sum())
