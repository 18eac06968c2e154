"""The life of a private predictor: what a failed fit, changed parameters, journals and copies must not open."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from dperm import AveragedPrediction, ExpPW, SoftMajority, StableERM, StableSGD, Student
from dperm.errors import CorruptFile, DataError, DomainViolation, InvalidBudget, NoGuaranteeWarning, ReleaseError
from dperm.mechanisms.estimators.prediction import PrivatePredictor

pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
LABELS = {"classes": (0, 1)}
MODELS = {
    "soft_majority": lambda **given: SoftMajority(
        **{"base": DecisionTreeClassifier(max_depth=1), "shards": 5, **LABELS, **given}
    ),
    "averaged": lambda **given: AveragedPrediction(
        **{"base": DecisionTreeClassifier(max_depth=1), "shards": 5, **LABELS, **given}
    ),
    "averaged_regression": lambda **given: AveragedPrediction(**{"shards": 5, "base": LinearRegression(), **given}),
    "stable_erm": lambda **given: StableERM(**{"loss": "huber", "y_bound": 1.0, **given}),
    "stable_sgd": lambda **given: StableSGD(**{**LABELS, **given}),
    "exppw": lambda **given: ExpPW(**{**LABELS, **given}),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, (400, 2))
    return X, (X[:, 0] > 0).astype(float)


def made(name, data, **given):
    return MODELS[name](**{"epsilon": 5.0, "queries": 60, "random_state": 0, **given}).fit(*data)


# Finding 1: a failed fit.


# What is declared, and the data, of a fit that fails after the ledger would be open, or long before.
FAILING = [
    ("soft_majority", {"shards": 500}, 1.0, DataError),
    ("soft_majority", {"base": DecisionTreeClassifier(max_depth=-1)}, 1.0, DataError),
    ("averaged", {"shards": 500}, 1.0, DataError),
    ("averaged_regression", {"low": 1.0, "high": 0.0}, 1.0, ValueError),
    ("stable_erm", {}, 9.0, DomainViolation),
    ("stable_erm", {"loss": "poisson", "radius": 0.5}, -0.5, DomainViolation),
    ("stable_sgd", {"loss": "smoothed_hinge", "loss_parameters": {"width": 1e-9}}, 1.0, ValueError),
    ("exppw", {"feature": 7}, 1.0, DomainViolation),
    *((name, {"epsilon": -1.0}, 1.0, InvalidBudget) for name in MODELS),
    *((name, {}, np.nan, ValueError) for name in MODELS),
]


@pytest.mark.parametrize(("name", "given", "factor", "error"), FAILING)
def test_after_a_failed_fit_nothing_answers(name, given, factor, error, data, tmp_path):
    X, y = data
    model = made(name, data, state=tmp_path / "journal")
    model.predict(X[:5])
    with pytest.raises(error):
        model.set_params(**given).fit(X, y * factor)
    assert vars(model).keys() == model.get_params(deep=False).keys()
    for query in (X[:5], X[5:9]):
        with pytest.raises(NotFittedError):
            model.predict(query)
        with pytest.raises(NotFittedError):
            model.score(query, y[: len(query)])
    # Neither is the journal held, nor what it knows lost.
    assert made(name, data, state=tmp_path / "journal").ledger_.answered == 5


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_fit_that_is_broken_off_in_the_middle_leaves_nothing(name, error, data, monkeypatch):
    model = made(name, data)

    def broken(self, X, y, each, rng):
        self._models = self._walk = self._predictor = X
        raise error

    monkeypatch.setattr(type(model), "_prepare", broken)
    for other in (model, MODELS[name](epsilon=5.0)):
        with pytest.raises(error):
            other.fit(*data)
        assert vars(other).keys() == other.get_params(deep=False).keys()


def test_a_warning_that_is_an_error_leaves_nothing(data):
    model = made("exppw", data, epsilon=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning):
            model.fit(data[0][:3], np.array([0, 1, 0]))
    with pytest.raises(NotFittedError):
        model.predict(data[0][:1])


def test_a_fit_closes_the_ledger_of_the_one_before(data, tmp_path):
    model = made("stable_erm", data, state=tmp_path / "journal")
    twin = copy.copy(model)
    model.fit(*data)
    with pytest.raises(ReleaseError, match="was closed"):
        twin.predict(data[0][:1])


def test_what_is_not_of_the_fit_stays(data):
    model = made("stable_erm", data)
    model.note = "mine"
    assert model.fit(*data).note == "mine"


# Finding 4: parameters that are changed after fit.


# Another value of every parameter that some answer could read; those of all predictors first.
OTHER = {
    "epsilon": 50.0,
    "delta": 0.5,
    "queries": 1,
    "calibration": "paper",
    "neighbours": "add_remove",
    "clip": True,
    "classes": ("a", "b"),
    "state": "/nowhere/at/all",
    "random_state": 7,
    "alpha": 0.9,
    "shards": 2,
    "mode": "consensus",
    "base": LogisticRegression(C=1e-9),
    "low": 0.4,
    "high": 0.5,
    "stability": 0.01,
    "feature": 1,
    "loss": "absolute",
    "loss_parameters": {"knee": 1e-6},
    "answers": "model",
    "corollary": "4.10",
    "total": 1e9,
    "radius": 1e-6,
    "x_norm": 1e-6,
    "y_bound": 1e6,
    "fit_intercept": True,
    "tolerance": 1.0,
    "eta": "halved",
}


@pytest.mark.parametrize("name", MODELS)
def test_parameters_that_are_set_after_fit_change_no_answer(name, data):
    rows = data[0][:40]
    proper = made(name, data)
    statement, answers = str(proper.privacy_), proper.predict(rows)
    for parameter in proper.get_params(deep=False):
        other = OTHER[parameter]
        if parameter == "base" and name == "averaged":
            other = LinearRegression()
        if parameter == "loss_parameters" and name == "stable_sgd":
            other = {}
        # The same seed, the same fit and the same noise.
        model = made(name, data).set_params(**{parameter: other})
        found = model.predict(rows)
        assert found.dtype == answers.dtype and (found == answers).all(), parameter
        assert str(model.privacy_) == statement and model.ledger_.answered == len(rows)
        assert model.score(rows, data[1][:40]) == proper.score(rows, data[1][:40])


def test_a_wider_bound_that_is_set_after_fit_lets_no_longer_row_in(data):
    for name in ("stable_erm", "stable_sgd"):
        model = made(name, data).set_params(x_norm=1e6, clip=True)
        with pytest.raises(DomainViolation):
            model.predict([[1e6, 0.0]])
        assert model.ledger_.answered == 0


def test_the_next_fit_reads_what_was_set(data):
    model = made("stable_erm", data).set_params(x_norm=2.0, epsilon=7.0).fit(*data)
    assert model.predict([[2.0, 0.0]]).shape == (1,) and model.privacy_.epsilon == 7.0


# Finding 5: what a journal is of.


@pytest.mark.parametrize("name", ["soft_majority", "averaged", "stable_erm", "stable_sgd", "exppw"])
@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
def test_a_journal_of_another_calibration_is_refused(name, data, tmp_path):
    model = made(name, data, calibration="paper", state=tmp_path / "journal")
    model.predict(data[0][:9])
    with pytest.raises(InvalidBudget, match="calibration=paper there and tight here"):
        model.set_params(calibration="tight").fit(*data)
    assert made(name, data, calibration="paper", state=tmp_path / "journal").ledger_.answered == 9


def test_a_journal_of_another_mechanism_relation_or_guarantee_is_refused(data, tmp_path):
    path = tmp_path / "journal"
    made("soft_majority", data, state=path)
    with pytest.raises(InvalidBudget, match="mechanism=SoftMajority there and ExpPW here"):
        made("exppw", data, state=path)
    with pytest.raises(InvalidBudget, match="neighbours=replace there and add_remove here"):
        made("soft_majority", data, state=path, neighbours="add_remove")
    with pytest.warns(NoGuaranteeWarning):
        made("stable_sgd", data, state=tmp_path / "sgd", calibration="paper")
    with pytest.raises(InvalidBudget, match="guarantee=none there and proved here"):
        made("stable_sgd", data, state=tmp_path / "sgd", calibration="paper", eta="halved")


# Finding 11: journals of one seed, and the number of shards.


def test_with_a_journal_noise_is_fresh_whatever_the_seed(data, tmp_path):
    def answers(state):
        return made("stable_erm", data, state=state).predict(data[0][:20])

    assert (answers(None) == answers(None)).all()
    assert not (answers(tmp_path / "one") == answers(tmp_path / "two")).any()


def test_an_emptied_journal_is_refused(data, tmp_path):
    path = tmp_path / "journal"
    path.touch()
    with pytest.raises(CorruptFile, match="is empty, which no journal is"):
        made("exppw", data, state=path)


def test_the_number_of_shards_as_printed():
    """Section 4.3: 1/(alpha epsilon); Corollary 4.7: 2/(alpha epsilon)."""
    X = np.linspace(-1, 1, 2000)[:, None]
    asked = {"alpha": 0.1, "epsilon": 0.5, "delta": 0.0, "queries": 1, **LABELS}
    counts = [AveragedPrediction(calibration=name, **asked).fit(X, X[:, 0] > 0).shards_ for name in ("paper", "tight")]
    assert counts == [20, 40]


# Finding 10: what an accountant is told.


@pytest.mark.parametrize(
    ("name", "given", "rho", "guarantee"),
    [
        ("soft_majority", {}, 1 / 8, "proved"),
        ("exppw", {}, 1 / 8, "proved"),
        ("stable_sgd", {}, 1 / 2, "proved"),
        ("soft_majority", {"calibration": "paper"}, 4 / 8, "none"),
        ("exppw", {"calibration": "paper"}, 4 / 8, "none"),
        ("exppw", {"calibration": "paper", "neighbours": "add_remove"}, 1 / 8, "proved"),
        ("stable_sgd", {"calibration": "paper"}, 4 / 2, "none"),
        ("stable_sgd", {"calibration": "paper", "eta": "halved"}, 1 / 2, "proved"),
    ],
)
@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
def test_the_event_is_what_answers_cost(name, given, rho, guarantee, data):
    """Errata D1, D2, D6: answers of "paper" are of twice the price, where it has no guarantee."""
    model = made(name, data, **given)
    assert model.privacy_.guarantee == guarantee
    assert model.privacy_.event.rho == pytest.approx(60 * rho * model.epsilon_each_**2, rel=1e-12)


# Finding 3: what a student shows.


def holds(pickled: bytes, array: np.ndarray) -> bool:
    """Whether any number of the array, but for 0 and +-1, is among the bytes."""
    numbers = np.unique(np.asarray(array, dtype=np.float64))
    return any(value.tobytes() in pickled for value in numbers[~np.isin(numbers, (-1.0, 0.0, 1.0))])


@pytest.mark.parametrize("name", ["exppw", "soft_majority", "averaged", "stable_erm", "stable_sgd"])
@pytest.mark.parametrize("state", ["journal", None])
def test_a_published_student_holds_nothing_of_its_teacher(name, state, data, tmp_path):
    X, _ = data
    given = {"base": KNeighborsClassifier(1)} if name in ("averaged", "soft_majority") else {}
    teacher = made(name, data, state=state and tmp_path / state, **given)
    learner = LinearRegression() if name == "stable_erm" else LogisticRegression()
    public = np.random.default_rng(5).uniform(-0.7, 0.7, (60, 2))
    student = Student(teacher, learner).fit(public)
    pickled = pickle.dumps(student)
    assert not holds(pickled, X) and type(teacher).__name__.encode() not in pickled and b"journal" not in pickled
    if hasattr(teacher, "_predictor"):
        assert not holds(pickled, teacher._predictor.w)
    if state is not None and name == "exppw":
        # The search would have found them.
        assert holds(pickle.dumps(teacher), X[:, 0])
    twin = pickle.loads(pickled)
    assert (twin.predict(public) == student.predict(public)).all() and str(twin.privacy_) == str(student.privacy_)
    for other in (twin, copy.copy(student), copy.deepcopy(student)):
        assert other.teacher is None
        with pytest.raises(ValueError, match="teacher=None: the teacher stays behind"):
            other.fit(public)
    # The student itself goes on.
    assert student.teacher is teacher and student.fit(public).learner_ is not None


def test_an_unfitted_student_leaves_its_teacher_too(data):
    assert pickle.loads(pickle.dumps(Student(made("exppw", data)))).teacher is None


def test_a_teacher_without_a_statement_is_refused_before_it_is_asked(data):
    """Before, a Pipeline's answers were charged, and then its missing statement was an AttributeError."""
    inside = made("exppw", data)
    teacher = Pipeline([("scale", FunctionTransformer().fit(data[0])), ("predict", inside)])
    with pytest.raises(ValueError, match=r"teacher=Pipeline has no privacy statement .*give the private predictor"):
        Student(teacher).fit(np.array([[0.1, 0.2], [-0.3, 0.1]]))
    assert inside.ledger_.remaining == 60


def test_all_predictors_are_here():
    assert {type(model()) for model in MODELS.values()} >= {
        cls
        for cls in _descendants(PrivatePredictor)
        if cls.__module__.startswith("dperm.mechanisms.") and not cls.__abstractmethods__
    }


def _descendants(cls):
    return {cls}.union(*map(_descendants, cls.__subclasses__()))
