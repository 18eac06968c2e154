"""Which theorem a loss gets: Theorem 4 if force and curvature are tied, Theorems 1 to 3 if not."""

import math
from dataclasses import replace

import pytest
import theorem4
import together

from dperm import losses
from dperm.accounting import objective
from dperm.accounting.tilt import Record
from dperm.domain import Budget, Domain
from dperm.errors import InvalidBudget
from dperm.mechanisms import approximate_minima, cms11
from dperm.mechanisms import objective as core
from dperm.mechanisms.base import record
from dperm.mechanisms.napp import noise
from dperm.noise import Gaussian, SphericalLaplace

R = 3.0
TIED, APART = Record(R, R**2 / 4, True, 1.0), Record(R, R**2 / 4, True)
RELATIONS = ("add_remove", "replace")
BUDGETS = [Budget(0.3), Budget(3.0), Budget(0.3, 1e-6), Budget(3.0, 1e-6)]


@together.over("multiple", [1.2, 2.0, 4.0, 30.0])
@together.over("budget", BUDGETS)
@together.over("neighbours", RELATIONS)
def test_the_tied_scale_is_the_least_that_theorem_4_allows(neighbours, budget, multiple):
    curvature = multiple * R**2 / 4 / budget.epsilon
    pair = {"curvature": curvature, "neighbours": neighbours}
    scale, leverage = TIED.scale(budget, **pair), R**2 / curvature
    slow = {"epsilon": budget.epsilon, "leverage": leverage, "neighbours": neighbours}
    if budget.delta == 0:
        assert scale == pytest.approx(theorem4.least_scale(R, **slow), rel=1e-6)
    else:
        assert theorem4.delta(R / scale, **slow) == pytest.approx(budget.delta, rel=2e-2)
        assert TIED.delta(scale, epsilon=budget.epsilon, **pair) <= budget.delta
    assert scale < APART.scale(budget, **pair)
    assert TIED.enough(scale, budget, **pair) and not TIED.enough(0.999 * scale, budget, **pair)


@together.over("budget", BUDGETS)
@together.over("neighbours", RELATIONS)
def test_what_is_not_tied_has_theorems_1_to_3(neighbours, budget):
    curvature, epsilon, delta = R**2 / budget.epsilon, budget.epsilon, budget.delta
    pair = {"log_det": math.log1p(R**2 / 4 / curvature), "neighbours": neighbours}
    for one_sided in (True, False):
        one = Record(R, R**2 / 4, one_sided)
        scale = one.scale(budget, curvature=curvature, neighbours=neighbours)
        if delta == 0:
            assert scale == objective.gamma_scale(R, epsilon=epsilon, **pair)
        else:
            assert scale == R / objective.objective_ratio(epsilon=epsilon, delta=delta, one_sided=one_sided, **pair)
        assert one.enough(scale, budget, curvature=curvature, neighbours=neighbours)
        assert not one.enough(0.999 * scale, budget, curvature=curvature, neighbours=neighbours)


def test_the_row_is_the_longest_that_both_bounds_allow():
    """Bounds that are wider than needed never make the tied noise worse than that of Theorems 1 to 3."""
    budget, pair = Budget(1.0), {"curvature": 2 * R**2, "neighbours": "replace"}
    exact = TIED.scale(budget, **pair)
    assert replace(TIED, zeta=5 * R).scale(budget, **pair) == pytest.approx(exact, rel=1e-12)
    assert replace(TIED, lam=5 * R**2).scale(budget, **pair) == exact
    with pytest.raises(InvalidBudget, match="which the curvature costs"):
        TIED.scale(budget, curvature=R**2 / 8, neighbours="add_remove")


def test_the_logistic_losses_alone_are_tied_and_separate_forgets_it():
    domain, both = Domain(x_norm=2.0), (2.0, 1.0)
    assert {name for name, make in losses.LOSSES.items() if make().cap is not None} == {"logistic", "capped_logistic"}
    assert record(losses.logistic(), both) == Record(2.0, 1.0, True, 1.0)
    assert record(losses.capped_logistic(0.2), (0.4, 0.64)) == Record(0.4, 0.64, True, 0.2)
    assert record(losses.logistic(), both, "separate") == Record(2.0, 1.0, True)
    for budget in BUDGETS:
        for neighbours in RELATIONS:
            for loss in (losses.logistic(), losses.capped_logistic(0.8), losses.huber(0.5)):
                given = {"curvature": 4 * domain.x_norm**2 / budget.epsilon, "neighbours": neighbours}
                tight, apart = (
                    core.calibrate(loss, domain, budget, calibration=name, **given) for name in ("tight", "separate")
                )
                assert tight[1] == apart[1] == "proved_exact"
                assert (tight[0].scale < apart[0].scale) == (loss.cap is not None)
                assert tight[0].scale <= apart[0].scale


@together.over("budget", BUDGETS)
@together.over("neighbours", RELATIONS)
def test_napp_has_the_noise_of_objective_perturbation(neighbours, budget):
    """Lambda0 = zeta3/(2 (1 - r) epsilon) is the curvature zeta3/((1 - r) epsilon)."""
    loss, curvature = losses.logistic(), R**2 / 4 / (0.5 * budget.epsilon)
    for calibration in ("tight", "separate"):
        law, _, guarantee = noise.calibrate(
            noise.Bounds(R, 1.0, R**2 / 4), budget, share=0.5, variant="erm", calibration=calibration, features=3,
            neighbours=neighbours, loss=loss,
        )  # fmt: skip
        peer, _ = core.calibrate(
            loss, Domain(x_norm=R), budget, curvature=curvature, calibration=calibration, neighbours=neighbours
        )
        assert type(law) is (SphericalLaplace if budget.delta == 0 else Gaussian) is type(peer)
        assert law.scale == pytest.approx(peer.scale, rel=1e-9) and guarantee == "proved_exact"


def test_printed_constants_are_judged_by_the_best_theorem():
    """Gaussian constants of add/remove are enough for the logistic loss under replace-one; gamma ones are not."""
    given = {"curvature": 2 * 0.25, "calibration": "paper", "neighbours": "replace"}
    for loss, delta, word in (
        (losses.logistic(), 1e-6, "proved_exact"),
        (losses.logistic(), 0.0, "none"),
        (losses.smoothed_hinge(2.0), 1e-6, "none"),
    ):
        law, guarantee = core.calibrate(loss, Domain(x_norm=1.0), Budget(1.0, delta), **given)
        assert guarantee == word
        slow = {"epsilon": 1.0, "leverage": 2.0, "neighbours": "replace"}
        if loss.name == "logistic":
            enough = law.scale >= theorem4.least_scale(1.0, **slow) if delta == 0 else False
            assert (enough or theorem4.delta(1 / law.scale, **slow) <= delta) == (word == "proved_exact")
    for neighbours in RELATIONS:
        made = cms11.calibrate(
            losses.logistic(), Domain(x_norm=1.0), Budget(1.0), perturbation="objective", neighbours=neighbours
        )
        assert made.guarantee == "proved_exact"


def test_approximate_minima_of_the_logistic_loss_are_proved_where_another_loss_s_are_not():
    """With little noise in the tilt: a loss with the same bounds, but not tied, has only the paper's claim."""
    given = {"n": 1000, "p": 3, "tilt_share": 0.5, "output_share": 0.6, "neighbours": "replace"}
    words = [
        approximate_minima.calibrate(loss, Domain(x_norm=1.0), Budget(1.0, 1e-6), **given).guarantee
        for loss in (losses.logistic(), replace(losses.logistic(), cap=None))
    ]
    assert words == ["proved", "claimed"]
