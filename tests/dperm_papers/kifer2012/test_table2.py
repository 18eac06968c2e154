"""Table 2's experiment: exact probabilities against brute force and closed forms, risks against the records."""

import math
from itertools import combinations

import cells
import numpy as np
import pytest
from scipy.optimize import lsq_linear
from sklearn.linear_model import Lasso

from dperm import seeds
from dperm.domain import Budget
from dperm.mechanisms import sparse
from dperm.mechanisms.support import noisy_top, samp_agg
from dperm_papers.kifer2012.shared import case_study, designs, votes
from dperm_papers.kifer2012.table2 import experiment as table2
from dperm_pipeline import experiments

EPSILON, DELTA = 1.0, 1e-6
SPENDING = case_study.Spending(EPSILON, DELTA, "paper", "add_remove")


def cell(part, problems=None, **settings):
    settings = {"repeats": 2, "draws": 3, "epsilon": EPSILON, "delta": DELTA, "problems": problems or {}} | settings
    return cells.cell("kifer2012-table2", settings, seed=5, part=part)


def scores_by_records(X, y, size):
    """q(Z) of Algorithm 4, one bounded least-squares problem after the other."""
    return {
        Z: lsq_linear(X[:, list(Z)], y, bounds=(-1, 1), tol=1e-14).cost for Z in combinations(range(X.shape[1]), size)
    }


def test_one_of_two_items_wins_by_the_closed_form():
    """z - z' of two standard Laplace variables exceeds -d with probability 1 - exp(-d) (1/2 + d/4)."""
    for gap in (0.0, 0.3, 2.0, 20.0):
        scale = 0.4
        found = votes.set_probability(np.array([0.1 + gap * scale, 0.1]), np.array([0]), scale)
        assert found == pytest.approx(1 - math.exp(-gap) * (0.5 + gap / 4), abs=1e-12)


def test_probabilities_of_all_sets_are_those_of_enumeration():
    shares = np.array([0.0, 0.0, 0.7, 0.1, 0.1, 1.0, 0.4])
    sets, logs = noisy_top.set_log_probabilities(shares, size=3, scale=0.17)
    found = [votes.set_probability(shares, Z, 0.17) for Z in sets]
    np.testing.assert_allclose(found, np.exp(logs), rtol=1e-9, atol=1e-14)
    assert sum(found) == pytest.approx(1, abs=1e-12)


def test_votes_are_those_of_lassos_on_each_block():
    n, p, size = 200, 12, 2
    found = votes.rademacher(n, p, size, np.random.default_rng(8))
    rng = np.random.default_rng(8)
    swaps = [(j, int(rng.integers(j, p))) for j in range(size)]
    X, y, theta = designs.rademacher(n, p, size, rng)
    for j, k in swaps:
        X[:, [j, k]], theta[[j, k]] = X[:, [k, j]], theta[[k, j]]
    # k = floor(sqrt(n)) = 14 blocks of 14 or 15; Lambda = 4 sigma n^{1/4} sqrt(log p), sigma = 1/2.
    counts, weight = np.zeros(p), 2 * n**0.25 * math.sqrt(math.log(p))
    for b in range(14):
        rows = np.arange(n) * 14 // n == b
        fit = Lasso(alpha=weight / rows.sum(), fit_intercept=False, tol=1e-10, max_iter=10**6)
        size_of = np.abs(fit.fit(X[rows], y[rows]).coef_)
        counts[np.argsort(-size_of, kind="stable")[:size]] += 1
    np.testing.assert_allclose(found.shares, counts / 14)
    np.testing.assert_array_equal(found.support, np.flatnonzero(theta))
    assert found.converged and found.sweeps >= 14


def test_blocks_that_are_made_a_few_at_a_time_are_whole(monkeypatch):
    made = []
    monkeypatch.setattr(votes.designs, "rademacher", lambda n, *rest: made.append(n) or real(n, *rest))
    found = votes.rademacher(500, 10, 2, np.random.default_rng(1), entries=700)
    # 22 blocks of at most 23 rows, three at a time: no block is cut.
    sizes = np.bincount(np.arange(500) * 22 // 500)
    assert made == [sum(sizes[k : k + 3]) for k in range(0, 22, 3)]
    assert found.shares.sum() == pytest.approx(2) and found.shares[found.support].min() > 0.5


real = designs.rademacher


def test_true_columns_stand_anywhere():
    places = {tuple(votes.rademacher(30, 6, 2, np.random.default_rng(seed)).support) for seed in range(200)}
    assert places == set(combinations(range(6), 2))


def test_the_law_of_the_right_support_is_algorithm_4s():
    p, size, n = 7, 2, 60
    problems = {"exp-mech": {"p": [p], "s": [size], "n": [n]}, "samp-agg": {"p": [p], "s": [size], "n": [40]}}
    rows = experiments.run(cell("recovery", problems))
    for repeat in range(2):
        rng = seeds.generator(5, "kifer2012-table2", "data", p, size, n, repeat)
        X, y, _ = designs.rademacher(n, p, size, rng)
        # exp(-(epsilon/2) q/(2 alpha)) with alpha = 4 s^2.
        scores = scores_by_records(X, y, size)
        weights = {Z: math.exp(-(EPSILON / 2) * q / (2 * 4 * size**2)) for Z, q in scores.items()}
        found = rows[(rows["support"] == "exp_mech") & (rows["repeat"] == repeat) & (rows["metric"] == "right")]
        assert found["value"].item() == pytest.approx(weights[0, 1] / sum(weights.values()), rel=1e-8)
    assert set(rows.loc[(rows["support"] == "exp_mech") & (rows["metric"] == "work"), "value"]) == {math.comb(p, size)}
    right, wrong = (rows.loc[rows["metric"] == name, "value"].to_numpy() for name in ("right", "wrong"))
    np.testing.assert_allclose(right + wrong, 1)


def test_larger_n_are_left_out_once_the_support_is_sure():
    problems = {name: {"p": [6], "s": [1], "n": [4000, 50, 2000, 3000]} for name in ("exp-mech", "samp-agg")}
    rows = experiments.run(cell("recovery", problems))
    means = rows[rows["metric"] == "right"].groupby(["support", "n"])["value"].mean()
    for support in ("exp_mech", "samp_agg"):
        assert means[support].index.tolist() == [50, 2000]
        assert means[support][50] < table2.SURE <= means[support][2000]


def test_risks_are_those_of_the_records():
    """The same streams, but every risk summed record by record and every minimum found subset by subset."""
    p, size, ratio = 6, 2, 20
    problems = {
        "exp-mech-risk": {"p": [p], "s": [size], "ratio": [ratio]},
        "samp-agg-risk": {"p": [p], "s": [size], "ratio": [ratio]},
        "lasso-risk": {"p": [p], "s": [size], "ratio": [ratio]},
    }
    rows = experiments.run(cell("consistency", problems, draws=4))
    laws = {"exp_mech": size**3 * math.log(p), "samp_agg": size**2 * math.log(p) ** 2}
    arms = [("exp_mech", 1.0, "part"), *(("samp_agg", m, d) for m in (1.0, 0.5) for d in ("row", "part"))]
    for support, magnitude, divisor in arms:
        n, name = round(ratio * laws[support]), support.replace("_", "-") + "-risk"
        here = rows[(rows["support"] == support) & (rows["magnitude"] == magnitude) & (rows["divisor"] == divisor)]
        assert len(here) == 2 and set(here["n"]) == {n} and set(here["ratio"]) == {ratio}
        for repeat in range(2):
            rng = seeds.generator(5, "kifer2012-table2", "data", name, p, size, n, repeat)
            X = 2.0 * rng.integers(0, 2, size=(n, p), dtype=np.int8) - 1
            y = np.clip(magnitude * (X[:, 0] - X[:, 1]) + 0.25 * rng.standard_normal(n), -size, size)
            X = X[:, rng.permutation(p)]
            noise = seeds.generator(
                5, "kifer2012-table2", "noise", "paper", "add_remove", "consistency", name, p, size, n, repeat
            )
            # Rows of signs are sqrt(p) long, their parts sqrt(s) = r: the vote sees X, the second stage X sqrt(s/p).
            shrunk = X * math.sqrt(size / p) if divisor == "row" else X
            common = {"size": size, "neighbours": "add_remove", "calibration": "paper", "rng": noise, "repeats": 4}
            if support == "samp_agg":
                penalty = 2 * n**0.25 * math.sqrt(math.log(p))
                chosen = samp_agg.select(X, y, budget=SPENDING.support, penalty=penalty, **common).supports
                moments = case_study.Moments.of(shrunk, y)
                theta, _ = case_study.second_stage(moments, chosen, SPENDING, noise)
            else:
                released = sparse.release(
                    X, y, support=support, domain=sparse.case_study(size), budget=Budget(EPSILON, DELTA), **common
                )
                chosen = released.supports
                theta = np.take_along_axis(released.theta, chosen, axis=1)
            risks = np.array([np.mean(0.5 * (y - X[:, Z] @ t) ** 2) for Z, t in zip(chosen, theta, strict=True)])
            scores = scores_by_records(X, y, size)
            least = min(scores.values()) / n
            if support == "samp_agg":
                expected = risks.mean() - least
            else:
                weights = {Z: math.exp(-EPSILON * q / (16 * size**2)) for Z, q in scores.items()}
                first = sum(w * (scores[Z] / n - least) for Z, w in weights.items()) / sum(weights.values())
                drawn = [scores[tuple(Z)] / n for Z in chosen]
                expected = first + np.mean(risks - drawn)
            assert here.loc[here["repeat"] == repeat, "value"].item() == pytest.approx(expected, rel=1e-6)


def test_the_lasso_is_the_penalised_one_and_has_no_privacy():
    p, size, ratio = 20, 2, 30
    n = round(ratio * size * math.log(p))
    one = {"p": [p], "s": [size], "ratio": [ratio]}
    problems = {"exp-mech-risk": one, "samp-agg-risk": one, "lasso-risk": one}
    rows = experiments.run(cell("consistency", problems, repeats=1))
    lasso = rows[rows["support"] == "lasso"]
    rng = seeds.generator(5, "kifer2012-table2", "data", "lasso-risk", p, size, n, 0)
    X, y, theta = designs.rademacher(n, p, size, rng, clip=False)
    assert np.abs(y).max() > size
    weight = 4 * 0.5 * math.sqrt(n * math.log(p))
    fit = Lasso(alpha=weight / n, fit_intercept=False, tol=1e-12, max_iter=10**6).fit(X, y)
    assert lasso["value"].item() == pytest.approx(0.5 * np.sum((fit.coef_ - theta) ** 2), rel=2e-3)
    assert lasso["mechanism"].item() == "nonprivate" and lasso["guarantee"].item() == "none"


def test_as_printed_the_risk_stops_where_f_cuts_theta_off():
    """Erratum K14 at |theta*_j| = 1/2: theta* sqrt(p/s) = 1.22 is cut to 1, off by 1/2 in s = 2 features: 1/4."""
    one = {"p": [12], "s": [2], "ratio": [2000]}
    problems = {"exp-mech-risk": one | {"ratio": [1]}, "samp-agg-risk": one, "lasso-risk": one | {"ratio": [1]}}
    rows = experiments.run(cell("consistency", problems))
    rows = rows[rows["support"] == "samp_agg"].groupby(["magnitude", "divisor"])["value"].mean()
    assert rows[0.5, "row"] == pytest.approx(0.25, rel=0.02)
    assert max(rows[0.5, "part"], rows[1.0, "part"], rows[1.0, "row"]) < 0.01


def test_near_copies_differ_in_about_one_record_of_a_block():
    n = 4096
    X, y, noise = table2.near_copies(n, np.random.default_rng(2))
    assert noise == 0.25 and np.abs(y).max() <= 2
    agreement = np.abs(X.T @ X) / n - np.eye(30)
    # Two families of a true column and ten copies; the eight other columns agree with nothing.
    family = (agreement > 0.9).sum(axis=1)
    assert sorted(family) == [0] * 8 + [10] * 20 + [10] * 2
    for true in np.argsort(-np.abs(X.T @ y))[:2]:
        copies = np.flatnonzero(agreement[true] > 0.9)
        assert len(copies) == 10
        differing = [np.mean(X[:, true] != X[:, copy]) for copy in copies]
        assert np.mean(differing) == pytest.approx(1 / math.sqrt(n), rel=0.15)


def test_the_small_signal_meets_lemma_41_with_equality():
    n, p, size, phi = 16384, 30, 2, 0.1
    X, y, noise = table2.small_signal(n, np.random.default_rng(3))
    fit = np.linalg.lstsq(X, y, rcond=None)[0]
    assert sorted(np.round(np.abs(fit), 2))[-3:] == [0.0, phi, phi]
    assert np.std(y - X @ fit) == pytest.approx(noise, rel=0.02)
    assert (16 * 2 * noise / phi) ** 4 * size**2 * math.log(p) ** 2 == pytest.approx(n, rel=1e-9)


def test_both_arms_of_clipping_share_data_and_noise(monkeypatch):
    """Without noise nothing is clipped, so that the arms agree to the bit; with much they do not."""
    monkeypatch.setattr(table2, "CLIPPING_NOISES", (0.0, 4.0))
    rows = experiments.run(cell("comparison"))
    arms = rows[rows["row"] == "clipping"].pivot(index=["noise", "repeat"], columns="clipping", values="value")
    np.testing.assert_array_equal(arms.loc[0.0, "clipped"], arms.loc[0.0, "raw"])
    # A clipped y of sd 4 shrinks theta, and the raw y sees it.
    assert (arms.loc[4.0, "clipped"] > arms.loc[4.0, "raw"] + 0.3).all()
    assert set(rows.loc[rows["clipping"] == "raw", "guarantee"]) == {"none"}
    # On the clipped y, which Theorem 43 speaks of, it is the other way round.
    arms = rows[rows["row"] == "clipping-truncated"].pivot(
        index=["noise", "repeat"], columns="clipping", values="value"
    )
    np.testing.assert_array_equal(arms.loc[0.0, "clipped"], arms.loc[0.0, "raw"])
    assert (arms.loc[4.0, "clipped"] < arms.loc[4.0, "raw"]).all()
