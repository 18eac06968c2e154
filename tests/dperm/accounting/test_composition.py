"""What many releases cost: against dp-accounting, closed forms, brute force over the proof's suprema, and inverses."""

import itertools
import math

import numpy as np
import pytest
import together
from dp_accounting import dp_event, rdp
from dp_accounting.pld.privacy_loss_distribution import from_randomized_response
from hypothesis import given, settings
from hypothesis import strategies as st

from dperm.accounting import composition, gaussian, rounds
from dperm.errors import InvalidBudget

EPSILON = st.floats(-3, 1.5).map(lambda power: 10**power)
DELTA = st.floats(-12, -0.05).map(lambda power: 10**power)
COUNT = st.integers(1, 10**9)


# Theorem 11


def test_theorem_11_as_printed():
    expected = math.sqrt(2 * 300 * math.log(1e6)) * 0.01 + 300 * 0.01 * (math.exp(0.01) - 1)
    assert composition.advanced(0.01, 1e-6, 300) == pytest.approx(expected, rel=1e-14)


@given(epsilon=EPSILON, delta=DELTA, k=COUNT)
def test_the_inverse_spends_all_of_epsilon_and_no_more(epsilon, delta, k):
    each = composition.inverted(epsilon, delta, k)
    if each > epsilon / k:
        assert epsilon * (1 - 1e-9) <= composition.advanced(each, delta, k) <= epsilon
    else:
        assert composition.advanced(each * (1 + 1e-9), delta, k) > epsilon


@together.over("k", [1, 3, 20, 400])
@together.over("each", [0.01, 0.1, 0.7])
@together.over("delta", [1e-8, 1e-3, 0.2])
def test_theorem_11_covers_the_worst_composition(k, each, delta):
    assert composition.optimal_delta(composition.advanced(each, delta, k), each, k) <= delta


# The optimum


@together.over(("each", "k"), [(0.3, 1), (0.3, 4), (1.1, 7)])
@together.over("epsilon", [0.0, 0.2, 1.0, 2.5])
def test_optimal_composition_against_all_outcomes(epsilon, each, k):
    yes = math.exp(each) / (1 + math.exp(each))
    delta = 0.0
    for outcome in itertools.product([0, 1], repeat=k):
        p = math.prod(yes if o else 1 - yes for o in outcome)
        q = math.prod(1 - yes if o else yes for o in outcome)
        delta += max(0.0, p - math.exp(epsilon) * q)
    assert composition.optimal_delta(epsilon, each, k) == pytest.approx(delta, rel=1e-10, abs=1e-15)


@pytest.mark.parametrize(("each", "k"), [(0.1, 50), (0.5, 20)])
def test_optimal_composition_against_dp_accounting(each, k):
    pld = from_randomized_response(
        2 / (1 + math.exp(each)), 2, pessimistic_estimate=True, value_discretization_interval=1e-4
    ).self_compose(k)
    for epsilon in (0.5, 1.0, 2.0):
        ours = composition.optimal_delta(epsilon, each, k)
        assert ours <= pld.get_delta_for_epsilon(epsilon) * (1 + 1e-9)
        assert ours == pytest.approx(pld.get_delta_for_epsilon(epsilon), rel=0.03)


# Concentrated privacy


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-2), (10.0, 1e-5)])
def test_conversion_against_dp_accounting_and_its_inverse(epsilon, delta):
    rho = composition.zcdp_rho(epsilon, delta)
    assert composition.zcdp_delta(epsilon, rho) == pytest.approx(delta, rel=1e-5)
    assert composition.zcdp_delta(epsilon, rho) <= delta
    orders = np.exp(np.linspace(math.log(1.001), math.log(1e5), 4000))
    accountant = rdp.RdpAccountant(orders)
    accountant.compose(dp_event.ZCDpEvent(rho))
    assert accountant.get_delta(epsilon) == pytest.approx(delta, rel=1e-3)


def test_the_conversion_is_the_minimum_over_a_grid_of_orders():
    rho, epsilon = 0.03, 1.3
    alpha = 1 + np.exp(np.linspace(-12, 12, 200_001))
    grid = (alpha - 1) * (alpha * rho - epsilon) + alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)
    assert composition.zcdp_delta(epsilon, rho) == pytest.approx(math.exp(grid.min()), rel=1e-7)


@given(epsilon=EPSILON, delta=DELTA)
@settings(max_examples=50)
def test_a_gaussian_of_that_rho_is_within_the_budget(epsilon, delta):
    rho = composition.zcdp_rho(epsilon, delta)
    assert gaussian.hockey_stick(epsilon, math.sqrt(2 * rho)) <= delta


@together.over("epsilon", [0.05, 0.5, 2.0])
@together.over("order", [1.01, 2.0, 9.0])
def test_rho_of_a_pure_and_of_a_bounded_range_release(epsilon, order):
    def renyi(p, q):
        return math.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)

    yes = 1 / (1 + math.exp(-epsilon))
    assert renyi([yes, 1 - yes], [1 - yes, yes]) <= order * composition.pure(epsilon)
    worst = 0.0
    for t in np.linspace(0, epsilon, 201)[1:-1]:
        # The two-point pair whose log ratios are t and t - epsilon.
        q = (1 - math.exp(t - epsilon)) / (math.exp(t) - math.exp(t - epsilon))
        worst = max(worst, renyi([q * math.exp(t), 1 - q * math.exp(t)], [q, 1 - q]))
    assert worst <= order * composition.bounded_range(epsilon)
    if epsilon < 1 and order < 5:
        assert worst > 0.97 * order * composition.bounded_range(epsilon)


# Rounds of which only some pay


def bill(lam, e, mu, p_yes, ratios, rest):
    """E_P exp(lambda loss - mu yes) for a round: yes with masses (under Q) and ratios, no with the rest."""
    yes = sum(math.exp(-mu) * q * r ** (lam + 1) for q, r in zip(p_yes, ratios, strict=True))
    q_no = 1 - sum(p_yes)
    return yes + (rest ** (lam + 1) / q_no**lam if q_no > 0 else 0.0)


AT = [(0.1, 0.01), (0.5, 0.1), (4.0, 0.1), (0.05, 2.0)]


@pytest.mark.parametrize(
    ("lam", "e"), [(3.0, 0.01), (0.3, 1.0), *(pytest.param(*given, marks=pytest.mark.slow) for given in AT)]
)
def test_no_round_costs_more_and_one_costs_as_much(lam, e):
    mu, rng = rounds.yes_cost(lam, e), np.random.default_rng(0)
    worst = 0.0
    for _ in range(20_000):
        masses = rng.dirichlet(np.full(4, 0.4))[:3]
        ratios = np.exp(rng.uniform(-e, e, 3) if rng.random() < 0.5 else e * rng.choice([-1, 1], 3))
        rest = 1 - masses @ ratios
        if (1 - masses.sum()) * math.exp(-e) <= rest <= (1 - masses.sum()) * math.exp(e):
            worst = max(worst, bill(lam, e, mu, masses, ratios, rest))
    assert 0.99 < worst <= 1 + 1e-12
    # The extreme pairs: randomised response with "no" on either side.
    odd, even = 1 / (math.exp(e) + 1), math.exp(e) / (math.exp(e) + 1)
    attained = [
        bill(lam, e, mu, [odd], [math.exp(e)], 1 - odd * math.exp(e)),
        bill(lam, e, mu, [even], [math.exp(-e)], 1 - even * math.exp(-e)),
    ]
    assert max(attained) == pytest.approx(1.0, abs=1e-9)


@together.over("lam", [0.1, 1.0, 10.0])
def test_a_yes_of_small_epsilon_costs_as_much_as_two_releases(lam):
    # A pure release has lambda times its divergence at most lambda (lambda + 1) e^2/2.
    assert rounds.yes_cost(lam, 1e-5) == pytest.approx(lam * (lam + 1) * 1e-10, rel=1e-3)


def test_no_cost_where_one_no_may_say_too_much():
    assert rounds.yes_cost(1.0, 1.0) == math.inf
    assert rounds.yes_cost(50.0, 100.0) == math.inf


@given(epsilon=EPSILON, delta=DELTA, count=COUNT, share=st.floats(0, 0.9))
@settings(max_examples=40, deadline=None)
def test_what_rounds_may_spend_is_the_most_they_may(epsilon, delta, count, share):
    each, rho = rounds.rounds(epsilon, delta, count, share)
    assert rounds.rounds_delta(epsilon, each, count, rho) <= delta
    more = 1 + 1e-4
    assert rounds.rounds_delta(epsilon, more * each, count, more**2 * rho) > delta * (1 - 1e-9)
    # No better than B releases of a yes alone, counted by zCDP.
    assert each <= math.sqrt(2 * composition.zcdp_rho(epsilon, delta) / count)


@together.over("distance, threshold", [(0.0, 1.0), (2.0, 2.0), (3.0, 1.0), (1.0, 6.0)])
def test_every_transcript_of_a_short_run_stays_within_its_delta(distance, threshold):
    e, B, T, epsilon = 0.3, 2, 9, 1.2

    def below(d):
        """Pr[d + Lap(1/e) <= threshold]."""
        tail = 0.5 * math.exp(-e * abs(threshold - d))
        return 1 - tail if threshold > d else tail

    p, q = below(distance), below(distance + 1)

    def transcripts(t=0, yes=0, a=1.0, b=1.0):
        if t == T or yes == B:
            return [(a, b)]
        return transcripts(t + 1, yes, a * p, b * q) + transcripts(t + 1, yes + 1, a * (1 - p), b * (1 - q))

    pairs = np.array(transcripts())
    covered = rounds.rounds_delta(epsilon, e, B)
    for first, second in (pairs.T, pairs.T[::-1]):
        assert 0 <= np.maximum(0, first - math.exp(epsilon) * second).sum() <= covered


@together.over(
    "call, word",
    [
        (lambda: composition.inverted(0.0, 1e-6, 3), "epsilon"),
        (lambda: composition.inverted(1.0, 0.0, 3), "delta"),
        (lambda: composition.zcdp_rho(1.0, 1.0), "delta"),
        (lambda: composition.zcdp_delta(1.0, -1.0), "rho"),
        (lambda: composition.optimal_delta(1.0, math.inf, 3), "each"),
        (lambda: rounds.rounds_delta(1.0, 0.0, 3), "each"),
    ],
)
def test_bad_budgets_are_named(call, word):
    with pytest.raises(InvalidBudget, match=word):
        call()


@together.over("k", [0, -1, 1.5, True, "3", None])
def test_bad_counts_are_named(k):
    with pytest.raises(ValueError, match="k="):
        composition.inverted(1.0, 1e-6, k)
