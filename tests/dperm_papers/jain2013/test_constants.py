"""jain2013-constants: printed constants transcribed, noise against closed forms, and checks that can fail."""

import math

import fake_jain2013
import numpy as np
import pytest
import together
from chosen_rows import number, of

from dperm import kernels
from dperm.mechanisms.kernel import definite
from dperm_papers.jain2013.constants import checks, noise


@pytest.fixture(scope="module")
def rows():
    return fake_jain2013.constants()


@pytest.mark.parametrize("total", [1000.0, 1e7])
def test_algorithm_1_as_printed(rows, total):
    """R = L = C = lambda = epsilon = 1, delta = 1e-6, beta = 0.05, T = 10,000."""
    logs, length = math.log(4e6), math.log(2e4 / 0.05)
    B = total / (200 * math.sqrt(2 * length) * logs)
    eps0 = total / (200 * math.sqrt(B) * logs)
    here = of(rows, series="pinp", calibration="paper", total=total, queries=10_000)
    assert number(here, metric="rounds") == pytest.approx(B)
    assert number(here, metric="epsilon0") == pytest.approx(eps0)
    assert number(here, metric="threshold") == pytest.approx(4 / eps0 * length)
    assert set(here["vacuous"]) == {int(B < 1 or 4 / eps0 * length >= 0.5)}


def test_algorithm_3_as_printed(rows):
    n, logs = 1e7, math.log(4e6)
    B = n / (100 * logs)
    eps0 = n / (10 * math.sqrt(B) * logs)
    here = of(rows, series="tdil", calibration="paper", total=n, d=10)
    assert number(here, metric="rounds") == pytest.approx(B)
    assert number(here, metric="epsilon0") == pytest.approx(eps0)
    assert number(here, metric="threshold") == pytest.approx(4 / eps0 * math.log(2 * B / 0.05))
    assert number(here, metric="net_digits") == pytest.approx(10 * math.log10(4 * eps0 * n / 10))


def test_theorem_5(rows):
    own = of(rows, series="tddl", calibration="paper", total=1e7, metric="own_queries")["value"].unique()
    assert own == pytest.approx([1e7 / math.sqrt(math.log(1e6))], abs=1)


@pytest.mark.parametrize("dataset", ["orthogonal", "sphere-10"])
def test_what_is_drawn_has_the_sd_of_the_formula(rows, dataset):
    """Below the rank of K least squares give the noisy answers back, at any points."""
    found = of(rows, series="noise")
    keys = ["mechanism", "calibration", "variant", "queries", "epsilon"]
    exact = of(found, metric="sd").set_index(keys)["value"]
    drawn = of(found, metric="sd_measured", dataset=dataset).set_index(keys)["value"]
    assert len(drawn) == {"orthogonal": 6 + 4, "sphere-10": 6}[dataset] * len(found.groupby(["queries", "epsilon"]))
    # 4,000 values; Laplace's fourth moment is six times the second squared.
    np.testing.assert_allclose(drawn, exact[drawn.index], rtol=4.5 * math.sqrt(5 / 4 / 4000))


def test_the_formulas(rows):
    here = of(rows, series="noise", metric="sd", queries=10, epsilon=1.0)
    # Ten answers cost least by basic composition: epsilon/10 each at Delta_1 = 2 R^2/total.
    assert number(here, mechanism="tddl", calibration="paper", variant="") == pytest.approx(
        math.sqrt(2) * 10 * 2 * 8 / 1000
    )
    one = number(here, mechanism="rkhs_gaussian", variant="")
    assert number(here, mechanism="rkhs_gaussian", variant="fresh") == pytest.approx(math.sqrt(10) * one)
    assert number(here, mechanism="explicit_output") == number(here, mechanism="tddl", calibration="tight") == one
    assert noise.monomials() == 29_260


@together.over("weight", [0.0, 0.3, 20.0])
def test_the_tail_of_the_exponential_mechanism(weight):
    scores = np.array([0.2, 1.0, 0.5, 0.5, 0.9])
    mass = np.exp(weight * scores) / np.exp(weight * scores).sum()
    worst = max(mass[scores <= s].sum() - 5 * math.exp(-weight * (1 - s)) for s in scores)
    assert checks.tail_excess(scores, weight) == pytest.approx(worst)


def test_the_checks_hold_and_their_control_does_not(rows):
    for series, count in {"net": 4 + 15, "composition": 360, "exponential": 2 * 3 * 5}.items():
        here = of(rows, series=series)
        assert len(here) == count and here["value"].max() <= 0
    shifted = of(rows, series="translation")
    assert (of(shifted, variant="cubic")["value"] < -1).all() and (of(shifted, variant="gaussian")["value"] > 0).all()


def test_evaluations_are_counted(rows):
    here = of(rows, metric="evaluations")
    # K(Z, X) once and K(Z, Z) once; of PINP also what the kernel is watched by.
    watched = sum(min(t, definite.MOST) for t in range(200))
    for n in (50, 100):
        assert number(here, series="work-n", n=n, mechanism="tddl", calibration="paper") == 200 * n + 200**2
        asked = number(here, series="work-n", n=n, mechanism="pinp", calibration="tight")
        assert 200 * n < asked <= 200 * n + 200 * 199 / 2 + watched
    counting = checks.Counting(kernels.linear())
    counting.counted()(np.ones((3, 2)), np.ones((4, 2)))
    assert counting.count == 12
