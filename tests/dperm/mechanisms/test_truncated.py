"""Noise cut off at a point: its law by quadrature and by rejection, what c is refused, and the minimiser by cvxpy."""

import math

import cvxpy as cp
import numpy as np
import pytest
from scipy import stats

from dperm.domain import Budget, Domain
from dperm.errors import InvalidBudget
from dperm.mechanisms import truncated
from dperm.noise import Gaussian, SphericalLaplace

BUDGET = Budget(1.0, 1e-4)
FORM = {
    "strength": 0.5, "domain": Domain(1.0, 1.0), "budget": BUDGET, "neighbours": "add_remove", "low": 0.0, "high": 1.0,
}  # fmt: skip


def test_a_cut_gaussian_is_scipys_truncated_normal():
    drawn = truncated.Truncated(Gaussian(3.0), -2.0).sample((2_000, 2), np.random.default_rng(0))
    law = stats.truncnorm(-2 / 3, math.inf, scale=3.0)
    assert drawn.min() > -2.0 and stats.kstest(np.ravel(drawn), law.cdf).pvalue > 1e-4


def test_a_cut_spherical_law_keeps_every_vector_above_the_point_and_its_odds():
    law = SphericalLaplace(1.0)
    drawn = truncated.Truncated(law, -1.0).sample((4_000, 2), np.random.default_rng(1))
    whole = law.sample((40_000, 2), np.random.default_rng(2))
    kept = whole[(whole > -1.0).all(axis=1)]
    assert drawn.shape == (4_000, 2) and drawn.min() > -1.0
    assert stats.ks_2samp(np.linalg.norm(drawn, axis=1), np.linalg.norm(kept, axis=1)).pvalue > 1e-4


@pytest.mark.parametrize("features", [1, 16])
def test_the_highest_point_is_met_as_often_as_is_said(features):
    law, beta = Gaussian(2.0), 1e-5
    point = truncated.highest(law, beta, features)
    assert truncated.cut(law, point, features) == pytest.approx(beta, rel=1e-9)
    assert 1 - stats.norm.sf(point, scale=2.0) ** features == pytest.approx(beta, rel=1e-6)


def test_corrected_refuses_what_delta_does_not_cover_and_pure_privacy():
    with pytest.raises(InvalidBudget, match="take -") as refused:
        truncated.plan("squared", 2, point=-1.0, calibration="corrected", **FORM)
    valid = float(str(refused.value).split("take ")[1].split(" ")[0])
    made = truncated.plan("squared", 2, point=1.001 * valid, calibration="corrected", **FORM)
    # delta = delta' + (1 + e^epsilon) beta.
    spent = 0.5e-4 + (1 + math.e) * (1 - stats.norm.sf(made.law.point, scale=made.law.law.scale) ** 2)
    assert 0.99e-4 < spent <= 1e-4
    with pytest.raises(InvalidBudget, match="delta=0"):
        truncated.plan("squared", 2, point=-100.0, calibration="corrected", **{**FORM, "budget": Budget(1.0)})


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 0.0)])
def test_corrected_minimises_the_stated_objective(low, high):
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-0.5, 0.5, (30, 2)), rng.uniform(-1, 1, 30)
    form = {**FORM, "low": low, "high": high, "point": -1e3, "calibration": "corrected"}
    found = truncated.release(X, y, "squared", rng=np.random.default_rng(4), repeats=3, **form)
    made = truncated.plan("squared", 2, **form)
    b = made.law.sample((3, 2), np.random.default_rng(4))
    for theta, each in zip(found.theta, b, strict=True):
        free = cp.Variable(2)
        beside = 0.5 * cp.norm1(free) + made.base.scheme.floor * cp.sum_squares(free)
        tilt = (each if low == 0 else -each) @ free
        objective = cp.sum_squares(y - X @ free) / 2 + beside + tilt
        cp.Problem(cp.Minimize(objective), [free >= low, free <= high]).solve(solver=cp.CLARABEL)
        np.testing.assert_allclose(theta, free.value, atol=1e-5)
    assert found.guarantee == "proved_exact" and found.converged.all()


def test_as_printed_nothing_is_promised():
    X, y = np.array([[0.5, 0.1]]), np.array([1.0])
    for delta in (0.0, 1e-4):
        form = {**FORM, "budget": Budget(1.0, delta), "calibration": "paper", "point": -5.0}
        found = truncated.release(X, y, "squared", rng=np.random.default_rng(5), repeats=5, **form)
        assert found.guarantee == "none" and found.theta.shape == (5, 2)
