"""The simulated data of li2021 are Table 4's, and their public bounds hold for what they are said to."""

import math

import numpy as np
import pytest
from scipy import stats

from dperm.errors import ConfigError
from dperm.mechanisms.napp import losses
from dperm_papers.li2021.shared import designs, measures


@pytest.mark.parametrize("name", designs.DESIGNS)
def test_the_data_are_those_of_table_4_and_obey_the_bounds(name):
    design = designs.find(name)
    X, y = designs.training(1, "e", name, 30)
    again = designs.training(1, "e", name, 10)
    np.testing.assert_array_equal(X[:10], again[0])
    np.testing.assert_array_equal(y[:10], again[1])
    assert X.shape == (30, int(name.rsplit("-", 1)[1]), 16) and design.relevant.sum() == 8
    assert np.linalg.norm(X, axis=2).max() <= design.zeta1
    assert np.abs(X).max() <= design.half_width and X.std() == pytest.approx(design.half_width / 3**0.5, rel=0.01)
    eta, rng = X @ design.truth, np.random.default_rng(1)
    worst = design.half_width * np.abs(design.truth).sum()
    corner = 16 * design.half_width * max(map(abs, design.box))
    if design.loss == "squared":
        noise = (y - eta).ravel()
        assert np.abs(noise).max() <= 0.5
        assert stats.kstest(noise, stats.truncnorm(-2, 2, scale=0.25).cdf).pvalue > 1e-3
        assert (design.zeta2, design.zeta3) == (pytest.approx(2 * worst + 0.5), design.zeta1**2)
        assert design.boxed_zeta2 == pytest.approx(corner + worst + 0.5)
    elif design.loss == "poisson":
        assert (y == np.round(y)).all() and y.min() >= 0 and y.max() <= design.zeta2 == math.exp(worst)
        assert design.eta_bound == worst
        assert y.mean() == pytest.approx(rng.poisson(np.exp(eta)).mean(), rel=0.05)
    else:
        assert set(np.unique(y)) == {-1.0, 1.0} and design.zeta3 == design.zeta1**2 / 4
        # As printed: the label 1 has probability 1/(1 + e^eta).
        assert ((y > 0) - 1 / (1 + np.exp(eta))).mean() == pytest.approx(0, abs=0.02)
        assert (np.sign(eta) * y).mean() < -0.3
    # The minimiser lies in Theta: the truth does, under the printed sign.
    signed = design.sign * design.truth
    assert (signed >= design.box[0]).all() and (signed <= design.box[1]).all() and 0 in design.box


@pytest.mark.parametrize("name", designs.DESIGNS)
def test_typical_bounds_are_what_99_percent_of_the_records_keep(name):
    """And where y is clipped and the loss continued there, they are bounds on every record, at any theta."""
    design, rng = designs.bounded(designs.find(name), "typical"), np.random.default_rng(5)
    X, y = designs.draw(design, 200_000, rng)
    eta = X @ design.truth
    if design.loss != "logistic":
        assert np.mean(np.abs(eta) <= design.eta_bound) == pytest.approx(0.99, abs=0.002)
        assert np.mean(np.abs(y) <= design.y_bound) >= 0.989
    loss = losses.make(design.loss, design.eta_bound)
    y, anywhere = np.clip(y, -design.y_bound, design.y_bound), 10 * rng.standard_normal(len(y))
    assert np.abs(loss.derivative(anywhere, y)).max() <= design.boxed_zeta2 == design.zeta2
    assert (loss.second(anywhere, y) * design.zeta1**2).max() <= design.zeta3


def test_a_design_that_is_not_in_the_table_is_refused():
    with pytest.raises(ConfigError, match=r"unknown design 'linear-20'; .* linear-200"):
        designs.find("linear-20")


def test_the_area_under_a_path():
    false, true = np.array([[0.0, 0.25, 0.5]]), np.array([[0.5, 0.5, 1.0]])
    # By hand: 0.25 * 0.5 + 0.25 * 0.75 + 0.5 * 1; the first stretch is vertical.
    assert measures.area(false, true) == pytest.approx([0.8125])
    nothing, all_of_it = np.zeros((2, 4)), np.ones((2, 4))
    np.testing.assert_allclose(measures.area(nothing, nothing), 0.5)
    np.testing.assert_allclose(measures.area(all_of_it, all_of_it), 0.5)
    # The rank statistic of a score that has no ties within its path.
    score, relevant = np.random.default_rng(2).permutation(16), np.arange(16) < 8
    path = np.array([np.where(score >= least, 1.0, 0.0) for least in range(16, -1, -1)])
    wins = (score[relevant][:, None] > score[~relevant]).mean()
    assert measures.area(*(rate[None] for rate in measures.rates(path, relevant)))[0] == pytest.approx(wins)
