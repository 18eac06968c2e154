"""The exact oracles of small classes, against trying all of their functions; and as scikit-learn's learners."""

import itertools

import conventions
import numpy as np
import pytest
import together
from sklearn.tree import DecisionTreeClassifier

from dperm.mechanisms.prediction.learners import BoxLearner, IntervalsLearner, StumpLearner, ThresholdLearner
from dperm.solvers import boxes, intervals, stumps, thresholds


def tied(rng, n, points=6):
    return rng.integers(points, size=n).astype(float), rng.integers(2, size=n)


def test_thresholds_have_the_fewest_errors_and_are_the_least_such():
    rng = np.random.default_rng(0)
    x, y = rng.integers(5, size=(200, 7)).astype(float), rng.integers(2, size=(200, 7))
    a, errors = thresholds.minimise(x, y)
    for row, label, end, wrong in zip(x, y, a, errors, strict=True):
        tried = {c: int(((row >= c) != label).sum()) for c in [*sorted(set(row)), np.inf]}
        assert wrong == min(tried.values()) and end == min(c for c in tried if tried[c] == wrong)


def test_least_positive_is_consistent_where_a_threshold_is():
    rng = np.random.default_rng(1)
    x = rng.random((50, 9))
    y = (x >= rng.random((50, 1))).astype(int)
    a = thresholds.least_positive(x, y)
    np.testing.assert_array_equal(x >= a[:, None], y)
    assert thresholds.least_positive(x[0], np.zeros(9)) == np.inf


@together.over("k", [0, 1, 2, 3, 9])
def test_intervals_have_the_fewest_errors(k):
    rng = np.random.default_rng(k)
    for n in (1, 2, 5, 9):
        x, y = tied(rng, n)
        ends, errors = intervals.minimise(x, y, k)
        points = sorted(set(x))
        tried = (
            int((intervals.inside(x, np.array(chosen)) != y).sum())
            for size in range(min(k, len(points)) + 1)
            for chosen in itertools.combinations(points, size)
        )
        assert errors == min(tried) and len(ends) <= k
        assert (intervals.inside(x, ends) != y).sum() == errors
        ones = np.array([[y[x == point].sum() for point in points]])
        zeros = np.array([[(1 - y[x == point]).sum() for point in points]])
        assert intervals.fewest_errors(ones, zeros, k)[0] == errors


def test_no_records_need_no_ends():
    ends, errors = intervals.minimise(np.empty(0), np.empty(0), 3)
    assert len(ends) == 0 and errors == 0


def test_stumps_are_as_good_as_a_tree_of_depth_one():
    rng = np.random.default_rng(3)
    for _ in range(30):
        X, y = rng.integers(4, size=(20, 3)).astype(float), rng.integers(2, size=20)
        stump = stumps.minimise(X, y)
        tried = [
            int(((X[:, j] >= a) ^ flip != y).sum())
            for j in range(3)
            for a in (0.0, 1.0, 2.0, 3.0, np.inf)
            for flip in (False, True)
        ]
        assert stump.errors == min(tried) == (stumps.predict(stump, X) != y).sum()
        tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
        assert stump.errors <= (tree.predict(X) != y).sum()


def test_boxes_are_the_smallest_around_the_ones():
    X = np.random.default_rng(4).random((40, 3))
    y = ((X > 0.2) & (X < 0.8)).all(axis=1).astype(int)
    low, high = boxes.smallest(X, y)
    np.testing.assert_array_equal(boxes.inside(X, low, high), y)
    assert (low == X[y == 1].min(axis=0)).all() and (high == X[y == 1].max(axis=0)).all()
    assert not boxes.inside(X, *boxes.smallest(X, np.zeros(40))).any()


LEARNERS = [
    ThresholdLearner(),
    ThresholdLearner(rule="least_positive"),
    IntervalsLearner(k=3),
    StumpLearner(),
    BoxLearner(),
]


@conventions.of(*LEARNERS)
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator)


def test_learners_say_what_their_solvers_find():
    rng = np.random.default_rng(5)
    X, y = rng.random((60, 2)), np.where(rng.random(60) < 0.5, "yes", "no")
    ones = (y == "yes").astype(int)
    a, errors = thresholds.minimise(X[:, 1][None], ones[None])
    model = ThresholdLearner(feature=1).fit(X, y)
    assert model.threshold_ == a[0] and (model.predict(X) != y).sum() == errors[0]
    model = IntervalsLearner(feature=1, k=4).fit(X, y)
    assert (model.predict(X) != y).sum() == intervals.minimise(X[:, 1], ones, 4)[1]
    assert (StumpLearner().fit(X, y).predict(X) != y).sum() == stumps.minimise(X, ones).errors
    assert (BoxLearner().fit(X, y).predict(X)[ones == 1] == "yes").all()
    for learner in LEARNERS:
        assert (learner.fit(X, np.ones(60, int)).predict(X) == 1).all()


def test_mistakes_are_named():
    X, y = np.random.default_rng(6).random((9, 2)), np.arange(9) % 2
    with pytest.raises(ValueError, match=r"feature=2.*2 features"):
        ThresholdLearner(feature=2).fit(X, y)
    with pytest.raises(ValueError, match=r"feature=0\.5 is no whole number"):
        ThresholdLearner(feature=0.5).fit(X, y)
    with pytest.raises(ValueError, match="rule='best'"):
        ThresholdLearner(rule="best").fit(X, y)
    with pytest.raises(ValueError, match="k=-1"):
        IntervalsLearner(k=-1).fit(X, y)
    with pytest.raises(ValueError, match=r"k=1\.5 is no whole number"):
        IntervalsLearner(k=1.5).fit(X, y)
    with pytest.raises(ValueError, match="3 labels"):
        StumpLearner().fit(X, np.arange(9) % 3)
