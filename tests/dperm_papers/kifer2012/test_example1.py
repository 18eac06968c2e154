"""Example 1: the smoothed regularizer against its convolution, laws by their definitions, Lemma 21 against cvxpy."""

import math

import cvxpy as cp
import fake_rows
import numpy as np
import pandas as pd
import pytest
from chosen_rows import of
from scipy import integrate, optimize, stats

from dperm import losses, seeds
from dperm.domain import Budget, Domain
from dperm.laws.quadrature import Pair
from dperm.mechanisms import objective
from dperm.noise import Gaussian
from dperm_papers.kifer2012.example1 import experiment as example1
from dperm_papers.kifer2012.shared import designs, quadrature

HUBER = losses.make("huber", knee=0.1)
SIGMA, DELTA = 0.9, 2.0


def bump(y, i):
    """Equation (5) in one dimension, not normalised."""
    x = i * y * y
    return math.exp(-1 / (1 - x * x)) if x < 1 else 0.0


def smoothed(theta, i):
    """r_i = |.| * K_i by SciPy."""
    radius = i**-0.5
    total = integrate.quad(bump, -radius, radius, args=(i,), epsabs=1e-13)[0]
    inside = [theta] if abs(theta) < radius else None
    value = integrate.quad(
        lambda y: abs(theta - y) * bump(y, i), -radius, radius, points=inside, epsabs=1e-13, limit=200
    )
    return value[0] / total


@pytest.fixture(scope="module")
def limit():
    return quadrature.law(HUBER, (), DELTA, Gaussian(SIGMA), l1=1.0)


@pytest.mark.parametrize("i", [1, 30])
def test_derivatives_are_those_of_the_convolution(i, limit):
    smooth = example1.smoothed(limit, i)
    step = 1e-4
    for theta in (-0.4 * i**-0.5, 0.1 * i**-0.5, 0.85 * i**-0.5, 2.0):
        first = (smoothed(theta + step, i) - smoothed(theta - step, i)) / (2 * step)
        slope = float(smooth.slope(np.array([theta]))[0]) - DELTA * theta
        assert slope == pytest.approx(first, abs=1e-6)
        low, high = smooth.slope(np.array([theta - step, theta + step]))
        second = (high - low) / (2 * step)
        assert float(smooth.curvature(np.array([theta]))[0]) == pytest.approx(second, rel=1e-4)
    # sup |r_i - r| is at 0.
    assert example1.bump()[2] * i**-0.5 == pytest.approx(smoothed(0.0, i), rel=1e-8)


def test_phi_i_minimises_the_convolution(limit):
    i = 10.0
    smooth = example1.smoothed(limit, i)
    for b in (-1.2, -0.9, 0.02, 0.6):
        found = optimize.minimize_scalar(
            lambda t, b=b: DELTA / 2 * t * t + smoothed(t, i) + b * t, bounds=(-2, 2), method="bounded",
            options={"xatol": 1e-9},
        )  # fmt: skip
        assert smooth.minimiser(np.array([b]))[0] == pytest.approx(found.x, abs=1e-5)
        # Soft thresholding, in the limit.
        exact = -math.copysign(max(abs(b) - 1, 0), b) / DELTA
        assert limit.minimiser(np.array([b]))[0] == pytest.approx(exact, abs=1e-12)


def test_distance_in_variation_by_cells(limit):
    """Both laws on small cells, phi's atom at 0 apart: their overlap is what is not its atom."""
    smooth = example1.smoothed(limit, 25.0)
    variation = Pair(smooth, limit, 0.2, -0.2).variation()
    grid = np.linspace(0, 3, 30_001)
    left, right = (np.diff(stats.norm.cdf(tilt / SIGMA)) for tilt in (-DELTA * grid[::-1] - 1, DELTA * grid + 1))
    f = np.diff(stats.norm.cdf(smooth.slope(np.concatenate([-grid[:0:-1], grid])) / SIGMA))
    assert variation == pytest.approx(1 - np.minimum(f, np.concatenate([left, right])).sum(), abs=1e-4)
    assert variation == pytest.approx(stats.norm.cdf(1 / SIGMA) - stats.norm.cdf(-1 / SIGMA), rel=1e-9)


@pytest.fixture(scope="module")
def rows():
    return fake_rows.example1()


def test_profiles_are_those_of_the_pairs(rows):
    zeta, lam = 0.1, 1.0
    sigma = zeta * math.sqrt(8 * math.log(2e6) + 4)
    laws = [quadrature.law(HUBER, sets, 2 * lam, Gaussian(sigma), l1=1.0) for sets in ((), ((1.0, 0.05),))]
    here = of(rows, row="lemma-10", metric="profile", loss="huber", target=0.05, at=0.25)
    assert of(here, index=math.inf, direction="removing")["value"].item() == pytest.approx(Pair(*laws).delta(0.25))
    smooth = Pair(*(example1.smoothed(one, 100.0) for one in laws))
    assert of(here, index=100.0, direction="adding")["value"].item() == pytest.approx(smooth.reversed().delta(0.25))


def test_the_limit_may_spend_more_than_an_early_phi_i_but_not_than_the_last(rows):
    """The slack is needed at i = 1, and what is left of it falls with i."""
    here = of(rows, row="lemma-10", loss="huber")
    excess, slack = (of(here, metric=metric) for metric in ("excess", "slack"))
    assert excess["value"].max() > 1e-3
    keys = ["target", "direction", "at", "index"]
    joined = excess.set_index(keys)["value"] - slack.set_index(keys)["value"]
    assert (joined <= 1e-12).all() and len(joined) == 4 * 2 * 5 * 3
    late = of(excess, index=10_000.0)["value"].max()
    assert late < of(excess, index=100.0)["value"].max() / 2
    # By hand: P(0 < phi < rho) and its mirror image, at i = 100 under the data set without a record.
    sigma = 0.1 * math.sqrt(8 * math.log(2e6) + 4)
    mass = 2 * (stats.norm.cdf((2 * 0.1 + 1) / sigma) - stats.norm.cdf(1 / sigma))
    assert of(slack, index=100.0, direction="removing")["value"].iloc[0] == pytest.approx(mass, rel=1e-9)


def test_only_rows_that_could_fail_are_informative(rows):
    """As long as the slack is below delta(phi), a phi_i that spends nothing would contradict the lemma."""
    here = of(rows, row="lemma-10")
    keys = ["loss", "target", "direction", "at"]
    whole = of(here, metric="profile", index=math.inf).set_index(keys)["value"]
    slack = of(here, metric="slack")
    spent = whole.loc[pd.MultiIndex.from_frame(slack[keys])].to_numpy()
    np.testing.assert_array_equal(slack["informative"], slack["value"] < spent)
    np.testing.assert_array_equal(of(here, metric="excess")["informative"], slack["informative"])
    assert 0 < slack["informative"].sum() < len(slack) / 2
    assert rows.loc[rows["row"] != "lemma-10", "informative"].all()


def test_claim_12_holds_and_some_sets_move(rows):
    here = of(rows, row="claim-12", metric="excess", loss="huber", index=10_000.0).set_index("set")["value"]
    assert (here <= 1e-12).all() and len(here) == 1 + 6 * 3
    atom = of(rows, metric="atom", loss="huber")["value"].item()
    assert here["{0}"] == pytest.approx(-atom) and here["(0, 0.2)"] == pytest.approx(-atom / 2, abs=1e-9)
    assert here["[0, 0.2]"] == pytest.approx(-atom / 2, abs=1e-9) and here["(-0.2, 0.2)"] == pytest.approx(0, abs=1e-12)


def test_distribution_functions_jump_in_the_limit_alone(rows):
    cdf = of(rows, metric="cdf", loss="huber")
    at_0 = cdf[cdf["at"] == 0].groupby("index")["value"].agg(["min", "max"])
    atom = of(rows, metric="atom", loss="huber")["value"].item()
    assert at_0.loc[math.inf, "max"] - at_0.loc[math.inf, "min"] == pytest.approx(atom)
    assert (at_0["max"] - at_0["min"]).drop(math.inf).abs().max() == 0
    assert at_0.loc[1.0, "max"] == pytest.approx(0.5)


def test_lemma_21_is_exact_from_the_multiplier_on_and_not_before(rows):
    here = of(rows, row="lemma-21")
    assert of(here, metric="excess")["value"].max() < 1e-11 and of(here, metric="below")["value"].min() > 0.01
    # The same problems, by cvxpy.
    names = ("kifer2012-example1", "rademacher", 64, 8)
    X, y, _ = designs.rademacher(64, 8, 2, seeds.generator(1, "data", *names))
    domain = Domain(x_norm=math.sqrt(8), y_bound=8.0, theta_norm=1.0)
    noise, _ = objective.calibrate(
        losses.squared(), domain, Budget(1.0, 1e-6), curvature=16.0, calibration="paper", neighbours="add_remove"
    )
    tilts = noise.sample((20, 8), seeds.generator(1, "noise", *names))
    theta, limit = cp.Variable(8), cp.Variable(8)
    for k in (0, 7):
        risk = [0.5 * cp.sum_squares(y - X @ t) + 8 * cp.sum_squares(t) + tilts[k] @ t for t in (theta, limit)]
        cp.Problem(cp.Minimize(risk[1]), [cp.norm(limit) <= 1]).solve(solver=cp.CLARABEL)
        i_0 = of(here, metric="threshold", repeat=k)["value"].item()
        gradient = X.T @ (X @ limit.value - y) + 16 * limit.value + tilts[k]
        assert i_0 == pytest.approx(np.linalg.norm(gradient), rel=1e-4)
        for times, metric in ((1.5, "excess"), (0.5, "below")):
            row = of(here, metric=metric, repeat=k, at=times)
            penalty = row["index"].item() * cp.pos(cp.norm(theta) - 1)
            cp.Problem(cp.Minimize(risk[0] + penalty)).solve(solver=cp.CLARABEL)
            apart = np.linalg.norm(theta.value - limit.value)
            assert row["value"].item() == pytest.approx(apart, abs=1e-4)
