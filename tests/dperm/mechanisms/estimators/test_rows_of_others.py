"""What a row is answered depends on that row alone, whatever stands in the batch with it: others' rows may."""

import numpy as np
import pytest
import together
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.utils import all_estimators

import dperm
from dperm.serve import pack
from dperm.serve.allowed import LEARNERS
from dperm.serve.files import load
from dperm.serve.service import Asked, Service

# So large a budget that an answer is the majority's, or the mean's, but for its last digits.
MUCH = {"epsilon": 1e7, "delta": 0.0, "queries": 200, "shards": 9, "clip": True, "random_state": 0}
ODD = [[1e39, 0.0], [-1e300, 5.0], [np.finfo(float).max, 1.0]]


def learner(name):
    known = dict(all_estimators())
    return known[name]() if name in known else getattr(dperm, name)()


def model(base, **given):
    if is_classifier(base):
        return dperm.SoftMajority(base=base, classes=("no", "yes"), **{**MUCH, **given})
    return dperm.AveragedPrediction(base=base, low=0.0, high=1.0, **{**MUCH, **given})


def records(base, n=360):
    X = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return X, np.where(X[:, 0] > 0, "yes", "no") if is_classifier(base) else (X[:, 0] > 0) * 1.0


def plain(answers):
    return (answers == "yes") * 1.0 if answers.dtype.kind == "U" else answers


ROWS = np.column_stack([np.linspace(-0.9, 0.9, 12), np.linspace(0.4, -0.4, 12)])


@together.over("name", sorted(LEARNERS))
def test_beside_rows_beyond_single_precision_others_are_answered_as_alone(name):
    """Before, all ten learners that are trees answered 0 to the whole batch."""
    base, batch = learner(name), np.vstack([ROWS[::4], ODD])
    alone, beside = (model(base, shards=3).fit(*records(base)) for _ in range(2))
    expected = np.concatenate([alone.predict(row[None]) for row in batch])
    np.testing.assert_allclose(plain(beside.predict(batch)), plain(expected), atol=1e-4)


class Picky(ClassifierMixin, BaseEstimator):
    """Fails on a batch with a row whose second entry is above 1, and answers others as the first entry says."""

    calls = 0

    def __init__(self, shape=False):
        self.shape = shape

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        type(self).calls += 1
        if (X[:, 1] > 1).any():
            if self.shape:
                return np.zeros((len(X), 2))
            raise FloatingPointError
        return (X[:, 0] > 0) * 1


@pytest.mark.parametrize("mode", ["each", "consensus"])
@pytest.mark.parametrize("shape", [False, True])
def test_rows_that_fail_are_answered_by_zeros_and_no_others(shape, mode):
    given = {"epsilon": 300.0, "delta": 1e-3, "shards": 60, "queries": 60} if mode == "consensus" else {}
    fitted = model(Picky(shape), mode=mode, **given).fit(*records(Picky(), 600))
    batch = np.vstack([ROWS, [[0.7, 2.0]], ROWS * 1.01, [[0.8, 3.0]]])
    found, right = fitted.predict(batch), np.where(ROWS[:, 0] > 0, "yes", "no")
    np.testing.assert_array_equal(found, [*right, "no", *right, "no"])


def test_one_row_that_fails_among_many_takes_few_calls():
    fitted = model(Picky(), shards=2, queries=1000).fit(*records(Picky()))
    batch = np.column_stack([np.linspace(0.1, 0.9, 1000), np.zeros(1000)])
    batch[123, 1], Picky.calls = 2.0, 0
    assert (fitted.predict(batch) == "yes").sum() == 999
    assert Picky.calls <= 2 * (1 + 2 * 10)


def test_an_analysts_row_changes_no_other_analysts_answers(tmp_path):
    """Before, Mallory's row made every answer of the turn "no", for good."""
    base = learner("DecisionTreeClassifier")
    pack(model(base, random_state=None), *records(base), tmp_path / "model")
    service = Service(load(tmp_path / "model"), tmp_path / "ledger")
    with service.serving.turn():
        alice, mallory = (service.accounts.add(name) for name in ("alice", "mallory"))
    told = service.answer([Asked(alice, ROWS), Asked(mallory, np.array(ODD))])
    assert told[0].answers == np.where(ROWS[:, 0] > 0, "yes", "no").tolist()
    assert service.answer([Asked(alice, ROWS)])[0].answers == told[0].answers


def test_a_batch_on_which_nothing_fails_is_asked_once():
    fitted = model(Picky(), shards=2).fit(*records(Picky()))
    Picky.calls = 0
    fitted.predict(ROWS)
    assert Picky.calls == 2
