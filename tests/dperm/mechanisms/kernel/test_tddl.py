"""TDDL: its fit against cvxpy and its optimality conditions, its noise against the laws, its scales by hand."""

import dataclasses
import math

import cvxpy as cp
import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dperm.accounting import gaussian
from dperm.domain import Budget
from dperm.errors import DataError, DomainViolation, InvalidBudget
from dperm.mechanisms.kernel import tddl
from dperm.mechanisms.kernel.constants import Setting, a_priori_radius, sigma

BUDGET = Budget(0.7, 1e-5)
SETTING = Setting(lipschitz=1.0, feature_norm=1.0, total=50.0, radius=2.0, slack=1e-3)


def sphere(T, d, seed=0):
    Z = np.random.default_rng(seed).normal(size=(T, d))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def algorithm_two(Phi, w_star, b, radius):
    """Line 2 of Algorithm 2, letter by letter, in coordinates of phi."""
    w = cp.Variable(Phi.shape[1])
    objective = cp.sum_squares(Phi @ (w - w_star) - b) / len(Phi)
    cp.Problem(cp.Minimize(objective), [cp.norm(w, 2) <= radius]).solve(solver="CLARABEL")
    return w.value


@pytest.mark.parametrize(("T", "d"), [(6, 9), (7, 7), (15, 3)], ids=["T<rank", "T=rank", "T>rank"])
@pytest.mark.parametrize("calibration", ["paper", "tight"])
@pytest.mark.parametrize("radius", [0.3, 1000.0])
def test_a_release_is_algorithm_two_with_its_noise(T, d, calibration, radius):
    Z, rng = sphere(T, d), np.random.default_rng(1)
    w_star, spectrum = rng.normal(size=d), tddl.spectrum(Z @ Z.T)
    unit = rng.laplace(size=(2, T)) if calibration == "paper" else rng.normal(size=(2, T))
    setting = dataclasses.replace(SETTING, radius=radius)
    released = tddl.release(
        spectrum, Z @ w_star, setting, Budget(2.0, 1e-5), calibration=calibration, rng=rng, repeats=2, noise=unit
    )
    if calibration == "tight":
        unit = unit @ (spectrum.vectors * spectrum.roots(1.0)) @ spectrum.vectors.T
    # Least squares leave open what is orthogonal to every phi(z); the points asked lie in the span.
    Q = sphere(T, T, 3) @ Z
    for r in range(2):
        w = algorithm_two(Z, w_star, released.scale * unit[r], radius)
        np.testing.assert_allclose(released.at(Q @ Z.T)[r], Q @ w, atol=2e-4 * np.abs(Q @ w).max())
    assert (released.norm <= radius).all() and ((released.multiplier > 0) == (radius < 1)).all()


@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_no_choice_of_eigenvectors_changes_a_release(calibration):
    """K = I/4 + 3/4 has an eigenvalue seven times: another processor takes other vectors of that space."""
    spectrum = tddl.spectrum(np.full((8, 8), 0.75) + 0.25 * np.eye(8))
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    turned = dataclasses.replace(
        spectrum, vectors=np.column_stack([spectrum.vectors[:, :7] @ turn, spectrum.vectors[:, 7]])
    )
    one, other = (
        tddl.release(
            of, np.ones(8), SETTING, Budget(2.0, 1e-5), calibration=calibration, rng=np.random.default_rng(1), repeats=3
        ).at(of.K)
        for of in (spectrum, turned)
    )
    np.testing.assert_allclose(one, other, atol=1e-9 * np.abs(one).max())


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    T=st.integers(1, 12),
    d=st.integers(1, 6),
    radius=st.sampled_from([1e-3, 0.1, 1.0, 30.0, math.inf]),
    size=st.sampled_from([0.0, 1e-6, 1.0, 1e6]),
)
def test_the_conditions_of_optimality_hold(seed, T, d, radius, size):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(T, d))
    Z[rng.random(T) < 0.2] = Z[0]  # repeated points
    K, y = Z @ Z.T, size * rng.normal(size=(3, T))
    found = tddl.fit(tddl.spectrum(K), y, radius)
    a, m, norm = found.coefficients, found.multiplier, found.norm
    np.testing.assert_allclose(np.sqrt(np.maximum(np.einsum("rs,st,rt->r", a, K, a), 0)), norm, atol=1e-6 * (1 + size))
    assert (norm <= radius).all() and (m >= 0).all()
    # The multiplier is there only on the sphere, and the gradient K((K + m I) a - y) is 0.
    assert (norm[m > 0] >= radius * (1 - 1e-9)).all()
    gradient = K @ (K @ a.T + m * a.T - y.T)
    assert np.abs(gradient).max() <= 1e-9 * (1 + np.abs(K).max() ** 2) * T * max(size, 1e-12) * (
        1 + 1e3 * (m > 0).any()
    )


def test_of_all_minimisers_it_is_the_shortest():
    Z = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    found = tddl.fit(tddl.spectrum(Z @ Z.T), np.array([[2.0, 4.0, 1.0]]), math.inf)
    np.testing.assert_allclose(found.coefficients @ Z, [[3.0, 2.0]])
    np.testing.assert_allclose(found.norm, np.hypot(3, 2))
    np.testing.assert_allclose(found.coefficients[0, :2], 1.5)


@pytest.mark.parametrize("calibration", ["paper", "corrected"])
def test_answers_carry_laplace_noise(calibration):
    Z, free = sphere(5, 8), Setting(1.0, 1.0, 50.0, slack=1e-3)
    spectrum, answers = tddl.spectrum(Z @ Z.T), np.arange(5.0)
    released = tddl.release(
        spectrum, answers, free, BUDGET, calibration=calibration, rng=np.random.default_rng(2), repeats=4000
    )
    noise = released.at(spectrum.K) - answers
    assert stats.kstest(noise.ravel() / released.scale, "laplace").pvalue > 1e-3
    assert abs(np.corrcoef(noise.T)[np.triu_indices(5, 1)]).max() < 0.08


def test_tight_noise_has_the_covariance_of_the_kernel():
    Z, free = sphere(6, 3), Setting(1.0, 1.0, 50.0, slack=1e-3)
    spectrum = tddl.spectrum((Z @ Z.T + 1) ** 2 / 4)
    released = tddl.release(
        spectrum, np.zeros(6), free, BUDGET, calibration="tight", rng=np.random.default_rng(3), repeats=4000
    )
    noise = released.at(spectrum.K)
    whitened = np.linalg.solve(np.linalg.cholesky(spectrum.K), noise.T) / sigma(free, BUDGET)
    assert stats.kstest(whitened.ravel(), "norm").pvalue > 1e-3
    np.testing.assert_allclose(whitened @ whitened.T / 4000, np.eye(6), atol=0.1)
    name, arguments = released.event
    assert name == "GaussianDpEvent"
    delta = gaussian.hockey_stick(BUDGET.epsilon, 1 / arguments["noise_multiplier"])
    np.testing.assert_allclose(delta, BUDGET.delta, rtol=1e-5)
    assert delta <= BUDGET.delta


@together.over("T", [1, 2, 30, 300, 3000])
@together.over("epsilon", [0.01, 1.0, 10.0])
def test_scales_invert_theorem_eleven(T, epsilon):
    setting = Setting(0.5, 3.0, 200.0, slack=2e-3)
    delta_w = 2 * 0.5 * 3.0 / 200.0
    nu, guarantee = tddl.scale(setting, Budget(epsilon, 1e-6), T, "paper")
    each = 3.0 * delta_w / nu
    spent = math.sqrt(2 * T * math.log(1e6)) * each + T * each * math.expm1(each)
    # The better of two theorems: neither is exceeded by more than its own bound.
    assert min(abs(spent / epsilon - 1), abs(each * T / epsilon - 1)) < 1e-9
    assert each * T >= epsilon * (1 - 1e-9) and (spent >= epsilon * (1 - 1e-9))
    assert guarantee == "proved_exact"
    corrected, word = tddl.scale(setting, Budget(epsilon, 1e-6), T, "corrected")
    np.testing.assert_allclose(corrected / nu, (delta_w + 4e-3) / delta_w)
    assert word == "proved"
    bare, word = tddl.scale(setting, Budget(epsilon, 1e-6), T, "paper", bare=True)
    np.testing.assert_allclose(bare, 0.5 * 9.0 * math.sqrt(T * math.log(1e6)) / (200.0 * epsilon))
    assert word == "none"


def test_without_a_delta_the_answers_compose_purely():
    nu, _ = tddl.scale(SETTING, Budget(2.0), 8, "corrected")
    np.testing.assert_allclose(nu, 8 * SETTING.covered / 2.0)
    with pytest.raises(InvalidBudget, match="delta=0"):
        tddl.scale(SETTING, Budget(2.0), 8, "tight")
    with pytest.raises(InvalidBudget, match="noise of scale inf"):
        tddl.scale(SETTING, Budget(2.0), 8, "paper", bare=True)


def test_add_remove_halves_what_replace_one_costs():
    scales = {}
    for neighbours in ("replace", "add_remove"):
        setting = Setting(1.0, 2.0, 10.0, neighbours=neighbours)
        scales[neighbours] = [tddl.scale(setting, BUDGET, 20, c)[0] for c in ("paper", "corrected", "tight")]
    np.testing.assert_allclose(scales["replace"], 2 * np.array(scales["add_remove"]))


def test_a_batch_of_budgets_and_calibrations_is_each_of_them():
    Z, rng = sphere(12, 4), np.random.default_rng(0)
    spectrum, answers, unit = tddl.spectrum((Z @ Z.T + 1) / 2), rng.normal(size=12), rng.normal(size=(3, 12))
    asked = [
        (Budget(e, 1e-6), c, b) for e in (0.1, 3.0) for c, b in (("paper", False), ("paper", True), ("tight", False))
    ]
    together = tddl.releases(spectrum, answers, SETTING, asked, rng=rng, repeats=3, noise=unit)
    for (budget, calibration, bare), one in zip(asked, together, strict=True):
        alone = tddl.release(
            spectrum, answers, SETTING, budget, calibration=calibration, bare=bare, rng=rng, repeats=3, noise=unit
        )
        np.testing.assert_allclose(one.coefficients, alone.coefficients, rtol=1e-8, atol=1e-9)
        assert (one.scale, one.guarantee, one.event) == (alone.scale, alone.guarantee, alone.event)
    fresh = tddl.releases(spectrum, answers, SETTING, asked[:2], rng=rng, repeats=2)
    assert len({row.tobytes() for one in fresh for row in one.coefficients}) == 4


def test_more_points_than_rank_keep_every_answer_finite():
    Z = sphere(200, 3)
    released = tddl.release(
        tddl.spectrum(Z @ Z.T), Z[:, 0], SETTING, Budget(1e-3, 1e-6), calibration="tight",
        rng=np.random.default_rng(0), repeats=5,
    )  # fmt: skip
    assert np.isfinite(released.coefficients).all()
    np.testing.assert_allclose(np.linalg.norm(released.coefficients @ Z, axis=1), released.norm)


def test_eigenvalues_near_the_cut_take_no_more_of_w_than_its_length():
    """u'f/sd of every kept eigenvector, as a function of w: at most w's length (cut at 4 T eps: 1.022 times)."""
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        T, d = int(rng.integers(2, 40)), int(rng.integers(2, 15))
        spread = 10 ** rng.uniform(-9, -5, size=d)
        spread[0] = 1
        Z = rng.standard_normal((T, d)) * spread
        Z[:, 0] = 1 + 1e-3 * rng.standard_normal(T)
        Z /= np.linalg.norm(Z, axis=1).max()
        spectrum = tddl.spectrum(Z @ Z.T)
        kept = spectrum.values > 0
        seen = (spectrum.vectors[:, kept].T @ Z) / spectrum.roots(1.0)[kept, None]
        assert np.linalg.norm(seen, 2) <= 1 + 1e-9


def test_what_is_refused():
    with pytest.raises(DomainViolation, match=r"not positive semidefinite on these points.*eigenvalue -1"):
        tddl.spectrum(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(DataError, match=r"shape \(2, 3\)"):
        tddl.spectrum(np.ones((2, 3)))
    with pytest.raises(DataError, match="NaN or infinity"):
        tddl.spectrum(np.array([[np.nan]]))
    Z = 1.5 * sphere(4, 4)
    with pytest.raises(DomainViolation, match=r"4 of 4 queries.*feature_norm=1"):
        tddl.release(
            tddl.spectrum(Z @ Z.T), Z[:, 0], SETTING, BUDGET, calibration="tight", rng=np.random.default_rng(0)
        )
    with pytest.raises(ValueError, match="'printed' is not one of 'paper', 'corrected', 'tight'"):
        tddl.scale(SETTING, BUDGET, 3, "printed")
    with pytest.raises(ValueError, match="take 'paper'"):
        tddl.scale(SETTING, BUDGET, 3, "tight", bare=True)
    for name in ("lipschitz", "feature_norm", "total", "radius", "slack"):
        with pytest.raises(DomainViolation, match=f"{name}=-1"):
            Setting(**{"lipschitz": 1.0, "feature_norm": 1.0, "total": 1.0, name: -1.0})
    with pytest.raises(ValueError, match="neighbours='neighbors'"):
        Setting(1.0, 1.0, 1.0, neighbours="neighbors")


def test_the_a_priori_radius_holds_the_minimiser():
    rng = np.random.default_rng(0)
    for total in (0.1, 1.0, 10.0, 100.0):
        X, y = sphere(40, 3, 1), np.where(rng.random(40) < 0.7, 1.0, -1.0)
        w = cp.Variable(3)
        objective = cp.sum(cp.pos(1 - cp.multiply(y, X @ w))) + total / 2 * cp.sum_squares(w)
        cp.Problem(cp.Minimize(objective)).solve(solver="CLARABEL")
        radius = a_priori_radius(1.0, 1.0, 1.0, total, 40)
        assert np.linalg.norm(w.value) <= radius == min(math.sqrt(80 / total), 40 / total)
    assert a_priori_radius(math.inf, 1.0, 2.0, 4.0, 10) == 5.0
