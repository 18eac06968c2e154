"""What every private predictor shares, shown on the smallest one: charges, repeats, journals, bad input."""

import copy
import dataclasses
import pickle

import conventions
import numpy as np
import pytest
import together
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from total_checks import failing

from dperm import Student
from dperm.accounting import filters
from dperm.errors import (
    BudgetExhausted,
    CorruptFile,
    DataError,
    DomainViolation,
    InvalidBudget,
    NoGuaranteeWarning,
    PrivacyLeakWarning,
    ReleaseError,
    VacuousWarning,
)  # fmt: skip
from dperm.mechanisms.estimators.prediction import PrivatePredictor


class Coin(PrivatePredictor):
    """Answers every row by randomised response to the sign of its first feature; `flaw` breaks an answer."""

    source = "dwork2018, Definition 1.1"
    dearer = 2.0
    unproved = "it is a coin of the paper"

    def __init__(
        self,
        *,
        epsilon=1.0,
        delta=1e-6,
        queries=1000,
        calibration="tight",
        neighbours="replace",
        clip=False,
        classes=None,
        state=None,
        random_state=None,
        flaw=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.queries = queries
        self.calibration = calibration
        self.neighbours = neighbours
        self.clip = clip
        self.classes = classes
        self.state = state
        self.random_state = random_state
        self.flaw = flaw

    def _guarantee(self):
        return "none" if self.calibration == "paper" else "proved"

    def _rows(self, X):
        if (np.abs(X) > 100).any() and not self._fixed.clip:
            raise DomainViolation("a row is beyond 100; pass clip=True")
        return np.clip(X, -100, 100)

    def _prepare(self, X, y, each, rng):
        self.seen_ = (X, y, each)

    def _answer(self, X, rngs):
        if self.flaw is not None:
            raise RuntimeError(self.flaw)
        keep = 1 / (1 + np.exp(-self.epsilon_each_))
        return [(row[0] > 0) ^ (rng.random() > keep) for row, rng in zip(X, rngs, strict=True)]


class Noisy(Coin):
    """Real answers."""

    def _classifies(self):
        return False

    def _answer(self, X, rngs):
        return np.array([row[0] + rng.laplace() for row, rng in zip(X, rngs, strict=True)])


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@conventions.of(Coin(random_state=0, clip=True), Noisy(random_state=0, clip=True))
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, failing(estimator))


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 3))
    return X, np.where(X[:, 0] > 0, "yes", "no")


def fitted(data, **given):
    return Coin(**{"classes": ("no", "yes"), "random_state": 0, "queries": 20, **given}).fit(*data)


def test_price_ledger_and_statement(data):
    model = fitted(data)
    assert model.epsilon_each_ == filters.each(1.0, 1e-6, 20) == model.seen_[2]
    assert set(model.seen_[1]) == {0.0, 1.0} and (model.seen_[1] == (data[1] == "yes")).all()
    assert (model.privacy_.epsilon, model.privacy_.delta, model.privacy_.guarantee) == (1.0, 1e-6, "proved")
    assert "section 12" in str(model.privacy_) and model.ledger_.remaining == 20
    with pytest.warns(NoGuaranteeWarning, match="take calibration='tight'"):
        privacy = fitted(data, calibration="paper").privacy_
    assert (privacy.guarantee, privacy.reason, privacy.covers) == ("none", "it is a coin of the paper", ("predict",))


def test_new_rows_are_charged_once_and_repeats_are_free(data):
    model, X = fitted(data), data[0]
    first = model.predict(X[:5])
    assert model.ledger_.answered == 5
    assert (model.predict(np.vstack([X[:5], X[2:7], X[6:7]]))[:5] == first).all()
    assert model.ledger_.answered == 7
    # The same rows of another type, and -0.0 for 0.0.
    assert (model.predict(X[:5].astype(np.float64, order="F")) == first).all()
    model.predict([[0.0, 0.0, 0.0]])
    model.predict([[-0.0, 0.0, 0.0]])
    assert model.ledger_.answered == 8


def test_rows_that_do_not_fit_are_refused_as_a_whole_and_earlier_ones_stay_free(data):
    model, X = fitted(data), data[0]
    first = model.predict(X[:15])
    with pytest.raises(BudgetExhausted, match="6 new answers were asked for and 5 of 20 remain: nothing was answered"):
        model.predict(X[10:21])
    assert model.ledger_.answered == 15
    model.predict(X[10:20])
    assert model.ledger_.remaining == 0
    with pytest.raises(BudgetExhausted):
        model.predict(X[20:21])
    assert (model.predict(X[:15]) == first).all()


@pytest.mark.parametrize(
    ("query", "error", "words"),
    [
        (np.ones((2, 4)), ValueError, "X has 4 features, but Coin is expecting 3"),
        (np.ones(3), ValueError, "Reshape your data|1D array"),
        ([[np.nan, 0, 0]], ValueError, "NaN"),
        ([["a", "b", "c"]], TypeError, "X holds an entry that is no number"),
        ([[101.0, 0, 0]], DomainViolation, "beyond 100"),
    ],
)
def test_a_failed_query_that_released_nothing_is_not_charged(data, query, error, words):
    model = fitted(data)
    with pytest.raises(error, match=words):
        model.predict(query)
    assert model.ledger_.answered == 0


def test_a_failed_query_that_may_have_released_something_is_charged(data, tmp_path):
    model = fitted(data, flaw="in the middle", state=tmp_path / "journal")
    with pytest.raises(RuntimeError, match="in the middle"):
        model.predict(data[0][:3])
    assert model.ledger_.answered == 3
    # On disk as well; and nothing is kept as if it were an answer.
    model.flaw = None
    model.predict(data[0][:3])
    assert model.ledger_.answered == 6
    assert fitted(data, state=tmp_path / "other").ledger_.answered == 0


def test_a_journal_outlives_the_model_and_counts_for_whatever_is_fitted(data, tmp_path):
    state = tmp_path / "journal"
    model = fitted(data, state=state)
    first = model.predict(data[0][:12])
    # Fitting again goes on with the journal.
    assert model.fit(data[0] / 2, data[1]).ledger_.answered == 12
    model.ledger_.close()
    again = fitted(data, state=state)
    assert again.ledger_.remaining == 8
    assert (again.predict(data[0][:12]) == first).all() and again.ledger_.remaining == 8
    again.predict(data[0][12:20])
    again.ledger_.close()
    spent = fitted(data, state=str(state))
    with pytest.raises(BudgetExhausted, match="1 new answers were asked for and 0 of 20 remain"):
        spent.predict(data[0][20:21])
    spent.ledger_.close()
    with pytest.raises(InvalidBudget, match="journal of other answers: budget="):
        fitted(data, state=state, epsilon=2.0)
    with pytest.raises(CorruptFile, match="is a folder"):
        fitted(data, state=tmp_path)


def test_without_a_journal_every_fit_starts_anew(data):
    model = fitted(data)
    model.predict(data[0][:20])
    assert model.fit(*data).ledger_.remaining == 20


def test_copies(data, tmp_path):
    model = fitted(data)
    first = model.predict(data[0][:5])
    for make in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(ReleaseError, match="a second release on the same budget; fit with state='a file'"):
            make(model)
    assert not hasattr(clone(model), "ledger_") and (model.predict(data[0][:5]) == first).all()
    model = fitted(data, state=tmp_path / "journal")
    first = model.predict(data[0][:5])
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert (twin.predict(data[0][:5]) == first).all()
    asked = twin.predict(data[0][5:9])
    assert (asked == model.predict(data[0][5:9])).all() and model.ledger_.answered == twin.ledger_.answered == 9


def test_the_noise_of_rows_is_their_own(data):
    """Randomised response at a price near 0: half of the answers are wrong, and not the same half for another seed."""
    X = np.column_stack([np.ones(1000), np.arange(1000), np.zeros(1000)]) / 1000
    answers = [fitted(data, queries=1000, epsilon=0.01, delta=0.0, random_state=seed).predict(X) for seed in (0, 0, 1)]
    assert (answers[0] == answers[1]).all()
    for other in (answers[2], np.full(1000, "yes")):
        assert 0.42 < (answers[0] == other).mean() < 0.58


@together.over(
    ("given", "error", "words"),
    [
        ({"epsilon": 0.0}, InvalidBudget, "epsilon=0.0 must be"),
        ({"delta": 1.0}, InvalidBudget, "delta=1.0 must be"),
        ({"queries": 0}, ValueError, "queries=0 must be an integer, 1 or above"),
        ({"queries": 2.5}, ValueError, "queries=2.5"),
        ({"queries": True}, ValueError, "queries=True"),
        ({"calibration": "corrected"}, ValueError, "is not one of 'paper', 'tight'"),
        ({"neighbours": "swap"}, ValueError, "neighbours='swap' is not one of"),
        ({"clip": 1}, ValueError, "clip=1 must be True or False"),
        ({"classes": ("no",)}, ValueError, "must be two different labels"),
        ({"classes": ("no", "perhaps")}, DataError, "a label that is not in classes"),
        ({"random_state": -1}, ValueError, "random_state=-1"),
    ],
)
def test_bad_parameters(data, given, error, words):
    with pytest.raises(error, match=words):
        fitted(data, **given)


def test_labels(data):
    X, _ = data
    with pytest.warns(PrivacyLeakWarning, match="classes="):
        model = Coin(random_state=0).fit(*data)
    assert model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="Only binary classification"):
        fitted((X, np.arange(60) % 3))
    with pytest.raises(ValueError, match="one class only"), pytest.warns(PrivacyLeakWarning):
        Coin().fit(X, np.ones(60))


class TestStudent:
    def test_learns_from_answers_and_charges_nothing_after(self, data):
        public = np.random.default_rng(1).uniform(-1, 1, (400, 3))
        teacher = fitted(data, queries=400, epsilon=200.0)
        student = Student(teacher, LogisticRegression()).fit(public)
        assert teacher.ledger_.remaining == 0
        fresh = np.random.default_rng(2).uniform(-1, 1, (5000, 3))
        labels = np.where(fresh[:, 0] > 0, "yes", "no")
        assert student.score(fresh, labels) > 0.9 and student.predict_proba(fresh).shape == (5000, 2)
        assert teacher.ledger_.answered == 400
        assert student.privacy_ == dataclasses.replace(teacher.privacy_, covers=("learner_",))
        assert student.classes_.tolist() == ["no", "yes"]

    def test_is_a_function_of_the_answers_alone(self, data):
        public = np.random.default_rng(1).uniform(-1, 1, (50, 3))
        teacher = fitted(data, queries=50)
        student = Student(teacher).fit(public)
        own = LogisticRegression().fit(public, teacher.predict(public))
        np.testing.assert_array_equal(student.learner_.coef_, own.coef_)

    def test_too_many_rows_charge_nothing(self, data):
        teacher = fitted(data, queries=10)
        with pytest.raises(BudgetExhausted):
            Student(teacher).fit(data[0][:11])
        assert teacher.ledger_.answered == 0

    def test_a_learner_that_fails_leaves_the_answers(self, data):
        teacher = fitted(data)
        with pytest.raises(DataError, match="the answers stay charged, and the teacher keeps them"):
            Student(teacher, LogisticRegression(C=-1.0)).fit(data[0][:20])
        Student(teacher).fit(data[0][:20])
        assert teacher.ledger_.answered == 20

    def test_one_label_alone_is_a_constant_and_said_so(self, data):
        teacher = fitted(data, epsilon=1000.0)
        rows = np.abs(data[0][:5])
        with pytest.warns(VacuousWarning, match="all 5 public rows the same label"):
            student = Student(teacher).fit(rows)
        assert set(student.predict(data[0])) == {"yes"}

    def test_real_answers(self, data):
        teacher = Noisy(epsilon=100.0, queries=60, random_state=0).fit(data[0], data[0][:, 0])
        student = Student(teacher, LinearRegression()).fit(data[0])
        assert not hasattr(student, "predict_proba") and student.predict(data[0]).shape == (60,)
        own = LinearRegression().fit(data[0], teacher.predict(data[0]))
        np.testing.assert_array_equal(Student(teacher).fit(data[0]).learner_.coef_, own.coef_)

    @pytest.mark.parametrize("learner", [LinearRegression(), LogisticRegression, "logistic"])
    def test_a_learner_that_cannot_fit_the_answers_is_refused_before_it_costs(self, data, learner):
        teacher = fitted(data)
        with pytest.raises(ValueError, match=r"must be a scikit-learn classifier .* nothing was asked or charged"):
            Student(teacher, learner).fit(data[0][:20])
        reals = Noisy(epsilon=100.0, queries=60, random_state=0).fit(data[0], data[0][:, 0])
        with pytest.raises(ValueError, match="must be a scikit-learn regressor"):
            Student(reals, LogisticRegression()).fit(data[0][:20])
        with pytest.raises(ValueError, match="NaN"):
            Student(teacher).fit(np.full((2, 3), np.nan))
        assert teacher.ledger_.answered == reals.ledger_.answered == 0

    def test_an_unfitted_teacher_is_refused(self, data):
        with pytest.raises(ValueError, match="not fitted"):
            Student(Coin()).fit(data[0])
