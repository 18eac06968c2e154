"""Exact audits against brute force over all events, closed forms, and the theorems on the reference laws."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dperm.audit import finite
from dperm.audit.exact import best_event, exact, neighbours_of_tiny_domain

EPSILONS = (0.1, 0.5, 1.0, 2.0)
POINTS = range(1, 5)
EXAMPLES = [(x, y) for x in POINTS for y in (0, 1)]


def slow_epsilon(p, q, delta):
    """Return max(0, max over all subsets S of log((P(S) - delta)/Q(S)))."""
    best = 0.0
    for size in range(1, len(p) + 1):
        for chosen in itertools.combinations(range(len(p)), size):
            above, below = sum(p[i] for i in chosen) - delta, sum(q[i] for i in chosen)
            if above > 0:
                best = max(best, math.inf if below == 0 else math.log(above / below))
    return best


# The number itself

LAWS = st.lists(st.integers(0, 20), min_size=5, max_size=5).filter(any).map(lambda w: np.array(w) / sum(w))


@given(p=LAWS, q=LAWS, delta=st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.5]))
def test_epsilon_is_the_best_of_all_events(p, q, delta):
    audit = exact(lambda value: value, [(tuple(p), tuple(q))], delta=delta)
    expected = max(slow_epsilon(p, q, delta), slow_epsilon(q, p, delta))
    assert audit.epsilon == pytest.approx(expected, abs=1e-9)


@given(p=LAWS, q=LAWS, delta=st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.5]))
def test_epsilon_is_the_least_that_the_hockey_stick_allows(p, q, delta):
    """sum (p - e^epsilon q)_+ is at most delta at epsilon, and above it just below."""
    epsilon, _ = best_event(p, q, delta)

    def spent(e):
        return np.maximum(p - math.exp(e) * q, 0).sum()

    if math.isinf(epsilon):
        assert spent(500.0) > delta
    else:
        assert spent(epsilon) <= delta + 1e-12
        assert epsilon == 0 or spent(epsilon - 1e-6) > delta


@given(p=LAWS, q=LAWS, delta=st.sampled_from([0.0, 0.01, 0.1]))
def test_the_event_has_the_probabilities_and_explains_the_epsilon(p, q, delta):
    audit = exact(lambda value: value, [(tuple(p), tuple(q))], delta=delta)
    likelier, other = (p, q) if audit.likelier == "data" else (q, p)
    chosen = list(audit.outcomes)
    assert audit.probability == pytest.approx(likelier[chosen].sum(), abs=1e-15)
    assert audit.other_probability == pytest.approx(other[chosen].sum(), abs=1e-15)
    if 0 < audit.epsilon < math.inf:
        assert math.log((audit.probability - delta) / audit.other_probability) == pytest.approx(audit.epsilon)
        inside = np.zeros(len(p), dtype=bool)
        inside[chosen] = True
        # {ratio > e^epsilon}, and those that equal it; outcomes that neither side makes belong nowhere.
        assert (likelier[inside] >= math.exp(audit.epsilon) * other[inside] * (1 - 1e-12)).all()
        assert (likelier[~inside] <= math.exp(audit.epsilon) * other[~inside] * (1 + 1e-12)).all()
    assert audit.event == f"the outcome is in {{{', '.join(map(str, chosen))}}}"


def test_pure_epsilon_is_the_largest_log_ratio():
    p, q = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.2, 0.2, 0.5, 0.1])
    assert best_event(p, q, 0.0)[0] == math.log(4)
    assert list(best_event(p, q, 0.0)[1]) == [3]
    assert exact(lambda v: (p, q)[v], [(0, 1)]).likelier == "data"
    assert exact(lambda v: (q, p)[v], [(0, 1)]).likelier == "neighbour"


def test_an_outcome_of_one_side_only_costs_infinity_until_delta_covers_it():
    law = {"a": [0.25, 0.75], "b": [0.0, 1.0]}.__getitem__
    assert exact(law, [("a", "b")]).epsilon == math.inf
    assert exact(law, [("a", "b")], delta=0.2499).epsilon == math.inf
    covered = exact(law, [("a", "b")], delta=0.25)
    assert covered.epsilon < 1e-12
    assert covered.likelier == "data"


@pytest.mark.parametrize("delta", [0.0, 1e-9, 0.01, 0.2, 0.6])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomized_response_at_any_delta(epsilon, delta):
    audit = exact(lambda truth: finite.randomized_response(truth, epsilon=epsilon), [(0, 1)], delta=delta)
    left = math.exp(epsilon) - delta * (1 + math.exp(epsilon))
    assert audit.epsilon == pytest.approx(max(0.0, math.log(left)) if left > 0 else 0.0, abs=1e-12)


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.1])
def test_many_bits_against_the_binomial_hockey_stick(delta):
    """Eight bits of randomized response, truth all 0 or all 1: the number of ones is all that matters."""
    ones = np.arange(9)
    laws = [stats.binom.pmf(ones, 8, share) for share in (0.25, 0.75)]
    epsilon = exact(lambda v: laws[v] / laws[v].sum(), [(0, 1)], delta=delta).epsilon
    assert np.maximum(laws[1] - math.exp(epsilon) * laws[0], 0).sum() == pytest.approx(delta, rel=1e-9)
    # The claim of basic composition holds, and pure privacy spends all of it.
    assert epsilon < 8 * math.log(3)


def test_the_worst_pair_is_found_and_named():
    def law(value):
        return finite.bit({"low": -1.0, "mid": 0.0, "high": 3.0}[value])

    audit = exact(law, [("low", "mid"), ("mid", "high"), ("low", "low")])
    assert audit.pair == ("mid", "high")
    assert audit.likelier == "data"  # the answer 0, which becomes rare
    assert audit.outcomes == (0,)


def test_long_events_are_cut_short_in_words_only():
    law = {0: np.full(40, 1 / 40), 1: np.repeat([1.5, 0.5], 20) / 40}.__getitem__
    audit = exact(law, [(0, 1)], delta=0.3)
    assert audit.epsilon < 1e-12
    audit = exact(law, [(0, 1)])
    assert audit.outcomes == tuple(range(20, 40))
    assert audit.event == "the outcome is in {20, 21, 22, 23, 24, 25, 26, 27, 28, 29 and 10 more}"


def test_claims_are_refuted_above_rounding_only():
    audit = exact(lambda truth: finite.randomized_response(truth, epsilon=1.0), [(0, 1)])
    assert not audit.refutes(1.0)
    assert not audit.refutes(1.0 - 1e-12)
    assert audit.refutes(0.999)


def test_inputs_may_be_arrays():
    law = {1: [0.5, 0.5], 2: [0.25, 0.75]}
    audit = exact(lambda x: law[len(x)], [(np.zeros(1), np.zeros(2))])
    assert audit.epsilon == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (lambda v: [0.5, 0.6], "is no law"),
        (lambda v: [1.5, -0.5], "is no law"),
        (lambda v: [math.nan, 1.0], "is no law"),
        (lambda v: [[1.0]], "flat array"),
        (lambda v: [], "flat array"),
        (lambda v: [1.0] if v else [0.5, 0.5], "1 outcomes|2 outcomes"),
    ],
)
def test_what_is_no_law_is_refused(law, message):
    with pytest.raises(ValueError, match=message):
        exact(law, [(0, 1)])


def test_no_pairs_and_a_wrong_delta_are_refused():
    with pytest.raises(ValueError, match="pairs is empty"):
        exact(finite.bit, [])
    with pytest.raises(ValueError, match=r"delta=1\.0 must be"):
        exact(finite.bit, [(0.0, 1.0)], delta=1.0)


# All neighbours of a tiny domain


def are_neighbours(first, second, relation, ordered):
    if relation == "add_remove":
        if len(second) != len(first) + 1:
            return False
        shorter = [(*second[:i], *second[i + 1 :]) for i in range(len(second))]
        return first in shorter if ordered else Counter(first) <= Counter(second)
    if ordered:
        return len(first) == len(second) and sum(a != b for a, b in zip(first, second, strict=True)) == 1
    return len(first) == len(second) and (Counter(first) - Counter(second)).total() == 1


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("letters", "size"), [("ab", 1), ("abc", 1), ("abc", 2), ("ab", 4), ("abc", 3)])
def test_every_pair_of_neighbours_comes_once(letters, size, relation, ordered):
    """Against a check of every two data sets."""
    pairs = list(neighbours_of_tiny_domain(letters, size, relation, ordered=ordered))
    unordered = {frozenset(pair) for pair in pairs}
    assert len(unordered) == len(pairs)

    def data_sets(length):
        every = itertools.product(letters, repeat=length)
        return list(every) if ordered else list(itertools.combinations_with_replacement(letters, length))

    lengths = (size - 1, size) if relation == "add_remove" else (size, size)
    expected = {
        frozenset((first, second))
        for first in data_sets(lengths[0])
        for second in data_sets(lengths[1])
        if are_neighbours(first, second, relation, ordered)
    }
    assert unordered == expected
    if relation == "add_remove":
        assert all(len(neighbour) == len(data) + 1 for data, neighbour in pairs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("aa", 2, "replace"), "twice"), (("ab", 0, "replace"), "size=0"), (("ab", 2, "replaced"), "'replaced'")],
)
def test_a_wrong_domain_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        list(neighbours_of_tiny_domain(*arguments))


# Votes


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("models", [1, 2, 7, 40])
def test_soft_majority_spends_epsilon_and_no_less(models, epsilon):
    audit = exact(
        lambda count: finite.soft_majority(count, models=models, epsilon=epsilon), finite.vote_margins(models)
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
    pairs = list(finite.vote_margins(models))
    assert len(pairs) == models
    right = exact(lambda count: finite.soft_majority(count, models=models, epsilon=epsilon), pairs)
    wrong = exact(lambda count: finite.weighted_votes(count, models=models, epsilon=epsilon), pairs)
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
    margins = set(finite.vote_margins(3))
    assert {move for move in moves if move[0] != move[1]} == margins | {(b, a) for a, b in margins} & moves
    assert all(abs(first - second) <= 1 for first, second in moves)


# Exponential mechanism

SUPPORTS = [((a, b), y) for a in (-1.0, 0.0, 1.0) for b in (-1.0, 1.0) for y in (-1.0, 1.0)]
BOUND = 1.0
ALPHA = 2 * BOUND**2


def supports(epsilon, monotone):
    return lambda data: finite.exponential(
        finite.one_feature_scores(data, features=2, bound=BOUND), epsilon=epsilon, alpha=ALPHA, monotone=monotone
    )


def every_size(relation, largest=3):
    return [pair for size in range(1, largest + 1) for pair in neighbours_of_tiny_domain(SUPPORTS, size, relation)]


def test_scores_are_the_least_losses_and_move_by_at_most_alpha():
    t = np.linspace(-BOUND, BOUND, 2001)
    for data, more in neighbours_of_tiny_domain(SUPPORTS[::3], 3, "add_remove"):
        score = finite.one_feature_scores(data, features=2, bound=BOUND)
        slow = [min(sum(0.5 * (y - x[j] * t) ** 2 for x, y in data)) for j in range(2)]
        assert score == pytest.approx(slow, abs=1e-5)
        change = finite.one_feature_scores(more, features=2, bound=BOUND) - score
        assert change.min() >= -1e-12
        assert change.max() <= ALPHA + 1e-12
    assert finite.one_feature_scores((), features=2, bound=BOUND) == pytest.approx([0, 0])


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
        p = finite.exponential(scores, epsilon=epsilon, alpha=alpha, monotone=monotone)
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
    audit = every_query(lambda data, x: finite.exp_projected_walk(sorted(data), x, steps=steps, epsilon=epsilon), pairs)
    assert audit.epsilon <= times * epsilon
    assert audit.epsilon > 0.4 * times * epsilon


def test_projected_walk_is_tight():
    """All but one example say 0, far from where the walk is held: v moves by 2 and the answer 1 is rare."""
    epsilon, zeros = 1.0, [(1, 0)] * 60
    audit = exact(
        lambda data: finite.exp_projected_walk(data, 1, steps=100, epsilon=epsilon),
        [((*zeros, (1, 0)), (*zeros, (1, 1)))],
    )
    assert audit.epsilon == pytest.approx(epsilon, rel=1e-12)


def test_projected_walk_by_hand():
    data = [(1, 1), (2, 1), (2, 1), (3, 0), (4, 0)]
    assert [finite.projected_walk(data, x, steps=2) for x in (0, 1, 2, 3, 4)] == [0, 1, 2, 1, 0]
    assert finite.projected_walk([(1, 0)] * 9, 1, steps=3) == -3
    assert finite.exp_projected_walk(data, 2, steps=2, epsilon=3.0)[1] == pytest.approx(1 / (1 + math.exp(-3.0)))


@pytest.mark.parametrize("relation", ["replace", "add_remove"])
def test_ties_in_the_order_of_a_sequence_are_private_too(relation):
    """A record keeps its own place: the order of the others does not depend on it."""
    epsilon, two = 0.8, [(x, y) for x in (1, 2) for y in (0, 1)]
    pairs = [pair for size in (1, 2, 3, 4) for pair in neighbours_of_tiny_domain(two, size, relation, ordered=True)]
    for steps in (1, 2):
        audit = every_query(
            lambda data, x, steps=steps: finite.exp_projected_walk(data, x, steps=steps, epsilon=epsilon), pairs
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
        exact(lambda data, order=order: finite.exp_projected_walk(order(data), 1, steps=steps, epsilon=epsilon), pairs)
        for order in (by_number, sorted)
    ]
    assert audits[0].epsilon == pytest.approx(steps * epsilon / 2)  # from one end, v = -T, to the other
    assert audits[0].refutes(epsilon / 2)
    assert not audits[1].refutes(epsilon / 2)


def walk_error(data, steps, epsilon):
    """Return Err_S(ExpPW), the mean chance of a wrong answer at the examples."""
    answers = [finite.exp_projected_walk(data, x, steps=steps, epsilon=epsilon) for x, _ in data]
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
