"""What the kernel estimators refuse, or cannot say, in words that help."""

import math

import numpy as np
import pytest
from scipy import sparse

from dperm import TDDL, TDIL, RKHSGaussian, kernels
from dperm.domain import Budget
from dperm.errors import DomainViolation, InvalidBudget
from dperm.mechanisms.kernel import tdil
from dperm.mechanisms.kernel.constants import Setting

X = np.random.default_rng(0).uniform(-0.5, 0.5, (80, 2))
Y = np.where(X[:, 0] > 0, 1, 0)
OTHER = np.random.default_rng(1).uniform(-0.5, 0.5, (30, 2))


def test_without_delta_tddl_advises_what_it_has():
    with pytest.raises(InvalidBudget, match="calibration='corrected'") as error:
        TDDL(delta=0.0, classes=(0, 1)).fit(X, Y)
    assert "spherical" not in str(error.value)
    TDDL(delta=0.0, calibration="corrected", classes=(0, 1), random_state=0).fit(X, Y)


def test_without_delta_a_path_advises_some():
    with pytest.raises(InvalidBudget, match="delta=1e-6") as error:
        RKHSGaussian(delta=0.0, classes=(0, 1)).fit(X, Y)
    assert "spherical" not in str(error.value) and "corrected" not in str(error.value)


def test_too_many_public_points_are_to_be_fewer():
    with pytest.raises(DomainViolation, match="16,000 MB; take fewer, 300 is usual"):
        TDDL(n_public=10**9, classes=(0, 1)).fit(X, Y)


def test_too_many_columns_are_to_be_sparse():
    wide = sparse.csr_array(([0.5, 0.5], ([0, 1], [0, 1])), shape=(2, 10**6))
    with pytest.raises(DomainViolation, match="2,400 MB; give sparse ones of your own as public="):
        TDDL(kernel="linear", classes=(0, 1)).fit(wide, [0, 1])


def test_a_linear_tdil_looks_at_no_public_set():
    with pytest.raises(ValueError, match=r"public is given, but kernel='linear'.*dperm\.kernels\.linear"):
        TDIL(public=X[::2], classes=(0, 1)).fit(X, Y)


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_a_linear_kernel_may_be_asked_at_public_points():
    model = TDIL(kernel=kernels.linear(), public=OTHER, classes=(0, 1), random_state=0).fit(X, Y)
    assert model.public_.shape == OTHER.shape


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_sparse_public_points_are_as_good_as_dense():
    found = [
        TDIL(kernel="rbf", public=Z, epsilon=1e5, C=0.01, classes=(0, 1), random_state=0).fit(X, Y).decision_function(X)
        for Z in (OTHER, sparse.csr_array(OTHER))
    ]
    np.testing.assert_allclose(*found, rtol=1e-6, atol=1e-9)


def test_a_sigma_that_is_not_defined_is_not_printed():
    """Line 1 of Algorithm 3 with B = n eps/(100 L R log(4/delta)) of 4e-4: log(2 B/beta) is negative."""
    setting = Setting(lipschitz=1.0, feature_norm=1.0, total=100.0, radius=1.0)
    made = tdil.constants(setting, Budget(0.03, 1e-6), records=20, dimension=2, beta=0.05, calibration="paper")
    assert made.bound == pytest.approx(20 * 0.03 / (100 * math.log(4e6))) and made.vacuous and made.rounds == 0
    assert str(made) == "B=0.000395, sigma undefined (B < 1): vacuous"
    made = tdil.constants(setting, Budget(0.03, 1e-6), records=20_000, dimension=2, beta=0.05, calibration="paper")
    assert str(made).startswith("B=0.395, sigma=")
