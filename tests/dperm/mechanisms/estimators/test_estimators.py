"""What every estimator promises to scikit-learn and to its user."""

import inspect
import re
import sys

import conventions
import numpy as np
import pandas as pd
import pytest
import together
from sklearn.base import is_classifier, is_regressor
from total_checks import contradicted

from dperm import NoisyGradientDescent, ObjectivePerturbation, OutputPerturbation, PreconditionedGradientDescent
from dperm.errors import DataError, DomainViolation, InvalidBudget, ReleaseError

DESCENTS = [NoisyGradientDescent, PreconditionedGradientDescent]
ESTIMATORS = [ObjectivePerturbation, OutputPerturbation, *DESCENTS]

NOT_ABOVE_0 = ["a", None, True, [1.0], 1j, 0, -1, np.nan, np.inf, 10**400]
NOT_LABELS = [
    3, "ab", (0, 1, 2), (0,), (1, 1), {0, 1}, ((0, 1), 2), ("no", 1), (1, "no"), (None, 1), (b"no", "yes"),
    (0.5, np.nan), (np.nan, 0), (np.nan, np.nan), (pd.NA, 1), (pd.NA, pd.NA),
]  # fmt: skip
LABELS = [(0, 1), (False, True), (0, 1.5), (np.int8(0), True), ("no", np.str_("yes")), (b"no", b"yes"), (0, 10**30)]
# Parameter, values that are refused, and what the message must hold besides: value or range, and the remedy.
REFUSED = [
    ("epsilon", [*NOT_ABOVE_0, 1e-300, 5e-324], "usual values"),
    ("delta", ["a", None, [0.1], 1, -1e-9, np.nan], r"in \[0, 1\); take 0 for pure"),
    ("curvature", [*NOT_ABOVE_0[:1], *NOT_ABOVE_0[2:], 1e200, 1e-200], "leave it out"),
    ("tolerance", [*NOT_ABOVE_0[:1], *NOT_ABOVE_0[2:], 1.5, 9e-13], r"in \[1e-12, 1\]; .*rounding.* 1e-6 is usual"),
    ("x_norm", [*NOT_ABOVE_0, 1e200, 1e-200], r"in \[1e-30, 1e\+30\]; it is the public bound"),
    ("loss", ["squared", "poisson", "hinge", "absolute"], "take 'logistic' or 'smoothed_hinge' .*'huber'"),
    ("loss", [None, 3, ["huber"], "hubber"], "is not one of absolute, capped_logistic, hinge, huber"),
    ("loss_parameters", [3, "knee", ["knee"], {3: 1.0}], r"must be a dict such as \{'knee': 0.5\}"),
    ("loss_parameters", [{"knee": 0.5}], "logistic has no parameter 'knee'; it has none"),
    ("classes", NOT_LABELS, r"must be two different labels: \(negative, positive\)"),
    ("clip", ["no", 1, None], "must be True or False"),
    ("fit_intercept", ["no", 1, None], "must be True or False"),
    ("release", ["no", 1, None], "must be True or False"),
    ("random_state", ["a", -1, 1.5], "must be None, an integer 0 or above"),
]


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@conventions.of(
    *(Estimator(clip=True, loss=loss, random_state=0) for Estimator in ESTIMATORS for loss in ("logistic", "huber"))
)
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, contradicted(estimator))


def shown(value):
    """Return how a number may stand in a message, as a pattern."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "(?!)"
    return "inf" if value == 10**400 else re.escape(str(float(value))) + "|" + re.escape(f"{value:g}")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(300, 4))
    return X, np.where(X[:, 0] > 0, "yes", "no")


@together.over("classes", LABELS)
def test_labels_of_one_type_are_kept_as_they_are(classes):
    """Before, ("no", 1) became two texts, and all records whose label is 1 were negative ones."""
    X, y = np.array([[0.9], [-0.9]] * 20), list(classes[::-1]) * 20
    model = OutputPerturbation(classes=classes, clip=True, epsilon=1e6, curvature=1.0, random_state=0).fit(X, y)
    assert model.classes_.tolist() == list(classes) and model.predict(X).tolist() == y


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

    def test_one_class_is_fine_when_the_labels_are_public(self, Estimator, data):
        X, _ = data
        model = Estimator(classes=("no", "yes"), random_state=0).fit(X, np.full(len(X), "no"))
        assert model.classes_.tolist() == ["no", "yes"]

    @pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
    def test_a_missing_date_among_labels_is_refused_and_no_label_is_told(self, Estimator, data):
        X, _ = data
        dates = np.where(np.arange(len(X)) % 2, "2020-01-01", "NaT").astype("datetime64[s]")
        with pytest.raises(DataError, match="not even equal to itself") as refused:
            Estimator(random_state=0).fit(X, dates)
        assert "2020" not in str(refused.value)

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

    @together.over(("key", "value", "rest"), [(key, value, rest) for key, values, rest in REFUSED for value in values])
    @together.over("delta", [0.0, 1e-6])
    def test_a_wrong_parameter_is_refused_by_its_name_with_the_remedy(self, Estimator, data, delta, key, value, rest):
        # Descents have no solver, no curvature and no pure noise; with delta above 0 no epsilon is too small for them.
        tiny = key == "epsilon" and isinstance(value, float) and 0 < value < 1e-290
        if key not in inspect.signature(Estimator).parameters or (Estimator in DESCENTS and (tiny or not delta)):
            return
        # Three labels are as many as descents take.
        if Estimator in DESCENTS and isinstance(value, tuple) and len(value) == 3:
            return
        with pytest.raises(ValueError, match=rest) as caught:
            Estimator(**{"delta": delta, "classes": ("no", "yes"), key: value}).fit(*data)
        if key in ("epsilon", "delta", "curvature"):
            assert caught.type is InvalidBudget
        if value != {"knee": 0.5}:  # there the message names what is inside
            assert re.match(rf"{key}=({re.escape(repr(value))}|{shown(value)}) ", str(caught.value))

    @pytest.mark.parametrize("loss", ["squared", "poisson"])
    def test_no_message_asks_for_a_bound_that_an_estimator_cannot_take(self, Estimator, data, loss):
        X, _ = data
        with pytest.raises(DomainViolation) as caught:
            Estimator(loss=loss).fit(X, X[:, 0])
        offered = inspect.signature(Estimator).parameters
        for bound in ("theta_norm", "y_bound", "radius"):
            assert bound in offered or bound not in str(caught.value)

    @together.over(("loss", "parameter"), [("huber", "knee"), ("smoothed_hinge", "width")])
    @together.over("value", NOT_ABOVE_0)
    def test_a_wrong_parameter_of_the_loss_is_refused_by_its_name(self, Estimator, data, loss, parameter, value):
        with pytest.raises(DomainViolation, match=rf"{loss} {parameter}=.* must be a number in .* in units of"):
            Estimator(loss=loss, loss_parameters={parameter: value}, classes=("no", "yes")).fit(*data)

    @pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
    def test_one_class_in_the_data_and_no_labels_given_names_the_remedy(self, Estimator, data):
        X, _ = data
        with pytest.raises(ValueError, match=r"one class only; pass classes=\(negative, positive\)"):
            Estimator().fit(X, np.full(len(X), "no"))

    def test_kind_follows_the_loss(self, Estimator, data):
        X, _ = data
        classifier, regressor = Estimator(), Estimator(loss="huber", loss_parameters={"knee": 0.3}, random_state=0)
        assert is_classifier(classifier)
        assert is_regressor(regressor)
        assert not hasattr(regressor, "predict_proba")
        assert not hasattr(regressor, "decision_function")
        assert regressor.fit(X, X[:, 1]).predict(X).shape == (300,)


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
# Four integers alike in both: each as probable as 1 / (2 scale) at most, and the scale is above 1000.
@pytest.mark.chance(1e-12)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_a_release_lies_on_a_grid_and_says_so(data, delta, neighbours):
    fixed = {"epsilon": 2.0, "delta": delta, "neighbours": neighbours, "classes": ("no", "yes"), "curvature": 0.25}
    first, second = (OutputPerturbation(**fixed, release=True).fit(*data) for _ in range(2))
    assert (first.coef_ != second.coef_).any()
    privacy = first.privacy_
    assert (privacy.mode, privacy.seeded, privacy.guarantee) == ("release", False, "proved")
    assert (privacy.epsilon, privacy.delta, privacy.neighbours) == (2.0, delta, neighbours)
    # A power of two near the sensitivity zeta/Delta = 4 (8 for replace-one), times 2^-10.
    step = 2.0**-8 / (1 if neighbours == "add_remove" else 0.5) / 2
    assert (np.mod(first.coef_ / step, 1) == 0).all()
    assert type(privacy.event).__name__ == ("ZCDpEvent" if delta else "EpsilonDeltaDpEvent")


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_what_is_not_for_release_says_so(data, Estimator):
    seeded, drawn = (Estimator(classes=("no", "yes"), random_state=state).fit(*data).privacy_ for state in (3, None))
    assert seeded.mode == drawn.mode == "science"
    assert "for science only: whoever knows the seed" in str(seeded)
    assert "for science only: its noise is a floating-point number" in str(drawn)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (ObjectivePerturbation(release=True), "objective perturbation cannot be released safely.*OutputPerturbation"),
        *((Estimator(release=True), r"cannot be released safely.*OutputPerturbation") for Estimator in DESCENTS),
        (OutputPerturbation(release=True, random_state=3), "leave random_state out"),
        (OutputPerturbation(release=True, calibration="paper"), "take 'tight'"),
    ],
)
def test_a_release_that_nobody_could_vouch_for_is_refused(data, estimator, words):
    with pytest.raises(ReleaseError, match=words):
        estimator.set_params(classes=("no", "yes")).fit(*data)
    assert not hasattr(estimator, "coef_")


def test_a_release_does_not_publish_the_labels_it_finds(data):
    with pytest.raises(ReleaseError, match="labels taken from the data would publish what is private; pass `classes`"):
        OutputPerturbation(release=True).fit(*data)


def test_a_release_without_opendp_names_the_extra(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ReleaseError, match=r"pip install 'dperm\[release\]'"):
        OutputPerturbation(release=True, classes=("no", "yes")).fit(*data)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", ["huber", "squared"])
def test_what_users_state_in_cvxpy_sees_the_coefficients_without_the_intercept(intercept, loss):
    cp = pytest.importorskip("cvxpy")
    shapes = []

    def seen(theta):
        shapes.append(theta.shape)
        return theta

    model = ObjectivePerturbation(
        loss=loss, y_bound=1.0, epsilon=50.0, radius=2.0, fit_intercept=intercept, random_state=0,
        regularizer=lambda theta: 0.1 * cp.norm1(cp.diff(seen(theta))),
        constraints=lambda theta: [seen(theta) >= 0, cp.sum(theta) == 1],
    )  # fmt: skip
    X = np.random.default_rng(1).uniform(-0.5, 0.5, size=(500, 3))
    model.fit(X, np.clip(X @ [0.6, 0.4, 0.0] - 0.5, -1, 1))
    assert set(shapes) == {(3,)}
    # The coefficients alone have the sum 1, and are at least 0; the intercept may be negative.
    assert model.coef_.sum() == pytest.approx(1.0, abs=1e-6) and model.coef_.min() > -1e-6
    assert model.intercept_ == pytest.approx(-0.5, abs=0.1) if intercept else model.intercept_ == 0.0
