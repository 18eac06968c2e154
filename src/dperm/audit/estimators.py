"""Private estimators in scikit-learn's manner as subjects: what is called, with which parameters, on which data.

Names of parameters are those that libraries use for the same thing. What a class cannot be asked is asked of the user.
"""

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from dperm.audit.leaves import attributes, leaves, parameters, released
from dperm.audit.outputs import OneByOne, one_by_one
from dperm.audit.spaces import INSIDE, Records

# Seeds are drawn anew for each fit.
_SEEDS = ("random_state", "seed")
_LARGEST_SEED = 2**31


def is_estimator(thing: Any) -> bool:
    """Say whether this is a class with `fit`."""
    return inspect.isclass(thing) and callable(getattr(thing, "fit", None))


def records(estimator: type, within: Mapping[str, Any], chosen: Mapping[str, Any]) -> Records:
    """Return the data sets to try: as declared (`Records`' parameters), else as the estimator's own parameters say.

    ValueError, naming the options of `dperm audit`, if they say nothing.
    """
    known = {
        name: p.default
        for name, p in parameters(estimator).items()
        if p.default is not p.empty and p.default is not None
    } | dict(chosen)
    given = {name: value for name, value in within.items() if value is not None}
    if "box" not in given and "norm" not in given:
        for name, of in (("norm", "x_norm"), ("norm", "data_norm"), ("box", "bounds"), ("box", "bounds_X")):
            if known.get(of) is not None and name not in given:
                given[name] = known[of]
                break
        else:
            raise ValueError(
                f"{estimator.__name__} does not say how large records may be: give --norm R, or --box LOW HIGH"
            )
    needs = inspect.signature(estimator.fit).parameters.get("y")
    kind = _kind(estimator)
    if needs is not None and not {"classes", "targets"} & given.keys():
        if known.get("classes") is not None:
            given["classes"] = tuple(known["classes"])
        elif known.get("bounds_y") is not None:
            given["targets"] = known["bounds_y"]
        elif known.get("y_bound") is not None:
            given["targets"] = (-known["y_bound"], known["y_bound"])
        elif kind or needs.default is needs.empty:
            what = {"classifier": "--classes A B", "regressor": "--targets LOW HIGH"}
            raise ValueError(
                f"{estimator.__name__} does not say what y may be: give "
                f"{what.get(kind, '--classes A B, or --targets LOW HIGH')}"
            )
    return Records(**{"features": 2, **given})


def _kind(estimator: type) -> str | None:
    names = {base.__name__ for base in estimator.__mro__}
    return "classifier" if "ClassifierMixin" in names else "regressor" if "RegressorMixin" in names else None


def mechanism(
    estimator: type,
    within: Records,
    relation: str,
    epsilon: float,
    delta: float,
    chosen: Mapping[str, Any],
    ignored: tuple[str, ...] = (),
) -> OneByOne:
    """Return the fitted estimator as a mechanism: its public attributes that `fit` made or changed.

    Left out are those ignored, and the constructor's parameters as they were.
    """
    known = parameters(estimator)
    any_name = any(p.kind is p.VAR_KEYWORD for p in known.values())
    if unknown := [name for name in chosen if name not in known and not any_name]:
        raise ValueError(f"{estimator.__name__} has no parameter {unknown[0]!r}; it has {', '.join(known)}")
    low, high = within.box or (None, None)
    # What is declared of the data, under the names that such parameters have.
    ours = {"epsilon": epsilon, "neighbours": relation, "data_norm": within.norm, "x_norm": within.norm}
    ours |= {"delta": delta or None, "bounds": within.box, "bounds_X": within.box, "classes": within.classes}
    ours |= {"bounds_y": within.targets, "y_bound": within.targets and max(map(abs, within.targets))}
    if low is not None and within.norm is None:
        corner = np.broadcast_to(np.maximum(np.abs(low), np.abs(high)), within.features)
        # A corner's length that is computed in another order is still no larger.
        ours |= dict.fromkeys(("data_norm", "x_norm"), float(np.linalg.norm(corner)) / INSIDE)
    settings = {name: value for name, value in ours.items() if name in known and value is not None} | dict(chosen)
    lacking = [
        name
        for name, p in known.items()
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and name not in settings
    ]
    if lacking:
        raise ValueError(f"{estimator.__name__} needs {lacking[0]!r}: give --set {lacking[0]}=VALUE")
    seed = next((name for name in _SEEDS if name in known and name not in chosen), None)

    def given(model: Any) -> dict[str, Any]:
        return {name: value for name, value in attributes(model).items() if name in known and name[0] != "_"}

    def fit(data: Any, rng: np.random.Generator) -> dict[str, Any]:
        fresh = {seed: int(rng.integers(_LARGEST_SEED))} if seed else {}
        model = estimator(**settings, **fresh)
        before = dict.fromkeys(known) | {name: _held(value) for name, value in given(model).items()}
        with warnings.catch_warnings():
            # Thousands of fits to a few records: all would say the same.
            warnings.simplefilter("ignore")
            model.fit(*(data if isinstance(data, tuple) else (data,)))
        after = given(model)
        left_out = {name for name in after if _held(after[name]) == before[name]} | {*ignored}
        found = {name: value for name, value in (released(model) | after).items() if name not in left_out}
        if not found:
            raise ValueError(
                f"{estimator.__name__}.fit makes no public attribute, but for those ignored: nothing is looked at; "
                "name a function that returns a dperm.audit.Subject, whose mechanism returns what is released"
            )
        return found

    return one_by_one(fit)


def _held(value: Any) -> dict[str, Any]:
    """Return what is in a parameter: `fit` may change it in its place."""
    return dict(leaves(value))
