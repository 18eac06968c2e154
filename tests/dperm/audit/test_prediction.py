"""Laws and strategies behind the attacks on private predictions, by brute force, quadrature and closed forms.

The jobs and the mutants: test_audit_prediction_jobs.py.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from dperm.accounting import composition, filters
from dperm.audit import reference_laws
from dperm.audit.prediction import answers, bits, consensus_ledger, queries, transcripts, walks
from dperm.mechanisms.prediction import consensus
from dperm.mechanisms.prediction.ledger import AdaptiveLedger

ROW = {"calibration": "tight", "variant": "exponential", "neighbours": "replace", "epsilon": 1.0, "delta": 0.0}


# Bits.


@pytest.mark.parametrize(("value", "scale"), [(0.0, 0.3), (0.25, 0.1), (0.5, 2.0), (1.0, 0.05)])
def test_the_averages_bit_is_the_clipped_mean(value, scale):
    law = stats.laplace(value, scale)
    mean = law.sf(1.0) + integrate.quad(lambda t: t * law.pdf(t), 0, 1, points=[value])[0]
    assert bits.clipped(value, scale) == pytest.approx([1 - mean, mean], abs=1e-9)


def test_all_margins_are_looked_at():
    pairs = list(bits.margins(5))
    assert len(pairs) == len(set(pairs)) == 2 + 3 + 4 + 5
    assert all(one[1] == other[1] and other[0] - one[0] == 1 for one, other in pairs)


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_assignments_by_lot(relation):
    """Of five records three are kept, one a shard; or each of five is in a shard of its own choice."""
    data = (0, 0, 1, 1, 1)
    counts = [int(bits.votes(parts).sum()) for parts in bits.assigned(data, relation)]
    found = np.bincount(counts, minlength=4) / len(counts)
    if relation == "replace":
        assert found == pytest.approx(stats.hypergeom(5, 3, 3).pmf(np.arange(4)))
        return
    assert len(counts) == 3**5
    brute = np.zeros(4)
    for lots in itertools.product(range(3), repeat=5):
        ones = np.bincount(lots, weights=data, minlength=3)
        brute[(2 * ones > np.bincount(lots, minlength=3)).sum()] += 1
    assert found == pytest.approx(brute / 3**5)


# Walks.


@pytest.mark.parametrize("bound", [2.0, 1.5, 9.0])
def test_the_law_of_the_walk_is_that_of_all_orders_of_equal_points(bound):
    data = ((0, 1), (0, 0), (0, 0), (1, 1), (1, 1), (1, 0))
    found = walks.end(walks.grouped(data)[:2], bound, "exponential")
    brute = {}
    orders = [tuple(itertools.permutations(part)) for part in (data[:3], data[3:])]
    for first, second in itertools.product(*orders):
        for place in range(4):
            v = 0.0
            for _, y in (*first, *second[:place]):
                v = min(max(v + 2 * y - 1, -bound), bound)
            brute[v] = brute.get(v, 0) + 1 / (36 * 4)
    assert found == pytest.approx(brute)


def test_sorted_and_strict_walks():
    data = ((0, 1), (0, 0), (1, 1), (1, 0), (1, 0))
    groups = walks.grouped(data)[:2]
    by_label = reference_laws.projected_walk(sorted(data), 1, steps=1)
    assert walks.end(groups, 1.0, "sorted") == {float(by_label): 1.0}
    strictly = reference_laws.projected_walk(sorted(data), 0, steps=1)
    assert walks.end(groups, 1.0, "strict") == {float(strictly): 1.0}


def test_small_data_sets_show_what_the_walk_can_move():
    """Six records and no wall: V = -4 for -6 is the rarest bit; five and one more of them under add/remove."""

    def loss(step, v, moved):
        return step * moved - math.log((1 + math.exp(step * (v + moved))) / (1 + math.exp(step * v)))

    assert walks.Form(ROW).worst(0.05)[0] == pytest.approx(loss(0.5, -6, 2))
    come = walks.Form({**ROW, "neighbours": "add_remove"}).worst(0.05)[0]
    # T = 4: at the wall, where one label 1 is a step.
    assert come == pytest.approx(loss(1.0, -4, 1))
    assert walks.Form({**ROW, "calibration": "paper", "variant": "strict"}).worst(0.05)[0] > 1.7


# Strategies.


def test_rounds_are_the_best_of_all_strategies():
    price, epsilon = 0.6, 0.5
    first, second = (
        transcripts.bit(reference_laws.bit(z + price), reference_laws.bit(z)) for z in (-0.9, 0.4)
    )  # fmt: skip
    assert first.most - second.most > 0.1

    def value(left, loss):
        if not left:
            return max(0.0, 1 - math.exp(epsilon - loss))
        return max(
            one.chance * value(left - 1, loss + one.most) + (1 - one.chance) * value(left - 1, loss + one.most - price)
            for one in (first, second)
        )

    p, losses = transcripts.rounds(first, second, 5, price, epsilon)
    assert p.sum() == pytest.approx(1) and (p * np.exp(-losses)).sum() == pytest.approx(1)
    assert (p * -np.expm1(np.minimum(epsilon - losses, 0))).sum() == pytest.approx(value(5, 0.0))
    # The choice is worth something.
    assert value(5, 0.0) > 1.001 * max(
        (q * -np.expm1(np.minimum(epsilon - loss, 0))).sum()
        for q, loss in (transcripts.rounds(one, one, 5, price, epsilon) for one in (first, second))
    )


def test_prices_are_the_best_of_all_strategies():
    width, epsilon = 0.2, 0.5
    allowed = np.zeros((5, 4), bool)
    allowed[:4, 0] = allowed[:2, 1] = allowed[0, 2] = True
    offered = (transcripts.response(1, width), transcripts.laplace(3, width))

    def value(i, j, loss):
        here = [max(0.0, 1 - math.exp(epsilon - loss))]
        for one, nxt in zip(offered, ((i + 1, j), (i, j + 1)), strict=True):
            if allowed[nxt]:
                steps = zip(one.steps, one.chances, strict=True)
                here.append(sum(chance * value(*nxt, loss + width * step) for step, chance in steps))
        return max(here)

    law = transcripts.prices(allowed, offered, epsilon, width)
    assert law.masses.sum() == pytest.approx(1) and (law.masses * np.exp(-law.losses)).sum() == pytest.approx(1)
    assert (law.masses * -np.expm1(np.minimum(epsilon - law.losses, 0))).sum() == pytest.approx(value(0, 0, 0.0))


def test_of_one_price_the_best_strategy_spends_what_composition_says():
    allowed = np.zeros((42, 2), bool)
    allowed[:41, 0] = True
    law = transcripts.prices(allowed, (transcripts.response(1, 0.1),) * 2, 0.7, 0.1)
    delta = (law.masses * -np.expm1(np.minimum(0.7 - law.losses, 0))).sum()
    assert delta == pytest.approx(composition.optimal_delta(0.7, 0.1, 40), rel=1e-9)


def test_answers_spend_at_most_their_price():
    for law in (transcripts.laplace(4, 0.1), transcripts.response(4, 0.1)):
        p, losses = np.array(law.chances), 0.1 * np.array(law.steps)
        assert p.sum() == pytest.approx(1) and p @ np.exp(-losses) == pytest.approx(1)
        assert np.abs(losses).max() == pytest.approx(0.4)


def test_a_ledgers_grants_are_found():
    row = {"epsilon": 1.0, "delta": 1e-2, "neighbours": "replace"}
    low = queries.cheap(1.0, 1e-2)
    allowed = queries.table(queries.granting(AdaptiveLedger, row, low, 4), 2 * queries.CHEAP)
    rho = composition.zcdp_rho(1.0, 1e-2)
    i, j = np.indices(allowed.shape)
    within = ((i + 4 * j) * low <= 1) | ((i + 16 * j) * low**2 / 2 <= rho)
    assert (allowed == within).all() and not allowed[-1].any() and not allowed[:, -1].any()
    assert allowed[queries.CHEAP, 0] and not allowed[queries.CHEAP + 1, 0]


@pytest.mark.parametrize("accountant", filters.ACCOUNTANTS)
def test_a_ledger_grants_what_was_asked_for(accountant):
    row = {"epsilon": 1.0, "delta": 1e-6, "neighbours": "replace"}
    each, granted = queries.opened(row, 30, True, accountant)
    assert granted == 30 and filters.spent(each, 30, 1e-6, bounded_range=True, accountant=accountant) <= 1


def test_many_bits_are_binomial():
    found = queries.many_bits(lambda z: reference_laws.bit(z), [(-0.2, 0.1)], 3, 0.01)
    p, q = (np.array([math.comb(3, k) * special.expit(z) ** k * special.expit(-z) ** (3 - k) for k in range(4)])
            for z in (-0.2, 0.1))  # fmt: skip
    best = max(
        math.log((sum(a[k] for k in event) - 0.01) / sum(b[k] for k in event))
        for a, b in ((p, q), (q, p))
        for size in (1, 2, 3)
        for event in itertools.combinations(range(4), size)
        if sum(a[k] for k in event) > 0.01
    )
    assert found.epsilon == pytest.approx(best)


# Consensus.

TERMS = consensus.Terms(contested=1, round=0.5, each=0.3, threshold=4.0, slip=0.1)


def test_a_free_round():
    for disagree in (0, 3, 4, 6):
        law = stats.laplace(scale=1 / 0.5)
        assert consensus_ledger.free(disagree, TERMS) == pytest.approx(law.cdf(4.0 - disagree))


def test_a_block_is_a_law():
    block = consensus_ledger.make_block(3, 4, TERMS, 15, 10, 1e-4, 10**6)
    chances = [chance for _, chance in (*block.free, *block.contested)]
    assert sum(chances) == pytest.approx(1)
    stay, other = (consensus_ledger.free(q, TERMS) ** 10 for q in (3, 4))
    assert block.free[0][0] * 1e-4 == pytest.approx(math.log(stay / other), abs=1e-4)
    ones = [special.expit(0.3 * (2 * c - 15) / 2) for c in (3, 4)]
    loss = math.log((1 - stay) * ones[0] / ((1 - other) * ones[1]))
    assert block.contested[1][0] * 1e-4 == pytest.approx(loss, abs=1e-4)
    assert block.contested[1][1] == pytest.approx((1 - stay) * ones[0])


def test_at_the_tie_a_free_answer_has_no_bound():
    block = consensus_ledger.make_block(7, 8, TERMS, 15, 1, 1e-2, 100)
    assert block.free == [(200, consensus_ledger.free(7, TERMS))]


def test_less_noise_in_the_comparison_spends_more(monkeypatch):
    monkeypatch.setattr(consensus_ledger, "BLOCKS", 8)
    shards = consensus.shards_needed(1.0, 1e-6, 1)
    proper = consensus.terms(1.0, 1e-6, shards, 1)
    loud = consensus.Terms(1, 4 * proper.round, proper.each, proper.threshold, proper.slip)
    spends = [consensus_ledger.strategy(terms, shards, 1, 0.7).epsilon(1e-6)[0] for terms in (proper, loud)]
    assert 0.5 < spends[0] <= 1 < spends[1]


# Answers.


@pytest.mark.parametrize("neighbours", ["replace", "add_remove"])
def test_the_pairs_of_stable_erm_are_where_they_are_said_to_be(neighbours):
    for made in answers.erm({**ROW, "variant": "laplace", "neighbours": neighbours}):
        for own, worst in zip(made.centre, (made.first, made.second), strict=True):
            assert own == pytest.approx(worst, abs=0.06 * made.scale)
        # With the slack of the solver, all of the scale.
        assert made.first - made.second == pytest.approx(made.scale, rel=1e-12)


def test_the_pair_of_stable_sgd_is_where_it_is_said_to_be():
    for variant, share in (("laplace", 1.0), ("halved", 0.5)):
        (made,) = answers.sgd({**ROW, "variant": variant, "calibration": "paper"})
        assert made.centre == pytest.approx((made.first, made.second), rel=1e-12)
        assert made.first == pytest.approx(share * 0.1 * 0.99)


def test_the_line_of_a_clipped_answer():
    (made,) = answers.average({**ROW, "variant": "laplace"})
    target = answers.target(made)
    law = stats.laplace(0.1, made.scale)
    t = np.array([-0.1, 0.0, 0.3, 0.99, 1.0, 2.0])
    assert target.cdf(t, 0.1) == pytest.approx([0, law.cdf(0), law.cdf(0.3), law.cdf(0.99), 1, 1])
    assert target.sf(t, 0.1) == pytest.approx([1, law.sf(0), law.sf(0.3), law.sf(0.99), 0, 0])
