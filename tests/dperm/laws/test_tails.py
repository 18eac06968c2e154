"""Distribution functions of noise against SciPy's, far into both tails."""

import numpy as np
import pytest
from scipy import stats

from dperm.laws import tails
from dperm.noise import Gaussian, Laplace, SphericalLaplace

KNOWN = {Gaussian: stats.norm, Laplace: stats.laplace, SphericalLaplace: stats.laplace}
POINTS = np.linspace(-30, 30, 121)


@pytest.mark.parametrize("kind", KNOWN)
def test_tails_and_differences_have_their_relative_accuracy(kind):
    law, known = kind(2.0), KNOWN[kind](scale=2.0)
    low, high = POINTS[:-1], POINTS[1:]
    np.testing.assert_allclose(tails.lower_tail(law, POINTS / 2), known.cdf(POINTS), rtol=1e-12)
    thin = np.where(low >= 0, known.sf(low) - known.sf(high), known.cdf(high) - known.cdf(low))
    np.testing.assert_allclose(tails.between(law, low, high), thin, rtol=1e-11)
    np.testing.assert_allclose(tails.differences(known.cdf(POINTS), known.sf(POINTS)), thin, rtol=1e-11)
    assert tails.between(law, np.array([-np.inf]), np.array([np.inf])) == [1.0]
