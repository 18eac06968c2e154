"""TDIL against Algorithm 3 to the letter, the exact law of its choices, and its own constants."""

import dataclasses
import math

import numpy as np
import pytest
import together
from scipy import stats
from scipy.spatial import cKDTree

from dperm.accounting import composition
from dperm.domain import Budget
from dperm.errors import DataError, DomainViolation, InvalidBudget
from dperm.mechanisms.kernel import ball_law, tdil
from dperm.mechanisms.kernel.constants import Setting

BUDGET = Budget(1.0, 1e-6)
CALIBRATIONS = ["paper", "corrected", "tight"]
EVERY = pytest.mark.parametrize("calibration", CALIBRATIONS)


def made(calibration, total=1e6, records=10**6, dimension=3, **given):
    setting = Setting(1.0, 1.0, total, radius=1.0, **given)
    return setting, tdil.constants(setting, BUDGET, records=records, dimension=dimension, calibration=calibration)


def unit(r, seed=0):
    w = np.random.default_rng(seed).standard_normal(r)
    return w / np.linalg.norm(w)


# Constants


def test_the_printed_constants():
    L, R, C, n, lam, d, beta, eps, delta, L_phi = 0.5, 2.0, 3.0, 50_000, 0.7, 4, 0.1, 0.8, 1e-5, 1.7
    found = tdil.constants(
        Setting(L, R, n * lam, radius=C), Budget(eps, delta), records=n, dimension=d, beta=beta, calibration="paper",
        feature_lipschitz=L_phi,
    )  # fmt: skip
    B = n * eps / (100 * L * R * math.log(4 / delta))
    eps0 = n * eps * lam / (10 * L * R**2 * math.sqrt(B) * math.log(4 / delta))
    sigma = 4 / eps0 * math.log(2 * B / beta)
    expected = (B, eps0, sigma, sigma / (4 * R**2), 1 / (2 * eps0), d * R / (eps0 * n * L_phi))
    assert (found.bound, found.epsilon0, found.threshold, found.step, found.noise, found.radius) == pytest.approx(
        expected
    )
    assert found.weight == pytest.approx(eps0 * n * lam / (8 * L * R**2)) and found.rounds == math.floor(B)
    assert found.guarantee == "none"  # erratum J1


def test_the_printed_constants_are_private_where_the_doubled_factor_is_small():
    _, found = made("paper", total=1.0)
    assert found.guarantee == "proved_exact"


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
@pytest.mark.parametrize("total", [1e2, 1e4, 1e6])
def test_corrected_spends_theorem_11_on_two_releases_a_round(total, neighbours):
    setting, found = made("corrected", total, neighbours=neighbours, slack=1e-9)
    S = setting.covered
    e0 = 2 * found.weight * S
    assert pytest.approx(S / found.noise) == e0
    basic = e0 * 2 * found.rounds <= 1 + 1e-9
    assert basic or composition.advanced(e0, 1e-6, 2 * found.rounds) == pytest.approx(1.0)
    assert found.bound == pytest.approx(3.2 * ((1 + 1e-9) / found.threshold) ** 2)
    assert math.floor(found.bound) <= found.rounds and found.guarantee == "proved"


def test_the_printed_number_of_rounds_is_made_of_n_and_refused_where_n_is_private():
    with pytest.raises(DomainViolation, match=r"calibration='paper': .* n is private .*; take neighbours='replace'"):
        made("paper", neighbours="add_remove")


@pytest.mark.parametrize("calibration", ["corrected", "tight"])
def test_the_other_calibrations_do_not_look_at_n(calibration):
    one, two = (made(calibration, records=n, neighbours="add_remove")[1] for n in (1, 10**9))
    assert str(dataclasses.asdict(one)) == str(dataclasses.asdict(two))


def test_the_potential_starts_from_what_the_solver_can_return():
    # ||w~|| <= C + slack; Delta_w + 2 slack = 1.5 Delta_w of the one is Delta_w of the other.
    shift = Setting(1.0, 1.0, 1e4, radius=1.0).shift
    with_slack = made("corrected", 1e4, slack=shift / 4)[1]
    longer = Setting(1.0, 1.0, 1e4 / 1.5, radius=1.0 + shift / 4)
    exact = tdil.constants(longer, BUDGET, records=10**6, dimension=3, calibration="corrected")
    assert (with_slack.bound, with_slack.threshold) == pytest.approx((exact.bound, exact.threshold))


def test_tight_spends_zcdp_on_two_releases_a_round():
    setting, found = made("tight", dimension=7)
    rho = 14 * (composition.bounded_range(2 * found.weight * setting.shift) + 0.5 * (setting.shift / found.noise) ** 2)
    assert found.rounds == 14 and rho == pytest.approx(composition.zcdp_rho(1.0, 1e-6))


@EVERY
def test_vacuous_constants_say_so(calibration):
    _, found = made(calibration, 10.0, 10)
    assert found.vacuous and str(found).endswith("vacuous")
    assert not made(calibration, 1e9, 10**9)[1].vacuous


def test_no_round_is_run_where_the_printed_B_is_below_one():
    setting, found = made("paper", 100.0, 100)
    assert found.bound < 1 and found.rounds == 0 and found.vacuous
    run = tdil.run_linear(found, setting, unit(3), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(run.w, 0.0)


@together.over(
    "given, error, word",
    [
        ({"budget": Budget(1.0)}, InvalidBudget, "delta"),
        ({"records": 0}, ValueError, "records"),
        ({"dimension": 0}, ValueError, "dimension"),
        ({"beta": 0.0}, ValueError, "beta"),
        ({"feature_lipschitz": 0.0}, ValueError, "feature_lipschitz"),
        ({"calibration": "best"}, ValueError, "calibration"),
        ({"setting": Setting(1, 1, 9.0)}, ValueError, "radius"),
    ],
)
def test_bad_arguments_are_named(given, error, word):
    fixed = {"setting": Setting(1, 1, 1e4, radius=1.0), "budget": BUDGET, "records": 9, "dimension": 2, **given}
    with pytest.raises(error, match=word):
        tdil.constants(fixed.pop("setting"), fixed.pop("budget"), **fixed)


# Nets


@pytest.mark.parametrize(("d", "nu"), [(1, 0.005), (2, 0.15), (3, 0.25), (5, 0.45), (2, 0.75), (2, 1.5)])
def test_every_point_of_the_ball_has_a_centre_within_nu(d, nu):
    net = tdil.net(d, nu)
    assert (np.linalg.norm(net, axis=1) <= 1 + 1e-12).all()
    rng = np.random.default_rng(0)
    z = rng.standard_normal((20_000, d))
    z *= (rng.random(20_000) ** (1 / d) / np.linalg.norm(z, axis=1))[:, None]
    assert cKDTree(net).query(z)[0].max() <= nu + 1e-12


def test_a_net_of_too_many_points_is_refused_with_their_number():
    assert tdil.net_size(10, 0.5) == pytest.approx(8.0**10)
    assert tdil.net_size(10**6, 0.5) == math.inf
    with pytest.raises(DomainViolation, match=r"\(4/nu\)\^d = 1.07e\+09 points"):
        tdil.net(10, 0.5)


# Runs over a finite set


def letter(found, K, f, uniform, zeta, xi):
    """Algorithm 3 as printed: z set before it is used, alpha_t for alpha_i (erratum J5); on kernel values."""
    chosen, alpha, output = [], [], []

    def model(z):
        return sum(a * K[z, s] for a, s in zip(alpha, chosen, strict=True))

    for t in range(found.rounds):
        weights = np.exp([found.weight * abs(f[z] - model(z)) for z in range(len(f))])
        z = int(np.searchsorted(np.cumsum(weights), uniform[t] * weights.sum(), side="right"))
        d_hat = f[z] - model(z) + zeta[t]
        if abs(d_hat) > found.threshold:
            step, out = found.step * np.sign(d_hat), f[z] + xi[t]
        else:
            step, out = 0.0, model(z)
        chosen.append(z)
        alpha.append(step)
        output.append(out)
    return np.array(chosen), np.array(alpha), np.array(output)


def test_the_printed_algorithm_to_the_letter():
    Phi = np.random.default_rng(0).uniform(-0.5, 0.5, (30, 4))
    f = Phi @ unit(4)
    setting, found = made("paper")
    found = dataclasses.replace(found, rounds=60, weight=9.0, threshold=0.1, step=0.03)
    rng = np.random.default_rng(1)
    noise = (rng.random((2, 60)), rng.laplace(0, 0.05, (2, 60)), rng.laplace(0, 0.05, (2, 60)))
    run = tdil.run(found, setting, Phi, f, rng=None, repeats=2, noise=noise)
    for k in range(2):
        chosen, alpha, output = letter(found, Phi @ Phi.T, f, *(part[k] for part in noise))
        np.testing.assert_array_equal(run.chosen[k], chosen)
        np.testing.assert_allclose(run.answers[k], output, atol=1e-12)
        np.testing.assert_allclose(run.w[k], alpha @ Phi[chosen], atol=1e-12)
        assert run.updates[k] == np.count_nonzero(alpha) and 0 < run.updates[k] < 60


def test_tight_is_kernel_ridge_on_all_answers():
    Phi = np.random.default_rng(0).uniform(-0.5, 0.5, (30, 4))
    f = Phi @ unit(4)
    setting, found = made("tight", dimension=6)
    found = dataclasses.replace(found, ridge=0.02)
    run = tdil.run(found, setting, Phi, f, rng=np.random.default_rng(0), repeats=3)
    for k in range(3):
        A, a = Phi[run.chosen[k]], run.answers[k]
        expected = np.linalg.solve(A.T @ A + 0.02 * np.eye(4), A.T @ a)
        np.testing.assert_allclose(run.w[k], expected, atol=1e-9)
        assert run.updates[k] == 12


@EVERY
def test_the_law_of_the_first_choice(calibration):
    # One centre far out, many at 0: where J1 is attacked.
    Phi = np.vstack([[1.0, 0.0], np.zeros((40, 2)), [0.3, 0.4]])
    f = Phi @ np.array([0.8, 0.0])
    setting, found = made(calibration)
    found = dataclasses.replace(found, rounds=1, weight=4.0)
    first = tdil.run(found, setting, Phi, f, rng=np.random.default_rng(0), repeats=40_000).chosen[:, 0]
    expected = np.exp(4.0 * np.abs(f))
    expected /= expected.sum()
    counts = np.bincount(first, minlength=len(f))
    assert stats.chisquare(counts, expected * counts.sum()).pvalue > 1e-6


def test_the_shortfall_is_that_of_the_worst_choice():
    Phi = np.eye(3)
    setting, found = made("tight", dimension=1)
    found = dataclasses.replace(found, rounds=1, weight=0.0)
    run = tdil.run(found, setting, Phi, np.array([0.5, -0.2, 0.0]), rng=np.random.default_rng(0), repeats=50)
    np.testing.assert_allclose(run.shortfall, np.array([0.0, 0.3, 0.5])[run.chosen[:, 0]])


# Runs over the ball


@EVERY
def test_the_ball_is_the_limit_of_nets(calibration):
    """In one dimension: w^ over a fine net and over the ball have one law."""
    setting, found = made(calibration, 3e4, 3e4, dimension=1)
    found = dataclasses.replace(found, rounds=6, weight=8.0, threshold=0.1, step=0.1, ridge=0.1, noise=0.05)
    net = tdil.net(1, 0.002)
    over_net = tdil.run(found, setting, net, net[:, 0] * 0.7, rng=np.random.default_rng(0), repeats=4000)
    over_ball = tdil.run_linear(found, setting, np.array([0.7]), rng=np.random.default_rng(1), repeats=4000)
    if calibration == "tight":
        assert stats.ks_2samp(over_net.w[:, 0], over_ball.w[:, 0]).pvalue > 1e-4
    else:
        assert stats.ks_2samp(over_net.updates, over_ball.updates).pvalue > 1e-4
        assert abs(over_net.w.mean() - over_ball.w.mean()) < 5 * over_net.w.std() * math.sqrt(2 / 4000)


def test_the_first_point_over_the_ball_has_the_samplers_law():
    # One round without noise of an answer: w^ = move of z, and ||z||, <z, u> can be read off it.
    d, R, weight = 4, 2.0, 1.5
    setting = Setting(1.0, R, 1e6, radius=1.0)
    found = tdil.constants(setting, BUDGET, records=10**6, dimension=d, calibration="corrected")
    found = dataclasses.replace(found, rounds=1, weight=weight, threshold=0.0, step=1.0, noise=1e-12)
    target = 0.9 * unit(d)
    run = tdil.run_linear(found, setting, target, rng=np.random.default_rng(0), repeats=20_000)
    z, _ = ball_law.sample(np.tile(unit(d), (20_000, 1)), np.full(20_000, weight * R * 0.9), np.random.default_rng(1))
    for ours, theirs in (
        (run.w @ unit(d), R * np.abs(z @ unit(d))),
        (np.linalg.norm(run.w, axis=1), R * np.linalg.norm(z, axis=1)),
    ):
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-5
    np.testing.assert_allclose(run.shortfall, 0.9 * R - np.abs(run.w @ target), atol=1e-9)


@pytest.mark.parametrize(("calibration", "total", "error"), [("corrected", 1e6, 0.06), ("tight", 1e5, 0.05)])
def test_it_learns_where_it_is_not_vacuous(calibration, total, error):
    setting, found = made(calibration, total, dimension=10)
    run = tdil.run_linear(found, setting, unit(10), rng=np.random.default_rng(0), repeats=5)
    assert not found.vacuous and np.linalg.norm(run.w - unit(10), axis=1).max() < error
    assert run.proposals.sum() < 1.6 * 5 * found.rounds


def test_w_is_left_alone_where_it_is_right():
    setting, found = made("corrected", 1e5)
    run = tdil.run_linear(found, setting, np.zeros(3), rng=np.random.default_rng(0), repeats=5)
    assert run.updates.sum() == 0 and not run.w.any()


def test_bad_sets_are_named():
    setting, found = made("tight")
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match=r"\(m, r\)"):
        tdil.run(found, setting, np.eye(3), np.zeros(2), rng=rng)
    with pytest.raises(DataError, match="0 points"):
        tdil.run(found, setting, np.zeros((0, 2)), np.zeros(0), rng=rng)
    with pytest.raises(DomainViolation, match="longer"):
        tdil.run(found, setting, 3 * np.eye(3), np.zeros(3), rng=rng)
    with pytest.raises(DataError, match="vector"):
        tdil.run_linear(found, setting, np.zeros((2, 2)), rng=rng)
