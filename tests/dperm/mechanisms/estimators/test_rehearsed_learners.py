"""A learner that cannot work whatever the records are is told, also where failures on records are hidden."""

import random
from typing import ClassVar

import numpy as np
import pytest
import together
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dperm import AveragedPrediction, BoxLearner, SoftMajority, ThresholdLearner
from dperm.serve import pack

MUCH = {"epsilon": 1e5, "delta": 0.0, "queries": 300, "shards": 10, "clip": True, "random_state": 0}
LABELS = MUCH | {"classes": (0, 1)}
X = np.random.default_rng(0).normal(size=(400, 2))
Y = (X[:, 0] > 0) * 1

WRONG = {
    "a number out of its range": (LogisticRegression(C=-1.0), "'C' parameter of LogisticRegression must be"),
    "a text for a number": (DecisionTreeClassifier(max_depth="3"), "'max_depth' parameter"),
    "more neighbours than records": (KNeighborsClassifier(n_neighbors=10**5), "n_neighbors = 100000"),
    "a feature that is not there": (ThresholdLearner(feature=2), "feature"),
}


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@together.over("what", WRONG)
def test_a_wrong_parameter_is_told(what, neighbours, tmp_path):
    """Before, each answered the first class to everything: proved, served, and without a word."""
    base, words = WRONG[what]
    model = SoftMajority(**LABELS, base=base, neighbours=neighbours)
    with pytest.raises(ValueError, match=rf"fails on \d+ made-up records .*{words}"):
        model.fit(X, Y)
    with pytest.raises(ValueError, match="made-up records"):
        pack(model.set_params(random_state=None), X, Y, tmp_path / "m")
    assert not list(tmp_path.iterdir())
    if neighbours == "replace":
        with pytest.raises(ValueError, match="fails on 40 made-up records"):
            AveragedPrediction(**LABELS, base=base).fit(X, Y)


@together.over("base", [LinearSVR(C=-1.0), DecisionTreeRegressor(max_depth="3"), KNeighborsRegressor(n_neighbors=41)])
def test_of_numbers_too(base):
    with pytest.raises(ValueError, match="fails on 40 made-up records"):
        AveragedPrediction(**MUCH, base=base, low=-5.0, high=5.0).fit(X, X[:, 0])


def test_a_learner_of_two_classes_is_refused_for_three():
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        SoftMajority(**MUCH, base=BoxLearner(), classes=(0, 1, 2)).fit(X, Y)


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_what_works_on_some_number_of_records_is_not_refused(neighbours):
    for base in (KNeighborsClassifier(n_neighbors=39), BaggingClassifier(max_samples=35, n_estimators=2)):
        SoftMajority(**LABELS, base=base, neighbours=neighbours).fit(X, Y)
    many = KNeighborsClassifier(n_neighbors=1500)
    SoftMajority(**LABELS, base=many, neighbours="add_remove").fit(X, Y)
    # Shards of one record have one label each, and ask no learner.
    SoftMajority(**LABELS | {"shards": 400}, base=many).fit(X, Y)


class Counts(ClassifierMixin, BaseEstimator):
    """Draws from a generator of the process, and keeps what it was fitted on."""

    seen: ClassVar = []

    def fit(self, X, y):
        self.seen.append((len(X), X.min() >= 0 and X.max() <= 1))
        self.classes_, self.drawn_ = np.unique(y), random.random()
        return self

    def predict(self, X):
        return np.full(len(X), self.drawn_ > 0.5) * 1


def test_it_is_tried_once_on_no_record_and_changes_no_generator():
    Counts.seen.clear()
    random.seed(5)
    drawn = random.random()
    random.seed(5)
    hidden = SoftMajority(**LABELS, base=Counts()).fit(X, Y)
    assert random.random() == drawn
    assert Counts.seen[0] == (40, True) and [made for _, made in Counts.seen[1:]] == [False] * 10
    # As where failures show, and nothing is tried.
    shown = SoftMajority(**LABELS | {"clip": False}, base=Counts()).fit(X, Y)
    np.testing.assert_array_equal(hidden.predict(X[:50]), shown.predict(X[:50]))


def test_numbers_at_the_ends_of_their_range_are_made_up_too():
    AveragedPrediction(**MUCH, base=Ridge(), low=-1e100, high=1e100).fit(X, X[:, 0])
