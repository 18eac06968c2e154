"""Shards and the soft majority: who is in which shard, what one record can move, and the law of the bit."""

import math

import numpy as np
import pytest
import together
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dperm.errors import DataError, InvalidBudget
from dperm.mechanisms.prediction import shards, soft_majority


class Stubborn(ClassifierMixin, BaseEstimator):
    """Refuses shards of fewer than `least` records."""

    def __init__(self, least=10, random_state=None):
        self.least, self.random_state = least, random_state

    def fit(self, X, y):
        if len(y) < self.least:
            raise FloatingPointError(f"only {y}")
        self.classes_ = np.array([0.0, 1.0])
        return self

    def predict(self, X):
        return np.ones(len(X))


def test_shards_of_public_size_are_equal_parts_of_a_permutation():
    parts = shards.assign(103, 10, neighbours="replace", rng=np.random.default_rng(0))
    assert [len(part) for part in parts] == [10] * 10
    together = np.concatenate(parts)
    assert len(set(together)) == 100 and set(together) < set(range(103))
    # Every record is as likely to be dropped.
    drawn = [shards.assign(5, 2, neighbours="replace", rng=np.random.default_rng(k)) for k in range(2000)]
    left = np.bincount([(set(range(5)) - set(np.concatenate(part))).pop() for part in drawn], minlength=5)
    assert stats.chisquare(left).pvalue > 1e-4


def test_records_choose_their_shards_by_themselves_where_n_is_private():
    for n in (0, 1, 7, 200):
        parts = shards.assign(n, 4, neighbours="add_remove", rng=np.random.default_rng(3))
        np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n))
    # The shard of a record is the same whatever comes after it.
    few, many = (shards.assign(n, 4, neighbours="add_remove", rng=np.random.default_rng(3)) for n in (50, 51))
    for one, other in zip(few, many, strict=True):
        np.testing.assert_array_equal(one, other[other < 50])
    sizes = [len(part) for part in shards.assign(40_000, 4, neighbours="add_remove", rng=np.random.default_rng(0))]
    assert stats.chisquare(sizes).pvalue > 1e-4 and len(set(sizes)) > 1


def test_what_cannot_be_split_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="shards=1 must be an integer, 2 or above"):
        shards.assign(10, 1, neighbours="replace", rng=rng)
    with pytest.raises(DataError, match=r"shards=11 is more than the n_samples=10 records.*take fewer shards"):
        shards.assign(10, 11, neighbours="replace", rng=rng)
    with pytest.raises(ValueError, match="neighbours='both'"):
        shards.assign(10, 2, neighbours="both", rng=rng)


def test_one_record_moves_one_vote():
    rng = np.random.default_rng(1)
    X, y = rng.random((60, 1)), (rng.random(60) < 0.5).astype(float)
    queries = np.linspace(0, 1, 101)[:, None]
    parts = shards.assign(60, 7, neighbours="replace", rng=rng)

    def said(y):
        models = shards.fit_shards(DecisionTreeClassifier(), X, y, parts, rng=np.random.default_rng(5))
        return shards.votes(models, queries)

    moved = []
    for i in range(60):
        other = y.copy()
        other[i] = 1 - other[i]
        moved.append(np.abs(said(other) - said(y)).max())
    assert max(moved) == 1 and moved.count(0) == 60 % 7  # the records that were dropped move nothing


def test_shards_without_two_labels_are_constants():
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 0, 1, 1, 1, 0, 1.0])
    parts = [np.array([], int), np.array([0, 1, 2]), np.array([3, 4, 5]), np.array([6, 7])]
    base = DecisionTreeClassifier()
    models = shards.fit_shards(base, X, y, parts, rng=np.random.default_rng(0))
    assert [type(model) for model in models] == [shards.Constant] * 3 + [DecisionTreeClassifier]
    np.testing.assert_array_equal(shards.predictions(models, X[:1])[:3, 0], [0, 0, 1])
    np.testing.assert_array_equal(shards.votes(models, sparse.csr_array(X[6:])), [1, 2])
    assert not hasattr(base, "tree_")
    # A regressor is asked about equal targets too: it need not return them.
    models = shards.fit_shards(LinearRegression(), X, y, parts, rng=np.random.default_rng(0))
    assert [type(model) for model in models] == [shards.Constant] + [LinearRegression] * 3


def test_seeds_are_the_shards_own():
    X, y = np.arange(8.0)[:, None], np.array([0, 1.0] * 4)
    parts = [np.arange(4), np.arange(4, 8)]
    base = make_pipeline(StandardScaler(), DecisionTreeClassifier())
    first, again = (shards.fit_shards(base, X, y, parts, rng=np.random.default_rng(0)) for _ in range(2))
    seeds = [[model.get_params()["decisiontreeclassifier__random_state"] for model in fit] for fit in (first, again)]
    assert seeds[0] == seeds[1] and seeds[0][0] != seeds[0][1] and None not in seeds[0]
    # Fewer records elsewhere change no other shard's seed; a seed that was set stays.
    parts[0] = np.array([], int)
    other = shards.fit_shards(base, X, y, parts, rng=np.random.default_rng(0))[1]
    assert other.get_params()["decisiontreeclassifier__random_state"] == seeds[0][1]
    base.set_params(decisiontreeclassifier__random_state=3)
    for model in shards.fit_shards(base, X, y, [np.arange(4), np.arange(4, 8)], rng=np.random.default_rng(0)):
        assert model.get_params()["decisiontreeclassifier__random_state"] == 3


def test_a_base_learner_that_fails_is_named_without_the_data():
    X, y = np.arange(8.0)[:, None], np.array([0, 1.0] * 4)
    told = r"Stubborn fails on shard 1 of 3 records \(FloatingPointError\); take fewer shards"
    with pytest.raises(DataError, match=told) as failure:
        split(Stubborn(least=5), X, y, "replace")
    assert "only" not in str(failure.value)


def split(base, X, y, neighbours):
    parts = [np.arange(5), np.arange(5, len(y))]
    return shards.fit_shards(base, X, y, parts, neighbours=neighbours, rng=np.random.default_rng(0))


def test_failures_tell_no_number_of_records_where_it_is_private():
    X, y = np.arange(8.0)[:, None], np.array([0, 1.0] * 4)
    with pytest.raises(DataError, match=r"Stubborn fails on shard 1 \(FloatingPointError\); take") as failure:
        split(Stubborn(least=5), X, y, "add_remove")
    assert failure.value.__cause__ is None and failure.value.__context__ is None
    # Neighbours of 5 records are fitted on 3, and asked for later.
    for neighbours in ("replace", "add_remove"):
        models = split(KNeighborsClassifier(5), X, y, neighbours)
        told = r"^KNeighborsClassifier of shard 1 fails to predict \(ValueError\); take fewer shards, .* fitted on$"
        with pytest.raises(DataError, match=told) as failure:
            shards.votes(models, X[:1])
        assert failure.value.__cause__ is None and failure.value.__context__ is None


class Sticky(Stubborn):
    """One object for all shards."""

    def __sklearn_clone__(self):
        return self


class Pooled(Stubborn):
    """Clones are one object, another than the first."""

    pool = Stubborn()

    def __sklearn_clone__(self):
        return self.pool


class Elsewhere(Stubborn):
    """Fitting returns what others hold."""

    def fit(self, X, y):
        super().fit(X, y)
        return Elsewhere


FROZEN = FrozenEstimator(LogisticRegression().fit([[0.0], [1.0]], [0.0, 1.0]))


@together.over(
    "base",
    [
        Sticky(1),
        Pooled(1),
        FROZEN,
        make_pipeline(StandardScaler(), FROZEN),
        make_pipeline(FrozenEstimator(StandardScaler()), LogisticRegression()),
        BaggingClassifier(FROZEN),
    ],
)
def test_a_learner_that_shards_would_share_is_refused(base):
    X, y = np.arange(10.0)[:, None], np.array([0, 1.0] * 5)
    # Whatever the data are: no shard needs it here.
    for labels in (y, np.zeros(10)):
        with pytest.raises(
            ValueError, match=r"its clones share a learner.*take one whose clones are new and not fitted"
        ):
            split(base, X, labels, "replace")


def test_a_model_is_the_clone_and_not_what_fit_returns():
    models = split(Elsewhere(1), np.arange(10.0)[:, None], np.array([0, 1.0] * 5), "replace")
    assert [type(model) for model in models] == [Elsewhere] * 2 and models[0] is not models[1]


def test_votes_are_labels():
    models = [LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]) for _ in range(3)]
    np.testing.assert_allclose(shards.predictions(models, np.array([[0.5]])), 0.5)
    with pytest.raises(DataError, match="something else than the labels 0 and 1"):
        shards.votes(models, np.array([[0.5]]))
    with pytest.raises(DataError, match="something else than the labels 0 and 1"):
        shards.votes([shards.Constant(math.nan)], np.zeros((2, 1)))
    assert shards.votes([shards.Constant(1.0), shards.Constant(math.nan)], np.zeros((2, 1)), total=True).tolist() == [
        1,
        1,
    ]


def test_shards_needed_by_the_words_of_theorem_4_1():
    assert soft_majority.shards_needed(0.1, 0.1) == math.ceil(60 * math.log(40)) == 222
    for alpha, epsilon in ((0.1, 0.1), (0.01, 1.0)):
        r = soft_majority.shards_needed(alpha, epsilon)
        assert 1 / (1 + math.exp(epsilon * r / 6)) <= alpha / 4
    with pytest.raises(ValueError, match=r"alpha=1.0 must be"):
        soft_majority.shards_needed(1.0, 0.1)
    with pytest.raises(InvalidBudget, match="epsilon=0"):
        soft_majority.shards_needed(0.1, 0.0)


@together.over("r", [2, 3, 8, 31])
@together.over("epsilon", [0.1, 1.0, 4.0])
def test_the_law_is_the_exponential_mechanism_on_counts(r, epsilon):
    counts = np.arange(r + 1)
    # Scores count(b), of sensitivity 1: weights e^{eps count/2}; the prose's are e^{eps count}.
    for calibration, factor in (("tight", epsilon / 2), ("paper", epsilon)):
        ones, zeros = np.exp(factor * counts), np.exp(factor * (r - counts))
        law = soft_majority.probability(counts, r, epsilon, calibration)
        np.testing.assert_allclose(law, ones / (ones + zeros), rtol=1e-12)
        losses = [
            np.log(p[1:] / p[:-1]) for p in (law, soft_majority.probability(counts[::-1], r, epsilon, calibration))
        ]
        most = max(np.abs(loss).max() for loss in losses)
        spent = epsilon if calibration == "tight" else 2 * epsilon
        assert most <= spent * (1 + 1e-9)
        # The range of the loss over both bits is what bounded range means.
        assert np.abs(losses[0] - losses[1]).max() == pytest.approx(spent, rel=1e-9)
        if calibration == "paper":
            assert most > epsilon * (1 + 1e-3)
    assert (soft_majority.guarantee("tight"), soft_majority.guarantee("paper")) == ("proved", "none")


def test_bits_have_their_law():
    counts = np.array([0, 3, 5, 8])
    bits = soft_majority.release(counts, 8, 0.7, calibration="tight", rng=np.random.default_rng(0), repeats=20_000)
    assert bits.shape == (20_000, 4) and set(np.unique(bits)) == {0, 1}
    law = 1 / (1 + np.exp(-0.7 * (2 * counts - 8) / 2))
    np.testing.assert_allclose(bits.mean(axis=0), law, atol=4 * 0.5 / math.sqrt(20_000))
    with pytest.raises(ValueError, match=r"counts must lie in 0..8"):
        soft_majority.release(np.array([9]), 8, 0.7, calibration="tight", rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="calibration='corrected'"):
        soft_majority.release(counts, 8, 0.7, calibration="corrected", rng=np.random.default_rng(0))
