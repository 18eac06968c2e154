"""Release mode: integers on a public grid, bits from rationals, and what is refused."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dperm import grid
from dperm.accounting import gaussian
from dperm.domain import Budget
from dperm.errors import InvalidBudget, ReleaseError

vectors = hnp.arrays(float, st.integers(1, 6), elements=st.floats(-1e6, 1e6))


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
        real = grid._opendp()
        patch.setattr(grid, "_opendp", lambda: _NoNoise(real, seen))
        both = [grid.add_noise(v[None, :], sensitivity=sensitivity, budget=Budget(1.0)) for v in (first, second)]
    apart = np.abs(both[0].values - both[1].values).sum() / both[0].step
    assert apart <= seen["reach"]
    # And not charged much more than the worst case: sqrt(p) (S/g + sqrt(p)).
    p = len(first)
    worst = math.sqrt(p) * (sensitivity / both[0].step + math.sqrt(p))
    assert worst <= seen["reach"] <= worst * (1 + 1e-12)


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


def test_far_points_are_clipped_to_the_public_box():
    released = grid.add_noise(np.array([[1e300, -1e300]]), sensitivity=1.0, budget=Budget(10.0))
    assert np.abs(released.values / released.step / grid.FARTHEST) == pytest.approx(np.ones((1, 2)), rel=1e-6)


def test_what_is_no_number_lies_in_the_box_too():
    vectors = np.array([[np.nan, np.inf], [-np.inf, 1.0]])
    whole = grid.add_noise(vectors, sensitivity=1.0, budget=Budget(10.0)).values * 2**10
    assert (np.abs(whole) <= 1.001 * grid.FARTHEST).all()
    assert abs(whole[0, 0]) < 1e6 < abs(whole[0, 1])


@pytest.mark.parametrize("epsilon", [1e3, 1e6, 1e50])
def test_a_huge_epsilon_is_served_or_refused_in_words(epsilon):
    released = grid.add_noise(np.zeros((1, 2)), sensitivity=1.0, budget=Budget(epsilon, 1e-6))
    assert 0 < released.scale < 1e4


def test_without_opendp_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ReleaseError, match=r"dperm\[release\]"):
        grid.add_noise(np.zeros((1, 1)), sensitivity=1.0, budget=Budget(1.0))


class Tape:
    """A source that answers from a list of integers, and says how it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def randbelow(self, upper):
        self.asked.append(upper)
        return self.answers.pop(0)


def test_a_bernoulli_is_one_integer():
    tape = Tape(2, 3)
    assert grid.bernoulli(Fraction(3, 7), tape) and not grid.bernoulli(Fraction(3, 7), tape)
    assert tape.asked == [7, 7]
    assert not grid.bernoulli(Fraction(0)) and grid.bernoulli(Fraction(1))


def tree(function, depth):
    """Return the exact probability of True, and of being undecided, after following all answers `depth` deep."""

    class Undecided(Exception):
        pass

    class Path(Tape):
        def randbelow(self, upper):
            self.asked.append(upper)
            if not self.answers:
                raise Undecided
            return self.answers.pop(0)

    true, undecided, paths = Fraction(0), Fraction(0), [((), Fraction(1))]
    while paths:
        answers, mass = paths.pop()
        path = Path(*answers)
        try:
            true += mass if function(path) else 0
        except Undecided:
            upper = path.asked[-1]
            if len(answers) == depth:
                undecided += mass
            else:
                paths += [((*answers, k), mass / upper) for k in range(upper)]
    return float(true), float(undecided)


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2)])
def test_e_to_the_minus_x_by_all_paths(x):
    true, undecided = tree(lambda path: grid.bernoulli_exp(x, path), 6)
    assert true <= math.exp(-x) <= true + undecided
    assert undecided < 0.03


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 2), Fraction(-1, 2), Fraction(1)])
def test_a_logistic_bit_by_all_paths(x):
    true, undecided = tree(lambda path: grid.logistic_bit(x, path), 9)
    assert true <= 1 / (1 + math.exp(-x)) <= true + undecided
    assert undecided < 0.08


@pytest.mark.parametrize(
    ("function", "value", "words"),
    [
        (grid.bernoulli, 0.5, "must be a Fraction"),
        (grid.bernoulli, Fraction(3, 2), r"must be in \[0, 1\]"),
        (grid.bernoulli_exp, Fraction(-1, 2), "must be 0 or above"),
        (grid.bernoulli_exp, True, "must be a Fraction"),
        (grid.logistic_bit, 0.1, "a double is not the number that it shows"),
    ],
)
def test_bits_take_fractions_of_their_range_alone(function, value, words):
    with pytest.raises(ValueError, match=words):
        function(value)
