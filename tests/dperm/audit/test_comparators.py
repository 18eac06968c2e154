"""Comparators on a line: laws by quadrature and by their own draws, claims attained, and half of the noise caught."""

import functools
import itertools
import math

import audit_jobs
import numpy as np
import pytest
import together
from scipy import integrate, stats

from dperm import noise
from dperm.accounting import gaussian
from dperm.audit import columns, comparators, exact, line, white_box
from dperm.domain import Budget
from dperm.errors import ConfigError

pytestmark = pytest.mark.slow

ONE, APPROXIMATE = Budget(1.0), Budget(1.0, 1e-6)
NEIGHBOURS = ("add_remove", "replace")
MADE = {
    "gradient": (comparators.descent, "gradient", "tight", APPROXIMATE),
    "approximate": (comparators.approximate, "approximate_minima", "paper", APPROXIMATE),
    "objective": (comparators.cms11_objective, "cms11", "paper", ONE),
    "output": (comparators.cms11_output, "cms11", "paper", ONE),
}


@functools.cache
def made(name, neighbours):
    """What MADE says how to make, once for all tests that only look at it."""
    make, _, _, budget = MADE[name]
    return make(neighbours, budget)


def bound(subject, delta=0.0):
    return line.lower_bound(subject.target, subject.case.data, subject.case.neighbour, delta=delta).epsilon


def job(mechanism, pair, variant, calibration="paper", draws=2_000, seed=1, **row):
    row = {"neighbours": "replace", "variant": variant, **row}
    fixed = {"family": "comparators", "calibration": calibration, "draws": draws, "seed": seed}
    return audit_jobs.job(mechanism, pair, row, **fixed)


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_mechanism_draws_from_the_law(name, neighbours):
    _, mechanism, calibration, budget = MADE[name]
    subject = made(name, neighbours)
    draw = comparators.drawing(mechanism, subject.case, budget, neighbours, calibration, subject.options)
    for data in (subject.case.data, subject.case.neighbour):
        outputs = draw(data, 800, np.random.default_rng(2))
        behind = columns.noise_behind(subject.target, outputs, data, np.random.default_rng(3))
        assert white_box.noise_test(behind, subject.target.law).p_value > 1e-4
        half = type(subject.target.law)(subject.target.law.scale / 1.5)
        assert white_box.noise_test(behind, half).p_value < 1e-6


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_pairs_are_neighbours(name, neighbours):
    case = made(name, neighbours).case
    first, second = (np.column_stack(data) for data in (case.data, case.neighbour))
    assert len(second) - len(first) == (neighbours == "add_remove")
    assert (first[: len(second) - 1] == second[: len(second) - 1]).all()
    assert first.tolist() != second.tolist() and np.abs(second[:, 0]).max() <= 1


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("budget", [APPROXIMATE, Budget(3.0, 1e-2)])
def test_gradient_descent_attains_its_composition_and_fewer_noises_fall(neighbours, budget):
    """All of epsilon at any budget; with the noise of one step, what a Gaussian of sqrt(T) times the ratio spends."""
    subject = comparators.descent(neighbours, budget)
    found = bound(subject, budget.delta)
    assert 0.999 * budget.epsilon < found <= budget.epsilon * (1 + exact.ROUNDING)
    ratio = math.sqrt(comparators.STEPS) * gaussian.gaussian_ratio(budget.epsilon, budget.delta)
    law = noise.Gaussian(subject.target.law.scale / math.sqrt(comparators.STEPS))
    small = comparators.additive(law, subject.target.noise)
    spent = line.lower_bound(small, subject.case.data, subject.case.neighbour, delta=budget.delta).epsilon
    assert gaussian.hockey_stick(spent, ratio) == pytest.approx(budget.delta, rel=1e-2)
    assert spent > 2 * budget.epsilon


def test_gradients_are_clipped_in_the_pair():
    """Without clipping the far targets pull a million times as hard."""
    subject = comparators.descent("replace", APPROXIMATE)
    for data in (subject.case.data, subject.case.neighbour):
        draw = comparators.drawing("gradient", subject.case, APPROXIMATE, "replace", "tight", subject.options)
        middle = float(np.median(draw(data, 400, np.random.default_rng(1))))
        assert abs(middle - comparators.STEPS * np.sign(data[1]).sum()) < 5 * subject.target.law.scale / 10


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_cms11_spends_what_it_pays_for(neighbours, epsilon):
    """epsilon - log(1 + lambda/Delta): three quarters at the default Delta, all of it at a large one."""
    budget = Budget(epsilon)
    default = comparators.cms11_objective(neighbours, budget)
    assert bound(default) == pytest.approx(0.75 * epsilon, rel=1e-4)
    large = comparators.cms11_objective(neighbours, budget, curvature=comparators.LARGE)
    expected = epsilon - math.log1p(1 / comparators.LARGE)
    assert bound(large) == pytest.approx(expected, rel=1e-6) and expected > 0.998 * epsilon
    assert bound(comparators.cms11_output(neighbours, budget)) == pytest.approx(epsilon, rel=1e-5)


@pytest.mark.parametrize("make", [comparators.cms11_output, comparators.cms11_large])
def test_half_of_cms11s_noise_is_refuted(monkeypatch, make):
    honest = comparators.cms11.calibrate

    def half(*args, **kwargs):
        given = honest(*args, **kwargs)
        return given._replace(noise=noise.SphericalLaplace(given.noise.scale / 2))

    monkeypatch.setattr(comparators.cms11, "calibrate", half)
    assert bound(make("replace", ONE)) > 1.99


def test_two_noises_by_quadrature():
    """P(theta' + b_2 <= t) = E Phi(J'(t - b_2)/sigma_1), by scipy's integration; both tails, and the middle."""
    subject = made("approximate", "replace")
    constants = comparators.approximate_minima.calibrate(
        subject.case.loss, subject.case.domain, APPROXIMATE, n=comparators.PUBLIC_RECORDS, p=1,
        curvature=subject.options["curvature"],
    )  # fmt: skip
    (y,) = subject.case.data[1]
    spread = constants.tilt.scale / constants.curvature
    for t in spread * np.array([-9.0, -4.0, -0.5, 0.0, 0.7, 5.0]):

        def integrand(u, sign, t=t):
            theta = t - constants.output.scale * u
            slope = np.clip(theta - y, -1, 1) + constants.curvature * theta
            return stats.norm.cdf(sign * slope / constants.tilt.scale) * stats.norm.pdf(u)

        kinks = sorted(np.clip([(t - y + 1) / constants.output.scale, (t - y - 1) / constants.output.scale], -12, 12))
        for sign, tail in ((1, subject.target.cdf), (-1, subject.target.sf)):
            expected = integrate.quad(integrand, -12, 12, (sign,), points=kinks, epsabs=0, epsrel=1e-11, limit=400)[0]
            assert tail(np.array([t]), subject.case.data)[0] == pytest.approx(expected, rel=1e-9)


def test_approximate_minima_hold_and_a_third_of_the_tilt_does_not(monkeypatch):
    """Its tilt has room to spare (it spends 0.6 of epsilon): three times too little noise is what has to fall."""
    found = bound(made("approximate", "replace"), 1e-6)
    assert 0.5 < found < 1
    honest = comparators.approximate_minima.calibrate

    def third(*args, **kwargs):
        given = honest(*args, **kwargs)
        return given._replace(tilt=noise.Gaussian(given.tilt.scale / 3))

    monkeypatch.setattr(comparators.approximate_minima, "calibrate", third)
    assert bound(comparators.approximate("replace", APPROXIMATE), 1e-6) > 1.2


# Jobs.


def test_rows_are_exact_and_sampled():
    rows = comparators.run(job("cms11", "linear", "gamma_output"))
    assert [row["draws"] for row in rows] == [0, 2_000] and rows[0]["guarantee"] == "proved_exact"
    assert rows[1]["model"] == "none"
    rows = comparators.run(job("gradient", "linear", "gaussian", "tight", delta=1e-6))
    assert [row["model"] for row in rows] == ["none", "gaussian"] and rows[0]["guarantee"] == "proved"
    assert [row["draws"] for row in comparators.run(job("cms11", "line", "gamma_objective"))] == [0]
    assert comparators.run(job("cms11", "line", "gamma_output")) == []


def test_the_seed_decides_what_is_drawn():
    first, again, other = (comparators.run(job("cms11", "linear", "gamma_output", seed=seed)) for seed in (1, 1, 2))
    assert first == again and first[1]["hits"] != other[1]["hits"]
    assert first[0]["exact_bound"] == other[0]["exact_bound"]


@together.over(
    "mechanism, variant, delta",
    [("cms11", "gamma", 0.0), ("gradient", "gaussian", 0.0), ("approximate_minima", "gamma", 0.0)],
)
def test_a_variant_that_is_none_is_refused(mechanism, variant, delta):
    with pytest.raises(ConfigError, match=f"variant '{variant}' of '{mechanism}'"):
        comparators.run(job(mechanism, "line", variant, delta=delta))


def test_every_comparator_is_attacked():
    assert {key[0] for key in comparators.CASES} == {"gradient", "approximate_minima", "cms11"}
    assert {pair for *_, pair in comparators.CASES} == set(comparators.PAIRS)
    assert len(set(itertools.chain(comparators.CASES))) == 5
