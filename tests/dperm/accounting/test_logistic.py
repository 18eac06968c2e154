"""Theorem 4's formulas against brute force over the proof's suprema, Theorems 1 to 3, and their own inverses."""

import math

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize

from dperm.accounting import gaussian, logistic, objective
from dperm.errors import InvalidBudget

EPSILON = st.floats(-2, 1).map(lambda power: 10**power)
DELTA = st.floats(-10, -0.3).map(lambda power: 10**power)
RATIO = st.floats(-3, 0.7).map(lambda power: 10**power)
SHARE = st.floats(0.001, 0.999)  # of epsilon, spent on the log-determinant
CAP = st.sampled_from([1.0, 0.9, 0.6, 0.5, 0.3])
NEIGHBOURS = st.sampled_from(["add_remove", "replace"])
Z = np.linspace(-14, 14, 20_001)
NORMAL = np.exp(-0.5 * Z**2) / math.sqrt(2 * math.pi) * (Z[1] - Z[0])


def log_m(slope, leverage):
    return np.log1p(slope * (1 - slope) * leverage)


def peak(cap):
    return min(cap, 0.5) * (1 - min(cap, 0.5))


def leverage_of(epsilon, share, cap=1.0):
    return math.expm1(share * epsilon) / peak(cap)


def losses(a, leverage, cap, slopes, pull=0.0):
    """The lines (pull + s) A z + (pull + s)^2 A^2/2 + log m(s), one row a slope."""
    force = (pull + slopes[:, None]) * a / cap
    return force * Z + 0.5 * force**2 + log_m(slopes[:, None], leverage)


def expected(loss, epsilon):
    return float(np.sum(NORMAL * -np.expm1(np.minimum(0, epsilon - loss))))


# Gaussian b


@given(a=RATIO, epsilon=EPSILON, share=SHARE, cap=CAP)
def test_one_more_record_costs_the_largest_curve_over_all_slopes(a, epsilon, share, cap):
    leverage = leverage_of(epsilon, share, cap)
    slopes = np.linspace(0, cap, 3001)[1:]
    brute = gaussian.hockey_stick(epsilon - log_m(slopes, leverage), slopes * a / cap).max()
    ours = logistic.logistic_delta(a, epsilon=epsilon, leverage=leverage, neighbours="add_remove", cap=cap)
    assert brute * (1 - 1e-9) <= ours <= brute * (1 + 1e-3) + 1e-300


@settings(max_examples=30)
@given(a=st.floats(-2, 0.7).map(lambda power: 10**power), epsilon=EPSILON, share=SHARE, cap=CAP)
def test_a_replaced_record_costs_the_expected_envelope_besides(a, epsilon, share, cap):
    leverage = leverage_of(epsilon, share, cap)
    fixed = {"epsilon": epsilon, "leverage": leverage, "cap": cap}
    envelope = losses(a, leverage, cap, np.linspace(0, cap, 401), pull=cap).max(axis=0)
    once = logistic.logistic_delta(a, neighbours="add_remove", **fixed)
    both = logistic.logistic_delta(a, neighbours="replace", **fixed)
    # One per cent for the grid over Z, whose step is near to the length of a tail.
    assert both == pytest.approx(min(1.0, once + expected(envelope, epsilon)), rel=1e-2, abs=1e-12)


@together.over("cap", [1.0, 0.8, 0.4])
@together.over("a", [1e-4, 0.02, 0.3, 3.0, 20.0])
@together.over("epsilon", [0.05, 1.0, 6.0])
def test_without_leverage_two_forces_are_one_of_twice_the_length(a, epsilon, cap):
    """The quadrature against a closed form, ten digits of it, from the body to the far tail."""
    fixed = {"epsilon": epsilon, "leverage": 0.0, "cap": cap}
    once = logistic.logistic_delta(a, neighbours="add_remove", **fixed)
    both = logistic.logistic_delta(a, neighbours="replace", **fixed)
    assert once == gaussian.hockey_stick(epsilon, a)
    exact = min(1.0, once + gaussian.hockey_stick(epsilon, 2 * a))
    assert both == pytest.approx(exact, rel=1e-10, abs=1e-300)


@together.over("epsilon", [1.0, 1e2, 1e3, 1e5, 1e6])
@together.over("times", [0.5, 0.7, 0.8, 0.9, 0.98, 100.0])
def test_little_noise_at_a_large_epsilon_is_not_understated(epsilon, times):
    """From 0.5 on the loss exceeds epsilon mostly; H_epsilon(2a) is the second term without leverage."""
    a = times * math.sqrt(2 * epsilon)
    once, both = (
        logistic.logistic_delta(a, epsilon=epsilon, leverage=0.0, neighbours=word) for word in ("add_remove", "replace")
    )
    assert both == pytest.approx(min(1.0, once + gaussian.hockey_stick(epsilon, 2 * a)), rel=1e-9)


def test_a_leverage_near_the_largest_double_does_not_overflow():
    fixed = {"epsilon": 800.0, "leverage": 1e300, "neighbours": "replace"}
    a = logistic.logistic_ratio(delta=1e-6, **fixed)
    assert logistic.logistic_delta(a, **fixed) <= 1e-6 < logistic.logistic_delta(a * (1 + 1e-7), **fixed)


@pytest.mark.parametrize(
    ("a", "epsilon", "share", "cap"),
    [(0.05, 1.0, 0.5, 1.0), (0.3, 1.0, 0.9, 1.0), (0.3, 1.0, 0.5, 0.8), (0.01, 0.1, 0.7, 1.0), (1.5, 4.0, 0.9, 1.0)],
)
def test_the_envelope_has_nine_digits(a, epsilon, share, cap):
    """Adaptive quadrature, the highest line searched for at every point."""
    leverage = leverage_of(epsilon, share, cap)

    def loss(z):
        def minus_line(s):
            force = (cap + s) * a / cap
            return -(force * z + 0.5 * force**2 + log_m(s, leverage))

        found = optimize.minimize_scalar(minus_line, bounds=(0.5, cap), method="bounded", options={"xatol": 1e-11})
        return -min(found.fun, minus_line(cap), minus_line(0.0))

    def integrand(z):
        return math.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * -math.expm1(min(0.0, epsilon - loss(z)))

    start = optimize.brentq(lambda z: loss(z) - epsilon, -5.0, 40.0, xtol=1e-13)
    fixed = {"epsilon": epsilon, "leverage": leverage, "cap": cap}
    once, both = (logistic.logistic_delta(a, neighbours=word, **fixed) for word in ("add_remove", "replace"))
    exact, _ = integrate.quad(integrand, start, start + 9, epsabs=0, epsrel=1e-10, limit=200)
    assert both - once == pytest.approx(exact, rel=1e-9)


@given(a=RATIO, epsilon=EPSILON, share=SHARE, seed=st.integers(0, 2**32 - 1))
def test_no_falling_slope_costs_more_than_a_constant_one(a, epsilon, share, seed):
    """The proof's exchange of steps: slopes that fall as Z rises, which is what the minimiser's slope does."""
    rng = np.random.default_rng(seed)
    leverage = leverage_of(epsilon, share)
    for steps in (2, 3, 6):
        slopes = np.sort(rng.uniform(0, 1, steps))[::-1]
        step = np.searchsorted(np.sort(rng.normal(0.5 * epsilon / a - 0.5 * a, 2, steps - 1)), Z)
        falling = losses(a, leverage, 1.0, slopes)[step, np.arange(len(Z))]
        bound = logistic.logistic_delta(a, epsilon=epsilon, leverage=leverage, neighbours="add_remove")
        assert expected(falling, epsilon) <= bound * (1 + 1e-3) + 1e-9


def test_a_rising_slope_would_cost_more():
    """So the exchange needs that the slope falls; with it, delta is 1 to 10 % smaller here."""
    epsilon, leverage = 1.0, 2.0
    fixed = {"epsilon": epsilon, "leverage": leverage, "neighbours": "add_remove"}
    a = logistic.logistic_ratio(delta=1e-2, **fixed)
    any_slope = expected(losses(a, leverage, 1.0, np.linspace(0, 1, 801)).max(axis=0), epsilon)
    assert 1.01e-2 < any_slope < 1.1e-2


@settings(max_examples=30)
@given(
    a=st.floats(0.1, 2),
    epsilon=st.floats(0.1, 3),
    share=SHARE,
    cosine=st.floats(-1, 1),
    cap=st.sampled_from([1.0, 0.7]),
)
def test_opposite_rows_cost_most_with_full_force_of_the_record_that_comes(a, epsilon, share, cosine, cap):
    """E (1 - e^{epsilon - max_s X_s})_+ in the plane of both rows, against its value for opposite ones."""
    leverage, force = leverage_of(epsilon, share, cap), a / cap
    z = np.linspace(-8, 8, 161)
    along, across = np.meshgrid(z, z)
    weight = np.exp(-0.5 * (along**2 + across**2))
    weight /= weight.sum()
    turned = cosine * along + math.sqrt(1 - cosine**2) * across
    worst = np.full_like(along, -np.inf)
    for s in np.linspace(0, cap, 41):
        length = (cap**2 + s**2 - 2 * cosine * cap * s) * force**2
        worst = np.maximum(worst, force * (cap * turned - s * along) + 0.5 * length + log_m(s, leverage))
    needed = float(np.sum(weight * -np.expm1(np.minimum(0, epsilon - worst))))
    fixed = {"epsilon": epsilon, "leverage": leverage, "cap": cap}
    opposite = expected(losses(a, leverage, cap, np.linspace(0, cap, 201), pull=cap).max(axis=0), epsilon)
    assert needed <= opposite * 1.02 + 1e-9
    assert opposite <= logistic.logistic_delta(a, neighbours="replace", **fixed) * (1 + 1e-2) + 1e-12


@given(a=RATIO, epsilon=EPSILON, share=SHARE, cap=CAP, neighbours=NEIGHBOURS)
def test_never_above_theorems_1_and_2_and_never_below_one_gaussian_release(a, epsilon, share, cap, neighbours):
    leverage = leverage_of(epsilon, share, cap)
    ours = logistic.logistic_delta(a, epsilon=epsilon, leverage=leverage, neighbours=neighbours, cap=cap)
    old = objective.objective_delta(a, epsilon=epsilon, log_det=share * epsilon, one_sided=True, neighbours=neighbours)
    length = a if neighbours == "add_remove" else 2 * a
    assert gaussian.hockey_stick(epsilon, length) * (1 - 1e-9) - 1e-300 <= ours <= old * (1 + 1e-9) + 1e-300
    if cap <= 0.5 and neighbours == "add_remove":
        assert ours == pytest.approx(old, rel=1e-9, abs=1e-300)  # curvature rises with the slope: nothing to gain


@given(epsilon=EPSILON, delta=DELTA, share=st.floats(0, 1))
def test_the_determinant_is_free_from_four_lambda_over_epsilon_on(epsilon, delta, share):
    fixed = {"leverage": share * epsilon, "neighbours": "add_remove"}
    ratio = gaussian.gaussian_ratio(epsilon, delta)
    assert logistic.logistic_ratio(epsilon=epsilon, delta=delta, **fixed) == pytest.approx(ratio, rel=1e-8)
    assert logistic.logistic_gamma_scale(2.0, epsilon=epsilon, **fixed) == pytest.approx(2 / epsilon, rel=1e-12)


@settings(max_examples=40)
@given(epsilon=EPSILON, delta=DELTA, share=st.floats(0, 1), cap=CAP, neighbours=NEIGHBOURS)
def test_ratio_inverts_delta_and_rounds_down(epsilon, delta, share, cap, neighbours):
    leverage = leverage_of(epsilon, 0.999 * share, cap)
    fixed = {"epsilon": epsilon, "leverage": leverage, "neighbours": neighbours, "cap": cap}
    a = logistic.logistic_ratio(delta=delta, **fixed)
    assert logistic.logistic_delta(a, **fixed) <= delta < logistic.logistic_delta(a * (1 + 1e-7), **fixed)


@given(
    a=RATIO, epsilon=EPSILON, shares=st.tuples(SHARE, SHARE), cap=CAP, neighbours=NEIGHBOURS, step=st.floats(1.001, 3)
)
def test_delta_moves_the_right_way_with_everything(a, epsilon, shares, cap, neighbours, step):
    low, high = (leverage_of(epsilon, share, cap) for share in sorted(shares))
    fixed = {"epsilon": epsilon, "leverage": low, "neighbours": neighbours, "cap": cap}
    here = logistic.logistic_delta(a, **fixed)
    # Below 1e-300 a double has no digits left to be monotone with.
    up, down = here * (1 + 1e-9) + 1e-300, here * (1 - 1e-9) - 1e-300
    assert 0 <= here <= 1
    # In the tail delta grows by at least the step in `a`, as `largest_ratio` counts on.
    grown = logistic.logistic_delta(a * step, **fixed)
    assert grown >= down
    assert grown >= min(down * step, 0.01)
    assert logistic.logistic_delta(a, **(fixed | {"epsilon": epsilon * step})) <= up
    assert logistic.logistic_delta(a, **(fixed | {"leverage": high})) >= down
    assert logistic.logistic_delta(a, **(fixed | {"neighbours": "replace"})) >= down


def test_no_noise_is_enough_where_the_log_determinant_exceeds_epsilon():
    fixed = {"epsilon": 0.5, "leverage": 4 * math.expm1(0.6), "neighbours": "add_remove"}
    assert logistic.logistic_delta(0.0, **fixed) == 1
    remedy = r"raise Delta above 0\.385374 R\^2"
    assert 0.25 / math.expm1(0.5) == pytest.approx(0.385374, rel=1e-5)
    with pytest.raises(InvalidBudget, match=remedy):
        logistic.logistic_ratio(delta=1e-6, **fixed)
    with pytest.raises(InvalidBudget, match=remedy):
        logistic.logistic_gamma_scale(1.0, **fixed)
    assert logistic.logistic_ratio(delta=1e-6, **(fixed | {"leverage": 1 / 0.3854})) > 0
    assert math.isfinite(logistic.logistic_gamma_scale(1.0, **(fixed | {"leverage": 1 / 0.3854})))


# Gamma b


@given(scale=RATIO, leverage=st.floats(0, 50), cap=CAP, neighbours=NEIGHBOURS)
def test_gamma_epsilon_is_the_largest_sum_of_force_and_determinant(scale, leverage, cap, neighbours):
    slopes = np.linspace(0, cap, 5001)
    more = cap if neighbours == "replace" else 0.0
    brute = ((more + slopes) / scale + log_m(slopes, leverage)).max()
    ours = logistic.logistic_gamma_epsilon(scale, cap, leverage=leverage, neighbours=neighbours, cap=cap)
    assert brute * (1 - 1e-12) <= ours <= brute * (1 + 1e-5)
    old = objective.gamma_epsilon(scale, cap, log_det=math.log1p(leverage * peak(cap)), neighbours=neighbours)
    assert ours <= old * (1 + 1e-12)


@given(zeta=RATIO, epsilon=EPSILON, share=SHARE, cap=CAP, neighbours=NEIGHBOURS)
def test_gamma_scale_inverts_gamma_epsilon_and_rounds_up(zeta, epsilon, share, cap, neighbours):
    fixed = {"leverage": leverage_of(epsilon, share, cap), "neighbours": neighbours, "cap": cap}
    scale = logistic.logistic_gamma_scale(zeta, epsilon=epsilon, **fixed)
    assert logistic.logistic_gamma_epsilon(scale, zeta, **fixed) <= epsilon
    assert logistic.logistic_gamma_epsilon(scale, zeta, **fixed) == pytest.approx(epsilon, rel=1e-12)


# What is refused


@together.over(
    "change, words",
    [
        ({"epsilon": 0.0}, "epsilon=0.0"),
        ({"epsilon": math.inf}, "epsilon=inf"),
        ({"leverage": -0.1}, "leverage=-0.1"),
        ({"leverage": math.inf}, "leverage=inf"),
        ({"leverage": math.nan}, "leverage=nan"),
        ({"neighbours": "swap"}, "neighbours='swap'"),
        ({"cap": 0.0}, "cap=0.0"),
        ({"cap": 1.1}, "cap=1.1"),
    ],
)
def test_impossible_arguments_are_refused(change, words):
    fixed = {"epsilon": 1.0, "leverage": 0.1, "neighbours": "replace", "cap": 1.0} | change
    with pytest.raises(ValueError, match=words):
        logistic.logistic_delta(0.1, **fixed)
    with pytest.raises(ValueError, match=words):
        logistic.logistic_ratio(delta=1e-6, **fixed)
    with pytest.raises(ValueError, match=words):
        logistic.logistic_gamma_scale(1.0, **fixed)


@together.over("a", [math.nan, math.inf, -1.0])
def test_ratios_that_are_none_are_refused(a):
    with pytest.raises(ValueError, match="a="):
        logistic.logistic_delta(a, epsilon=1.0, leverage=0.1, neighbours="add_remove")
    with pytest.raises(ValueError, match="scale="):
        logistic.logistic_gamma_epsilon(a, 1.0, leverage=0.1, neighbours="add_remove")


@together.over("delta", [-0.1, 1.0, math.nan])
def test_deltas_that_are_none_are_refused(delta):
    with pytest.raises(InvalidBudget, match="delta="):
        logistic.logistic_ratio(epsilon=1.0, delta=delta, leverage=0.1, neighbours="add_remove")
