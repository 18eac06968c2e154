"""What li2021 says applies and never runs: its parts by formulas from outside, and what they show."""

import fake_rows
import numpy as np
import pytest
from chosen_rows import of
from scipy import integrate, stats

from dperm.mechanisms.napp import losses
from dperm_papers.li2021.further import cutting, hinge
from dperm_papers.li2021.shared import designs


@pytest.fixture(scope="module")
def rows():
    return fake_rows.further()


def test_choices_are_among_the_candidates_and_mistakes_are_held_against_their_bound(rows):
    errors = of(rows, row="lambda", metric="error")
    assert errors["value"].between(0, 1).all()
    chosen = of(rows, row="lambda", metric="chosen_lambda")
    assert set(chosen["value"]) <= {0.5, 50.0}
    # What nobody knows is one Lambda for all repeats of a point.
    assert (of(chosen, form="best").groupby(["n", "epsilon", "calibration"])["value"].nunique() == 1).all()
    lost = of(rows, row="lambda", metric="mistakes_lost")
    violated = of(rows, row="lambda", metric="violated")
    for calibration, factor in (("paper", 2), ("tight", 1)):
        bound = factor * np.log(2 / 0.05) / of(lost, calibration=calibration)["epsilon"].to_numpy()
        above = of(lost, calibration=calibration)["value"].to_numpy() > bound
        np.testing.assert_array_equal(above, of(violated, calibration=calibration)["value"] == 1)
    assert set(of(errors, form="portions", calibration="tight")["guarantee"]) == {"proved_exact"}
    assert set(of(errors, form="portions", calibration="paper")["guarantee"]) == {"none"}


def test_one_row_of_each_mirrored_pair_is_curved_and_the_whole_reading_realises_half():
    """Without b the rows' curvature is known: sum of max(t, 0)^2/2 is half of that of t^2/2."""
    loss = losses.make("smoothed_hinge")
    half = np.random.default_rng(0).normal(0, 0.05, 5_000)
    t = np.concatenate([half, -half])
    # y = -1, so that t = -eta; beside n_e/2 and the linear term only the curved half is left.
    assert loss.value(-t, -1.0).sum() == pytest.approx(len(t) / 2 - t.sum() + (half**2).sum() / 2, rel=1e-12)
    assert ((t > 0) & (t <= 1)).mean() == 0.5


def test_hinge_rows_lack_half_of_their_weights_where_their_curvature_is_taken_for_one(rows):
    lacking = of(rows, row="literal", metric="lacking", rows_added=2000).groupby("form")["value"].mean()
    assert lacking["whole"] == pytest.approx(0.5, abs=0.15) and lacking["half"] == pytest.approx(0.0, abs=0.3)
    inside = of(rows, row="literal", metric="inside")["value"]
    assert inside.between(0.4, 0.75).all()
    assert set(of(rows, row="error")["form"]) == {"svm", "logistic", "svm-plain", "logistic-plain"}
    assert set(hinge.FORMS) == {"half", "whole"}


def test_what_a_cut_costs_is_a_quadrature_of_the_truncated_normal(rows):
    (reach,) = of(rows, row="cut", metric="reach", at=1.0)["value"]
    # Equation 4 at epsilon = 1, delta = 1e-4, r = 1/2, zeta = 1.
    sigma = 2 * np.sqrt(2 * (0.5 + np.log(1e4)))
    law = stats.truncnorm(-1.0, np.inf, scale=sigma)
    mass, _ = integrate.quad(law.pdf, -sigma, -sigma + 1)
    assert reach == pytest.approx(mass, rel=1e-9)
    (negative,) = of(rows, row="cut", metric="negative", at=1.0)["value"]
    assert negative == pytest.approx(law.cdf(0.0), rel=1e-9)
    (lowered,) = of(rows, row="cut", metric="lowered", at=1.0)["value"]
    assert lowered == pytest.approx(negative - 0.5)
    (beta,) = of(rows, row="cut", metric="beta", at=4.0)["value"]
    assert beta == pytest.approx(1 - stats.norm.cdf(4.0) ** 16, rel=1e-6)


def test_the_ends_of_the_cut_are_the_papers_two_variants(rows):
    fits = of(rows, row="fits", metric="auc")
    assert set(of(fits, at=0.0)["variant"]) == {"vs_plus"} and set(of(fits, at=np.inf)["variant"]) == {"vs"}
    assert cutting.DESIGN in designs.DESIGNS and fits["value"].between(0, 1).all()
