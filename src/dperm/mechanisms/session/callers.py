"""Who calls a fit: what learns from the records beside it, or will choose by private scores.

scikit-learn has no place where an estimator is told. So the frames of those who call are looked at. What it runs in
another thread or process shows nothing of who calls, and is refused.
"""

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dperm.mechanisms.session.folds import IndependentFolds


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

# What makes dense columns of dense ones. A ColumnTransformer compares what is not 0 of all records with its
# `sparse_threshold` where some of its columns are sparse, and what it then gives, or who refuses it, tells the count.
_DENSE = {
    "AdditiveChi2Sampler", "Binarizer", "GaussianRandomProjection", "MaxAbsScaler", "MinMaxScaler", "Normalizer",
    "OrdinalEncoder", "PCA", "PolynomialCountSketch", "PolynomialFeatures", "PowerTransformer", "QuantileTransformer",
    "RBFSampler", "RobustScaler", "SimpleImputer", "SkewedChi2Sampler", "SparseCoder", "SparseRandomProjection",
    "StandardScaler", "TargetEncoder",
}  # fmt: skip

_CHOOSE = {"BaseSearchCV", "RFECV", "SequentialFeatureSelector", "TunedThresholdClassifierCV"}
# Splitters that look at how many records there are, which replace-one leaves as it is, and at nothing else.
_BY_NUMBER = {"KFold", "RepeatedKFold", "ShuffleSplit", "TimeSeriesSplit"}
_OF_A_FOLD = {"_fit_and_score", "_fit_and_predict"}
# Where every fit of this library's is wrapped, by a function `fitted`.
_WHOLE = "dperm.mechanisms.estimators.whole"
_FITS = {"fit", "fit_transform", "fit_predict", "partial_fit", "_fit"}


def complaint(name: str, neighbours: str | None) -> str | None:
    """Return in words why a fit of `name`, called as it is, is not all that is learned from the records, or None.

    `neighbours`: the session's relation; without a session nobody adds up what the folds of a cross-validation spend.
    """
    if chooser := next(_choosing(), None):
        return (
            f"{chooser} would choose by scores on private records, which no fit pays for; take PrivateSearchCV, which "
            "is charged as a whole"
        )
    helper = _elsewhere()
    if helper and (neighbours or helper not in _OF_A_FOLD):
        return (
            f"scikit-learn's {helper} runs this fit of {name} in another thread or process (n_jobs), where nobody sees "
            "what learns from the records around it, or chooses by scores; take n_jobs=None there"
        )
    if neighbours and (cut := _cut_by_others(neighbours)):
        return (
            f"{cut} cuts the records by their number or by all labels, so one record moves others, and the fit of "
            f"{name} would spend several times what it states; cross-validate with cv=dperm.IndependentFolds()"
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


def _stack() -> Iterator[Any]:
    frame = inspect.currentframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def _frames(*names: str) -> Iterator[Any]:
    return (frame for frame in _stack() if frame.f_code.co_name in names)


def _cut_by_others(neighbours: str) -> str | None:
    """Return who cuts the training set of this fit by other records than each alone; None if nobody does."""
    found = None
    for frame in _stack():
        if frame.f_globals.get("__name__") != "sklearn.model_selection._validation":
            continue
        found = frame.f_code.co_name
        if found in ("cross_validate", "cross_val_predict"):
            kind = type(frame.f_locals.get("cv"))
            by_number = kind.__module__.startswith("sklearn.") and kind.__name__ in _BY_NUMBER
            alone = kind is IndependentFolds or (by_number and neighbours == "replace")
            return None if alone else kind.__name__
    return found


def within_a_fit() -> bool:
    """Is the fit that asks a part of another one of this library's?

    Looked for, not noted down: an interrupt could leave a note behind, by which no later fit would be charged.
    """
    fits = (frame for frame in _frames("fitted") if frame.f_globals.get("__name__") == _WHOLE)
    return next(itertools.islice(fits, 1, None), None) is not None


def _callers() -> Iterator[tuple[Any, Any]]:
    """Give the estimators, but this library's, that are about to fit, and the records that they were given."""
    for frame in _frames(*_FITS):
        caller = frame.f_locals.get("self")
        if isinstance(caller, BaseEstimator) and not _ours(caller):
            yield caller, frame.f_locals.get("X")


def _elsewhere() -> str | None:
    """Return the function by which scikit-learn fits others, if it runs here without its caller; None if it is seen."""
    outermost = None
    for frame in _stack():
        if frame.f_globals.get("__name__", "").startswith("sklearn."):
            outermost = frame
    if outermost is None or outermost.f_globals["__name__"] != "sklearn.utils.parallel":
        return None
    function = getattr(outermost.f_locals.get("self"), "function", None)
    ours = not getattr(function, "__module__", "sklearn.").startswith("sklearn.")
    return None if ours else getattr(function, "__name__", "function")


def _choosing() -> Iterator[str]:
    for caller, _ in _callers():
        if _of(caller, _CHOOSE):
            yield type(caller).__name__
    for frame in _frames("_fit_and_score"):
        if frame.f_locals.get("parameters") is not None:
            yield "a search over parameters"


def _learning_around() -> Iterator[str]:
    for caller, records in _callers():
        yield from learning(type(caller).__name__.lower(), caller, records=records)


def learning(name: str, step: Any, *, records: Any = ()) -> Iterator[str]:
    """Give what learns, by name and class, of a step and all that it holds; `records`: what it was given, if known."""
    yield from _learning(name, step, dense=_dense_records(records) and _stays_dense(step))


def _learning(name: str, step: Any, *, dense: bool) -> Iterator[str]:
    if step is None or isinstance(step, str) or getattr(step, "learns_nothing", False) or _ours(step):
        return
    if holder := _of(step, HOLDERS):
        if holder == "ColumnTransformer" and step.sparse_threshold != 0 and not dense:
            yield f"{name} (its sparse_threshold looks at all records; set it to 0)"
        for name, inner, *columns in HOLDERS[holder](step):
            yield from _learning(name, inner, dense=dense)
            if columns and callable(columns[0]) and type(columns[0]).__name__ != "make_column_selector":
                yield f"{name} (a function of the records that picks columns)"
    elif not _public(step):
        yield f"{name} ({type(step).__name__})"


def _dense_records(records: Any) -> bool:
    kinds = getattr(records, "dtypes", None)
    if kinds is None:
        return isinstance(records, np.ndarray | list | tuple)
    return not any("Sparse" in str(kind) for kind in kinds)


def _stays_dense(step: Any) -> bool:
    if step is None or isinstance(step, str):
        return True
    if _ours(step):
        return not getattr(step, "sparse", False)
    if holder := _of(step, HOLDERS):
        return all(_stays_dense(inner) for _, inner, *_ in HOLDERS[holder](step))
    name = type(step).__name__
    if name == "FrozenEstimator":
        return _stays_dense(step.estimator)
    if name == "OneHotEncoder":
        return not step.sparse_output
    if name == "FunctionTransformer":
        return step.func is None or isinstance(step.func, np.ufunc)
    return type(step).__module__.startswith("sklearn.") and name in _DENSE


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
