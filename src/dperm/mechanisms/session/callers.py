"""Who calls a fit: what learns from the records beside it, or will choose by private scores.

scikit-learn has no place where an estimator is told. So the frames of those who call are looked at. What runs in
another thread or process shows its Pipeline there, that it is a candidate of a search, and the helpers of `_HELPERS`.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


def _always(_: Any) -> bool:
    return True


def _declared(step: Any) -> bool:
    """Are all categories of an encoder named, and none merged because few records have it?"""
    named = step.categories is not None and not isinstance(step.categories, str)
    return named and step.min_frequency is None and step.max_categories is None


def _each_alone(step: Any) -> bool:
    """Is the function of a FunctionTransformer of each number alone, as a ufunc is, or declared to be of each row?"""
    func = step.func
    elementwise = isinstance(func, np.ufunc) and func.signature is None
    return func is None or elementwise or getattr(func, "learns_nothing", False)


# scikit-learn's steps that learn at most shapes and map each record by itself, and with which parameters they do.
PUBLIC_STEPS: dict[str, Callable[[Any], bool]] = {
    "AdditiveChi2Sampler": _always, "Binarizer": _always, "FeatureHasher": _always, "FrozenEstimator": _always,
    "HashingVectorizer": _always, "Normalizer": _always, "PolynomialCountSketch": _always,
    "PolynomialFeatures": _always, "SkewedChi2Sampler": _always, "SparseCoder": _always,
    "FunctionTransformer": _each_alone,
    # "auto" is by the number of records, "scale" by their variance.
    "GaussianRandomProjection": lambda step: step.n_components != "auto",
    "SparseRandomProjection": lambda step: step.n_components != "auto",
    "RBFSampler": lambda step: step.gamma != "scale",
    "OneHotEncoder": _declared,
    "OrdinalEncoder": _declared,
    # Which columns have missing values, or no others, is learned.
    "SimpleImputer": lambda step: (
        step.strategy == "constant" and not step.add_indicator and step.keep_empty_features
    ),
}  # fmt: skip

# What passes records on to what it holds, and neither learns nor chooses by itself. Not OneVsRestClassifier and its
# like: the labels that are there decide how many models there are. Not Bagging: it takes a record several times.
HOLDERS: dict[str, Callable[[Any], list]] = {
    "Pipeline": lambda one: list(one.steps),
    "FeatureUnion": lambda one: list(one.transformer_list),
    "ColumnTransformer": lambda one: [*one.transformers, ("remainder", one.remainder)],
    "MultiOutputClassifier": lambda one: [("estimator", one.estimator)],
    "MultiOutputRegressor": lambda one: [("estimator", one.estimator)],
}

_CHOOSE = {"BaseSearchCV", "RFECV", "SequentialFeatureSelector", "TunedThresholdClassifierCV"}
_FITS = {"fit", "fit_transform", "fit_predict", "partial_fit", "_fit"}
# The functions by which scikit-learn's estimators fit others in threads and processes; True: they choose.
_HELPERS = {
    "_fit_and_score_over_thresholds": True, "_rfe_single_fit": True, "_fit_classifier_calibrator_pair": False,
    "_fit_single_estimator": False, "_fit_binary": False, "_fit_ovo_binary": False, "_parallel_build_estimators": False,
}  # fmt: skip


def complaint(name: str) -> str | None:
    """Return in words why a fit of `name`, called as it is, is not all that is learned from the records, or None."""
    if chooser := next(_choosing(), None):
        return (
            f"{chooser} would choose by scores on private records, which no fit pays for; take PrivateSearchCV, which "
            "is charged as a whole"
        )
    if found := list(dict.fromkeys(_learning_around())):
        return (
            f"around the fit of {name} these learn from the records without privacy: {', '.join(found)}; what they "
            "learn is in the model. Declare it instead (bounds, clip=True), or fit the step on public records and wrap "
            "it in sklearn.frozen.FrozenEstimator. A class or function of your own that takes each row by itself, and "
            "learns nothing, says so by an attribute `learns_nothing = True`"
        )
    return None


def unheard() -> bool:
    """Will an error of this fit be made a score, by `error_score`, of which some callers say nothing?"""
    given = (frame.f_locals.get("error_score") for frame in _frames("_fit_and_score"))
    return any(one is not None and not isinstance(one, str) for one in given)


def _frames(*names: str) -> Iterator[Any]:
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name in names:
            yield frame
        frame = frame.f_back


def _callers() -> Iterator[Any]:
    """Give the estimators, but this library's, that are about to fit."""
    for frame in _frames(*_FITS):
        caller = frame.f_locals.get("self")
        if isinstance(caller, BaseEstimator) and not _ours(caller):
            yield caller


def _helpers() -> Iterator[str]:
    for frame in _frames(*_HELPERS):
        if frame.f_globals.get("__name__", "").startswith("sklearn."):
            yield frame.f_code.co_name


def _choosing() -> Iterator[str]:
    for caller in _callers():
        if _of(caller, _CHOOSE):
            yield type(caller).__name__
    for frame in _frames("_fit_and_score"):
        if frame.f_locals.get("parameters") is not None:
            yield "a search over parameters"
    yield from (f"the caller of scikit-learn's {one}" for one in _helpers() if _HELPERS[one])


def _learning_around() -> Iterator[str]:
    for caller in _callers():
        yield from learning(type(caller).__name__.lower(), caller)
    yield from (f"the caller of scikit-learn's {one}" for one in _helpers())


def learning(name: str, step: Any) -> Iterator[str]:
    """Give what learns, by name and class, of a step and all that it holds."""
    if step is None or isinstance(step, str) or getattr(step, "learns_nothing", False) or _ours(step):
        return
    if holder := _of(step, HOLDERS):
        for name, inner, *columns in HOLDERS[holder](step):
            yield from learning(name, inner)
            if columns and callable(columns[0]) and type(columns[0]).__name__ != "make_column_selector":
                yield f"{name} (a function of the records that picks columns)"
    elif not _public(step):
        yield f"{name} ({type(step).__name__})"


def _of(step: Any, names: Any) -> str | None:
    """Return the name of scikit-learn's class, among these, that an object is of; a subclass's too."""
    bases = (base.__name__ for base in type(step).__mro__ if base.__module__.startswith("sklearn."))
    return next((base for base in bases if base in names), None)


def _ours(step: Any) -> bool:
    """Is it an estimator of this library, or a user's subclass of one? Its own fit is charged."""
    return any(base.__module__.startswith("dperm.") for base in type(step).__mro__)


def _public(step: Any) -> bool:
    kind = type(step)
    known = PUBLIC_STEPS.get(kind.__name__) if kind.__module__.startswith("sklearn.") else None
    return known is not None and known(step)
