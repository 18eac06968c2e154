"""Theorem 29's experiment: its sums against brute force, record by record, and its bounds as printed."""

import itertools
import math

import fake_rows
import numpy as np
import pytest
from chosen_rows import number
from scipy import integrate, optimize, stats

from dperm.errors import ConfigError
from dperm_papers.kifer2012.theorem29 import experiment as theorem29

DELTA = 1e-6


def huber(residual):
    size = abs(residual)
    return size**2 / 2 if size <= 0.5 else 0.5 * (size - 0.25)


def population(theta, q):
    return q * huber(theta - 1) + (1 - q) * huber(theta + 1)


@pytest.mark.parametrize(("m", "curvature", "scale"), [(5, 3.0, 5.0), (9, 4.0, 1.0), (12, 0.8, 0.3)])
def test_the_private_mean_is_that_of_every_data_set_and_every_tilt(m, curvature, scale):
    """The minimiser found by bisection at each tilt, adaptive quadrature over tilts, every number of ones."""
    q = 0.5 + 0.5 / math.sqrt(m)
    least = min(population(theta, q) for theta in np.linspace(0.4, 1.0, 100_001))
    total = 0.0
    for ones in range(m + 1):

        def slope(theta, ones=ones):
            residuals = np.clip(theta - 1, -0.5, 0.5), np.clip(theta + 1, -0.5, 0.5)
            return ones * residuals[0] + (m - ones) * residuals[1] + curvature * theta

        def integrand(z, slope=slope):
            theta = optimize.brentq(lambda u: slope(u) + scale * z, -200, 200, xtol=1e-12)
            return (population(theta, q) - least) * stats.norm.pdf(z)

        breaks = sorted({-9.0, 9.0, *np.clip([-slope(t) / scale for t in (-1.5, -0.5, 0.5, 1.5)], -9, 9)})
        given = sum(
            integrate.quad(integrand, low, high, epsabs=1e-9, epsrel=1e-8)[0]
            for low, high in itertools.pairwise(breaks)
        )
        total += stats.binom.pmf(ones, m, q) * given
    assert theorem29.mean_excess(m, q, curvature=curvature, scale=scale) == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("m", [5, 6, 20])
def test_the_mean_without_privacy_is_that_of_the_least_minimiser(m):
    """The empirical risk with a ridge that is next to nothing has the least-norm minimiser: found by minimising it."""
    q = 0.5 + 0.5 / math.sqrt(m)
    best = min(population(t, q) for t in np.linspace(0.4, 1.0, 200_001))
    total = 0.0
    for ones in range(m + 1):

        def slope(theta, ones=ones):
            residuals = np.clip(theta - 1, -0.5, 0.5), np.clip(theta + 1, -0.5, 0.5)
            return ones * residuals[0] + (m - ones) * residuals[1] + 1e-10 * theta

        theta = optimize.brentq(slope, -2, 2, xtol=1e-14)
        total += stats.binom.pmf(ones, m, q) * (population(theta, q) - best)
    assert theorem29.mean_excess_without_privacy(m, q) == pytest.approx(total, rel=1e-6)


def test_many_records_agree_with_a_simulation_from_records():
    """n labels are drawn and summed, b is drawn, and the minimiser is found on a fine grid of slopes."""
    rng, n, repeats = np.random.default_rng(8), 1000, 20_000
    q = 0.5 + 0.5 / math.sqrt(n)
    best = 1 - (1 - q) / (2 * q)
    curvature, scale = 0.5 * math.sqrt(math.log(1 / DELTA)) / best, 0.5 * math.sqrt(8 * math.log(2 / DELTA) + 4)
    ones = (rng.random((repeats, n)) < q).sum(axis=1)
    b = scale * rng.standard_normal(repeats)
    grid = np.linspace(-1.4, 1.4, 40_001)
    low, high = np.clip(grid - 1, -0.5, 0.5), np.clip(grid + 1, -0.5, 0.5)
    risks = np.array([population(t, q) for t in grid]) - population(best, q)
    values = np.empty(repeats)
    for k in np.unique(ones):
        at = ones == k
        values[at] = np.interp(-b[at], k * low + (n - k) * high + curvature * grid, risks)
    rows = fake_rows.theorem29()
    exact = number(rows, dataset="coin", n=1000, row="printed", metric="excess_risk")
    assert abs(values.mean() - exact) < 4.5 * values.std() / math.sqrt(repeats) + 1e-8


def test_bounds_ratios_and_curvatures_are_the_printed_ones():
    rows = fake_rows.theorem29()
    # Copies: n = 65,536 in p = 16 parts.
    m, p, n = 4096, 16, 65_536
    q = 0.5 + 0.5 / math.sqrt(m)
    norm = math.sqrt(p) * (1 - (1 - q) / (2 * q))
    steep = math.sqrt(p * math.log(1 / DELTA))
    sigma = 0.5 * math.sqrt(8 * math.log(2 / DELTA) + 4)
    here = {"dataset": "copies", "p": p, "n": n}
    printed = theorem29.mean_excess(m, q, curvature=0.5 * steep / norm, scale=sigma)
    mended = theorem29.mean_excess(m, q, curvature=0.5 * (steep + math.sqrt(n)) / norm, scale=sigma)
    plain = theorem29.mean_excess_without_privacy(m, q)
    assert number(rows, metric="excess_risk", variant="gaussian", row="printed", **here) == pytest.approx(
        printed, rel=1e-12
    )
    assert number(rows, metric="excess_risk", variant="gaussian", row="mended", **here) == pytest.approx(
        mended, rel=1e-12
    )
    assert number(rows, metric="private_ratio", row="printed", **here) == pytest.approx(printed / plain, rel=1e-12)
    assert number(rows, metric="bound", row="printed", **here) == pytest.approx(0.5 * steep * norm / n)
    expected = 0.5 * norm * (steep / n + 1 / math.sqrt(n))
    assert number(rows, metric="bound", row="mended", **here) == pytest.approx(expected)
    # Privacy needs l'' <= epsilon Delta/2: the statements of all rows are proved.
    assert set(rows.loc[rows["variant"] == "gaussian", "guarantee"]) == {"proved_exact"}


def test_coins_of_fewer_than_four_records_are_left_out_and_the_ratio_depends_on_n_over_p_alone():
    rows = fake_rows.theorem29(features=(8, 16, 32), copied_sizes=(64, 128))
    ratios = rows[(rows["metric"] == "private_ratio") & (rows["row"] == "printed")]
    assert sorted(zip(ratios["n"], ratios["p"], strict=True)) == [(64, 8), (64, 16), (128, 8), (128, 16), (128, 32)]
    for p in (8, 16):
        few = number(rows, metric="private_ratio", row="printed", n=64, p=p)
        assert few == pytest.approx(number(rows, metric="private_ratio", row="printed", n=128, p=2 * p), rel=1e-9)


def test_what_cannot_be_run_is_refused():
    with pytest.raises(ConfigError, match=r"copied_sizes: n=4096 is no multiple of p=12"):
        fake_rows.theorem29(features=(12,))
    with pytest.raises(ConfigError, match=r"design='coin': the risk on new records is exact on 'coins' alone"):
        fake_rows.theorem29(design="coin")
