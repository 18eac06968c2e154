"""A kernel without a feature map is refused as soon as the queries show it, and no true kernel is."""

import copy
import pickle

import numpy as np
import pytest
import together
from scipy import sparse

from dperm import PINP, RKHSGaussian, kernels
from dperm.domain import Budget
from dperm.errors import DomainViolation
from dperm.mechanisms.kernel import definite, rkhs
from dperm.mechanisms.kernel.constants import Setting

BUDGET = Budget(1.0, 1e-6)
X = np.random.default_rng(0).uniform(-0.7, 0.7, (60, 2))
Y = np.where(X[:, 0] > 0, 1, 0)
# Of three queries; the third has the variance 1 - 2 * 0.8^2 given the others.
K = np.array([[1.0, 0.0, 0.8], [0.0, 1.0, 0.8], [0.8, 0.8, 1.0]])
SHAM = "kernel is not positive semidefinite on these queries"


def tanh(A, B):
    return np.tanh(A @ B.T)


def turned(A, B):
    return 2.0 - A @ B.T


def setting(R):
    return Setting(lipschitz=1.0, feature_norm=R, total=100.0)


@together.over(("Estimator", "more"), [(RKHSGaussian, {}), (PINP, {}), (PINP, {"calibration": "corrected"})])
@together.over(("kernel", "R"), [(tanh, 1.0), (turned, 2.0**0.5)])
@together.over("one_by_one", [True, False])
@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_a_kernel_that_is_none_is_refused(Estimator, more, kernel, R, one_by_one):
    model = Estimator(kernel=kernel, feature_norm=R, classes=(0, 1), random_state=0, **more).fit(X, Y)
    asked = np.random.default_rng(1).uniform(-0.7, 0.7, (40, 2))
    # The Gram matrix itself says so.
    assert np.linalg.eigvalsh(kernel(asked, asked))[0] < -1e-6
    parts = np.split(asked, 40) if one_by_one else [asked]
    with pytest.raises(DomainViolation, match=SHAM):
        for part in parts:
            model.decision_function(part)


@pytest.mark.parametrize(
    "kernel",
    [kernels.linear(), kernels.polynomial(), kernels.gaussian(0.05), kernels.gaussian(1.0), kernels.gaussian(50.0)],
)
@pytest.mark.parametrize("sparse_rows", [False, True])
def test_a_kernel_is_never_refused(kernel, sparse_rows):
    """Near copies, exact copies and zero among the queries; more directions than are kept."""
    rng = np.random.default_rng(2)
    Z = rng.uniform(-0.4, 0.4, (300, 3))
    Z = np.concatenate([Z, Z[:50], Z[:50] + 1e-7 * rng.standard_normal((50, 3)), np.zeros((1, 3))])
    Z = sparse.csr_array(Z) if sparse_rows else Z
    watch, path = definite.Watch(kernel), rkhs.Path(kernel, setting(kernel.R), BUDGET, rng)
    watch.see(Z)
    path.answer(Z, np.zeros(Z.shape[0]))
    assert len(watch._L) <= definite.MOST and watch._points.shape[0] == len(watch._L)


def test_what_a_path_answered_before_a_refusal_stands():
    """A refused call leaves no trace in the path, and what was answered is answered again."""
    kernel, (one, two, three) = kernels.custom(lambda A, B: A @ K @ B.T, 1.0), np.split(np.eye(3), 3)
    path = rkhs.Path(kernel, setting(1.0), BUDGET, np.random.default_rng(3))
    first = path.answer(one, np.ones(1))
    with pytest.raises(DomainViolation, match=SHAM):
        path.answer(np.concatenate([two, three]), np.ones(2))
    assert path.directions == len(path._points) == 1
    assert path.answer(one, np.ones(1)) == first
    assert np.isfinite(path.answer(np.concatenate([one, two]), np.ones(2))).all()
    assert path.directions == len(path._points) == 2
    with pytest.raises(DomainViolation, match=SHAM):
        path.answer(three, np.ones(1))


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_nothing_of_a_refused_call_is_answered():
    model = PINP(kernel=tanh, feature_norm=1.0, classes=(0, 1), random_state=0).fit(X, Y)
    asked = np.random.default_rng(1).uniform(-0.7, 0.7, (40, 2))
    with pytest.raises(DomainViolation, match=SHAM):
        model.decision_function(asked)
    assert model.dialogue_.asked == 0


def test_the_variance_left_is_that_of_the_gram_matrix():
    """A negative eigenvalue at the third query: 1 - k'K^{-1}k by hand."""
    kernel = kernels.custom(lambda A, B: A @ K @ B.T, 1.0)
    watch = definite.Watch(kernel)
    watch.see(np.eye(3)[:2])
    with pytest.raises(DomainViolation, match=r"the variance -0\.28;"):
        watch.see(np.eye(3)[2:])


def test_a_watch_can_be_copied():
    watch = definite.Watch(kernels.gaussian())
    watch.see(X[:5])
    for twin in (copy.deepcopy(watch), pickle.loads(pickle.dumps(watch))):
        twin.see(X[5:9])
        assert len(twin._L) == 9 and len(watch._L) == 5
