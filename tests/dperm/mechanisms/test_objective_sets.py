"""Objective perturbation with regularizers and feasible sets: the printed problem, its bounds, and what is refused."""

import math

import cvxpy as cp
import numpy as np
import pytest
import together

from dperm import ObjectivePerturbation, losses
from dperm.domain import Budget, Domain
from dperm.errors import DomainViolation, InvalidBudget
from dperm.feasible import Region, Regularizer, project
from dperm.mechanisms import objective

P = 4
BALL, BOX = Region(radius=1.0), Region(low=-1.0, high=1.0)
BUDGET, APPROXIMATE = Budget(1.0), Budget(1.0, 1e-6)
CASE_STUDY = Domain(x_norm=math.sqrt(P), y_bound=float(P))


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(n, P))
    return X, np.clip(X @ [1.0, -1.0, 0.0, 0.0] + 0.25 * rng.normal(size=n), -P, P)


def release(X, y, loss, **arguments):
    fixed = {"domain": CASE_STUDY, "budget": BUDGET, "neighbours": "add_remove", "calibration": "paper"}
    return objective.release(X, y, loss, **{**fixed, "rng": np.random.default_rng(3), **arguments})


def test_the_papers_sensitivities_of_the_case_study():
    """kifer2012, Section 3.1 and Lemma 39: zeta = 2 p^1.5, lambda = p for F = [-1, 1]^p; Gaussian noise of Alg. 1."""
    domain = objective.searched(CASE_STUDY, BOX, P)
    law, _ = objective.calibrate(
        losses.squared(), domain, APPROXIMATE, curvature=2.0 * P, calibration="paper", neighbours="add_remove"
    )
    assert law.scale == pytest.approx(2 * P**1.5 * math.sqrt(8 * math.log(2 / 1e-6) + 4), rel=1e-12)
    assert objective.default_curvature(losses.squared(), domain, 1.0) == pytest.approx(2 * P)


@pytest.mark.parametrize("budget", [BUDGET, APPROXIMATE], ids=["gamma", "gaussian"])
@pytest.mark.parametrize(
    ("regularizer", "region"),
    [(Regularizer(l1=30.0), BALL), (Regularizer(l1=30.0, l2=5.0), BOX), (Regularizer(), BALL), (Regularizer(), BOX)],
    ids=["lasso in a ball", "elastic net in a box", "ball", "box"],
)
def test_it_minimises_the_printed_problem_over_the_set(regularizer, region, budget):
    """The same noise, drawn again by hand, and the problem as Algorithm 1 writes it, in cvxpy."""
    X, y = data()
    curvature = 40.0
    released = release(
        X, y, losses.squared(), budget=budget, regularizer=regularizer, region=region, curvature=curvature
    )
    law, _ = objective.calibrate(
        losses.squared(), objective.searched(CASE_STUDY, region, P), budget, curvature=curvature,
        calibration="paper", neighbours="add_remove",
    )  # fmt: skip
    b = law.sample((1, P), np.random.default_rng(3))[0]
    theta = cp.Variable(P)
    total = 0.5 * cp.sum_squares(X @ theta - y) + regularizer.l1 * cp.norm1(theta) + b @ theta
    total += 0.5 * curvature * cp.sum_squares(theta)  # l2 and (Delta - l2)_+ together
    inside = [cp.norm2(theta) <= 1] if region is BALL else [cp.norm_inf(theta) <= 1]
    cp.Problem(cp.Minimize(total), inside).solve(solver=cp.CLARABEL)
    np.testing.assert_allclose(released.theta[0], theta.value, atol=1e-4)
    assert released.converged.all()
    assert np.linalg.norm(released.theta[0] - theta.value) <= released.certificate[0] + 1e-4


def test_only_what_the_regularizer_lacks_of_delta_is_added():
    """kifer2012, Section 2.2: with a gamma-strongly convex r, (Delta - gamma)_+ is added; the minimiser is the same."""
    X, y = data()
    fixed = {"region": BALL, "repeats": 3}
    whole = release(X, y, losses.squared(), curvature=30.0, **fixed)
    for l2 in (10.0, 30.0):
        shared = release(X, y, losses.squared(), curvature=30.0, regularizer=Regularizer(l2=l2), **fixed)
        np.testing.assert_allclose(shared.theta, whole.theta, atol=1e-5)
    more = release(X, y, losses.squared(), curvature=30.0, regularizer=Regularizer(l2=50.0), **fixed)
    np.testing.assert_allclose(more.theta, release(X, y, losses.squared(), curvature=50.0, **fixed).theta, atol=1e-5)


@together.over("budget", [BUDGET, APPROXIMATE])
@together.over("calibration", ["paper", "tight"])
@together.over("neighbours", ["add_remove", "replace"])
@together.over(("curvature", "l2"), [(9.0, 3.0), (3.0, 9.0)])
def test_a_ridge_is_credited_once(monkeypatch, curvature, l2, neighbours, calibration, budget):
    """Delta and l2 are the problem of max(Delta, l2) without l2: the same noise, the same guarantee, the same theta."""
    X, y = data()
    scales, honest = [], objective.calibrate

    def watched(*arguments, **named):
        found = honest(*arguments, **named)
        scales.append(found[0].scale)
        return found

    monkeypatch.setattr(objective, "calibrate", watched)
    fixed = {"neighbours": neighbours, "calibration": calibration, "budget": budget, "tolerance": 1e-9, "repeats": 3}
    both, stated = (
        release(X, y, losses.squared(), **fixed, region=BALL, curvature=delta, regularizer=Regularizer(l2=ridge))
        for delta, ridge in ((curvature, l2), (9.0, 0.0))
    )
    least, _ = honest(
        losses.squared(), objective.searched(CASE_STUDY, BALL, P), budget, curvature=9.0, calibration=calibration,
        neighbours=neighbours,
    )  # fmt: skip
    assert scales == [least.scale, least.scale]
    assert both.guarantee == stated.guarantee
    np.testing.assert_allclose(both.theta, stated.theta, atol=1e-7)


def test_what_the_regularizer_gives_may_replace_delta():
    """Delta below 2 lambda/epsilon is refused unless l2 makes up for it."""
    X, y = data()
    with pytest.raises(InvalidBudget, match="below 2 lambda/epsilon"):
        release(X, y, losses.squared(), region=BALL, curvature=1.0)
    assert release(X, y, losses.squared(), region=BALL, curvature=1.0, regularizer=Regularizer(l2=8.0)).converged.all()


def test_a_released_point_stays_in_the_set_when_the_solver_error_is_hidden():
    X, y = data()
    for region in (BALL, BOX):
        theta = release(X, y, losses.squared(), region=region, solver_share=0.1, repeats=50, tolerance=0.5).theta
        inside = np.linalg.norm(theta, axis=1) if region is BALL else np.abs(theta).max(axis=1)
        assert inside.max() <= 1 + 1e-12
    with pytest.raises(InvalidBudget, match="only cvxpy knows; leave it 0"):
        release(X, y, losses.squared(), region=BALL, regularizer=Regularizer(expression=cp.tv), solver_share=0.1)


def test_of_a_box_within_a_ball_the_nearest_point_is_returned():
    rng = np.random.default_rng(5)
    for low, high in ((-0.2, 0.7), (0.0, math.inf), (-math.inf, 0.4)):
        region = Region(radius=1.0, low=low, high=high)
        theta = rng.normal(size=(6, P)) * 10.0 ** rng.integers(-1, 3, (6, 1))
        theta[0, 0] = 0.0
        found, z = project(theta, region), cp.Variable(P)
        for point, given in zip(found, theta, strict=True):
            inside = [z >= max(low, -1e3), z <= min(high, 1e3), cp.norm2(z) <= 1]
            cp.Problem(cp.Minimize(cp.norm2(z - given)), inside).solve(solver=cp.CLARABEL)
            assert np.linalg.norm(point - given) <= np.linalg.norm(z.value - given) + 1e-6
            assert np.linalg.norm(point) <= 1 + 1e-15 and low <= point.min() and point.max() <= high
        assert found[0, 0] == 0.0
        again = project(found, region)
        np.testing.assert_allclose(again, found, rtol=1e-15)


def test_the_domains_own_radius_is_no_feasible_set():
    """A bound on theta that nothing enforces would be a privacy leak."""
    X, y = data()
    domain = Domain(x_norm=math.sqrt(P), y_bound=float(P), theta_norm=1.0)
    with pytest.raises(DomainViolation, match="declare the set's radius, or low and high, and y_bound"):
        release(X, y, losses.squared(), domain=domain)
    with pytest.raises(DomainViolation, match="y_bound"):
        release(X, y, losses.squared(), domain=Domain(x_norm=2.0), region=BALL)


@pytest.mark.parametrize(
    ("regularizer", "region"),
    [
        (Regularizer(expression=lambda z: 5.0 * cp.normNuc(cp.reshape(z, (2, 2), order="F"))), BALL),
        (Regularizer(expression=lambda z: 5.0 * cp.norm1(cp.diff(z))), BALL),
        (Regularizer(), Region(radius=1.0, constraints=lambda z: [z >= 0, cp.sum(z) == 1])),
    ],
    ids=["nuclear norm", "fused lasso", "simplex"],
)
def test_what_cvxpy_states_is_released_too(regularizer, region):
    X, y = data()
    released = release(X, y, losses.squared(), budget=APPROXIMATE, regularizer=regularizer, region=region, repeats=2)
    assert released.converged.all() and released.guarantee == "proved_exact"
    assert (np.linalg.norm(released.theta, axis=1) <= 1 + 1e-6).all()
    if region.constraints is not None:
        assert (released.theta >= -1e-6).all() and np.allclose(released.theta.sum(axis=1), 1)


def test_the_estimator_takes_regularizers_and_sets():
    X, y = data(n=400)
    fixed = {"loss": "squared", "x_norm": 2.0, "epsilon": 50.0, "delta": 1e-6, "random_state": 0}
    model = ObjectivePerturbation(**fixed, l1=60.0, radius=1.5, y_bound=4.0).fit(X, y)
    assert model.privacy_.guarantee == "proved" and np.linalg.norm(model.coef_) <= 1.5 + 1e-9
    assert (model.coef_ == 0).sum() >= 1 and model.score(X, y) > 0.5
    boxed = ObjectivePerturbation(**fixed, low=0.0, high=1.0, y_bound=4.0).fit(X, y)
    assert boxed.coef_.min() == 0.0 and boxed.coef_.max() <= 1.0
    with pytest.raises(DomainViolation, match=r"targets beyond y_bound=1; .* clip=True"):
        ObjectivePerturbation(**fixed, radius=1.0, y_bound=1.0).fit(X, y)
    clipped = ObjectivePerturbation(**fixed, radius=1.0, y_bound=1.0, clip=True).fit(X, y)
    by_hand = ObjectivePerturbation(**fixed, radius=1.0, y_bound=1.0).fit(X, np.clip(y, -1, 1))
    np.testing.assert_array_equal(clipped.coef_, by_hand.coef_)


@together.over(
    "given, message",
    [
        ({"l1": -1.0}, r"l1=-1.* the weight of a norm; 0 leaves it out"),
        ({"radius": 0.0}, r"radius=0.* radius of the feasible ball"),
        ({"low": 1.0, "high": 0.0}, "low=1 must be below high=0: the box is empty"),
        ({"low": 1.0, "radius": 0.5}, "may miss the ball"),
    ],
)
def test_impossible_sets_are_refused_before_the_data_are_looked_at(given, message):
    with pytest.raises(ValueError, match=message):
        ObjectivePerturbation(classes=(0, 1), **given).fit(np.full((2, 2), np.nan), [0, 1])


@pytest.mark.parametrize("region", [BALL, BOX], ids=["ball", "box"])
def test_the_gram_matrix_is_all_that_the_squared_loss_needs(region):
    X, y = data()
    fixed = {"budget": APPROXIMATE, "region": region, "repeats": 5, "solver_share": 0.1}
    whole = release(X, y, losses.squared(), **fixed)
    arguments = {"domain": CASE_STUDY, "neighbours": "add_remove", "calibration": "paper"}
    part = objective.release_gram(X.T @ X, X.T @ y, **arguments, **fixed, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(part.theta, whole.theta)


@pytest.mark.parametrize("R", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(
    "stated",
    [
        {"regularizer": lambda z: cp.norm1(cp.diff(z))},
        {"regularizer": lambda z: cp.normNuc(cp.reshape(z, (2, 2), order="C"))},
        {"constraints": lambda z: [cp.norm_inf(z) <= 1]},
        {"constraints": lambda z: [z >= 0, cp.sum(z) == 1]},
    ],
    ids=["fused", "nuclear", "norm_inf", "simplex"],
)
def test_what_cvxpy_states_is_solved_for_rows_of_any_length(stated, R):
    """At the ends of the range that `fit` takes, and within (docs/privacy.md, section 1)."""
    X = np.random.default_rng(1).normal(size=(200, P))
    X *= R / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1)
    for rows in (np.zeros((3, P)), X):
        model = ObjectivePerturbation(loss="logistic", classes=(0, 1), x_norm=R, random_state=0, **stated).fit(
            rows, np.arange(len(rows)) % 2.0
        )
        assert np.isfinite(model.coef_).all()
