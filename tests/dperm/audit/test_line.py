"""Interval audits against closed forms: Laplace, Gaussian, and objective perturbation in one dimension.

Objective perturbation: theta <= t iff -b <= grad J_D(t), so its distribution function is that of the noise at
grad J_D(t) (docs/privacy.md, Lemma 1): written out here, without the mechanism's code.
"""

import math

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special

from dperm import losses
from dperm.accounting import gaussian, objective
from dperm.audit import line
from dperm.audit.target import Target, halves
from dperm.domain import Budget, Domain
from dperm.mechanisms import objective as mechanism
from dperm.noise import Gaussian

UNIT = Domain(x_norm=1.0)
HUBER, LOGISTIC = losses.make("huber", knee=1.0), losses.make("logistic")
FAR = 1e6  # there Huber's l' is -1 and l'' is 0 wherever theta may be
EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0)


def laplace_cdf(z):
    half = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, half, 1 - half)


def shifted(cdf, scale=1.0, *, sf=True):
    """Return a symmetric noise on top of the datum itself."""

    def upper(points, datum):
        return cdf((datum - points) / scale)

    return Target(draw=None, cdf=lambda points, datum: cdf((points - datum) / scale), sf=upper if sf else None)


def tilted(loss, curvature, noise):
    """Return objective perturbation in p = 1; data are lists of records (x, y)."""
    cdf = special.ndtr if isinstance(noise, Gaussian) else laplace_cdf

    def slope(theta, data):
        return curvature * theta + sum(x * loss.derivative(theta * x, y) for x, y in data)

    return Target(
        draw=None,
        cdf=lambda theta, data: cdf(slope(theta, data) / noise.scale),
        sf=lambda theta, data: cdf(-slope(theta, data) / noise.scale),
    )


def calibrated(loss, curvature, budget, calibration, neighbours):
    noise, _ = mechanism.calibrate(
        loss, UNIT, budget, curvature=curvature, calibration=calibration, neighbours=neighbours
    )
    return tilted(loss, curvature, noise), noise


def gaussian_epsilon(a, delta):
    return optimize.brentq(lambda e: gaussian.hockey_stick(e, a) - delta, 0, 50, xtol=1e-13)


# Closed forms


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_spends_exactly_epsilon(epsilon):
    audit = line.lower_bound(shifted(laplace_cdf, 1 / epsilon), 0.0, 1.0, delta=0.0)
    assert audit.epsilon == pytest.approx(epsilon, rel=1e-9)
    assert not audit.refutes(epsilon)
    assert line.lower_bound(shifted(laplace_cdf, 0.5 / epsilon), 0.0, 1.0, delta=0.0).refutes(1.99 * epsilon)


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.1])
def test_laplace_at_any_delta(delta):
    """The event is {output > 1} cut where the log-ratio falls: sup over thresholds c of (P - delta)/Q, in closed form.

    For c in [0, 1]: P = 1 - e^{c-1}/2 and Q = e^{-c}/2; above 1 the quotient only falls.
    """
    c = np.linspace(0, 1, 200_001)
    best = np.log((1 - 0.5 * np.exp(c - 1) - delta) / (0.5 * np.exp(-c))).max()
    audit = line.lower_bound(shifted(laplace_cdf), 0.0, 1.0, delta=delta)
    assert audit.epsilon == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2, 0.3])
@pytest.mark.parametrize("a", [0.05, 0.3, 1.0, 4.0])
def test_gaussian_meets_its_hockey_stick(a, delta):
    audit = line.lower_bound(shifted(special.ndtr), 0.0, a, delta=delta)
    if gaussian.hockey_stick(0.0, a) <= delta:
        assert audit.epsilon == 0
        return
    exact = gaussian_epsilon(a, delta)
    assert audit.epsilon == pytest.approx(exact, rel=1e-7)
    assert not audit.refutes(exact)


def test_cauchy_has_its_best_event_where_the_log_ratio_peaks():
    """Tails of 1e-30 lie 1e30 away; (1 + x^2)/(1 + (x - 1)^2) is largest, (3 + sqrt 5)/2, near the middle."""
    audit = line.lower_bound(shifted(lambda z: np.arctan2(1.0, -z) / math.pi), 0.0, 1.0, delta=0.0)
    assert audit.epsilon == pytest.approx(math.log((3 + math.sqrt(5)) / 2), abs=1e-6)
    golden = (1 + math.sqrt(5)) / 2
    peak = golden if audit.likelier == "neighbour" else 1 - golden
    assert audit.intervals[0, 0] - 0.01 < peak < audit.intervals[-1, 1] + 0.01


@pytest.mark.parametrize(("delta", "rel"), [(1e-6, 1e-4), (1e-2, 1e-7)])
def test_without_a_survival_function_the_bound_is_no_higher(delta, rel):
    with_sf = line.lower_bound(shifted(special.ndtr), 0.0, 0.5, delta=delta)
    without = line.lower_bound(shifted(special.ndtr, sf=False), 0.0, 0.5, delta=delta)
    assert without.epsilon == pytest.approx(with_sf.epsilon, rel=rel)
    assert not without.refutes(gaussian_epsilon(0.5, delta))


def test_rounding_in_the_upper_tail_accuses_nobody():
    """Without sf the upper tail is noise below 1e-16, and at delta = 0 nothing else keeps the audit from looking there.

    A one-sided law: exponential, whose lower end is 0 for both data, scale 1 against 1.001. Here log P/Q is at most
    log 1.001 for the first, and grows without end (0.001 x) for the second.
    """
    exponential = Target(draw=None, cdf=lambda x, scale: -np.expm1(-np.maximum(x, 0) / scale))
    audit = line.lower_bound(exponential, 1.0, 1.001, delta=0.0)
    # What the thinnest tail that can be told from rounding allows: log P/Q at 1 - cdf = 1e-12 / 2.
    assert audit.epsilon < 0.001 * math.log(2e12)


@pytest.mark.parametrize("shift", [1e-9, 1e7])
def test_scale_and_place_do_not_matter(shift):
    target = Target(
        draw=None,
        cdf=lambda x, datum: special.ndtr(x / shift - datum),
        sf=lambda x, datum: special.ndtr(datum - x / shift),
    )
    assert line.lower_bound(target, 0.0, 1.0, delta=1e-5).epsilon == pytest.approx(
        gaussian_epsilon(1.0, 1e-5), rel=1e-7
    )


def test_a_scan_that_keeps_what_recurs_finds_the_same():
    def cdf(z, data):
        return laplace_cdf(z - data[0])

    def sf(z, data):
        return laplace_cdf(data[0] - z)

    target, first, kept = Target(draw=None, cdf=cdf, sf=sf), (np.zeros(1),), {}
    for other in [(np.full(1, x),) for x in (0.5, 1.0, 0.5)]:
        alone = line.lower_bound(target, first, other, delta=1e-3)
        found = line.lower_bound(target, first, other, delta=1e-3, kept=kept)
        assert found.epsilon == pytest.approx(alone.epsilon, rel=1e-12)
    assert len(kept) == 3  # 0, 0.5 and 1: by what they hold


def test_equal_laws_give_nothing():
    audit = line.lower_bound(shifted(special.ndtr), 1.0, 1.0, delta=0.0)
    assert audit.epsilon == pytest.approx(0, abs=1e-9)
    assert line.lower_bound(shifted(special.ndtr), 1.0, 1.0, delta=1e-3).epsilon == 0


def test_disjoint_supports_give_a_large_finite_bound():
    uniform = Target(
        draw=None,
        cdf=lambda x, start: np.clip(x - start, 0, 1),
        sf=lambda x, start: np.clip(start + 1 - x, 0, 1),
    )
    audit = line.lower_bound(uniform, 0.0, 0.1, delta=1e-3)
    assert 600 < audit.epsilon < 700
    # Mass 0.1 lies outside the other's support: at delta = 0.1 it is paid for.
    assert line.lower_bound(uniform, 0.0, 0.1, delta=0.1).epsilon < 1e-6


# The event


@given(
    a=st.floats(0.05, 4),
    scale=st.floats(0.1, 3),
    delta=st.sampled_from([0.0, 1e-6, 1e-2]),
)
@settings(max_examples=40, deadline=None)
def test_the_event_is_a_union_of_intervals_with_these_probabilities(a, scale, delta):
    """Two Gaussians of different scale: the event has two ends. Its probabilities are recomputed from the intervals."""
    target = Target(
        draw=None,
        cdf=lambda x, law: special.ndtr((x - law[0]) / law[1]),
        sf=lambda x, law: special.ndtr((law[0] - x) / law[1]),
    )
    laws = {"data": (0.0, 1.0), "neighbour": (a, scale)}
    audit = line.lower_bound(target, laws["data"], laws["neighbour"], delta=delta)
    ends = audit.intervals.ravel()
    assert (np.diff(ends) > 0).all()
    other = {"data": "neighbour", "neighbour": "data"}[audit.likelier]
    for law, stated in ((laws[audit.likelier], audit.probability), (laws[other], audit.other_probability)):
        z = (audit.intervals - law[0]) / law[1]
        upper = z[:, :1] > 0
        mass = np.where(upper[:, 0], special.ndtr(-z[:, 0]) - special.ndtr(-z[:, 1]), np.diff(special.ndtr(z))[:, 0])
        assert stated == pytest.approx(mass.sum(), rel=1e-6)
    if audit.epsilon:
        expected = math.log((audit.probability - delta) / audit.other_probability)
        assert audit.epsilon == pytest.approx(expected, rel=1e-12)


def test_the_event_in_words():
    audit = line.lower_bound(shifted(laplace_cdf), 0.0, 1.0, delta=0.1)
    assert audit.likelier in ("data", "neighbour")
    assert audit.event.startswith("output ")
    assert ("<= " in audit.event) == (audit.likelier == "data")


# Objective perturbation with gamma noise (in p = 1: Laplace)


@together.over("epsilon", EPSILONS)
@together.over("calibration", ["paper", "tight"])
@together.over("neighbours", ["add_remove", "replace"])
def test_huber_attains_gamma_epsilon_and_never_more(neighbours, calibration, epsilon):
    """A narrow interval at the parabola's end, where force and curvature meet, approaches Theorem 3's supremum.

    Printed constants: epsilon/2 + log(1 + epsilon/2) under add/remove; read as replace-one epsilon + log(1 +
    epsilon/2), refuted (erratum K3).
    """
    curvature = 2 / epsilon
    target, noise = calibrated(HUBER, curvature, Budget(epsilon), calibration, neighbours)
    # The parabola ends at theta = -3, on the side where the noise must push; the other record pulls the other way.
    record, other = (1.0, -4.0), [(1.0, FAR)] if neighbours == "replace" else []
    audit = line.lower_bound(target, [record], other, delta=0.0)
    theorem = objective.gamma_epsilon(noise.scale, 1.0, log_det=math.log1p(1 / curvature), neighbours=neighbours)
    assert audit.epsilon == pytest.approx(theorem, abs=1e-5)
    assert audit.epsilon <= theorem
    assert audit.refutes(epsilon) == (calibration == "paper" and neighbours == "replace")


# Objective perturbation with Gaussian noise


def quadrature_delta(loss, curvature, scale, epsilon, data, neighbour):
    """Return sup over S of P(S) - e^epsilon Q(S) in both directions, on a fine even grid."""
    reach = (12 * scale + 2) / curvature
    theta = np.linspace(-reach, reach, 400_001)

    def cells(records):
        z = (curvature * theta + sum(x * loss.derivative(theta * x, y) for x, y in records)) / scale
        return np.where(z[:-1] > 0, -np.diff(special.ndtr(-z)), np.diff(special.ndtr(z)))

    p, q = cells(data), cells(neighbour)
    factor = math.exp(epsilon)
    return max(np.maximum(p - factor * q, 0).sum(), np.maximum(q - factor * p, 0).sum())


@pytest.mark.parametrize("delta", [1e-6, 1e-2])
@pytest.mark.parametrize(
    ("loss", "data", "neighbour"),
    [
        (HUBER, [], [(1.0, -2.0)]),
        (HUBER, [(1.0, -5.0)], [(1.0, FAR)]),
        (LOGISTIC, [(0.5, 1.0)] * 3, [(0.5, 1.0)] * 3 + [(1.0, -1.0)]),
        (LOGISTIC, [(1.0, 1.0)], [(1.0, -1.0)]),
        (losses.make("smoothed_hinge", width=0.2), [(1.0, 1.0)], [(1.0, -1.0)]),
    ],
    ids=["huber", "huber-replace", "logistic", "logistic-replace", "hinge-replace"],
)
def test_objective_perturbation_against_quadrature(loss, data, neighbour, delta):
    """Mechanisms that spend 1 to 3 at these deltas: at the audit's epsilon the quadrature's delta is that delta."""
    curvature, scale = loss.curvature_bound(UNIT), 0.9
    audit = line.lower_bound(tilted(loss, curvature, Gaussian(scale)), data, neighbour, delta=delta)
    assert audit.epsilon > 0.5
    found = quadrature_delta(loss, curvature, scale, audit.epsilon, data, neighbour)
    assert found == pytest.approx(delta, rel=2e-3)


def test_printed_gaussian_noise_read_as_replace_one_is_refuted():
    """Erratum K3 at (1, 1e-6), curvature 2 lambda/epsilon; the tight noise at the same pair is not."""
    budget = Budget(1.0, 1e-6)
    pair = [(1.0, -21.9)], [(1.0, FAR)]
    target, _ = calibrated(HUBER, 2.0, budget, "paper", "replace")
    assert line.lower_bound(target, *pair, delta=1e-6).refutes(1.02)
    target, _ = calibrated(HUBER, 2.0, budget, "tight", "replace")
    assert not line.lower_bound(target, *pair, delta=1e-6).refutes(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_tight_noise_is_never_refuted(neighbours, delta):
    """Random losses, records, budgets and curvatures; and a quarter of the noise is refuted on a good many."""
    rng = np.random.default_rng(11)
    caught = 0
    for _ in range(24):
        loss = [HUBER, LOGISTIC, losses.make("smoothed_hinge", width=0.2)][rng.integers(3)]
        epsilon = float(rng.choice(EPSILONS))
        curvature = loss.curvature_bound(UNIT) / math.expm1(epsilon * rng.uniform(0.02, 0.95))

        def record(loss=loss):
            y = 3 * rng.standard_normal() if loss is HUBER else rng.choice([-1.0, 1.0])
            return float(rng.choice([-1.0, 1.0])), float(y)

        common = [record() for _ in range(rng.integers(3))]
        data = [*common, record()] if neighbours == "replace" else common
        pair = data, [*common, record()]
        target, noise = calibrated(loss, curvature, Budget(epsilon, delta), "tight", neighbours)
        assert not line.lower_bound(target, *pair, delta=delta).refutes(epsilon)
        quarter = tilted(loss, curvature, type(noise)(noise.scale / 4))
        caught += line.lower_bound(quarter, *pair, delta=delta).refutes(epsilon)
    assert caught >= 8, caught


# What is refused


def test_targets_without_a_distribution_function_are_refused():
    with pytest.raises(ValueError, match="no cdf"):
        line.lower_bound(Target(draw=None), 0.0, 1.0, delta=0.0)


@together.over(
    "cdf, message",
    [
        (lambda x, d: x, "outside"),
        (lambda x, d: np.full(len(x), np.nan), "outside"),
        (lambda x, d: 0.5, "one value each"),
        (lambda x, d: np.full(len(x), 0.5), "does not tend to 0 and 1"),
    ],
)
def test_what_is_no_distribution_function_is_refused(cdf, message):
    with pytest.raises(ValueError, match=message):
        line.lower_bound(Target(draw=None, cdf=cdf), 0.0, 1.0, delta=0.0)


@together.over(
    "cdf, sf, message",
    [
        (special.ndtr, lambda x: special.ndtr(-x / 2), r"cdf \+ sf is not 1"),
        (special.ndtr, special.ndtr, r"cdf \+ sf is not 1"),
        (lambda x: special.ndtr(x + 2 * np.sin(x)), lambda x: special.ndtr(-x - 2 * np.sin(x)), "cdf falls"),
    ],
)
def test_tails_that_do_not_fit_are_refused(cdf, sf, message):
    target = Target(draw=None, cdf=lambda x, d: cdf(x - d), sf=lambda x, d: sf(x - d))
    with pytest.raises(ValueError, match=message):
        line.lower_bound(target, 0.0, 1.0, delta=0.0)


def test_a_wrong_delta_is_refused():
    with pytest.raises(ValueError, match=r"delta=-0\.1"):
        line.lower_bound(shifted(special.ndtr), 0.0, 1.0, delta=-0.1)


def test_the_halves_of_a_law_are_made_once_for_both():
    asked = []

    def tails(points, data):
        asked.append(points)
        return points * data, 1 - points * data

    cdf, sf = halves(tails)
    points = np.array([0.25])
    assert cdf(points, 2.0) == 0.5 == sf(points, 2.0) and len(asked) == 1
    # Other points, and other data, are other questions.
    assert sf(np.array([0.5]), 2.0) == 0 and cdf(points, 1.0) == 0.25
