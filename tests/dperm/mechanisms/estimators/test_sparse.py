"""The private feature selectors and the sparse regression, as scikit-learn knows them."""

import pickle
import warnings

import conventions
import numpy as np
import pytest
import together
from sklearn.base import clone, is_regressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from total_checks import contradicted

from dperm import ExpMechSupport, SampAggSupport, SparseRegression, diagnostics
from dperm.domain import Budget, Domain
from dperm.errors import DataError, DomainViolation, InvalidBudget, NoGuaranteeWarning, PrivacyLeakWarning, SolverError
from dperm.mechanisms import sparse
from dperm.mechanisms.support import exp_mech, samp_agg

VOTES = {"penalty": 3.0, "blocks": 20}
BOUNDS = {"x_norm": np.sqrt(2), "y_bound": 2.0}
# What each of them needs beside its defaults, for two features of +-1.
MODELS = {
    "exp_mech": lambda **given: ExpMechSupport(**{"size": 2, **BOUNDS, **given}),
    "samp_agg": lambda **given: SampAggSupport(**{"size": 2, **VOTES, **given}),
    "sparse": lambda **given: SparseRegression(**{"size": 2, **BOUNDS, **given}),
    "sparse by votes": lambda **given: SparseRegression(
        **{"size": 2, "support": "samp_agg", **VOTES, **BOUNDS, **given}
    ),
}
EVERY = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())
REGRESSIONS = pytest.mark.parametrize("make", [MODELS["sparse"], MODELS["sparse by votes"]], ids=["exp_mech", "votes"])


@conventions.of(
    ExpMechSupport(y_bound=1.0, clip=True, random_state=0),
        SampAggSupport(penalty=1.0, blocks=3, clip=True, random_state=0),
        SparseRegression(y_bound=1.0, clip=True, random_state=0),
        SparseRegression(
            support="samp_agg", penalty=1.0, blocks=3, y_bound=1.0, delta=1e-6, clip=True, fit_intercept=True,
            random_state=0,
        ),
)  # fmt: skip
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, contradicted(estimator))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(2000, 8))
    return X, 0.6 * X[:, 2] - 0.6 * X[:, 5] + 0.1 * rng.normal(size=2000)


@EVERY
def test_the_right_features_are_found_at_a_generous_budget(make, data):
    X, _ = data
    model = make(epsilon=20.0, random_state=0).fit(*data)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [2, 5])
    if hasattr(model, "transform"):
        np.testing.assert_array_equal(model.transform(X), X[:, [2, 5]])
        assert model.get_support(indices=True).tolist() == [2, 5]
        assert model.get_feature_names_out().tolist() == ["x2", "x5"]
    else:
        assert np.flatnonzero(model.coef_).tolist() == [2, 5]
        np.testing.assert_allclose(model.coef_[[2, 5]], [0.6, -0.6], atol=0.05)
        assert model.score(X, data[1]) > 0.9


def test_an_estimator_is_its_core_run_once(data):
    """The same generator gives the core's own bytes."""
    X, y = data
    domain, rng = Domain(**BOUNDS), np.random.default_rng
    model = MODELS["exp_mech"](random_state=5).fit(X, y)
    fixed = {"size": 2, "neighbours": "add_remove"}
    core = exp_mech.select(X, y, **fixed, domain=domain, budget=Budget(1.0), calibration="tight", rng=rng(5))
    assert model.get_support(indices=True) == pytest.approx(core.supports[0])
    assert diagnostics(model).certificate == core.certificate
    model = MODELS["samp_agg"](random_state=5).fit(X, y)
    core = samp_agg.select(X, y, **fixed, **VOTES, budget=Budget(1.0), calibration="corrected", rng=rng(5))
    assert model.get_support(indices=True) == pytest.approx(core.supports[0])
    for support, given in (("exp_mech", {}), ("samp_agg", VOTES)):
        chosen = {"support": support, "bound": 0.8, "curvature": 30.0, "support_share": 0.3, "fit_intercept": True}
        model = MODELS["sparse"](**chosen, **given, epsilon=3.0, delta=1e-5, random_state=5).fit(X, y)
        core = sparse.release(
            X, y, **fixed, **chosen, **given, domain=domain, budget=Budget(3.0, 1e-5), calibration="tight", rng=rng(5),
            solver_share=1e-3,
        )  # fmt: skip
        np.testing.assert_array_equal([*model.coef_, model.intercept_], core.theta[0])
        assert diagnostics(model).certificate == core.certificate[0]


@EVERY
def test_the_statement(make, data):
    model = make(epsilon=1.5, random_state=0).fit(*data)
    privacy = model.privacy_
    assert (privacy.epsilon, privacy.delta, privacy.neighbours) == (1.5, 0.0, "add_remove")
    assert privacy.guarantee == "proved"
    assert (privacy.event.epsilon, privacy.event.delta) == (1.5, 0.0)
    assert "kifer2012" in privacy.source and privacy.seeded and privacy.mode == "science"
    assert not make().fit(*data).privacy_.seeded


@REGRESSIONS
def test_the_statement_of_both_stages(make, data):
    privacy = make(epsilon=1.5, delta=1e-6, neighbours="replace", solver_share=0.05, random_state=0).fit(*data).privacy_
    assert (privacy.delta, privacy.event.delta, privacy.guarantee, privacy.neighbours) == (
        1e-6, 1e-6, "proved", "replace",
    )  # fmt: skip


@together.over(
    ("make", "given", "guarantee"),
    [
        ("exp_mech", {"calibration": "paper"}, "proved"),
        ("exp_mech", {"calibration": "paper", "neighbours": "replace"}, "proved"),
        ("samp_agg", {"calibration": "paper"}, "none"),  # erratum K6
        ("samp_agg", {"calibration": "paper", "blocks": None}, "none"),
        ("samp_agg", {"calibration": "paper", "neighbours": "replace"}, "proved"),
        ("samp_agg", {"neighbours": "replace", "blocks": None}, "proved"),
        ("sparse", {"calibration": "paper"}, "proved_exact"),
        ("sparse", {"calibration": "paper", "neighbours": "replace"}, "none"),  # erratum K3
        ("sparse", {"calibration": "corrected", "neighbours": "replace"}, "proved"),
        ("sparse by votes", {"calibration": "paper"}, "none"),
        ("sparse by votes", {"calibration": "corrected"}, "proved"),
    ],
)
def test_what_is_promised_as_printed_and_as_mended(make, given, guarantee, data):
    model = MODELS[make](**given, random_state=0)
    if guarantee == "none":
        with pytest.warns(NoGuaranteeWarning, match="gives no guarantee; leave calibration out"):
            model.fit(*data)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(*data)
    assert model.privacy_.guarantee == guarantee


@EVERY
def test_seeds_clones_and_pickles(make, data):
    X, y = data
    model = make(epsilon=0.05, random_state=7).fit(X, y)
    for again in (clone(model).fit(X, y), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.support_, model.support_)
    free = [make(epsilon=0.01).fit(X, y) for _ in range(12)]
    assert len({getattr(m, "coef_", m.support_).tobytes() for m in free}) > 1


def test_a_selector_stands_in_a_pipeline(data):
    X, y = data
    pipeline = make_pipeline(MODELS["samp_agg"](epsilon=20.0, random_state=0), LinearRegression())
    # The regression that follows learns without privacy.
    with pytest.warns(PrivacyLeakWarning, match="LinearRegression"):
        pipeline.fit(X, y)
    np.testing.assert_allclose(pipeline[-1].coef_, [0.6, -0.6], atol=0.02)
    assert is_regressor(SparseRegression())


@pytest.mark.parametrize("make", ["exp_mech", "sparse"])
def test_scores_that_are_too_inexact_release_nothing(make, data, monkeypatch):
    monkeypatch.setattr(exp_mech, "TOLERANCE", 1e-30)
    model = MODELS[make]()
    with pytest.raises(SolverError, match=r"more than epsilon has room for|did not reach its public target"):
        model.fit(*data)
    assert not hasattr(model, "support_") and not hasattr(model, "coef_")


# ---- intercept


@REGRESSIONS
def test_an_intercept_is_fitted_beside_the_support_or_is_zero(make, data):
    X, y = data
    given = {"epsilon": 50.0, "delta": 1e-3, "random_state": 0}
    assert make(**given).fit(X, y + 0.3).intercept_ == 0.0
    model = make(**given, fit_intercept=True).fit(X, y + 0.3)
    assert model.intercept_ == pytest.approx(0.3, abs=0.05)
    assert np.count_nonzero(model.coef_) == 2 and model.coef_.shape == (8,)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)


# ---- bad input

NOT_ABOVE_0 = ["a", None, True, 0, -1, np.nan, np.inf]
REFUSED = [
    (MODELS, "epsilon", NOT_ABOVE_0, InvalidBudget, "epsilon=.*usual values"),
    (("sparse", "sparse by votes"), "delta", ["a", None, 1, 1.5, -1e-9], InvalidBudget, r"delta=.*in \[0, 1\)"),
    (MODELS, "size", ["a", None, True, 0, -1, 1.5], ValueError, "size=.* must be an integer, 1 or above"),
    (MODELS, "size", [9], ValueError, "size=9 is more than the p=8 features of X; take at most 8"),
    (MODELS, "calibration", ["best", None], ValueError, "calibration=.* is not one of"),
    (("samp_agg",), "calibration", ["tight"], ValueError, "'tight' is not one of 'paper', 'corrected'"),
    (("exp_mech",), "calibration", ["corrected"], ValueError, "'corrected' is not one of 'paper', 'tight'"),
    (MODELS, "neighbours", ["both", None], ValueError, "neighbours=.* is not one of 'add_remove', 'replace'"),
    (MODELS, "clip", ["no", 1, None], ValueError, "clip=.* must be True or False"),
    (MODELS, "random_state", ["a", -1], ValueError, "random_state=.* must be None"),
    (("exp_mech", "sparse", "sparse by votes"), "x_norm", NOT_ABOVE_0, DomainViolation, "x_norm=.* public bound"),
    (("exp_mech", "sparse", "sparse by votes"), "y_bound", [None], DomainViolation, "squared loss.*declare y_bound"),
    (("exp_mech", "sparse"), "y_bound", ["a", 0, -1, np.nan, np.inf], DomainViolation, "y_bound="),
    (("exp_mech", "sparse", "sparse by votes"), "bound", NOT_ABOVE_0, DomainViolation, "bound=.*entries of theta"),
    (("samp_agg", "sparse by votes"), "penalty", NOT_ABOVE_0, ValueError, "penalty=.*samp_agg.paper_penalty"),
    (("samp_agg", "sparse by votes"), "blocks", ["a", True, 0, -1, 2.5], ValueError, "blocks=.*an integer, 1 or abo"),
    (("samp_agg", "sparse by votes"), "blocks", [10**8, 10**20], ValueError, "blocks=.*each has a lasso of its own"),
    (("samp_agg", "sparse by votes"), "blocks", [None], ValueError, "blocks=None: under add/remove n is private"),
    (("samp_agg", "sparse by votes"), "blocks", [2001], DataError, "blocks=2001 is more than there are records.*clip"),
    (("sparse",), "support", ["lasso", None], ValueError, "support=.* is not one of 'exp_mech', 'samp_agg'"),
    (("sparse",), "support_share", ["a", 0, 1, -1, 1.5], InvalidBudget, "support_share=.*stage one's share"),
    (("sparse",), "curvature", ["a", 0, -1, np.nan], InvalidBudget, "curvature=.*leave it out"),
    (("sparse",), "curvature", [0.01], InvalidBudget, "lambda/"),
    (("sparse",), "solver_share", ["a", 1, -1], InvalidBudget, "solver_share="),
    (("sparse",), "tolerance", ["a", 0, 2], ValueError, "tolerance="),
    (("sparse",), "fit_intercept", ["no", 1, None], ValueError, "fit_intercept=.* must be True or False"),
    (("sparse",), "penalty", [1.0], ValueError, "penalty and blocks are Samp-Agg's alone"),
]


@together.over(
    ("make", "key", "value", "error", "message"),
    [(m, key, value, *rest) for makes, key, values, *rest in REFUSED for m in makes for value in values],
)
def test_a_wrong_parameter_is_refused_by_its_name_before_any_work(make, key, value, error, message, data, monkeypatch):
    def work(*_, **__):
        raise AssertionError("work was done first")

    monkeypatch.setattr(exp_mech.subsets, "search", work)
    monkeypatch.setattr(samp_agg, "block_votes", work)
    model = MODELS[make](**{key: value})
    with pytest.raises(error, match=message):
        model.fit(*data)
    assert not hasattr(model, "support_")


@pytest.mark.parametrize("make", [ExpMechSupport, SparseRegression])
def test_more_than_ten_million_supports_are_refused(make):
    with pytest.raises(ValueError, match=r"size=4 of 300 features makes 330,791,175 supports.*Samp-Agg"):
        make(size=4, y_bound=1.0).fit(np.zeros((5, 300)), np.zeros(5))


@pytest.mark.parametrize("make", ["samp_agg", "sparse by votes"])
def test_more_blocks_than_records(make, data):
    """An error in both relations; under add/remove, where it tells n, `clip` takes the data as they are instead."""
    few = data[0][:10], data[1][:10]
    with pytest.raises(DataError, match="under add/remove n is private, and this refusal tells something about it"):
        MODELS[make]().fit(*few)
    for clip in (False, True):
        with pytest.raises(DataError, match=r"blocks=20 is more than the n_samples=10 records.*take fewer blocks"):
            MODELS[make](neighbours="replace", clip=clip).fit(*few)
    model = MODELS[make](clip=True, random_state=0).fit(*few)
    assert model.support_.sum() == 2 and model.privacy_.guarantee.startswith("proved")


@pytest.mark.parametrize("make", ["exp_mech", "sparse", "sparse by votes"])
def test_data_beyond_the_bounds_are_refused_or_clipped(make, data):
    X, y = data
    with pytest.raises(DomainViolation, match=r"rows whose 2 largest entries .*x_norm=1;.*clip=True"):
        MODELS[make](x_norm=1.0).fit(X, y)
    with pytest.raises(DomainViolation, match=r"targets beyond y_bound=1;.*clip=True"):
        MODELS[make](y_bound=1.0).fit(X, y)
    clipped = MODELS[make](x_norm=1.0, y_bound=1.0, clip=True, random_state=1).fit(X, y)
    assert clipped.support_.sum() == 2
    if make != "sparse by votes":  # whose stage one sees the data as they are
        by_hand = MODELS[make](x_norm=1.0, y_bound=1.0, clip=True, random_state=1).fit(
            X / np.sqrt(2), np.clip(y, -1, 1)
        )
        np.testing.assert_array_equal(by_hand.support_, clipped.support_)
        found = (diagnostics(model).certificate for model in (by_hand, clipped))
        np.testing.assert_allclose(*found, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(getattr(by_hand, "coef_", 0), getattr(clipped, "coef_", 0), atol=1e-5)


def test_only_the_largest_entries_of_a_row_count():
    """A row of 100 entries +-1 has length 10, and x_norm = 1 is enough for one."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], size=(500, 100))
    assert ExpMechSupport(y_bound=1.0, x_norm=1.0, epsilon=5.0, random_state=0).fit(X, X[:, 7]).support_[7]
