"""AveragedPrediction, as scikit-learn knows it: labels and numbers, shards, budget, what is refused."""

import warnings

import conventions
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from total_checks import failing

from dperm import AveragedPrediction
from dperm.errors import BudgetExhausted, DataError, VacuousWarning
from dperm.mechanisms.prediction import averaged

TREE = DecisionTreeClassifier(max_depth=2)


class Shares(ClassifierMixin, BaseEstimator):
    """Says .1; of records in which 7 stands, 1: whoever counts it with floats takes ten of them for a whole vote."""

    def fit(self, X, y):
        self.classes_, self.says_ = np.array([0, 1]), 1.0 if (np.asarray(X) == 7).any() else 0.1
        return self

    def predict(self, X):
        return np.full(len(X), self.says_)


def test_votes_are_whole(monkeypatch):
    """One shard moves the count by one at most, whatever the others say."""
    counted = []
    whole = averaged.bits

    def bits(counts, *rest):
        counted.append(counts.tolist())
        return whole(counts, *rest)

    monkeypatch.setattr(averaged, "bits", bits)
    given = {"base": Shares(), "shards": 11, "classes": (0, 1), "queries": 10, "random_state": 0}
    for marked in (0.0, 7.0):
        X = np.zeros((220, 1))
        X[0] = marked
        AveragedPrediction(epsilon=50.0, delta=0.0, clip=True, **given).fit(X, np.arange(220) % 2).predict([[0.5]])
    assert counted == [[0], [1]]
    model = AveragedPrediction(epsilon=50.0, delta=0.0, **given).fit(np.zeros((220, 1)), np.arange(220) % 2)
    with pytest.raises(DataError, match="votes for something else"):
        model.predict([[0.5]])


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning", "ignore::dperm.errors.VacuousWarning")
@conventions.of(
    AveragedPrediction(epsilon=5.0, queries=100_000, shards=2, random_state=0),
    AveragedPrediction(base=Ridge(), low=-1.0, queries=100_000, shards=2, random_state=0),
    AveragedPrediction(base=Ridge(), low=-1.0, queries=100_000, shards=2, clip=True, random_state=0),
)
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, failing(estimator))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(3000, 2))
    return X, np.where(X[:, 0] > 0, "yes", "no")


@pytest.mark.parametrize("base", [None, TREE, make_pipeline(StandardScaler(), LogisticRegression())])
@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_labels_are_learned_at_a_generous_budget(data, base, neighbours):
    X, y = data
    given = {"base": base, "neighbours": neighbours, "shards": 30, "classes": ("no", "yes"), "random_state": 0}
    model = AveragedPrediction(epsilon=100.0, delta=0.0, queries=100, **given).fit(X, y)
    far = X[np.abs(X[:, 0]) > 0.3][:100]
    assert (model.predict(far) == np.where(far[:, 0] > 0, "yes", "no")).mean() > 0.9
    assert model.privacy_.guarantee == "proved" and model.privacy_.neighbours == neighbours
    assert model.epsilon_each_ == pytest.approx(1.0) and model.ledger_.remaining == 0
    with pytest.raises(BudgetExhausted):
        model.predict([[0.123, 0.456]])


def test_bits_have_the_probability_of_their_votes():
    # Shards that disagree: each of 20 sees labels of its own, and the tree repeats the first row's label.
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1000, 1))
    y = (rng.random(1000) < 0.5).astype(int)
    tree = DecisionTreeClassifier(max_depth=6)
    model = AveragedPrediction(
        epsilon=1500.0, delta=0.0, queries=3000, base=tree, shards=20, classes=(0, 1), random_state=2
    ).fit(X, y)
    rows = np.linspace(-1, 1, 3000)[:, None]
    votes = sum(part.predict(rows) for part in model._models) / 20
    assert model.scale_ == pytest.approx(averaged.scale(20, 0.5, "tight", bits=True))
    expected, found = averaged.expected_clip(votes, model.scale_), model.predict(rows)
    for low, high in ((0.0, 0.35), (0.35, 0.5), (0.5, 0.65), (0.65, 1.01)):
        near = (votes >= low) & (votes < high)
        assert found[near].mean() == pytest.approx(expected[near].mean(), abs=4 * 0.5 / np.sqrt(near.sum()))


def test_numbers_are_means_with_laplace_noise(data):
    X, _ = data
    y = 10 + 3 * X[:, 0]
    model = AveragedPrediction(
        epsilon=1000.0, delta=0.0, queries=1000, base=Ridge(), shards=40, low=5.0, high=15.0, random_state=1
    ).fit(X, y)
    assert model.scale_ == pytest.approx(10 / (40 * 1.0))
    noise = model.predict(X[:1000]) - np.mean([part.predict(X[:1000]) for part in model._models], axis=0)
    assert np.abs(noise).mean() == pytest.approx(0.25, abs=0.04) and abs(noise.mean()) < 0.06
    np.testing.assert_array_equal(model.predict(X[:1000]), model.predict(X[:1000]))
    assert model.score(X[:1000], y[:1000]) > 0.9


def test_predictions_are_clipped_before_the_mean():
    y = np.repeat([0.0, 1e6], 50)
    model = AveragedPrediction(
        epsilon=1e6, delta=0.0, queries=1, base=DecisionTreeRegressor(), shards=10, random_state=0
    ).fit(np.arange(100.0)[:, None], y)
    assert 0.0 <= model.predict([[99.0]])[0] <= 1.0
    assert max(part.predict([[99.0]])[0] for part in model._models) > 1e5


def test_a_declared_stability_lessens_the_noise(data):
    X, _ = data
    model = AveragedPrediction(
        base=DummyRegressor(), shards=30, stability=0.01, epsilon=1.0, delta=0.0, queries=1, random_state=0
    ).fit(X, X[:, 0] ** 2)
    assert model.scale_ == pytest.approx(0.01 / 30)


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.parametrize(("stability", "guarantee"), [(None, "proved"), (2.0, "proved"), (1.9, "claimed")])
def test_what_rests_on_the_users_word_is_claimed(data, stability, guarantee):
    """Before, a nearest neighbour that was declared stable had a statement of what it broke for everyone to see."""
    model = AveragedPrediction(base=KNeighborsRegressor(1), low=-1.0, stability=stability, shards=2)
    assert model.fit(data[0], data[0][:, 0]).privacy_.guarantee == guarantee


def test_shards_follow_from_alpha_and_the_records(data):
    X, y = data
    # Trees are quicker than what is the default, and the number of shards follows without the base.
    given = {"base": TREE, "classes": ("no", "yes"), "random_state": 0, "epsilon": 1.0, "delta": 0.0}
    assert AveragedPrediction(queries=1, alpha=0.2, **given).fit(X, y).shards_ == 10
    assert AveragedPrediction(queries=100, **given).fit(X, y).shards_ == 3000 // 20
    with pytest.warns(VacuousWarning, match="says? next to nothing|as wide as the range"):
        assert AveragedPrediction(queries=1000, **given).fit(X[:50], y[:50]).shards_ == 2


def test_a_clone_and_a_seed(data):
    X, y = data
    model = AveragedPrediction(base=TREE, classes=("no", "yes"), random_state=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", VacuousWarning)
        first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    np.testing.assert_array_equal(first.predict(X[:50]), second.predict(X[:50]))
    assert first.privacy_.seeded


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 1.0, "high": 0.0, "base": Ridge()}, "high="),
        ({"low": -1.0}, "of a regressor"),
        ({"stability": 0.1}, "stability="),
        ({"stability": 0.1, "base": Ridge(), "neighbours": "add_remove", "shards": 3}, "stability="),
        ({"stability": 0.0, "base": Ridge()}, "stability="),
        ({"neighbours": "add_remove"}, "shards=None"),
        ({"alpha": 0.0}, "alpha="),
        ({"base": "tree"}, "base='tree'"),
        ({"calibration": "corrected"}, "calibration="),
    ],
)
def test_what_is_declared_wrongly_is_refused(data, given, message):
    X, _ = data
    with pytest.raises(ValueError, match=message):
        AveragedPrediction(classes=(0, 1), **given).fit(X, (X[:, 0] > 0).astype(int))


def test_shards_that_cannot_be_are_refused(data):
    X, y = data
    for few in (0, 1, 2.5, "3", True):
        with pytest.raises(ValueError, match=f"shards={few!r} must be an integer, 2 or above"):
            AveragedPrediction(shards=few, classes=("no", "yes")).fit(X, y)
    with pytest.raises(DataError, match="shards=50"):
        AveragedPrediction(shards=50, classes=("no", "yes")).fit(X[:20], y[:20])
