"""Curves of finite laws against brute force over all events."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dperm.laws.finite import best_event, closeness, hockey_stick

LAWS = st.lists(st.integers(0, 20), min_size=5, max_size=5).filter(any).map(lambda w: np.array(w) / sum(w))
DELTAS = st.sampled_from([0.0, 1e-6, 0.01, 0.1, 0.5])


def events(p, q):
    """Give P(S) and Q(S) of all subsets S that are not empty."""
    for size in range(1, len(p) + 1):
        for chosen in itertools.combinations(range(len(p)), size):
            yield sum(p[i] for i in chosen), sum(q[i] for i in chosen)


@given(p=LAWS, q=LAWS, delta=DELTAS)
def test_epsilon_is_the_best_of_all_events(p, q, delta):
    best = 0.0
    for above, below in events(p, q):
        if above > delta:
            best = max(best, math.inf if below == 0 else math.log((above - delta) / below))
    assert best_event(p, q, delta)[0] == pytest.approx(best, abs=1e-9)


@given(p=LAWS, q=LAWS, epsilon=st.floats(0, 3))
def test_delta_is_the_worst_of_all_events(p, q, epsilon):
    forth = max(0.0, *(above - math.exp(epsilon) * below for above, below in events(p, q)))
    back = max(0.0, *(above - math.exp(epsilon) * below for above, below in events(q, p)))
    assert hockey_stick(p, q, epsilon) == pytest.approx(forth, abs=1e-12)
    assert closeness(p, q, epsilon) == pytest.approx(max(forth, back), abs=1e-12)


@given(p=LAWS, q=LAWS, delta=DELTAS)
def test_the_two_are_inverse_to_each_other(p, q, delta):
    epsilon, _ = best_event(p, q, delta)
    if math.isinf(epsilon):
        assert hockey_stick(p, q, 500.0) > delta
    else:
        assert hockey_stick(p, q, epsilon) <= delta + 1e-12
        assert epsilon == 0 or hockey_stick(p, q, epsilon - 1e-6) > delta


def test_pure_epsilon_is_the_largest_log_ratio():
    epsilon, event = best_event(np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.2, 0.2, 0.5, 0.1]), 0.0)
    assert epsilon == math.log(4) and list(event) == [3]
