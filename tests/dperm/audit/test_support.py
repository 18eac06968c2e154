"""Private choices of a support: their laws by brute force, pairs by closed forms, published blocks that all turn."""

import itertools
import math

import audit_jobs
import numpy as np
import pytest
from scipy import optimize

from dperm.audit import exact, support, voting
from dperm.audit.linear_targets import with_record
from dperm.domain import Budget
from dperm.errors import ConfigError
from dperm.mechanisms.support import samp_agg

ONE = Budget(1.0)
NEIGHBOURS = ("add_remove", "replace")


def separated(gap):
    """P(the item with the lower score wins), two items with Laplace noise: e^-gap (2 + gap)/4, gap in scales."""
    return math.exp(-gap) * (2 + gap) / 4


def job(mechanism, calibration, neighbours, epsilon=1.0, **changes):
    row = {"neighbours": neighbours, "variant": support.VARIANTS[mechanism][0], "epsilon": epsilon, **changes}
    pair = {"exp_mech": "shifted", "samp_agg": "votes"}[mechanism]
    return audit_jobs.job(mechanism, pair, row, family="support", calibration=calibration)


# Exp-mech.


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_the_exponential_law_by_least_squares_in_a_box(neighbours, calibration):
    """Algorithm 4 for s = 1 literally: exp(-w q), q from scipy, alpha = 2; w as the module's text has it."""
    rng = np.random.default_rng(1)
    data = X, y = rng.uniform(-1, 1, (5, 3)), rng.uniform(-1, 1, 5)
    scores = [optimize.lsq_linear(X[:, [j]], y, bounds=(-1, 1)).cost for j in range(3)]
    length = {"paper": 8, "tight": 2 * (1 + 2e-6) if neighbours == "add_remove" else 4 * (1 + 1e-6)}[calibration]
    weights = np.exp(-np.array(scores) / length)
    made = support.exponential(budget=ONE, neighbours=neighbours, calibration=calibration)
    assert made.law(data) == pytest.approx(weights / weights.sum(), rel=1e-6)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_shifted_scores_attain_the_tight_weight_and_refute_twice_of_it(neighbours, calibration):
    for epsilon in (0.3, 3.0):
        rows = support.run(job("exp_mech", calibration, neighbours, epsilon))
        bounds = [row["exact_bound"] for row in rows]
        share = {"paper": {"add_remove": 0.25, "replace": 0.5}[neighbours], "tight": 1.0}[calibration]
        assert max(bounds) == bounds[0] == pytest.approx(share * epsilon, rel=1e-4)
        assert max(bounds) <= epsilon and {row["guarantee"] for row in rows} == {"proved"}
        # The same pair with weights for twice the budget.
        pair = support.shifted(budget=Budget(epsilon), neighbours=neighbours, calibration=calibration)
        made = support.exponential(budget=Budget(2 * epsilon), neighbours=neighbours, calibration=calibration)
        assert exact.exact(made.law, [pair]).epsilon == pytest.approx(2 * share * epsilon, rel=1e-4)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_two_of_four_features_attain_the_tight_weight(neighbours):
    """alpha = (1 + sqrt 2)^2/2 at {1, 2}, nothing at {3, 4}; scores at the box's corners, where they lie."""
    data, worst = support.shifted(budget=ONE, neighbours=neighbours, calibration="tight", size=2)
    sides = (data, worst)
    assert len(worst[1]) - len(data[1]) == (neighbours == "add_remove")
    supports = list(itertools.combinations(range(4), 2))
    by_hand = np.array(
        [
            [
                min(0.5 * ((y - X[:, list(s)] @ corner) ** 2).sum() for corner in itertools.product((-1, 1), repeat=2))
                for s in supports
            ]
            for X, y in sides
        ]
    )
    for (X, y), expected in zip(sides, by_hand, strict=True):
        assert (
            np.sort(np.abs(X), axis=1)[:, -2:].max() <= 1 and np.linalg.norm(np.sort(X)[:, -2:], axis=1).max() < 1.001
        )
        assert support.box_scores(X, y, bound=1.0, size=2) == pytest.approx(expected, abs=1e-9)
    moved = (by_hand[1] - by_hand[0])[[0, -1]]
    alpha = 0.5 * (1 + math.sqrt(2)) ** 2
    assert moved == pytest.approx([alpha, 0.0 if neighbours == "add_remove" else -alpha], abs=1e-9)
    (row,) = support.run(job("exp_mech", "tight", neighbours, variant="exponential_s2"))
    assert row["exact_bound"] == pytest.approx(1, rel=1e-4) and row["exact_bound"] <= 1 and row["white_box_p"] > 1e-4
    # sqrt(s) forgotten: alpha = 2 in the weight.
    forgotten = support.exponential(budget=Budget(alpha / 2), neighbours=neighbours, calibration="tight", size=2)
    assert exact.exact(forgotten.law, [sides]).epsilon == pytest.approx(alpha / 2, rel=1e-4)


def test_scores_move_by_alpha_and_by_nothing():
    """alpha = (1 + 1)^2/2 = 2, exactly: both parameters stay at their ends of the box."""
    common = support.pressed(16, 20)
    before = support.scores(*common, bound=1.0)
    after = support.scores(*with_record(common, (1.0, 1.0), -1.0), bound=1.0)
    assert after - before == pytest.approx([2.0, 0.0], abs=1e-12)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_a_tiny_domain_is_looked_at_whole(neighbours):
    """27 records: with one of them left, 27 more or C(27, 2) pairs of others; none is above the claim."""
    pairs = list(support.tiny_pairs(neighbours))
    assert len(pairs) == {"add_remove": 27 * 27, "replace": 27 * 351}[neighbours]
    made = support.exponential(budget=ONE, neighbours=neighbours, calibration="tight")
    found = exact.exact(lambda data: made.law(support.as_arrays(data)), pairs)
    assert 0.2 < found.epsilon <= 1


# Samp-Agg.


@pytest.mark.parametrize(("records", "blocks"), [(0, 3), (1, 4), (3, 2), (4, 3)])
def test_ways_to_share_blocks_by_brute_force(records, blocks):
    counted = {}
    for drawn in itertools.product(range(blocks), repeat=records):
        groups = tuple(sorted(tuple(np.flatnonzero(np.equal(drawn, block))) for block in set(drawn)))
        counted[groups] = counted.get(groups, 0) + 1 / blocks**records
    found = {tuple(sorted(map(tuple, way))): weight for way, weight in voting.shared_blocks(records, blocks)}
    assert found.keys() == counted.keys()
    assert [found[key] for key in counted] == pytest.approx(list(counted.values()), rel=1e-12)


@pytest.mark.parametrize("calibration", ["paper", "corrected"])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_the_law_of_votes_by_the_codes_own_lassos(calibration, neighbours):
    """Every assignment of the records, the real lassos' votes, and a closed form of noise on two shares."""
    data = X, y = voting.one_feature([0, 1, 1, 0], [0.2, 0.3, -0.9, 0.6])
    k = 2
    scale = 2 / (k * ONE.epsilon)
    drawn = calibration == "corrected" and neighbours == "add_remove"
    ways = list(itertools.product(range(k), repeat=4)) if drawn else [samp_agg.partition(4, k)]
    chances = []
    for way in ways:
        votes, _ = samp_agg.block_votes(X, y, np.array(way), blocks=k, size=1, penalty=voting.PENALTY)
        lead = 2 * (votes == 0).mean() - 1
        lower = separated(abs(lead) / scale)
        chances.append(1 - lower if lead > 0 else lower)
    blocks = k if calibration == "corrected" else None
    made = voting.selector(budget=ONE, neighbours=neighbours, calibration=calibration, blocks=blocks)
    assert made.law(data) == pytest.approx([np.mean(chances), 1 - np.mean(chances)], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_one_turned_vote_spends_almost_epsilon(epsilon):
    """log(G(d - epsilon)/G(d)), d = k epsilon/2: epsilon less about 2/k; twice the noise's budget refutes."""
    for calibration, neighbours, k in (
        ("corrected", "add_remove", voting.BLOCKS), ("corrected", "replace", voting.BLOCKS),
        ("paper", "replace", voting.SQUARE),
    ):  # fmt: skip
        (row,) = support.run(job("samp_agg", calibration, neighbours, epsilon))
        gap = k * epsilon / 2
        assert row["exact_bound"] == pytest.approx(math.log(separated(gap - epsilon) / separated(gap)), rel=1e-9)
        assert 0.9 * epsilon < row["exact_bound"] <= epsilon and row["guarantee"] == "proved"
        data, neighbour, _ = voting.flipped(neighbours=neighbours, calibration=calibration)
        blocks = k if calibration == "corrected" else None
        half = voting.selector(
            budget=Budget(2 * epsilon), neighbours=neighbours, calibration=calibration, blocks=blocks
        )
        assert exact.exact(half.law, [(data, neighbour)]).refutes(1.8 * epsilon)


def test_published_blocks_all_turn_from_99_records_to_100():
    """Erratum K6, by the code's own lassos: nine votes for one feature, with one record more ten for the other."""
    (X, y), (more_X, more_y) = voting.list_cut_anew(10)
    assert len(X) == 99 and (more_X[:99] == X).all() and (more_y[:99] == y).all() and len(more_X) == 100
    assert np.abs(y).max() <= 1 and np.linalg.norm(more_X, axis=1).max() <= 1
    for rows, labels, wanted in ((X, y, 1), (more_X, more_y, 0)):
        found = samp_agg.select(
            rows, labels, size=1, budget=ONE, neighbours="add_remove", calibration="paper", penalty=voting.PENALTY,
            rng=np.random.default_rng(0),
        )  # fmt: skip
        assert found.votes[0, wanted] == 1 and found.blocks == math.isqrt(len(rows))
        assert found.guarantee == "none"


def test_published_blocks_fall_by_a_closed_form():
    """9 of 9 against 10 of 10 votes with noise 2/(9 epsilon), 2/(10 epsilon)."""
    (row,) = support.run(job("samp_agg", "paper", "add_remove"))
    expected = math.log((1 - separated(4.5)) / separated(5.0))
    assert row["exact_bound"] == pytest.approx(expected, rel=1e-9) and expected > 4.4
    assert row["guarantee"] == "none"


def test_published_blocks_of_a_given_number_are_cut_anew_too():
    """Erratum K6 at a public k, by the code's own lassos: of nine votes for one feature eight turn to the other."""
    (X, y), (more_X, more_y), _ = voting.list_cut_at_k()
    assert len(X) == 99 and (more_X[:99] == X).all() and (more_y[:99] == y).all() and len(more_X) == 100
    for rows, labels, share in ((X, y, 0.0), (more_X, more_y, 8 / 9)):
        found = samp_agg.select(
            rows, labels, size=1, budget=ONE, neighbours="add_remove", calibration="paper", penalty=voting.PENALTY,
            blocks=9, rng=np.random.default_rng(0),
        )  # fmt: skip
        assert found.votes[0, 1] == pytest.approx(share)
    (row,) = support.run(job("samp_agg", "paper", "add_remove", variant="laplace_at_k"))
    # Noise 2/(9 epsilon), here at epsilon = 1: the shares differ by 9/9, and by 7/9 the other way.
    expected = math.log((1 - separated(3.5)) / separated(4.5))
    assert row["exact_bound"] == pytest.approx(expected, rel=1e-9) and expected > 3


@pytest.mark.parametrize("m", [3, 7, 20])
def test_lists_are_cut_anew_at_any_square(m):
    (X, y), (more_X, more_y) = voting.list_cut_anew(m)
    for rows, labels, k, wanted in ((X, y, m - 1, 1), (more_X, more_y, m, 0)):
        block = samp_agg.partition(len(rows), k)
        groups = [np.flatnonzero(block == b) for b in range(k)]
        assert voting.votes((rows, labels), groups) == [wanted] * k


def test_one_record_turns_two_votes_by_the_codes_own_lassos():
    """Published blocks, blocks drawn, and blocks as short as they may be: {1, 2} everywhere, {3, 4} in its own."""
    rng = np.random.default_rng(1)
    for X, y in (voting.crowd_of_two(1), voting.crowd_of_two(50), voting.crowd_of_two(voting.EACH)):
        n = len(y)
        X, y = np.concatenate([X, np.eye(4)[:1]]), np.append(y, 0.5)
        ways = [np.zeros(n + 1, int)] if n == 4 else [samp_agg.partition(n + 1, 5), rng.integers(5, size=n + 1)]
        for block in ways:
            blocks = int(block.max()) + 1
            chosen, _ = samp_agg.block_votes(X, y, block, blocks=blocks, size=2, penalty=voting.PENALTY)
            found = [tuple(np.flatnonzero(row)) if len(row) == 4 else tuple(row) for row in np.asarray(chosen)]
            expected = [(0, 1)] * blocks
            expected[block[0]] = (2, 3)
            assert found == expected


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_two_turned_features_spend_almost_epsilon(neighbours):
    """Noise 2 m/(k epsilon), m = 2: with that for m = 1 the same pair spends nearly twice the claim."""
    (row,) = support.run(job("samp_agg", "corrected", neighbours, 3.0, variant="laplace_s2"))
    assert 0.95 * 3 < row["exact_bound"] <= 3 and row["white_box_p"] > 1e-4 and row["guarantee"] == "proved"
    data, neighbour, _ = voting.both_flipped(neighbours, voting.BLOCKS_OF_TWO)
    assert len(neighbour[1]) - len(data[1]) == (neighbours == "add_remove")
    fixed = {"neighbours": neighbours, "calibration": "corrected", "blocks": voting.BLOCKS_OF_TWO}
    made = voting.selector_of_two(budget=Budget(6.0), **fixed)
    assert exact.exact(made.law, [(data, neighbour)]).refutes(1.9 * 3)


# The code's draws.


def test_draws_of_another_law_are_noticed():
    made = support.exponential(budget=ONE, neighbours="replace", calibration="tight")
    other = support.exponential(budget=Budget(4.0), neighbours="replace", calibration="tight")
    data, rng = support.wavering(np.random.default_rng(1)), np.random.default_rng
    assert support.law_test(made, data, rng(2)) > 1e-3
    assert support.law_test(made._replace(draw=other.draw), data, rng(2)) < 1e-4


@pytest.mark.parametrize("mechanism", ["exp_mech", "samp_agg"])
def test_rows_say_how_the_code_draws(mechanism):
    calibrations = {"exp_mech": ("paper", "tight"), "samp_agg": ("paper", "corrected")}[mechanism]
    for calibration, neighbours in itertools.product(calibrations, NEIGHBOURS):
        rows = support.run(job(mechanism, calibration, neighbours))
        assert all(row["white_box_p"] > 1e-4 and row["draws"] == 0 for row in rows)


@pytest.mark.parametrize("mechanism", ["exp_mech", "samp_agg"])
def test_a_variant_that_is_not_the_noise_is_refused(mechanism):
    with pytest.raises(ConfigError, match="variant 'gamma'"):
        support.run(job(mechanism, "paper", "replace", variant="gamma"))
