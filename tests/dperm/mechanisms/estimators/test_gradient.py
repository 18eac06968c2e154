"""Descents as estimators: what their defaults are, in whichever unit; sparse rows; what is refused by which name."""

import numpy as np
import pytest
import together
from scipy import sparse

from dperm import NoisyGradientDescent, PreconditionedGradientDescent, losses
from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation, InvalidBudget
from dperm.mechanisms import gradient, preconditioned
from dperm.mechanisms.estimators.gradient import MOMENTUM, STEPS, longest_at_0

DESCENTS = [NoisyGradientDescent, PreconditionedGradientDescent]
LABELS = {"classes": (0, 1), "random_state": 0}


def records(n=400, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * rng.uniform(1, 2, (n, 1))
    return X, (X[:, 0] + 0.1 * rng.normal(size=n) > 0).astype(int)


def test_a_fit_is_the_core_with_what_its_words_say():
    X, y = records()
    model = NoisyGradientDescent(**LABELS, epsilon=0.7, fit_intercept=True).fit(X, y)
    core = gradient.release(
        np.column_stack([X, np.ones(len(X))]), 2.0 * y - 1, losses.logistic(), domain=Domain(x_norm=2**0.5),
        budget=Budget(0.7, 1e-6), neighbours="add_remove", calibration="tight", steps=STEPS, momentum=MOMENTUM,
        clip=2**0.5 / 6, distance=2 / 2**0.5, average="tail", rng=np.random.default_rng(0),
    )  # fmt: skip
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), core.theta[0], rtol=1e-12)
    assert model.privacy_.guarantee == "proved" and model.privacy_.event.noise_multiplier > 0


def test_a_preconditioned_fit_is_the_core_with_what_its_words_say():
    """R is the bound with the intercept: the Gram matrix has its feature too. D = c0/(6 lambda)."""
    X, y = records()
    model = PreconditionedGradientDescent(**LABELS, epsilon=0.7, fit_intercept=True).fit(X, y)
    core = preconditioned.release(
        np.column_stack([X, np.ones(len(X))]), 2.0 * y - 1, losses.logistic(), domain=Domain(x_norm=2**0.5),
        budget=Budget(0.7, 1e-6), neighbours="add_remove", calibration="tight", steps=50, momentum=0.9,
        clip=2**0.5 / 6, distance=2**0.5 / 6, gram_share=0.05, floor=200.0, rng=np.random.default_rng(0),
    )  # fmt: skip
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), core.theta[0], rtol=1e-12)
    assert model.privacy_.guarantee == "proved" and model.privacy_.event.noise_multiplier > 0


@together.over(
    "loss, longest",
    [
        (losses.logistic(), 0.5), (losses.smoothed_hinge(), 1.0), (losses.hinge(), 1.0), (losses.huber(3.0), 3.0),
    ],
)  # fmt: skip
def test_how_long_a_gradient_is_at_0(loss, longest):
    assert longest_at_0(loss, Domain(x_norm=5.0)) == pytest.approx(5.0 * longest, rel=1e-12)


@pytest.mark.parametrize("Estimator", DESCENTS)
@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_another_unit_of_the_features_changes_coefficients_alone(Estimator, loss):
    X, y = records()
    one, other = (
        Estimator(loss=loss, x_norm=unit, classes=(0, 1), random_state=0).fit(unit * X, y) for unit in (1.0, 2.0**-7)
    )
    np.testing.assert_allclose(one.coef_, 2.0**-7 * other.coef_, rtol=1e-9)


@pytest.mark.parametrize("Estimator", DESCENTS)
def test_another_unit_of_the_targets_changes_coefficients_alone(Estimator):
    X, _ = records()
    one, other = (
        Estimator(loss="huber", loss_parameters={"knee": unit}, random_state=0).fit(X, unit * X[:, 1])
        for unit in (1.0, 2.0**9)
    )
    np.testing.assert_allclose(2.0**9 * one.coef_, other.coef_, rtol=1e-9)


@pytest.mark.parametrize("Estimator", DESCENTS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_rows_are_as_dense_ones(Estimator, intercept, form):
    """Rows of zeros, and (clipped) rows that are too long, among them."""
    X, y = records()
    X[np.abs(X) < 0.1] = 0.0
    X[3], X[5] = 0.0, 40 * X[5]
    given = {**LABELS, "fit_intercept": intercept, "clip": True}
    dense, thin = (Estimator(**given).fit(rows, y) for rows in (X, form(X)))
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-9)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, rtol=1e-9)
    np.testing.assert_array_equal(thin.predict(form(X)), dense.predict(X))
    with pytest.raises(DomainViolation, match="rows longer than x_norm=1"):
        Estimator(**LABELS).fit(form(X), y)


@pytest.mark.parametrize("Estimator", DESCENTS)
def test_the_defaults_learn(Estimator):
    """At epsilon = 1 within 3 points of a law that tells its label by one feature, under either relation."""
    X, y = records(5_000, 5)
    for neighbours in ("add_remove", "replace"):
        model = Estimator(**LABELS, neighbours=neighbours).fit(X, y)
        assert model.score(X, y) > ((X[:, 0] > 0) == y).mean() - 0.03


@pytest.mark.parametrize("Estimator", DESCENTS)
@together.over(
    ("given", "error", "message"),
    [
        ({"delta": 0.0}, InvalidBudget, "delta=0.0 must be .* take 'objective' or 'output'"),
        ({"gradient_clip": 0.0}, ValueError, "gradient_clip=0.0 must be .* leave it out"),
        ({"gradient_clip": "a"}, ValueError, "gradient_clip='a' must be"),
        ({"steps": 2.5}, ValueError, "steps=2.5 must be a whole number"),
        ({"momentum": 1.0}, ValueError, "momentum=1.0 must be"),
        ({"step_size": -1.0}, ValueError, "step_size=-1.0 must be .* leave it out"),
        ({"gram_share": 1.5}, ValueError, "gram_share=1.5 must be"),
        ({"calibration": "paper"}, ValueError, "calibration='paper'.*'tight'"),
    ],
)
def test_what_cannot_be_is_refused_by_the_estimators_own_names(Estimator, given, error, message):
    if set(given) <= set(Estimator().get_params()):
        with pytest.raises(error, match=message):
            Estimator(**LABELS | given).fit(*records(20))
