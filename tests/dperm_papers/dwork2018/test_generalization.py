"""Section 6's experiment: chains against their mechanisms, moments against brute force, the lemmas' bounds."""

import functools
import itertools
import math

import cells
import numpy as np
import pandas as pd
import pytest
import together
from scipy import integrate, optimize, stats
from scipy.special import expit

from dperm.laws.finite import closeness
from dperm.mechanisms.prediction import exppw
from dperm_papers.dwork2018.generalization import experiment as generalization
from dperm_papers.dwork2018.shared import evaluation
from dperm_pipeline import experiments

SETTINGS = {
    "repeats": 4, "side_repeats": 5, "batch": 2, "epsilons": [0.1, 1.0, 3.0], "deltas": [0.0, 0.01],
    "alphas": [0.1, 0.5], "shards": [2, 5], "changes": 3, "instances": 6, "moments": [1, 2, 3],
    "enumerated_sizes": [1, 3], "gammas": [0.05, 0.5, 0.99], "tail_gammas": [0.1],
    "tail_epsilons": [1.0], "sizes": [40],
}  # fmt: skip


def cell(**settings):
    return cells.cell("dwork2018-generalization", SETTINGS | settings, seed=5)


@functools.cache
def rows():
    return experiments.run(cell())


# -- groups and membership -------------------------------------------------------------------------------------------


def test_the_worst_of_all_pairs_of_states_by_brute_force():
    for chain in evaluation.chains(0.7, [4], [0.5]):
        p, m = chain.ones, len(chain.ones)
        np.testing.assert_allclose(chain.ones + chain.zeros, 1, atol=1e-15)
        for changes in (1, 2, 3):
            pairs = [(i, j) for i in range(m) for j in range(m) if abs(i - j) <= changes * chain.step]
            worst = max(max(math.log(p[i] / p[j]), math.log((1 - p[i]) / (1 - p[j]))) for i, j in pairs)
            assert evaluation.log_ratio(chain, changes) == pytest.approx(worst, rel=1e-12)
        near = [(i, j) for i in range(m) for j in range(m) if abs(i - j) <= chain.step]
        assert evaluation.advantage(chain) == pytest.approx(max(p[i] - p[j] for i, j in near))


def test_chains_are_what_changed_records_reach():
    """ExpPW's V over all pairs of small data sets that differ in one label moves no further than the chain says."""
    chains = [chain for chain in evaluation.chains(1.5, [4], [0.5]) if chain.mechanism == "exppw"]
    bound = exppw.walk_bound(0.5, 1.5)
    ends = exppw.walks(np.array(list(itertools.product((0, 1), repeat=6))), bound)[:, -1].reshape((2,) * 6)
    moved = max(np.abs(np.diff(ends, axis=axis)).max() for axis in range(6))
    assert moved == chains[0].step == 2 and len(chains[0].ones) == 2 * bound + 1


def test_extreme_chains_are_as_far_as_epsilon_and_delta_allow():
    epsilon, delta = 0.5, 0.02
    p = evaluation.extreme_chain(0.1, epsilon, delta, 30)
    assert (np.diff(p) >= 0).all() and p[-1] == pytest.approx(1)
    for a, b in itertools.pairwise(p):
        spent = closeness(np.array([b, 1 - b]), np.array([a, 1 - a]), epsilon)
        assert spent <= delta + 1e-12 and (spent == pytest.approx(delta) or b == 1)


def test_lemma_3_1_at_its_edge():
    found = rows()[(rows()["series"] == "groups") & (rows()["metric"] == "excess")]
    assert found["value"].max() < 1e-12 and set(found["k"]) == {1, 2, 3}
    assert found[(found["mechanism"] == "extreme") & (found["k"] == 1)]["value"].max() == pytest.approx(0, abs=1e-12)
    # The printed price of soft majority (erratum D1) would not stand.
    wrong = evaluation.Chain("soft_majority", "paper", "replace", "", expit([-4.0, 0, 4.0]), expit([4.0, 0, -4.0]), 1)
    assert evaluation.log_ratio(wrong, 1) > 2


def test_no_bit_beats_tanh_and_the_majority_without_noise_does():
    found = rows()[(rows()["series"] == "membership") & (rows()["metric"] == "excess")]
    private = found[found["mechanism"] != "nonprivate"]
    assert private["value"].max() < 0 < found[found["mechanism"] == "nonprivate"]["value"].min()
    assert set(private["mechanism"]) == {"soft_majority", "averaged", "exppw", "member", "laplace"}
    told = rows()[(rows()["mechanism"] == "laplace") & (rows()["metric"] == "advantage") & (rows()["epsilon"] == 1.0)]
    half = integrate.quad(lambda z: stats.laplace.pdf(z) - stats.laplace.pdf(z - 1), -40, 0.5)[0]
    assert told["value"].item() == pytest.approx(half)


# -- losses and means ------------------------------------------------------------------------------------------------


def test_the_least_delta_of_two_finite_laws_by_all_events():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5), size=2)
    events = [np.array(event, dtype=bool) for event in itertools.product((0, 1), repeat=5)]
    both = [max(p[e].sum() - 2 * q[e].sum(), q[e].sum() - 2 * p[e].sum()) for e in events]
    assert closeness(p, q, math.log(2)) == pytest.approx(max(both))


@together.over("epsilon, delta, bound", [(0.3, 0.0, 1.0), (1.0, 0.05, 1.0), (0.5, 0.2, 3.0)])
def test_lemma_6_3_is_attained_and_no_random_laws_pass_it(epsilon, delta, bound):
    assert evaluation.largest_gap(epsilon, delta, bound) == pytest.approx(delta * bound, abs=1e-9)
    rng, grid = np.random.default_rng(1), np.linspace(0, bound, 4)
    for _ in range(200):
        u, v = rng.dirichlet(np.full(4, 0.3), size=2)
        allowed = np.maximum(u - math.exp(epsilon) * v, 0).sum() * bound
        assert u @ grid - math.exp(epsilon) * (v @ grid) <= allowed + 1e-12


def test_losses_never_cost_more():
    found = rows()[rows()["series"] == "losses"]
    assert len(found) == 6 * 3 and found["value"].max() < 1e-12 and found["value"].min() < -1e-3


# -- stability and the whole model (Section 2.3) -----------------------------------------------------------------------


@together.over("epsilon", [0.2, 1.0, 3.0])
def test_the_stability_of_private_predictions_is_attained_and_no_random_laws_pass_it(epsilon):
    assert evaluation.widest(epsilon) == pytest.approx(math.tanh(epsilon / 2), abs=1e-9)
    rng, grid = np.random.default_rng(4), np.linspace(0, 1, 4)
    for _ in range(200):
        v = rng.dirichlet(np.ones(4))
        # Weights between 1 and e^eps, made a law: the ratio stays within e^eps both ways.
        u = v * np.exp(epsilon * rng.random(4))
        u /= u.sum()
        assert abs(u @ grid - v @ grid) <= math.tanh(epsilon / 2) + 1e-12


def test_many_answers_of_member_tell_what_no_private_model_may():
    a, many = evaluation.member(0.3), 5
    sure = np.array(list(itertools.product((0, 1), repeat=many)))
    inside, outside = (np.prod(np.where(sure == 1, p, 1 - p), axis=1) for p in (a, a * math.exp(0.3)))
    assert evaluation.told(0.3, many) == pytest.approx(np.abs(inside - outside).sum() / 2)
    found = rows()[rows()["series"] == "whole"]
    assert len(found) == 3 and (found["value"] < 0).all() and evaluation.told(0.3, 1) < math.tanh(0.15)


# -- moments ---------------------------------------------------------------------------------------------------------


def test_moments_on_a_simplex():
    rng, f = np.random.default_rng(2), np.array([0.2, 0.9, 0.4])
    drawn = rng.dirichlet(np.ones(3), size=200_000) @ f
    found = generalization.simplex([np.array((f**j).sum()) for j in (1, 2, 3)], 3)
    for k, value in enumerate(found, 1):
        assert value == pytest.approx(np.mean(drawn**k), rel=3e-3)


@pytest.mark.parametrize("law", generalization.LAWS)
def test_moments_are_those_of_samples_that_are_drawn(law):
    """S, S' and all keys drawn, the walk stepped literally: no gap, no length, no closed form."""
    n, epsilon, bound, repeats = 3, 2.0, 2.0, 40_000
    rng, chances = np.random.default_rng(3), generalization.LAWS[law]
    x, fresh = rng.random((2, repeats, n))
    y, fresh_y = (rng.random((repeats, n)) < np.where(points < 0.5, *chances) for points in (x, fresh))

    def answers(points):
        v = np.zeros(points.shape)
        for i in np.argsort(x, axis=1).T:
            at = np.take_along_axis(x, i[:, None], 1), np.take_along_axis(y, i[:, None], 1)
            v = np.where(at[0] <= points, np.clip(v + 2.0 * at[1] - 1, -bound, bound), v)
        return expit(epsilon * v / 2)

    def loss(points, labels):
        p = answers(points)
        return np.where(labels, 1 - p, p)

    # A record's own key lies below or above the query's with probability 1/2.
    own = (loss(x, y) + loss(np.nextafter(x, -1), y)) / 2
    outside = loss(fresh, fresh_y)
    found = generalization.moments(chances, epsilon, bound, n)
    for k in (1, 2, 3):
        # Given S, fresh losses are independent, each of mean E_P.
        for exact, drawn in zip(
            found[k], (outside.mean(axis=1) ** k, own.mean(axis=1) ** k, outside[:, :k].prod(axis=1)), strict=True
        ):
            assert exact == pytest.approx(drawn.mean(), abs=5 * stats.sem(drawn))


def test_drawn_moments_agree_with_enumerated_ones():
    settings = {
        "sizes": [3],
        "tail_epsilons": [2.0],
        "repeats": 4000,
        "enumerated_sizes": [3],
        "alphas": [0.5],
        "batch": 1,
    }
    made = experiments.run(cell(**settings)).query("series == 'drawn'").groupby(["dataset", "k"])
    for (law, k), frame in made:
        outside, own, _ = generalization.moments(generalization.LAWS[law], 2.0, exppw.walk_bound(0.5, 2.0), 3)[k]
        exact = outside - math.exp(k**2 * 2.0) * own
        assert frame["value"].mean() == pytest.approx(exact, abs=4.5 * stats.sem(frame["value"]))
    assert len(made) == 9


def test_batches_are_means_and_larger_samples_are_fewer():
    asked = {"tail_epsilons": [1.0], "sizes": [20, 100], "repeats": 20, "side_repeats": 30}
    found, batched = (experiments.run(cell(batch=batch, **asked)) for batch in (1, 4))
    single, whole = (rows[rows["series"] == "drawn"] for rows in (found, batched))
    assert single.groupby("n").size().to_dict() == {20: 9 * 20, 100: 9 * 4}
    assert whole.groupby("n").size().to_dict() == {20: 9 * 5, 100: 9}
    keys = ["dataset", "n", "k"]
    pd.testing.assert_series_equal(single.groupby(keys)["value"].mean(), whole.groupby(keys)["value"].mean())
    tails = found[(found["series"] == "tail") & (found["mechanism"] == "exppw")]
    assert tails[tails["metric"] == "ratio"].groupby("n").size().to_dict() == {20: 30, 100: 6}


def test_lemma_6_4_holds_and_the_membership_mechanism_attains_k_epsilon():
    found = rows()[rows()["series"] == "moments"]
    assert found[found["metric"] == "excess"]["value"].max() < 1e-12
    member = found[(found["metric"] == "log_ratio") & (found["mechanism"] == "member")]
    np.testing.assert_allclose(member["value"], member["k"] * member["epsilon"])
    tight = found[(found["variant"] == "tight") & (found["k"] == 1)]
    np.testing.assert_allclose(tight["value"], 0, atol=1e-12)
    printed = found[(found["mechanism"] == "member") & (found["variant"] == "printed") & (found["delta"] > 0)]
    assert (printed["value"] < 0).all()


# -- tails -----------------------------------------------------------------------------------------------------------


@together.over("epsilon, beta", [(0.1, 0.05), (1.0, 0.3), (3.0, 0.5), (0.1, 0.999)])
def test_the_factor_is_the_least_over_integers(epsilon, beta):
    least = min(beta ** (-1 / k) * math.exp(k * epsilon) for k in range(1, 200))
    assert generalization.factor(epsilon, beta, "mended") == pytest.approx(least)
    real = optimize.minimize_scalar(
        lambda k: math.log(1 / beta) / k + k * epsilon, bounds=(1e-3, 500), method="bounded", options={"xatol": 1e-9}
    )
    assert generalization.factor(epsilon, beta, "printed") == pytest.approx(math.exp(real.fun), rel=1e-6)


def test_lemma_6_5_fails_as_printed_from_the_erratum_s_beta_on():
    found = rows()[(rows()["series"] == "tail") & (rows()["mechanism"] == "member") & (rows()["metric"] == "excess")]
    printed = found[found["variant"] == "printed"]
    above = printed["gamma"] >= np.exp(-printed["epsilon"] / 4)
    assert (printed["value"] > 0).equals(above) and set(printed["row"]) == {"below", "above"} and above.any()
    assert (printed["row"] == "above").equals(above)
    assert (found[found["variant"] == "mended"]["value"] < 0).all()


def test_private_prediction_promises_more_than_stability_where_it_promises_anything():
    found = experiments.run(cell(sizes=[1000])).query("series == 'classical'")
    assert set(found["variant"]) == {"printed", "mended"} and found["value"].max() < 0
    assert {0.001, 0.01, 0.1, 1.0} <= set(found["epsilon"]) and (found["value"] > -1).all()
    # n = 50, gamma = tanh(0.05): by hand.
    by_hand = 0.01 + 2 * math.tanh(0.05) + (200 * math.tanh(0.05) + 1) * math.sqrt(math.log(20) / 100)
    assert generalization.classical(0.01, 0.1, 50, 0.05) == min(by_hand, 1) == 1
    assert generalization.classical(0.01, 1e-4, 50, 0.05) == pytest.approx(
        0.01 + 1e-4 + (200 * 5e-5 + 1) * math.sqrt(math.log(20) / 100), rel=1e-6
    )


def test_exppw_gives_every_labelling_and_fewer_records_do_not():
    assert generalization.realised(4, 1.0, 0.5) == 16
    # A record a point: after two zeros a one is not enough.
    v = exppw.walks(np.array([[0.0, 0.0, 1.0]]), 2.0)[0]
    assert v[3] < 0
    found = rows()[rows()["series"] == "shattered"]
    assert (found["value"] == 0).all() and found["k"].max() == 8


@pytest.mark.parametrize("bound", [1.0, 3.0])
def test_the_worst_loss_on_separable_data_is_that_of_all_of_them(bound):
    n, epsilon = 7, 0.9
    losses = []
    for m in range(n + 1):
        labels = np.arange(n) >= m
        v = exppw.walks(labels[None], bound)[0]
        p = exppw.probability(v, epsilon)
        wrong = np.where(labels, 1 - p[1:], p[1:]) + np.where(labels, 1 - p[:-1], p[:-1])
        losses.append(wrong.mean() / 2)
    assert generalization.worst_empirical(epsilon, bound, n) == pytest.approx(max(losses))


def test_rows():
    found = rows()
    assert set(found["series"]) == {
        "groups", "membership", "losses", "means", "stability", "whole", "moments", "classical", "shattered", "drawn",
        "tail",
    }  # fmt: skip
    assert not found["value"].isna().any() and len(found) < 100_000
    drawn = found[(found["series"] == "tail") & (found["mechanism"] == "exppw")]
    violated = drawn[(drawn["metric"] == "violated") & (drawn["variant"] == "printed")].set_index("repeat")["value"]
    ratio = drawn[drawn["metric"] == "ratio"].set_index("repeat")["value"]
    assert violated.equals((ratio >= generalization.factor(1.0, 0.1, "printed")).astype(float))
    assert found["value"].equals(experiments.run(cell())["value"])
