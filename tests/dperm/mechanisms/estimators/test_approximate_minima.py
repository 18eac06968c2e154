"""Approximate minima perturbation as an estimator: its core's release, what it refuses, and its target with clip."""

import conventions
import numpy as np
import pytest
import together
from total_checks import contradicted

from dperm import ApproximateMinima, diagnostics, losses
from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation, InvalidBudget, ReleaseError, SolverError
from dperm.mechanisms import approximate_minima

# Small sets, whose noise drowns them: that is not what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")

LABELS = {"classes": ("no", "yes")}


def data(n=300):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (n, 4))
    return X, np.where(X[:, 0] > 0, "yes", "no")


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@conventions.of(
    *(ApproximateMinima(clip=True, loss=loss, random_state=0) for loss in ("logistic", "huber")),
)
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, contradicted(estimator))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "given", [{}, {"neighbours": "add_remove", "n_public": 40}, {"gamma": 1e-4, "tilt_share": 0.9}]
)
def test_it_releases_what_its_core_does(given, intercept):
    """The core on the same rows, with a column of ones and the radius sqrt(2) for the intercept."""
    X, y = data()
    model = ApproximateMinima(**LABELS, **given, fit_intercept=intercept, random_state=5).fit(X, y)
    rows = np.column_stack([X, np.ones(len(X))]) if intercept else X
    public = {"domain": Domain(2**0.5 if intercept else 1.0), "budget": Budget(1.0, 1e-6), "neighbours": "replace"}
    core = approximate_minima.release(
        rows,
        np.where(y == "yes", 1.0, -1.0),
        losses.logistic(),
        calibration="paper",
        rng=np.random.default_rng(5),
        **public | given,
    )
    theta = np.append(model.coef_[0], model.intercept_) if intercept else model.coef_[0]
    np.testing.assert_array_equal(theta, core.theta[0])
    assert model.privacy_.guarantee == core.guarantee == "proved"
    assert diagnostics(model).certificate == core.certificate[0]


def test_it_learns_at_a_generous_budget_and_claims_where_nothing_proves():
    X, y = data()
    model = ApproximateMinima(**LABELS, epsilon=100.0, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9 and model.predict_proba(X).shape == (300, 2)
    assert ApproximateMinima(**LABELS, output_share=0.999, random_state=0).fit(X, y).privacy_.guarantee == "claimed"


@together.over(
    ("given", "error", "message"),
    [
        ({"neighbours": "add_remove"}, ValueError, "n_public is missing"),
        ({"n_public": 0.5}, ValueError, "n_public=0.5"),
        ({"delta": 0.0}, InvalidBudget, "delta=0.0 must be .* pure privacy"),
        ({"delta": 1.0}, InvalidBudget, "delta=1"),
        ({"epsilon": -1.0}, InvalidBudget, "epsilon=-1"),
        ({"gamma": 2.0}, ValueError, "gamma=2.0"),
        ({"output_share": 1.0}, InvalidBudget, "output_share=1"),
        ({"tilt_share": "half"}, InvalidBudget, "tilt_share='half'"),
        ({"curvature": 0.1}, InvalidBudget, "curvature=0.1 is below r beta"),
        ({"calibration": "tight"}, ValueError, "calibration='tight'.*'paper'"),
        ({"loss": "hinge"}, DomainViolation, "'hinge' has no bounded curvature"),
        ({"loss": "squared"}, DomainViolation, "'squared' has no bounded gradient"),
        ({"release": True, "random_state": None}, ReleaseError, "cannot be released safely.*OutputPerturbation"),
    ],
)
@together.over("clip", [False, True])
def test_what_is_declared_wrongly_is_refused_before_the_records_are_looked_at(given, error, message, clip):
    with pytest.raises(error, match=message):
        ApproximateMinima(**{**LABELS, "clip": clip, "random_state": 0} | given).fit(None, None)


@together.over("given", [{"gamma": 1e-13}, {"n_public": 1e10}, {"epsilon": 1e-9}])
def test_with_clip_a_target_below_rounding_is_refused_by_public_numbers(given):
    X, y = data()
    with pytest.raises(InvalidBudget, match=r"solver's target n gamma = .* raise gamma, or declare a smaller n_public"):
        ApproximateMinima(**LABELS, clip=True, **given).fit(X * 0, y)


def test_without_clip_the_error_names_gamma():
    with pytest.raises(SolverError, match=r"raise `gamma` \(now 1e-40\)"):
        ApproximateMinima(**LABELS, gamma=1e-40).fit(*data())


@pytest.mark.parametrize("records", ["equal", "two kinds"])
def test_the_least_target_with_clip_is_met_by_many_equal_rows(records):
    """Where rounding is worst: 300,000 rows, at the finest target that clip=True takes."""
    n = 300_000
    X = np.tile([[0.6, 0.8]], (n, 1))
    y = np.arange(n) % 2 if records == "two kinds" else np.ones(n, int)
    model = ApproximateMinima(classes=(0, 1), clip=True, gamma=1.001e-9 / n, random_state=0).fit(X, y)
    assert model.privacy_.total is True
