"""The laws that li2021 prints, those that are proved, and the floor."""

import itertools
import math

import numpy as np
import pytest
import together
from scipy import integrate, stats

from dperm.accounting import objective
from dperm.domain import Budget
from dperm.errors import DomainViolation, InvalidBudget
from dperm.losses import huber, smoothed_hinge
from dperm.mechanisms.napp.noise import (
    HALF_NORMAL_MEAN,
    Absolute,
    Bounds,
    PrintedSpherical,
    by_density,
    calibrate,
    deviation,
    floor,
)
from dperm.noise import Gaussian, SphericalLaplace

BOUNDS = Bounds(2.0, 1.5, 0.8)
# By whether l' keeps its sign: losses whose force and curvature are not tied.
SIGNS = {True: smoothed_hinge(), False: huber()}
GRID = list(itertools.product((0.01, 0.8, 20.0), (1e-10, 1e-4, 0.5), (0.05, 0.5, 0.95)))


def law_of(budget, *, share=0.5, variant="erm", calibration="paper", features=16, bounds=BOUNDS, **rest):
    return calibrate(bounds, budget, share=share, variant=variant, calibration=calibration, features=features, **rest)


def test_the_floor_pays_for_the_jacobian():
    assert floor(BOUNDS, 0.4, 0.5) == pytest.approx(0.8 / 0.4)
    assert floor(BOUNDS, 0.4, 0.75) == pytest.approx(0.8 / (2 * 0.25 * 0.4))
    for epsilon, _, share in GRID:
        spent = math.log1p(BOUNDS.zeta3 / (2 * floor(BOUNDS, epsilon, share)))
        assert spent <= (1 - share) * epsilon


@pytest.mark.parametrize("epsilon", [0.4, 1.0])
def test_the_printed_laws(epsilon):
    law = law_of(Budget(epsilon), share=0.3)[0]
    assert isinstance(law, PrintedSpherical) and law.scale == pytest.approx(2 * 3.0 / (0.3 * epsilon))
    law = law_of(Budget(epsilon, 1e-4), share=0.3)[0]
    variance = 2 * 3.0**2 * (0.3 * epsilon - math.log(1e-4)) / (0.3 * epsilon) ** 2
    assert isinstance(law, Gaussian) and law.scale**2 == pytest.approx(variance)
    for budget in (Budget(epsilon), Budget(epsilon, 1e-4)):
        plus, extra, guarantee = law_of(budget, share=0.3, variant="vs_plus")
        assert (plus, extra, guarantee) == (Absolute(law_of(budget, share=0.3)[0]), 0.0, "none")
        assert law_of(budget, share=0.3, variant="vs")[0] == law_of(budget, share=0.3)[0]


@pytest.mark.parametrize("p", [1, 2, 16])
def test_the_radius_of_the_printed_law_is_gamma_1_and_its_direction_uniform(p):
    b = PrintedSpherical(2.0).sample((20_000, p), np.random.default_rng(0))
    assert stats.kstest(np.linalg.norm(b, axis=1), stats.expon(scale=2.0).cdf).pvalue > 0.01
    assert b.std(axis=0) == pytest.approx(np.full(p, deviation(PrintedSpherical(2.0), p)), rel=0.05)
    assert np.abs(b.mean(axis=0)).max() < 0.1
    if p > 1:
        # The half-plane beside a diagonal is as likely as any other.
        assert (b[:, 0] > b[:, 1]).mean() == pytest.approx(0.5, abs=0.02)


def test_the_density_of_equations_4_and_9_takes_the_place_of_the_printed_radius():
    """log f(b) + ||b|| r epsilon/zeta12 is constant, where zeta12 = 3; the other laws stay."""
    for variant in ("erm", "vs_plus"):
        pure = by_density(law_of(Budget(0.8), share=0.5, variant=variant)[0])
        b = pure.sample((20_000, 16), np.random.default_rng(3))
        radius = stats.gamma(16, scale=3.0 / (0.5 * 0.8))
        assert stats.kstest(np.linalg.norm(b, axis=1), radius.cdf).pvalue > 0.01
        assert (b > 0).all() == (variant == "vs_plus")
        gaussian = law_of(Budget(0.8, 1e-4), share=0.5, variant=variant)[0]
        assert by_density(gaussian) == gaussian


@pytest.mark.parametrize(("law", "p"), [(SphericalLaplace(1.3), 1), (SphericalLaplace(1.3), 16), (Gaussian(0.4), 3)])
def test_the_deviation_of_a_coordinate(law, p):
    b = law.sample((200_000, p), np.random.default_rng(1))
    assert math.sqrt((b**2).mean()) == pytest.approx(deviation(law, p), rel=0.01)


@pytest.mark.parametrize("law", [PrintedSpherical(1.0), SphericalLaplace(1.0), Gaussian(1.0)])
def test_absolute_values_have_the_law_truncated_to_the_orthant(law):
    """Eqs 9 and 10 with c = 0: the same law, given that every coordinate is positive."""
    rng = np.random.default_rng(2)
    b = law.sample((60_000, 2), rng)
    kept, plus = b[(b > 0).all(axis=1)], Absolute(law).sample((15_000, 2), rng)
    assert (plus > 0).all()
    for read in (lambda v: v[:, 0], lambda v: v.sum(axis=1), lambda v: v.min(axis=1)):
        assert stats.ks_2samp(read(kept), read(plus)).pvalue > 0.01


def test_the_mean_that_the_public_lasso_stands_for():
    mean, _ = integrate.quad(lambda z: abs(z) * stats.norm.pdf(z), -np.inf, np.inf)
    assert pytest.approx(mean) == HALF_NORMAL_MEAN


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("calibration", ["corrected", "tight"])
@pytest.mark.parametrize("one_sided", [True, False])
def test_what_is_not_printed_keeps_the_budget(calibration, neighbours, one_sided):
    """Theorems 1 to 3 of docs/privacy.md, evaluated at the law that was returned."""
    for epsilon, delta, share in GRID:
        log_det = math.log1p(BOUNDS.zeta3 / (2 * floor(BOUNDS, epsilon, share)))
        fixed = {"share": share, "calibration": calibration, "neighbours": neighbours, "loss": SIGNS[one_sided]}
        law, extra, guarantee = law_of(Budget(epsilon, delta), **fixed)
        spent = objective.objective_delta(
            BOUNDS.zeta12 / law.scale, epsilon=epsilon, log_det=log_det, one_sided=one_sided, neighbours=neighbours
        )
        assert spent <= delta and (extra, guarantee) == (0.0, "proved_exact")
        law, extra, guarantee = law_of(Budget(epsilon), **fixed)
        assert isinstance(law, SphericalLaplace) and (extra, guarantee) == (0.0, "proved_exact")
        assert objective.gamma_epsilon(law.scale, BOUNDS.zeta12, log_det=log_det, neighbours=neighbours) <= epsilon * (
            1 + 1e-12
        )


def test_the_printed_variance_is_proved_for_adding_and_removing_whatever_the_share():
    """N-c24: log(1/delta) is enough where kifer2012's text has log(2/delta); the bound is below 4 % of delta."""
    worst = 0.0
    for epsilon, delta, share in GRID:
        printed, _, guarantee = law_of(Budget(epsilon, delta), share=share)
        corrected, _, _ = law_of(Budget(epsilon, delta), share=share, calibration="corrected")
        assert printed == corrected and guarantee == "proved_exact"
        log_det = math.log1p((1 - share) * epsilon)
        worst = max(
            worst,
            objective.objective_delta(
                BOUNDS.zeta12 / printed.scale,
                epsilon=epsilon,
                log_det=log_det,
                one_sided=False,
                neighbours="add_remove",
            )
            / delta,
        )
    assert 0.01 < worst < 0.04
    assert law_of(Budget(0.4, 1e-4), neighbours="replace")[2] == "none"  # erratum K3


def test_equation_12_is_made_for_half_of_epsilon_and_no_lower_bound():
    def bound(sigma, epsilon, delta, share):
        log_det = math.log1p((1 - share) * epsilon)
        return objective.objective_delta(
            1 / sigma, epsilon=epsilon, log_det=log_det, one_sided=False, neighbours="add_remove"
        )

    for epsilon, delta, _ in GRID:
        root = math.sqrt(-2 * math.log(delta))
        printed = (math.sqrt(root**2 + epsilon) + root) / epsilon
        assert bound(printed, epsilon, delta, 0.5) <= delta
        least = 1 / objective.objective_ratio(
            epsilon=epsilon, delta=delta, log_det=math.log1p(epsilon / 2), one_sided=False, neighbours="add_remove"
        )
        assert least < printed < 2 * math.sqrt(root**2 + epsilon) / epsilon
    assert bound((math.sqrt(2 * math.log(1e8) + 0.1) + math.sqrt(2 * math.log(1e8))) / 0.1, 0.1, 1e-8, 0.1) > 1e-8


def test_in_one_dimension_the_printed_radius_is_only_too_wide():
    """Erratum N1: p = 1 is Laplace noise of twice the scale; for p >= 2 nothing is proved."""
    assert [law_of(Budget(0.4), features=p)[2] for p in (1, 2, 16)] == ["proved_exact", "none", "none"]


@pytest.mark.parametrize("calibration", ["corrected", "tight"])
def test_vs_plus_is_two_sided_noise_and_a_public_lasso(calibration):
    for delta, factor in ((0.0, math.sqrt(17)), (1e-4, 1.0)):
        law, extra, guarantee = law_of(Budget(0.4, delta), calibration=calibration, variant="vs_plus")
        assert law == law_of(Budget(0.4, delta), calibration=calibration)[0] and guarantee == "proved_exact"
        assert extra == pytest.approx(math.sqrt(2 / math.pi) * law.scale * factor)


def test_tight_uses_the_modulus_that_a_ridge_has():
    plain, strong = (law_of(Budget(0.4), calibration="tight", modulus=m)[0].scale for m in (None, 40.0))
    assert plain == pytest.approx(3.0 / (0.4 - math.log1p(0.2)))
    assert strong == pytest.approx(3.0 / (0.4 - math.log1p(0.8 / 40)))


@together.over(
    "given, words",
    [
        ({"share": 0.0}, r"share=0.0 must be a number in \(0, 1\); it is r"),
        ({"share": 1.0}, r"share=1.0 must be a number in \(0, 1\)"),
        ({"share": "half"}, "share='half' must be a number"),
        ({"variant": "vs+"}, "variant='vs\\+' is not one of 'erm', 'vs', 'vs_plus'"),
        ({"calibration": "loose"}, "calibration='loose' is not one of"),
        ({"neighbours": "swap"}, "neighbours='swap' is not one of"),
    ],
)
def test_what_is_wrong_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        law_of(Budget(1.0), **given)


def test_budgets_and_bounds_that_cannot_be_are_named():
    with pytest.raises(InvalidBudget, match="epsilon=0"):
        floor(BOUNDS, 0.0, 0.5)
    with pytest.raises(InvalidBudget, match="delta=1e-310"):
        law_of(Budget(1.0, 1e-310))
    for zetas in ((0.0, 1.0, 1.0), (1.0, np.inf, 1.0), (1.0, 1.0, np.nan)):
        with pytest.raises(DomainViolation, match=r"zeta[123]=.* must be a number in \(0, inf\); declare bounds"):
            Bounds(*zetas)
