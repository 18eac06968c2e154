"""Who calls a fit: a Pipeline whose other steps learn from the records, or a search that will choose by private scores.

scikit-learn has no place where an estimator is told. So the frames of those who call are looked at; what runs in
another process shows its Pipeline, and that it is a candidate of a search, in that process.
"""

import inspect
import sys
from collections.abc import Iterator
from typing import Any

# Steps that learn nothing but shapes, whatever the records are. What their tags call stateless is not listed.
PUBLIC_STEPS = {
    "AdditiveChi2Sampler", "FrozenEstimator", "GaussianRandomProjection", "PolynomialCountSketch", "PolynomialFeatures",
    "RBFSampler", "SkewedChi2Sampler", "SparseRandomProjection",
}  # fmt: skip
_CALLS = {"fit", "fit_transform", "fit_predict", "_fit", "_fit_and_score"}


def learning_steps() -> list[str]:
    """Return the steps of the Pipelines that call, by name and class, which learn from the records they are given."""
    return [found for _, caller in _callers("sklearn.pipeline", "Pipeline") for found in _learning(caller.steps)]


def searching() -> str | None:
    """Return the class of a search that calls and will choose by scores, or None."""
    for _, caller in _callers("sklearn.model_selection", "GridSearchCV", "RandomizedSearchCV"):
        return type(caller).__name__
    for frame in _frames():
        if frame.f_code.co_name == "_fit_and_score" and frame.f_locals.get("parameters") is not None:
            return "a search over parameters"
    return None


def _frames() -> Iterator[Any]:
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name in _CALLS:
            yield frame
        frame = frame.f_back


def _callers(module: str, *names: str) -> Iterator[tuple[str, Any]]:
    """Give the objects of scikit-learn's classes of these names that are about to fit."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return
    bases = _bases(loaded, names)
    seen = set()
    for frame in _frames():
        caller = frame.f_locals.get("self")
        if isinstance(caller, bases) and id(caller) not in seen:
            seen.add(id(caller))
            yield frame.f_code.co_name, caller


def _bases(module: Any, names: tuple[str, ...]) -> tuple[type, ...]:
    """Return the classes; of searches what all of them are made of, so that halving ones are known too."""
    classes = [getattr(module, name) for name in names]
    return tuple({base for one in classes for base in one.__mro__ if base.__name__ in {*names, "BaseSearchCV"}})


def _learning(steps: Any) -> Iterator[str]:
    for name, step, *_ in steps:
        if step is None or isinstance(step, str):
            continue
        if inner := _inner(step):
            yield from _learning(inner)
        elif not (_public(step) or _ours(step)):
            yield f"{name} ({type(step).__name__})"


def _inner(step: Any) -> Any:
    """Return the steps that a ColumnTransformer, a FeatureUnion or a Pipeline holds; NAPP's `steps` is a number."""
    found = (getattr(step, name, None) for name in ("transformers", "transformer_list", "steps"))
    return next((steps for steps in found if isinstance(steps, list | tuple)), None)


def _ours(step: Any) -> bool:
    """Is it an estimator of this library, or a user's subclass of one? Its own fit is charged."""
    return any(base.__module__.startswith("dperm.") for base in type(step).__mro__)


def _public(step: Any) -> bool:
    kind = type(step).__name__
    if kind in PUBLIC_STEPS or getattr(step, "learns_nothing", False):
        return True
    if kind in {"OneHotEncoder", "OrdinalEncoder"}:
        return step.categories is not None and not isinstance(step.categories, str)
    if kind == "SimpleImputer":
        return step.strategy == "constant"
    tags = getattr(step, "__sklearn_tags__", None)
    return tags is not None and not tags().requires_fit
