"""Two-stage sparse regression: Algorithm 6 word for word, the law of the support, and what is refused."""

import itertools
import math

import cvxpy as cp
import numpy as np
import pytest
import together
from scipy import integrate, stats
from scipy.optimize import lsq_linear
from sparse_data import VOTES, K, P, S, data, release

from dperm.domain import Budget, Domain
from dperm.errors import DataError, DomainViolation, InvalidBudget
from dperm.feasible import Region
from dperm.mechanisms import sparse
from dperm.mechanisms.support import exp_mech, samp_agg

# ---- against a transcription of the paper


def normalised(X, y, printed):
    """Lines 3 and 4 of Algorithm 6; erratum K14 divides by ||v_i||."""
    X, y = X.copy(), y.copy()
    for i in range(len(X)):
        y[i] = S if y[i] > S else -S if y[i] < -S else y[i]
        v = sorted(X[i], key=abs)[-S:]
        if np.linalg.norm(v) >= math.sqrt(S):
            X[i] = math.sqrt(S) * X[i] / np.linalg.norm(X[i] if printed else v)
    return X, y


def votes(X, y, block, penalty):
    """The shares of Algorithm 5, with the lasso of Algorithm 6, line 1, by cvxpy."""
    share = np.zeros(X.shape[1])
    for b in range(K):
        theta = cp.Variable(X.shape[1])
        loss = 0.5 * cp.sum_squares(y[block == b] - X[block == b] @ theta) + penalty * cp.norm1(theta)
        cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
        share[np.argsort(-np.abs(theta.value))[:S]] += 1 / K
    return share


def scores(X, y):
    """q of Algorithm 4 for every support, by scipy, in colexicographic order."""
    sets = sorted(itertools.combinations(range(X.shape[1]), S), key=lambda z: z[::-1])
    return sets, np.array([lsq_linear(X[:, list(z)], y, bounds=(-1, 1), tol=1e-14).cost for z in sets])


def algorithm_1(X, y, Z, b, Delta):
    """Line 5: on the columns Z, with the tilt b."""
    theta = cp.Variable(len(Z))
    tilted = 0.5 * cp.sum_squares(y - X[:, Z] @ theta) + 0.5 * Delta * cp.sum_squares(theta) + b @ theta
    cp.Problem(cp.Minimize(tilted), [cp.norm_inf(theta) <= 1]).solve(solver=cp.CLARABEL)
    return theta.value


def second_stage(X, y, supports, epsilon, delta, rng):
    """Lines 5 and 6 with zeta = 2 s^1.5, lambda = s, epsilon/2: for one support after the other, repeat by repeat."""
    zeta, Delta, half = 2 * S**1.5, 4 * S / epsilon, epsilon / 2
    released = np.zeros((len(supports), X.shape[1]))
    for Z in sorted(set(map(tuple, supports))):
        repeats = [r for r in range(len(supports)) if tuple(supports[r]) == Z]
        if delta:
            b = rng.normal(0, zeta * math.sqrt(8 * math.log(2 / delta) + 4 * half) / half, (len(repeats), S))
        else:
            b = rng.standard_normal((len(repeats), S))
            b *= rng.gamma(S, 2 * zeta / half, (len(repeats), 1)) / np.linalg.norm(b, axis=1, keepdims=True)
        for r, tilt in zip(repeats, b, strict=True):
            released[r, list(Z)] = algorithm_1(X, y, list(Z), tilt, Delta)
    return released


@pytest.mark.parametrize("delta", [0.0, 1e-3], ids=["gamma", "gaussian"])
@pytest.mark.parametrize("calibration", ["paper", "corrected"])
def test_algorithm_6_word_for_word(calibration, delta):
    """Samp-Agg: the same seed, drawn from in the same order; n is a multiple of k, so that blocks are whole."""
    X, y = data()
    repeats, epsilon = 6, 3.0
    found = release(X, y, **VOTES, calibration=calibration, blocks=K, budget=Budget(epsilon, delta), repeats=repeats)
    rng = np.random.default_rng(3)
    if calibration == "paper":
        shares = np.tile(votes(X, y, np.repeat(range(K), len(X) // K), 1.0), (repeats, 1))
    else:
        shares = np.array([votes(X, y, rng.integers(K, size=len(X)), 1.0) for _ in range(repeats)])
    noisy = shares + rng.laplace(0, 2 * S / (K * epsilon / 2), shares.shape)
    supports = np.sort(np.argsort(-noisy, axis=1)[:, :S], axis=1)
    np.testing.assert_array_equal(found.supports, supports)
    assert len(np.unique(supports, axis=0)) > 1  # several groups
    expected = second_stage(*normalised(X, y, calibration == "paper"), supports, epsilon, delta, rng)
    np.testing.assert_allclose(found.theta, expected, atol=2e-5)
    assert found.converged.all()


@pytest.mark.parametrize("delta", [0.0, 1e-3], ids=["gamma", "gaussian"])
def test_algorithm_2_with_the_exponential_mechanism_word_for_word(delta):
    X, y = data()
    repeats, epsilon = 6, 3.0
    found = release(X, y, budget=Budget(epsilon, delta), repeats=repeats)
    X, y = normalised(X, y, printed=False)
    rng = np.random.default_rng(3)
    sets, q = scores(X, y)
    weights = np.exp(-(epsilon / 2) / (2 * 4 * S**2) * (q - q.min()))
    drawn = [np.flatnonzero(np.cumsum(weights) > u * weights.sum())[0] for u in rng.random(repeats)]
    supports = np.array([sets[k] for k in drawn])
    np.testing.assert_array_equal(found.supports, supports)
    np.testing.assert_allclose(found.theta, second_stage(X, y, supports, epsilon, delta, rng), atol=2e-5)


def test_an_intercept_is_a_constant_feature_of_stage_two_alone():
    X, y = data()
    found = release(X, y + 0.7, fit_intercept=True, repeats=4)
    np.testing.assert_array_equal(found.supports, release(X, y + 0.7, repeats=4).supports)
    assert found.theta.shape == (4, P + 1)
    arguments, _ = sparse.stage_two(
        S, domain=sparse.case_study(S), budget=Budget(2.0, 1e-3), neighbours="add_remove", calibration="paper",
        fit_intercept=True,
    )  # fmt: skip
    # r = sqrt(3) and three coordinates in the box: zeta = sqrt(3) (2 + 3), lambda = 3.
    zeta, half = math.sqrt(3) * 5, 1.0
    sigma = zeta * math.sqrt(8 * math.log(2 / 1e-3) + 4 * half) / half
    X, y = normalised(X, y + 0.7, printed=False)
    X = np.column_stack([X, np.ones(len(X))])
    rng = np.random.default_rng(3)
    rng.random(4)
    for Z in np.unique(found.supports, axis=0):
        rows = np.flatnonzero((found.supports == Z).all(axis=1))
        for r, b in zip(rows, rng.normal(0, sigma, (len(rows), S + 1)), strict=True):
            expected = algorithm_1(X, y, [*Z, P], b, 2 * 3 / half)
            np.testing.assert_allclose(found.theta[r, [*Z, P]], expected, atol=2e-5)
    assert arguments["domain"].x_norm == pytest.approx(math.sqrt(3))


def test_theta_is_zero_outside_its_support_and_in_the_box():
    found = release(*data(), repeats=300, budget=Budget(0.5, 1e-3), bound=0.7)
    outside = np.ones((300, P), bool)
    np.put_along_axis(outside, found.supports, False, axis=1)
    assert (found.theta[outside] == 0).all() and np.abs(found.theta).max() <= 0.7
    assert len(np.unique(found.supports, axis=0)) == math.comb(P, S)


# ---- the law of the support


def test_the_exponential_mechanism_draws_from_its_law_with_half_of_epsilon():
    X, y = data(n=10)
    repeats, epsilon = 20_000, 8.0
    found = release(X, y, budget=Budget(epsilon, 1e-3), calibration="tight", repeats=repeats)
    sets, q = scores(*normalised(X, y, printed=False))
    weights = np.exp(-(epsilon / 2) / (2 * S**2) * (q - q.min()))  # add/remove: exp(-epsilon_1 q/alpha), erratum K5
    counts = [(found.supports == z).all(axis=1).sum() for z in sets]
    assert stats.chisquare(counts, repeats * weights / weights.sum()).pvalue > 1e-6
    # All of epsilon instead of a half would be seen.
    assert stats.chisquare(counts, repeats * weights**2 / (weights**2).sum()).pvalue < 1e-6


@pytest.mark.slow
def test_samp_agg_draws_from_the_mixture_over_all_assignments():
    """Three records, two blocks, s = 1: all eight assignments, each with its exact winning probability."""
    X = np.array([[1.0, 0.2, 0.0], [0.1, 1.0, 0.3], [0.9, 0.0, 0.1]])
    y = np.array([1.0, 1.0, -1.0])
    repeats, epsilon, scale = 20_000, 2.0, 2 / (2 * 1.0)
    law = np.zeros(3)
    for assignment in itertools.product(range(2), repeat=3):
        share = np.zeros(3)
        for b in range(2):
            own = np.array(assignment) == b
            if not own.any():
                # A block without records votes for the first features.
                share[0] += 0.5
                continue
            theta = cp.Variable(3)
            residual = y[own] - X[own] @ theta
            cp.Problem(cp.Minimize(0.5 * cp.sum_squares(residual) + 0.3 * cp.norm1(theta))).solve(solver="CLARABEL")
            share[int(np.argmax(np.round(np.abs(theta.value), 6)))] += 0.5
        for j in range(3):

            def wins(t, j=j, share=share):
                z = (t - share) / scale
                below = np.where(z < 0, np.exp(-np.abs(z)), 2 - np.exp(-np.abs(z))) / 2
                return math.exp(-abs(z[j])) / (2 * scale) * np.delete(below, j).prod()

            law[j] += integrate.quad(wins, -40, 40, points=sorted(set(share)), limit=300)[0] / 8
    assert law.sum() == pytest.approx(1, abs=1e-8)
    found = release(
        X, y, size=1, domain=sparse.case_study(1), support="samp_agg", penalty=0.3, blocks=2, calibration="corrected",
        budget=Budget(epsilon, 1e-3), repeats=repeats,
    )  # fmt: skip
    counts = np.bincount(found.supports[:, 0], minlength=3)
    assert stats.chisquare(counts, repeats * law, sum_check=False).pvalue > 1e-6


# ---- what is refused, and when

REFUSED = [
    ({"size": 6}, ValueError, "size=6 is more than the p=5 features of X; take at most 5"),
    ({"size": 1.5}, ValueError, "size=1.5 must be an integer, 1 or above"),
    ({"support": "lasso"}, ValueError, "support='lasso' is not one of 'exp_mech', 'samp_agg'"),
    ({"calibration": "best"}, ValueError, "calibration='best'"),
    ({"neighbours": "both"}, ValueError, "neighbours='both'"),
    ({"domain": Domain(1.0)}, DomainViolation, "y_bound is missing"),
    ({"bound": math.inf}, ValueError, "bound=inf"),
    ({"bound": 0}, ValueError, "bound=0"),
    ({"curvature": 0.1}, InvalidBudget, "curvature=0.1 is below 2 lambda/epsilon"),
    ({"solver_share": 1.0}, InvalidBudget, "solver_share=1"),
    ({"tolerance": 2}, ValueError, "tolerance=2"),
    ({"divisor": "column"}, ValueError, "divisor='column'"),
    ({"penalty": 1.0}, ValueError, "penalty and blocks are Samp-Agg's alone"),
    ({"support": "samp_agg"}, ValueError, "penalty is missing"),
    ({**VOTES, "calibration": "tight"}, ValueError, "blocks is missing: under add/remove n is private"),
    ({**VOTES, "blocks": 41, "neighbours": "replace"}, DataError, "blocks=41 is more than the n_samples=40 records"),
]


@together.over(("given", "error", "message"), REFUSED)
def test_what_is_impossible_is_refused_before_any_work(given, error, message, monkeypatch):
    def work(*_, **__):
        raise AssertionError("work was done first")

    monkeypatch.setattr(exp_mech.subsets, "search", work)
    monkeypatch.setattr(samp_agg, "block_votes", work)
    with pytest.raises(error, match=message):
        release(*data(), **given)


@together.over("X", [np.zeros(40), np.zeros((39, P)), np.full((40, P), np.nan)])
@together.over("given", [{}, {**VOTES, "blocks": K}])
def test_data_of_a_wrong_shape_are_refused(given, X):
    with pytest.raises(DataError, match=r"X has shape|X holds NaN"):
        release(X, data()[1], **given)


def test_too_many_supports_are_refused_before_any_work():
    with pytest.raises(ValueError, match=r"size=4 of 1000 features makes 41,417,124,750 supports.*or Samp-Agg"):
        release(np.zeros((1, 1000)), np.zeros(1), size=4)


@pytest.mark.parametrize("given", [{}, {**VOTES, "blocks": K}])
def test_no_records_are_data_too_under_add_remove(given):
    found = release(np.zeros((0, P)), np.zeros(0), calibration="tight", **given, repeats=20)
    assert found.theta.shape == (20, P) and found.converged.all()


def test_more_blocks_than_records_is_no_special_case_where_n_is_private():
    """Under add/remove an error would tell n: empty blocks vote for the first s features, whatever n is."""
    X, y = data(n=3)
    found = release(X, y, **VOTES, calibration="tight", blocks=50)
    assert found.guarantee == "proved_exact"
    assert found.selection.votes[0, :S].sum() >= S * 47 / 50


def test_nothing_is_promised_where_a_stage_missed_its_target(monkeypatch):
    X, y = data()
    assert release(X, y, repeats=3).converged.all()
    monkeypatch.setattr(exp_mech, "TOLERANCE", 1e-30)
    assert not release(X, y, repeats=3).converged.any()
    # Samp-Agg has no such target: its votes need no exact lasso.
    loose = release(X, y, **VOTES, calibration="corrected", blocks=K)
    assert loose.converged.all() and loose.guarantee == "proved_exact"


def test_the_box_is_that_of_stage_two():
    arguments, _ = sparse.stage_two(
        S, domain=sparse.case_study(S), budget=Budget(1.0), neighbours="replace", calibration="tight", bound=0.5
    )
    assert arguments["region"] == Region(low=-0.5, high=0.5)
