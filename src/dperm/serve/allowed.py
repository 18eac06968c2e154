"""What a model file may name: estimators, base learners and their parameters, as JSON and back.

A file names classes; nothing in it is code, and no class outside these lists is ever imported. Kernels and losses are
words. A learner may neither write (`verbose`) nor start processes (`n_jobs`).
"""

import importlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import dperm
from dperm.errors import CorruptFile

ESTIMATORS = ("AveragedPrediction", "ExpPW", "PINP", "RKHSGaussian", "SoftMajority", "StableERM", "StableSGD")
# Module -> classes. Each is deterministic code of its own, that neither runs what a parameter says nor opens a file.
_LEARNERS = {
    "dperm": ("BoxLearner", "IntervalsLearner", "StumpLearner", "ThresholdLearner"),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "sklearn.dummy": ("DummyClassifier", "DummyRegressor"),
    "sklearn.ensemble": (
        "ExtraTreesClassifier", "ExtraTreesRegressor", "GradientBoostingClassifier", "GradientBoostingRegressor",
        "RandomForestClassifier", "RandomForestRegressor",
    ),
    "sklearn.linear_model": (
        "ElasticNet", "HuberRegressor", "Lasso", "LinearRegression", "LogisticRegression", "Perceptron", "Ridge",
        "RidgeClassifier", "SGDClassifier", "SGDRegressor",
    ),
    "sklearn.naive_bayes": ("BernoulliNB", "GaussianNB"),
    "sklearn.neighbors": (
        "KNeighborsClassifier", "KNeighborsRegressor", "NearestCentroid",
    ),
    "sklearn.svm": ("LinearSVC", "LinearSVR", "SVC", "SVR"),
    "sklearn.tree": (
        "DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor",
    ),
}  # fmt: skip
LEARNERS = {name: module for module, names in _LEARNERS.items() for name in names}
_QUIET = {"verbose": (0, False), "n_jobs": (None, 1)}
# Of the server, not of the file.
_NOT_KEPT = ("state", "random_state")


def written(estimator: BaseEstimator) -> dict[str, Any]:
    """Return an estimator's class and parameters as JSON has them.

    - Raises ValueError: for a class or a value that no model file may name.
    """
    kind, given = type(estimator).__name__, estimator.get_params(deep=False)
    if kind not in ESTIMATORS or type(estimator) is not getattr(dperm, kind):
        raise ValueError(f"{kind} is not served; take one of {', '.join(ESTIMATORS)}")
    if given.get("random_state") is not None:
        raise ValueError("random_state= is set: a model that is served draws its noise from the system; leave it out")
    kept = {name: value for name, value in given.items() if name not in _NOT_KEPT}
    if kept.get("base") is not None:
        kept["base"] = _written_learner(kept["base"])
    return {"estimator": kind, "parameters": {name: _plain(name, value) for name, value in kept.items()}}


def _written_learner(base: Any) -> dict[str, Any]:
    kind = type(base).__name__
    if kind not in LEARNERS or type(base) is not _class(kind):
        raise ValueError(f"base={kind} is not served; take one of {', '.join(sorted(LEARNERS))}")
    return {"class": kind, "parameters": {name: _plain(name, of) for name, of in base.get_params(deep=False).items()}}


def made(kind: Any, parameters: Any) -> BaseEstimator:
    """Return the estimator that a file names, not fitted.

    - Raises CorruptFile: for what is not in the lists.
    """
    if kind not in ESTIMATORS:
        raise CorruptFile(f"estimator={kind!r} is none that is served: {', '.join(ESTIMATORS)}")
    given = _given(parameters, f"{kind}'s parameters")
    if given.get("base") is not None:
        given["base"] = _made_learner(given["base"])
    if isinstance(given.get("classes"), list):
        given["classes"] = tuple(given["classes"])
    return _with(getattr(dperm, kind), given, _NOT_KEPT)


def _made_learner(words: Any) -> BaseEstimator:
    kind = words.get("class") if isinstance(words, Mapping) and set(words) == {"class", "parameters"} else None
    if not isinstance(kind, str) or kind not in LEARNERS:
        raise CorruptFile(f"base={kind!r} is no learner that is served: {', '.join(sorted(LEARNERS))}")
    given = _given(words["parameters"], f"{kind}'s parameters")
    for name, quiet in _QUIET.items():
        if name in given and given[name] not in quiet:
            raise CorruptFile(f"base: {kind}({name}={given[name]!r}): a served learner takes {name}={quiet[0]!r}")
    return _with(_class(kind), given, ())


def _class(learner: str) -> type:
    return getattr(importlib.import_module(LEARNERS[learner]), learner)


def _given(parameters: Any, whose: str) -> dict[str, Any]:
    if not (isinstance(parameters, dict) and all(isinstance(name, str) for name in parameters)):
        raise CorruptFile(f"{whose} are no mapping")
    return dict(parameters)


def _with(kind: type, given: dict[str, Any], without: tuple[str, ...]) -> BaseEstimator:
    estimator = kind()
    if unknown := set(given) - (set(estimator.get_params(deep=False)) - set(without)):
        raise CorruptFile(f"{kind.__name__} has no parameter {min(unknown)!r} that a model file may set")
    return estimator.set_params(**given)


def _plain(name: str, value: Any) -> Any:
    """Return a value as JSON has it, or refuse it."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(name, one) for one in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(name, one) for key, one in value.items()}
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError(f"{name}={type(value).__name__}: a model file holds numbers, words and lists of them, no objects")
