"""Gaussian output perturbation of an explicit w: the law of its predictions is that of RKHSGaussian."""

import numpy as np
import pytest
from scipy import sparse, stats

from dperm import kernels
from dperm.domain import Budget
from dperm.errors import DomainViolation, InvalidBudget
from dperm.mechanisms.kernel import explicit, rkhs
from dperm.mechanisms.kernel.constants import Setting, sigma

BUDGET = Budget(0.8, 1e-6)
SETTING = Setting(lipschitz=1.0, feature_norm=8**0.5, total=100.0, slack=1e-4, neighbours="add_remove")
REPEATS = 4000


def rows():
    Q = np.random.default_rng(0).normal(size=(4, 6)) * (np.random.default_rng(1).random((4, 6)) < 0.6)
    return Q / np.linalg.norm(Q, axis=1, keepdims=True)


def test_w_gets_independent_gaussian_noise():
    w = np.array([1.0, -2.0, 0.0])
    released = explicit.release(w, SETTING, BUDGET, rng=np.random.default_rng(2), repeats=REPEATS)
    noise = (released.theta - w) / sigma(SETTING, BUDGET)
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-3
    np.testing.assert_allclose(noise.T @ noise / REPEATS, np.eye(3), atol=0.1)
    assert released.guarantee == "proved" and released.converged.all() and (released.certificate == 1e-4).all()
    assert released.event == rkhs.event(SETTING, sigma(SETTING, BUDGET))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_predictions_have_the_law_of_the_kernel(form):
    Q, answers = rows(), np.arange(4.0)
    features = kernels.monomials(Q)
    features = features.toarray() if form is np.asarray else features
    released = explicit.predictions(answers, features, SETTING, BUDGET, rng=np.random.default_rng(3), repeats=REPEATS)
    K = (Q @ Q.T + 1) ** 3
    whitened = np.linalg.solve(np.linalg.cholesky(K), (released.answers - answers).T) / sigma(SETTING, BUDGET)
    assert stats.kstest(whitened.ravel(), "norm").pvalue > 1e-3
    np.testing.assert_allclose(whitened @ whitened.T / REPEATS, np.eye(4), atol=0.1)


def test_columns_that_no_row_meets_cost_nothing():
    wide = sparse.csr_array(([0.6, 0.8, 1.0], ([0, 0, 1], [5, 10**12, 7])), shape=(2, 10**13))
    narrow = np.array([[0.6, 0.0, 0.8], [0.0, 1.0, 0.0]])
    one, other = (
        explicit.predictions(np.zeros(2), Q, SETTING, BUDGET, rng=np.random.default_rng(4), repeats=3).answers
        for Q in (wide, narrow)
    )
    # Columns 5, 7 and 10^12 in their order.
    np.testing.assert_allclose(one, other)


def test_what_is_refused():
    with pytest.raises(DomainViolation, match="1 of 2 queries"):
        explicit.predictions(np.zeros(2), 3 * np.eye(2)[:, :1], SETTING, BUDGET, rng=np.random.default_rng(0))
    with pytest.raises(InvalidBudget, match="delta=0"):
        explicit.release(np.zeros(2), SETTING, Budget(1.0), rng=np.random.default_rng(0))
