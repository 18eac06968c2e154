"""Cross-validation inside a session: the training sets of neighbours differ by one record, or nothing is fitted."""

import numpy as np
import pytest
import together
from designs import on_sphere
from scipy import sparse, stats
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    permutation_test_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from dperm import IndependentFolds, OutputPerturbation, PrivacySession
from dperm.errors import SessionError

X = on_sphere(np.random.default_rng(1), 1200, 3)
y = (X[:, 0] > 0).astype(int)


def model(neighbours="add_remove"):
    return OutputPerturbation(epsilon=0.1, delta=1e-7, classes=(0, 1), clip=True, neighbours=neighbours)


def score(cv, neighbours="add_remove", made=None):
    with PrivacySession(epsilon=1.0, delta=1e-5, neighbours=neighbours) as session:
        cross_val_score(made or model(neighbours), X, y, cv=cv, error_score="raise")
    return round(session.spent.epsilon, 9)


@together.over("neighbours", ["add_remove", "replace"])
def test_folds_of_independent_draws_are_charged_one_by_one(neighbours):
    assert score(IndependentFolds(4), neighbours) == 0.4
    assert score(IndependentFolds(3), neighbours, make_pipeline(Normalizer(), model(neighbours))) == 0.3
    with PrivacySession(epsilon=1.0, delta=1e-5, neighbours=neighbours) as session:
        assert len(cross_val_predict(model(neighbours), X, y, cv=IndependentFolds())) == len(y)
    assert round(session.spent.epsilon, 9) == 0.5
    with pytest.raises(SessionError, match="StandardScaler"):
        score(IndependentFolds(4), neighbours, make_pipeline(StandardScaler(), model(neighbours)))


@together.over("cv", [KFold(3), ShuffleSplit(3, random_state=0)])
def test_folds_by_the_number_of_records_are_for_replace_one(cv):
    assert score(cv, "replace") == 0.3
    with pytest.raises(SessionError, match=f"{type(cv).__name__} cuts the records .* cv=dperm.IndependentFolds"):
        score(cv)


class Own(IndependentFolds):
    """May cut as it likes."""


@together.over("neighbours", ["add_remove", "replace"])
@together.over("cv", [5, StratifiedKFold(3), [(np.arange(1000), np.arange(1000, 1200))], Own(3)])
def test_folds_by_labels_or_of_unknown_kind_are_refused(cv, neighbours):
    with pytest.raises(SessionError, match="cuts the records by their number or by all labels"):
        score(cv, neighbours)


@together.over("by", [learning_curve, permutation_test_score])
def test_a_training_set_cut_out_of_a_fold_is_refused(by):
    with (
        PrivacySession(epsilon=1.0, delta=1e-5) as session,
        pytest.raises(SessionError, match="cuts the records"),
    ):
        by(model(), X, y, cv=IndependentFolds(3), error_score="raise") if by is learning_curve else by(
            model(), X, y, cv=IndependentFolds(3)
        )
    assert session.spent.epsilon == 0


@together.over("records", [X, list(X), sparse.csr_array(X)])
def test_each_record_is_tested_on_once(records):
    parts = list(IndependentFolds(7).split(records))
    assert len(parts) == IndependentFolds(7).get_n_splits() == 7
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in parts])), np.arange(1200))
    for train, test in parts:
        assert sorted([*train, *test]) == list(range(1200))


def test_draws_are_of_each_record_alone():
    """Pairs of records fall into all pairs of folds alike; a false alarm in 10,000."""
    folds = np.empty((4000, 12), int)
    for row in folds:
        for k, (_, test) in enumerate(IndependentFolds(3).split(np.zeros((12, 1)))):
            row[test] = k
    for i, j in ((0, 1), (0, 11), (5, 6)):
        pairs = np.bincount(3 * folds[:, i] + folds[:, j], minlength=9)
        assert stats.chisquare(pairs).pvalue > 1e-4 / 3


def test_two_folds_are_the_least_and_a_million_the_most():
    with pytest.raises(ValueError, match="n_splits=1"):
        IndependentFolds(1)
    with pytest.raises(ValueError, match=r"n_splits=1e\+20 must be a number in .*each of them is a fit"):
        IndependentFolds(10**20)
