"""RKHSGaussian: the path is one draw of N(f, sigma^2 K), whatever is asked in whatever order; and it is kept."""

import numpy as np
import pytest
from scipy import sparse, stats

from dperm import kernels
from dperm.accounting import gaussian
from dperm.domain import Budget
from dperm.errors import DataError, DomainViolation
from dperm.mechanisms.kernel import rkhs, tddl
from dperm.mechanisms.kernel.constants import Setting, nugget, sigma

BUDGET = Budget(1.3, 1e-6)
SETTING = Setting(lipschitz=1.0, feature_norm=1.0, total=20.0, slack=1e-3)
SIGMA = sigma(SETTING, BUDGET)
KERNEL = kernels.gaussian(0.7)


def points(q, d=2, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (q, d))


def test_sigma_meets_the_budget_with_nothing_to_spare():
    assert SETTING.covered == 2 / 20 + 2e-3
    assert gaussian.hockey_stick(BUDGET.epsilon, SETTING.covered / SIGMA) == pytest.approx(BUDGET.delta, rel=1e-5)


def test_a_path_is_the_cholesky_factor_times_its_draws_in_any_blocks():
    """Of K + kappa R^2 I, kappa growing with the queries; and the draws are those of no other order of queries."""
    Z = points(9)
    exact, K = np.sin(Z[:, 0]), KERNEL(Z, Z) + np.diag([nugget(k) for k in range(1, 10)])
    found = []
    for blocks in ([9], [1] * 9, [2, 4, 3]):
        path = rkhs.Path(KERNEL, SETTING, BUDGET, np.random.default_rng(1))
        rows = np.split(np.arange(9), np.cumsum(blocks)[:-1])
        answers = np.concatenate([path.answer(Z[part], exact[part]) for part in rows])
        found.append(np.linalg.solve(np.linalg.cholesky(K), answers - exact) / SIGMA)
        np.testing.assert_allclose(found[0], (path._released - path._exact)[:9] / SIGMA, rtol=1e-7)
        assert path.directions == 9
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-7)
    assert np.abs(found[0]).max() < 5 and np.unique(found[0].round(9)).size == 9


def test_adaptive_answers_have_the_law_of_the_process():
    """The second query depends on the first answer; given both, the conditional law is the process's."""
    rng, Z, paths = np.random.default_rng(2), points(4), 1500
    K = KERNEL(Z, Z)
    first, second, asked = np.empty(paths), np.empty(paths), np.empty(paths, int)
    for k in range(paths):
        path = rkhs.Path(KERNEL, SETTING, BUDGET, rng)
        first[k] = path.answer(Z[:1], np.zeros(1))[0]
        asked[k] = 1 if first[k] < 0 else 2
        second[k] = path.answer(Z[[asked[k]]], np.zeros(1))[0]
    slope = K[0, asked] / K[0, 0]
    left = (second - slope * first) / (SIGMA * np.sqrt(K[asked, asked] - slope * K[0, asked]))
    assert stats.kstest(first / SIGMA, "norm").pvalue > 1e-3
    for branch in (1, 2):
        assert stats.kstest(left[asked == branch], "norm").pvalue > 1e-3
    assert abs(np.corrcoef(left, first)[0, 1]) < 0.09


def test_repeated_queries_get_their_first_answer_and_cost_nothing():
    Z, rng = points(60), np.random.default_rng(3)
    path, exact = rkhs.Path(KERNEL, SETTING, BUDGET, rng), np.cos(Z[:, 1])
    first = path.answer(Z, exact)
    kept, order = path.directions, rng.permutation(60)
    np.testing.assert_array_equal(path.answer(Z[order], exact[order]), first[order])
    np.testing.assert_array_equal(path.answer(np.vstack([Z[:3], Z[:3]]), exact[[0, 1, 2] * 2]), first[[0, 1, 2] * 2])
    new = points(2, seed=9)
    twice = path.answer(np.vstack([new, new]), np.ones(4))
    np.testing.assert_array_equal(twice[:2], twice[2:])
    kept += 2
    assert path.directions == kept


def test_dependent_queries_get_the_implied_value_and_a_path_is_hardly_longer_than_the_rank():
    kernel, setting = kernels.linear(4.0), Setting(1.0, 4.0, 20.0)
    path, w = rkhs.Path(kernel, setting, BUDGET, np.random.default_rng(4)), np.array([1.0, -2.0, 0.5])
    Z = points(2000, 3, 5)
    answers = np.concatenate([path.answer(rows, rows @ w) for rows in np.split(Z, 20)])
    assert 3 <= path.directions <= 15
    noisy_w = np.linalg.lstsq(Z, answers, rcond=None)[0]
    # Every query has noise of its own, of 1e-5 sigma R.
    np.testing.assert_allclose(answers, Z @ noisy_w, atol=1e-4 * (1 + path.scale) * 4)
    assert np.linalg.norm(noisy_w - w) > 0.1 * sigma(setting, BUDGET)
    kept = path.directions
    combined = path.answer(np.array([Z[0] + 2 * Z[1]]), np.array([(Z[0] + 2 * Z[1]) @ w]))
    np.testing.assert_allclose(combined, answers[0] + 2 * answers[1], atol=1e-3)
    assert path.directions == kept
    assert path.answer(np.zeros((1, 3)), np.zeros(1)) == [0.0]


def coordinates(kernel, Z, features):
    """What a path keeps of every coordinate of w, before noise: M^{-1} Phi, by its own arithmetic."""
    columns = []
    for feature in features.T:
        path = rkhs.Path(kernel, SETTING, BUDGET, np.random.default_rng(0))
        path.answer(Z, np.ascontiguousarray(feature))
        columns.append(path._exact[: path.directions].copy())
    return np.array(columns).T


def nearly_dependent(seed):
    """Unit vectors, each within 1e-6 .. 1e-4 of the span of the one or all before it."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(8, 12))
    Z, off = np.zeros((d + int(rng.integers(0, 6)), d)), 10 ** rng.uniform(-6.5, -4)
    Z[0, 0] = 1 - 1e-9
    for i in range(1, len(Z)):
        before = Z[:i] if rng.random() < 0.5 else Z[i - 1 : i]
        v, own = before.T @ rng.standard_normal(len(before)), rng.standard_normal(d)
        v = v / np.linalg.norm(v) + off * 10 ** rng.uniform(-0.5, 0.5) * own / np.linalg.norm(own)
        Z[i] = (1 - 1e-9) * v / np.linalg.norm(v)
    return Z


def test_nearly_dependent_queries_see_no_more_of_w_than_its_length():
    """The sensitivity is ||M^{-1} Phi|| ||Delta w||: at most 1 of it, where a path without a nugget has 18 and 276."""
    worst = max(np.linalg.norm(coordinates(kernels.linear(1.0), Z, Z), 2) for Z in map(nearly_dependent, range(150)))
    assert 0.99 < worst <= 1 + 1e-9
    factorials = np.cumprod([1.0, *range(1, 20)])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z = rng.uniform(-1, 1, (int(rng.integers(3, 60)), 1)) * 10 ** rng.uniform(-3, 0.3)
        z = z[np.argsort(z[:, 0])] if seed % 2 else z
        features = np.exp(-(z**2) / 2) * z ** np.arange(20) / np.sqrt(factorials)
        assert np.linalg.norm(coordinates(kernels.gaussian(1.0), z, features), 2) <= 1 + 1e-9


def test_a_batch_of_nearly_equal_points_tells_no_direction_without_noise():
    """Two points 1e-8 apart: their difference over 1e-8 is w's second coordinate, under noise of sd >= sigma."""
    for apart in (1e-6, 1e-8):
        z = np.array([[1.0, 0.0], [np.cos(apart), np.sin(apart)]]) * (1 - 1e-9)
        released = rkhs.release(
            tddl.spectrum(z @ z.T), np.zeros(2), SETTING, BUDGET, rng=np.random.default_rng(5), repeats=500
        ).answers
        assert ((released[:, 1] - released[:, 0]) / apart).std() > 0.9 * SIGMA
    # 300 points of a line: every unit vector of answers moves by Phi w at most, and is noised by no less.
    t = np.linspace(0, 1, 300)[:, None]
    K = KERNEL(t, t)
    spectrum = tddl.spectrum(K)
    whitened = (spectrum.vectors.T @ K @ spectrum.vectors) / np.outer(*2 * [spectrum.roots(1.0)])
    assert np.linalg.norm(whitened, 2) <= 1 and (spectrum.values == 0).sum() > 200


def test_what_rounding_ignores_is_not_released_without_noise():
    """A direction shorter than rounding: the exact answer there would come with no noise, so it is not looked at."""
    kernel = kernels.linear(1.0)
    z, nearly = np.array([[0.6, 0.0]]), np.array([[0.6, 1e-8]])
    released = []
    for hidden in (0.0, 1e12):
        path = rkhs.Path(kernel, SETTING, BUDGET, np.random.default_rng(5))
        path.answer(z, np.array([0.6]))
        released.append(path.answer(nearly, 0.6 + 1e-8 * np.array([hidden])))
    np.testing.assert_array_equal(*released)


def test_a_smooth_kernel_asked_densely_stays_a_path():
    """1,001 points of a line: K has rank 20 in doubles. All answers are one smooth function."""
    path = rkhs.Path(KERNEL, SETTING, BUDGET, np.random.default_rng(6))
    t = np.linspace(-1, 1, 1001)[:, None]
    first = path.answer(t[::2], np.zeros(501))
    between = path.answer(t[1::2], np.zeros(500))
    assert path.directions < 300
    assert np.abs(between - (first[1:] + first[:-1]) / 2).max() < 1e-2 * SIGMA
    assert 0.2 * SIGMA < np.abs(first).max() < 6 * SIGMA


def test_sparse_queries_are_the_same_queries():
    kernel, Z = kernels.polynomial(np.sqrt(2), 2, 1.0), points(12, 3) / 2
    setting = Setting(1.0, 3.0, 20.0)
    dense, thin = (rkhs.Path(kernel, setting, BUDGET, np.random.default_rng(7)) for _ in range(2))
    exact = Z[:, 0]
    for low in (0, 5):
        rows = slice(low, low + 7)
        np.testing.assert_allclose(
            dense.answer(Z[rows], exact[rows]), thin.answer(sparse.csr_array(Z[rows]), exact[rows]), rtol=1e-10
        )
    assert dense.answer(Z[:0], exact[:0]).shape == (0,)


def test_queries_above_the_bound_are_refused_and_none_of_them_is_answered():
    path = rkhs.Path(kernels.linear(1.0), SETTING, BUDGET, np.random.default_rng(8))
    with pytest.raises(DomainViolation, match=r"1 of 2 queries.*feature_norm=1"):
        path.answer(np.array([[0.5, 0.5], [0.9, 0.9]]), np.zeros(2))
    assert path.directions == 0
    with pytest.raises(DataError, match="1 queries and 2 exact answers"):
        path.answer(np.zeros((1, 2)), np.zeros(2))
    with pytest.raises(DataError, match="NaN or infinite"):
        path.answer(np.zeros((1, 2)), np.array([np.nan]))


def test_a_path_that_outgrows_its_memory_says_how_much():
    path = rkhs.Path(KERNEL, SETTING, BUDGET, np.random.default_rng(0), memory=8e4)
    path.answer(points(80), np.zeros(80))
    with pytest.raises(DomainViolation, match=r"80 more queries may need \S+ MB, .*allows 0.08 MB"):
        path.answer(points(80, seed=1), np.zeros(80))


def test_many_queries_at_once_are_taken_in_blocks():
    kernel, setting, w = kernels.linear(2.0), Setting(1.0, 2.0, 20.0), np.array([1.0, -2.0])
    path, Z = rkhs.Path(kernel, setting, BUDGET, np.random.default_rng(4)), points(30_000)
    answers = path.answer(Z, Z @ w)
    np.testing.assert_allclose(answers, Z @ np.linalg.lstsq(Z, answers)[0], atol=1e-3)
    np.testing.assert_array_equal(path.answer(Z[::7], Z[::7] @ w), answers[::7])
    assert path.directions < 20


def test_a_batch_of_paths_has_the_same_law():
    Z = points(5)
    spectrum = tddl.spectrum(KERNEL(Z, Z))
    released = rkhs.release(spectrum, np.arange(5.0), SETTING, BUDGET, rng=np.random.default_rng(9), repeats=4000)
    whitened = np.linalg.solve(np.linalg.cholesky(spectrum.K), (released.answers - np.arange(5.0)).T) / SIGMA
    assert stats.kstest(whitened.ravel(), "norm").pvalue > 1e-3
    np.testing.assert_allclose(whitened @ whitened.T / 4000, np.eye(5), atol=0.1)
    assert (released.guarantee, released.event[0]) == ("proved", "GaussianDpEvent")
    with pytest.raises(DomainViolation, match="5 of 5"):
        rkhs.release(tddl.spectrum(4 * spectrum.K), np.zeros(5), SETTING, BUDGET, rng=np.random.default_rng(0))
