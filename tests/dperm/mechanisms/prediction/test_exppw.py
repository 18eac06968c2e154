"""ExpPW: the walk against a literal transcription, its constants, its bits and its estimator."""

import math

import conventions
import numpy as np
import pytest
from no_copies import refused
from scipy import stats
from scipy.special import expit

from dperm import ExpPW
from dperm.errors import BudgetExhausted, DomainViolation, InvalidBudget, NoGuaranteeWarning, VacuousWarning
from dperm.mechanisms.prediction import exppw
from dperm_papers.dwork2018.shared import multisets


def literal(records, bound, query):
    """V(S, x): erratum D4 word by word; records and query are (point, key)."""
    v = 0.0
    for point, key, y in sorted(records):
        if (point, key) <= query:
            v = max(-bound, min(bound, v + (1 if y else -1)))
    return v


@pytest.mark.parametrize("points", [3, 40, 10**6])
@pytest.mark.parametrize("bound", [1, 4, 3.3])
def test_the_walk_is_the_printed_one(points, bound):
    rng = np.random.default_rng(points)
    for n in (0, 1, 60):
        x, y, keys = rng.integers(points, size=n).astype(float), rng.integers(2, size=n), rng.random(n)
        queries = np.concatenate([x, rng.integers(-1, points + 1, size=9)])
        asked = rng.random(len(queries))
        for order in (np.arange(len(queries)), np.argsort(queries)):
            found = exppw.value(exppw.prepare(x, y, keys, bound), queries[order], asked[order])
            records = list(zip(x, keys, y, strict=True))
            said = [literal(records, bound, query) for query in zip(queries[order], asked[order], strict=True)]
            np.testing.assert_allclose(found, said, atol=1e-12)


def test_long_and_short_runs_of_ties_are_sorted_by_key():
    rng = np.random.default_rng(0)
    x = np.repeat([3.0, 1.0, 2.0], [40, 5, 17])
    keys = rng.permutation(len(x)) / len(x)
    walk = exppw.prepare(x, rng.integers(2, size=len(x)), keys, 3)
    order = np.lexsort((keys, x))
    np.testing.assert_array_equal(walk.x, x[order])
    np.testing.assert_array_equal(walk.keys, keys[order])


def test_without_keys_ties_are_sorted_by_label_and_ends_are_all_or_none():
    walk = exppw.prepare(np.zeros(9), np.array([1, 0, 0, 1, 0, 0, 0, 0, 0]), None, 3)
    np.testing.assert_array_equal(walk.v, [0, -1, -2, -3, -3, -3, -3, -3, -2, -1])
    assert exppw.value(walk, [0.0])[0] == -1 and exppw.value(walk, [0.0], -math.inf)[0] == 0


def test_constants():
    assert exppw.walk_bound(0.1, 1.0) == math.ceil(2 * math.log(20)) == 6
    assert exppw.walk_bound(0.1, 1.0, neighbours="add_remove") == math.ceil(math.log(20)) == 3
    T = exppw.walk_bound(0.1, 0.5, "paper")
    assert exppw.probability(T, 0.5, "paper") == pytest.approx(0.9)
    assert exppw.probability(-T, 0.5, "paper") == pytest.approx(0.1)
    assert exppw.probability(2.0, 0.5) == expit(0.5) and exppw.probability(2.0, 0.5, "paper") == expit(1.0)
    told = {(c, n): exppw.guarantee(c, n) for c in ("tight", "paper") for n in ("replace", "add_remove")}
    assert {pair for pair, word in told.items() if word == "none"} == {("paper", "replace")}


@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_released_bits_have_the_law_of_the_walk(calibration):
    x, y = np.repeat([0.0, 1.0], 3), np.array([0, 1, 1, 0, 0, 1])
    rng = np.random.default_rng(3)
    bits = exppw.release(
        x, y, np.array([0.0, 1.0]), alpha=0.3, epsilon=1.0, calibration=calibration, rng=rng, repeats=20_000
    )
    if calibration == "paper":
        # Points < x: none before 0; then 0, 1, 1 in this order, from which T takes nothing but the first.
        bound = math.log(0.7 / 0.3)
        ones = expit([0.0, min(-bound + 2, bound)])
    else:
        law = multisets.laws(np.array([[[1, 2], [2, 1]]]), 4, "lifted")[0]
        ones = law @ expit(0.5 * np.arange(-4, 5))
    for found, one in zip(bits.sum(axis=0), ones, strict=True):
        assert stats.binomtest(int(found), 20_000, float(one)).pvalue > 1e-4


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"alpha=0\.6"):
        exppw.walk_bound(0.6, 1.0, "paper")
    with pytest.raises(InvalidBudget, match="epsilon=0"):
        exppw.step(0)
    with pytest.raises(ValueError, match="calibration='corrected'"):
        exppw.walk_bound(0.1, 1.0, "corrected")


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@conventions.of(ExpPW(random_state=0), ExpPW(neighbours="add_remove", random_state=0))
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, refused(estimator))


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).random((4000, 2))
    return X, np.where(X[:, 1] > 0.4, "yes", "no")


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_learns_its_feature(data, neighbours):
    model = ExpPW(epsilon=5.0, queries=50, feature=1, classes=("no", "yes"), neighbours=neighbours, random_state=0)
    model.fit(*data)
    assert model.walk_bound_ == exppw.walk_bound(0.1, model.epsilon_each_, neighbours=neighbours)
    X = np.column_stack([np.linspace(0, 1, 50), np.linspace(0, 1, 50)])
    assert (model.predict(X) == np.where(X[:, 1] > 0.4, "yes", "no")).mean() > 0.8
    assert model.privacy_.guarantee == "proved" and model.privacy_.neighbours == neighbours
    assert model.ledger_.remaining == 0
    with pytest.raises(BudgetExhausted):
        model.predict([[0.123, 0.5]])
    np.testing.assert_array_equal(model.predict(X), model.predict(X))


def test_printed_form_says_that_it_promises_nothing(data):
    with pytest.warns(NoGuaranteeWarning, match="calibration='tight'"):
        model = ExpPW(epsilon=5.0, queries=5, calibration="paper", classes=("no", "yes"), random_state=0).fit(*data)
    assert model.privacy_.guarantee == "none"


def test_too_few_records_are_said_so():
    X, y = np.arange(30.0)[:, None], np.arange(30) // 15
    with pytest.warns(VacuousWarning, match=r"T=\d+ is a third"):
        ExpPW(epsilon=0.1, queries=10, classes=(0, 1), random_state=0).fit(X, y)


def test_a_feature_that_is_not_there_is_refused(data):
    for feature in (-1, 0.5, True):
        with pytest.raises(ValueError, match=f"feature={feature}"):
            ExpPW(feature=feature, classes=("no", "yes")).fit(*data)
    with pytest.raises(DomainViolation, match=r"feature=2.*2 columns"):
        ExpPW(feature=2, classes=("no", "yes")).fit(*data)
    with pytest.raises(ValueError, match="alpha=2"):
        ExpPW(alpha=2, classes=("no", "yes")).fit(*data)
