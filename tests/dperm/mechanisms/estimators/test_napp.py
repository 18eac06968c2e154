"""NAPP as scikit-learn and its users know it."""

import warnings

import conventions
import numpy as np
import pytest
import together
from sklearn.base import is_classifier, is_regressor
from total_checks import contradicted

from dperm import NAPP, diagnostics
from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation, InvalidBudget, NoGuaranteeWarning, ReleaseError, SolverError
from dperm.mechanisms import napp
from dperm.mechanisms.napp import certify

LABELS = {"classes": ("no", "yes")}
BOUNDED = {"y_bound": 4.0, "eta_bound": 1.5}


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
@conventions.of(
    NAPP(clip=True, random_state=0),
    NAPP(clip=True, variant="vs_plus", penalty="bridge", gamma=0.5, delta=1e-6, random_state=0),
    NAPP(clip=True, loss="squared", **BOUNDED, fit_intercept=True, random_state=0),
    NAPP(clip=True, variant="vs", moor=True, calibration="paper", random_state=0),
)
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, contradicted(estimator))


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(300, 4))
    return X, np.where(X[:, 0] > 0, "yes", "no")


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, size=(400, 3))
    return X, np.minimum(rng.poisson(np.exp(2 * X[:, 0])), 4)


@pytest.mark.parametrize("variant", ["erm", "vs_plus"])
@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge"])
def test_learns_at_a_generous_budget(data, loss, variant):
    X, y = data
    model = NAPP(epsilon=100.0, loss=loss, variant=variant, **LABELS, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9 and is_classifier(model)
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) > 0, "yes", "no"))
    assert hasattr(model, "predict_proba") == (loss == "logistic")


def test_regressions_learn_too(data, counts):
    X, _ = data
    model = NAPP(epsilon=300.0, loss="squared", **BOUNDED, strength=0.1, random_state=0).fit(X, X[:, 1])
    assert is_regressor(model) and model.score(X, X[:, 1]) > 0.9
    X, y = counts
    model = NAPP(epsilon=300.0, loss="poisson", **BOUNDED, strength=0.1, fit_intercept=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, [2.0, 0.0, 0.0], atol=0.5)
    # A mean, never beyond what eta_bound allows.
    far = model.predict(np.array([[1e6, 0.0, 0.0], [-1e6, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    np.testing.assert_allclose(far, np.exp([1.5, -1.5, model.intercept_]))
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize(
    ("given", "rest"),
    [
        ({"delta": 1e-5, "share": 0.3, "penalty": "elastic_net", "kappa": 0.4}, {}),
        ({"variant": "vs", "low": 0.0, "high": 2.0, "calibration": "corrected", "neighbours": "replace"}, {}),
        ({"penalty": "ridge", "moor": True, "strength": 9.0, "retrieval": "recycle"}, {}),
        ({"method": "literal", "steps": 12, "calibration": "paper"}, {"n_e": 200}),
        ({"moor": True, "retrieval": "recycle", "rounds": 2, "calibration": "paper", "variant": "vs"}, {}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
def test_an_estimator_is_its_core_run_once(data, given, rest):
    X, y = data
    model = NAPP(epsilon=2.0, **LABELS, fit_intercept=True, random_state=5, **given, **rest).fit(X, y)
    fixed = {"penalty": "lasso", "strength": 1.0, "calibration": "tight", "neighbours": "add_remove", **given}
    fixed["solver_share"] = 0.0 if fixed["calibration"] == "paper" else 1e-3
    fixed["budget"] = Budget(2.0, fixed.pop("delta", 0.0))
    core = napp.release(
        np.column_stack([X, np.ones(len(X))]), np.where(y == "yes", 1.0, -1.0), "logistic",
        domain=Domain(np.hypot(1.0, 1.0)), rng=np.random.default_rng(5), rows=rest.get("n_e", 10_000), **fixed,
    )  # fmt: skip
    np.testing.assert_array_equal([*model.coef_[0], model.intercept_[0]], core.theta[0])
    assert diagnostics(model).certificate == core.certificate[0] and diagnostics(model).retrieved == core.retrieved[0]
    assert model.privacy_.guarantee == core.guarantee


def test_the_statement_of_a_proved_form(data):
    model = NAPP(epsilon=1.5, delta=1e-6, neighbours="replace", random_state=0, **LABELS).fit(*data)
    privacy = model.privacy_
    assert (privacy.epsilon, privacy.delta, privacy.neighbours) == (1.5, 1e-6, "replace")
    assert (privacy.guarantee, privacy.calibration) == ("proved", "tight")
    assert privacy.source == "li2021; docs/privacy.md, section 10, Theorems 1 to 4"
    assert (privacy.event.epsilon, privacy.event.delta, privacy.seeded) == (1.5, 1e-6, True)
    assert NAPP(solver_share=0.0, random_state=0, **LABELS).fit(*data).privacy_.guarantee == "proved_exact"
    assert 0 < diagnostics(model).certificate < 1e-5 and diagnostics(model).retrieved == 0


@pytest.mark.parametrize(
    ("given", "errata"),
    [
        ({}, "N1"),
        ({"delta": 1e-4, "neighbours": "replace"}, "K3"),
        ({"delta": 1e-4, "variant": "vs_plus", "moor": True}, "N2, N4"),
        ({"variant": "vs"}, "N1, N3"),
        ({"delta": 1e-4, "method": "literal", "n_e": 100, "steps": 5}, "N8"),
    ],
    ids=str,
)
def test_the_statement_names_the_errata_that_leave_no_proof(data, given, errata):
    model = NAPP(calibration="paper", random_state=0, **LABELS, **given)
    with pytest.warns(NoGuaranteeWarning, match="calibration='paper'.*gives no guarantee; valid: .*(=|leave)"):
        model.fit(*data)
    assert model.privacy_.guarantee == "none"
    assert model.privacy_.source == f"li2021, Theorem 4; no proof: errata {errata}"


def test_the_printed_dp_erm_with_gaussian_noise_is_proved(data):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = NAPP(calibration="paper", delta=1e-4, random_state=0, **LABELS).fit(*data)
    assert model.privacy_.guarantee == "proved_exact"
    assert model.privacy_.source == "li2021; docs/privacy.md, section 10, Theorem N"


def test_where_tight_refuses_the_warning_does_not_advise_it(data):
    given = {"penalty": "lasso", "moor": True, "delta": 1e-4, "variant": "vs", "random_state": 0, **LABELS}
    with pytest.warns(NoGuaranteeWarning) as caught:
        NAPP(calibration="paper", **given).fit(*data)
    advice = str(caught[0].message)
    assert "take calibration='tight'" not in advice
    assert "all of (1) calibration='corrected' or 'tight' with low >= 0" in advice and "(2) moor=False" in advice
    assert NAPP(**{**given, "moor": False, "low": 0.0}).fit(*data).privacy_.guarantee == "proved"


def test_what_is_returned_is_not_claimed(data):
    given = {"penalty": "ridge", "strength": 5.0, "calibration": "corrected", "random_state": 0, **LABELS}
    for share in (0.0, 0.001, 0.2):
        model = NAPP(epsilon=2.0, retrieval="return", solver_share=share, **given).fit(*data)
        # Lambda0 = 1/4 / 2 of all of epsilon, so 1 - 1/40 of the Jacobian's half of the tilt's part comes back.
        tilt = 2.0 * (1 - share)
        back = 1 - 0.25 / tilt / 5
        assert diagnostics(model).retrieved == pytest.approx(back)
        assert model.privacy_.epsilon == model.privacy_.event.epsilon == pytest.approx(2 - tilt * back / 2)


@together.over("calibration", ["paper", "corrected", "tight"])
@together.over("name", ["y_bound", "eta_bound"])
def test_poisson_without_clipping_bounds_is_refused(counts, calibration, name):
    given = {key: value for key, value in BOUNDED.items() if key != name}
    with pytest.raises(DomainViolation, match=rf"{name}=None: loss='poisson' has no bounded gradient.*declare y_bound"):
        NAPP(loss="poisson", calibration=calibration, **given).fit(*counts)


def test_counts_are_counts_and_within_their_bound(counts):
    X, y = counts
    with pytest.raises(DomainViolation, match=r"targets beyond y_bound=1\b.*clip=True"):
        NAPP(loss="poisson", y_bound=1, eta_bound=1.0).fit(X, y)
    with pytest.raises(DomainViolation, match=r"counts, 0 or above.*clip=True"):
        NAPP(loss="poisson", y_bound=9.0, eta_bound=1.0).fit(X, y - 1.0)
    # No bound asks for whole numbers: rates are fitted as counts are.
    NAPP(loss="poisson", y_bound=4.5, eta_bound=1.0, random_state=0).fit(X, y + 0.5)


def test_a_bounded_box_serves_poisson_for_eta_bound(counts):
    model = NAPP(loss="poisson", y_bound=4, low=-1.0, high=1.0, random_state=0).fit(*counts)
    assert model.privacy_.guarantee == "proved" and (np.abs(model.coef_) <= 1).all()
    np.testing.assert_allclose(model.predict(counts[0]), np.exp(counts[0] @ model.coef_))
    with pytest.raises(DomainViolation, match=r"eta_bound=None.*bounded low and high serve instead"):
        NAPP(loss="poisson", y_bound=4, low=-1.0).fit(*counts)


def test_what_one_feature_allows_is_not_refused_for_two(counts):
    """Of a box alone the bounds grow with p: Lambda0 = e^1/epsilon here, and e^sqrt(2)/epsilon with two features."""
    X, y = counts
    given = {"loss": "poisson", "penalty": "elastic_net", "kappa": 0.9, "strength": 4.0, "moor": True, "y_bound": 4}
    given |= {"eta_bound": 2.0, "low": 0.0, "high": 1.0, "random_state": 0}
    assert NAPP(**given).fit(X[:, :1], y).privacy_.guarantee == "proved"
    with pytest.raises(ValueError, match=r"strength\*kappa >= Lambda0 = 4.1"):
        NAPP(**given).fit(X[:, :2], y)


@together.over("value", [True, 100.0, "100", -2, None])
@together.over("name", ["n_e", "steps", "rounds"])
def test_numbers_of_things_are_whole_even_where_they_are_not_used(data, name, value):
    with pytest.raises(ValueError, match=f"^{name}={value!r} must be an (even )?integer"):
        NAPP(**{name: value}, **LABELS).fit(*data)


@together.over(
    ("given", "error", "words"),
    [
        ({"n_e": 101}, ValueError, "n_e=101 must be an even integer, 2 or above; it is n_e"),
        ({"low": [0, 0, 0, 1], "high": 1}, DomainViolation, "coordinate 3 is fixed at 1.*leave that feature out of X"),
        ({"low": 1, "high": 0}, DomainViolation, "the box is empty in coordinate 0; exchange"),
        ({"epsilon": 0}, InvalidBudget, r"epsilon=0.0 must be a number in \(0, 1e\+12\]; usual values"),
        ({"epsilon": -1}, InvalidBudget, "epsilon=-1.0 must be a number"),
        ({"delta": 1}, InvalidBudget, r"delta=1.0 must be a number in \[0, 1\); take 0 for pure"),
        (
            {"truncation": 0.5, "variant": "vs_plus"},
            ValueError,
            r"truncation=0.5 must be a number in \[-inf, 0\]; c is",
        ),
        ({"penalty": "bridge", "gamma": 2.0}, ValueError, r"gamma=2.0 must be a number in \[0, 2\)"),
        ({"eta_bound": "far"}, DomainViolation, "eta_bound='far' must be a number"),
        ({"moor": "yes"}, ValueError, "moor='yes' must be True or False"),
        ({"clip": 1}, ValueError, "clip=1 must be True or False"),
        ({"x_norm": -1}, DomainViolation, "x_norm=-1.0 must be a number"),
        ({"x_norm": 0.1}, DomainViolation, "X has rows longer than x_norm=0.1; declare.*clip=True"),
        ({"moor": True}, ValueError, "no valid form here: moor=True with penalty='lasso'.*N4.*valid: moor=False"),
        ({"random_state": "a"}, ValueError, "random_state='a' must be None"),
    ],
)
def test_what_is_wrong_is_named_with_the_remedy(data, given, error, words):
    """What the estimator reads itself, and what the core is told; the rest is the core's: `napp/test_napp`."""
    with pytest.raises(error, match=words):
        NAPP(**{**LABELS, **given}).fit(*data)


def test_rows_above_the_bound_may_be_clipped(data):
    X, y = data
    clipped = NAPP(x_norm=0.1, clip=True, random_state=1, **LABELS).fit(X, y)
    scaled = X * (0.1 / np.linalg.norm(X, axis=1, keepdims=True)).clip(max=1.0)
    by_hand = NAPP(x_norm=0.1, clip=True, random_state=1, **LABELS).fit(scaled, y)
    np.testing.assert_allclose(clipped.coef_, by_hand.coef_, rtol=1e-9)


def test_a_release_that_nobody_could_vouch_for_is_refused(data):
    with pytest.raises(ReleaseError, match=r"NAPP-ERM is objective perturbation.*OutputPerturbation"):
        NAPP(release=True, **LABELS).fit(*data)


def test_nothing_is_released_of_a_fit_that_did_not_converge(data, monkeypatch):
    monkeypatch.setattr(certify, "polished", lambda problem, theta, aim: (theta + 1.0, 2 * aim))
    monkeypatch.setattr(certify, "refined", lambda problem, theta, aim: (theta, 2 * aim))
    with pytest.raises(SolverError, match=r"did not reach its public target.*`strength` or `epsilon`"):
        NAPP(random_state=0, **LABELS).fit(*data)


@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
def test_what_is_not_selected_is_exactly_0(data):
    model = NAPP(variant="vs_plus", calibration="paper", moor=True, random_state=3, **LABELS).fit(*data)
    assert (model.coef_ == 0).any()
