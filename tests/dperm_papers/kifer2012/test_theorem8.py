"""Samp-Agg's experiment: its exact laws against integrals and closed forms, its lassos against records really there."""

import math

import cells
import fake_rows
import numpy as np
import pytest
from chosen_rows import of
from scipy import integrate, stats

from dperm import seeds
from dperm.errors import ConfigError
from dperm.mechanisms.support import noisy_top
from dperm.solvers import lasso
from dperm_papers.kifer2012.shared import designs, votes
from dperm_papers.kifer2012.theorem8 import experiment as theorem8
from dperm_pipeline import experiments

EPSILON = 0.5


def cell(design, **settings):
    given = {
        "repeats": 2, "epsilon": EPSILON, "features": [8], "supports": [2], "sizes": [400], "blocks": [8, 64],
        "wide_features": [6], "hadamard_features": [8], **settings,
    }  # fmt: skip
    return cells.cell("kifer2012-theorem8", given, seed=3, point={"design": design})


def test_the_exact_recovery_is_the_integral_over_the_least_noisy_right_vote():
    rows = of(experiments.run(cell("votes")), row="theorem-8")
    for k in (8, 64):
        noise = stats.laplace(scale=2 * 2 / (k * EPSILON))
        density = lambda t, z=noise: 2 * z.pdf(t) * z.sf(t) * z.cdf(t + 1) ** 4  # noqa: E731
        right = sum(integrate.quad(density, a, b, epsabs=1e-13)[0] for a, b in ((-40, -1), (-1, 0), (0, 40)))
        here = of(rows, k=k)
        assert of(here, metric="recovery")["value"].iloc[0] == pytest.approx(right, rel=1e-8)
        assert of(here, metric="log_failure")["value"].iloc[0] == pytest.approx(math.log(1 - right), rel=1e-6)
        stated = 6 * math.exp(-EPSILON * k / 8)
        assert of(here, metric="recovery_bound")["value"].iloc[0] == pytest.approx(1 - stated, rel=1e-12)
        assert of(here, metric="excess")["value"].iloc[0] == pytest.approx(math.log((1 - right) / stated), rel=1e-6)


def test_theorem_37_of_two_scores_in_closed_form():
    """P(first wins) with d ahead is 1 - (1/2 + d/4) e^{-d}; the lattice's moves change d by up to 2 Dq."""
    scale = 2 / EPSILON

    def log_law(d):
        loses = (0.5 + abs(d) / (4 * scale)) * math.exp(-abs(d) / scale)
        return np.log([1 - loses, loses] if d >= 0 else [loses, 1 - loses])

    worst = max(np.abs(log_law(base) - log_law(base + move)).max() for base in (0, -1, -11, -12) for move in (-2, 0, 2))
    assert theorem8.lattice_spent(2, 1, EPSILON) == pytest.approx(worst, rel=1e-9)


def test_theorem_37_is_worst_at_the_corners_and_broken_by_half_the_noise():
    """Moves inside the cube spend less; with Lap(s Dq/epsilon) in place of Lap(2 s Dq/epsilon) epsilon is passed."""
    rng, worst = np.random.default_rng(0), theorem8.lattice_spent(3, 1, EPSILON)
    law = lambda q: noisy_top.set_log_probabilities(q, size=1, scale=2 / EPSILON)[1]  # noqa: E731
    for base in ([1, 2, 13], [1, 13, 13], [13, 13, 13]):
        for _ in range(20):
            move = rng.uniform(-1, 1, 3)
            assert np.abs(law(np.array(base) + move) - law(np.array(base, dtype=float))).max() <= worst + 1e-12
    assert worst <= EPSILON < theorem8.lattice_spent(3, 1, 2 * EPSILON)


@pytest.mark.parametrize(("p", "size"), [(8, 2), (32, 5)])
def test_rows_of_lemma_41(p, size):
    b = theorem8.needed_rows(p, size)
    enough = (16 * 0.5 / 0.5) ** 4 * size**2 * math.log(p) ** 2
    assert b % p == 0 and b**2 >= enough > (b - p) ** 2


@pytest.mark.parametrize("noise", ["gaussian", "worst"])
def test_hadamard_blocks_are_lassos_of_the_records(noise):
    """The same noise on records that are all there: the solver on b rows, and soft thresholds by hand."""
    p, rows, count = 16, 128, 3
    theta = np.zeros(p)
    theta[-2:] = 0.5, -0.5
    found, well = theorem8.hadamard_blocks(theta, rows, count, noise, np.random.default_rng(5))
    X = np.tile(designs.hadamard_rows(p), (rows // p, 1))
    penalty = 4 * 0.5 * math.sqrt(rows * math.log(p))
    if noise == "gaussian":
        w = 0.25 * np.random.default_rng(5).standard_normal((count, rows))
    else:
        # 2 sigma sqrt(log p/b) against theta* on its support, and on the column before it.
        u = np.zeros(p)
        u[-3:] = np.array([1, -1, 1]) * 2 * 0.5 * math.sqrt(math.log(p) / rows)
        u[:-3] = 0
        w = np.tile(X @ u, (count, 1))
    y = np.clip(X @ theta + w, -2, 2)
    for k in range(count):
        whole = lasso.minimise(X, y[k], l1=penalty, tolerance=1e-12).theta[0]
        np.testing.assert_allclose(found.theta[k], whole, atol=1e-6)
        c = X.T @ y[k] / rows
        soft = np.sign(c) * np.maximum(np.abs(c) - penalty / rows, 0)
        np.testing.assert_allclose(found.theta[k], soft, atol=1e-6)
        limit = 2 * 0.5 * math.sqrt(rows * math.log(p)) * (1 + 1e-9)
        assert well[k] == (np.abs(X.T @ (y[k] - X @ theta)).max() <= limit)
    if noise == "worst":
        # (2 + 4) sigma sqrt(log p/b) on each of the support: 36/64 of the bound.
        distance = np.linalg.norm(found.theta[0] - theta) ** 2
        assert distance == pytest.approx(36 * 0.25 * 2 * math.log(p) / rows, rel=1e-5)


def test_the_lemmas_on_small_blocks():
    rows = of(experiments.run(cell("hadamard")), dataset="hadamard")
    assert (of(rows, metric="well_behaved")["value"] == 1).all()
    assert (of(rows, metric="excess", row="lemma-42")["value"] < 0).all()
    assert (of(rows, metric="blocks_right")["value"] == 1).all()
    least = theorem8.needed_rows(8, 2)
    assert of(rows, metric="blocks_right", variant="gaussian")["k"].tolist() == [least]
    assert set(rows["n"]) == {8, 32, 128, least}


def test_ill_behaved_noise_leaves_the_lemmas_open(monkeypatch):
    """Noise beyond what Definition 2 allows: the premise fails, and no value stands for or against the lemma."""
    monkeypatch.setattr(designs, "NOISE", 3.0)
    rows = experiments.run(cell("hadamard"))
    bad = of(rows, variant="gaussian", metric="well_behaved")
    assert (bad["value"] < 1).any()
    for n in bad.loc[bad["value"] < 1, "n"]:
        here = of(rows, variant="gaussian", metric="excess", n=n)
        assert (here["status"] == "failed").all() and here["value"].isna().all()


def test_a_run_is_the_law_of_noisy_votes():
    rows = experiments.run(cell("rademacher"))
    rng = seeds.generator(3, "kifer2012-theorem8", "rademacher", 8, 2, 400, 1, "data")
    found = votes.rademacher(400, 8, 2, rng)
    drawn = noisy_top.sample(
        found.shares, size=2, scale=2 * 2 / (20 * EPSILON), rng=np.random.default_rng(0), repeats=40_000
    )
    right = (drawn == found.support).all(axis=1).mean()
    here = of(rows, row="run", repeat=1)
    stated = of(here, metric="recovery")["value"].iloc[0]
    assert stated == pytest.approx(right, abs=4 * math.sqrt(right * (1 - right) / 40_000) + 1e-6)
    assert of(here, metric="votes")["value"].iloc[0] == found.shares[found.support].min()
    assert of(rows, row="unanimous", metric="recovery")["value"].iloc[0] >= stated - 1e-9


def test_counts_of_table_2():
    rows = of(experiments.run(cell("rademacher")), row="table-2")
    counts = of(rows, variant="exp-mech", metric="log_work").set_index("p")["value"]
    np.testing.assert_allclose(counts.loc[8], math.log(70))
    np.testing.assert_allclose(counts.loc[40], math.log(math.comb(40, 20)), rtol=1e-12)
    work = of(rows, variant="samp-agg", metric="work").set_index("p")["value"]
    excess = of(rows, variant="samp-agg", metric="excess").set_index("p")["value"]
    np.testing.assert_allclose(excess.loc[64], math.log2(work.loc[64] / work.loc[32]) - 2)
    # At least a sweep for each of 32 blocks.
    assert (work / work.index >= 32).all()


def test_an_unknown_design_is_refused_and_rows_are_tidy(tmp_path):
    with pytest.raises(ConfigError, match="unknown design 'rad'; known: hadamard, rademacher, votes"):
        experiments.run(cell("rad"))
    fake_rows.write(experiments.run(cell("votes")), tmp_path / "rows.parquet")
