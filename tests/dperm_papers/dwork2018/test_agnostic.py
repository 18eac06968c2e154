"""dwork2018-agnostic: the least records by brute force and by a linear program, and what the rows say."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from dperm.domain import Budget
from dperm_papers.dwork2018.agnostic import experiment as agnostic
from dperm_papers.dwork2018.agnostic import least_records


def test_differences_are_those_of_a_multinomial():
    n, q, gamma = 7, 0.4, 0.2
    values, mass = least_records.differences(n, q, gamma)
    chances = [q * (0.5 + gamma), q * (0.5 - gamma), 1 - q]
    law = {}
    for a, c in itertools.product(range(n + 1), repeat=2):
        if a + c <= n:
            law[a - c] = law.get(a - c, 0.0) + stats.multinomial.pmf([a, c, n - a - c], n, chances)
    found = dict(zip(values.tolist(), mass, strict=True))
    assert mass.sum() == pytest.approx(1)
    for v, chance in law.items():
        assert found[v] == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (1.0, 0.1), (0.2, 0.2 / 3)])
def test_no_private_bit_errs_less(epsilon, delta):
    """A linear program over the probability p(a, c) at all label counts of n records, with noisy labels."""
    n, q, gamma = 4, 0.5, 0.2
    states = [(a, c) for a in range(n + 1) for c in range(n + 1 - a)]
    place = {state: k for k, state in enumerate(states)}
    chances = [q * (0.5 + gamma), q * (0.5 - gamma), 1 - q]
    ahead = np.array([stats.multinomial.pmf([a, c, n - a - c], n, chances) for a, c in states])
    behind = np.array([stats.multinomial.pmf([c, a, n - a - c], n, chances) for a, c in states])
    rows, limits, grown = [], [], math.exp(epsilon)
    for a, c in states:
        for da, dc in ((1, 0), (0, 1), (-1, 0), (0, -1), (1, -1), (-1, 1)):
            other = place.get((a + da, c + dc))
            if other is None:
                continue
            for sign in (1, -1):
                row = np.zeros(len(states))
                row[place[a, c]], row[other] = sign, -sign * grown
                rows.append(row)
                # Of the bit 1, and of the bit 0.
                limits.append(delta if sign == 1 else delta + grown - 1)
    # b is a fair coin: half of (1 - p) where it is 1, half of p where it is 0.
    solved = optimize.linprog((behind - ahead) / 2, A_ub=np.array(rows), b_ub=limits, bounds=(0, 1))
    least = 0.5 + solved.fun
    assert least_records.error(n, q, gamma, least_records.private(Budget(epsilon, delta))) == pytest.approx(least)


def test_the_exponential_mechanism_on_counts_is_private():
    v = np.arange(-6, 7)
    errors = np.where(v >= 0, least_records.counts(0.7)(np.abs(v)), 1 - least_records.counts(0.7)(np.abs(v)))
    for side in (errors, 1 - errors):
        # A replaced record moves v by at most 2.
        assert np.abs(np.log(side[2:] / side[:-2])).max() <= 0.7 + 1e-12


def test_without_privacy_the_least_n_is_that_of_a_majority_of_coins():
    """d = 2 points: on the noisiest law half of the records are coins of bias gamma."""
    d, alpha = 2, 0.05
    n = least_records.records(d, alpha, least_records.majority)
    rng = np.random.default_rng(0)
    seen = rng.binomial(n, 1 / d, 200_000)
    right = rng.binomial(seen, 0.5 + 2 * alpha)
    wrong = ((2 * right < seen) + 0.5 * (2 * right == seen)).mean()
    assert wrong == pytest.approx(1 / 3, abs=0.02)
    assert n < agnostic.rate(d, alpha, math.inf)


def test_privacy_costs_records_and_promises_cost_more():
    for d, alpha, epsilon in [(10, 0.1, 0.3), (20, 0.02, 1.0)]:
        bit = least_records.private(Budget(epsilon, 0.0))
        free, least, needed = (
            least_records.records(d, alpha, one) for one in (least_records.majority, bit, least_records.counts(epsilon))
        )
        assert free <= least <= needed <= agnostic.promised(d, alpha, epsilon)
