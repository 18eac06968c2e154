"""dwork2018-gaussian: means over noise by draws and by scipy, and what the rows say."""

import math

import cells
import numpy as np
import pytest
from scipy import integrate, stats

from dperm_papers.dwork2018.gaussian import experiment as gaussian

SETTINGS = {
    "epsilons": [0.5, 10.0], "deltas": [1e-2], "rates": [0.5], "smoothnesses": [0.5, 2.0], "counts": [1, 100],
    "epsilon": 1.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def found():
    return cells.rows("dwork2018-gaussian", SETTINGS, seed=3)


def test_what_noise_adds_to_the_losses_is_an_integral():
    scale = 0.8

    def mean(loss, a):
        return integrate.quad(lambda z: loss(a + z) * stats.norm.pdf(z, 0, scale), -9, 9, points=[1 - a])[0]

    steps = np.linspace(-4, 4, 33)
    logistic = max(mean(lambda a: math.log1p(math.exp(-a)), a) - math.log1p(math.exp(-a)) for a in steps)
    assert gaussian.logistic_added(scale) == pytest.approx(logistic, rel=1e-8)
    away = np.array([-2.0, 0.0, 0.3])
    expected = [mean(lambda a: abs(a - 1), 1 + d) for d in away]
    np.testing.assert_allclose(gaussian.absolute_mean(away, scale), expected, rtol=1e-8)


def test_bounds_hold_and_are_attained_where_they_can_be(found):
    excess = found[found["metric"] == "excess"]
    costs = excess[excess["series"].isin(["lipschitz", "smooth"])]
    assert costs["value"].max() < 1e-9
    attained = costs[costs["form"].isin(["equality", "squared"])]
    assert attained["value"].abs().max() < 1e-9
    assert costs.loc[costs["form"] == "logistic", "value"].max() < -1e-5


def test_the_classical_formula_fails_at_large_epsilon_alone(found):
    private = found[found["series"] == "private"].set_index(["calibration", "epsilon"])
    assert (private.loc["tight", "value"] <= 0).all()
    assert private.loc[("paper", 0.5), "value"] < 0
    assert private.loc[("paper", 10.0), "value"] > 0
    assert private.loc[("paper", 10.0), "guarantee"] == "none"


def test_gaussian_noise_of_many_answers_grows_like_the_root_of_their_number(found):
    size = found[found["series"] == "answers"].set_index(["form", "queries"])["value"]
    assert size["basic", 100] == pytest.approx(100 * size["basic", 1])
    assert size["gaussian", 100] == pytest.approx(10 * size["gaussian", 1])
    assert size["gaussian", 100] < size["advanced", 100] < size["basic", 100]
