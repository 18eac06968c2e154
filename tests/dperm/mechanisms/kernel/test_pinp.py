"""PINP against Algorithm 1 to the letter, the potential argument and its own constants."""

import math

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dperm.accounting import composition, rounds
from dperm.domain import Budget
from dperm.errors import BudgetExhausted, DataError, DomainViolation, InvalidBudget
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.kernel.interactive import FROZEN, LIVE, UNANSWERED, UPDATED, Session

BUDGET = Budget(1.0, 1e-6)
CALIBRATIONS = ["paper", "corrected", "tight"]
EVERY = pytest.mark.parametrize("calibration", CALIBRATIONS)


def problem(T=120, r=6, seed=0, norm=1.0):
    """Queries in the unit ball and their exact answers under a w* of some length."""
    rng = np.random.default_rng(seed)
    Phi = rng.standard_normal((T, r))
    Phi *= (rng.uniform(0.5, 1.0, T) / np.linalg.norm(Phi, axis=1))[:, None]
    w = rng.standard_normal(r)
    return Phi, Phi @ (norm * w / np.linalg.norm(w))


def made(calibration, total=3e5, queries=120, **given):
    setting = Setting(1.0, 1.0, total, radius=1.0, **given)
    return setting, pinp.constants(setting, BUDGET, queries=queries, calibration=calibration)


# Constants


def test_the_printed_constants():
    L, R, C, n, lam, T, beta, eps, delta = 0.5, 2.0, 3.0, 10_000, 0.7, 500, 0.1, 0.8, 1e-5
    found = pinp.constants(
        Setting(L, R, n * lam, radius=C), Budget(eps, delta), queries=T, beta=beta, calibration="paper"
    )
    B = n * lam * eps * C**2 / (200 * L * R * math.sqrt(2 * math.log(2 * T / beta)) * math.log(4 / delta))
    eps0 = n * eps * lam / (200 * L * R**2 * math.sqrt(B) * math.log(4 / delta))
    sigma = 4 / eps0 * math.log(2 * T / beta)
    expected = (B, eps0, sigma, sigma / (4 * R**2), 1 / eps0)
    assert (found.bound, found.epsilon0, found.threshold, found.step, found.answering) == pytest.approx(expected)
    assert found.updates == math.ceil(B)


@pytest.mark.parametrize("calibration", ["corrected", "tight"])
@pytest.mark.parametrize("total", [1e3, 1e5, 1e7, 1e9])
@pytest.mark.parametrize("queries", [1, 100, 10**6])
def test_B_is_the_least_that_the_potential_argument_allows(calibration, total, queries):
    setting, found = made(calibration, total, queries)
    length = math.log(2 * queries / 0.05)

    def needed(B):
        S = setting.shift
        if calibration == "corrected":
            e0 = composition.inverted(1.0, 1e-6, 2 * B)
            sigma = 4 * S / e0 * (4 * length + 2 * math.log(4 * B / 0.05))
            return min(queries, math.floor(3.2 / sigma**2)), sigma
        e, rho = rounds.rounds(1.0, 1e-6, B, pinp.ANSWER_SHARE)
        sigma = 4 * S / e * length
        distance = 0.75 * sigma - 2 * norm.isf(0.05 / (4 * B)) * S / math.sqrt(2 * rho)
        return (min(queries, math.floor(distance**-2)) if distance > 0 else queries), sigma

    B = found.updates
    assert needed(B)[0] <= B and found.threshold == pytest.approx(needed(B)[1])
    assert B == 1 or needed(B - 1)[0] > B - 1
    assert found.error == 1.25 * found.threshold and found.guarantee == "proved"


@pytest.mark.parametrize("calibration", ["corrected", "tight"])
def test_the_potential_starts_from_what_the_solver_can_return(calibration):
    # ||w~|| <= C + slack; Delta_w + 2 slack = 1.5 Delta_w of the one is Delta_w of the other. C is small: it shows.
    one = Setting(1.0, 1.0, 1e4, radius=0.03, slack=0.5e-4)
    two = Setting(1.0, 1.0, 1e4 / 1.5, radius=0.03005)
    assert one.reach == two.radius and one.covered == pytest.approx(two.shift)
    found, exact = (pinp.constants(s, Budget(1e3, 1e-6), queries=1e6, calibration=calibration) for s in (one, two))
    assert found.updates > 1 and found.bound == pytest.approx(exact.bound)
    assert (found.threshold, found.updates) == (pytest.approx(exact.threshold), exact.updates)


@EVERY
def test_constants_scale_with_the_features_and_with_the_sensitivity(calibration):
    # phi -> s phi, total -> s^2 total (the same losses): w* -> w*/s. Answers are the same, and so must the errors be.
    one = pinp.constants(Setting(1, 1, 1e6, radius=1.0), BUDGET, queries=1000, calibration=calibration)
    two = pinp.constants(Setting(1, 10, 1e8, radius=0.1), BUDGET, queries=1000, calibration=calibration)
    same = one.threshold == pytest.approx(two.threshold)
    assert same == (calibration != "paper")  # erratum J3


def test_printed_constants_are_judged_by_what_they_spend():
    setting, found = made("paper", 1e6)
    each = setting.shift * found.epsilon0
    assert rounds.rounds_delta(1.0, each, found.updates) <= 1e-6 and found.guarantee == "proved_exact"
    # With B far below 1 one update is let through at a noise made for B of them.
    assert made("paper", 1e-6)[1].guarantee == "none"
    assert pinp.constants(Setting(1, 1, 1e6, radius=1e-6), BUDGET, queries=9, calibration="paper").guarantee == "none"


@EVERY
def test_vacuous_constants_say_so(calibration):
    setting, found = made(calibration, 100.0)
    assert found.vacuous and found.threshold >= setting.radius / 2
    assert str(found).endswith("vacuous") and "sigma=" in str(found) and str(found).startswith("B=")
    assert not made(calibration, 1e9)[1].vacuous


@EVERY
@pytest.mark.parametrize("total", [1e6, 1e7])
def test_the_largest_T_is_an_inverse(calibration, total):
    setting, found = made(calibration, total, 1e12)
    log_T = pinp.log_queries(setting, BUDGET, error=found.error, calibration=calibration)
    assert log_T == pytest.approx(math.log(1e12), rel=0.01)
    assert pinp.log_queries(setting, BUDGET, error=1e-9, calibration=calibration) < 0


@together.over(
    "call, error, word",
    [
        (lambda s: pinp.constants(s, Budget(1.0), queries=9), InvalidBudget, "delta"),
        (lambda s: pinp.constants(s, BUDGET, queries=0), ValueError, "queries"),
        (lambda s: pinp.constants(s, BUDGET, queries=9, beta=1.0), ValueError, "beta"),
        (lambda s: pinp.constants(s, BUDGET, queries=9, calibration="best"), ValueError, "calibration"),
        (lambda s: pinp.constants(Setting(1, 1, 9.0), BUDGET, queries=9), ValueError, "radius"),
    ],
)
def test_bad_arguments_are_named(call, error, word):
    with pytest.raises(error, match=word):
        call(Setting(1, 1, 1e4, radius=1.0))


# Runs


def letter(found, K, f, zeta):
    """Algorithm 1 as printed (sign of d-hat, erratum J5), on kernel values."""
    alpha, counter, y = np.zeros(len(f)), 0, np.full(len(f), np.nan)
    for t in range(len(f)):
        if not counter < found.bound:
            break
        a_hat = f[t] + zeta[t]
        prediction = sum(alpha[s] * K[t, s] for s in range(t))
        d_hat = a_hat - prediction
        if abs(d_hat) > found.threshold:
            alpha[t] = found.step * np.sign(d_hat)
            counter += 1
            y[t] = a_hat
        else:
            y[t] = prediction
    return y, counter


def test_the_printed_algorithm_to_the_letter():
    Phi, f = problem(T=400)
    _, found = made("paper", 1e7)
    # A smaller sigma, to see updates and the halt.
    found = pinp.Constants(**{**found.__dict__, "threshold": 0.12, "step": 0.03, "updates": 12, "bound": 11.5})
    zeta = np.random.default_rng(1).laplace(0, 0.02, (3, 400))
    run = pinp.run(found, Setting(1, 1, 1e7, radius=1), Phi, f, rng=None, repeats=3, noise=(zeta, zeta, zeta))
    for k in range(3):
        y, counter = letter(found, Phi @ Phi.T, f, zeta[k])
        np.testing.assert_allclose(run.predictions[k], y, atol=1e-12)
        assert run.updates[k] == counter == 12
        np.testing.assert_array_equal(run.status[k] == UNANSWERED, np.isnan(y))


def plain(found, K, f, zeta, rho, fresh, ridge):
    """The corrected and the tight form, with kernel ridge solved anew after every update."""
    points, coefficients, kept, y, status = [], np.zeros(0), [], [], []
    for t in range(len(f)):
        g = float(K[t, points] @ coefficients) if points else 0.0
        if len(points) == found.updates:
            y.append(g)
            status.append(FROZEN)
            continue
        d = f[t] - g
        j = len(points)
        above = abs(d + zeta[t]) > found.threshold if ridge else abs(d) + zeta[t] > found.threshold + rho[j]
        if not above:
            y.append(g)
            status.append(LIVE)
            continue
        a = f[t] + fresh[j]
        y.append(a)
        status.append(UPDATED)
        points.append(t)
        if ridge:
            kept.append(a)
            block = K[np.ix_(points, points)] + found.ridge * np.eye(len(points))
            coefficients = np.linalg.solve(block, kept)
        else:
            coefficients = np.append(coefficients, found.step * np.sign(a - g))
    return np.array(y), np.array(status)


@pytest.mark.parametrize("calibration", ["corrected", "tight"])
@pytest.mark.parametrize("most", [4, 200])
def test_the_rounds_against_a_plain_form(calibration, most):
    Phi, f = problem(T=200)
    setting, found = made(calibration, 3e5, 200)
    found = pinp.Constants(**{**found.__dict__, "threshold": 0.15, "updates": most, "ridge": 0.05, "step": 0.04})
    rng, most = np.random.default_rng(2), min(most, 200)
    noise = (rng.laplace(0, 0.03, (2, 200)), rng.laplace(0, 0.02, (2, most)), rng.normal(0, 0.02, (2, most)))
    features = pinp.factor(Phi @ Phi.T)
    assert features.shape == (200, 6)
    run = pinp.run(found, setting, features, f, rng=None, repeats=2, noise=noise)
    for k in range(2):
        y, status = plain(found, Phi @ Phi.T, f, *(part[k] for part in noise), calibration == "tight")
        np.testing.assert_allclose(run.predictions[k], y, atol=1e-9)
        np.testing.assert_array_equal(run.status[k], status)
        assert run.updates[k] == (status == UPDATED).sum() == run.updated[k].sum()
        assert run.error[k] == pytest.approx(np.abs(y - f).max())
        live = status != FROZEN
        assert run.live_error[k] == pytest.approx(np.abs(y - f)[live].max())
    assert run.frozen.any() == (most == 4)


class Tape:
    """Draws that the batched run was given, in the order in which a session asks for them."""

    def __init__(self, found, zeta, rho, fresh):
        self.found, self.zeta, self.rho, self.fresh = found, iter(zeta), iter(rho), iter(fresh)

    def of(self, key):
        return self

    def laplace(self, mean, scale):
        by_scale = {self.found.answering: self.fresh, self.found.moving: self.rho, self.found.deciding: self.zeta}
        return next(by_scale[scale], 0.0)

    def normal(self, mean, scale):
        return next(self.fresh)


@EVERY
def test_a_session_answers_as_the_batch_does(calibration):
    Phi, f = problem(T=150)
    setting, found = made(calibration, 3e5, 150)
    found = pinp.Constants(**{**found.__dict__, "threshold": 0.2, "updates": 4, "ridge": 0.05, "step": 0.05})
    rng = np.random.default_rng(3)
    noise = (rng.laplace(0, 0.03, 150), rng.laplace(0, 0.02, 4), rng.laplace(0, 0.02, 4))
    run = pinp.run(found, setting, Phi, f, rng=None, noise=tuple(part[None] for part in noise))
    session, points = Session(found, Tape(found, *noise)), []
    for t in range(150):
        cross = Phi[points] @ Phi[t] if points else np.zeros(0)
        if run.status[0, t] == UNANSWERED:
            with pytest.raises(BudgetExhausted, match="halts after B=4"):
                session.ask(f[t], cross, Phi[t] @ Phi[t], b"")
            continue
        value, status = session.ask(f[t], cross, Phi[t] @ Phi[t], b"")
        assert (value, status) == (pytest.approx(run.predictions[0, t], abs=1e-9), run.status[0, t])
        if status == UPDATED:
            points.append(t)
    assert session.updates == 4 and session.halted == (calibration == "paper")


@EVERY
@pytest.mark.parametrize("total", [1e5, 1e6])
def test_the_promised_error_holds_and_B_suffices(calibration, total):
    Phi, f = problem(T=2000, r=30, norm=1.0)
    setting, found = made(calibration, total, 2000)
    run = pinp.run(found, setting, Phi, f, rng=np.random.default_rng(0), repeats=100, keep=False)
    assert run.predictions.shape == run.status.shape == (0, 2000)
    assert np.mean(run.live_error > found.error) < 0.05 and (run.updates <= found.updates).all()
    if not found.vacuous and calibration != "paper":
        assert run.updates.min() > 0 and (run.updates < found.updates).all()


@given(
    seed=st.integers(0, 2**32), sigma=st.floats(0.01, 1.0), distance=st.floats(0.75, 4.0), r=st.integers(1, 5),
    length=st.floats(0.3, 1.0),
)  # fmt: skip
def test_an_update_where_d_is_large_lowers_the_potential(seed, sigma, distance, r, length):
    """||w* - w||^2 falls by 5 sigma^2/(16 R^2), whatever |d| >= 3 sigma/4 and ||phi|| <= R (erratum J3)."""
    rng, R = np.random.default_rng(seed), 2.0
    phi = rng.standard_normal(r)
    phi *= R * length / np.linalg.norm(phi)
    gap = rng.standard_normal(r)
    gap += (distance * sigma - gap @ phi) / (phi @ phi) * phi  # w* - w_t, with d = distance sigma
    after = gap - sigma / (4 * R**2) * phi
    assert gap @ gap - after @ after >= 5 * sigma**2 / (16 * R**2) - 1e-9 * (gap @ gap)


@given(seed=st.integers(0, 2**32), share=st.floats(0.01, 0.4), r=st.integers(2, 12))
@settings(max_examples=60, deadline=None)
def test_ridge_is_done_after_as_many_updates_as_is_proved(seed, share, r):
    """No choice of points and of errors within tau makes more than C^2 R^2/(theta - 2 tau)^2 updates."""
    rng, C, R, theta = np.random.default_rng(seed), 1.0, 1.0, 0.3
    tau = share * theta
    bound = (C * R / (theta - 2 * tau)) ** 2
    kappa = R**2 * tau / (theta - 2 * tau)
    target = rng.standard_normal(r)
    target *= C / np.linalg.norm(target)
    w, P, updates = np.zeros(r), np.eye(r) / kappa, 0
    for _ in range(2000):
        # Adversary: the query nearest to the threshold from above, the error that hides the most.
        gap = target - w
        phi = rng.standard_normal(r)
        phi *= R / np.linalg.norm(phi)
        if abs(gap @ phi) < theta:
            continue
        across = phi - gap * (phi @ gap) / (gap @ gap)
        along = theta / np.linalg.norm(gap)
        if along <= 1 and np.linalg.norm(across) > 0:
            phi = along * gap / np.linalg.norm(gap) + math.sqrt(1 - along**2) * across / np.linalg.norm(across)
        off = gap @ phi - tau * np.sign(gap @ phi)
        h = P @ phi
        gain = 1 + phi @ h
        w, P, updates = w + h * off / gain, P - np.outer(h, h) / gain, updates + 1
    assert updates <= bound


def test_bad_queries_are_named():
    setting, found = made("tight")
    Phi, f = problem()
    with pytest.raises(DomainViolation, match="longer than"):
        pinp.run(found, setting, 2 * Phi, f, rng=np.random.default_rng(0))
    with pytest.raises(DataError, match=r"\(T, r\)"):
        pinp.run(found, setting, Phi, f[:-1], rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="finite"):
        pinp.run(found, setting, Phi, f * np.nan, rng=np.random.default_rng(0))
    with pytest.raises(DomainViolation, match="semi"):
        pinp.factor(-np.eye(3))
