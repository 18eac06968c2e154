"""Attacks on the private choice of Lambda and on truncated noise: their laws by closed forms, and what they refute."""

import audit_jobs
import numpy as np
import pytest
from scipy import stats

from dperm.audit import columns, truncated, tuned
from dperm.audit.napp import cases
from dperm.domain import Budget

# Beyond all that is released.
FAR = 1e9


def row(calibration, variant, epsilon, delta):
    return {
        "calibration": calibration, "neighbours": "add_remove", "variant": variant, "epsilon": epsilon, "delta": delta,
    }  # fmt: skip


def job(mechanism, pair, *rows):
    return audit_jobs.job(mechanism, pair, *rows, paper="li2021", draws=100, seed=3)


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_a_stretch_is_out_of_reach_and_has_the_mass_of_the_cut_law(delta):
    budget = Budget(1.0, delta)
    cut, data, neighbour, _ = next(truncated.pairs("cut-1", budget, "paper"))
    made = truncated.target(cut)
    scale = made.law.scale
    law = stats.norm(scale=scale) if delta else stats.laplace(scale=scale)
    c, width = cut.point, 2.0
    # Lasso of 0.2 and floor 1: without force theta = (-b - 0.2)/2, with a full one (-b - 2.2)/2.
    edge = np.array([(-c - 0.2 - width) / 2])
    expected = (law.cdf(c + width) - law.cdf(c)) / law.sf(c)
    assert made.sf(edge, data)[0] == pytest.approx(expected, rel=1e-9)
    assert made.sf(edge, neighbour)[0] == 0


@pytest.mark.slow
def test_truncated_rows_are_refuted_but_where_hardly_anything_is_cut():
    bounds = {}
    for calibration, variant, epsilon, delta in (
        ("paper", "cut-1", 1.0, 0.0), ("paper", "cut-3", 1.0, 1e-4), ("paper", "cut-5", 1.0, 1e-4),
        ("corrected", "cut-far", 0.1, 1e-9),
    ):  # fmt: skip
        (found,) = truncated.run(job("truncated", "support", row(calibration, variant, epsilon, delta)))
        bounds[variant] = found["exact_bound"] / epsilon
        assert found["white_box_p"] > 1e-4
        assert found["guarantee"] == ("none" if calibration == "paper" else "proved_exact")
    assert bounds["cut-1"] > 100 and bounds["cut-3"] > 100 and bounds["cut-5"] < 1 and 0.5 < bounds["cut-far"] < 1


def by_hand(made, points, parts):
    """P(theta <= t) of one way of dividing, by summing over the four signs of f_1 and f_2."""
    total = np.zeros(len(points))
    wrong = {1: sum(y < 0 for _, y in parts[2]), -1: sum(y > 0 for _, y in parts[2])}
    laws = [tuned.line.target(problem) for problem in made.problems]
    records = [tuned.line.records(*part) if part else tuned.line.records() for part in parts[:2]]

    def within(i, sign, t):
        """P(f_i has the sign, f_i <= t), 0 counting as below."""
        cdf = laws[i].cdf(np.array([t, 0.0]), records[i])
        return max(cdf[0] - cdf[1], 0.0) if sign > 0 else min(cdf[0], cdf[1])

    for place, t in enumerate(points):
        for one, two in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
            odds = np.exp(-made.exponent * np.array([wrong[one], wrong[two]]))
            odds /= odds.sum()
            total[place] += odds[0] * within(0, one, t) * within(1, two, FAR)
            total[place] += odds[1] * within(1, two, t) * within(0, one, FAR)
    return total


@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_the_law_of_the_chosen_model_is_the_sum_over_signs_and_ways(calibration):
    small = cases.hinge(Budget(1.0, 1e-4), calibration)
    made = tuned.Choice((small, tuned.replace(small, strength=3.0)), calibration)
    data = np.array([(1.0, 1.0), (1.0, -1.0), (1.0, 1.0)])
    points = np.array([-2.0, -0.1, 0.0, 0.5, 3.0])
    expected = sum(weight * by_hand(made, points, part) for part, weight in made.divided(data).items())
    target = tuned.target(made)
    np.testing.assert_allclose(target.cdf(points, data), expected, rtol=1e-9)
    np.testing.assert_allclose(target.cdf(points, data) + target.sf(points, data), 1.0, rtol=1e-12)


def bound(calibration, budget, place):
    made, data, neighbour, _ = list(tuned.pairs(budget, calibration))[place]
    return columns.on_a_line(tuned.target(made), data, neighbour, delta=budget.delta)["exact_bound"]


def test_portions_of_equal_size_are_refuted_and_drawn_ones_are_not():
    assert bound("paper", Budget(1.0, 1e-9), 3) > 1.1
    assert 0.3 < bound("tight", Budget(1.0), 0) <= 1.0


@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_the_mechanism_draws_what_its_law_says(calibration):
    made, *_ = next(tuned.pairs(Budget(1.0, 1e-4), calibration))
    target = tuned.target(made)
    outputs = target.draw(tuned.PROBE, 60, np.random.default_rng(5))
    behind = columns.noise_behind(target, outputs, tuned.PROBE, np.random.default_rng(6), near=1e-6)
    assert stats.kstest(np.ravel(behind), stats.norm(scale=target.law.scale).cdf).pvalue > 1e-4


def test_the_printed_attack_turns_one_record_of_the_first_portion_around():
    made, data, neighbour, _ = next(tuned.pairs(Budget(1.0, 1e-9), "paper"))
    ((first, _, held),) = made.divided(data)
    ((first_more, _, held_more),) = made.divided(neighbour)
    assert len(first) == len(first_more) and sum(y for _, y in first_more) - sum(y for _, y in first) == 2
    assert {y for _, y in held} | {y for _, y in held_more} <= {1.0} and len(neighbour) == len(data) + 1
