"""What every estimator promises to scikit-learn and to its user."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from dperm import ObjectivePerturbation, OutputPerturbation
from dperm.errors import DataError, DomainViolation, InvalidBudget, PrivacyLeakWarning

ESTIMATORS = [ObjectivePerturbation, OutputPerturbation]


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@parametrize_with_checks(
    [Estimator(clip=True, loss=loss, random_state=0) for Estimator in ESTIMATORS for loss in ("logistic", "huber")]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(300, 4))
    return X, np.where(X[:, 0] > 0, "yes", "no")


@pytest.mark.parametrize("Estimator", ESTIMATORS)
class TestEstimator:
    def test_learns_at_a_generous_budget(self, Estimator, data):
        X, y = data
        model = Estimator(epsilon=100.0, classes=("no", "yes"), random_state=0).fit(X, y)
        assert model.score(X, y) > 0.9
        assert model.predict_proba(X).shape == (300, 2)
        np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) > 0, "yes", "no"))

    def test_same_seed_same_bytes(self, Estimator, data):
        fits = [Estimator(classes=("no", "yes"), random_state=7).fit(*data).coef_ for _ in range(2)]
        assert fits[0].tobytes() == fits[1].tobytes()

    def test_without_a_seed_every_fit_differs(self, Estimator, data):
        fits = [Estimator(classes=("no", "yes")).fit(*data).coef_ for _ in range(2)]
        assert not np.array_equal(*fits)

    def test_labels_taken_from_the_data_are_a_leak_and_said_so(self, Estimator, data):
        with pytest.warns(PrivacyLeakWarning, match="classes="):
            Estimator(random_state=0).fit(*data)

    def test_one_class_is_fine_when_the_labels_are_public(self, Estimator, data):
        X, _ = data
        model = Estimator(classes=("no", "yes"), random_state=0).fit(X, np.full(len(X), "no"))
        assert model.classes_.tolist() == ["no", "yes"]

    def test_a_label_outside_the_public_ones_is_refused(self, Estimator, data):
        X, y = data
        with pytest.raises(DataError, match="none of classes"):
            Estimator(classes=("non", "yes")).fit(X, y)

    def test_three_classes_are_refused_with_the_remedy(self, Estimator, data):
        X, _ = data
        with pytest.raises(ValueError, match="one model for each class"):
            Estimator().fit(X, np.arange(len(X)) % 3)

    @pytest.mark.parametrize(("epsilon", "delta"), [(0, 0), (-1, 0), (np.inf, 0), (np.nan, 0), (1, 1), (1, -0.1)])
    def test_impossible_budgets_are_refused(self, Estimator, data, epsilon, delta):
        with pytest.raises(InvalidBudget, match=r"epsilon=|delta="):
            Estimator(epsilon=epsilon, delta=delta, classes=("no", "yes")).fit(*data)

    def test_rows_above_the_bound_are_refused_or_clipped(self, Estimator, data):
        X, y = data
        with pytest.raises(DomainViolation, match="clip=True"):
            Estimator(x_norm=0.1, classes=("no", "yes")).fit(X, y)
        clipped = Estimator(x_norm=0.1, clip=True, classes=("no", "yes"), random_state=1).fit(X, y)
        scaled = X * (0.1 / np.linalg.norm(X, axis=1, keepdims=True)).clip(max=1.0)
        by_hand = Estimator(x_norm=0.1, clip=True, classes=("no", "yes"), random_state=1).fit(scaled, y)
        np.testing.assert_allclose(clipped.coef_, by_hand.coef_, rtol=1e-9)

    @pytest.mark.parametrize("key", ["neighbours", "calibration", "loss"])
    def test_unknown_words_are_refused(self, Estimator, data, key):
        with pytest.raises(ValueError, match="nonsense"):
            Estimator(**{key: "nonsense", "classes": ("no", "yes")}).fit(*data)

    def test_kind_follows_the_loss(self, Estimator, data):
        X, _ = data
        classifier, regressor = Estimator(), Estimator(loss="huber", loss_parameters={"knee": 0.3}, random_state=0)
        assert is_classifier(classifier)
        assert is_regressor(regressor)
        assert not hasattr(regressor, "predict_proba")
        assert not hasattr(regressor, "decision_function")
        assert regressor.fit(X, X[:, 1]).predict(X).shape == (300,)

    def test_survives_clone_and_pickle(self, Estimator, data):
        X, y = data
        model = Estimator(classes=("no", "yes"), random_state=3).fit(X, y)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).coef_, model.coef_)
        np.testing.assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)
