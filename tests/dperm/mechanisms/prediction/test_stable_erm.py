"""Stable ERM: its rates against brute force, its solvers against cvxpy, and the noise of linear predictors."""

import itertools
import math

import cvxpy as cp
import numpy as np
import pytest
import together
from designs import in_ball
from scipy import stats

import dperm
from dperm import losses
from dperm.domain import Domain
from dperm.errors import DataError, DomainViolation, InvalidBudget, SolverError
from dperm.mechanisms.prediction import stable_erm, stable_sgd
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear


def in_cvxpy(name, margin, y):
    signed = cp.multiply(y, margin)
    return {
        "logistic": lambda: cp.logistic(-signed),
        "hinge": lambda: cp.pos(1 - signed),
        "absolute": lambda: cp.abs(margin - y),
        "huber": lambda: cp.huber(margin - y, 1.0) / 2,
        "squared": lambda: cp.square(margin - y) / 2,
    }[name]()


@pytest.mark.parametrize("corollary", ["4.10", "4.11"])
@pytest.mark.parametrize("name", ["logistic", "hinge", "absolute", "huber", "squared"])
def test_the_minimiser_is_the_one_of_cvxpy(name, corollary):
    X, y = in_ball(40, labels=name in ("logistic", "hinge"))
    total, radius, n = 3.0, 0.4, len(X)
    w, certificate = stable_erm.minimise(
        X, y, losses.make(name), total=total, radius=radius, corollary=corollary, slack=1e-6
    )
    v = cp.Variable(3)
    weight = (1 if corollary == "4.11" else 0.5) * total / n
    ball = [] if name in ("hinge", "absolute") else [cp.norm(v) <= radius]
    cp.Problem(cp.Minimize(cp.sum(in_cvxpy(name, X @ v, y)) / n + weight * cp.sum_squares(v)), ball).solve(
        solver="CLARABEL", tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13
    )
    assert np.linalg.norm(w - v.value) < 2e-6 and certificate <= 1e-6


def test_constants():
    assert stable_erm.regulariser(2.0, 3.0, 5.0, 100, 0.25) == pytest.approx(12 / (5 * math.sqrt(100 * 0.25 / 1.25)))
    printed = stable_erm.rate(2.0, 3.0, 50.0, calibration="paper")
    assert printed == pytest.approx(4 * 9 * 2 / 50)
    tight = {
        (corollary, relation): stable_erm.rate(
            2.0, 3.0, 50.0, calibration="tight", corollary=corollary, neighbours=relation
        )
        for corollary, relation in itertools.product(("4.10", "4.11"), ("replace", "add_remove"))
    }
    assert [printed / rate for rate in tight.values()] == pytest.approx([2, 4, 4, 8])


@pytest.mark.parametrize("corollary", ["4.10", "4.11"])
@pytest.mark.parametrize("name", ["logistic", "hinge", "huber"])
def test_no_neighbour_moves_an_answer_by_more_than_the_rate(name, corollary):
    loss, total = losses.make(name), 4.0
    fixed = {"total": total, "radius": 1.0, "corollary": corollary, "slack": 1e-7}
    X, y = in_ball(12)
    w = stable_erm.minimise(X, y, loss, **fixed)[0]
    rng = np.random.default_rng(1)
    for neighbours in ("replace", "add_remove"):
        most = stable_erm.rate(1.0, 1.0, total, calibration="tight", corollary=corollary, neighbours=neighbours)
        moved = []
        for i in range(len(X)):
            Z, other = (X.copy(), y.copy()) if neighbours == "replace" else (np.delete(X, i, 0), np.delete(y, i))
            if neighbours == "replace":
                Z[i] = rng.standard_normal(3)
                Z[i] /= np.linalg.norm(Z[i])
                other[i] *= -1
            moved.append(np.linalg.norm(w - stable_erm.minimise(Z, other, loss, **fixed)[0]))
        assert 0 < max(moved) <= most


@pytest.mark.parametrize(("corollary", "weight"), [("4.10", 1), ("4.11", 2)])
def test_the_tight_rate_of_minimisers_is_attained(corollary, weight):
    # |w - y| with |w| < 1 is linear: total weight w = sum of labels.
    X, y = np.ones((9, 1)), np.array([1.0] * 5 + [-1.0] * 4)
    fixed = {"total": 10.0, "radius": 1.0, "corollary": corollary, "slack": 1e-9}
    first = stable_erm.minimise(X, y, losses.make("absolute"), **fixed)[0][0]
    second = stable_erm.minimise(X, np.where(np.arange(9) == 0, -1.0, y), losses.make("absolute"), **fixed)[0][0]
    assert first == pytest.approx(1 / (weight * 10), abs=2e-9)
    rate = stable_erm.rate(1.0, 1.0, 10.0, calibration="tight", corollary=corollary)
    assert first - second == pytest.approx(rate, abs=4e-9)


@together.over("neighbours", ["replace", "add_remove"])
@together.over("corollary", ["4.10", "4.11"])
@together.over("tolerance", [1e-12, 0.01, 0.5, 0.51, 1.0])
@together.over("calibration", ["paper", "tight"])
def test_the_statement_says_proved_where_the_noise_covers_the_solver_and_nowhere_else(
    neighbours, corollary, tolerance, calibration
):
    """Before, "paper" said `proved_exact` although four times the noise has room for the slack of both fits."""
    X, y = in_ball(20)
    domain, total = Domain(2.0, None, 1.0), 3.0
    how = {"calibration": calibration, "neighbours": neighbours, "corollary": corollary, "tolerance": tolerance}
    made = stable_erm.prepare(X, y, losses.make("smoothed_hinge"), domain=domain, epsilon=1.0, total=total, **how)
    apart = (2 if neighbours == "replace" else 1) * domain.x_norm / (total * (2 if corollary == "4.11" else 1))
    covers = made.rate * (1 + 1e-12) >= domain.x_norm * (apart + 2 * tolerance * apart)
    assert made.guarantee == ("proved" if covers else "proved_exact")
    model = dperm.StableERM(
        classes=(-1, 1), x_norm=2.0, total=total, queries=1, random_state=0, loss="smoothed_hinge", **how
    ).fit(X, y)
    assert model.privacy_.guarantee == made.guarantee


def test_the_solver_is_paid_for():
    X, y = in_ball(200)
    given = {"domain": Domain(1.0, None, 1.0), "epsilon": 0.5, "tolerance": 0.2}
    tight = stable_erm.prepare(X, y, losses.make("hinge"), calibration="tight", **given)
    lam = stable_erm.regulariser(1.0, 1.0, 1.0, 200, 0.5)
    exact = 1 / (lam * 200)
    assert tight.rate == pytest.approx(exact * 1.4) and tight.certificate <= 0.2 * exact
    assert tight.scale == pytest.approx(tight.rate / 0.5) and tight.guarantee == "proved"
    paper = stable_erm.prepare(X, y, losses.make("hinge"), calibration="paper", **given)
    assert paper.rate == pytest.approx(4 * exact) and paper.guarantee == "proved"
    with pytest.raises(SolverError, match="tolerance"):
        stable_erm.minimise(X, y, losses.make("logistic"), total=1.0, radius=1.0, slack=1e-30)


@pytest.mark.parametrize("module", [stable_erm, stable_sgd])
def test_a_release_is_the_predictor_and_its_noise(module):
    X, y = in_ball(40)
    given = {"domain": Domain(1.0, None, 1.0), "epsilon": 2.0, "calibration": "tight"}
    predictor = module.prepare(X, y, losses.make("logistic"), **given)
    values = module.release(X, y, losses.make("logistic"), X[:4], **given, rng=np.random.default_rng(3), repeats=5)
    assert values.shape == (5, 4)
    np.testing.assert_array_equal(values, predictor.release(X[:4], rng=np.random.default_rng(3), repeats=5))


def test_answers_carry_laplace_noise_of_the_rate():
    predictor = NoisyLinear(np.array([0.5, -0.25]), 0.2, 0.4, "proved")
    Z = np.array([[1.0, 0.0], [0.0, 1.0]])
    values = predictor.release(Z, rng=np.random.default_rng(0), repeats=4000)
    for column, centre in zip(values.T, (0.5, -0.25), strict=True):
        assert stats.kstest(column, "laplace", (centre, 0.5)).pvalue > 1e-3
    assert abs(np.corrcoef(values.T)[0, 1]) < 0.06
    rngs = [np.random.default_rng(k) for k in (1, 2)]
    own = predictor.answer(Z, rngs)
    noise = [np.random.default_rng(k).laplace(0.0, 0.5) for k in (1, 2)]
    np.testing.assert_allclose(own, Z @ predictor.w + noise)
    with pytest.raises(InvalidBudget):
        NoisyLinear(np.zeros(1), 1.0, 1e-120, "proved")


def test_mistakes_are_named():
    X, y = in_ball(40)
    loss, domain = losses.make("logistic"), Domain(1.0, None, 1.0)
    with pytest.raises(DataError, match="no records"):
        stable_erm.prepare(X[:0], y[:0], loss, domain=domain, epsilon=1.0, calibration="tight")
    with pytest.raises(ValueError, match="'paper' and 'tight'"):
        stable_erm.rate(1.0, 1.0, 1.0, calibration="corrected")
    with pytest.raises(ValueError, match=r"corollary='4\.13'"):
        stable_erm.rate(1.0, 1.0, 1.0, calibration="tight", corollary="4.13")
    with pytest.raises(InvalidBudget, match="epsilon"):
        stable_erm.regulariser(1.0, 1.0, 1.0, 10, 0.0)
    with pytest.raises(DomainViolation, match="radius"):
        stable_erm.regulariser(1.0, 1.0, 0.0, 10, 1.0)
    with pytest.raises(DomainViolation, match="total=-1"):
        stable_erm.declared_total(-1.0, 1.0, domain, 10, 1.0, "replace", "4.11")


def test_targets_beyond_every_margin_pull_as_one_there_and_fail_no_solver():
    """Before, targets of 1e9 and more beside an intercept were too far out for a certificate in double precision."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-0.1, 0.1, (44, 2)), np.ones(44)])
    side, fixed = rng.choice([-1.0, 1.0], 44), {"total": 250.0, "radius": 0.05, "slack": 1e-6}
    near = stable_erm.minimise(X, 10 * side, losses.absolute(), **fixed)[0]
    for far in (1e9, 1e20, 1e30):
        w, certificate = stable_erm.minimise(X, far * side, losses.absolute(), **fixed)
        assert certificate <= 1e-6
        np.testing.assert_allclose(w, near, atol=2e-6)
    # All slopes are those of the sides there: ridge w = sum_i side_i x_i, with the lambda n of Corollary 4.11.
    np.testing.assert_allclose(near, side @ X / np.linalg.norm(side @ X) * np.linalg.norm(near), atol=2e-6)
