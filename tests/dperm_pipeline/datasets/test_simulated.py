"""The simulated sets follow the law that they state: labels against the probabilities of a fit without privacy."""

from pathlib import Path

import numpy as np
import pytest
import together
from scipy.special import expit

from dperm import losses
from dperm.mechanisms import nonprivate
from dperm_pipeline import config_files
from dperm_pipeline.datasets import prepare

ENTRIES = config_files.parse(Path(__file__).parents[3] / "config/datasets.yaml")
# Name: share of positives, standard deviation of the margin.
FAMILIES = {"simulated-spectrum": (0.5, 3.0), "simulated-rare": (0.125, 3.0), "simulated-categories": (0.5, 12**0.5)}


@together.over("name", sorted(FAMILIES))
def test_labels_are_logistic_in_the_features(name):
    data = prepare.prepare({"name": name, **ENTRIES[name]})
    share, spread = FAMILIES[name]
    assert (data.y > 0).mean() == pytest.approx(share, abs=0.03)
    assert np.linalg.norm(data.X, axis=1).max() <= data.bounds.x_norm and data.features[-1] == "(constant)"
    theta, _, met = nonprivate.fit(data.X, data.y, losses.logistic(), ridge=1e-3)
    margin = data.X @ theta
    # Of effects that are drawn the spread is random: a twelfth of it by each factor.
    assert met and margin.std() == pytest.approx(spread, rel=0.35 if name == "simulated-categories" else 0.1)
    # Where the fit says that a label is likely, it is as frequent as that, in each part of the range.
    chance = expit(margin)
    for low in np.arange(0.0, 1.0, 0.2):
        here = (chance >= low) & (chance < low + 0.2)
        error = np.sqrt(0.25 / here.sum())
        assert (data.y[here] > 0).mean() == pytest.approx(chance[here].mean(), abs=5 * error)
    again = prepare.prepare({"name": name, **ENTRIES[name]})
    np.testing.assert_array_equal(again.X, data.X)
