"""examples/diffprivlib/logistic.py: the law it states, checked without diffprivlib itself."""

import importlib.util
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize, special

from dperm.audit import line

FILE = Path(__file__).parents[2] / "examples/diffprivlib/logistic.py"


@pytest.fixture
def example():
    spec = importlib.util.spec_from_file_location("logistic_example", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("C", "spends"), [(1.0, 0.795), (0.1, 1.240), (0.08, 1.066)])
def test_what_the_page_says_is_spent(example, C, spends):
    found = line.lower_bound(example.law(C), example.DATA, example.NEIGHBOUR, delta=0.0)
    assert found.epsilon == pytest.approx(spends, abs=6e-4)
    page = (FILE.parents[2] / "docs/audit.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| C = {C:g}\b.*\| {spends:.3f} \|$", page, flags=re.MULTILINE)


@pytest.mark.parametrize("C", [1.0, 0.5, 0.1])
def test_at_norm_1_the_same_law_keeps_its_claim(example, monkeypatch, C):
    monkeypatch.setattr(example, "NORM", 1.0)
    pair = [(np.array([[x], [0.0], [0.0]]), np.array([1, 0, 1])) for x in (1.0, 0.0)]
    assert line.lower_bound(example.law(C), *pair, delta=0.0).epsilon <= example.EPSILON


def test_the_law_is_that_of_the_tilted_minimiser(example):
    """Its distribution function against minimisers of the objective at C = 1, where alpha is enlarged, and 0.08."""
    rng = np.random.default_rng(20)
    X, y = example.DATA
    for C in (1.0, 0.08):
        claimed = example.EPSILON - 2 * math.log(1 + 0.25 * 10 * C)
        curvature, scale = (1 / C, 20 / claimed) if claimed > 0 else (2.5 / (math.exp(0.125) - 1), 80.0)
        signs = 2 * y - 1

        def slope(theta, b, curvature=curvature, forces=signs * X[:, 0]):
            return b + curvature * theta - forces @ special.expit(-forces * theta)

        tilts = rng.laplace(0, scale, 2_000)
        reach = (abs(tilts).max() + 10) / curvature
        draws = np.array([optimize.brentq(slope, -reach, reach, args=(b,)) for b in tilts])
        points = np.quantile(draws, [0.05, 0.25, 0.5, 0.75, 0.95])
        expected = example.law(C).cdf(points, example.DATA)
        # Five standard errors of an empirical distribution function at 2,000 draws.
        assert np.abs(np.array([0.05, 0.25, 0.5, 0.75, 0.95]) - expected).max() < 5 * 0.5 / math.sqrt(2_000)


def test_without_regularisation_of_the_intercept_the_determinants_drift_apart(example):
    """The Hessians in (theta, intercept) at margin 0 of the differing record: their ratio grows like e^t."""
    alpha = 25.0

    def determinant(data, theta, t):
        X = np.column_stack([data[0], np.ones(3)])
        margins = X @ [theta, t]
        weights = np.exp(-np.abs(margins)) / (1 + np.exp(-np.abs(margins))) ** 2
        return np.linalg.det((X.T * weights) @ X + np.diag([alpha, 0.0]))

    ratios = [
        determinant(example.DATA, -t / 10, t) / determinant(example.NEIGHBOUR, -t / 10, t) for t in (6.0, 9.0, 12.0)
    ]
    assert ratios[0] > math.exp(3 * example.EPSILON)
    assert ratios[1] / ratios[0] == pytest.approx(math.e**3, rel=0.1)
    assert ratios[2] / ratios[1] == pytest.approx(math.e**3, rel=0.02)


def test_the_event_is_the_margin_where_the_intercept_is_far_out(example):
    outputs = np.array([[10.0, 0.5], [-10.0, -2.0], [3.0, 0.5], [30.0, 30.0]])
    assert example.undecided_far_out(outputs).tolist() == [-0.5, -2.0, -30.0, -30.0]
