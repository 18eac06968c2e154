"""Samp-Agg lets one record touch one vote, except as printed (erratum K6)."""

import math
from itertools import combinations, product

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_sets import law
from scipy import stats

from dperm.domain import Budget
from dperm.errors import DataError, InvalidBudget
from dperm.mechanisms.support import samp_agg

# ---- Samp-Agg


def sparse(n=400, p=12, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(n, p))
    return X, X[:, [2, 7]].sum(axis=1) + noise * rng.normal(size=n)


def arguments(**changes):
    base = {
        "size": 2, "budget": Budget(1.0), "neighbours": "replace", "calibration": "corrected", "penalty": 2.0,
        "rng": np.random.default_rng(0),
    }  # fmt: skip
    return base | changes


@pytest.mark.parametrize("calibration", ["paper", "corrected"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_it_finds_a_clear_support(calibration, neighbours):
    X, y = sparse()
    found = samp_agg.select(
        X, y, **arguments(calibration=calibration, neighbours=neighbours, blocks=20, repeats=30, budget=Budget(20.0))
    )
    assert found.supports.shape == (30, 2)
    assert found.certificate.shape == found.converged.shape == (30, 20)
    assert found.converged.all()
    np.testing.assert_array_equal(found.supports, np.tile([2, 7], (30, 1)))
    np.testing.assert_allclose(found.votes.sum(axis=1), 2)
    assert found.event == ("EpsilonDeltaDpEvent", {"epsilon": 20.0, "delta": 0.0})
    proved = (calibration, neighbours) != ("paper", "add_remove")
    assert found.guarantee == ("proved" if proved else "none")


def test_a_block_votes_as_a_plain_lasso_would():
    """Proximal gradient, written out, on each block; then the s largest."""
    X, y = sparse(noise=1.0)
    block = samp_agg.partition(400, 20)
    votes, _ = samp_agg.block_votes(X, y, block, blocks=20, size=2, penalty=2.0, tolerance=1e-12)
    for b in range(20):
        A, t, theta = X[block == b], y[block == b], np.zeros(12)
        step = 1 / np.linalg.norm(A, 2) ** 2
        for _ in range(3000):
            u = theta + step * (A.T @ (t - A @ theta))
            theta = np.sign(u) * np.maximum(np.abs(u) - 2.0 * step, 0)
        assert sorted(np.argsort(-np.abs(theta), kind="stable")[:2]) == votes[b].tolist()


def test_the_printed_constants_and_the_tight_ones():
    common = {"blocks": 10, "budget": Budget(0.5), "neighbours": "replace"}
    assert samp_agg.calibrate(12, size=3, calibration="paper", **common)[0] == pytest.approx(2 * 3 / (10 * 0.5))
    assert samp_agg.calibrate(12, size=3, calibration="corrected", **common)[0] == pytest.approx(2 * 3 / (10 * 0.5))
    assert samp_agg.calibrate(4, size=3, calibration="corrected", **common)[0] == pytest.approx(2 * 1 / (10 * 0.5))
    assert samp_agg.calibrate(3, size=3, calibration="corrected", **common)[0] == 0
    assert samp_agg.paper_penalty(0.3, 100, 50) == pytest.approx(4 * 0.3 * math.sqrt(100 * math.log(50)))


def test_sensitivity_is_the_largest_change_of_the_shares():
    for p in range(1, 6):
        for size in range(1, p + 1):
            votes = [np.isin(range(p), c).astype(float) for c in combinations(range(p), size)]
            largest = max(np.abs(v - w).sum() for v in votes for w in votes) / 7
            assert samp_agg.sensitivity(p, size, 7) == pytest.approx(largest)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), position=st.integers(0, 399), size_of_record=st.sampled_from([1.0, 1e3, 1e12]))
def test_corrected_one_record_changes_one_vote(seed, position, size_of_record):
    """Replace a record; or add one. Whatever it is, the votes of all other blocks keep every bit of their lasso."""
    rng = np.random.default_rng(seed)
    X, y = sparse()
    x_new, y_new = size_of_record * rng.normal(size=12), size_of_record * rng.normal()
    lassos = {"blocks": 20, "size": 2, "penalty": 2.0}

    def differing(block, X_other, y_other, block_other):
        theta = samp_agg.block_votes(X, y, block, **lassos)[1].theta
        other = samp_agg.block_votes(X_other, y_other, block_other, **lassos)[1].theta
        return np.flatnonzero((theta != other).any(axis=1)).tolist()

    X_other, y_other = X.copy(), y.copy()
    X_other[position], y_other[position] = x_new, y_new
    fixed = samp_agg.partition(400, 20)
    assert differing(fixed, X_other, y_other, samp_agg.partition(len(X_other), 20)) in ([], [fixed[position]])

    drawn = samp_agg.assign(400, 20, np.random.default_rng(seed))
    longer = samp_agg.assign(401, 20, np.random.default_rng(seed))
    np.testing.assert_array_equal(longer[:400], drawn)
    assert differing(drawn, np.vstack([X, x_new]), np.append(y, y_new), longer) in ([], [longer[400]])


def recut():
    """99 records: each of 9 blocks of 11 votes for feature 0; of 10 blocks of 10 (one record more), half for 1.

    A strong record for feature 0 at the end of one block and at the start of the next lie in one block after the
    re-cut, and weaker records for feature 1 have the blocks between to themselves.
    """
    X, y = np.zeros((99, 2)), np.zeros(99)
    strong, weak = [10, 11, 32, 33, 54, 55, 76, 77, 98], [0, 20, 22, 42, 44, 64, 66, 86, 88]
    X[strong, 0], y[strong] = 1.0, 3.0
    X[weak, 1], y[weak] = 1.0, 2.0
    return X, y


def test_paper_one_more_record_recuts_the_blocks_and_breaks_epsilon():
    """Erratum K6, exactly: n = 99 -> 100 with a record of zeros; the ratio of two probabilities is far above e."""
    X, y = recut()
    longer = np.vstack([X, np.zeros(2)]), np.append(y, 0.0)
    log_p = []
    for data in ((X, y), longer):
        found = samp_agg.select(
            *data, **arguments(size=1, penalty=0.5, calibration="paper", neighbours="add_remove", budget=Budget(1.0))
        )
        assert found.blocks == math.isqrt(len(data[0]))
        assert found.guarantee == "none"
        log_p.append(law(found.votes[0], 1, found.scale)[(1,)])
    assert log_p[1] - log_p[0] > 3  # epsilon is 1
    np.testing.assert_allclose(found.votes[0], [0.5, 0.5])


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_corrected_add_remove_keeps_epsilon_on_the_same_data_in_small(epsilon):
    """All k^n assignments of 4 and 5 records: the mixtures of exact set probabilities are within epsilon."""
    X = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    y = np.array([3.0, 3.0, 2.0, 5.0])
    k = 3
    scale, guarantee = samp_agg.calibrate(
        3, size=1, blocks=k, budget=Budget(epsilon), neighbours="add_remove", calibration="corrected"
    )
    assert guarantee == "proved"

    def mixture(X, y):
        shares = []
        for block in product(range(k), repeat=len(y)):
            votes, _ = samp_agg.block_votes(X, y, np.array(block), blocks=k, size=1, penalty=0.5)
            shares.append(tuple(np.bincount(votes.ravel(), minlength=3)))
        laws = {s: np.exp(list(law(np.array(s) / k, 1, scale).values())) for s in set(shares)}
        return np.mean([laws[s] for s in shares], axis=0)

    base, largest = mixture(X, y), 0.0
    for x_new, y_new in [([0, 9.0, 0], 9.0), ([0, 0, 9.0], 9.0), ([1.0, 0, 0], -3.0)]:
        ratio = np.abs(np.log(mixture(np.vstack([X, x_new]), np.append(y, y_new)) / base)).max()
        assert ratio <= epsilon
        largest = max(largest, ratio)
    assert largest > 0.1 * epsilon  # the pairs are not trivially close


def test_repeats_draw_their_own_assignment_unless_told_otherwise():
    X, y = sparse(n=60, noise=2.0)
    options = {"neighbours": "add_remove", "blocks": 6, "repeats": 8}
    fresh = samp_agg.select(X, y, **arguments(**options))
    shared = samp_agg.select(X, y, **arguments(one_assignment=True, **options))
    assert len(np.unique(fresh.votes, axis=0)) > 1
    assert len(np.unique(shared.votes, axis=0)) == 1
    assert shared.supports.shape == fresh.supports.shape == (8, 2)
    np.testing.assert_array_equal(shared.supports, samp_agg.select(
        X, y, **arguments(one_assignment=True, **options)).supports)  # fmt: skip


def test_the_supports_have_the_law_of_the_votes():
    X, y = sparse(n=60, noise=2.0)
    X = X[:, [0, 2, 5, 7]]
    found = samp_agg.select(X, y, **arguments(blocks=6, repeats=20_000, budget=Budget(3.0)))
    exact = law(found.votes[0], 2, found.scale)
    counts = [int((found.supports == chosen).all(axis=1).sum()) for chosen in exact]
    assert stats.chisquare(counts, 20_000 * np.exp(list(exact.values())), sum_check=False).pvalue > 1e-6


@given(n=st.integers(1, 300), blocks=st.integers(1, 40))
def test_the_fixed_partition_is_even_and_consecutive(n, blocks):
    block = samp_agg.partition(n, blocks)
    assert (np.diff(block) >= 0).all()
    sizes = np.bincount(block, minlength=blocks)
    assert len(sizes) == blocks
    assert sizes.max() - sizes.min() <= 1


def test_records_are_assigned_uniformly():
    counts = np.bincount(samp_agg.assign(50_000, 7, np.random.default_rng(0)), minlength=7)
    assert stats.chisquare(counts).pvalue > 1e-6


def test_no_records_at_all_still_vote():
    found = samp_agg.select(np.zeros((0, 5)), np.zeros(0), **arguments(neighbours="add_remove", blocks=4, repeats=3))
    assert found.votes.tolist() == [[1, 1, 0, 0, 0]] * 3


@together.over(
    ("changes", "error", "match"),
    [
        ({"neighbours": "add_remove"}, ValueError, "blocks is missing"),
        ({"neighbours": "swap"}, ValueError, "neighbours='swap'"),
        ({"calibration": "tight"}, ValueError, "calibration='tight'"),
        ({"budget": Budget(1.0, 1e-6)}, InvalidBudget, "delta=1e-06 must be 0"),
        ({"budget": Budget(1e-200)}, InvalidBudget, "epsilon"),
        ({"size": 0}, ValueError, "size=0"),
        ({"size": 13}, ValueError, "size=13"),
        ({"blocks": 0}, ValueError, "blocks=0"),
        ({"blocks": 401}, DataError, r"blocks=401 is more than the n_samples=400 records.*take fewer blocks"),
        ({"repeats": 0}, ValueError, "repeats=0"),
        ({"penalty": -1.0}, ValueError, "l1=-1"),
        ({"X": np.full((400, 12), np.inf)}, DataError, "X holds NaN"),
    ],
)
def test_select_refuses_what_makes_no_sense(changes, error, match):
    X, y = sparse()
    with pytest.raises(error, match=match):
        samp_agg.select(changes.pop("X", X), y, **arguments(**changes))
