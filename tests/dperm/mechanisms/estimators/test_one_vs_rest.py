"""One model for each class against the rest: each is the estimator's own with its share, and all spend one budget."""

import conventions
import numpy as np
import pytest
import together
from designs import NAMES, three_directions
from dp_accounting.pld import pld_privacy_accountant
from scipy import sparse, special
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from total_checks import contradicted

from dperm import NoisyGradientDescent, ObjectivePerturbation, OutputPerturbation, PrivateOneVsRest, RKHSGaussian
from dperm.accounting import shares
from dperm.domain import Budget
from dperm.errors import DomainViolation, InvalidBudget, PrivacyLeakWarning, ReleaseError


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning", "ignore::dperm.errors.VacuousWarning")
@conventions.of(PrivateOneVsRest(OutputPerturbation(clip=True), random_state=0))
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, contradicted(estimator))


@pytest.mark.parametrize(
    ("estimator", "delta", "share"),
    [
        (OutputPerturbation(), 1e-6, shares.of_gaussians(Budget(2.0, 1e-6), 3)),
        (NoisyGradientDescent(neighbours="replace"), 1e-6, shares.of_gaussians(Budget(2.0, 1e-6), 3)),
        (OutputPerturbation(fit_intercept=True), 0.0, Budget(2 / 3, 0.0)),
        (ObjectivePerturbation(neighbours="replace"), 1e-6, shares.of_any(Budget(2.0, 1e-6), 3)),
    ],
)
def test_each_class_is_the_estimator_s_own_fit_with_its_share(estimator, delta, share):
    X, y = three_directions(900)
    model = PrivateOneVsRest(estimator, epsilon=2.0, delta=delta, classes=NAMES, random_state=5).fit(X, y)
    rng = np.random.default_rng(5)
    for row, intercept, name in zip(model.coef_, model.intercept_, NAMES, strict=True):
        given = {"epsilon": share.epsilon, "delta": share.delta, "classes": (0, 1), "random_state": rng}
        one = clone(estimator).set_params(**given).fit(X, (y == name).astype(int))
        np.testing.assert_array_equal(one.coef_[0], row)
        assert one.intercept_[0] == intercept
    assert (model.epsilon_each_, model.delta_each_) == (share.epsilon, share.delta)
    told = model.privacy_
    assert (told.epsilon, told.delta, told.neighbours) == (2.0, delta, estimator.neighbours)
    assert told.guarantee == one.privacy_.guarantee and told.covers == ("coef_", "intercept_") and told.seeded
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    if type(told.event).__name__ == "GaussianDpEvent":
        assert accountant.compose(told.event).get_epsilon(delta) == pytest.approx(2.0, rel=5e-3)


def test_two_classes_are_one_model_with_the_whole_budget():
    X, y = three_directions(900)
    y = (y == "a").astype(int)
    model = PrivateOneVsRest(OutputPerturbation(), classes=(0, 1), random_state=1).fit(X, y)
    own = OutputPerturbation(epsilon=1.0, delta=1e-6, classes=(0, 1), random_state=1).fit(X, y)
    np.testing.assert_array_equal(model.coef_, own.coef_)
    np.testing.assert_array_equal(model.decision_function(X), own.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), own.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), own.predict_proba(X), rtol=1e-9)


def test_answers_have_the_shapes_of_scikit_learn_and_agree():
    X, y = three_directions(900)
    given = {"epsilon": 20.0, "classes": NAMES, "random_state": 0}
    model = PrivateOneVsRest(NoisyGradientDescent(fit_intercept=True), **given).fit(X, y)
    margins = model.decision_function(X)
    np.testing.assert_allclose(margins, X @ model.coef_.T + model.intercept_, rtol=1e-12)
    each = special.expit(margins)
    np.testing.assert_allclose(model.predict_proba(X), each / each.sum(axis=1, keepdims=True), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), np.array(NAMES)[margins.argmax(axis=1)])
    assert model.score(X, y) > 0.9
    thin = PrivateOneVsRest(NoisyGradientDescent(fit_intercept=True), **given).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.coef_, model.coef_, rtol=1e-8)
    assert not hasattr(PrivateOneVsRest(OutputPerturbation(loss="smoothed_hinge")), "predict_proba")


def test_odd_labels_are_the_first_class_with_clip():
    X, y = three_directions(90)
    odd = y.astype(object)
    odd[:20] = [None, "z", 3, np.nan, b"a"] * 4
    known = np.where(np.arange(90) < 20, "c", y)
    estimator = OutputPerturbation(clip=True)
    one, other = (
        PrivateOneVsRest(estimator, classes=NAMES, random_state=0).fit(X, labels).coef_ for labels in (odd, known)
    )
    np.testing.assert_array_equal(one, other)
    told = PrivateOneVsRest(estimator, classes=NAMES).fit(X, y).privacy_
    assert told.total and not told.seeded


def test_labels_taken_from_the_data_are_a_leak_and_said_so():
    X, y = three_directions(90)
    with pytest.warns(PrivacyLeakWarning, match="labels were taken from the data"):
        model = PrivateOneVsRest(OutputPerturbation(), random_state=0).fit(X, y)
    assert model.privacy_.guarantee == "none" and "labels" in model.privacy_.reason


def test_a_printed_form_without_a_guarantee_has_none_of_all_classes():
    X, y = three_directions(90)
    estimator = OutputPerturbation(calibration="paper")
    with pytest.warns(match="gives no guarantee"):
        told = PrivateOneVsRest(estimator, epsilon=20.0, classes=NAMES, random_state=0).fit(X, y).privacy_
    assert told.guarantee == "none" and told.reason


@together.over(
    "given, error, words",
    [
        ({"estimator": OutputPerturbation}, ValueError, "must be a private linear model of labels"),
        ({"estimator": OutputPerturbation(loss="huber")}, ValueError, "must be a private linear model of labels"),
        ({"estimator": RKHSGaussian()}, ValueError, "must be a private linear model of labels"),
        ({"estimator": OutputPerturbation(x_norm=0.1)}, DomainViolation, "rows longer than x_norm"),
        ({"estimator": OutputPerturbation(release=True)}, ReleaseError, "leave random_state out"),
        ({"estimator": OutputPerturbation(release=True), "classes": None}, ReleaseError, "taken from the data would"),
        ({"estimator": NoisyGradientDescent(), "delta": 0.0}, InvalidBudget, "delta=0.0"),
        ({"epsilon": 0.0}, InvalidBudget, "epsilon=0.0"),
        ({"classes": (0, 0, 1)}, ValueError, "must be two different labels"),
    ],
)
def test_what_cannot_be_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        PrivateOneVsRest(**{"estimator": OutputPerturbation(), "classes": NAMES, "random_state": 0} | given).fit(
            *three_directions(90)
        )


@pytest.mark.parametrize("estimator", [None, LogisticRegression(), OutputPerturbation])
def test_what_it_cannot_fit_is_told_by_fit_and_not_where_it_is_shown(estimator):
    """Before, a notebook showed an error about `_loss` in its place."""
    model = PrivateOneVsRest(estimator, classes=(0, 1))
    assert is_classifier(model) and "PrivateOneVsRest" in model._repr_html_()
    with pytest.raises(ValueError, match="must be a private linear model of labels"):
        model.fit(np.eye(2), [0, 1])
