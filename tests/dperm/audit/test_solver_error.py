"""Output noise that hides the solver's error: the bound by a Gaussian's privacy curve, and its code's own draws."""

import audit_jobs
import pytest

from dperm.accounting import gaussian
from dperm.audit import linear, solver_error
from dperm.domain import Budget
from dperm.mechanisms import base

BUDGET = Budget(3.0, 1e-9)


def job(neighbours, pair="edge"):
    row = {"neighbours": neighbours, "variant": "gaussian_hidden", "epsilon": BUDGET.epsilon, "delta": BUDGET.delta}
    return audit_jobs.job("objective", pair, row)


@pytest.mark.parametrize(("neighbours", "zeta"), [("add_remove", 1), ("replace", 2)])
def test_the_bound_is_the_gaussian_privacy_curve(neighbours, zeta):
    """(zeta + 2 tolerance)/Delta over the deviation of both noises; and no more than is claimed."""
    (row,) = linear.run(job(neighbours))
    made = solver_error.laws(budget=BUDGET, neighbours=neighbours, calibration="tight")
    ratio = (zeta + 2 * solver_error.TOLERANCE) / solver_error.CURVATURE / made.whole.scale
    assert gaussian.gaussian_ratio(row["exact_bound"], BUDGET.delta) == pytest.approx(ratio, rel=1e-6)
    assert 0.5 * BUDGET.epsilon < row["exact_bound"] <= BUDGET.epsilon
    assert row["guarantee"] == "proved" and row["white_box_p"] > 1e-3
    assert linear.run(job(neighbours, "sixteen")) == linear.run(job(neighbours, "line")) == []


def test_output_noise_forgotten_in_the_code_is_seen(monkeypatch):
    honest = base.covering
    monkeypatch.setattr(base, "covering", lambda sensitivity, budget: honest(1e-6 * sensitivity, budget))
    assert linear.run(job("add_remove"))[0]["white_box_p"] < 1e-6
