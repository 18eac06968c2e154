"""Shards share no generator: whatever a learner draws from, one record changes the answers of one shard."""

import random
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import dperm
from dperm.errors import DataError

SHARDS = 10
X = np.random.default_rng(0).uniform(-0.5, 0.5, (40, 2))


class Draws(RegressorMixin, BaseEstimator):
    """Answers what it draws from a generator of the process, one draw more where it saw a target above 0."""

    def __init__(self, source, when):
        self.source = source
        self.when = when

    def fit(self, X, y):
        self.seen_ = (y > 0).any()
        self.answer_ = self._drawn() if self.when == "fit" else None
        return self

    def predict(self, X):
        # Each row's answer tells all of the draw.
        return np.arange(997, 997 + len(X)) * (self.answer_ if self.when == "fit" else self._drawn()) % 1.0

    def _drawn(self):
        draw = {"numpy": np.random.random, "random": random.random}[self.source]
        return [draw() for _ in range(3 if self.seen_ else 2)][-1]


def mean(base, rows, y, asked, shards):
    """Return the means of the shards, next to exactly; seeded, as are the generators of the process."""
    np.random.seed(0)
    random.seed(0)
    given = {"epsilon": 1e12, "delta": 0.0, "queries": len(asked), "clip": True, "random_state": 0}
    return dperm.AveragedPrediction(base=base, shards=shards, **given).fit(rows, y).predict(asked)


@pytest.mark.parametrize("when", ["fit", "predict"])
@pytest.mark.parametrize("source", ["numpy", "random"])
def test_one_record_moves_the_mean_by_one_shard_s_share(source, when):
    """Before, the learners of all later shards drew other numbers: the mean moved by up to four shares."""
    base = Draws(source, when)
    without, *others = (mean(base, X, y, X, SHARDS) for y in (np.zeros(len(X)), *np.eye(len(X))))
    moved = [np.abs(other - without).max() for other in others]
    assert 0 < max(moved) <= 1 / SHARDS + 1e-9


def test_a_splitter_without_a_seed_has_its_shard_s_own():
    """Before, one record changed the folds, and the votes, of up to five of 15 shards."""
    rng = np.random.default_rng(0)
    rows, asked = rng.normal(size=(600, 3)), rng.normal(size=(300, 3))
    labels = (rows[:, 0] + 2 * rng.normal(size=600) > 0).astype(int)
    folds = StratifiedKFold(3, shuffle=True)
    base = Numbers(GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 2, None]}, cv=folds))
    first, *others = (
        mean(base, rows, np.where(np.arange(600) == k, 1 - labels, labels), asked, 15) for k in range(-1, 4)
    )
    assert 0 < max(np.abs(first - other).max() for other in others) <= 1 / 15 + 1e-6
    assert folds.random_state is None


class Numbers(RegressorMixin, BaseEstimator):
    """The labels of a classifier as numbers, so that an answer is their share."""

    def __init__(self, classifier):
        self.classifier = classifier

    def fit(self, X, y):
        self.classifier.fit(X, y)
        return self

    def predict(self, X):
        return self.classifier.predict(X)


class Fails(Draws):
    """Draws, and raises, in `predict`."""

    def predict(self, X):
        super().predict(X)
        raise ValueError


@pytest.mark.parametrize("base", [Draws("numpy", "fit"), Draws("random", "predict"), Fails("numpy", "predict")])
def test_the_caller_s_own_generators_go_on_where_they_stood(base):
    def drawn(between):
        np.random.seed(3)
        random.seed(3)
        # The second of two normal numbers is kept from the first.
        first = np.random.normal()
        between()
        return first, np.random.normal(), np.random.random(), random.random()

    def used():
        model = dperm.AveragedPrediction(base=base, shards=2, epsilon=1e3, queries=3).fit(X, X[:, 0] ** 2)
        with pytest.raises(DataError, match="fails to predict") if isinstance(base, Fails) else nullcontext():
            model.predict(X[:2])

    assert drawn(used) == drawn(lambda: None)


def test_a_bit_generator_of_the_program_s_own_is_put_back():
    """Of one that is no Mersenne twister NumPy refuses `np.random.seed`."""
    before = np.random.get_bit_generator()
    np.random.set_bit_generator(np.random.PCG64(5))
    try:
        base = Draws("numpy", "predict")
        dperm.AveragedPrediction(base=base, shards=2, epsilon=1e3, queries=3).fit(X, X[:, 0] ** 2).predict(X[:2])
        assert np.random.random() == np.random.default_rng(5).random()
    finally:
        np.random.set_bit_generator(before)
