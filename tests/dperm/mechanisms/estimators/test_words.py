"""What a newcomer meets first, by estimator: each message says what to do about it in this library."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import together
from scipy import sparse
from sklearn.tree import DecisionTreeRegressor

import dperm
from dperm.errors import PrivacyLeakWarning, VacuousWarning

N = 60
X = np.random.default_rng(0).uniform(-0.5, 0.5, (N, 3))
LABEL, THREE = np.where(X[:, 0] > 0, 1, 0), np.arange(N) % 3


def searched(**given):
    own = {name: given.pop(name) for name in ("epsilon", "delta") if name in given}
    return dperm.PrivateSearchCV(dperm.OutputPerturbation(**given), {"curvature": [1.0]}, **own)


# A model of labels, and one of numbers with what it needs to be told.
LABELLED = {
    **{name: getattr(dperm, name) for name in (
        "ApproximateMinima", "ExpPW", "NAPP", "NoisyGradientDescent", "ObjectivePerturbation", "OutputPerturbation",
        "PINP", "PreconditionedGradientDescent", "RKHSGaussian", "SoftMajority", "StableERM", "StableSGD", "TDDL",
        "TDIL",
    )},
    "PrivateOneVsRest": lambda **how: dperm.PrivateOneVsRest(dperm.OutputPerturbation(), **how),
    "PrivateSearchCV": searched,
}  # fmt: skip
NUMBERED = {
    "AveragedPrediction": lambda **how: dperm.AveragedPrediction(base=DecisionTreeRegressor(), shards=3, **how),
    "ExpMechSupport": lambda **how: dperm.ExpMechSupport(**{"y_bound": 1.0, **how}),
    "SampAggSupport": lambda **how: dperm.SampAggSupport(penalty=1.0, blocks=3, **how),
    "SparseRegression": lambda **how: dperm.SparseRegression(**{"y_bound": 1.0, **how}),
    "ObjectivePerturbation, huber": lambda **how: dperm.ObjectivePerturbation(loss="huber", **how),
}
SPARSE = {
    "NoisyGradientDescent", "ObjectivePerturbation", "PreconditionedGradientDescent", "PINP", "RKHSGaussian", "TDDL",
    "TDIL", "ObjectivePerturbation, huber",
}  # fmt: skip
SEVERAL = {"NoisyGradientDescent", "PreconditionedGradientDescent", "PrivateOneVsRest", "SoftMajority"}


def frame(column):
    return pd.DataFrame(X, columns=list("abc")).assign(c=column)


ONE_GONE = np.where(np.arange(N)[:, None] == 3, np.nan, X)
COLOUR = np.where(X[:, 2] > 0, "red", "blue")
# What comes in as X, and the words of the remedy.
TABLES = {
    "NaN": (ONE_GONE, "contains NaN.*PublicEncoder.*clip=True"),
    "infinity": (np.where(np.isnan(ONE_GONE), np.inf, X), "contains infinity.*clip=True"),
    "text": (frame(COLOUR), "categories.*PublicEncoder"),
    "categories": (frame(pd.Categorical(COLOUR)), "categories.*PublicEncoder"),
    "sparse": (sparse.csr_array(X), r"takes dense rows alone: X.toarray\(\).*ObjectivePerturbation"),
}


def message(model, X, y):
    """Return what stops a fit; of warnings that a total fit may not have, the first."""
    with warnings.catch_warnings(), pytest.raises((ValueError, TypeError, RuntimeWarning)) as caught:
        warnings.simplefilter("error")
        model.fit(X, y)
    assert "HistGradientBoosting" not in str(caught.value)
    return caught.value


def target(name):
    return (LABEL, {"classes": (0, 1)}) if name in LABELLED else (X[:, 0], {})


def test_every_estimator_of_records_is_in_the_table():
    """`Student` learns from answers alone, `PerPerson` hands records on, `PublicEncoder` has words of its own."""
    estimators = {name for name in dperm.PUBLIC if hasattr(getattr(dperm, name), "fit")}
    ours = {name.split(",")[0] for name in LABELLED | NUMBERED}
    assert ours == {name for name in estimators if not name.endswith("Learner")} - {
        "PerPerson", "PublicEncoder", "Student",
    }  # fmt: skip


@together.over("kind", TABLES)
@together.over("name", LABELLED | NUMBERED)
def test_rows_that_no_model_takes(name, kind):
    (y, given), (table, words) = target(name), TABLES[kind]
    if kind != "sparse" or name not in SPARSE:
        assert re.search(words, str(message((LABELLED | NUMBERED)[name](**given), table, y)))


@together.over("name", LABELLED | NUMBERED)
def test_missing_targets(name):
    y, given = target(name)
    gone = np.where(np.arange(N) == 3, np.nan, y)
    for one in (gone, gone.astype(object)):
        assert "drop such records; or pass clip=True" in str(message((LABELLED | NUMBERED)[name](**given), X, one))


@together.over("mark", [None, pd.NA, pd.NaT, float("nan")])
def test_missing_labels(mark):
    y = np.where(LABEL, "yes", "no").astype(object)
    y[3] = mark
    assert "y contains NaN or another missing value" in str(
        message(dperm.OutputPerturbation(classes=("no", "yes")), X, y)
    )


@together.over("name", LABELLED)
def test_more_than_two_classes(name):
    words = "PrivateOneVsRest.*SoftMajority.*one budget pays for all classes"
    if name not in SEVERAL:
        assert re.search(words, str(message(LABELLED[name](), X, THREE)))
        assert re.search(words, str(message(LABELLED[name](classes=(0, 1, 2)), X, THREE)))
    elif "Gradient" in name:
        # Descents have the multinomial loss alone (`test_multiclass`).
        assert re.search(words, str(message(LABELLED[name](loss="smoothed_hinge"), X, THREE)))


@together.over("name", LABELLED)
def test_labels_that_are_not_declared_or_no_labels(name):
    found = message(LABELLED[name](), X, LABEL)
    assert isinstance(found, PrivacyLeakWarning) and "pass classes=" in str(found)
    assert "take loss='huber'" in str(message(LABELLED[name](), X, X[:, 0]))
    other = str(message(LABELLED[name](classes=(0, 7)), X, LABEL))
    assert "a label that is not in classes=[0, 7]; declare it" in other


@together.over("name", LABELLED | NUMBERED)
def test_no_budget(name):
    y, given = target(name)
    assert "usual values are 0.1 to 10" in str(message((LABELLED | NUMBERED)[name](epsilon=0, **given), X, y))


@together.over("name", ["ExpPW", "PINP", "SoftMajority", "AveragedPrediction"])
def test_a_budget_that_buys_nothing(name):
    y, given = target(name)
    found = message((LABELLED | NUMBERED)[name](epsilon=0.01, **given), X, y)
    assert isinstance(found, VacuousWarning) and re.search("raise `?epsilon|larger epsilon", str(found))


@together.over("name, table, words", [
    ("ObjectivePerturbation", 4 * X, "rows longer than x_norm=1; declare the larger public bound, or pass clip=True"),
    ("ExpMechSupport", X, "y_bound=None.*declare y_bound"),
    ("SparseRegression", X, "y_bound=None.*declare y_bound"),
    ("AveragedPrediction", frame(COLOUR), "PublicEncoder"),
])  # fmt: skip
def test_bounds_that_were_not_declared(name, table, words):
    y, given = target(name)
    given = {**given, "y_bound": None} if "y_bound" in words else given
    assert re.search(words, str(message((LABELLED | NUMBERED)[name](**given), table, y)))


def test_text_as_a_real_target():
    assert "labels go with loss='logistic'" in str(message(dperm.ObjectivePerturbation(loss="huber"), X, COLOUR))


def test_a_query_with_a_gap():
    model = dperm.NoisyGradientDescent(classes=(0, 1), random_state=0).fit(X, LABEL)
    with pytest.raises(ValueError, match=r"NaN.*PublicEncoder") as caught:
        model.predict(ONE_GONE)
    assert "clip" not in str(caught.value)
