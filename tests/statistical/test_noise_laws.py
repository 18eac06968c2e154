"""Laws of the noise: Kolmogorov-Smirnov on norms, directions, projections, and their independence.

False alarms. All checks of correct noise in this file are counted; each one rejects at level 1e-3 divided by their
number (Bonferroni), so over the choice of seeds the whole file fails for correct noise at most once in 1000 times. With
the fixed seeds here it fails always or never. Power: the same checks, at the same level, must reject wrong noise: half
or 5 % too small a scale, li2021's printed radius Gamma(1, .), a wrong direction, a norm tied to the direction.
"""

import functools
import zlib

import numpy as np
import pytest
from scipy import integrate, special, stats

from dperm.noise import Gaussian, Laplace, SphericalLaplace

SCALE = 0.7
DRAWS = 20_000
FALSE_ALARM = 1e-3


def norms(b):
    return np.linalg.norm(b, axis=1)


def directions(b):
    return b / norms(b)[:, None]


def tilted(p):
    """Return a fixed unit vector that is no axis."""
    v = np.sqrt(np.arange(1.0, p + 1)) * (-1.0) ** np.arange(p)
    return v / np.linalg.norm(v)


@functools.cache
def spherical_laplace_projection(p, scale):
    """Return the CDF of <b, v> for the density exp(-||b||/scale) on R^p and any unit v.

    Integrating the other p-1 coordinates out leaves a density proportional to |z|^(p/2) K_{p/2}(|z|/scale).
    """
    z = np.linspace(0, 12 * (p + 4), 200_001)
    at_zero = 2 ** (p / 2 - 1) * special.gamma(p / 2)  # the limit; K itself is infinite there
    density = np.append(at_zero, z[1:] ** (p / 2) * special.kve(p / 2, z[1:]) * np.exp(-z[1:]))
    half = 2 ** (p / 2 - 1) * np.sqrt(np.pi) * special.gamma((p + 1) / 2)  # the integral over z > 0
    mass = integrate.cumulative_simpson(density, x=z, initial=0.0) / half
    assert mass[-1] == pytest.approx(1.0, abs=1e-6)  # the table of integrals and the quadrature agree
    return lambda t: 0.5 + 0.5 * np.sign(t) * np.interp(np.abs(t) / scale, z, mass)


def p_value_direction(b):
    """Uniform direction: a squared coordinate is Beta(1/2, (p-1)/2); here along an axis and along no axis."""
    p = b.shape[1]
    if p == 1:
        return stats.binomtest(int((b > 0).sum()), len(b)).pvalue
    law = stats.beta(0.5, (p - 1) / 2)
    u = directions(b)
    return min(1.0, 2 * min(stats.kstest(along**2, law.cdf).pvalue for along in (u[:, 0], u @ tilted(p))))


def p_value_halves(b):
    """Opposite orthants are equally likely: the sign of a projection is a fair coin."""
    return stats.binomtest(int((b @ tilted(b.shape[1]) > 0).sum()), len(b)).pvalue


def p_value_independence(b):
    """The law of the direction is the same for long vectors as for short ones."""
    r, first = norms(b), directions(b)[:, 0]
    long = r > np.median(r)
    return stats.ks_2samp(first[long], first[~long]).pvalue


def p_value_of_order(b):
    """A vector says nothing of the one before it in the batch."""
    r = norms(b)
    long = r[:-1] > np.median(r)
    return stats.ks_2samp(r[1:][long], r[1:][~long]).pvalue


def p_value_norm(law):
    return lambda b: stats.kstest(norms(b), law.cdf).pvalue


def p_value_projection(cdf, v):
    return lambda b: stats.kstest(b @ v, cdf).pvalue


def axis(p, j):
    return np.eye(p)[j]


def spherical_checks(p):
    cdf = spherical_laplace_projection(p, SCALE)
    return {
        "norm": p_value_norm(stats.gamma(p, scale=SCALE)),
        "direction": p_value_direction,
        "halves": p_value_halves,
        "order": p_value_of_order,
        "first coordinate": p_value_projection(cdf, axis(p, 0)),
        "last coordinate": p_value_projection(cdf, axis(p, p - 1)),
        "projection": p_value_projection(cdf, tilted(p)),
    } | ({"independence": p_value_independence} if p > 1 else {})


def gaussian_checks(p):
    cdf = stats.norm(scale=SCALE).cdf
    return {
        "norm": p_value_norm(stats.chi(p, scale=SCALE)),
        "direction": p_value_direction,
        "halves": p_value_halves,
        "order": p_value_of_order,
        "first coordinate": p_value_projection(cdf, axis(p, 0)),
        "projection": p_value_projection(cdf, tilted(p)),
    } | ({"independence": p_value_independence} if p > 1 else {})


def laplace_checks(p):
    cdf = stats.laplace(scale=SCALE).cdf
    return {
        "first coordinate": p_value_projection(cdf, axis(p, 0)),
        "last coordinate": p_value_projection(cdf, axis(p, p - 1)),
        # The sum of p independent |z_j| ~ Exponential is Gamma(p): fails if coordinates depend on each other.
        "l1 norm": lambda b: stats.kstest(np.abs(b).sum(axis=1), stats.gamma(p, scale=SCALE).cdf).pvalue,
        "halves": p_value_halves,
        "order": p_value_of_order,
    }


LAWS = {"spherical": (SphericalLaplace, spherical_checks), "gaussian": (Gaussian, gaussian_checks)} | {
    "laplace": (Laplace, laplace_checks)
}
CHECKS = [
    pytest.param(name, p, draws, marks=[pytest.mark.slow] if draws > DRAWS else [])
    for name in LAWS
    for p in (1, 2, 5, 40)
    for draws in (DRAWS, 30 * DRAWS)
]


@functools.cache
def level():
    """Return at which level each check rejects."""
    return FALSE_ALARM / sum(len(LAWS[name][1](p)) for name, p, _ in (check.values for check in CHECKS))


def rng(*names):
    return np.random.default_rng(zlib.crc32(repr(names).encode()))


@pytest.mark.parametrize(("name", "p", "draws"), CHECKS)
def test_noise_has_its_law(name, p, draws):
    law, checks = LAWS[name]
    # Two leading axes: the law must hold over a batch of batches.
    b = law(SCALE).sample((4, draws // 4, p), rng(name, p, draws)).reshape(-1, p)
    found = {what: check(b) for what, check in checks(p).items()}
    assert {what: value for what, value in found.items() if value < level()} == {}


def test_closed_form_of_the_projection_in_three_dimensions():
    """At p = 3 the marginal density is (1 + |z|/s) exp(-|z|/s) / (4 s), so P(<b,v> > z) = (2 + z/s) exp(-z/s) / 4."""
    z = np.linspace(0, 20, 301)
    s = 1.3
    np.testing.assert_allclose(spherical_laplace_projection(3, s)(z), 1 - (2 + z / s) * np.exp(-z / s) / 4, atol=1e-6)


def rejected(checks, b):
    return {what for what, check in checks.items() if check(b) < level()}


@pytest.mark.parametrize("p", [1, 2, 5, 40])
@pytest.mark.parametrize("name", LAWS)
def test_half_the_scale_is_caught(name, p):
    law, checks = LAWS[name]
    b = law(SCALE / 2).sample((DRAWS, p), rng("half", name, p))
    about_size = {"norm", "l1 norm", "first coordinate", "last coordinate", "projection"}
    assert rejected(checks(p), b) == about_size & set(checks(p))


@pytest.mark.parametrize("p", [5, 40])
@pytest.mark.parametrize(("name", "what"), [("spherical", "norm"), ("gaussian", "norm"), ("laplace", "l1 norm")])
def test_a_scale_five_percent_too_small_is_caught(name, what, p):
    law, checks = LAWS[name]
    assert what in rejected(checks(p), law(0.95 * SCALE).sample((DRAWS, p), rng("5%", name, p)))


@pytest.mark.parametrize("p", [2, 5, 40])
def test_the_radius_printed_in_li2021_is_caught(p):
    """Erratum N1: ||b|| ~ Gamma(shape 1, twice the scale). The direction is right, and is not blamed."""
    source = rng("N1", p)
    b = source.gamma(1.0, 2 * SCALE, (DRAWS, 1)) * directions(source.standard_normal((DRAWS, p)))
    blamed = rejected(spherical_checks(p), b)
    assert {"norm", "projection", "first coordinate"} <= blamed
    assert not blamed & {"direction", "halves", "independence", "order"}


def test_at_one_dimension_the_radius_printed_in_li2021_is_only_twice_too_wide():
    source = rng("N1", 1)
    b = source.gamma(1.0, 2 * SCALE, (DRAWS, 1)) * np.sign(source.standard_normal((DRAWS, 1)))
    assert "norm" in rejected(spherical_checks(1), b)
    assert rejected(spherical_checks(1), b / 2) == set()


@pytest.mark.parametrize("p", [2, 5, 40])
def test_a_direction_that_favours_corners_is_caught(p):
    """The right norm on the direction of a uniform point of the cube."""
    source = rng("cube", p)
    b = source.gamma(p, SCALE, (DRAWS, 1)) * directions(source.uniform(-1, 1, (DRAWS, p)))
    blamed = rejected(spherical_checks(p), b)
    # In high dimension a cube's point is nearly round along any fixed direction: there the axis tells.
    assert blamed & {"direction", "first coordinate"}
    assert "norm" not in blamed


def test_coordinates_that_are_laplace_but_not_independent_are_caught():
    source = rng("tied")
    b = source.laplace(0, SCALE, (DRAWS, 1)) * source.choice([-1.0, 1.0], (DRAWS, 5))
    assert rejected(laplace_checks(5), b) >= {"l1 norm"}


@pytest.mark.parametrize("p", [2, 5])
def test_a_norm_tied_to_the_direction_is_caught(p):
    """Both marginal laws are right, but the longest vectors point along the first axis."""
    source = rng("order", p)
    u = directions(source.standard_normal((DRAWS, p)))
    u = u[np.argsort(u[:, 0] + 5 * source.standard_normal(DRAWS))]
    r = np.sort(source.gamma(p, SCALE, DRAWS))
    b = (r[:, None] * u)[source.permutation(DRAWS)]
    assert rejected(spherical_checks(p), b) >= {"independence"}
    assert not rejected(spherical_checks(p), b) & {"norm", "direction"}


def test_one_radius_shared_by_neighbours_of_a_batch_is_caught():
    source = rng("shared")
    b = np.repeat(source.gamma(5, SCALE, DRAWS // 2), 2)[:, None] * directions(source.standard_normal((DRAWS, 5)))
    assert "order" in rejected(spherical_checks(5), b)
