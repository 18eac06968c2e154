"""StableERM and StableSGD, as scikit-learn knows them: budget, bounds, labels, noise."""

import warnings

import conventions
import numpy as np
import pytest
import together
from sklearn.base import clone
from total_checks import failing

from dperm import StableERM, StableSGD, diagnostics, losses
from dperm.domain import Domain
from dperm.errors import BudgetExhausted, DomainViolation, InvalidBudget, NoGuaranteeWarning
from dperm.mechanisms.prediction import stable_erm, stable_sgd

BOTH = pytest.mark.parametrize("make", [StableERM, StableSGD])


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@conventions.of(
    StableERM(epsilon=5.0, queries=100_000, clip=True, random_state=0),
    StableERM(loss="huber", queries=100_000, clip=True, random_state=0),
    StableSGD(epsilon=5.0, queries=100_000, clip=True, fit_intercept=True, random_state=0),
    StableSGD(loss="squared", y_bound=1.0, queries=100_000, clip=True, random_state=0),
)
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, failing(estimator))


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
