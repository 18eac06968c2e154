"""A private search: its score, the laws of what it runs and keeps, what it shows and what it refuses."""

import pickle

import conventions
import numpy as np
import pytest
import together
from dp_accounting import dp_event
from scipy import sparse, stats
from sklearn.base import BaseEstimator, ClassifierMixin, is_regressor
from total_checks import contradicted

from dperm import (
    NAPP,
    NoisyGradientDescent,
    ObjectivePerturbation,
    OutputPerturbation,
    PrivateOneVsRest,
    PrivateSearchCV,
    RKHSGaussian,
    SoftMajority,
    SparseRegression,
    diagnostics,
)
from dperm.accounting import stopping
from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import Budget, PrivacyStatement
from dperm.errors import DataError, InvalidBudget, PrivacyLeakWarning, ReleaseError

GRID = {"curvature": [3.0, 30.0]}
MODEL = OutputPerturbation(classes=("no", "yes"), clip=True)
BOUND = {"error_bound": 0.5}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(400, 3))
    return X, np.where(X[:, 0] > 0, "yes", "no")


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@conventions.of(
    PrivateSearchCV(OutputPerturbation(clip=True), GRID, n_iter=1.5, random_state=0),
    PrivateSearchCV(OutputPerturbation(clip=True, loss="huber"), GRID, n_iter=1.5, **BOUND, random_state=0),
)
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, contradicted(estimator))


class Fixed(ClassifierMixin, BaseEstimator):
    """A private model that looks at no record: it says 1, or draws what it says, and counts its fits."""

    fits = 0

    def __init__(self, epsilon=1.0, delta=0.0, neighbours="add_remove", clip=True, classes=(0, 1), random_state=None):
        self.epsilon, self.delta, self.neighbours = epsilon, delta, neighbours
        self.clip, self.classes, self.random_state = clip, classes, random_state

    def fit(self, X, y):
        Fixed.fits += 1
        event = dp_event.GaussianDpEvent(1 / gaussian_ratio(self.epsilon, self.delta)) if self.delta else None
        self.classes_ = np.array(self.classes)
        self.privacy_ = PrivacyStatement(
            self.epsilon, self.delta, self.neighbours, "tight", "proved", True, event, "here", covers=("coef_",)
        )
        return self

    def predict(self, X):
        return np.ones(len(X), int)


@together.over("delta", [0.0, 1e-6])
def test_the_best_score_has_the_law_of_the_largest_of_k_noisy_ones(delta):
    """P(best noise <= x) = phi(F(x)): K's law, the noise's, and which trial is kept; and K's mean.

    Fixed seeds; Kolmogorov-Smirnov at 1e-4.
    """
    law, X, y = stopping.trials(4, 1.0), np.zeros((30, 1)), np.ones(30, int)
    base = stopping.base_budget(Budget(1.0, delta), law, stopping.gaussian if delta else stopping.worst)
    noise = stats.norm(0, 1 / gaussian_ratio(base.epsilon, base.delta)) if delta else stats.laplace(0, 1 / base.epsilon)
    found, fits = [], []
    for seed in range(120):
        Fixed.fits = 0
        search = PrivateSearchCV(Fixed(), {}, delta=delta, n_iter=4, random_state=seed).fit(X, y)
        # One fit is that of made-up records, which plans.
        fits.append(Fixed.fits - 1)
        aside = (np.random.default_rng(seed).random(30) < 0.2).sum()
        found.append(search.best_score_ - aside)
    assert stats.kstest(found, lambda x: law.generating(noise.cdf(x))).pvalue > 1e-4
    # The standard deviation of the geometric law of mean 4 is the root of 12.
    assert abs(np.mean(fits) - 4) < 4 * np.sqrt(12 / 120)


@together.over(
    ("scoring", "power"), [("accuracy", None), ("squared_error", 2), (None, 2), ("absolute_error", 1)]
)  # fmt: skip
def test_the_score_is_a_sum_to_which_a_record_adds_at_most_one(data, scoring, power):
    X, y = data
    model, given = MODEL, {}
    if power is not None:
        model, y, given = OutputPerturbation(loss="huber", clip=True), 3 * X[:, 0], BOUND
    # One trial, and next to no noise.
    fixed = {"epsilon": 1e9, "n_iter": 1, "scoring": scoring, **given}
    search = PrivateSearchCV(model, {"curvature": [100.0]}, random_state=5, **fixed).fit(X, y)
    aside = np.random.default_rng(5).random(len(X)) < 0.2
    if power is None:
        records = (search.predict(X) == y).astype(float)
    else:
        records = 1 - np.minimum(np.abs(y - search.predict(X)) / 0.5, 1) ** power
        assert 0 == records.min() < records.max() <= 1
    assert search.best_score_ == pytest.approx(records[aside].sum(), abs=1e-6)


THREE = ("a", "b", "c")
SEVERAL = [
    (NoisyGradientDescent(classes=THREE, clip=True), {"step_size": [0.3, 3.0]}),
    (PrivateOneVsRest(OutputPerturbation(clip=True), classes=THREE), {"estimator__curvature": [3.0, 30.0]}),
]


@pytest.mark.parametrize(("model", "grid"), SEVERAL, ids=["descent", "one_vs_rest"])
def test_several_classes_are_searched_and_a_record_still_adds_at_most_one(model, grid):
    """One trial and next to no noise: the score is the number of right labels; an unknown label counts as the first."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(600, 2))
    y = np.array(THREE)[(np.angle(X @ [1, 1j]) // (2 * np.pi / 3)).astype(int) % 3]
    odd = np.where(np.arange(600) % 50 == 0, "none of them", y)
    given = {"delta": 1e-6, "random_state": 5}
    found = {}
    for name, labels in (("y", y), ("odd", odd)):
        search = PrivateSearchCV(
            model, {key: values[:1] for key, values in grid.items()}, epsilon=1e6, n_iter=1, **given
        )
        search.fit(X, labels)
        aside = np.random.default_rng(5).random(600) < 0.2
        right = search.predict(X[aside]) == np.where(labels == "none of them", "a", labels)[aside]
        assert search.best_score_ == pytest.approx(right.sum(), abs=1e-2) and right.mean() > 0.6
        found[name] = search
    assert found["y"].predict_proba(X).shape == found["y"].decision_function(X).shape == (600, 3)
    search = PrivateSearchCV(model, grid, epsilon=3.0, n_iter=3, **given).fit(X, y)
    privacy = search.privacy_
    assert (privacy.epsilon, privacy.guarantee, privacy.total) == (3.0, "proved", True)
    assert isinstance(privacy.event, dp_event.RepeatAndSelectDpEvent) and search.score(X, y) > 0.6
    np.testing.assert_array_equal(search.classes_, THREE)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_the_statement_is_of_the_whole_search_and_nothing_else_is_shown(data, neighbours):
    model = OutputPerturbation(classes=("no", "yes"), clip=True, neighbours=neighbours)
    search = PrivateSearchCV(model, GRID, epsilon=2.0, delta=1e-6, random_state=0).fit(*data)
    privacy = search.privacy_
    assert (privacy.epsilon, privacy.delta, privacy.neighbours, privacy.guarantee) == (2.0, 1e-6, neighbours, "proved")
    assert privacy.covers == ("best_estimator_", "best_params_", "best_score_") and privacy.total and privacy.seeded
    assert search.best_estimator_.privacy_ == privacy and search.best_params_["curvature"] in GRID["curvature"]
    shown = {name for name in vars(search) if name.endswith("_")}
    assert shown == {*privacy.covers, "privacy_", "classes_", "n_features_in_"}
    assert vars(search.best_estimator_).keys() == vars(clone_fitted(model, data)).keys()
    event = privacy.event
    assert (event.mean, event.shape) == (pytest.approx(10), 1.0)
    assert event.event.noise_multiplier <= 1 / gaussian_ratio(
        search.best_estimator_.epsilon, search.best_estimator_.delta
    )
    copied = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copied.predict(data[0]), search.predict(data[0]))
    assert diagnostics(search.best_estimator_).converged


def clone_fitted(model, data):
    """The same kind of model, fitted without a search."""
    return OutputPerturbation(**{**model.get_params(), "delta": 1e-6}).fit(*data)


def test_a_generator_of_the_search_does_not_stay_in_the_model(data):
    """Its state would tell how many trials there were."""
    search = PrivateSearchCV(MODEL, GRID, random_state=np.random.default_rng(3)).fit(*data)
    assert search.best_estimator_.random_state is None


def test_same_seed_same_model_and_without_a_seed_another(data):
    first, again = (PrivateSearchCV(MODEL, GRID, random_state=1).fit(*data) for _ in range(2))
    assert first.best_score_ == again.best_score_
    np.testing.assert_array_equal(first.best_estimator_.coef_, again.best_estimator_.coef_)
    one, two = (PrivateSearchCV(MODEL, GRID).fit(*data) for _ in range(2))
    assert (one.best_estimator_.coef_ != two.best_estimator_.coef_).any()
    assert not one.privacy_.seeded


def test_it_finds_the_parameter_that_matters(data):
    """So small a curvature drowns theta in noise: a third of the trials is of use."""
    grid = {"curvature": [1e-3, 2e-3, 30.0]}
    X, y = np.tile(data[0], (10, 1)), np.tile(data[1], 10)
    found = PrivateSearchCV(MODEL, grid, epsilon=5.0, n_iter=30, random_state=2).fit(X, y)
    assert found.best_params_ == {"curvature": 30.0} and found.score(X, y) > 0.9
    assert found.predict_proba(X[:5]).shape == (5, 2) and found.decision_function(X[:5]).shape == (5,)


def test_a_regressor_is_searched_with_its_own_bound(data):
    X, _ = data
    model = ObjectivePerturbation(loss="squared", y_bound=1.0, radius=2.0, clip=True)
    search = PrivateSearchCV(model, {"l2": [0.0, 5.0]}, epsilon=20.0, random_state=0)
    assert is_regressor(search) and not hasattr(search, "predict_proba")
    assert search.fit(X, X[:, 0]).best_score_ > 50
    with pytest.raises(ValueError, match=r"error_bound=None must be a number .*it is the public error"):
        PrivateSearchCV(OutputPerturbation(loss="huber"), GRID).fit(X, X[:, 0])


def test_what_needs_a_number_of_records_is_searched_where_that_is_public(data):
    """Before, two made-up records were asked for, whatever there were, and the error named those two."""
    votes = {"support": "samp_agg", "penalty": 1.0, "blocks": 4, "y_bound": 1.0, "clip": True}
    search = PrivateSearchCV(SparseRegression(neighbours="replace", **votes), {}, n_iter=2, random_state=0)
    assert search.fit(data[0], data[0][:, 0]).privacy_.guarantee == "proved"
    with pytest.raises(DataError, match="blocks=4 is more than the n_samples=2 records"):
        search.fit(data[0][:2], data[0][:2, 0])


def test_no_record_makes_it_fail_or_warn(data, recwarn):
    X, y = data[0].copy(), data[1].astype(object)
    X[3], X[5, 0], X[7], y[9] = np.nan, np.inf, 1e300, 17
    search = PrivateSearchCV(MODEL, GRID, random_state=0)
    assert search.fit(X, y).privacy_.total and search.fit(X[:0], y[:0]).privacy_.total
    regressor = PrivateSearchCV(OutputPerturbation(loss="huber", clip=True), GRID, **BOUND, random_state=0)
    regressor.fit(X, np.full(len(X), np.nan))
    assert np.isfinite(regressor.best_score_) and not recwarn.list


def test_sparse_rows_are_as_dense_ones_however_they_are_stored(data):
    """Records are put aside by rows: columns first, an error told how many there are, and in a list of places one."""
    X, y = data[0][:40].copy(), data[1][:40]
    X[3], X[5, 0], X[7] = np.nan, np.inf, 1e300
    model = NoisyGradientDescent(classes=("no", "yes"), clip=True, steps=2)
    fits = [
        PrivateSearchCV(model, {}, delta=1e-6, n_iter=2, random_state=0).fit(rows, y)
        for rows in (X, sparse.csr_array(X), sparse.csc_array(X), sparse.coo_matrix(X))
    ]
    for fit in fits:
        np.testing.assert_allclose(fit.best_estimator_.coef_, fits[0].best_estimator_.coef_, rtol=1e-9)
        assert fit.best_score_ == pytest.approx(fits[0].best_score_)
        np.testing.assert_array_equal(fit.predict(sparse.coo_matrix(data[0])), fits[0].predict(data[0]))


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ({"tolerance": [1e-5, 1e-4]}, True),
        ({"tolerance": [1e-5, 1e-9]}, False),
        ({"tolerance": stats.uniform(1e-5, 1e-4)}, False),
        ([{"curvature": [3.0]}, {"tolerance": [1e-9]}], False),
        ([{"curvature": [3.0]}], True),
        (({"curvature": [3.0]}, {"curvature": [4.0]}), True),
    ],
)
@pytest.mark.parametrize("inner", [False, True])
def test_a_search_is_as_total_as_any_trial_that_it_may_draw(data, grid, expected, inner):
    """Before, the estimator as it was given was asked alone: of TDDL one record then decided whether `fit` raised."""
    model = ObjectivePerturbation(classes=None if inner else ("no", "yes"), clip=True)
    if inner:
        model = PrivateOneVsRest(model, classes=("no", "yes"))
        grid = [{f"estimator__{name}": values for name, values in each.items()} for each in np.ravel(grid)]
    search = PrivateSearchCV(model, grid, epsilon=3.0, n_iter=1, random_state=0).fit(*data)
    assert search.privacy_.total is search.best_estimator_.privacy_.total is expected


@pytest.mark.filterwarnings("error::dperm.errors.NoGuaranteeWarning")
def test_labels_taken_from_the_data_are_a_leak_and_said_so_once(data):
    """A warning for each trial would tell how many there are."""
    with pytest.warns(PrivacyLeakWarning) as caught:
        search = PrivateSearchCV(OutputPerturbation(), GRID, random_state=0).fit(*data)
    assert len(caught) == 1 and search.privacy_.guarantee == "none"
    assert search.classes_.tolist() == ["no", "yes"] and "pass classes=" in search.privacy_.reason


@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
def test_without_a_guarantee_of_the_trials_there_is_none(data):
    model = NAPP(classes=("no", "yes"), calibration="paper", moor=True, variant="vs_plus")
    privacy = PrivateSearchCV(model, {"strength": [1.0]}, delta=1e-4, n_iter=1, random_state=0).fit(*data).privacy_
    assert privacy.guarantee == "none" and "erratum" in privacy.reason


@together.over(
    ("given", "error", "words"),
    [
        ({"epsilon": 0}, InvalidBudget, "epsilon=0"),
        ({"delta": 1}, InvalidBudget, r"delta=1\.0 .*take 0 for pure"),
        ({"n_iter": 0}, ValueError, r"n_iter=0\.0 .*10 is usual"),
        ({"shape": -1}, ValueError, r"shape=-1\.0 .*geometric"),
        ({"holdout": 1}, ValueError, r"holdout=1\.0 .*0\.2 is usual"),
        ({"scoring": "r2"}, ValueError, "scoring='r2' is not one of 'accuracy'"),
        ({"scoring": "squared_error"}, ValueError, "scoring='squared_error' is not for labels; leave it out"),
        ({"random_state": "a"}, ValueError, "random_state='a'"),
        ({"estimator": OutputPerturbation}, ValueError, "must be a private model .*an object, not its class"),
        ({"estimator": None}, ValueError, "estimator=None must be a private model"),
        ({"estimator": SoftMajority()}, ValueError, "answers queries from models that are not private"),
        (
            {"estimator": RKHSGaussian(classes=("no", "yes")), "delta": 1e-6, "param_distributions": {"C": [1.0]}},
            ValueError,
            "answers queries from models",
        ),
        ({"estimator": OutputPerturbation(release=True)}, ReleaseError, "leave release out"),
        (
            {"estimator": PrivateOneVsRest(OutputPerturbation(release=True), classes=("no", "yes"))},
            ReleaseError,
            "leave release out",
        ),
        *(
            (
                {
                    "estimator": PrivateOneVsRest(OutputPerturbation(), classes=("no", "yes")),
                    "param_distributions": {name: [MODEL]},
                },
                ValueError,
                f"'{name}', which is the same for all trials",
            )
            for name in ("estimator", "estimator__neighbours", "estimator__clip")
        ),
        ({"estimator": OutputPerturbation(classes=(0, 1, 2))}, ValueError, "must be two different labels"),
        ({"param_distributions": {"curvatur": [1.0]}}, ValueError, "'curvatur', no parameter of OutputPerturbation"),
        ({"param_distributions": {1: [2]}}, ValueError, "holds 1, no parameter of OutputPerturbation"),
        ({"param_distributions": ()}, ValueError, "holds nothing to draw from"),
        ({"param_distributions": {"epsilon": [1.0]}}, ValueError, "'epsilon', which is the same for all trials"),
        ({"param_distributions": [{}, {"classes": [1.0]}]}, ValueError, "'classes', which is the same"),
        ({"param_distributions": 3}, TypeError, "Parameter distribution"),
        ({"param_distributions": []}, ValueError, r"param_distributions=\[\] holds nothing"),
        ({"param_distributions": {"loss": ["huber"]}}, ValueError, r"'huber'.* makes another kind of model"),
        ({"param_distributions": {"curvature": [-1.0]}}, InvalidBudget, "curvature=-1"),
        (
            {
                "param_distributions": {"calibration": ["tight"] * 4 + ["paper"]},
                "epsilon": 20.0,
                "n_iter": 100,
                "random_state": 1,
                "delta": 1e-6,
                "shape": 0.0,
            },
            ValueError,
            "'paper'.* promises less than others; leave such values out",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused_by_its_name(data, given, error, words):
    search = PrivateSearchCV(MODEL, GRID, random_state=0).set_params(**given)
    with pytest.raises(error, match=words):
        search.fit(*data)
    assert not {"best_estimator_", "privacy_"} & set(vars(search))
