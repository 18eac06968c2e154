"""Release mode: integers on a public grid, bits from rationals, and what is refused."""

import math
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from dperm import grid
from dperm.accounting import gaussian
from dperm.domain import Budget
from dperm.errors import InvalidBudget, ReleaseError

vectors = hnp.arrays(float, st.integers(1, 6), elements=st.floats(-1e6, 1e6))


# Fifty draws of one integer: each as probable as 1 / (2 scale) at most, and the scale is above 1000.
@pytest.mark.chance(1e-30)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("sensitivity", [1e-8, 0.7, 3e5])
def test_every_released_value_is_on_the_grid(sensitivity, delta):
    released = grid.add_noise(np.array([[0.3, -1.7]] * 50), sensitivity=sensitivity, budget=Budget(1.0, delta))
    assert math.frexp(released.step)[0] == 0.5
    assert sensitivity * grid.FINENESS / 2 < released.step <= sensitivity * grid.FINENESS
    assert (released.values / released.step == np.rint(released.values / released.step)).all()
    assert len(np.unique(released.values[:, 0])) > 1


class _NoNoise:
    """OpenDP's measurements, whose noise is 0: what is left is clipping and rounding."""

    def __init__(self, real, seen):
        self.real, self.seen = real, seen

    def __getattr__(self, name):
        return getattr(self.real, name)

    @property
    def m(self):
        return _Measurements(self.real.m, self.seen)


class _Measurements:
    def __init__(self, real, seen):
        self.real, self.seen = real, seen

    def make_laplace(self, *space, scale):
        made, seen = self.real.make_laplace(*space, scale=scale), self.seen

        class Silent:
            def map(self, reach):
                seen["reach"] = reach
                return made.map(reach)

            def __call__(self, whole):
                return whole

        return Silent()


@given(vectors, st.floats(1e-3, 1e3), st.data())
def test_no_two_points_come_further_apart_than_is_charged(first, sensitivity, data):
    """Any two vectors within the sensitivity have grid points within the l1 sensitivity of the noise."""
    move = data.draw(hnp.arrays(float, first.shape, elements=st.floats(-1, 1)))
    length = np.linalg.norm(move)
    second = first + (sensitivity * (1 - 1e-9) / length * move if length > 1e-3 else 0)
    seen = {}
    with pytest.MonkeyPatch.context() as patch:
        real = grid.load_opendp()
        patch.setattr(grid, "load_opendp", lambda: _NoNoise(real, seen))
        both = [grid.add_noise(v[None, :], sensitivity=sensitivity, budget=Budget(1.0)) for v in (first, second)]
    apart = np.abs(both[0].values - both[1].values).sum() / both[0].step
    assert apart <= seen["reach"]
    # And not charged much more than the worst case: sqrt(p) (S/g + sqrt(p)).
    p = len(first)
    worst = math.sqrt(p) * (sensitivity / both[0].step + math.sqrt(p))
    assert worst <= seen["reach"] <= worst * (1 + 1e-12)


@pytest.mark.chance(0)  # the noise is not looked at
@pytest.mark.parametrize("p", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (3.0, 1e-9), (1.0, 1e-2)])
def test_the_discrete_gaussian_costs_little_over_the_analytic_one(p, epsilon, delta):
    released = grid.add_noise(np.zeros((1, p)), sensitivity=2.0, budget=Budget(epsilon, delta))
    ratio = released.scale * released.step / (2.0 / gaussian.gaussian_ratio(epsilon, delta))
    assert 1.0 < ratio < 1.2
    reach = 2.0 / released.step + math.sqrt(p)
    assert released.rho == pytest.approx(reach**2 / (2 * released.scale**2), rel=1e-9)
    # The conversion of Canonne, Kamath & Steinke 2020 (Corollary 13), minimised over alpha by a fine grid.
    alpha = 1 + np.geomspace(1e-3, 1e4, 200_000)
    log_delta = (alpha - 1) * (alpha * released.rho - epsilon) + alpha * np.log1p(-1 / alpha) - np.log(alpha - 1)
    assert delta * 0.999 < np.exp(log_delta.min()) <= delta * (1 + 1e-6)


@pytest.mark.chance(0)  # the noise is not looked at
def test_the_discrete_laplace_is_calibrated_to_the_l1_sensitivity():
    released = grid.add_noise(np.zeros((1, 4)), sensitivity=1.0, budget=Budget(0.5))
    reach = 2 * (1 / released.step + 2)
    assert reach / 0.5 <= released.scale <= reach / 0.5 * (1 + 1e-5)
    assert released.rho is None


def test_noise_beyond_64_bits_is_refused():
    with pytest.raises(InvalidBudget, match="integer noise of scale"):
        grid.add_noise(np.zeros((1, 2)), sensitivity=1.0, budget=Budget(1e-14))
    with pytest.raises(InvalidBudget, match="integer noise of scale"):
        grid.add_noise(np.zeros((1, 2)), sensitivity=1.0, budget=Budget(1e-14, 1e-14))


# Noise of a scale below 1000 steps beyond a million: e^-1000.
@pytest.mark.chance(1e-30)
def test_far_points_are_clipped_to_the_public_box():
    released = grid.add_noise(np.array([[1e300, -1e300]]), sensitivity=1.0, budget=Budget(10.0))
    assert np.abs(released.values / released.step / grid.FARTHEST) == pytest.approx(np.ones((1, 2)), rel=1e-6)


@pytest.mark.chance(1e-30)  # the same
def test_what_is_no_number_lies_in_the_box_too():
    vectors = np.array([[np.nan, np.inf], [-np.inf, 1.0]])
    whole = grid.add_noise(vectors, sensitivity=1.0, budget=Budget(10.0)).values * 2**10
    assert (np.abs(whole) <= 1.001 * grid.FARTHEST).all()
    assert abs(whole[0, 0]) < 1e6 < abs(whole[0, 1])


@pytest.mark.chance(0)  # the noise is not looked at
@pytest.mark.parametrize("epsilon", [1e3, pytest.param(1e6, marks=pytest.mark.slow), 1e12])
def test_a_huge_epsilon_is_served_or_refused_in_words(epsilon):
    released = grid.add_noise(np.zeros((1, 2)), sensitivity=1.0, budget=Budget(epsilon, 1e-6))
    assert 0 < released.scale < 1e4


def test_without_opendp_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ReleaseError, match=r"dperm\[release\]"):
        grid.add_noise(np.zeros((1, 1)), sensitivity=1.0, budget=Budget(1.0))


# Log-odds up to 700 and beyond, with the long denominators of doubles.
ODDS = [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(0.1) * 7, Fraction(37.3), Fraction(700), Fraction(1e3) / 7]
ODDS = sorted({*ODDS, *(-x for x in ODDS)})
LAWS = {
    "e^-x": (grid.exponential, lambda x: mpmath.exp(-x)),
    "logistic": (grid.logistic, lambda x: 1 / (1 + mpmath.exp(-x))),
    "laplace": (grid.above, lambda x: 1 - mpmath.exp(-x) / 2 if x > 0 else mpmath.exp(x) / 2),
}


def number(x):
    return mpmath.mpf(x.numerator) / x.denominator


@together.over("name", LAWS)
@together.over("x", ODDS)
def test_integers_enclose_the_probability_however_small(name, x):
    enclosed, exact = LAWS[name]
    if name == "e^-x":
        x = abs(x)
    with mpmath.workprec(4096):
        for bits in (64, 128, 192, 1088, 2048):
            low, high = enclosed(x, bits)
            scaled = exact(number(x)) * 2**bits
            assert 0 <= low <= scaled <= high <= 2**bits and high - low <= 4
        # Neither outcome is impossible, and the law is right to 40 digits of the rarer one.
        rarer = min(exact(number(x)), 1 - exact(number(x))) if name != "e^-x" else exact(number(x))
        assert low > 0 and (name == "e^-x" or high < 2**bits)
        assert 4 / mpmath.mpf(2) ** bits < rarer * mpmath.mpf(10) ** -40


@given(st.fractions(min_value=-800, max_value=800, max_denominator=10**12), st.sampled_from([64, 128, 256]))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_integers_enclose_any_log_odds(x, bits):
    with mpmath.workprec(2048):
        for enclosed, exact in (LAWS["logistic"], LAWS["laplace"]):
            low, high = enclosed(x, bits)
            assert low <= exact(number(x)) * 2**bits <= high and high - low <= 4


# Of the fast enclosures: beside the ends of their range, and a little of everything between.
DOUBLES = np.array([0.0, 5e-324, 1e-9, 0.3, 1.0, 7.7, np.nextafter(31, 0), 31.0, 1e9, np.inf, *np.linspace(0, 33, 89)])


def test_many_are_enclosed_at_once():
    (low, high), (first, last) = grid.exponentials(DOUBLES), grid.aboves(np.concatenate([-DOUBLES, DOUBLES]))
    assert low.dtype == first.dtype == np.int64 and (high - low <= 2000).all()
    with mpmath.workprec(200):
        exact = [mpmath.exp(-mpmath.mpf(x)) * 2**31 for x in DOUBLES]
        assert all(0 <= a <= p <= b <= 2**31 for a, p, b in zip(low, exact, high, strict=True))
        signs = [*exact, *(2**32 - p for p in exact)]
        assert all(0 <= a <= p <= b <= 2**32 for a, p, b in zip(first, signs, last, strict=True))
    # What stands for a quotient is off by its rounding: half a unit in the last place.
    below, above = np.nextafter(DOUBLES, 0), np.nextafter(DOUBLES, np.inf)
    with mpmath.workprec(200):
        for x in (below, above):
            values = [mpmath.exp(-mpmath.mpf(number)) * 2**31 for number in x]
            assert all(a <= p <= b for a, p, b in zip(low, values, high, strict=True))
    for wrong in (-0.1, np.nan):
        with pytest.raises(ValueError, match="0 or above"):
            grid.exponentials(np.array([1.0, wrong]))


class Tape:
    """Words that are drawn, one after another."""

    def __init__(self, *words):
        self.words, self.asked = list(words), 0

    def __call__(self, bits):
        assert bits == 64
        self.asked += 1
        return self.words.pop(0)


@together.over("x", ODDS)
@together.over("bit", [(grid.logistic_bit, grid.logistic), (grid.laplace_sign, grid.above)])
def test_a_bit_is_one_exactly_below_its_probability(bit, x):
    """What is decided after one, two and more words, at and beside every end of the enclosures."""
    draw, enclosed = bit
    known = 0
    for words in (1, 2, 3, 20):
        bits = 64 * words
        low, high = enclosed(x, bits)
        for u in {max(0, low - 1), low, high - 1, min(high, 2**bits - 1), 0, 2**bits - 1}:
            tape = Tape(*(u >> 64 * k & 2**64 - 1 for k in reversed(range(words))))
            try:
                said = draw(x, tape)
            except IndexError:  # undecided
                assert low <= u < high
                continue
            first = 64 * tape.asked
            cut = u >> (bits - first)
            assert said == (cut < enclosed(x, first)[0]) and not enclosed(x, first)[0] <= cut < enclosed(x, first)[1]
            # Whatever follows, the real number lies on the same side.
            assert cut + 1 <= enclosed(x, first)[0] if said else cut >= enclosed(x, first)[1]
        # The mass that is decided grows, and what is not is next to nothing.
        undecided = Fraction(high - low, 2**bits)
        assert undecided <= Fraction(4, 2**bits) and Fraction(low, 2**bits) >= known
        known = Fraction(low, 2**bits)


class Given:
    """A generator whose words are given."""

    def __init__(self, *words):
        self.given = [word.to_bytes(8, "little") for word in words]

    def bytes(self, number):
        assert number == 8
        return self.given.pop(0)


@together.over("x", [-3.0, 0.0, 1.3, 20.0, 40.0])
def test_a_first_look_changes_no_bit(x):
    """At and beside every end of the rough enclosure and of the fine one, with bits that follow and without."""

    def enclosed(value, bits):
        return grid.above(Fraction(value), bits)

    rough, fine = [int(end[0]) << 32 for end in grid.aboves(np.array([x]))], enclosed(x, 64)
    assert rough[0] <= fine[0] and fine[1] <= rough[1]
    around = {end + d for end in (*rough, *fine) for d in (-(2**32), -1, 0, 1, 2**32)}
    heads = sorted(u for u in {*around, 0, 2**63, 2**64 - 1} if 0 <= u < 2**64)
    expected = [grid.happens(lambda bits: enclosed(x, bits), Tape(u, 5, 7)) for u in heads]

    values, rngs = [x] * len(heads), [[Given(u, 5, 7) for u in heads] for _ in range(2)]
    ends = tuple(np.repeat(end, len(heads)) for end in grid.aboves(np.array([x])))
    assert grid.bits(enclosed, values, rngs[0]).tolist() == expected
    assert grid.bits(enclosed, values, rngs[1], ends).tolist() == expected
    assert grid.bits(enclosed, [], []).tolist() == []


@pytest.mark.parametrize("x", [Fraction(-5, 2), Fraction(0), Fraction(0.7), Fraction(3)])
def test_bits_of_a_generator_have_their_law(x):
    rng = np.random.default_rng(11)
    for draw, exact in ((grid.logistic_bit, LAWS["logistic"][1]), (grid.laplace_sign, LAWS["laplace"][1])):
        hits = sum(draw(x, grid.words(rng)) for _ in range(4000))
        assert stats.binomtest(hits, 4000, float(exact(number(x)))).pvalue > 1e-3


@together.over("value", [0.1, True, "1"])
def test_bits_take_fractions_alone(value):
    for function in (grid.logistic_bit, grid.laplace_sign, lambda x: grid.exponential(x, 64)):
        with pytest.raises(ValueError, match="a double is not the number that it shows"):
            function(value)
    with pytest.raises(ValueError, match="must be 0 or above"):
        grid.exponential(Fraction(-1, 2), 64)
