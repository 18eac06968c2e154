"""Theorem 12's experiment: the suprema are exact, and the walk of lengths has the law of the walk itself."""

import math

import cells
import numpy as np
import pytest
from scipy import stats

from dperm.errors import ConfigError
from dperm_papers.jain2013.thm12 import experiment as thm12
from dperm_pipeline import experiments

SETTINGS = {
    "repeats": 6, "queries": [10, 100], "features": [3, 50], "gammas": [0.05],
    "designs": ["sphere", "one-hot", "interval", "disc"],
}  # fmt: skip


def cell(part="all", **settings):
    return cells.cell("jain2013-thm12", SETTINGS | settings, seed=5, part=part)


def test_the_lengths_of_the_walk_have_the_law_of_the_walk():
    T, d, repeats = 25, 4, 4000
    found = thm12.sphere([5, T], d, repeats, np.random.default_rng(0))
    steps = np.random.default_rng(1).standard_normal((repeats, T, d))
    steps /= np.linalg.norm(steps, axis=2, keepdims=True)
    walk = np.linalg.norm(np.cumsum(steps, axis=1), axis=2)
    for at, values in zip((5, T), found, strict=True):
        assert stats.ks_2samp(values, walk[:, at - 1] / at).pvalue > 1e-3
    assert np.mean(found[1] ** 2) == pytest.approx(1 / T, rel=0.05)


def test_counts_are_those_of_one_hot_rows():
    d, T, repeats = 3, 20, 20_000
    values = thm12.one_hot([T], d, repeats, np.random.default_rng(0))[0]
    assert np.mean(values**2) == pytest.approx((1 - 1 / d) / T, rel=0.03)
    rows = np.random.default_rng(1).integers(d, size=(repeats, T))
    counts = np.stack([(rows == j).sum(axis=1) for j in range(d)], axis=1)
    own = np.linalg.norm(counts / T - 1 / d, axis=1)
    assert np.quantile(values, 0.95) == pytest.approx(np.quantile(own, 0.95), rel=0.02)


def test_the_interval_is_its_mean(monkeypatch):
    monkeypatch.setattr(thm12, "STEPS", 8)
    values = thm12.interval([30], 1, 3, np.random.default_rng(2))[0]
    rng = np.random.default_rng(2)
    drawn = np.vstack([rng.random((count, 3)) for count in (8, 8, 8, 6)])
    np.testing.assert_allclose(values, np.abs(drawn.mean(axis=0) - 0.5))


@pytest.mark.parametrize("T", [1, 2, 7, 60])
def test_the_supremum_over_the_circle_is_exact(T):
    points = thm12.in_disc(T, np.random.default_rng(T))
    angles = np.linspace(0, math.pi, 200_001)
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    means = np.mean([np.abs(w @ point) for point in points], axis=0)
    expected = 4 / (3 * math.pi)
    grid = np.abs(expected - means).max()
    found = thm12.absolute_deviation(points, expected)
    assert grid <= found + 1e-12 and found == pytest.approx(grid, abs=2e-5)


def test_the_expectation_on_the_disc():
    points = thm12.in_disc(400_000, np.random.default_rng(0))
    assert np.abs(points[:, 0]).mean() == pytest.approx(4 / (3 * math.pi), rel=5e-3)
    assert np.linalg.norm(points, axis=1).max() <= 1


def test_rows():
    rows = experiments.run(cell())
    assert len(rows) == 6 * 2 * (2 + 2 + 1 + 1) and (rows["metric"] == "deviation").all()
    assert set(rows[rows["dataset"] == "disc"]["d"]) == {2} and set(rows[rows["dataset"] == "sphere"]["d"]) == {3, 50}
    np.testing.assert_allclose(rows["bound"], np.sqrt(math.log(20) / rows["queries"]))
    assert set(rows["vacuous"]) == {0}
    assert set(experiments.run(cell(queries=[2]))["vacuous"]) == {1}
    assert rows["value"].equals(experiments.run(cell())["value"])


def test_an_unknown_part_is_named():
    with pytest.raises(ConfigError, match="unknown part 'total'"):
        experiments.run(cell("total"))
