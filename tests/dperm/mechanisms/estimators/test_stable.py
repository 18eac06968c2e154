"""StableERM and StableSGD, as scikit-learn knows them: budget, bounds, labels, noise."""

import pickle
import warnings

import conventions
import numpy as np
import pytest
import together
from sklearn.base import clone
from total_checks import contradicted, failing

from dperm import StableERM, StableSGD, Student, diagnostics, losses
from dperm.accounting import gaussian
from dperm.domain import Domain
from dperm.errors import BudgetExhausted, DomainViolation, InvalidBudget, NoGuaranteeWarning
from dperm.mechanisms.prediction import stable_erm, stable_sgd

BOTH = pytest.mark.parametrize("make", [StableERM, StableSGD])


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@conventions.of(
    StableERM(epsilon=5.0, queries=100_000, clip=True, random_state=0),
    StableERM(loss="huber", queries=100_000, clip=True, random_state=0),
    StableSGD(epsilon=5.0, queries=100_000, clip=True, fit_intercept=True, random_state=0),
    StableSGD(loss="squared", y_bound=1.0, queries=100_000, clip=True, random_state=0),
    StableERM(answers="model", epsilon=5.0, clip=True, random_state=0),
    StableSGD(answers="model", loss="huber", clip=True, fit_intercept=True, random_state=0),
)
def test_scikit_learn_conventions(estimator):
    # What is released once may be copied.
    conventions.keep(estimator, failing(estimator) if estimator.answers == "each" else contradicted(estimator))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, size=(4000, 2))
    return X, np.where(X[:, 0] > 0, "yes", "no")


@BOTH
def test_labels_are_learned_at_a_generous_budget(make, data):
    X, y = data
    model = make(epsilon=1e4, queries=100, radius=5.0, classes=("no", "yes"), random_state=0).fit(X, y)
    far = X[np.abs(X[:, 0]) > 0.3][:100]
    assert (model.predict(far) == np.where(far[:, 0] > 0, "yes", "no")).mean() > 0.95
    assert model.privacy_.guarantee == "proved" and model.ledger_.remaining == 0
    with pytest.raises(BudgetExhausted):
        model.predict([[0.123, 0.456]])


@BOTH
def test_real_answers_are_the_predictor_plus_laplace_noise(make, data):
    X, _ = data
    y = np.clip(0.5 * X[:, 0] - 0.2, -1, 1)
    given = {"loss": "huber", "y_bound": 1.0, "fit_intercept": True, "epsilon": 50.0, "delta": 0.0, "queries": 500}
    model = make(**given, random_state=1).fit(X, y)
    assert model.epsilon_each_ == pytest.approx(0.1)
    rows, domain = np.column_stack([X, np.ones(len(X))]), Domain(np.sqrt(2.0), 1.0, 1.0)
    module = {StableERM: stable_erm, StableSGD: stable_sgd}[make]
    own = module.prepare(rows, y, losses.make("huber"), domain=domain, epsilon=0.1, calibration="tight")
    noise = (model.predict(X[:500]) - rows[:500] @ own.w) / own.scale
    assert abs(np.mean(noise)) < 5 * np.sqrt(2 / 500) and np.mean(np.abs(noise)) == pytest.approx(1.0, abs=0.25)
    np.testing.assert_array_equal(model.predict(X[:500]), model.predict(X[:500]))


@BOTH
def test_a_model_that_is_released_once_answers_any_number_of_rows_of_any_length(make, data):
    X, y = data
    given = {"answers": "model", "epsilon": 50.0, "queries": 1, "radius": 5.0, "classes": ("no", "yes")}
    model = make(**given, random_state=0).fit(X, y)
    rows = np.random.default_rng(1).uniform(-9.0, 9.0, (5_000, 2))
    scores = rows @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(rows), scores, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(rows), np.where(scores > 0, "yes", "no"))
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], 1 / (1 + np.exp(-scores)), rtol=1e-12)
    assert model.score(X, y) > 0.95 and not hasattr(model, "ledger_") and not hasattr(model, "epsilon_each_")
    assert model.privacy_.covers == ("coef_", "intercept_") and model.privacy_.guarantee == "proved"
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@BOTH
def test_a_model_is_the_predictor_plus_gaussian_noise_for_the_whole_budget(make, data):
    """Another seed, another noise: what is left when it is taken off is the core's w at epsilon, not at an answer's."""
    X, _ = data
    y = np.clip(0.5 * X[:, 0] - 0.2, -1, 1)
    given = {"answers": "model", "loss": "huber", "fit_intercept": True, "epsilon": 2.0, "delta": 1e-4}
    models = [make(**given, random_state=seed).fit(X, y) for seed in (1, 2)]
    rows, domain = np.column_stack([X, np.ones(len(X))]), Domain(np.sqrt(2.0), None, 1.0)
    module = {StableERM: stable_erm, StableSGD: stable_sgd}[make]
    own = module.prepare(rows, y, losses.make("huber"), domain=domain, epsilon=2.0, calibration="tight")
    scale = own.rate / np.sqrt(2.0) / gaussian.gaussian_ratio(2.0, 1e-4)
    noises = [np.append(model.coef_, model.intercept_) - own.w for model in models]
    for seed, noise in zip((1, 2), noises, strict=True):
        expected = np.random.default_rng(seed).normal(0.0, scale, (1, 3))[0]
        np.testing.assert_allclose(noise, expected, rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(models[0].predict(X), X @ models[0].coef_ + models[0].intercept_)


def test_scores_and_probabilities_are_offered_where_they_are_released(data):
    X, y = data
    one = StableERM(answers="model", classes=("no", "yes"), random_state=0)
    assert hasattr(one, "decision_function") and hasattr(one, "predict_proba")
    assert not hasattr(StableERM(), "decision_function") and not hasattr(StableERM(), "predict_proba")
    assert not hasattr(StableERM(answers="model", loss="huber"), "decision_function")
    hinge = StableERM(answers="model", loss="hinge", classes=("no", "yes"), random_state=0)
    assert hasattr(hinge, "decision_function") and not hasattr(hinge, "predict_proba")
    # What was released does not change with a parameter that the next fit will read; nor does what answers row by row.
    one.fit(X, y).set_params(answers="each")
    assert hasattr(one, "decision_function") and len(one.predict(X[:9] * 5)) == 9
    each = StableERM(queries=3, classes=("no", "yes"), random_state=0).fit(X, y).set_params(answers="model")
    assert not hasattr(each, "decision_function") and each.ledger_.remaining == 3
    each.predict(X[:3])
    with pytest.raises(BudgetExhausted):
        each.predict(X[3:4])


def test_a_student_may_learn_from_a_model(data):
    X, y = data
    teacher = StableERM(answers="model", epsilon=50.0, queries=1, classes=("no", "yes"), random_state=0).fit(X, y)
    student = Student(teacher).fit(X[:200])
    assert student.privacy_.covers == ("learner_",) and student.privacy_.event == teacher.privacy_.event
    assert student.score(X, y) > 0.9


def test_statements(data):
    X, y = data
    for made, guarantee in (
        (StableERM(calibration="paper"), "proved"),
        (StableERM(neighbours="add_remove", total=50.0), "proved"),
        (StableSGD(calibration="corrected"), "proved"),
        (StableSGD(calibration="paper", eta="halved"), "proved"),
    ):
        assert made.set_params(classes=("no", "yes")).fit(X, y).privacy_.guarantee == guarantee
    with pytest.warns(NoGuaranteeWarning, match="halved"):
        refused = StableSGD(calibration="paper", classes=("no", "yes")).fit(X, y)
    assert refused.privacy_.guarantee == "none"


def test_a_fit_reports_its_certificate_and_is_cloned(data):
    X, y = data
    model = StableERM(classes=("no", "yes"), tolerance=1e-3, random_state=3)
    domain = Domain(1.0, None, 1.0)
    fitted = clone(model).fit(X, y)
    lam = stable_erm.regulariser(1.0, 1.0, 1.0, len(X), fitted.epsilon_each_)
    assert 0 <= diagnostics(fitted).certificate <= 1e-3 * 1.0 / (lam * len(X)) * (1 + 1e-9)
    assert stable_erm.slope(losses.make("logistic"), domain) == 1.0


def mistakes():
    return [
        (StableERM, {"neighbours": "add_remove"}, DomainViolation, "total=None"),
        (StableERM, {"corollary": "4.10"}, DomainViolation, "Corollary 4.10 sets no lambda"),
        (StableERM, {"corollary": "4.12"}, ValueError, "corollary='4.12'"),
        (StableERM, {"tolerance": 0.0}, ValueError, "tolerance"),
        (StableERM, {"calibration": "corrected"}, ValueError, "calibration='corrected'"),
        (StableERM, {"loss": "squared"}, DomainViolation, "no bounded slope"),
        (StableERM, {"radius": np.inf}, DomainViolation, "radius=inf"),
        (StableERM, {"x_norm": 0.5}, DomainViolation, "longer than x_norm"),
        (StableERM, {"epsilon": 0.0}, InvalidBudget, "epsilon"),
        (StableERM, {"fit_intercept": "no"}, ValueError, "fit_intercept"),
        (StableERM, {"answers": "all"}, ValueError, "answers='all'"),
        (StableERM, {"answers": "model", "calibration": "paper"}, ValueError, "noise on each answer"),
        (StableERM, {"answers": "model", "state": "spent"}, ValueError, "leave state out"),
        (StableERM, {"answers": "model", "neighbours": "add_remove"}, DomainViolation, "total=None"),
        (StableSGD, {"answers": "model", "calibration": "corrected"}, ValueError, "noise on each answer"),
        (StableERM, {"loss_parameters": 3}, ValueError, "loss_parameters"),
        (StableSGD, {"neighbours": "add_remove"}, DomainViolation, "StableERM"),
        (StableSGD, {"eta": "third"}, ValueError, "eta='third'"),
        (StableSGD, {"loss": "hinge"}, DomainViolation, "smoothed_hinge"),
        (StableSGD, {"radius": 1e4}, DomainViolation, "exceeds 2/eta"),
        (StableSGD, {"loss": "poisson", "y_bound": 3.0}, DomainViolation, "counts"),
    ]


@together.over(("make", "given", "error", "says"), mistakes())
def test_mistakes_are_named(make, given, error, says, data):
    X, y = data
    y = np.where(y == "yes", 1, -1)
    classes = None if given.get("loss") in ("squared", "poisson") else (-1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(error, match=says):
            make(**given, classes=classes).fit(X, y)


@BOTH
def test_a_query_that_is_unfit_costs_nothing(make, data):
    model = make(queries=3, classes=("no", "yes"), random_state=0).fit(*data)
    with pytest.raises(ValueError, match="2 features"):
        model.predict([[0.1, 0.1, 0.1]])
    with pytest.raises(DomainViolation, match="longer than x_norm"):
        model.predict([[5.0, 0.1]])
    assert model.ledger_.remaining == 3
