"""Every bit that an estimator releases: its law exactly, and no label that cannot come out."""

import math

import mpmath
import numpy as np
import pytest
import together
from interactive_models import fitted
from scipy import stats

from dperm.mechanisms.prediction import averaged, exppw, soft_majority
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear

# Of consensus, whose rounds draw twice: test_prediction_consensus.py.
M = 4000
BITS = ["soft majority", "averaged", "stable sgd", "exppw"]


class Same:
    """A generator of which all words are zeros, or all ones."""

    def __init__(self, byte):
        self.byte = byte

    def bytes(self, count):
        return self.byte * count

    def random(self):
        return 0.5


@pytest.mark.parametrize("name", BITS)
@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_neither_label_is_impossible_at_any_budget(name, monkeypatch):
    """Log-odds of hundreds and more, where doubles know 0 and 1 alone: words of zeros say 1, and words of ones 0."""
    for byte, label in ((b"\x00", 1.0), (b"\xff", 0.0)):
        # Of stable SGD at 300 they are 844 already; at 3000 ten thousand bits decide, which takes ten seconds.
        model = fitted(name, epsilon=300.0 if name == "stable sgd" else 3000.0, delta=0.0, queries=2)
        monkeypatch.setattr(model._noise, "of", lambda key, byte=byte: Same(byte))
        for row in ([[-0.69, 0.0]], [[0.69, 0.0]]):
            assert model.predict(row) == [label]


def chances():
    """Of each drawing function: what draws, and the probability of 1, at log-odds of some size."""
    linear = NoisyLinear(np.array([0.4]), 1.0, 1.7, "proved")
    yield lambda rngs: soft_majority.bits(np.full(M, 7), 10, 0.3, "tight", rngs), 1 / (1 + math.exp(-0.3 * 4 / 2))
    yield lambda rngs: soft_majority.bits(np.full(M, 3), 10, 0.3, "paper", rngs), 1 / (1 + math.exp(0.3 * 4))
    yield lambda rngs: exppw.bits(np.full(M, -3.0), 0.4, "tight", "replace", rngs), 1 / (1 + math.exp(0.4 * 3 / 2))
    yield lambda rngs: exppw.bits(np.full(M, 2.5), 0.4, "paper", "add_remove", rngs), 1 / (1 + math.exp(-0.4 * 2.5))
    yield lambda rngs: averaged.bits(np.full(M, 2.0), 9, 0.2, rngs), float(averaged.expected_clip(2 / 9, 0.2))
    yield lambda rngs: linear.labels(np.ones((M, 1)), rngs), 1 - math.exp(-0.4 * 1.7) / 2


@together.over("case", range(6))
def test_bits_have_the_law_of_the_mechanism(case):
    draw, chance = list(chances())[case]
    drawn = draw([np.random.default_rng(case)] * M)
    assert drawn.shape == (M,) and stats.binomtest(int(drawn.sum()), M, chance).pvalue > 1e-3


@together.over("scale", [1e-3, 0.05, 0.7, 40.0, 1e6])
@together.over(("count", "r"), [(0, 7), (3, 7), (7, 7), (1, 1001), (500, 1000)])
def test_integers_enclose_the_chance_of_an_averaged_bit(count, r, scale):
    with mpmath.workprec(9000):
        b, v = mpmath.mpf(scale), mpmath.mpf(count) / r
        exact = v + b / 2 * (mpmath.exp(-v / b) - mpmath.exp(-(1 - v) / b))
        for bits in (64, 128, 2048):
            low, high = averaged.enclosed(count, r, scale, bits)
            assert 0 <= low <= exact * 2**bits <= high <= 2**bits and high - low <= 8
        assert low > 0 and high < 2**bits


def test_a_label_without_noise_is_the_sign():
    still = NoisyLinear(np.array([1.0]), 0.0, 1.0, "proved")
    assert still.labels(np.array([[0.1], [0.0], [-0.1]]), [None] * 3).tolist() == [True, False, False]
