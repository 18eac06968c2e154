"""The sampling auditor: what it takes, what it refuses, which events it finds, and that a seed fixes everything."""

import math

import numpy as np
import pytest
import together

from dperm.audit import floating
from dperm.audit.events import Event
from dperm.audit.sampling import Audit, lower_bound
from dperm.audit.target import Target
from dperm.noise import Laplace

ALL_GREATER = 6.0


def laplace(scale):
    return lambda data, repeats, rng: data + rng.laplace(0, scale, repeats)


def attack(mechanism, data=0.0, neighbour=1.0, *, draws=4_000, seed=7, **options) -> Audit:
    return lower_bound(mechanism, data, neighbour, draws=draws, rng=np.random.default_rng(seed), **options)


def test_equal_laws_show_nothing():
    assert attack(laplace(1.0), neighbour=0.0).epsilon == 0


def test_the_two_sides_change_places():
    """Half as much noise on one side only: likelier near the centre there, whichever way round it is asked."""

    def mechanism(data, repeats, rng):
        return rng.normal(0, data, repeats)

    there, back = attack(mechanism, 1.0, 0.2), attack(mechanism, 0.2, 1.0)
    assert (there.likelier, back.likelier) in {("neighbour", "data"), ("data", "neighbour")}
    assert there.epsilon == pytest.approx(back.epsilon, rel=0.2)
    assert there.epsilon > 1


def same_signs(data, repeats, rng):
    """Coordinates of equal signs (data = 1) or of opposite signs (data = -1)."""
    x = rng.normal(size=(repeats, 2))
    return np.column_stack([x[:, 0], np.where(data * x[:, 0] * x[:, 1] < 0, -x[:, 1], x[:, 1])])


def test_an_exact_ratio_is_used_and_named():
    """Also one that excludes outputs altogether."""

    def log_density(outputs, data):
        return np.where(data * outputs[:, 0] * outputs[:, 1] > 0, 0.0, -np.inf)

    found = attack(Target(draw=same_signs, log_density=log_density), 1, -1)
    assert "log-likelihood ratio" in found.event
    assert found.epsilon > ALL_GREATER


def test_a_wrong_ratio_cannot_accuse():
    target = Target(draw=laplace(1.0), log_density=lambda outputs, data: 9 * data * outputs[:, 0])
    assert attack(target).epsilon < 1


def test_a_small_ball_is_found_in_the_plane():
    """Noise whose radius is Exponential instead of Gamma(2): its density is infinite at the centre."""

    def mechanism(data, repeats, rng):
        angle = rng.uniform(0, 2 * math.pi, repeats)
        return np.array([data, 0]) + rng.exponential(1.0, (repeats, 1)) * np.column_stack(
            [np.cos(angle), np.sin(angle)]
        )

    # A guess both ways tells either ball.
    assert attack(mechanism, 0.0, 1.0, draws=20_000).epsilon > 3


def test_a_support_that_moves_is_found():
    found = attack(lambda data, repeats, rng: data + rng.uniform(0, 1, repeats), 0.0, 0.01, draws=40_000)
    assert found.epsilon > 3
    assert found.counts.other_hits <= 5


@pytest.mark.parametrize("raw", [False, True])
def test_values_that_come_again_are_found(raw):
    """256 possible noise streams."""
    known = np.random.default_rng(3).laplace(size=256)
    found = attack(lambda data, repeats, rng: data + known[rng.integers(256, size=repeats)], raw=raw)
    assert found.epsilon > 5


def test_one_value_only_is_found():
    assert attack(lambda data, repeats, rng: np.full(repeats, data)).epsilon > ALL_GREATER


def test_an_event_of_ones_own_is_tried():
    """The parity of a whole number: nothing else tells the two sides apart."""

    def mechanism(data, repeats, rng):
        return 2 * rng.integers(0, 10_000_000, repeats) + data

    found = attack(mechanism, 0, 1, raw=True, events=[Event("parity", lambda outputs: outputs[:, 0] % 2)])
    assert found.event.startswith("parity") and found.both
    assert found.epsilon > ALL_GREATER


def test_a_learned_score_finds_what_no_projection_shows():
    """Equal means, equal laws of each coordinate."""
    found = attack(same_signs, 1, -1, draws=8_000)
    assert "gradient-boosted trees" in found.event
    assert found.epsilon > 3


def test_rounding_hides_and_raw_shows_the_last_bits():
    """NumPy's Laplace noise at a count of 0 and of 1: the algorithm keeps epsilon = 1, its doubles do not."""
    target = Target(draw=laplace(1.0), centre=lambda data: np.array([data]), law=Laplace(1.0))
    for mechanism in (laplace(1.0), target):
        assert not attack(mechanism, draws=20_000).refutes(1.0)
        shown = attack(mechanism, draws=20_000, raw=True)
        assert shown.refutes(1.0)
        assert shown.p_value(1.0) < 1e-12


def test_raw_looks_at_what_a_generator_can_reach():
    """Two places with equally long mantissas: the exponents of the last bits alone do not tell them apart."""

    def reached(place, other):
        outputs = place + np.random.default_rng(5).laplace(0, 1.0, (4_000, 1))
        return floating.reachable(outputs, np.array([other]), 1.0).mean()

    assert reached(0.3127, 0.3127) > 0.99
    assert reached(0.3127, 0.3131) < 0.8


def test_last_bits_by_hand():
    values = np.array([1.0, 3.0, 0.5, -0.75, 6.0, 0.1, 5e-324, 0.0])
    expected = [0, 0, -1, -2, 1, -55, -1074, 2000]
    assert floating.last_bit(values).tolist() == expected


def test_the_grid_is_a_power_of_two_far_below_the_spread():
    rng = np.random.default_rng(1)
    first, second = rng.normal(0, [1.0, 1e-6], (1000, 2)), rng.normal(0, [1.0, 1e-6], (1000, 2))
    steps = floating.grid(first, second)
    assert (np.frexp(steps)[0] == 0.5).all()
    assert (steps < 2e-6 * np.array([1, 1e-6])).all()
    rounded = floating.rounded(first, steps)
    assert np.abs(rounded - first).max(axis=0) == pytest.approx(steps / 2, rel=0.1)
    assert (np.mod(rounded / steps, 1) == 0).all()
    assert floating.grid(np.zeros((5, 1)), np.zeros((5, 1))).tolist() == [0]


def test_the_same_seed_gives_the_same_audit():
    assert attack(laplace(1.0)) == attack(laplace(1.0))
    assert attack(laplace(1.0)) != attack(laplace(1.0), seed=8)


def test_a_shift_of_all_outputs_changes_the_words_alone():
    here, there = attack(laplace(1.0)), attack(laplace(1.0), 8.0, 9.0)
    assert here.epsilon == pytest.approx(there.epsilon, abs=0.1)


def test_all_draws_are_used_in_batches_of_the_size_asked_for():
    asked = []

    def mechanism(data, repeats, rng):
        asked.append(repeats)
        return data + rng.laplace(0, 1, repeats)

    found = attack(mechanism, draws=1_001, batch=300)
    assert sum(asked) == 2 * 1_001 and max(asked) == 300
    # Two fifths of 1,001 a side choose.
    assert found.both and found.counts.tries == found.counts.other_tries == 2 * (1_001 - 400)


def test_a_guess_of_one_side_counts_that_sides_draws():
    """Values that come again on one side: where none does there is nothing to be said."""
    found = attack(lambda data, repeats, rng: np.where(data > 0, np.where(rng.random(repeats) < 0.3, 0.5, 1.0), 1.0))
    counts, certifying = found.counts, 2 * (4_000 - 1_600)
    assert not found.both and found.likelier == "neighbour"
    assert counts.tries + counts.other_tries == certifying and counts.tries != counts.other_tries
    assert counts.other_hits == 0 and counts.hits == pytest.approx(0.3 * counts.tries, rel=0.1)


def test_a_gaussian_trade_off_is_labelled():
    found = attack(
        lambda data, repeats, rng: data + rng.normal(0, 1, repeats), draws=20_000, delta=1e-6, model="gaussian"
    )
    assert found.model == "gaussian"
    assert 0.9 < found.mu < 1
    assert attack(laplace(1.0)).mu is None


@together.over(
    "options, words",
    [
        ({"draws": 99}, "draws=99 must be an integer, 100 or above"),
        ({"draws": 1e4}, "draws=10000.0"),
        ({"batch": 0}, "batch=0"),
        ({"delta": 1.0}, "delta=1.0"),
        ({"delta": -0.1}, "delta=-0.1"),
        ({"confidence": 0.0}, "confidence=0.0"),
        ({"model": "gauss"}, "model='gauss'"),
        ({"model": "gaussian"}, "a Gaussian trade-off needs one above 0"),
    ],
)
def test_bad_arguments_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        attack(laplace(1.0), **options)


@together.over(
    "mechanism, words",
    [
        (lambda data, repeats, rng: rng.laplace(size=repeats + 1), r"shape \(4,\d+|gave the shape"),
        (lambda data, repeats, rng: rng.laplace(size=(repeats, 2, 2)), "gave the shape"),
        (lambda data, repeats, rng: np.full(repeats, np.nan), "not finite"),
        (lambda data, repeats, rng: rng.laplace(size=(repeats, 1 + int(data))), "must have one shape"),
    ],
)
def test_bad_outputs_are_named(mechanism, words):
    with pytest.raises(ValueError, match=words):
        attack(mechanism)


def test_a_bad_score_is_named():
    with pytest.raises(ValueError, match="a score gave the shape"):
        attack(laplace(1.0), events=[Event("all of it", lambda outputs: outputs)])


EXTREME = np.finfo(float).max


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("size", [1.7e308, EXTREME])
def test_outputs_may_be_as_large_as_doubles_are(size, raw):
    """Two values whose distance is no double, told by a coin of odds e: alone, and beside noise of the usual size."""

    def coin(value, repeats, rng):
        return np.where(rng.random(repeats) < (np.e if value else 1) / (1 + np.e), size, -size)

    def beside(value, repeats, rng):
        return np.column_stack([coin(value, repeats, rng), rng.normal(size=repeats)])

    for mechanism in (coin, beside):
        found = lower_bound(mechanism, 1, 0, draws=2_000, raw=raw, rng=np.random.default_rng(0))
        assert 0.7 < found.epsilon <= 1


def test_noise_as_wide_as_doubles_and_a_rare_huge_output():
    """Laplace noise of epsilon 1.5, clipped to the largest doubles; noise of epsilon 1 that is 1e300 now and then."""

    def wide(value, repeats, rng):
        return EXTREME * np.clip(0.3 * value + rng.laplace(0, 0.2, repeats), -1, 1)

    def rare(value, repeats, rng):
        return np.where(rng.random(repeats) < 1e-3, 1e300, value + rng.laplace(size=repeats))

    for mechanism, epsilon in ((wide, 1.5), (rare, 1.0)):
        found = lower_bound(mechanism, 1, 0, draws=2_000, rng=np.random.default_rng(0))
        assert 0.6 * epsilon < found.epsilon <= epsilon


def test_what_is_no_number_is_said_so():
    for output in ([{"a": 1}] * 60, np.ones(60) * 1j, ["a"] * 60, [[1], [1, 2]] * 30):
        with pytest.raises(ValueError, match=r"mechanism gave a \w+ that is no array of real numbers: .*one_by_one"):
            lower_bound(
                lambda value, repeats, rng, output=output: output, 1, 0, draws=150, rng=np.random.default_rng(0)
            )
