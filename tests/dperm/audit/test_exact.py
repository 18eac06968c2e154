"""Exact audits against closed forms, and the neighbours of a tiny domain against a check of every two data sets."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import together
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dperm.audit import reference_laws
from dperm.audit.exact import exact, neighbours_of_tiny_domain

EPSILONS = (0.1, 0.5, 1.0, 2.0)


# The number itself

LAWS = st.lists(st.integers(0, 20), min_size=5, max_size=5).filter(any).map(lambda w: np.array(w) / sum(w))


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
    assert exact(lambda v: (p, q)[v], [(0, 1)]).likelier == "data"
    assert exact(lambda v: (q, p)[v], [(0, 1)]).likelier == "neighbour"


def test_an_outcome_of_one_side_only_costs_infinity_until_delta_covers_it():
    law = {"a": [0.25, 0.75], "b": [0.0, 1.0]}.__getitem__
    assert exact(law, [("a", "b")]).epsilon == math.inf
    assert exact(law, [("a", "b")], delta=0.2499).epsilon == math.inf
    covered = exact(law, [("a", "b")], delta=0.25)
    assert covered.epsilon < 1e-12
    assert covered.likelier == "data"


@together.over("delta", [0.0, 1e-9, 0.01, 0.2, 0.6])
@together.over("epsilon", EPSILONS)
def test_randomized_response_at_any_delta(epsilon, delta):
    audit = exact(lambda truth: reference_laws.bit(epsilon if truth else -epsilon), [(0, 1)], delta=delta)
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
        return reference_laws.bit({"low": -1.0, "mid": 0.0, "high": 3.0}[value])

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
    audit = exact(lambda truth: reference_laws.bit(1.0 if truth else -1.0), [(0, 1)])
    assert not audit.refutes(1.0)
    assert not audit.refutes(1.0 - 1e-12)
    assert audit.refutes(0.999)


def test_inputs_may_be_arrays():
    law = {1: [0.5, 0.5], 2: [0.25, 0.75]}
    audit = exact(lambda x: law[len(x)], [(np.zeros(1), np.zeros(2))])
    assert audit.epsilon == pytest.approx(math.log(2))


@together.over(
    "law, message",
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
        exact(reference_laws.bit, [])
    with pytest.raises(ValueError, match=r"delta=1\.0 must be"):
        exact(reference_laws.bit, [(0.0, 1.0)], delta=1.0)


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


@together.over("ordered", [False, True])
@together.over("relation", ["add_remove", "replace"])
@together.over(("letters", "size"), [("ab", 1), ("abc", 1), ("abc", 2), ("ab", 4), ("abc", 3)])
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


@together.over(
    "arguments, message",
    [(("aa", 2, "replace"), "twice"), (("ab", 0, "replace"), "size=0"), (("ab", 2, "replaced"), "'replaced'")],
)
def test_a_wrong_domain_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        list(neighbours_of_tiny_domain(*arguments))
