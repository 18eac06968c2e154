"""SoftMajority, as scikit-learn knows it: labels, shards, budget, and what is refused."""

import conventions
import numpy as np
import pytest
from no_copies import refused
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from dperm import SoftMajority
from dperm.errors import BudgetExhausted, DataError, NoGuaranteeWarning, VacuousWarning
from dperm.mechanisms.prediction import soft_majority


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning", "ignore::dperm.errors.VacuousWarning")
@conventions.of(SoftMajority(random_state=0))
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, refused(estimator))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    return X, np.where(X[:, 0] > 0, "yes", "no")


GIVEN = {"epsilon": 100.0, "delta": 0.0, "queries": 100, "classes": ("no", "yes"), "random_state": 0}


@pytest.mark.parametrize("base", [None, DecisionTreeClassifier(max_depth=2), GaussianNB()])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_labels_are_learned_at_a_generous_budget(data, base, neighbours):
    X, y = data
    model = SoftMajority(**GIVEN, base=base, neighbours=neighbours, shards=30).fit(X, y)
    far = X[np.abs(X[:, 0]) > 0.3][:100]
    assert (model.predict(far) == np.where(far[:, 0] > 0, "yes", "no")).all()
    assert model.privacy_.guarantee == "proved" and model.privacy_.neighbours == neighbours
    assert model.epsilon_each_ == pytest.approx(1.0) and model.ledger_.remaining == 0
    np.testing.assert_array_equal(model.predict(far[:3]), model.predict(far[:3]))
    with pytest.raises(BudgetExhausted):
        model.predict([[0.123, 0.456]])


def test_bits_have_the_probability_of_their_votes(data):
    X, _ = data
    y = (np.random.default_rng(1).random(3000) < 0.5).astype(int)
    model = SoftMajority(
        epsilon=600.0, delta=0.0, queries=3000, base=DecisionTreeClassifier(), shards=21, classes=(0, 1), random_state=2
    ).fit(X, y)
    rows = np.random.default_rng(3).uniform(-1, 1, size=(3000, 2))
    counts = sum(part.predict(rows) for part in model._models)
    found = model.predict(rows)
    for low, high in ((0, 8), (8, 11), (11, 14), (14, 22)):
        near = (counts >= low) & (counts < high)
        law = 1 / (1 + np.exp(-0.2 * (2 * counts[near] - 21) / 2))
        assert near.sum() > 100
        assert found[near].mean() == pytest.approx(law.mean(), abs=4 * 0.5 / np.sqrt(near.sum()))


def test_the_number_of_shards(data):
    X, y = data
    printed = soft_majority.shards_needed(0.05, 1.0)
    assert SoftMajority(**GIVEN).fit(X, y).shards_ == printed
    # 20 records each where n is public, and no look at n where it is not.
    with pytest.warns(VacuousWarning, match=r"with 10 shards and epsilon=0.1 .*probability 0.38.*263"):
        assert SoftMajority(**{**GIVEN, "epsilon": 10.0}).fit(X[:200], y[:200]).shards_ == 10
    private = SoftMajority(**GIVEN, neighbours="add_remove")
    assert private.fit(X[:5], y[:5]).shards_ == private.fit(X, y).shards_ == printed


def test_what_is_printed_has_no_guarantee(data):
    with pytest.warns(NoGuaranteeWarning, match="calibration='paper'"):
        model = SoftMajority(**GIVEN, calibration="paper", shards=30).fit(*data)
    assert model.privacy_.guarantee == "none"


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"base": LinearRegression()}, ValueError, "must be a scikit-learn classifier"),
        ({"base": GaussianNB}, ValueError, "must be a scikit-learn classifier"),
        ({"shards": 1}, ValueError, "shards=1 must be an integer, 2 or above"),
        ({"shards": 2.5}, ValueError, "shards=2.5 must be an integer"),
        ({"shards": 4000}, DataError, "shards=4000 is more than the n_samples=3000 records"),
        ({"alpha": 0.0}, ValueError, "alpha=0.0 must be"),
        ({"calibration": "corrected"}, ValueError, "'paper', 'tight'"),
    ],
)
def test_what_is_refused(data, given, error, told):
    with pytest.raises(error, match=told):
        SoftMajority(**{**GIVEN, **given}).fit(*data)


def test_a_base_learner_that_fails_on_a_shard_is_named(data):
    X, y = data
    base = DecisionTreeClassifier(class_weight={5: 1.0})
    with pytest.raises(DataError, match="DecisionTreeClassifier fails on shard 0 of 100 records"):
        SoftMajority(**GIVEN, base=base, shards=30).fit(X, y)
