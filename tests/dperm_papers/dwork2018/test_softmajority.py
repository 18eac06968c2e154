"""dwork2018-softmajority: laws by brute force, the lower bound by linear programs, and what the rows say."""

import itertools
import math
from fractions import Fraction

import fake_dwork2018
import numpy as np
import pytest
import together
from chosen_rows import measured as of
from scipy import optimize, stats

from dperm.domain import Budget
from dperm.mechanisms.prediction import soft_majority
from dperm_papers.dwork2018.shared import best_bit, realizable
from dperm_papers.dwork2018.softmajority import experiment as softmajority


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.softmajority()


def curve(r, epsilon=0.5):
    return soft_majority.probability(np.arange(r + 1), r, epsilon)


def test_m_of_thr_is_the_least_n():
    for alpha, beta in ((0.1, 0.05), (0.0125, 1e-4)):
        n = realizable.thr_records(alpha, beta)
        assert (1 - alpha) ** n <= beta < (1 - alpha) ** (n - 1)
    with pytest.raises(ValueError, match=r"alpha=0.5 must be"):
        realizable.thr_records(0.5, 0.1)


def test_errors_on_thr_are_those_of_the_learner_run_on_records():
    n, repeats = 4, 20_000
    x = np.random.default_rng(0).random((repeats, n))
    least = np.where(x >= 0.5, x, 1.0).min(axis=1)
    found = realizable.thr_errors(n, 1, repeats, np.random.default_rng(1))[:, 0]
    assert stats.ks_2samp(least - 0.5, found).pvalue > 1e-3
    assert (found == 0.5).mean() == pytest.approx(0.5**n, abs=0.008)
    errors = realizable.thr_errors(n, 5, 10, np.random.default_rng(2))
    assert (np.diff(errors, axis=1) >= 0).all()


def test_the_risk_on_thr_is_an_integral_over_x():
    errors, wrong = realizable.thr_errors(3, 7, 4, np.random.default_rng(0)), curve(7)
    x = (np.arange(200_000) + 0.5) / 200_000
    for one, risk in zip(errors, realizable.thr_risk(errors, wrong), strict=True):
        W = np.where(x < 0.5, 0, (one[:, None] > x - 0.5).sum(axis=0))
        assert risk == pytest.approx(wrong[W].mean(), abs=2e-5)


@pytest.mark.parametrize(("n", "r"), [(1, 3), (3, 6), (40, 11), (150, 8)])
def test_mean_risks_are_means_of_risks(n, r):
    wrong = curve(r)
    t = (np.arange(100_000) + 0.5) / 200_000
    law = stats.binom.pmf(np.arange(r + 1)[:, None], r, (1 - t) ** n)
    assert realizable.thr_mean(n, wrong) == pytest.approx(wrong[0] / 2 + (wrong @ law).mean() / 2, rel=1e-6)
    risks = realizable.pts_risk(6, 0.1, n, wrong[None], 4000, np.random.default_rng(0))[0]
    mean = realizable.pts_mean(6, 0.1, n, wrong)
    assert risks.mean() == pytest.approx(mean, abs=4 * risks.std() / math.sqrt(4000) + 1e-12)


def test_unseen_points_are_counted_exactly():
    d, alpha, n = 4, 0.1, 5
    chances = {0: Fraction(3, 5), **dict.fromkeys((1, 2, 3), Fraction(2, 15))}
    law = [Fraction(0)] * d
    for drawn in itertools.product(range(d), repeat=n):
        law[3 - len(set(drawn) - {0})] += math.prod(chances[point] for point in drawn)
    np.testing.assert_allclose(realizable.pts_unseen(d, alpha, n), [float(p) for p in law], rtol=1e-12)


@pytest.mark.parametrize(("d", "alpha", "beta"), [(10, 0.1, 1e-3), (40, 0.05, 1e-2), (40, 0.25, 1e-5)])
def test_m_of_pts_is_the_least_n(d, alpha, beta):
    n = realizable.pts_records(d, alpha, alpha / 4, beta)
    failure = [realizable.pts_unseen(d, alpha, k)[(d - 1) // 16 + 1 :].sum() for k in (n, n - 1)]
    assert failure[0] <= beta < failure[1]
    # Nothing has to be learned where every light point may be wrong.
    assert realizable.pts_records(d, alpha, 4 * alpha, beta) == 1


def test_votes_on_pts_are_those_of_shards_run_on_records():
    d, alpha, n, r, repeats = 5, 0.2, 6, 4, 4000
    rng, wrong = np.random.default_rng(0), curve(r)
    points = rng.choice(d, size=(repeats, r, n), p=[0.2, 0.2, 0.2, 0.2, 0.2])
    W = np.stack([(points != point).all(axis=2).sum(axis=1) for point in range(1, d)], axis=1)
    risks = 0.2 * wrong[0] + 0.8 * wrong[W].mean(axis=1)
    found = realizable.pts_risk(d, alpha, n, np.stack([wrong, wrong**2]), repeats, np.random.default_rng(1))
    assert stats.ks_2samp(risks, found[0]).pvalue > 1e-3
    assert found[1].mean() == pytest.approx((0.2 * wrong[0] ** 2 + 0.8 * wrong[W] ** 2).mean(), rel=0.1)


def by_program(states, pairs, objective, budget):
    """Least of objective @ p over p in [0, 1]^states that is private between `pairs`, of which either order stands."""
    grow, place = math.exp(budget.epsilon), np.arange(len(pairs))
    lines = np.zeros((len(pairs), states))
    i, j = np.array(pairs).T
    # p_i <= e^eps p_j + delta, and 1 - p_i <= e^eps (1 - p_j) + delta.
    lines[place, i], lines[place, j] = 1, -grow
    bounds = np.repeat([budget.delta, grow - 1 + budget.delta], len(pairs))
    found = optimize.linprog(objective, A_ub=np.vstack([lines, -lines]), b_ub=bounds, bounds=(0, 1), method="highs")
    assert found.status == 0
    return found.fun


@together.over("n, q, epsilon, delta", [(5, 0.4, 0.7, 0.2), (9, 0.3, 0.2, 0.0), (8, 0.9, 1.0, 1 / 3)])
def test_the_least_error_is_that_of_the_program_over_label_counts(n, q, epsilon, delta):
    counts = [(a, c) for a in range(n + 1) for c in range(n + 1 - a)]
    place = {count: i for i, count in enumerate(counts)}
    steps = [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)]
    pairs = [(i, place[a + da, c + dc]) for (a, c), i in place.items() for da, dc in steps if (a + da, c + dc) in place]
    objective = np.zeros(len(counts))
    for t, chance in enumerate(stats.binom.pmf(np.arange(n + 1), n, q)):
        objective[place[t, 0]] -= chance / 2
        objective[place[0, t]] += chance / 2
    budget = Budget(epsilon, delta)
    found = 0.5 + by_program(len(counts), pairs, objective, budget)
    assert best_bit.error(n, q, budget) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_label_counts_suffice(delta):
    """The program over all mechanisms on all data sets of three records on three points, the query the first one."""
    n, d, budget = 3, 3, Budget(0.5, delta)
    records = list(itertools.product(range(d), (0, 1)))
    sets = list(itertools.product(records, repeat=n))
    place = {S: i for i, S in enumerate(sets)}
    pairs = [(place[S], place[(*S[:i], z, *S[i + 1 :])]) for S in sets for i in range(n) for z in records if z != S[i]]
    objective, constant = np.zeros(len(sets)), 0.0
    for b in itertools.product((0, 1), repeat=d):
        for points in itertools.product(range(d), repeat=n):
            chance = 1 / 2**d / d**n
            objective[place[tuple((x, b[x]) for x in points)]] += chance * (1 - 2 * b[0])
            constant += chance * b[0]
    found = constant + by_program(len(sets), pairs, objective, budget)
    assert best_bit.error(n, 1 / d, budget) == pytest.approx(found, abs=1e-9)


def test_the_best_bit_is_private_and_meets_every_bound():
    for epsilon, delta in ((0.3, 0.1), (1.0, 0.0), (0.05, 0.05 / 3)):
        w = best_bit.wrong(np.arange(60), Budget(epsilon, delta))
        g = np.concatenate([w[:0:-1], 1 - w])
        for step in (1, 2):
            for p, other in ((g[step:], g[:-step]), (g[:-step], g[step:])):
                assert (p <= math.exp(epsilon) * other + delta + 1e-12).all()
                assert (1 - p <= math.exp(epsilon) * (1 - other) + delta + 1e-12).all()
        # t replacements turn all labels: no bit that starts at 1 - u can be above it.
        for t in (1, 2, 7):
            u = optimize.brentq(lambda u, t=t, e=epsilon, z=delta: u - _reached(1 - u, t, e, z), 0, 1)
            assert 1 - w[t] == pytest.approx(u, abs=1e-9)


def _reached(p, steps, epsilon, delta):
    for _ in range(steps):
        p = min(math.exp(epsilon) * p + delta, 1 - math.exp(-epsilon) * (1 - p - delta), 1.0)
    return p


def test_least_records_are_the_least():
    for q, budget in ((0.1, Budget(0.5, 0.5 / 3)), (0.02, Budget(0.1))):
        n = best_bit.records(q, budget, 1 / 3)
        assert best_bit.error(n, q, budget) <= 1 / 3 < best_bit.error(n - 1, q, budget)
    assert best_bit.error(0, 0.5, Budget(1.0)) == 0.5
    # d/(8 eps) = 20 at d = 16, eps = 0.1: t at most 2.5.
    assert best_bit.few(16, 0.1) == pytest.approx(sum(math.comb(20, t) * 15 ** (20 - t) for t in range(3)) / 16**20)


def test_rows_repeat_and_points_stand_once(rows):
    keys = [
        "mechanism", "calibration", "metric", "series", "form", "over", "dataset", "epsilon", "delta", "alpha", "gamma",
        "d", "r", "margin", "bound", "repeat",
    ]  # fmt: skip
    assert not rows.duplicated(keys).any() and (rows["status"] == "ok").all()
    fake_dwork2018.softmajority.cache_clear()
    np.testing.assert_array_equal(rows["value"], fake_dwork2018.softmajority()["value"])


def test_what_the_rows_say_of_shards(rows):
    needed = of(rows, "shards", form="soft", alpha=0.1, epsilon=1.0)["value"].item()
    for r, holds in ((needed, True), (needed - 1, False)):
        wrong = 1 / (1 + math.exp((r - 2 * (r // 3)) / 2))
        assert (wrong <= 0.025) is holds
    np.testing.assert_allclose(of(rows, "excess", series="agnostic", form="majority")["value"], -1 / 3)
    printed = of(rows, "excess", series="ratios", calibration="paper", r=50, epsilon=1.0)["value"].item()
    assert printed == pytest.approx(1.0, abs=1e-6)
    assert of(rows, "excess", series="ratios", calibration="tight")["value"].max() < 0


def test_both_rules_are_judged_on_all_draws(rows):
    counts = of(rows, "violated").groupby(["dataset", "alpha", "epsilon", "calibration"])["repeat"].nunique()
    assert len(counts) == 2 * counts.xs("paper", level="calibration").size and counts.nunique() == 1


def test_needed_records_are_the_least_of_all_numbers_of_shards(rows):
    at = {"dataset": "pts", "over": "d", "d": 10, "epsilon": 1.0}
    r = soft_majority.shards_needed(0.05, 1.0)
    each = {}
    for shards in range(1, r + 1):
        wrong = curve(shards, 1.0)
        means = (realizable.pts_mean(10, 0.05, n, wrong) for n in itertools.count())
        least = next(n for n, mean in enumerate(means) if mean <= 0.05 or n > 400)
        each[shards] = shards * least if least <= 400 else math.inf
    assert of(rows, "records", form="printed", **at)["value"].item() == each[r]
    assert of(rows, "records", form="best", **at)["value"].item() == min(each.values())
    promised = of(rows, "records", form="promised", **at)["value"].item()
    assert promised == r * realizable.pts_records(10, 0.05, 0.05 / 4, 0.05 / r)


def test_markov_is_counted_over_x():
    errors = np.sort(np.random.default_rng(0).random((5, 11)) / 2, axis=1)
    found = softmajority.markov(errors)
    x = (np.arange(50_000) + 0.5) / 50_000
    W = (errors[:, None, :] > (x - 0.5)[:, None]).sum(axis=2) * (x >= 0.5)
    largest = errors.max(axis=1)
    assert found["quarter"] == pytest.approx(((W > 11 / 4).mean(axis=1) - 4 * largest).max(), abs=1e-4)
    assert found["third"] == pytest.approx(((W >= 11 / 3).mean(axis=1) - 3 * largest).max(), abs=1e-4)
