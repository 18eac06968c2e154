"""The experiment on many queries: exact deltas, exact accuracies, against simulation and brute force."""

import itertools
import math

import fake_dwork2018
import numpy as np
import pytest
import together
from scipy import special, stats

from dperm.accounting import composition
from dperm.mechanisms.prediction import consensus, soft_majority
from dperm_papers.dwork2018.queries import experiment as queries
from dperm_papers.dwork2018.queries import figures as figure
from dperm_papers.dwork2018.shared import flips, worst_bits


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.queries()


def brute(epsilon, p, q):
    """delta of independent bits by all transcripts."""
    total = 0.0
    for bits in itertools.product((0, 1), repeat=len(p)):
        P = np.prod([a if bit else 1 - a for bit, a in zip(bits, p, strict=True)])
        Q = np.prod([a if bit else 1 - a for bit, a in zip(bits, q, strict=True)])
        total += max(0.0, P - math.exp(epsilon) * Q)
    return total


@together.over("t", [-0.4, 0.35, 2.0])
def test_delta_of_like_bits_by_all_transcripts(t):
    p, q = special.expit(t), special.expit(t - 0.7)
    for m in (1, 4, 9):
        assert worst_bits.bits_delta(0.6, m, t, 0.7) == pytest.approx(brute(0.6, [p] * m, [q] * m), abs=1e-14)


def test_randomised_response_is_the_optimum_of_kairouz_and_others():
    for m, each, epsilon in ((10, 0.3, 1.0), (200, 0.05, 0.7)):
        found = worst_bits.worst_delta(epsilon, m, each, bounded_range=False)
        assert found == pytest.approx(composition.optimal_delta(epsilon, each, m), rel=1e-9)


def test_the_worst_bits_of_bounded_range_are_worst_among_many():
    worst = worst_bits.worst_delta(0.4, 30, 0.2, bounded_range=True)
    assert all(1.02 * worst >= worst_bits.bits_delta(0.4, 30, t, 0.2) for t in np.linspace(-3, 3, 601))
    assert worst < worst_bits.worst_delta(0.4, 30, 0.2, bounded_range=False)


def test_the_adaptive_attack_by_all_trees():
    each, epsilon = 0.5, 0.6
    pairs = [(special.expit(t), special.expit(t - each)) for t in each / 2 + worst_bits.OFFSETS]

    def value(p, q, left):
        if not left:
            return max(0.0, p - math.exp(epsilon) * q)
        return max(value(p * a, q * b, left - 1) + value(p * (1 - a), q * (1 - b), left - 1) for a, b in pairs)

    for m in (1, 2, 3):
        exact, found = value(1.0, 1.0, m), worst_bits.adaptive_delta(epsilon, m, each)
        assert exact <= found * (1 + 1e-9) and found == pytest.approx(exact, rel=0.05, abs=1e-3)
    assert value(1.0, 1.0, 3) >= brute(epsilon, *zip(*[pairs[7]] * 3, strict=True))


def test_the_share_answered_before_the_last_contested_answer():
    rng, m, B, c = np.random.default_rng(0), 40, 3, 0.1
    contested = rng.random((200_000, m)) < c
    before = np.cumsum(contested, axis=1) - contested
    assert queries.answered(m, B, c) == pytest.approx((before < B).mean(), abs=2e-3)
    assert queries.answered(2, 3, 0.5) == 1.0 and queries.answered(10, 3, 0.0) == 1.0
    assert queries.answered(10, 3, 1.0) == pytest.approx(0.3)


def test_means_over_votes_are_those_of_drawn_shards():
    r, m = 40, 50
    drawn = np.sort(flips.thresholds(m, (4000, r), np.random.default_rng(0)), axis=1)
    x = np.random.default_rng(1).random((4000, 50))
    count = (drawn[:, None, :] <= x[:, :, None]).sum(axis=2)
    one = soft_majority.probability(count, r, 0.2)
    wrong = np.where(x < 0.5, one, 1 - one)
    own = soft_majority.probability(np.arange(r + 1), r, 0.2)
    spread = 5 * wrong.mean(axis=1).std() / math.sqrt(4000)
    assert flips.mean_over_votes(m, r, own, 1 - own[::-1]) == pytest.approx(wrong.mean(), abs=spread)
    assert flips.mean_over_votes(m, r, np.ones(r + 1), np.ones(r + 1)) == pytest.approx(1.0)


def test_exact_deltas_are_within_the_budget(rows):
    found = rows[rows["metric"] == "excess"]
    assert set(found["accountant"]) == set(queries.filters.ACCOUNTANTS) and (found["value"] <= 1e-9).all()
    # And tight where the accountant is: the test would tell an accountant that promises too much.
    tight = found[(found["accountant"] == "optimal")]
    assert (tight["value"] > -1e-3).all()
    assert worst_bits.worst_delta(0.95, 1000, tight["each"].iloc[0] * 1.05, bounded_range=False) > 0


def test_totals(rows):
    total = rows[rows["metric"] == "total_epsilon"].set_index(["accountant", "m"])["value"]
    assert total["basic", 100] == pytest.approx(1.0)
    expected = 0.01 * math.sqrt(2000 * math.log(1e6)) + 10 * math.expm1(0.01)
    assert total["advanced", 1000] == pytest.approx(expected)
    assert (total["bounded_range"] <= total["zcdp"]).all() and (total["optimal"] <= total["zcdp"]).all()
    assert set(rows.loc[rows["accountant"].isin(["basic", "advanced"]), "calibration"]) == {"paper"}


def test_accuracies(rows):
    exact = rows[(rows["dataset"] == "flip") & (rows["metric"] == "accuracy")]
    assert exact["value"].between(0.5 - 1e-9, 0.8).all()
    private = exact[exact["accountant"] != ""].set_index(["accountant", "m"])["value"].sort_index()
    for name in queries.filters.ACCOUNTANTS:
        assert private[name].is_monotonic_decreasing
    own = exact[(exact["accountant"] == "bounded_range") & (exact["m"] == 1000)].iloc[0]
    r, m = int(own["r"]), 60_000 // int(own["r"])
    drawn = flips.thresholds(m, (30, r), np.random.default_rng(5))
    bits = np.array([soft_majority.probability(np.arange(r + 1), r, own["each"])])
    cuts = np.sort(np.concatenate([np.zeros((30, 1)), drawn, np.ones((30, 1))], axis=1), axis=1)
    # The error of each data set, integrated: between two thresholds the bit's law is constant.
    left = np.diff(np.minimum(cuts, 0.5), axis=1) @ bits[0]
    right = np.diff(np.maximum(cuts, 0.5), axis=1) @ (1 - bits[0])
    found = 1 - 0.2 - 0.6 * (left + right)
    assert own["value"] == pytest.approx(found.mean(), abs=6 * found.std() / math.sqrt(30) + 1e-9)
    students = exact[exact["series"] == "student"]
    assert len(students) == 2 * 2 and students["value"].between(0.2, 0.8).all()


def test_answers_at_a_level_fit_and_one_more_is_worse(rows):
    found = rows[(rows["metric"] == "answered") & (rows["dataset"] == "flip") & (rows["accountant"] != "")]
    assert len(found) == 2 * 5
    for line in found.itertuples():
        wide = {"bounded_range": line.accountant == "bounded_range", "accountant": line.accountant}

        def right(m, wide=wide):
            each = queries.filters.each(1.0, 1e-6, m, **wide)
            r = min(soft_majority.shards_needed(0.05, each), 3000)
            one = soft_majority.probability(np.arange(r + 1), r, each)
            return 0.8 - 0.6 * flips.mean_over_votes(60_000 // r, r, one, 1 - one[::-1])

        m = int(line.value)
        # Largest, and not by a hair's breadth of the search.
        assert right(m) >= line.level - 1e-9 and right(m + max(1, m // 1000)) < line.level
    by = found.set_index(["level", "accountant"])["value"]
    assert (by[0.6] > by[0.79]).all() and by[0.79, "bounded_range"] == by[0.79].max()


def test_consensus_answers_at_a_level(rows):
    own = rows[(rows["series"] == "consensus") & (rows["metric"] == "accuracy")].sort_values("m")
    found = rows[(rows["series"] == "consensus") & (rows["metric"] == "answered")].set_index("level")["value"]
    for level, m in found.items():
        assert (own.loc[own["m"] <= m, "value"] >= level).all() and (own.loc[own["m"] > m, "value"] < level).all()


def test_a_student_has_no_bound_from_its_level_on(rows):
    students = rows[(rows["series"] == "student") & (rows["metric"] == "accuracy")]
    found = rows[rows["metric"] == "unlimited"]
    assert len(found) == 2 * 2
    for line in found.itertuples():
        means = students[students["dataset"] == line.dataset].groupby("m")["value"].mean()
        assert line.value == (means >= line.level).any()
        assert line.m == (means.index[means >= line.level].min() if line.value else 0)


def test_searches():
    for level in (0.6, 0.75, 0.99):
        price = queries.least_price(lambda each: special.expit(each), level, 10.0)
        assert price == pytest.approx(math.log(level / (1 - level)), rel=1e-11) and special.expit(price) >= level
    assert queries.least_price(lambda each: 0.7, 0.8, 1.0) == 0
    assert [queries.most_rows(lambda m: 1 / m, level) for level in (1.5, 1.0, 0.3, 0.01)] == [0, 1, 3, 100]


def test_the_table_of_answers(rows):
    plain, words = figure.queries_answered_table(rows)
    assert len(plain) == len(rows[rows["metric"].isin(["answered", "unlimited"])])
    assert words["answered by"].tolist()[-2:] == ["consensus, B = 10", "student"] and len(words) == 7
    assert words.columns.tolist() == ["answered by", "flip, 79 %", "flip, 60 %", "digits, 79 %", "digits, 60 %"]
    student = plain[(plain["by"] == "student") & np.isinf(plain["answered"])]
    told = words.set_index("answered by").loc["student"]
    assert sum(word.startswith("unlimited, ") for word in told) == len(student) and len(student) > 0
    basic = rows[(rows["metric"] == "answered") & (rows["accountant"] == "basic") & (rows["dataset"] == "flip")]
    assert words["flip, 60 %"][0] == f"{int(basic.set_index('level')['value'][0.6]):,}"


def test_consensus_rows(rows):
    found = rows[(rows["series"] == "consensus") & (rows["metric"] == "accuracy")].set_index("m")["value"]
    assert set(rows.loc[rows["series"] == "consensus", "dataset"]) == {"flip"} and found.is_monotonic_decreasing
    r = int(rows.loc[rows["series"] == "consensus", "r"].iloc[0])
    assert r == min(consensus.shards_needed(1.0, 1e-6, 10), 3000)


def test_digits_rows(rows):
    own = rows[(rows["dataset"] == "digits") & (rows["series"] == "accuracy")]
    own = own[own["metric"] == "accuracy"]
    level = own[own["variant"] == "logistic"]["value"].mean()
    one = own[(own["accountant"] == "basic") & (own["m"] == 1)]["value"].mean()
    many = own[(own["accountant"] == "basic") & (own["m"] == 1000)]["value"].mean()
    assert level > one > many and many == pytest.approx(0.5, abs=0.01)
    # Noise is integrated: two draws of the same bits agree with it.
    assert stats.sem(own[own["accountant"] == "zcdp"]["value"]) < 0.1
