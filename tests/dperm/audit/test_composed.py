"""Two stages as one mechanism on a line: its law by simulation and by products, and budgets that add up."""

import math

import audit_jobs
import numpy as np
import pytest
import together
from scipy import stats

from dperm import noise
from dperm.audit import columns, composed, exact, line, support, voting, white_box
from dperm.audit.composed import Problem
from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.mechanisms import sparse

pytestmark = pytest.mark.slow

NEIGHBOURS, CALIBRATIONS = ("add_remove", "replace"), ("paper", "corrected", "tight")
STAGES = ("exp_mech", "samp_agg")


def job(variant, neighbours="add_remove", calibration="tight", epsilon=1.0, delta=0.0, **changes):
    row = {"neighbours": neighbours, "variant": variant, "epsilon": epsilon, "delta": delta}
    return audit_jobs.job("sparse", "joint", row, family="composed", calibration=calibration, **changes)


def attacked(*args, **kwargs):
    (row,) = composed.run(job(*args, **kwargs))
    return row


# The law.


@pytest.mark.parametrize("stage_one", STAGES)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_mechanism_draws_from_the_law(stage_one, neighbours, calibration, delta):
    """All that is drawn, support and parameter, against the joint distribution function."""
    problem, data = composed.probe(stage_one, Budget(2.0, delta), neighbours, calibration)
    made = composed.target(problem)
    outputs = made.draw(data, 1_500, np.random.default_rng(5))
    chances = composed.stage_one(problem, data)
    assert min(chances) > 0.01
    seen = int((outputs > 2).sum())
    assert stats.binomtest(seen, 1_500, float(chances[1])).pvalue > 1e-4
    behind = columns.noise_behind(made, outputs, data, np.random.default_rng(6), near=1e-6)
    assert white_box.noise_test(behind, made.law).p_value > 1e-4
    other = type(made.law)(made.law.scale / 2)
    assert white_box.noise_test(behind, other).p_value < 1e-9


def test_the_law_is_a_product():
    """P({2}, theta <= t) = P({2}) F(J'(t)), written out for gamma noise."""
    problem, (X, y) = composed.probe("exp_mech", Budget(1.0), "add_remove", "tight")
    made, t, s = composed.target(problem), 0.3, composed.target(problem).law.scale
    slope = float(X[:, 1] @ (X[:, 1] * t - y)) + problem.curvature * t
    inside = 1 - 0.5 * math.exp(-slope / s) if slope > 0 else 0.5 * math.exp(slope / s)
    # Stage one by hand: least squares on either feature within [-1, 1].
    least = [min(0.5 * ((y - X[:, j] * t) ** 2).sum() for t in np.linspace(-1, 1, 4001)) for j in (0, 1)]
    weight = 0.5 / (2.0 * (1 + 2e-6))
    second = 1 / (1 + math.exp(-weight * (least[0] - least[1])))
    found = made.cdf(np.array([4 * problem.bound + t]), (X, y))[0]
    assert found == pytest.approx((1 - second) + second * inside, rel=1e-6)
    assert made.sf(np.array([4 * problem.bound + t]), (X, y))[0] == pytest.approx(second * (1 - inside), rel=1e-6)
    assert s == pytest.approx(2 / (0.5 - math.log1p(1 / problem.curvature)), rel=1e-9)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_votes_of_the_attacks_data_are_those_of_the_lassos(neighbours, calibration):
    """What is said of thin and far records is what the code's own lassos vote for, whoever shares a block."""
    least = Problem("samp_agg", Budget(3.0), neighbours, calibration, 400.0, 0.02, 20)
    made = composed.thin(least, 0.0)
    problem, *pair, _ = made
    for data in pair:
        arguments = {**problem.options, "repeats": 3, "rng": np.random.default_rng(2)}
        votes = sparse.release(*data, **arguments).selection.votes
        k = problem.blocks or math.isqrt(len(data[0]))
        expected = composed.stage_one(problem, data)
        assert (votes == votes[0]).all() and votes[0] @ [k, k] == pytest.approx(k)
        gap = (votes[0, 0] - votes[0, 1]) * k * (problem.budget.epsilon / 2) / 2
        assert expected[1] == pytest.approx((2 + gap) / 4 * math.exp(-gap), rel=1e-9)


def test_data_whose_votes_hang_on_who_shares_a_block_are_refused():
    problem = Problem("samp_agg", Budget(1.0), "add_remove", "corrected", 400.0, 1.0, 20)
    far = voting.one_feature([0, 1], [composed.DECIDES, -composed.DECIDES])
    with pytest.raises(ValueError, match="may win a vote"):
        composed.stage_one(problem, far)


# Attacks.


@pytest.mark.parametrize(
    ("variant", "neighbours", "share"),
    [
        ("exp_mech_gamma", "add_remove", 0.99),
        ("exp_mech_gamma", "replace", 0.77),
        ("samp_agg_gamma", "add_remove", 0.98),
        ("samp_agg_gamma", "replace", 0.98),
    ],
)
def test_tight_stages_are_certified_and_twice_the_budget_is_refuted(variant, neighbours, share):
    """Budgets add up to the whole of epsilon; stages that get twice as much are caught."""
    row = attacked(variant, neighbours, epsilon=3.0)
    assert share * 3 < row["exact_bound"] <= 3 * (1 + exact.ROUNDING)
    assert row["guarantee"] == "proved_exact"
    twice = attacked(variant, neighbours, epsilon=6.0)
    assert twice["exact_bound"] > 3 * 1.5


@pytest.mark.parametrize(("variant", "share"), [("exp_mech_gaussian", 0.9), ("samp_agg_gaussian", 0.8)])
def test_gaussian_stages_spend_most_of_the_claim(variant, share):
    row = attacked(variant, epsilon=3.0, delta=1e-9)
    assert share * 3 < row["exact_bound"] <= 3


def test_the_event_takes_a_support_and_a_parameter():
    """What both stages spend is more than either could: each has half of epsilon."""
    budget = Budget(1.0)
    problem = Problem("exp_mech", budget, "add_remove", "tight", 400.0, 1.0)
    problem, data, neighbour, _ = composed.pressed(problem, 0.0, support.RARE)
    chances = [composed.stage_one(problem, side) for side in (data, neighbour)]
    first = exact.exact(lambda which: chances[which], [(0, 1)]).epsilon
    both = line.lower_bound(composed.target(problem), data, neighbour, delta=0.0)
    assert first == pytest.approx(0.5, rel=1e-4)
    assert both.epsilon - first == pytest.approx(0.5 - math.log1p(1 / 400), rel=1e-3)
    assert both.epsilon == pytest.approx(math.log(both.probability / both.other_probability), rel=1e-9)


def test_printed_blocks_fall_under_add_remove_alone():
    for variant, delta in (("samp_agg_gamma", 0.0), ("samp_agg_gaussian", 1e-9)):
        fallen = attacked(variant, calibration="paper", delta=delta)
        assert fallen["exact_bound"] > 2 and fallen["guarantee"] == "none"
    for neighbours, calibration in (("add_remove", "corrected"), ("replace", "corrected"), ("replace", "paper")):
        assert attacked("samp_agg_gamma", neighbours, calibration)["exact_bound"] <= 1


@pytest.mark.parametrize("stage_one", STAGES)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_pairs_are_neighbours_within_the_bounds(stage_one, neighbours):
    for calibration in CALIBRATIONS:
        for delta in (0.0, 1e-6):
            for problem, data, neighbour, _ in composed.candidates(
                stage_one, Budget(1.0, delta), neighbours, calibration
            ):
                first, second = (np.column_stack(side) for side in (data, neighbour))
                assert len(second) - len(first) == (neighbours == "add_remove")
                differ = int((first != second[: len(first)]).any(axis=1).sum())
                assert differ == (neighbours == "replace")
                assert np.abs(second[:, :2]).max() <= 1 and problem.neighbours == neighbours


def test_half_of_the_noise_in_the_code_is_seen(monkeypatch):
    honest = noise.SphericalLaplace.sample
    before = attacked("exp_mech_gamma")
    monkeypatch.setattr(noise.SphericalLaplace, "sample", lambda self, n, rng: 0.5 * honest(self, n, rng))
    after = attacked("exp_mech_gamma")
    assert before["white_box_p"] > 1e-3 > 1e-6 > after["white_box_p"]
    assert before["exact_bound"] == after["exact_bound"]


@together.over("variant, delta", [("exp_mech", 0.0), ("exp_mech_gamma", 1e-6), ("gaussian", 1e-6)])
def test_a_variant_that_is_none_is_refused(variant, delta):
    with pytest.raises(ConfigError, match=f"variant '{variant}'"):
        attacked(variant, delta=delta)
