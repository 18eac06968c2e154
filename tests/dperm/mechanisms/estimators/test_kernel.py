"""TDDL and RKHSGaussian as scikit-learn and their users know them."""

import inspect
import pickle

import conventions
import numpy as np
import pytest
import together
from scipy import sparse, stats
from scipy.spatial.distance import cdist
from sklearn.base import clone, is_classifier, is_regressor
from total_checks import failing

from dperm import TDDL, TDIL, RKHSGaussian, diagnostics, kernels
from dperm.domain import Budget
from dperm.errors import DomainViolation, InvalidBudget, SolverError
from dperm.mechanisms.estimators import kernel as base
from dperm.mechanisms.kernel.constants import Setting, sigma

ESTIMATORS = [TDDL, RKHSGaussian]
LABELS = {"classes": ("no", "yes")}
BAD_NUMBERS = ["a", None, True, 0, -1, np.nan, np.inf]


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@conventions.of(
    TDDL(clip=True, loss="huber", kernel="poly", calibration="paper", n_public=20, random_state=0),
    RKHSGaussian(clip=True, kernel="linear", fit_intercept=True, random_state=0),
)
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, failing(estimator))


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(300, 4))
    return X, np.where(X[:, 0] > 0, "yes", "no")


@pytest.mark.parametrize("Estimator", ESTIMATORS)
class TestEstimator:
    @pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
    @pytest.mark.parametrize("loss", ["hinge", "logistic"])
    def test_learns_at_a_generous_budget(self, Estimator, data, kernel, loss):
        X, y = data
        model = Estimator(epsilon=500.0, kernel=kernel, loss=loss, C=0.1, random_state=0, **LABELS).fit(X, y)
        assert model.score(X, y) > 0.9 and is_classifier(model)
        np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) > 0, "yes", "no"))
        assert hasattr(model, "predict_proba") == (loss == "logistic")

    def test_regression_follows_the_loss(self, Estimator, data):
        X, _ = data
        model = Estimator(epsilon=500.0, loss="huber", C=1.0, random_state=0, loss_parameters={"knee": 0.5})
        assert is_regressor(model) and not hasattr(model, "decision_function")
        assert model.fit(X, 2 * X[:, 1]).score(X, 2 * X[:, 1]) > 0.8

    def test_an_intercept_is_one_more_feature(self, Estimator, data):
        X, y = data
        own = kernels.custom(lambda A, B: A @ B.T + 1.0, np.sqrt(2.0))
        given = {"C": 0.01, "random_state": 3, "loss": "logistic", **LABELS}
        with_constant = Estimator(kernel="linear", fit_intercept=True, **given).fit(X, y)
        np.testing.assert_allclose(
            with_constant.decision_function(X[:9]), Estimator(kernel=own, **given).fit(X, y).decision_function(X[:9])
        )

    def test_a_callable_needs_its_bound(self, Estimator, data):
        with pytest.raises(DomainViolation, match="feature_norm=None: a kernel of your own"):
            Estimator(kernel=np.inner, **LABELS).fit(*data)
        model = Estimator(kernel=lambda A, B: A @ B.T, feature_norm=1.0, C=0.01, random_state=1, **LABELS).fit(*data)
        named = Estimator(kernel="linear", C=0.01, random_state=1, **LABELS).fit(*data)
        np.testing.assert_allclose(model.decision_function(data[0][:5]), named.decision_function(data[0][:5]))
        # That it is a kernel is its user's word.
        assert (model.privacy_.guarantee, named.privacy_.guarantee) == ("claimed", "proved")
        object_of_ours = Estimator(kernel=kernels.linear(), C=0.01, fit_intercept=True, **LABELS).fit(*data)
        assert object_of_ours.privacy_.guarantee == "proved"
        with pytest.raises(DomainViolation, match=r"above R=0\.1"):
            Estimator(kernel=lambda A, B: A @ B.T, feature_norm=0.1, **LABELS).fit(*data)

    def test_sparse_rows_are_the_same_rows(self, Estimator, data):
        X, y = data
        for kernel in ("poly", "rbf"):
            given = {"kernel": kernel, "C": 0.01, "random_state": 2, "clip": True, "x_norm": 0.4, **LABELS}
            dense, thin = Estimator(**given).fit(X, y), Estimator(**given).fit(sparse.csr_array(X), y)
            np.testing.assert_allclose(
                dense.decision_function(X[:7] / 2), thin.decision_function(sparse.csr_array(X[:7] / 2)), rtol=1e-4
            )

    def test_same_seed_same_bytes_and_none_twice_without(self, Estimator, data):
        X, y = data
        fits = [Estimator(random_state=7, **LABELS).fit(X, y).decision_function(X[:3]).tobytes() for _ in range(2)]
        fresh = [Estimator(**LABELS).fit(X, y).decision_function(X[:3]).tobytes() for _ in range(2)]
        assert fits[0] == fits[1] and fresh[0] != fresh[1]

    def test_survives_clone_and_pickle(self, Estimator, data, tmp_path):
        X, y = data
        shared = {"state": tmp_path / "journal"} if Estimator is RKHSGaussian else {}
        model = Estimator(kernel="poly", random_state=3, **shared, **LABELS).fit(X, y)
        asked = model.decision_function(X[:4])
        np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).decision_function(X[:4]), asked)
        model = clone(model).set_params(**dict.fromkeys(shared)).fit(X, y)
        asked = model.decision_function(X[:4])
        np.testing.assert_array_equal(clone(model).fit(X, y).decision_function(X[:4]), asked)

    def test_rows_above_the_bound_are_refused_or_scaled_down(self, Estimator, data):
        X, y = data
        for rows in (X, sparse.csr_array(X)):
            with pytest.raises(DomainViolation, match=r"rows (longer|with sqrt)"):
                Estimator(kernel="linear", x_norm=0.1, **LABELS).fit(rows, y)
        model = Estimator(kernel="linear", x_norm=0.1, clip=True, random_state=1, **LABELS).fit(X, y)
        shorter = X * (0.1 / np.linalg.norm(X, axis=1, keepdims=True)).clip(max=1.0)
        by_hand = Estimator(kernel="linear", x_norm=0.1, clip=True, random_state=1, **LABELS).fit(shorter, y)
        np.testing.assert_allclose(
            model.decision_function(shorter[:5]), by_hand.decision_function(shorter[:5]), rtol=1e-6
        )

    def test_the_statement(self, Estimator, data):
        privacy = Estimator(epsilon=1.5, random_state=0, **LABELS).fit(*data).privacy_
        assert (privacy.epsilon, privacy.delta, privacy.neighbours) == (1.5, 1e-6, "replace")
        assert (privacy.guarantee, privacy.calibration, privacy.seeded) == ("proved", "tight", True)
        assert "section 11" in privacy.source and "replacing one record" in str(privacy)
        exact = Setting(1.0, 1.0, 1000.0)
        setting = Setting(1.0, 1.0, 1000.0, slack=0.05 * exact.shift)
        assert privacy.event.noise_multiplier == pytest.approx(sigma(setting, Budget(1.5, 1e-6)) / setting.covered)

    @together.over(
        ("key", "values", "rest"),
        [
            ("epsilon", BAD_NUMBERS, "usual values"),
            ("delta", ["a", None, 1, -1e-9, np.nan], "well below 1/n"),
            ("C", BAD_NUMBERS, "as LibSVM's; 0.001 is usual"),
            ("x_norm", BAD_NUMBERS, "it is the public bound"),
            ("gamma", BAD_NUMBERS, "1/\\(2 bandwidth\\^2\\), and public"),
            ("tolerance", [*BAD_NUMBERS, 1.5], "1e-6 is usual"),
            ("kernel", ["sigmoid", None, 3], "is not one of 'linear', 'poly', 'rbf'"),
            ("loss", [None, "hingle"], "is not one of absolute"),
            ("loss", ["squared", "poisson"], "no bounded slope.*erratum J11.*take 'hinge'"),
            ("classes", [3, (0, 0), (0, 1, 2)], "must be two different labels"),
            ("clip", ["no", 1, None], "must be True or False"),
            ("fit_intercept", ["no", 1, None], "must be True or False"),
            ("neighbours", ["replace-one", None], "is not one of"),
            ("calibration", ["printed"], "calibration='printed'"),
            ("random_state", ["a", -1], "must be None, an integer"),
        ],
    )
    def test_a_wrong_parameter_is_refused_by_its_name_with_the_remedy(self, Estimator, data, key, values, rest):
        for value in values:
            given = {**LABELS, key: value}
            with pytest.raises(ValueError, match=rest) as caught:
                Estimator(**given).fit(*data)
            assert str(caught.value).startswith(f"{key}=")

    def test_a_gaussian_needs_a_delta(self, Estimator, data):
        with pytest.raises(InvalidBudget, match="delta=0"):
            Estimator(delta=0.0, **LABELS).fit(*data)

    def test_without_a_certificate_nothing_is_released(self, Estimator, data, monkeypatch):
        def gives_up(*_, **__):
            raise SolverError("slack was not certified")

        monkeypatch.setattr(base.solver, "minimise", gives_up)
        model = Estimator(**LABELS)
        with pytest.raises(SolverError, match=r"<= 0\.0001, its public target; raise `tolerance`"):
            model.fit(*data)
        assert not hasattr(model, "privacy_")

    def test_the_certificate_is_within_the_target(self, Estimator, data):
        for tolerance in (1.0, 1e-3):
            model = Estimator(tolerance=tolerance, random_state=0, **LABELS).fit(*data)
            assert 0 <= diagnostics(model).certificate <= tolerance * 0.002

    def test_parameters_are_keywords_and_described(self, Estimator):
        signature = inspect.signature(Estimator)
        assert all(p.kind is p.KEYWORD_ONLY for p in signature.parameters.values())


class TestTDDL:
    def test_predictions_are_a_function_of_the_released_coefficients(self, data):
        X, y = data
        Z = np.random.default_rng(5).uniform(-0.4, 0.4, (30, 4))
        model = TDDL(kernel="poly", public=Z, random_state=0, **LABELS).fit(X, y)
        np.testing.assert_array_equal(model.public_, Z)
        np.testing.assert_allclose(model.decision_function(X), (X @ Z.T + 1) ** 3 @ model.dual_coef_)
        np.testing.assert_allclose(
            model.norm_, np.sqrt(model.dual_coef_ @ (Z @ Z.T + 1) ** 3 @ model.dual_coef_), rtol=1e-6
        )

    @pytest.mark.parametrize(("calibration", "guarantee"), [("paper", "proved_exact"), ("corrected", "proved")])
    def test_calibrations_say_what_is_proved(self, data, calibration, guarantee):
        privacy = TDDL(calibration=calibration, random_state=0, **LABELS).fit(*data).privacy_
        assert (privacy.guarantee, privacy.calibration) == (guarantee, calibration)
        assert (privacy.event.epsilon, privacy.event.delta) == (1.0, 1e-6)
        assert TDDL(calibration=calibration, delta=0.0, **LABELS).fit(*data).privacy_.delta == 0

    def test_public_points_left_out_are_uniform_in_the_ball(self, data):
        model = TDDL(x_norm=2.0, n_public=500, random_state=0, **LABELS).fit(*data)
        lengths = np.linalg.norm(model.public_, axis=1) / 2.0
        assert model.public_.shape == (500, 4) and stats.kstest(lengths**4, "uniform").pvalue > 1e-3
        assert np.abs(model.public_.mean(axis=0)).max() < 0.2

    def test_whether_public_points_are_training_rows_changes_nothing_but_the_answers(self, data):
        """An error would tell who is a member; the proof asks only that the points were not chosen by the data."""
        X, y = data
        public = np.vstack([X[:2], X[:1] / 2])
        for model in (TDDL(public=public, random_state=0, **LABELS), TDIL(kernel="rbf", public=public, **LABELS)):
            among, apart = (clone(model).fit(X[k:], y[k:]) for k in (0, 2))
            assert among.privacy_ == apart.privacy_ and vars(among).keys() == vars(apart).keys()
            np.testing.assert_array_equal(among.public_, apart.public_)

    def test_unfit_public_points_are_refused(self, data):
        X, y = data
        for public, error, words in [
            (np.ones((3, 4)), DomainViolation, "rows with sqrt"),
            (np.ones((3, 2)), ValueError, "public has 2 columns, and X has 4"),
            (np.full((3, 4), np.nan), ValueError, "public contains NaN"),
        ]:
            with pytest.raises(error, match=words):
                TDDL(kernel="linear", public=public, **LABELS).fit(X, y)
        with pytest.raises(DomainViolation, match=r"T=20000 public points need 9,600 MB"):
            TDDL(n_public=20_000, **LABELS).fit(X, y)
        with pytest.raises(ValueError, match=r"n_public=2\.5 must be an integer"):
            TDDL(n_public=2.5, **LABELS).fit(X, y)
        with pytest.raises(DomainViolation, match="not positive semi-definite"):
            TDDL(kernel=lambda A, B: 0.5 + 0.2 * cdist(A, B), feature_norm=1.0, **LABELS).fit(X, y)

    def test_the_radius_is_public(self, data):
        X, y = data
        with pytest.raises(DomainViolation, match=r"radius=None.*declare a public radius"):
            TDDL(neighbours="add_remove", **LABELS).fit(X, y)
        assert TDDL(neighbours="add_remove", radius=0.5, random_state=0, **LABELS).fit(X, y).norm_ <= 0.5
        # n L R/(n lambda) = 300 * 0.001 is below sqrt(2 * 300 * 0.001).
        assert TDDL(epsilon=0.01, random_state=0, **LABELS).fit(X, y).norm_ == pytest.approx(0.3)
        with pytest.raises(DomainViolation, match="radius=-1"):
            TDDL(radius=-1, **LABELS).fit(X, y)


class TestRKHSGaussian:
    def test_queries_in_any_order_are_values_of_one_function(self, data):
        X, y = data
        model = RKHSGaussian(random_state=0, **LABELS).fit(X, y)
        first = model.decision_function(X[:40])
        np.testing.assert_array_equal(model.decision_function(X[39::-1]), first[::-1])
        assert model.path_.directions == 40

    def test_a_linear_kernel_spends_hardly_more_draws_than_columns(self, data):
        X, y = data
        model = RKHSGaussian(kernel="linear", random_state=0, **LABELS).fit(X, y)
        answers = model.decision_function(X)
        assert 4 <= model.path_.directions <= 12
        w = np.linalg.lstsq(X, answers, rcond=None)[0]
        np.testing.assert_allclose(X @ w, answers, atol=1e-4 * model.path_.scale)

    def test_parameters_changed_after_the_fit_let_no_longer_queries_in(self, data):
        X, y = data
        model = RKHSGaussian(kernel="linear", random_state=0, **LABELS).fit(X, y).set_params(x_norm=1e6)
        with pytest.raises(DomainViolation, match="1 of 1 queries have sqrt"):
            model.decision_function(np.full((1, 4), 1e3))

    def test_only_tight_is_offered(self, data):
        with pytest.raises(ValueError, match="offers 'tight' alone"):
            RKHSGaussian(calibration="paper", **LABELS).fit(*data)

    def test_queries_keep_to_the_bound(self, data):
        X, y = data
        model = RKHSGaussian(kernel="linear", random_state=0, **LABELS).fit(X, y)
        with pytest.raises(DomainViolation, match="rows longer than x_norm=1"):
            model.predict(np.full((1, 4), 2.0))
        clipped = RKHSGaussian(kernel="linear", clip=True, random_state=0, **LABELS).fit(X, y)
        far = clipped.decision_function(np.array([[2.0, 0, 0, 0], [1.0, 0, 0, 0]]))
        np.testing.assert_allclose(far[0], far[1], rtol=1e-9)
