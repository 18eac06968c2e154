"""Laws of release mode. The noise is OpenDP's, which no seed fixes: each test counts what has an exact tail."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dperm import grid, losses
from dperm.audit import sampling
from dperm.domain import Budget, Domain
from dperm.mechanisms import output

pytestmark = pytest.mark.slow

# That one count is further out than it should be; each test says how many there are.
RARE = 1e-9


def noise(budget, repeats, p=1):
    released = grid.add_noise(np.zeros((repeats, p)), sensitivity=1.0, budget=budget)
    return np.rint(released.values / released.step), released.scale


# One count for each of 41 cells, and one below each of their 42 edges.
@pytest.mark.chance(83 * RARE)
@pytest.mark.parametrize("delta", [0.0, 1e-2])
def test_the_integer_noise_has_its_law(delta):
    """Counts in 41 cells of equal width, and below their edges, against the probabilities of the discrete law."""
    drawn, scale = noise(Budget(2.0, delta), 20_000)
    width = max(1, round(scale / 5))
    edges = width * (np.arange(-20, 22) - 0.5)
    whole = np.arange(-60 * math.ceil(scale), 60 * math.ceil(scale) + 1)
    weight = np.exp(-np.abs(whole) / scale) if delta == 0 else np.exp(-((whole / scale) ** 2) / 2)
    cells = [(whole >= low) & (whole < high) for low, high in itertools.pairwise(edges)]
    for cell in (*cells, *(whole < edge for edge in edges)):
        hits = int(np.isin(drawn, whole[cell]).sum())
        assert stats.binomtest(hits, len(drawn), weight[cell].sum() / weight.sum()).pvalue > RARE


# Four counts, and the law of 5000 draws over thousands of integers.
@pytest.mark.chance(5 * RARE)
def test_coordinates_and_repeats_are_independent():
    """Signs and parities agree as often as not (both are fair but for the mass of 0, below 1/1000)."""
    drawn, _ = noise(Budget(1.0), 5_000, p=2)
    for first, second in ((drawn[:, 0], drawn[:, 1]), (drawn[:-1, 0], drawn[1:, 0])):
        for bits in (lambda x: x > 0, lambda x: x % 2 == 1):
            agreed = int((bits(first) == bits(second)).sum())
            assert stats.binomtest(agreed, len(first), 0.5).pvalue > RARE
    assert len(np.unique(drawn[:, 0])) > 1_000


@pytest.mark.parametrize("x", [Fraction(-3, 2), Fraction(0), Fraction(7, 3)])
def test_bits_have_their_probability(x):
    hits = sum(grid.logistic_bit(x) for _ in range(20_000))
    assert stats.binomtest(hits, 20_000, 1 / (1 + math.exp(-x))).pvalue > RARE  # seeded: see tests/helpers/chances.py


def published(data, repeats, rng):
    X, y = data
    domain, budget = Domain(x_norm=1.0), Budget(1.0)
    fixed = {"domain": domain, "budget": budget, "neighbours": "add_remove"}
    return output.publish(X, y, losses.huber(1.0), **fixed, repeats=repeats).theta


def floating(data, repeats, rng):
    """The same release with Laplace noise in doubles."""
    X, y = data
    domain, budget = Domain(x_norm=1.0), Budget(1.0)
    fixed = {"domain": domain, "budget": budget, "neighbours": "add_remove", "calibration": "tight"}
    return output.release(X, y, losses.huber(1.0), **fixed, rng=rng, repeats=repeats).theta


EMPTY, FAR = (np.zeros((0, 1)), np.zeros(0)), (np.ones((1, 1)), np.array([1e6]))


# The claim refuted, RARE by construction; and a bound below .5, which has mean .81 and standard deviation .023 over
# choices of the event and draws: 13 of them below.
@pytest.mark.chance(2 * RARE)
def test_the_raw_audit_that_catches_doubles_does_not_catch_the_release():
    """The minimiser moves from 0 to 1/2: doubles around 0 have finer last bits than doubles around 1/2."""
    fixed = {"draws": 20_000, "confidence": 1 - RARE, "raw": True}
    caught = sampling.lower_bound(floating, EMPTY, FAR, rng=np.random.default_rng(1), **fixed)
    assert caught.refutes(1.0)
    assert "last bit" in caught.event
    found = sampling.lower_bound(published, EMPTY, FAR, rng=np.random.default_rng(1), **fixed)
    assert not found.refutes(1.0)
    assert found.epsilon > 0.5  # it is attacked in earnest


@pytest.mark.chance(RARE)
def test_the_raw_audit_finds_nothing_in_the_discrete_gaussian_either():
    def mechanism(data, repeats, rng):
        vectors = np.full((repeats, 2), data)
        return grid.add_noise(vectors, sensitivity=math.sqrt(2), budget=Budget(1.0, 1e-2)).values

    found = sampling.lower_bound(
        mechanism, 0.0, 1.0, draws=10_000, delta=1e-2, confidence=1 - RARE, raw=True, rng=np.random.default_rng(2)
    )
    assert not found.refutes(1.0)
