"""What a fitted object carries of its data is what its statement names, and that with noise; in every mode.

Each mode is fitted on neighbours D and D' with the same noise and with others. Whatever differs between D and D' must
be named by `privacy_.covers`, and must move with the noise: a value that noise leaves alone tells D from D' for
certain.
The data are continuous, so that any function of them shows.
"""

import copy
import dataclasses
import numbers
import pickle
import types
from io import BytesIO
from pathlib import Path

import joblib
import numpy as np
import pytest
from dp_accounting import dp_event
from published_modes import HELD, PUBLIC, PUBLISHED, fitted, named, neighbours, pair
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeRegressor

from dperm import (
    NAPP,
    TDDL,
    TDIL,
    AveragedPrediction,
    NoisyGradientDescent,
    ObjectivePerturbation,
    OutputPerturbation,
    PreconditionedGradientDescent,
    PrivateOneVsRest,
    PrivateSearchCV,
    SparseRegression,
    Student,
    diagnostics,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning"),
    pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning"),
]
SEEDS = (0, 1, 2)
# What answers is held by these, beside private names; what they give away is the affair of `predict`.
HOLDERS = {"dialogue_", "path_", "ledger_"}
PUBLISHED_MODES = pytest.mark.parametrize("mode", PUBLISHED, ids=named)
HELD_MODES = pytest.mark.parametrize("mode", HELD, ids=named)


def leaves(thing, place=()):
    """Yield the place and a comparable form of every value that an object holds, private names included."""
    if thing is None or isinstance(thing, str | bytes | bool | numbers.Number | Path | type):
        yield place, repr(thing)
    elif isinstance(thing, np.ndarray):
        yield place, (str(thing.dtype), thing.shape, repr(thing.tolist()))
    elif sparse.issparse(thing):
        yield from leaves(thing.toarray(), place)
    elif isinstance(thing, dict):
        for name, value in thing.items():
            yield from leaves(value, (*place, name))
    elif isinstance(thing, tuple | list):
        for i, value in enumerate(thing):
            yield from leaves(value, (*place, i))
    elif isinstance(thing, types.FunctionType):
        yield from leaves([cell.cell_contents for cell in thing.__closure__ or ()], (*place, thing.__qualname__))
    elif isinstance(thing, BaseEstimator | dp_event.DpEvent | types.SimpleNamespace) or dataclasses.is_dataclass(thing):
        yield from leaves(vars(thing), (*place, type(thing).__name__))
    else:
        raise AssertionError(f"{'.'.join(map(str, place))} is a {type(thing)}, which this test cannot look into")


def carried(model):
    """Return all that the object holds, which is all that goes with it."""
    return dict(leaves(vars(model)))


def no_more_in_copies(model):
    """Hold a model's state, its copy, and what pickle and joblib make of it against what the object holds."""
    file = BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    others = copy.deepcopy(model), pickle.loads(pickle.dumps(model)), joblib.load(file)
    forms = [model.__getstate__(), *map(vars, others)]
    for form in forms:
        assert {place: value for place, value in leaves(form) if place[0] != "_sklearn_version"} == carried(model)


def compared(one, two):
    """Return the difference of models on D and on D'; of the first of each side all copies are looked at too."""
    for model in (one[0], two[0]):
        no_more_in_copies(model)
    return difference(*([carried(model) for model in side] for side in (one, two)))


def difference(one, two):
    """Return what differs between D and D' for the same noise, and what of that does so whatever the noise."""
    differ = {place for a, b in zip(one, two, strict=True) for place in {*a, *b} if a.get(place) != b.get(place)}
    certain = {place for place in differ if all(len({each.get(place) for each in side}) == 1 for side in (one, two))}
    return {place[0] for place in differ}, certain


def words(model):
    return repr(model), str(model.privacy_), repr(model.privacy_)


@PUBLISHED_MODES
def test_what_differs_for_certain_is_nothing_and_what_differs_is_named(mode):
    models = [[fitted(mode, data, seed) for seed in SEEDS] for data in pair(mode)]
    differ, certain = compared(*models)
    covers = models[0][0].privacy_.covers
    assert differ <= set(covers) <= set(vars(models[0][0])) and certain == set()
    assert words(models[0][0]) == words(models[1][0])


@pytest.mark.parametrize(
    ("mode", "all_of_it"),
    [
        ((ObjectivePerturbation, {"fit_intercept": True}), {"coef_", "intercept_"}),
        ((OutputPerturbation, {"fit_intercept": True}), {"coef_", "intercept_"}),
        ((NoisyGradientDescent, {"fit_intercept": True}), {"coef_", "intercept_"}),
        ((PreconditionedGradientDescent, {"fit_intercept": True}), {"coef_", "intercept_"}),
        ((NAPP, {"fit_intercept": True, "penalty": "ridge"}), {"coef_", "intercept_"}),
        ((TDDL, {"n_public": 9}), {"dual_coef_", "norm_"}),
        ((TDIL, {"epsilon": 1e5, "C": 0.01, "fit_intercept": True}), {"coef_", "intercept_"}),
        ((TDIL, {"epsilon": 1e5, "C": 0.01, "kernel": "rbf", "public": PUBLIC}), {"dual_coef_"}),
        ((SparseRegression, {"y_bound": 1.0, "epsilon": 50.0, "fit_intercept": True}), {"coef_", "intercept_"}),
    ],
)
def test_nothing_is_named_in_vain(mode, all_of_it):
    sides = [[fitted(mode, data, seed) for seed in SEEDS] for data in pair(mode)]
    assert compared(*sides) == (all_of_it, set())


def test_the_detector_sees_a_certificate_where_it_hangs():
    """The same test on objects that carry what erratum K8's certificate is: a function of the data alone."""
    mode = OutputPerturbation, {}
    sides = [[fitted(mode, data, seed) for seed in SEEDS] for data in pair(mode)]
    for model in (model for side in sides for model in side):
        model._hidden = {"deep": [diagnostics(model).certificate]}
    differ, certain = compared(*sides)
    assert differ == {"coef_", "_hidden"} and certain == {("_hidden", "deep", 0)}


@HELD_MODES
def test_of_what_is_held_only_answers_are_covered(mode):
    D, other = pair(mode)
    one, two = (fitted(mode, data, 0) for data in (D, other))
    assert set(one.privacy_.covers) <= {"predict", "decision_function", "predict_proba", "predict_details"}
    assert all(callable(getattr(one, name)) for name in one.privacy_.covers)
    shown = [
        {name: value for name, value in vars(model).items() if not name.startswith("_") and name not in HOLDERS}
        for model in (one, two)
    ]
    assert dict(leaves(shown[0])) == dict(leaves(shown[1])) and words(one) == words(two)


def test_a_search_carries_its_best_trial_and_nothing_of_the_others():
    model, grid = OutputPerturbation(classes=("no", "yes")), {"curvature": [5.0, 50.0]}
    sides = [
        [PrivateSearchCV(model, grid, delta=1e-6, n_iter=3, random_state=seed).fit(*data) for seed in SEEDS]
        for data in neighbours("add_remove", "labels")
    ]
    differ, certain = compared(*sides)
    assert {"best_estimator_", "best_score_"} <= differ <= set(sides[0][0].privacy_.covers) and certain == set()
    assert words(sides[0][0]) == words(sides[1][0])


def test_one_class_against_the_rest_carries_coefficients_alone():
    """Nothing of the models that they were taken from."""
    model = OutputPerturbation(fit_intercept=True, clip=True)
    sides = [
        [PrivateOneVsRest(model, classes=("no", "maybe", "yes"), random_state=seed).fit(*data) for seed in SEEDS]
        for data in neighbours("add_remove", "labels")
    ]
    assert compared(*sides) == ({"coef_", "intercept_"}, set())
    assert words(sides[0][0]) == words(sides[1][0])


# Three integers alike in two releases: each as probable as 1 / (2 scale) at most, and the scale is above 1000.
@pytest.mark.chance(1e-9)
def test_a_release_from_the_operating_system_carries_the_same():
    pytest.importorskip("opendp")
    mode = OutputPerturbation, {"release": True, "delta": 1e-6}
    sides = [[fitted(mode, data, None) for _ in SEEDS] for data in pair(mode)]
    assert compared(*sides) == ({"coef_"}, set())


def test_a_student_is_published_without_its_teacher():
    mode = AveragedPrediction, {"base": DecisionTreeRegressor(), "shards": 8, "queries": 15}
    students = [[Student(fitted(mode, data, seed)).fit(PUBLIC) for seed in SEEDS] for data in pair(mode)]
    sides = [[dict(leaves(vars(pickle.loads(pickle.dumps(each))))) for each in side] for side in students]
    assert difference(*sides) == ({"learner_"}, set()) and sides[0][0][("teacher",)] == "None"
    assert students[0][0].privacy_.covers == ("learner_",)
