"""Attacks on NAPP-ERM: laws by closed forms, by literal minimisers and by the mechanism's own draws; what they refute.

Fixed seeds. 32 tests of drawn laws at 1e-4: one false alarm in 300 changes of the seeds.
"""

import dataclasses
import math

import audit_jobs
import numpy as np
import pytest
import together
from scipy import integrate, optimize, special, stats

from dperm.audit import bounds, columns, napp, white_box
from dperm.audit.napp import ball, cases, iterated, planar, replace_one
from dperm.audit.napp import problem as line
from dperm.domain import Budget
from dperm.errors import ConfigError, DataError
from dperm.mechanisms import napp as mechanism
from dperm.noise import Gaussian
from dperm_pipeline.audits import attacks

PURE, APPROXIMATE = Budget(1.0), Budget(1.0, 1e-4)
BUDGETS = pytest.mark.parametrize("budget", [PURE, APPROXIMATE], ids=["spherical", "gaussian"])
FORMS = [("paper", name) for name in cases.PRINTED] + [("corrected", name) for name in cases.CORRECTED]
ONE_RECORD = cases.NOBODY.and_one(1.0, 0.0)
LEVEL = 1e-4


def drawn_p(target, data, seed, near=iterated.NEAR):
    outputs = target.draw(data, 400, np.random.default_rng(seed))
    behind = columns.noise_behind(target, outputs, data, np.random.default_rng([seed, 1]), near=near)
    return white_box.noise_test(behind, target.law).p_value


def lower(law, z):
    return stats.norm.cdf(z, scale=law.scale) if isinstance(law, Gaussian) else stats.laplace.cdf(z, scale=law.scale)


def job(calibration, pair, *rows, draws=400):
    fixed = {"paper": "li2021", "family": "napp", "calibration": calibration, "draws": draws}
    return audit_jobs.job("napp", pair, *rows, **fixed)


# Laws.


@pytest.mark.slow
@pytest.mark.parametrize(("calibration", "name"), FORMS)
def test_the_mechanism_draws_from_the_law(calibration, name):
    """All variants; delta > 0 for half of them."""
    budget = APPROXIMATE if len(name) % 2 else PURE
    problem = cases.find(name, calibration).probe(budget, calibration)
    assert drawn_p(line.target(problem), cases.PROBES[problem.loss], len(name)) > LEVEL


def test_a_law_of_other_noise_is_noticed():
    """Power: the same draws against half of the noise."""
    problem = cases.mild(PURE, "paper")
    target = line.target(problem)
    outputs = target.draw(cases.PROBES["squared"], 1_000, np.random.default_rng(1))
    other = line.target(line.Problem(**{**vars(problem), "budget": Budget(2.0)}))
    behind = columns.noise_behind(other, outputs, cases.PROBES["squared"], np.random.default_rng(2))
    assert white_box.noise_test(behind, other.law).p_value < 1e-9


@pytest.mark.parametrize("moor", [False, True])
@pytest.mark.parametrize("variant", ["erm", "vs_plus"])
def test_the_law_is_that_of_literal_minimisers(variant, moor):
    """The sum of losses, b and twice the printed penalty, minimised by a scalar search, one b after another."""
    problem = cases.wide(PURE, "paper", variant=variant, moor=moor)
    target, data = line.target(problem), cases.PROBES["squared"]
    x, y, _ = data
    level, floor, bound = problem.strength, problem.floor, problem.eta_bound

    def penalty(u):
        def slope(v):
            return 2 * (max(level, floor * v) if moor else level + floor * v)

        return integrate.quad(slope, 0, u, points=[min(level / floor, u)])[0]

    def minimiser(b):
        def risk(t):
            eta = x * t
            inside = np.clip(eta, -bound, bound)
            loss = np.sum((y - inside) ** 2 / 2 + (inside - y) * (eta - inside))
            return loss + penalty(abs(t)) + b * (abs(t) if variant == "vs_plus" else t)

        found = optimize.minimize_scalar(risk, bounds=(-30, 30), method="bounded", options={"xatol": 1e-9}).x
        return min([found, 0.0], key=risk)

    law = line.symmetric(problem)
    b = law.scale * np.linspace(0.02 if variant == "vs_plus" else -3, 3, 13)
    for tilt in b:
        theta = minimiser(tilt)
        if variant == "erm":
            # theta falls as b rises.
            low, high = target.cdf(np.array([theta - 1e-5, theta + 1e-5]), data)
            assert low - 1e-5 <= 1 - lower(law, tilt) <= high + 1e-5
        elif theta > 0:
            # |theta| falls as b > 0 rises.
            assert target.sf(np.array([theta]), data)[0] == pytest.approx(2 * lower(law, tilt) - 1, abs=1e-5)
        else:
            assert target.sf(np.array([0.0]), data)[0] <= 2 * lower(law, tilt) - 1 + 1e-9


def test_vs_ends_where_its_printed_iteration_does():
    """2,000 steps of tilt b_orig sgn(theta^(t-1)) from theta^(1); what still changes its sign is 0."""
    problem = cases.mild(PURE, "paper", variant="vs")
    data = line.records((1.0, -0.9), (0.7, 0.2))
    at_zero = float(np.sum(-data.x * data.y))
    gram = float(np.sum(data.x**2))

    def printed(b):
        theta = -(at_zero + b) / (gram + 2 * problem.floor)
        for _ in range(2_000):
            before, tilt = theta, b * np.sign(theta)
            theta = -(at_zero + tilt) / (gram + 2 * problem.floor + 2 * problem.strength / max(abs(theta), 1e-300))
        return 0.0 if theta * before < 0 or abs(theta) < 1e-6 else theta

    target, law = line.target(problem), line.symmetric(problem)
    # theta within +-1, where nothing is continued.
    b = np.linspace(-2, 4, 121) + 1e-3
    theta = np.array([printed(value) for value in b])
    assert (np.abs(theta) < 1).all() and (theta > 0).any() and (theta < 0).any() and (theta == 0).any()
    for tilt, value in zip(b, theta, strict=True):
        if value > 0:
            assert target.sf(np.array([value]), data)[0] == pytest.approx(lower(law, tilt), rel=1e-6)
        if value < 0:
            reached = lower(law, tilt) - lower(law, -at_zero)
            assert target.cdf(np.array([value]), data)[0] == pytest.approx(reached, rel=1e-5)


# What is refuted, by closed forms.


@BUDGETS
def test_moor_leaves_a_gap(budget):
    """(0, 0): never in (0, 1). (1, 0) beside it: b in -(2 Lambda, 2 Lambda + 1)."""
    problem = cases.wide(budget, "paper", moor=True)
    assert problem.strength == problem.floor == 1
    target, law, ends = line.target(problem), line.symmetric(problem), np.array([1e-9, 1 - 1e-9])
    assert np.ptp(target.cdf(ends, cases.NOBODY)) <= 1e-15
    assert np.ptp(target.cdf(ends, ONE_RECORD)) == pytest.approx(lower(law, -2) - lower(law, -3), rel=1e-6)


@BUDGETS
def test_the_support_of_vs_plus_moves(budget):
    problem = cases.mild(budget, "paper", variant="vs_plus")
    target, law = line.target(problem), line.symmetric(problem)
    here = np.zeros(1)
    assert target.sf(here, cases.NOBODY) == 0
    beside = cases.NOBODY.and_one(1.0, 1.0)
    chance = 2 * lower(law, 1 - 2 * problem.strength) - 1
    assert target.sf(here, beside)[0] == pytest.approx(chance) and chance > 10 * budget.delta


@BUDGETS
def test_vs_shows_a_sign(budget):
    problem = cases.mild(budget, "paper", variant="vs")
    target, law = line.target(problem), line.symmetric(problem)
    below = np.array([-1e-300])
    assert target.cdf(below, cases.NOBODY) == 0
    chance = lower(law, 1 - 2 * problem.strength) - lower(law, -1.0)
    assert target.cdf(below, cases.NOBODY.and_one(1.0, -1.0))[0] == pytest.approx(chance)


@pytest.mark.parametrize("calibration", ["paper", "corrected", "tight"])
def test_the_wall_spends_what_the_proof_charges(calibration):
    """One feature: k zeta/scale + log(1 + zeta3/(2 Lambda0)), almost reached and never exceeded."""
    problem = cases.squared(PURE, calibration)
    law = line.symmetric(problem)
    charge = problem.bounds.zeta12 / law.scale + math.log1p(problem.bounds.zeta3 / (2 * problem.floor))
    (pair,) = cases.walled(problem, "")
    found = columns.on_a_line(line.target(problem), pair.data, pair.neighbour, delta=0.0)["exact_bound"]
    assert 0.998 * charge < found <= charge * (1 + 1e-9)
    expected = {"paper": 0.25 + math.log(1.5), "corrected": 0.5 + math.log(1.5), "tight": 1.0}[calibration]
    assert charge == pytest.approx(expected)


@pytest.mark.parametrize("variant", ["erm-unclipped", "erm-unscaled"])
def test_records_outside_the_bounds_refute(variant):
    for pair in cases.PRINTED[variant].pairs(PURE, "paper"):
        found = columns.on_a_line(line.target(pair.problem), pair.data, pair.neighbour, delta=0.0)
        assert found["exact_bound"] > 1.2
        # Nothing is wrong with the other records.
        x, y, _ = pair.data
        assert (np.abs(x) <= 1).all()
        assert (np.abs(line.force(pair.problem, np.zeros(1), line.records((1.0, float(y[0]))))) <= 1).all()


# Balls.


@pytest.mark.parametrize("features", [2, 3, 16])
def test_the_density_with_a_record_is_a_density(features):
    """The law Gamma(p, .) has no singularity: all of it is found in a large ball."""
    assert ball.with_record(60.0, 1.0, features, 2.0, features) == pytest.approx(1.0, abs=2e-3)


def test_a_small_ball_is_hit_as_often_as_said():
    """Printed radius, two features: 400,000 tilts, and theta in the ball iff the tilt is the ball's image."""
    weight, scale, radius = 1.0, 4.0, 0.15
    rng = np.random.default_rng(1)
    angle, length = rng.uniform(0, 2 * math.pi, 400_000), rng.gamma(1.0, scale, 400_000)
    b = length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    # 2 w theta_1 - sigma(-theta_1) + b_1 = 0 by Newton, 2 w theta_2 + b_2 = 0.
    theta = np.zeros(len(b))
    for _ in range(30):
        s = special.expit(-theta)
        theta -= (2 * weight * theta - s + b[:, 0]) / (2 * weight + s * (1 - s))
    inside = np.hypot(theta, b[:, 1] / (2 * weight)) <= radius
    chance = ball.with_record(radius, weight, 1.0, scale, 2)
    assert stats.binomtest(int(inside.sum()), len(b), chance).pvalue > LEVEL


def test_the_printed_radius_has_no_bound_and_the_corrected_has():
    spent = {p: ball.exact_ball(PURE, "paper", p)["exact_bound"] for p in (2, 16)}
    assert spent[2] > 2.5 and spent[16] > 30
    for calibration in ("corrected", "tight"):
        assert all(ball.exact_ball(PURE, calibration, p)["exact_bound"] <= 1 for p in (2, 16))


# Replace-one, and what is stated.


@pytest.mark.parametrize("calibration", ["corrected", "tight"])
def test_a_record_turned_around_spends_two_forces_and_one_curvature(calibration):
    """2 Y of the 2 zeta that the proof charges, and all of the determinant."""
    (pair, *_) = replace_one.VARIANTS["erm"].pairs(PURE, calibration)
    problem, law = pair.problem, line.symmetric(pair.problem)
    assert pair.data.count.sum() == pair.neighbour.count.sum()
    lasting = 2 / law.scale + math.log1p(problem.bounds.zeta3 / (2 * problem.floor))
    charge = 2 * problem.bounds.zeta12 / law.scale + math.log1p(problem.bounds.zeta3 / (2 * problem.floor))
    found = columns.on_a_line(line.target(problem), pair.data, pair.neighbour, delta=0.0)["exact_bound"]
    assert found == pytest.approx(lasting, rel=2e-3) and found <= charge * (1 + 1e-9) and charge <= 1 + 1e-9


def test_noise_for_one_force_does_not_hold_when_a_record_is_turned():
    (pair, *_) = replace_one.VARIANTS["erm"].pairs(PURE, "tight")
    problem = line.Problem(**{**vars(pair.problem), "neighbours": "add_remove"})
    found = columns.on_a_line(line.target(problem), pair.data, pair.neighbour, delta=0.0)["exact_bound"]
    assert found > 1.5


@pytest.mark.parametrize("calibration", ["corrected", "tight"])
def test_recycling_spends_what_the_public_modulus_leaves(calibration):
    """Lambda = 2 Lambda0: log(1 + 1/4) for the determinant, and for the force 3/4, or all the rest."""
    problem = cases.recycled(PURE, calibration)
    charge = problem.bounds.zeta12 / line.symmetric(problem).scale + math.log(1.25)
    assert charge == pytest.approx({"corrected": 0.75 + math.log(1.25), "tight": 1.0}[calibration])
    (pair,) = cases.walled(problem, "")
    found = columns.on_a_line(line.target(problem), pair.data, pair.neighbour, delta=0.0)["exact_bound"]
    assert 0.998 * charge < found <= charge * (1 + 1e-9)


def test_draws_are_releases(monkeypatch):
    """White boxes, sixteen features: all through the mechanism's own door, with the arguments of the row."""
    seen, own = [], mechanism.release

    def release(*given, **named):
        seen.append((given[0].shape[1], named["calibration"], named["neighbours"], named["retrieval"]))
        return own(*given, **named)

    monkeypatch.setattr(mechanism, "release", release)
    monkeypatch.setattr(napp, "WHITE_BOX", 50)
    turned = {"variant": "erm", "neighbours": "replace"}
    napp.run(job("tight", "line", turned, {"variant": "erm-recycled"}))
    napp.run(job("corrected", "line", {"variant": "erm-returned"}))
    napp.run(job("corrected", "sixteen", {"variant": "vs"}))
    assert list(dict.fromkeys(seen)) == [
        (1, "tight", "replace", "none"),
        (1, "tight", "add_remove", "recycle"),
        (1, "corrected", "add_remove", "return"),
        (16, "corrected", "add_remove", "none"),
    ]


def test_a_row_claims_no_more_than_the_mechanism_states(monkeypatch):
    problem = cases.squared(PURE, "corrected")
    assert napp.guaranteed(problem, PURE) == "proved_exact"
    with pytest.raises(DataError, match="at Budget"):
        napp.guaranteed(problem, Budget(0.9))
    own = mechanism.release
    monkeypatch.setattr(mechanism, "release", lambda *g, **n: dataclasses.replace(own(*g, **n), guarantee="none"))
    with pytest.raises(DataError, match="'none'"):
        problem.released(np.zeros((1, 1)), np.zeros(1), 2, np.random.default_rng(0))


# Jobs.


def test_every_row_fits_and_has_its_columns():
    asked = [
        job("paper", "line", {"variant": "erm-moor"}, {"variant": "erm-returned", "delta": 1e-9}),
        job("paper", "sixteen", {"variant": "erm"}, {"variant": "vs-moor-orthant"}),
    ]
    found, again = ([row for what in asked for row in napp.run(what)] for _ in range(2))
    # Two balls and a sample; nothing for what a line alone shows.
    assert [row["variant"] for row in found] == ["erm-moor", "erm-returned", "erm", "erm", "erm"]
    assert all(set(row) <= set(attacks.ATTACKS.names) for row in found)
    assert found[-1]["tries"] > 0 and "exact_bound" not in found[-1]
    assert {row["guarantee"] for row in found} == {"none"}
    assert found == again


def test_sampling_with_sixteen_features_refutes_and_leaves_the_corrected_alone():
    (*_, printed) = napp.run(job("paper", "sixteen", {"variant": "vs_plus"}, draws=4_000))
    (*_, corrected) = napp.run(job("corrected", "sixteen", {"variant": "vs_plus"}, draws=4_000))
    assert printed["hits"] > 100 and printed["other_hits"] == 0
    counts = ("hits", "tries", "other_hits", "other_tries")
    refuted, kept = (
        bounds.epsilon_bound(bounds.Counts(*(row[name] for name in counts)), delta=0.0, confidence=0.95)
        for row in (printed, corrected)
    )
    assert refuted > 2 and kept <= 1
    assert corrected["guarantee"] == "proved_exact"


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_a_zero_that_stays_refutes_vs_in_an_orthant(delta):
    (row,) = napp.run(job("paper", "sixteen", {"variant": "vs-orthant", "delta": delta}, draws=8_000))
    counts = bounds.Counts(*(row[name] for name in ("hits", "tries", "other_hits", "other_tries")))
    assert row["other_hits"] == 0 and bounds.epsilon_bound(counts, delta=delta, confidence=0.95) > 1.5
    assert row["guarantee"] == "none"


def test_what_is_called_impossible_is_so():
    """Held against 40 first steps of scipy's own, from either side's outputs."""
    made, sides = planar.problem(APPROXIMATE, "paper"), planar.neighbours()
    outputs = [made.released(*side, 4_000, np.random.default_rng(seed)) for seed, side in enumerate(sides)]
    assert not any(planar.impossible(made, side, own).any() for side, own in zip(sides, outputs, strict=True))
    found = planar.impossible(made, sides[0], outputs[1])
    assert found.sum() > 20
    inside = ((outputs[1] > 0) & (outputs[1] < planar.TOP)).all(axis=1)
    (X, y), eta_bound = sides[0], made.eta_bound
    for at in [*outputs[1][found][:20], *outputs[1][inside & ~found][:20]]:
        pulls = 2 * made.strength + 2 * made.floor * at + (np.clip(X @ at, -eta_bound, eta_bound) - y) @ X

        def value(theta, b=-pulls):
            eta = X @ theta
            over = np.abs(eta) > eta_bound
            beyond = (
                eta_bound**2 / 2
                - np.sign(eta) * eta_bound * y
                + (eta_bound - np.sign(eta) * y) * (np.abs(eta) - eta_bound)
            )
            losses = np.where(over, beyond, eta**2 / 2 - y * eta)
            return losses.sum() + b @ theta + made.floor * theta @ theta

        first = optimize.minimize(value, np.ones(2), bounds=[(0.0, planar.TOP)] * 2, options={"ftol": 1e-14}).x
        assert (first < 1e-3).any() == bool(planar.impossible(made, sides[0], at[None])[0])


@pytest.mark.parametrize("variant", ["vs-moor-recycled", "vs_plus-moor-recycled"])
def test_recycled_signs_are_told_by_draws(variant, monkeypatch):
    """Impossible without the record; with it as likely as without recycling, which only makes the noise smaller."""
    monkeypatch.setattr(napp, "MOST_REDRAWN", 1_000)
    (row,) = napp.run(job("paper", "line", {"variant": variant}, draws=1_000))
    assert row["other_hits"] == 0 and row["hits"] > 20 and row["likelier"] == "neighbour"
    counts = bounds.Counts(*(row[name] for name in ("hits", "tries", "other_hits", "other_tries")))
    assert bounds.epsilon_bound(counts, delta=0.0, confidence=0.95) > 1.5
    assert row["guarantee"] == "none"


@together.over(
    "calibration, row",
    [
        ("paper", {"variant": "gamma"}),
        ("tight", {"variant": "vs-moor"}),
        ("tight", {"variant": "erm-returned"}),
        ("paper", {"variant": "erm", "neighbours": "replace"}),
        ("corrected", {"variant": "vs", "neighbours": "replace"}),
    ],
)
def test_what_cannot_be_attacked_is_said(calibration, row):
    with pytest.raises(ConfigError, match=row["variant"]):
        napp.run(job(calibration, "line", row))
