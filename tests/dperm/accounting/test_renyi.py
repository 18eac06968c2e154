"""Renyi curves: by quadrature of densities, by brute force over bits, and against dp-accounting."""

import math

import numpy as np
import pytest
import together
from dp_accounting import dp_event, rdp
from scipy import integrate, special, stats

from dperm.accounting import composition, renyi

ORDERS = [1.01, 1.5, 2.0, 8.0, 64.0]


def by_density(order, law, shift):
    """D_a of law at 0 against law at a shift, by quadrature; the kinks of Laplace's density are at both centres."""

    def term(x):
        return math.exp(order * law.logpdf(x) - (order - 1) * law.logpdf(x - shift))

    value = sum(integrate.quad(term, *ends)[0] for ends in ((-80, -shift), (-shift, 0), (0, shift), (shift, 60)))
    return math.log(value) / (order - 1)


@pytest.mark.parametrize("order", ORDERS[:4])
def test_noisy_answers_by_quadrature(order):
    assert renyi.laplace(order, 0.7) == pytest.approx(by_density(order, stats.laplace(), 0.7), rel=1e-6)
    assert renyi.gaussian(order, 0.7) == pytest.approx(by_density(order, stats.norm(), 0.7), rel=1e-6)


@together.over("epsilon", [0.06, 0.1, 0.9, 1.0, 4.0])
@together.over("order", ORDERS)
def test_bits_are_bounded_by_their_curves_and_attain_them(order, epsilon):
    t = np.linspace(-12, 12, 20_001)
    one, other = special.expit(t), special.expit(t - epsilon)
    found = renyi.divergence(order, np.stack([one, 1 - one], axis=-1), np.stack([other, 1 - other], axis=-1))
    curve = renyi.bounded_range(order, epsilon)
    assert found.max() <= curve + 1e-9 <= order * epsilon**2 / 8 + 2e-9
    assert found.max() == pytest.approx(curve, rel=1e-3)
    worst = np.array([special.expit(epsilon), special.expit(-epsilon)])
    assert renyi.pure(order, epsilon) == pytest.approx(float(renyi.divergence(order, worst, worst[::-1])))
    assert curve <= renyi.pure(order, epsilon) <= min(epsilon, order * epsilon**2 / 2) + 1e-12


@together.over("epsilon", [1e-12, 1e-5, 0.3, 30.0, 720.0, 1e12])
@together.over("order", [1.1, 8.0, 1e4])
def test_curves_of_tiny_and_of_huge_epsilons(order, epsilon):
    """Before, e^710 overflowed: what is no privacy at all cost less than nothing."""
    found = renyi.pure(order, epsilon)
    if epsilon < 1e-4 / order:
        assert found == pytest.approx(order * epsilon**2 / 2, rel=1e-6)
        return
    # log((e^{a e} + e^{(1 - a) e})/(1 + e^e)) in logarithms.
    by_hand = np.logaddexp(order * epsilon, (1 - order) * epsilon) - np.logaddexp(0, epsilon)
    assert found == pytest.approx(by_hand / (order - 1), rel=1e-6) and found <= epsilon * (1 + 1e-12)
    # Of a bounded range the same interval, wherever it lies; at epsilon 30 and above it tells nearly all of one.
    bits = renyi.bounded_range(order, epsilon)
    assert (1 if epsilon >= 30 else 0) <= bits <= found * (1 + 1e-9)


@pytest.mark.parametrize("answers", [1, 30])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_the_conversion_is_that_of_dp_accounting(delta, answers):
    events = {
        dp_event.LaplaceDpEvent(1 / 0.3): lambda a: renyi.laplace(a, 0.3),
        dp_event.GaussianDpEvent(2.0): lambda a: renyi.gaussian(a, 0.5),
    }
    orders = np.concatenate([1 + np.geomspace(0.01, 1, 60), np.geomspace(2.05, 2000, 300)])
    for event, curve in events.items():
        accountant = rdp.RdpAccountant(orders)
        accountant.compose(event, answers)
        theirs = accountant.get_epsilon(delta)
        ours = min(renyi.at_order(a, answers * curve(a), delta) for a in orders)
        assert ours == pytest.approx(theirs, rel=1e-9)
        # All orders beat a grid of them, if not by much.
        best = renyi.total_epsilon(curve, delta, answers)
        assert theirs * 0.98 < best <= theirs + 1e-9


def test_the_conversion_is_above_the_optimum_and_below_concentrated_privacy():
    epsilon, delta, answers = 0.1, 1e-6, 100
    total = renyi.total_epsilon(lambda a: renyi.pure(a, epsilon), delta, answers)
    assert composition.optimal_delta(total, epsilon, answers) <= delta
    assert composition.zcdp_delta(total, answers * composition.pure(epsilon)) >= delta


def test_an_order_is_above_one():
    with pytest.raises(ValueError, match="order=1"):
        renyi.laplace(1.0, 0.5)
