"""dwork2018-dimension: exact sums against enumeration, quadrature and drawn noise; minimisers against cvxpy."""

import itertools
import math

import cvxpy as cp
import fake_dwork2018
import numpy as np
import pytest
import together
from chosen_rows import of
from scipy import integrate, stats

from dperm.mechanisms.prediction import averaged
from dperm_papers.dwork2018.dimension import aggregation, cube
from dperm_papers.dwork2018.dimension import experiment as dimension


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.dimension()


def sums(n, mu, p):
    """All T of p entries and their chances."""
    chance = stats.binom.pmf(np.arange(n + 1), n, (1 + mu) / 2)
    for counts in itertools.product(range(n + 1), repeat=p):
        yield 2.0 * np.array(counts) - n, math.prod(chance[list(counts)])


@together.over("n, mu, p", [(3, 0.3, 2), (4, 0.9, 3), (5, 1.0, 2), (1, 0.0, 4)])
def test_without_noise_by_enumeration(n, mu, p):
    exact = sum(
        share * T.sum() / math.sqrt(p) / max(np.linalg.norm(T), 1e-9) for T, share in sums(n, mu, p) if np.any(T)
    )
    assert cube.direction(n, mu, p) == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize(("sigma", "gamma"), [(3.0, 0.0), (0.0, 1.5)])
def test_with_noise_by_drawing(sigma, gamma):
    n, mu, p, repeats = 20, 0.3, 6, 40_000
    rng = np.random.default_rng(4)
    S = (2.0 * rng.binomial(n, (1 + mu) / 2, (repeats, p)) - n) / math.sqrt(p)
    b = rng.standard_normal((repeats, p))
    if gamma:
        b *= (rng.gamma(p, gamma, repeats) / np.linalg.norm(b, axis=1))[:, None]
    else:
        b *= sigma
    v = S - b
    along = v.sum(axis=1) / math.sqrt(p) / np.linalg.norm(v, axis=1)
    found = cube.direction(n, mu, p, sigma=sigma, gamma=gamma)
    assert found == pytest.approx(along.mean(), abs=4.5 * along.std() / math.sqrt(repeats))


@together.over("p", [2, 10, 10_000])
def test_gamma_noise_as_a_mixture(p):
    """||b|| is Gamma(p, s): its second and fourth moments; given W they are p W and p (p + 2) W^2."""
    variances, shares = cube.mixture(p, 0.5)
    assert shares @ variances * p == pytest.approx(p * (p + 1) * 0.25)
    assert shares @ variances**2 * p * (p + 2) == pytest.approx(p * (p + 1) * (p + 2) * (p + 3) * 0.5**4)


def test_equally_spaced_terms_stand_for_all():
    n, mu = 40_000, 0.3
    values, weights = cube.binomial(n, mu)
    assert len(values) < 250 and weights @ values == pytest.approx(n * mu, rel=1e-12)
    assert weights @ (values - n * mu) ** 2 == pytest.approx(n * (1 - mu**2), rel=1e-12)


def test_objective_perturbation_is_the_direction_of_a_noisy_sum():
    rng, p, n = np.random.default_rng(2), 4, 7
    X = rng.choice([-1, 1], (n, p)) / math.sqrt(p)
    y, b = rng.choice([-1, 1], n), rng.normal(size=p)
    w = cp.Variable(p)
    cp.Problem(cp.Minimize(cp.sum(cp.abs(y - X @ w)) + b @ w), [cp.norm(w) <= 1]).solve()
    v = y @ X - b
    np.testing.assert_allclose(w.value, v / np.linalg.norm(v), atol=1e-5)


def noisy_cost(residual, scale):
    """E|r + Z| - |r| by quadrature."""
    ends = sorted({-60 * scale - 5, -residual, 0.0, 60 * scale + 5})
    density = lambda z: (abs(residual + z) - residual) * math.exp(-abs(z) / scale) / (2 * scale)  # noqa: E731
    return sum(integrate.quad(density, a, b, epsabs=1e-12)[0] for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize(("curvature", "scale"), [(0.4, 0.3), (0.05, 0.7)])
def test_stable_erm_by_enumeration(curvature, scale, monkeypatch):
    n, mu, p = 4, 0.3, 2
    exact, drawn = 0.0, list(sums(n, mu, p))
    records = [(np.array(z), math.prod((1 + mu * s) / 2 for s in z)) for z in itertools.product((-1, 1), repeat=p)]
    excesses = []
    for T, share in drawn:
        s = T / math.sqrt(p) / n
        w = cp.Variable(p)
        cp.Problem(cp.Minimize(-s @ w + curvature * cp.sum_squares(w)), [cp.norm(w) <= 1]).solve()
        residuals = [1 - w.value @ z / math.sqrt(p) for z, _ in records]
        noise = sum(c * noisy_cost(r, scale) for r, (_, c) in zip(residuals, records, strict=True))
        excesses.append(sum(c * r for r, (_, c) in zip(residuals, records, strict=True)) - (1 - mu) + noise)
        exact += share * excesses[-1]
    values = np.array([T for T, _ in drawn])
    monkeypatch.setattr(cube, "entries", lambda *_: (values, np.ones((1, p))))
    fixed = {"curvature": curvature, "scale": scale, "rng": None}
    found = cube.stable_excess(n, mu, p, repeats=len(drawn), **fixed)
    np.testing.assert_allclose(found, excesses, atol=1e-4)
    assert found @ [share for _, share in drawn] == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("p", [5, 400])
def test_entries_are_drawn_from_their_law(p):
    """Few are drawn one by one, many through how often each value occurs."""
    n, mu = 64, 0.5
    values, counts = cube.entries(n, mu, p, 2000, np.random.default_rng(p))
    counts = np.broadcast_to(counts, (2000, max(counts.shape[1], values.shape[1])))
    assert (counts.sum(axis=1) == p).all()
    total, squares = (counts * values).sum(axis=1), (counts * (values - n * mu) ** 2).sum(axis=1)
    spread = 4.5 / math.sqrt(2000)
    assert total.mean() == pytest.approx(p * n * mu, abs=spread * total.std())
    assert squares.mean() == pytest.approx(p * n * (1 - mu**2), abs=spread * squares.std())
    assert total.var() == pytest.approx(p * n * (1 - mu**2), rel=0.15)


def test_with_all_records_equal_stable_erm_pays_for_noise_alone():
    found = cube.stable_excess(100, 1.0, 7, curvature=0.2, scale=0.3, repeats=1, rng=np.random.default_rng(0))
    assert found == pytest.approx([0.3])


def test_enough_records_of_averages():
    """D-c65: 60 shards at alpha 0.1, epsilon 1, whose noise costs 2/60; a shard has the rest of alpha."""
    n, r = dimension.averages_size(30, 0.1, 1.0)
    assert r == 60 and n == r * dimension.model_size(30, 0.1 - 2 / 60)
    # Other numbers of shards do not ask for much less: r leaves the shards two thirds of alpha.
    others = [k * dimension.model_size(30, 0.1 - 2 / k) for k in (40, 50, 70, 90)]
    assert n < 1.2 * min(others)


@together.over("start", [1, 7, 40, 400, 9000])
def test_the_least_size_is_found_from_any_start(start):
    for power, alpha in ((0.5, 0.11), (1.0, 0.0101), (1.0, 1.5)):
        assert dimension.least_size(lambda n, a=power: n**-a, alpha, start) == max(math.ceil(alpha ** (-1 / power)), 1)


def test_a_model_s_size_is_least():
    n = dimension.model_size(8, 0.2, gamma=2.0)
    mus = np.linspace(0.01, 1, 60)
    worst = [max(mu * (1 - cube.direction(k, mu, 8, gamma=2.0)) for mu in mus) for k in (n - 1, n)]
    assert worst[1] <= 0.2 + 1e-5 < worst[0] + 1e-3


@together.over("n, r", [(6, 2), (6, 3), (7, 3), (5, 5), (4, 1)])
def test_averaging_by_enumeration(n, r):
    mu, epsilon, m = np.array([0.0, 0.4, 1.0]), 0.7, n // r
    expected = np.zeros(3)
    for y in itertools.product((-1, 1), repeat=n):
        v = np.mean([np.sign(sum(y[k * m : (k + 1) * m])) for k in range(r)])
        share = np.prod([(1 + mu * label) / 2 for label in y], axis=0)
        expected += share * float(averaged.expected_clip(v, 2 / (r * epsilon), -1.0, 1.0))
    np.testing.assert_allclose(aggregation.excess(n, r, epsilon, mu), mu * (1 - expected), atol=1e-12)


def test_the_best_number_of_shards():
    value, r = aggregation.best(200, 1.0)
    mu = np.linspace(0, 1, 400)
    all_r = [aggregation.excess(200, k, 1.0, mu).max() for k in range(1, 201)]
    assert value == pytest.approx(min(all_r), rel=5e-3) and abs(r - 1 - np.argmin(all_r)) <= 3


def test_rows(rows):
    cubes, coins = of(rows, dataset="cube"), of(rows, dataset="abs")
    assert len(cubes) == 2 * (1 + 2 * (3 + 1) + 2 * 2 + 1) and len(coins) == 2 * 3
    promised = of(cubes, metric="promised")
    np.testing.assert_allclose(of(promised, mechanism="stable_erm")["value"], 16 * 2 / 0.04)
    assert of(promised, mechanism="objective", p=40, delta=0.0)["value"].tolist() == pytest.approx([40 / 0.04])
    assert of(promised, mechanism="objective", p=40, delta=1e-6)["value"].tolist() == pytest.approx([40**0.5 / 0.04])
    sizes = of(cubes, metric="n_star", mechanism="stable_erm", calibration="paper")
    # lambda/2 = alpha, and at epsilon = 1 the printed noise costs as much where all records are equal.
    assert sizes.groupby("p")["value"].mean().tolist() == pytest.approx([50, 50], rel=0.1)
