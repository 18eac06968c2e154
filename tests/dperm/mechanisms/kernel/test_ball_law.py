"""The exact sampler of exp(c |<z, u>|) on the ball, against numerical integration."""

import numpy as np
import pytest
import together
from scipy import integrate, special, stats

from dperm.errors import DataError
from dperm.mechanisms.kernel import ball_law

DRAWS = 100_000
# The 1e-7 quantile of Kolmogorov's statistic at so many draws: 55 laws are tested.
LARGEST = stats.kstwo.isf(1e-7, DRAWS)


def distribution(c, a, s):
    """P(S <= s) of the density e^{-c s} (s (2 - s))^a on [0, 1], by trapezoids around the draws."""
    grid = np.unique(
        np.concatenate([f(s.min() / 2, min(1.0, 1.5 * s.max()), 100_001) for f in (np.linspace, np.geomspace)])
    )
    log = -c * grid + a * np.log(grid * (2 - grid))
    cumulative = integrate.cumulative_trapezoid(np.exp(log - log.max()), grid, initial=0)
    return lambda x: np.interp(x, grid, cumulative / cumulative[-1])


@pytest.mark.parametrize("d", [1, 2, 3, 20, 1000, 10**7])
@pytest.mark.parametrize("c", [0.0, 0.1, 3.0, 100.0, 1e5, 1e12])
def test_the_law_of_the_height_and_its_proposals(c, d):
    s, proposals = ball_law.heights(np.full(DRAWS, c), d, np.random.default_rng([d, int(c)]))
    assert stats.kstest(s, distribution(c, (d - 1) / 2, s)).statistic < LARGEST
    assert proposals.mean() < 1.6


@pytest.mark.parametrize("d", [2, 7, 300])
def test_every_ratio_of_c_to_d_takes_few_proposals(d):
    c = d * 10.0 ** np.random.default_rng(0).uniform(-6, 6, 20_000)
    assert ball_law.heights(c, d, np.random.default_rng(1))[1].mean() < 1.3


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_the_law_on_the_ball(d):
    c, rng = 2.5, np.random.default_rng(d)
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    z, _ = ball_law.sample(np.tile(u, (DRAWS, 1)), np.full(DRAWS, c), rng)
    assert (np.linalg.norm(z, axis=1) <= 1 + 1e-12).all()
    # E |<z, u>|^2 and E ||z||^2 by integration, against the sample's.
    a = (d - 1) / 2
    mass = integrate.quad(lambda t: np.exp(c * t) * (1 - t * t) ** a, 0, 1)[0]
    along = integrate.quad(lambda t: t * t * np.exp(c * t) * (1 - t * t) ** a, 0, 1)[0] / mass
    square = along + (1 - along) * (d - 1) / (d + 1)
    t = z @ u
    for sample, expected in ((t**2, along), ((z**2).sum(axis=1), square), (t, 0.0)):
        assert abs(sample.mean() - expected) < 5 * sample.std() / np.sqrt(DRAWS) + 1e-12
    if d > 2:
        # Across u the direction is uniform: one coordinate's square is Beta.
        across = z - t[:, None] * u
        other = np.linalg.svd(u[None])[2][1]
        share = (across @ other) ** 2 / (across**2).sum(axis=1)
        assert stats.kstest(share, lambda x: special.betainc(0.5, (d - 2) / 2, x)).statistic < LARGEST


@together.over("c, d", [([-1.0], 2), ([np.nan], 2), ([np.inf], 2), ([1.0], 0), ([1.0], 2.5), ([1.0], True)])
def test_bad_arguments_are_named(c, d):
    with pytest.raises(DataError, match=r"c holds|d="):
        ball_law.heights(np.array(c), d, np.random.default_rng(0))
