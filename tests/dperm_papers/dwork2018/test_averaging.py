"""dwork2018-averaging: the lemmas' costs against quadrature and enumeration, the promised n by hand, the rows."""

import itertools
import math

import fake_dwork2018
import numpy as np
import pytest
import together
from scipy import integrate

from dperm.mechanisms.prediction import averaged
from dperm_papers.dwork2018.averaging import experiment as averaging
from dperm_papers.dwork2018.shared import averages, flips


@together.over("b", [0.1, 0.5, 20.0])
def test_the_cost_of_noise_of_the_logistic_loss(b):
    for f, found in zip((-3.0, 0.0, 2.0), averages.logistic_cost(np.array([-3.0, 0.0, 2.0]), b), strict=True):

        def cost(z, f=f):
            return (np.logaddexp(0, -(f + z)) - np.logaddexp(0, -f)) * math.exp(-abs(z) / b) / (2 * b)

        parts = [integrate.quad(cost, *ends, limit=200)[0] for ends in ((-60 * b, 0), (0, 60 * b))]
        assert found == pytest.approx(sum(parts), abs=1e-8) and found < b


def test_the_largest_change_of_an_average():
    x, y, pairs = averages.small_shards(2, 2)
    assert len(x) == 16 and len(pairs) == 16 * 6
    table = y.mean(axis=1)[:, None]
    data_sets = list(itertools.product(range(16), repeat=2))
    largest = max(
        abs((table[a] + table[b] - table[c] - table[d])[0] / 2)
        for (a, b), (c, d) in itertools.product(data_sets, repeat=2)
        if sum((x[i] != x[j]).sum() + ((x[i] == x[j]) & (y[i] != y[j])).sum() for i, j in ((a, c), (b, d))) == 1
    )
    assert averages.largest_change(table, pairs, 2) == pytest.approx(largest) == 0.25
    # A learner that looks at one shard's first record alone moves by 1/r, whatever m.
    assert averages.largest_change(x[:, :1], pairs, 3) == pytest.approx((2 / 3 - 1 / 3) / 3)


def test_promised_by_hand():
    # 2/(0.1 * 1) = 20 shards; m(0.05, beta') = ceil(3200 ln(4/beta')).
    m = math.ceil(3200 * math.log(4 / 0.0025))
    assert averaging.promised(0.1, 0.05, 1.0, "mended") == (20, m, 20 * m)
    m = math.ceil(3200 * math.log(4 / 0.01))
    assert averaging.promised(0.1, 0.05, 1.0, "printed") == (20, m, 20 * m)
    r, m, n = averaging.promised(0.1, 0.05, 1.0, "tight")
    costs = [averaged.expected_clip(0.0, averaged.scale(k, 1.0, bits=True)) for k in (r - 1, r)]
    assert costs[1] <= 0.05 < costs[0] and m == flips.agnostic_size(0.05, 0.05 / r) and n == r * m
    assert averaging.rate(0.1, 0.05, 1.0) == pytest.approx((1 + math.log(200)) * 1000)


def test_a_learner_that_corollary_4_7_admits_and_that_breaks_it():
    """D-c21c by simulation: 20 shards, of which one errs everywhere with probability beta' and all on one set."""
    alpha, beta, r = 0.1, 0.05, 20
    rng = np.random.default_rng(7)
    for variant, allowed in (("printed", False), ("mended", True)):
        shard = averages.failure(alpha, beta, 1.0, variant)
        failing = (rng.random((20_000, r)) < shard).sum(axis=1)
        # Noise of scale 1/r on the votes, clipped to a probability: off the set k of r err, on it all of them.
        noise = rng.laplace(scale=1 / r, size=400_000)
        wrong = [np.clip(k / r + noise, 0, 1).mean() for k in range(r + 1)]
        excess = np.array([(1 - alpha / 2) * wrong[k] + alpha / 2 * wrong[r] for k in failing])
        found = averages.broken(alpha, shard, 1.0, r)
        assert (excess > alpha).mean() == pytest.approx(found, abs=0.01) and (found <= beta) == allowed


def test_rows():
    rows = fake_dwork2018.averaging()
    assert (rows["status"] == "ok").all() and (rows["neighbours"] == "replace").all()
    excess = rows[rows["metric"] == "excess"]
    assert set(excess["form"]) == {
        "scale", "lipschitz", "equality", "smooth", "stability", "fits", "loss", "bits", "noise", "union", "learner"
    }  # fmt: skip
    held = excess[~((excess["variant"] == "printed") & excess["form"].isin(("scale", "smooth", "union", "learner")))]
    assert held["value"].max() < 1e-9
    worst = excess[excess["variant"] == "printed"].groupby("form")["value"].max()
    # gamma = 2 loses gamma^2/epsilon; sigma = 1/2 at b = 20 costs 1/4 b^2 more; beta adds up to 4 beta.
    # One shard of 20 or 10 that fails is too many, so it is 1 - 0.99^20 or 1 - 0.98^10, of which 0.05 are allowed.
    assert worst.to_dict() == pytest.approx(
        {"scale": 3.0, "smooth": 0.25 * 400, "union": 0.15, "learner": 1 - 0.98**10 - 0.05}
    )
    assert abs(excess[excess["form"].isin(("equality", "fits"))]["value"]).max() == 0
    noise = excess[(excess["form"] == "noise") & (excess["calibration"] == "paper") & (excess["alpha"] == 0.1)]
    assert noise["value"].max() == pytest.approx(-0.05, abs=1e-4)
    violated = rows[rows["metric"] == "violated"]
    assert set(violated["gamma"].round(6)) == {0.05, 0.1} and violated["value"].sum() == 0


def test_needed_is_the_least():
    rows = fake_dwork2018.averaging()
    needed = rows[(rows["metric"] == "needed") & (rows["alpha"] == 0.1)]
    for row in needed.itertuples():
        b = averaged.scale(row.r, row.epsilon, row.calibration, bits=True)
        assert flips.mean_excess(row.m, row.r, b) <= 0.1 < flips.mean_excess(row.m - 1, row.r, b)
    best = needed.pivot_table(index=["epsilon", "calibration"], columns="series", values="value")
    assert (best["best shards"] <= best["printed shards"]).all()
