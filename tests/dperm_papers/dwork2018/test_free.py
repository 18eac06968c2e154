"""dwork2018-free: the chain of `hard` against passes over records, noise against quadrature, `sq` against moments."""

import itertools
import math

import fake_dwork2018
import numpy as np
import pytest
import together
from chosen_rows import of
from scipy import integrate

from dperm import losses
from dperm.mechanisms.prediction import stable_sgd
from dperm_papers.dwork2018.free import experiment as free
from dperm_papers.dwork2018.shared import bounds, projected


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.free()


def passes(n, share, mean, repeats, rng):
    """v of `hard` at e1, by the records themselves."""
    eta = projected.step("hard", n, share)
    w, total = np.zeros(repeats), np.zeros(repeats)
    for _ in range(n):
        total += w
        sign = np.where(rng.random(repeats) < (1 + mean) / 2, 1, -1)
        w = np.clip(w + eta * sign * (rng.random(repeats) < 0.5), -1, 1)
    return total / n


@pytest.mark.parametrize(("n", "share", "mean"), [(37, 0.5, 0.6), (50, 1.0, -0.3), (50, 1.0, 1.0), (1, 1.0, 0.5)])
def test_the_chain_has_the_law_of_the_pass(n, share, mean):
    v = passes(n, share, mean, 40_000, np.random.default_rng(n))
    chain = projected.walk(projected.step("hard", n, share))
    spread = 4.5 / math.sqrt(len(v))
    assert projected.mean_iterate(chain, mean, n) == pytest.approx(v.mean(), abs=spread * v.std() + 1e-12)
    tilted = np.exp(3 * (v - 1))
    found = projected.exponential_moment(chain, mean, n, 3.0)
    assert found == pytest.approx(tilted.mean(), abs=spread * tilted.std() + 1e-12)


@together.over("step", [0.3, 0.25, 1.0, 3.0])
def test_a_chain_of_few_states_by_matrix_powers(step):
    """The walls as a matrix: from each place up, down or stay, to the place nearest to where clipping leads."""
    chain, mean, n = projected.walk(step), 0.4, 9
    m = len(chain.places)
    P = np.zeros((m, m))
    for k, place in enumerate(chain.places):
        lattice = slice(0, chain.above) if k < chain.above else slice(chain.above, chain.below)
        lattice = lattice if k < chain.below else slice(chain.below, m)
        for move, chance in ((0, 0.5), (1, (1 + mean) / 4), (-1, (1 - mean) / 4)):
            goal = place + move * step
            if goal > 1 + 1e-9:
                to = chain.below - 1
            elif goal < -1 - 1e-9:
                to = chain.below
            else:
                to = lattice.start + int(np.argmin(np.abs(chain.places[lattice] - goal)))
            assert abs(chain.places[to] - np.clip(goal, -1, 1)) < 1e-9
            P[k, to] += chance
    law, total = np.zeros(m), 0.0
    law[chain.above // 2] = 1
    for _ in range(n):
        total += law @ chain.places
        law = law @ P
    assert projected.mean_iterate(chain, mean, n) == pytest.approx(total / n, abs=1e-13)


def test_the_worst_c_is_no_better_than_others():
    n, share = 400, 0.5
    chain = projected.walk(projected.step("hard", n, share))
    excess, c = projected.hard_statistical(n, share)
    others = [c / (2 * 20) * (1 - projected.mean_iterate(chain, c / 20, n)) for c in np.linspace(0.1, 20, 120)]
    assert 0 < c < 20 and max(others) <= excess * (1 + 1e-6) and excess == pytest.approx(max(others), rel=1e-3)
    assert excess <= bounds.halved412(math.sqrt(2), 1, 1, n)


@pytest.mark.parametrize("scale", [0.01, 0.3, 2.0])
def test_the_noise_of_hard_by_quadrature(scale):
    n, share, c = 30, 0.5, 3.0
    mean = c / math.sqrt(n)
    v = passes(n, share, mean, 3000, np.random.default_rng(5))
    huber = losses.huber(0.5)

    def cost(residual):
        def integrand(z):
            return (
                (2 * float(huber.value(np.array(residual + z), 0.0)) - level) * math.exp(-abs(z) / scale) / (2 * scale)
            )

        level = 2 * float(huber.value(np.array(residual), 0.0))
        cuts = sorted({0.0, 0.5 - residual, -0.5 - residual})
        reach = 40 * scale + abs(residual) + 1
        ends = [-reach, *cuts, reach]
        return sum(integrate.quad(integrand, a, b, limit=200)[0] for a, b in itertools.pairwise(ends))

    # Beyond the knee the cost is exponential in the residual, so two quadratures are enough for all v.
    at_one, at_knee = cost(1.0), cost(0.0)
    beyond = (1 + mean) / 2 * np.exp(-(1 - v) / scale) + (1 - mean) / 2 * np.exp(-(1 + v) / scale)
    drawn = (at_knee + at_one * beyond) / 2
    found = projected.hard_noise(n, share, c, scale)
    assert found == pytest.approx(drawn.mean(), abs=4.5 * drawn.std() / math.sqrt(len(v)) + 1e-7 * found)
    assert cost(1.7) == pytest.approx(at_one * math.exp(-0.7 / scale), rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_sq_has_the_moments_of_the_pass(share):
    n, mean = 20, 0.5
    y = np.where(np.random.default_rng(3).random((20_000, n)) < (1 + mean) / 2, 1.0, -1.0)
    eta = projected.step("sq", n, share)
    v = stable_sgd.descend(np.ones((n, 1)), y, losses.squared(), eta=eta, radius=1.0)[:, 0]
    excess = (v - mean) ** 2 / 2
    found, worst = projected.squared_statistical(n, share, np.array([mean]))
    assert worst == mean and found == pytest.approx(excess.mean(), abs=4.5 * excess.std() / math.sqrt(len(v)))
    assert projected.squared_statistical(n, share, np.linspace(-1, 1, 21))[0] >= found


def test_at_the_crossing_both_parts_are_equal(rows):
    here = of(rows, series="crossing", dataset="hard", n=100, calibration="paper", variant="halved")
    (epsilon,), (statistical,) = (of(here, metric=metric)["value"] for metric in ("crossing", "statistical"))
    excess, c = projected.hard_statistical(100, 0.5)
    assert statistical == excess
    assert projected.hard_noise(100, 0.5, c, math.sqrt(2) / 10 / epsilon) == pytest.approx(excess, rel=1e-9)
    ratios = of(rows, series="ratio", metric="ratio", dataset="hard", n=100)
    assert (np.diff(ratios.sort_values("scaled")["value"]) < 0).all()


def test_ways_differ_by_their_rate_alone(rows):
    here = of(rows, series="crossing", metric="crossing", n=30).set_index(["dataset", "calibration", "variant"])[
        "value"
    ]
    for law in ("hard", "sq"):
        assert here[law, "corrected", ""] == pytest.approx(2 * here[law, "paper", ""])
        assert here[law, "tight", ""] == pytest.approx(2 * here[law, "paper", ""] * 29 / 30)
    told = of(rows, series="crossing").groupby(["calibration", "variant"])["guarantee"].unique()
    assert list(told["paper", ""]) == ["none"] and list(told["paper", "halved"]) == ["proved"]


def test_the_algebra(rows):
    here = of(rows, series="algebra", metric="excess")
    assert len(here) == 2 * 2 * 83 and here["value"].max() < 1e-9
    own = of(rows, series="algebra", metric="crossing", dataset="hard", n=100, calibration="corrected")["value"]
    assert own.tolist() == pytest.approx([2 * 100**-0.25 * math.sqrt(math.sqrt(2))])


def test_the_crossing_is_found_from_any_start():
    for start in (1e-6, 0.1, 1e5):
        assert free.crossing(lambda scale: scale**2, 0.01, start) == pytest.approx(0.1, rel=1e-10)
