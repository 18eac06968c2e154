"""Exact audits of the reference laws: what the theorems on votes, exponential mechanism and ExpPW promise."""

import math

import numpy as np
import pytest
import together

from dperm.audit import reference_laws
from dperm.audit.exact import exact, neighbours_of_tiny_domain

EPSILONS = (0.1, 0.5, 1.0, 2.0)
POINTS = range(1, 5)
EXAMPLES = [(x, y) for x in POINTS for y in (0, 1)]

# Votes


@together.over("epsilon", EPSILONS)
@together.over("models", [1, 2, 7, 40])
def test_soft_majority_spends_epsilon_and_no_less(models, epsilon):
    audit = exact(
        lambda count: reference_laws.soft_majority(count, models=models, epsilon=epsilon),
        reference_laws.vote_margins(models),
    )
    z = -epsilon * models / 2
    expected = epsilon - math.log((1 + math.exp(z + epsilon)) / (1 + math.exp(z)))
    assert audit.epsilon == pytest.approx(expected, rel=1e-12)
    assert not audit.refutes(epsilon)
    assert set(audit.pair) in ({0, 1}, {models - 1, models})


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_soft_majority_is_tight_and_printed_weights_spend_twice_as_much(epsilon):
    """Erratum D1, in the limit of many models that agree."""
    models = math.ceil(80 / epsilon)
    pairs = list(reference_laws.vote_margins(models))
    assert len(pairs) == models
    right = exact(lambda count: reference_laws.soft_majority(count, models=models, epsilon=epsilon), pairs)
    wrong = exact(lambda count: reference_laws.weighted_votes(count, models=models, epsilon=epsilon), pairs)
    assert right.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert wrong.epsilon == pytest.approx(2 * epsilon, rel=1e-12)
    assert not right.refutes(epsilon)
    assert wrong.refutes(epsilon)
    assert wrong.refutes(1.999 * epsilon)


def test_votes_of_all_data_sets_with_disjoint_blocks_move_by_one():
    """Majority labels of three fixed blocks of two records: what `vote_margins` says, from the data upwards."""

    def votes(data):
        return sum(sum(data[2 * block : 2 * block + 2]) >= 1 for block in range(3))

    moves = {
        (votes(data), votes(other)) for data, other in neighbours_of_tiny_domain((0, 1), 6, "replace", ordered=True)
    }
    margins = set(reference_laws.vote_margins(3))
    assert {move for move in moves if move[0] != move[1]} == margins | {(b, a) for a, b in margins} & moves
    assert all(abs(first - second) <= 1 for first, second in moves)


# Exponential mechanism

SUPPORTS = [((a, b), y) for a in (-1.0, 0.0, 1.0) for b in (-1.0, 1.0) for y in (-1.0, 1.0)]
BOUND = 1.0
ALPHA = 2 * BOUND**2


def supports(epsilon, monotone):
    return lambda data: reference_laws.exponential(
        reference_laws.one_feature_scores(data, features=2, bound=BOUND),
        epsilon=epsilon,
        alpha=ALPHA,
        monotone=monotone,
    )


def every_size(relation, largest=3):
    return [pair for size in range(1, largest + 1) for pair in neighbours_of_tiny_domain(SUPPORTS, size, relation)]


def test_scores_are_the_least_losses_and_move_by_at_most_alpha():
    t = np.linspace(-BOUND, BOUND, 2001)
    for data, more in neighbours_of_tiny_domain(SUPPORTS[::3], 3, "add_remove"):
        score = reference_laws.one_feature_scores(data, features=2, bound=BOUND)
        slow = [min(sum(0.5 * (y - x[j] * t) ** 2 for x, y in data)) for j in range(2)]
        assert score == pytest.approx(slow, abs=1e-5)
        change = reference_laws.one_feature_scores(more, features=2, bound=BOUND) - score
        assert change.min() >= -1e-12
        assert change.max() <= ALPHA + 1e-12
    assert reference_laws.one_feature_scores((), features=2, bound=BOUND) == pytest.approx([0, 0])


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_exponential_mechanism_keeps_its_promise_on_every_pair(epsilon):
    """With the 2: half of epsilon under add/remove, epsilon under replace-one. Without: epsilon under add/remove."""
    spent = {
        (relation, monotone): exact(supports(epsilon, monotone), every_size(relation)).epsilon
        for relation in ("add_remove", "replace")
        for monotone in (False, True)
    }
    assert spent["add_remove", False] <= epsilon / 2
    assert spent["add_remove", True] <= epsilon
    assert spent["replace", False] <= epsilon
    assert spent["replace", True] <= 2 * epsilon
    assert min(spent.values()) > 0.1 * epsilon


@pytest.mark.parametrize(
    ("relation", "monotone", "times"),
    [("add_remove", False, 0.5), ("add_remove", True, 1), ("replace", False, 1), ("replace", True, 2)],
)
def test_exponential_mechanism_attains_its_epsilon(relation, monotone, times):
    """Many choices, one of which a record makes worse (or better) by all of alpha: nothing of the proof is slack."""
    epsilon, alpha, others = 0.7, 3.0, 10**6
    # Scores of the one choice and of all the others, in either data set.
    pair = ((0.0, 0.0), (0.0, alpha)) if relation == "add_remove" else ((0.0, alpha), (alpha, 0.0))

    def law(value):
        scores = np.repeat(value, [1, others])
        p = reference_laws.exponential(scores, epsilon=epsilon, alpha=alpha, monotone=monotone)
        return [p[0], p[1:].sum()]  # the others are alike, so they are one outcome

    assert exact(law, [pair]).epsilon == pytest.approx(times * epsilon, rel=1e-4)


# ExpPW


def every_query(law, pairs):
    """Return the largest epsilon over all queries, and the audit."""
    pairs = list(pairs)
    return max((exact(lambda data, x=x: law(data, x), pairs) for x in (0, *POINTS)), key=lambda audit: audit.epsilon)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize(("relation", "times"), [("replace", 1.0), ("add_remove", 0.5)])
def test_projected_walk_keeps_its_promise_on_every_data_set(relation, times, steps):
    """dwork2018, Lemma 5.1, for multisets of up to five examples at four points, ties sorted by (x, y)."""
    epsilon = 0.8
    pairs = [pair for size in range(1, 6) for pair in neighbours_of_tiny_domain(EXAMPLES, size, relation)]
    audit = every_query(
        lambda data, x: reference_laws.exp_projected_walk(sorted(data), x, steps=steps, epsilon=epsilon), pairs
    )
    assert audit.epsilon <= times * epsilon
    assert audit.epsilon > 0.4 * times * epsilon


def test_projected_walk_is_tight():
    """All but one example say 0, far from where the walk is held: v moves by 2 and the answer 1 is rare."""
    epsilon, zeros = 1.0, [(1, 0)] * 60
    audit = exact(
        lambda data: reference_laws.exp_projected_walk(data, 1, steps=100, epsilon=epsilon),
        [((*zeros, (1, 0)), (*zeros, (1, 1)))],
    )
    assert audit.epsilon == pytest.approx(epsilon, rel=1e-12)


def test_projected_walk_by_hand():
    data = [(1, 1), (2, 1), (2, 1), (3, 0), (4, 0)]
    assert [reference_laws.projected_walk(data, x, steps=2) for x in (0, 1, 2, 3, 4)] == [0, 1, 2, 1, 0]
    assert reference_laws.projected_walk([(1, 0)] * 9, 1, steps=3) == -3
    assert reference_laws.exp_projected_walk(data, 2, steps=2, epsilon=3.0)[1] == pytest.approx(
        1 / (1 + math.exp(-3.0))
    )


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_ties_in_the_order_of_a_sequence_are_private_too(relation):
    """A record keeps its own place: the order of the others does not depend on it."""
    epsilon, two = 0.8, [(x, y) for x in (1, 2) for y in (0, 1)]
    pairs = [pair for size in (1, 2, 3, 4) for pair in neighbours_of_tiny_domain(two, size, relation, ordered=True)]
    for steps in (1, 2):
        audit = every_query(
            lambda data, x, steps=steps: reference_laws.exp_projected_walk(data, x, steps=steps, epsilon=epsilon), pairs
        )
        assert audit.epsilon <= (epsilon if relation == "replace" else epsilon / 2)


def test_a_tie_rule_that_looks_at_the_other_records_is_refuted():
    """Ties with their ones first if they are even in number: a record more turns the order, and the walk around."""

    def by_number(data):
        even = len(data) % 2 == 0
        return sorted(data, key=lambda record: record[1] != even)

    epsilon, steps = 0.8, 2
    pairs = list(neighbours_of_tiny_domain([(1, 0), (1, 1)], 9, "add_remove"))
    audits = [
        exact(
            lambda data, order=order: reference_laws.exp_projected_walk(order(data), 1, steps=steps, epsilon=epsilon),
            pairs,
        )
        for order in (by_number, sorted)
    ]
    assert audits[0].epsilon == pytest.approx(steps * epsilon / 2)  # from one end, v = -T, to the other
    assert audits[0].refutes(epsilon / 2)
    assert not audits[1].refutes(epsilon / 2)


def walk_error(data, steps, epsilon):
    """Return Err_S(ExpPW), the mean chance of a wrong answer at the examples."""
    answers = [reference_laws.exp_projected_walk(data, x, steps=steps, epsilon=epsilon) for x, _ in data]
    return sum(answer[1 - y] for answer, (_, y) in zip(answers, data, strict=True)) / len(data)


def test_sorting_ties_by_label_breaks_the_error_bound_and_keys_mend_it():
    """Erratum D5. Lemma 5.2 with k = 1: Err <= Opt + 3 T/n + e^{-epsilon T/2}."""
    epsilon, steps = 8.0, 2
    tied = [(1, 0)] * 90 + [(1, 1)] * 10
    # The best threshold function is 0 (the threshold beyond all points): it errs on the ones.
    bound = 0.1 + 3 * steps / len(tied) + math.exp(-epsilon * steps / 2)
    assert walk_error(sorted(tied), steps, epsilon) > 0.85 > bound
    rng = np.random.default_rng(7)
    for _ in range(20):
        keys = rng.uniform(size=len(tied))
        # Lifted: every example has a place of its own, and so has the query, its own.
        lifted = [(x + key, y) for (x, y), key in zip(tied, keys, strict=True)]
        best = min(np.mean([(x >= at) != y for x, y in lifted]) for at in [*sorted(x for x, _ in lifted), 3.0])
        assert walk_error(lifted, steps, epsilon) <= best + 3 * steps / len(tied) + math.exp(-epsilon * steps / 2)
