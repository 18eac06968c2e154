"""dwork2018-beyond: the mean walk against drawn samples, two points against the mean walk, thresholds one by one."""

import math

import fake_dwork2018
import numpy as np
import pytest
import together

from dperm.mechanisms.prediction import exppw
from dperm_papers.dwork2018.beyond import experiment as beyond
from dperm_papers.dwork2018.beyond import mean_walk
from dperm_papers.dwork2018.shared import alternating, counting


@pytest.mark.parametrize(
    ("n", "k", "flip", "T", "step"),
    [(5, 1, 0.2, 2, 0.5), (60, 1, 0.2, 6, 0.5), (60, 1, 0.0, 6, 0.5), (200, 3, 0.2, 6, 0.5), (1000, 2, 0.2, 12, 0.25)],
)
def test_the_mean_is_that_of_samples(n, k, flip, T, step):
    drawn = alternating.errors(n, k, flip, T, step, 10_000, np.random.default_rng(0)) - flip
    mean, off = mean_walk.mean_excess(mean_walk.chain(T, step, flip, n), n, k)
    assert abs(drawn.mean() - mean) < 5 * drawn.std() / 100 + off
    assert off < 1e-6 and (k > 1 or off == 0)


@pytest.mark.parametrize(("n", "k"), [(30, 3), (40, 5)])
def test_what_the_mean_is_off_by_is_bounded(n, k):
    # So few records that segments remember the one before the last.
    drawn = alternating.errors(n, k, 0.2, 6, 0.5, 20_000, np.random.default_rng(1)) - 0.2
    mean, off = mean_walk.mean_excess(mean_walk.chain(6, 0.5, 0.2, n), n, k)
    gap = abs(drawn.mean() - mean)
    assert 5 * drawn.std() / math.sqrt(20_000) < gap <= off


def test_walks_from_both_ends_meet():
    T, flip, rng = 3, 0.2, np.random.default_rng(2)
    apart = mean_walk.chain(T, 0.5, flip, 40).apart
    steps = np.where(rng.random((20_000, 40)) < flip, -1, 1)
    ends = np.tile([-T, T], (20_000, 1))
    for j in range(40):
        ends = np.clip(ends + steps[:, j : j + 1], -T, T)
        assert (ends[:, 0] != ends[:, 1]).mean() == pytest.approx(apart[j + 1], abs=0.02)


def test_the_least_records():
    alpha, epsilon = 0.1, 1.0
    T = round(exppw.walk_bound(alpha, epsilon))
    for flip, k in ((0.2, 1), (0.0, 1), (0.2, 3)):
        n, mean = mean_walk.least_records(T, 0.5, flip, k, alpha)
        walk = mean_walk.chain(T, 0.5, flip, 2 * n)
        before = [sum(mean_walk.mean_excess(walk, m, k)) for m in (*range(2, n - 10, 7), *range(n - 10, n))]
        assert mean <= alpha < min(before)
    with pytest.raises(ValueError, match="T=1"):
        mean_walk.least_records(1, 0.5, 0.2, 1, 0.01)


@pytest.mark.parametrize("log_domain", [1, 20, 60])
def test_two_points_are_two_segments(log_domain):
    # Lifted ties are as good as a line: equal points err as k = 1 without flips does.
    T = round(exppw.walk_bound(0.1, 1.0))
    for n in (1, 17, 60):
        mean, _ = mean_walk.mean_excess(mean_walk.chain(T, 0.5, 0.0, n), n, 1)
        assert beyond.walk_error(n, log_domain, 0.1, 1.0) == pytest.approx(mean, abs=1e-12)


@together.over("n, log_domain", [(1, 3), (6, 1), (12, 6)])
def test_the_exponential_mechanism_over_all_thresholds(n, log_domain):
    epsilon, N, found = 0.7, 2**log_domain, 0.0
    c = N // 2
    for on_c in range(n + 1):
        # a = 1..N + 1: 1[x >= a] is wrong at c if a <= c, and at c + 1 if a > c + 1.
        thresholds = np.arange(1, N + 2)
        weights = np.exp(-epsilon / 2 * np.where(thresholds <= c, on_c, np.where(thresholds > c + 1, n - on_c, 0)))
        wrong = 0.5 * (thresholds != c + 1)
        found += math.comb(n, on_c) / 2**n * (weights @ wrong) / weights.sum()
    assert beyond.exponential_error(n, log_domain, epsilon) == pytest.approx(found, rel=1e-12)


def test_the_exponential_mechanism_needs_log_n():
    needed = [counting.least(lambda n, N=N: beyond.exponential_error(n, N, 1.0) <= 0.1) for N in (20, 40, 60)]
    # N e^{-n/4} of order 1: n grows by 4 ln 2 a bit, and somewhat more for the spread of the counts.
    assert all(4 * math.log(2) <= step / 20 <= 1.2 * 4 * math.log(2) for step in np.diff(needed))
    for N, n in zip((20, 40, 60), needed, strict=True):
        assert min(beyond.exponential_error(m, N, 1.0) for m in range(1, n)) > 0.1


def test_crossings():
    points = [(0.1, 10, 20), (0.2, 10, 5), (0.4, 3, 3)]
    assert beyond.crossings(points) == pytest.approx([0.1 * 2**0.5, 0.4])
    assert beyond.crossings(points[:1]) == []


def test_rows():
    rows = fake_dwork2018.beyond()
    assert (rows["status"] == "ok").all() and set(rows["form"]) == {"alpha", "domain", "ends"}
    needed = rows[(rows["metric"] == "needed") & (rows["form"] == "domain")]
    walks = needed[needed["mechanism"] == "exppw"]["value"]
    assert walks.nunique() == 1 and walks.iloc[0] == beyond.walk_records(0.1, 1.0, 0.0)
    assert rows[rows["metric"] == "spread"]["value"].tolist() == [0.0]
    averages = rows[(rows["mechanism"] == "averaged") & (rows["metric"] == "needed")]
    assert (averages["n"] == averages["r"] * averages["m"]).all() and (averages["value"] == averages["n"]).all()
    promised = rows[(rows["form"] == "alpha") & (rows["metric"] == "promised") & (rows["mechanism"] == "exppw")]
    # 6 T/alpha with alpha/2 for alpha and for epsilon: T = ceil(40 ln 40) at alpha = 0.1.
    own = promised[(promised["alpha"] == 0.1) & (promised["variant"] == "mended") & (promised["epsilon"] == 1.0)]
    assert own["value"].tolist() == [math.ceil(6 * math.ceil(40 * math.log(40)) / 0.05)]
