"""The soft majority of several classes: its law by enumeration, draws that are exact, and the estimator around them."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import together
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from dperm import SoftMajority, grid
from dperm.errors import DataError
from dperm.mechanisms.prediction import shards, soft_majority


def every(r, classes):
    """Return all counts of r votes."""
    return [counts for counts in itertools.product(range(r + 1), repeat=classes) if sum(counts) == r]


def law(counts, epsilon):
    """Return e^{eps c/2}/sum of these with 60 digits."""
    with localcontext(prec=60):
        weights = [(Decimal(epsilon) * count / 2).exp() for count in counts]
        return [weight / sum(weights) for weight in weights]


def moved(counts):
    """Return the counts after one shard has changed its vote."""
    for one, other in itertools.permutations(range(len(counts)), 2):
        if counts[one]:
            yield tuple(count - (k == one) + (k == other) for k, count in enumerate(counts))


@pytest.mark.parametrize(("r", "classes"), [(9, 3), (4, 4), (30, 2)])
def test_no_neighbour_moves_a_log_probability_or_the_range_of_them_by_more_than_epsilon(r, classes):
    epsilon, most, widest = 0.8, 0.0, 0.0
    known = {counts: np.array([float(one.ln()) for one in law(counts, epsilon)]) for counts in every(r, classes)}
    for counts, logs in known.items():
        np.testing.assert_allclose(np.log(soft_majority.probabilities([counts], epsilon)[0]), logs, rtol=1e-9)
        for other in moved(counts):
            loss = logs - known[other]
            most, widest = max(most, np.abs(loss).max()), max(widest, np.ptp(loss))
    assert 0.5 * epsilon < most <= epsilon and widest == pytest.approx(epsilon, rel=1e-12)


@together.over("counts", [(3, 0, 2), (0, 0, 0, 9), (40, 1, 0), (1, 1, 1, 1, 1)])
@together.over("bits", [64, 256])
def test_the_tails_of_the_law_are_enclosed(counts, bits):
    epsilon = Fraction(7, 10)
    found, exact = grid.tails([epsilon * count / 2 for count in counts], bits), law(counts, Decimal("0.7"))
    with localcontext(prec=120):
        for j, (low, high) in enumerate(found, start=1):
            # 60 digits of the law decide between integers of 64 bits; of 256 they say where the ends are.
            tail = sum(exact[j:]) * 2**bits
            assert low - abs(tail) * Decimal("1e-50") <= tail <= high + abs(tail) * Decimal("1e-50")
            assert 0 <= high - low <= 4 * len(counts)


@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_of_two_classes_the_draws_are_the_bits(calibration):
    counts = np.random.default_rng(0).integers(0, 31, size=300)
    both = np.column_stack([30 - counts, counts])
    bits, choices = (
        draw([np.random.default_rng([1, k]) for k in range(300)])
        for draw in (
            lambda rngs: soft_majority.bits(counts, 30, 0.3, calibration, rngs),
            lambda rngs: soft_majority.choices(both, 0.3, calibration, rngs),
        )
    )
    np.testing.assert_array_equal(bits, choices)
    np.testing.assert_allclose(
        soft_majority.probabilities(both, 0.3, calibration)[:, 1],
        soft_majority.probability(counts, 30, 0.3, calibration),
        rtol=1e-12,
    )
    assert soft_majority.turned(30, 2, 0.3) == soft_majority.probability(0, 30, 0.3)


# One false alarm in 10,000 seeds.
def test_draws_have_the_law():
    counts = (5, 2, 0, 3)
    rngs = [np.random.default_rng([3, k]) for k in range(5_000)]
    drawn = soft_majority.choices(np.tile(counts, (5_000, 1)), 0.9, "tight", rngs)
    expected = [5_000 * float(one) for one in law(counts, Decimal("0.9"))]
    assert stats.chisquare(np.bincount(drawn, minlength=4), expected).pvalue > 1e-4


class Scripted(np.random.Generator):
    """A generator of one bit, over and over."""

    def __init__(self, byte):
        super().__init__(np.random.PCG64(0))
        self.byte = byte

    def bytes(self, length):
        return self.byte * length


def test_no_class_is_impossible():
    """e^-400 is below 2^-577: bits that are all 0 reach the last class, bits that are all 1 the first."""
    for counts, byte, reached in (((800, 0, 0), b"\x00", 2), ((0, 0, 800), b"\xff", 0)):
        assert soft_majority.choices(np.array([counts]), 1.0, "tight", [Scripted(byte)]).tolist() == [reached]


def test_one_record_takes_one_vote_away_and_adds_one():
    rng = np.random.default_rng(1)
    X, y = rng.random((60, 1)), rng.integers(3, size=60).astype(float)
    queries = np.linspace(0, 1, 101)[:, None]
    parts = shards.assign(60, 7, neighbours="replace", rng=rng)

    def said(y):
        models = shards.fit_shards(DecisionTreeClassifier(), X, y, parts, rng=np.random.default_rng(5))
        return shards.votes_of_classes(models, queries, 3)

    changes = []
    # Every seventh: at least one of nine is in a shard, for four of sixty are in none.
    for i in range(0, 60, 7):
        other = y.copy()
        other[i] = (other[i] + 1) % 3
        changes.append(np.abs(said(other) - said(y)).sum(axis=1).max())
    assert (said(y).sum(axis=1) == 7).all() and max(changes) == 2


def test_what_is_no_class_is_the_first_one_or_an_error():
    models = [shards.Constant(value) for value in (2.0, 1.0, 5.0, math.nan, 0.5)]
    found = shards.votes_of_classes(models, np.zeros((2, 1)), 3, total=True)
    np.testing.assert_array_equal(found, [[3, 1, 1]] * 2)
    with pytest.raises(DataError, match="something else than the labels 0 to 2"):
        shards.votes_of_classes(models, np.zeros((2, 1)), 3)


@pytest.mark.parametrize(("classes", "alpha", "epsilon"), [(2, 0.05, 1.0), (5, 0.1, 0.3), (10, 0.05, 2.0)])
def test_so_many_shards_err_by_a_quarter_of_alpha_where_a_third_of_them_is_wrong(classes, alpha, epsilon):
    r = soft_majority.shards_needed(alpha, epsilon, classes)
    wrong = r // 3
    for share in (
        (wrong, *[0] * (classes - 2)),
        tuple(len(part) for part in np.array_split(range(wrong), classes - 1)),
    ):
        assert 1 - soft_majority.probabilities([(r - wrong, *share)], epsilon)[0, 0] <= alpha / 4


GIVEN = {"epsilon": 400.0, "delta": 0.0, "queries": 200, "random_state": 0, "base": GaussianNB()}


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_ten_digits_are_told_apart_for_the_budget_of_two(neighbours):
    X, y = load_digits(return_X_y=True)
    given = GIVEN | {"neighbours": neighbours, "shards": 30, "classes": tuple(range(10))}
    model = SoftMajority(**given).fit(X[:1500], y[:1500])
    assert model.score(X[1500:1700], y[1500:1700]) > 0.75
    assert model.epsilon_each_ == pytest.approx(2.0) and model.privacy_.guarantee == "proved"
    two = SoftMajority(**given | {"classes": (0, 1), "clip": True}).fit(X[:1500], y[:1500])
    assert two.epsilon_each_ == model.epsilon_each_


def test_labels_stay_what_they_are_and_odd_ones_are_the_first():
    rng = np.random.default_rng(0)
    X, names = rng.uniform(-1, 1, size=(900, 2)), np.array(["c", "a", "b"])
    y = names[np.digitize(X[:, 0], [-0.3, 0.3])].astype(object)
    y[:300] = np.where(y[:300] == "c", None, y[:300])
    model = SoftMajority(**GIVEN, shards=20, classes=("c", "a", "b"), clip=True).fit(X, y)
    far = np.array([[-0.9, 0.0], [0.0, 0.0], [0.9, 0.0]])
    assert model.predict(far).tolist() == ["c", "a", "b"] and model.classes_.tolist() == ["c", "a", "b"]


def test_consensus_is_of_two_classes():
    with pytest.raises(ValueError, match="must be two different labels"):
        SoftMajority(mode="consensus", classes=(0, 1, 2)).fit(np.zeros((9, 1)), np.arange(9) % 3)
    with pytest.raises(ValueError, match="Only binary classification"):
        SoftMajority(mode="consensus").fit(np.zeros((9, 1)), np.arange(9) % 3)
