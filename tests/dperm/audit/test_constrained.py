"""Outputs with atoms: laws by closed forms and by the mechanism's own draws; attacks that attain claims, or refute."""

import dataclasses
import math

import audit_jobs
import numpy as np
import pytest
import together
from scipy import integrate, optimize, stats

from dperm import losses, noise
from dperm.audit import columns, constrained, exact, linear, white_box
from dperm.audit import line as exact_line
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.noise import Gaussian, SphericalLaplace

ONE, APPROXIMATE = Budget(1.0), Budget(1.0, 1e-6)
NEIGHBOURS = ("add_remove", "replace")
SETS = ("lasso", "elastic", "ball", "box")
KINKED = ("lasso", "elastic")
NOTHING = np.zeros((0, 1)), np.zeros(0)


def attacked(variant, budget, neighbours, calibration="tight", claimed=None):
    """The exact bound of the pair `edge`; with `claimed`, of its problem at another budget's noise."""
    case = constrained.edge(variant, budget=claimed or budget, neighbours=neighbours, calibration=calibration)
    made = constrained.target(case, budget=budget, neighbours=neighbours, calibration=calibration)
    return exact_line.lower_bound(made, case.data, case.neighbour, delta=budget.delta).epsilon, case


# Laws.


def test_a_lasso_without_data_is_a_soft_threshold():
    """theta = -soft(b, l1)/Delta: P(theta = 0) = 1 - e^(-l1/s), and Laplace tails beyond."""
    case = constrained.atom("lasso", budget=ONE, neighbours="add_remove")
    made = constrained.target(case, budget=ONE, neighbours="add_remove", calibration="tight")
    s, l1, curvature = made.law.scale, case.regularizer.l1, case.curvature
    below, at, above = constrained.pieces(made, NOTHING)
    assert at == pytest.approx(-math.expm1(-l1 / s), rel=1e-13)
    assert below == above == pytest.approx(0.5 * math.exp(-l1 / s), rel=1e-13)
    t = np.array([-2.0, -0.3, 0.3, 2.0])
    assert made.cdf(t, NOTHING)[:2] == pytest.approx(0.5 * np.exp((curvature * t[:2] - l1) / s), rel=1e-12)
    assert made.sf(t, NOTHING)[2:] == pytest.approx(0.5 * np.exp(-(curvature * t[2:] + l1) / s), rel=1e-12)


@pytest.mark.parametrize("variant", SETS)
@pytest.mark.parametrize("budget", [ONE, APPROXIMATE], ids=["gamma", "gaussian"])
def test_the_law_is_that_of_minimisers_found_one_by_one(variant, budget):
    """The literal problem, solved by a scalar search for many tilts, against the distribution function."""
    case = constrained.atom(variant, budget=budget, neighbours="replace")
    made = constrained.target(case, budget=budget, neighbours="replace", calibration="tight")
    data = X, y = np.array([[1.0], [0.6], [-0.8]]), np.array([0.5, -0.9, 0.7])
    region, l1, l2 = case.region, case.regularizer.l1, case.regularizer.l2
    added = max(case.curvature - l2, 0.0)
    low, high = max(region.low, -region.radius, -50.0), min(region.high, region.radius, 50.0)

    def minimiser(b):
        def risk(t):
            return float(np.sum(case.loss.value(X[:, 0] * t, y)) + (l2 + added) / 2 * t**2 + l1 * abs(t) + b * t)

        found = optimize.minimize_scalar(risk, bounds=(low, high), method="bounded", options={"xatol": 1e-10}).x
        return min([found, low, high, *([0.0] if low <= 0 <= high else [])], key=risk)

    levels = np.linspace(0.02, 0.98, 25)
    quantile = stats.norm.ppf if isinstance(made.law, Gaussian) else stats.laplace.ppf
    b = made.law.scale * quantile(levels)
    theta = np.array([minimiser(value) for value in b])
    # theta falls as b rises: P(theta <= theta(b)) >= P(b' >= b), and P(theta < theta(b)) <= P(b' >= b).
    assert (made.cdf(theta + 1e-6, data) >= 1 - levels - 1e-9).all()
    assert (made.cdf(theta - 1e-6, data) <= 1 - levels + 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("variant", SETS)
@pytest.mark.parametrize("budget", [ONE, APPROXIMATE], ids=["gamma", "gaussian"])
def test_the_mechanism_draws_from_that_law(variant, budget):
    """Noise completed at the atoms has the promised law; noise of twice its size is noticed."""
    fixed = {"budget": budget, "neighbours": "add_remove", "calibration": "tight"}
    case = constrained.probe(variant, **fixed)
    made = constrained.target(case, **fixed)
    outputs = made.draw(case.neighbour, 2_000, np.random.default_rng(3))
    assert set(np.round(outputs[:, 0], 12)) & set(made.atoms), "an atom was drawn"
    behind = columns.noise_behind(made, outputs, case.neighbour, np.random.default_rng(4), near=1e-9)
    assert white_box.noise_test(behind, made.law).p_value > 1e-3
    wrong = type(made.law)(made.law.scale / 2)
    assert white_box.noise_test(behind, wrong).p_value < 1e-9


def test_noise_behind_atoms_is_uniform_over_what_makes_them():
    """A sign of a Laplace number is all that is seen: what is behind it is a whole Laplace law again."""
    made = Target(
        draw=None,
        law=SphericalLaplace(2.0),
        cdf=lambda t, data: np.where(t < -1, 0.0, np.where(t < 1, 0.5, 1.0)),
        sf=lambda t, data: np.where(t < -1, 1.0, np.where(t < 1, 0.5, 0.0)),
        atoms=(-1.0, 1.0),
    )
    rng = np.random.default_rng(1)
    behind = columns.noise_behind(made, np.sign(rng.standard_normal(4_000)), None, rng)
    assert stats.kstest(behind[:, 0], stats.laplace(scale=2.0).cdf).pvalue > 1e-3


@pytest.mark.parametrize("variant", SETS)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_pieces_are_a_law(variant, neighbours):
    for calibration in ("paper", "tight"):
        case = constrained.atom(variant, budget=ONE, neighbours=neighbours)
        made = constrained.target(case, budget=ONE, neighbours=neighbours, calibration=calibration)
        for data in (case.data, case.neighbour):
            law = constrained.pieces(made, data)
            assert len(law) == 2 * len(made.atoms) + 1 and (law >= 0).all() and math.fsum(law) == pytest.approx(1)


# Pairs.


@pytest.mark.parametrize("variant", SETS)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("budget", [ONE, APPROXIMATE], ids=["gamma", "gaussian"])
def test_pairs_are_neighbours_within_the_bounds(variant, neighbours, budget):
    cases = [
        constrained.edge(variant, budget=budget, neighbours=neighbours, calibration="tight"),
        constrained.atom(variant, budget=budget, neighbours=neighbours),
        constrained.sixteen(variant, budget=budget, neighbours=neighbours),
    ]
    for case in cases:
        first, second = (np.column_stack(data) for data in (case.data, case.neighbour))
        assert len(second) - len(first) == (neighbours == "add_remove")
        assert (first[: len(second) - 1] == second[: len(second) - 1]).all() and len(second) >= 1
        assert np.linalg.norm(second[:, :-1], axis=1).max() <= 1
        assert variant in KINKED or np.abs(second[:, -1]).max() <= 1
    assert cases[2].data[0].shape[1] == 16


@pytest.mark.parametrize("variant", SETS)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_tight_gamma_noise_is_certified_and_half_of_it_refuted(variant, neighbours):
    """At least 0.97 of epsilon, and no more; with half of the noise 2 epsilon - C or nearly."""
    found, case = attacked(variant, ONE, neighbours)
    assert 0.97 < found <= 1 + exact.ROUNDING
    C = math.log1p(1 / case.curvature)
    halved, _ = attacked(variant, Budget(2 - C), neighbours, claimed=ONE)
    assert 1.9 < halved <= 2 - C + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("variant", SETS)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_tight_gaussian_noise_is_certified_and_half_of_it_refuted(monkeypatch, variant, neighbours):
    budget = Budget(3.0, 1e-9)
    found, _ = attacked(variant, budget, neighbours)
    assert 0.94 * 3 < found <= 3
    honest = constrained.objective.calibrate

    def half(*args, **kwargs):
        law, guarantee = honest(*args, **kwargs)
        return Gaussian(law.scale / 2), guarantee

    monkeypatch.setattr(constrained.objective, "calibrate", half)
    monkeypatch.setattr(constrained, "best_place", constrained.best_place.__wrapped__)
    assert attacked(variant, budget, neighbours)[0] > 1.5 * 3


@pytest.mark.parametrize(("variant", "epsilon"), [("lasso", 3.0), ("elastic", 3.0), ("ball", 1.0), ("box", 1.0)])
def test_printed_constants_fail_under_replace_one(variant, epsilon):
    """Erratum K3 with atoms; a lasso spends epsilon + log(1 + epsilon/2) as without (docs/privacy.md)."""
    found, _ = attacked(variant, Budget(epsilon), "replace", "paper")
    assert found > epsilon * 1.02
    if variant in KINKED:
        assert found == pytest.approx(epsilon + math.log1p(epsilon / 2), rel=1e-4)
    assert attacked(variant, Budget(epsilon), "add_remove", "paper")[0] < epsilon


def test_the_bound_is_that_of_the_densities():
    """At the lasso's knee: the log-ratio of the densities just inside it, by numerical integration of the law."""
    found, case = attacked("lasso", ONE, "add_remove")
    made = constrained.target(case, budget=ONE, neighbours="add_remove", calibration="tight")
    knee = float(case.neighbour[1][0] + 1)
    s, step = made.law.scale, 1e-9

    def density(t, records):
        force = sum(np.clip(t - y, -1, 1) for y in records)
        b = -(force + case.curvature * t - constrained.L1)
        inside = sum(abs(t - y) < 1 for y in records)
        return math.exp(-abs(b) / s) / (2 * s) * (case.curvature + inside)

    p, q = (
        integrate.quad(density, knee - step, knee, args=(records,), epsabs=0)[0]
        for records in (case.neighbour[1], case.data[1])
    )
    assert found == pytest.approx(math.log(p / q), rel=1e-4)


@pytest.mark.parametrize("variant", SETS)
def test_an_atom_alone_shows_the_force_and_not_the_determinant(variant):
    """k zeta/scale, zeta = 1 for the lasso, R + 1 at the wall (of which replace-one moves 2 of 2(R + 1))."""
    for neighbours, forces in (("add_remove", 1), ("replace", 2)):
        case = constrained.atom(variant, budget=ONE, neighbours=neighbours)
        made = constrained.target(case, budget=ONE, neighbours=neighbours, calibration="tight")
        found = exact.exact(lambda data, made=made: constrained.pieces(made, data), [(case.data, case.neighbour)])
        zeta = 1 if variant in KINKED else 1 + constrained.RADIUS
        most = forces * zeta / made.law.scale
        assert most == pytest.approx(1 - math.log1p(1 / case.curvature), rel=1e-9)
        assert (
            (0.85 if variant not in KINKED and forces == 2 else 1 - 1e-9) * most <= found.epsilon <= most * (1 + 1e-9)
        )


# Jobs.


def job(pair, *rows, **changes):
    return audit_jobs.job("objective", pair, *({"neighbours": "replace", **row} for row in rows), **changes)


def test_plain_pairs_leave_sets_alone_and_the_other_way_round():
    rows = [{"variant": "gamma"}, {"variant": "gamma_lasso"}]
    assert {row["variant"] for row in linear.run(job("line", *rows))} == {"gamma"}
    assert {row["variant"] for row in linear.run(job("edge", *rows))} == {"gamma_lasso"}


def test_sixteen_features_are_sampled_by_the_mechanism_itself(monkeypatch):
    (row,) = linear.run(job("sixteen", {"variant": "gamma_ball"}))
    assert (row["attack"], row["draws"], row["guarantee"]) == ("sampling", 400, "proved_exact")
    (other,) = linear.run(job("sixteen", {"variant": "gamma_ball"}, seed=2))
    assert row["hits"] != other["hits"]
    honest = noise.SphericalLaplace.sample
    monkeypatch.setattr(noise.SphericalLaplace, "sample", lambda self, shape, rng: 0.02 * honest(self, shape, rng))
    (silent,) = linear.run(job("sixteen", {"variant": "gamma_ball"}))
    assert abs(silent["hits"] - silent["other_hits"]) > 190, "with hardly any noise nearly all outputs tell"


@pytest.mark.parametrize("variant", SETS)
@pytest.mark.parametrize("law", ["gamma", "gaussian"])
def test_half_of_the_noise_in_the_code_is_seen(monkeypatch, variant, law):
    """The exact bound speaks of the promised law; the completed noise, of the code."""
    row = {"variant": f"{law}_{variant}", "delta": 0.0 if law == "gamma" else 1e-9}
    kind = noise.SphericalLaplace if law == "gamma" else noise.Gaussian
    honest = kind.sample
    rows = linear.run(job("edge", row))
    monkeypatch.setattr(kind, "sample", lambda self, shape, rng: 0.5 * honest(self, shape, rng))
    halved = linear.run(job("edge", row))
    assert rows[0]["white_box_p"] > 1e-3 > 1e-6 > halved[0]["white_box_p"]
    assert rows[0]["exact_bound"] == halved[0]["exact_bound"]


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_a_ridge_that_the_code_credits_twice_is_seen(monkeypatch, neighbours):
    """Noise made for Delta + l2, a ridge of max(Delta, l2): less noise than promised is drawn."""
    row = {"variant": "gamma_elastic", "neighbours": neighbours}
    assert linear.run(job("edge", row))[0]["white_box_p"] > 1e-3
    honest = constrained.objective.calibrate

    def twice(*args, curvature, **kwargs):
        return honest(*args, curvature=2 * curvature, **kwargs)

    # In the released noise alone: the audit's promise is made beforehand.
    target = constrained.target

    def promised_first(case, **fixed):
        made = target(case, **fixed)

        def draw(data, repeats, rng):
            with monkeypatch.context() as patch:
                patch.setattr(constrained.objective, "calibrate", twice)
                return made.draw(data, repeats, rng)

        return dataclasses.replace(made, draw=draw)

    monkeypatch.setattr(constrained, "target", promised_first)
    assert linear.run(job("edge", row))[0]["white_box_p"] < 1e-4


@together.over("variant", ["gamma_cone", "gaussian_lasso", "lasso_gamma"])
def test_a_variant_that_is_none_is_refused(variant):
    with pytest.raises(ConfigError, match="variant"):
        linear.run(job("edge", {"variant": variant}))


def test_losses_are_the_ones_that_are_named():
    assert constrained.edge("lasso", budget=ONE, neighbours="replace", calibration="tight").loss.name == "huber"
    assert (
        constrained.edge("ball", budget=ONE, neighbours="replace", calibration="tight").loss.name
        == losses.squared().name
    )
