"""Retrieval: Equation 13 by hand, Algorithm 2 against its transcription by reweighted ridge, and what is printed."""

import itertools
import math

import numpy as np
import pytest
import together

from dperm.domain import Budget
from dperm.errors import InvalidBudget
from dperm.mechanisms.napp import limit, noise, retrieval
from dperm.mechanisms.napp.scheme import Scheme

BOUNDS = noise.Bounds(1.0, 2.9, 1.0)
LASSO = Scheme("lasso", 1.0, moor=True)
SUM = Scheme("lasso", 1.0, moor=False)
# Weights 4, 2, 1/2 and infinity without a floor.
THETA = np.array([-0.5, 1.0, 4.0, 0.0])


@together.over(
    ("scheme", "theta", "options", "expected"),
    [
        (LASSO, THETA, {}, 0.0),  # the third weight is the floor
        (LASSO, THETA[[0, 1, 3]], {}, 0.5),  # 1 - 1/2
        (LASSO, THETA, {"among": "exceeding"}, 0.5),  # J leaves the third out
        (LASSO, THETA[2:3], {"among": "exceeding"}, 0.0),  # J is empty
        (LASSO, THETA, {"form": "without_two"}, 0.5),  # at least half, always
        (LASSO, THETA[[0, 1, 3]], {"form": "without_two"}, 0.75),
        (LASSO, THETA[[0, 1, 3]], {"form": "printed"}, 0.0),  # min{0, .}
        (LASSO, THETA[3:], {}, 1.0),
        (SUM, THETA, {}, 1 - 1 / 1.5),
        (SUM, THETA, {"among": "exceeding"}, 1 - 1 / 3),
        (Scheme("ridge", 1.0, moor=True), THETA, {}, 0.5),  # max{Lambda, Lambda0} = 2, whatever theta is
        (Scheme("ridge", 3.0, moor=False), THETA, {}, 0.0),
        (Scheme("elastic_net", 1.0, moor=True, kappa=0.75), THETA, {}, 0.5),  # 2/4 + 2 * 0.75
        (Scheme("bridge", 0.25, moor=True, gamma=0.5), THETA[:3], {}, 0.75),  # 2/sqrt(4)
    ],
)
def test_equation_13(scheme, theta, options, expected):
    assert retrieval.retrieved(scheme, 2.0, theta, **options) == pytest.approx(expected, abs=1e-15)


def test_equation_13_is_elementwise_over_repeats_and_strengths():
    theta = np.random.default_rng(0).standard_normal((3, 2, 5))
    floor = np.array([[0.5, 2.0]] * 3)
    found = retrieval.retrieved(Scheme("lasso", floor, moor=True), np.array([1.0, 4.0]), theta)
    for r in range(3):
        for k, strength in enumerate((1.0, 4.0)):
            least = min(max(strength / abs(t), floor[r, k]) for t in theta[r, k])
            assert found[r, k] == pytest.approx(1 - floor[r, k] / least, abs=1e-15)


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_equation_14_is_the_noise_of_a_larger_share(delta):
    budget = Budget(0.8, delta)
    for share, credit in ((0.5, 0.3), (0.2, 1.0 - 1e-9)):
        whole = share + credit * (1 - share)
        laws = [
            noise.calibrate(BOUNDS, budget, share=r, variant="erm", calibration="paper", features=16)[0]
            for r in (share, whole)
        ]
        factor = retrieval.noise_factor(budget, share, np.array(credit))
        assert factor == pytest.approx(laws[1].scale / laws[0].scale, rel=1e-12)
    assert retrieval.noise_factor(budget, 0.5, np.array(0.0)) == 1


def reweighted(X, y, b, strength, floor, steps=3000):
    """Algorithm 1 in the limit: ridge after ridge, each with the weights of the estimate before."""
    G, c = X.T @ X, X.T @ y
    w = np.full(len(b), floor)
    for _ in range(steps):
        theta = np.linalg.solve(G + 2 * np.diag(w), c - b)
        w = np.maximum(strength / np.maximum(np.abs(theta), 1e-12), floor)
    return theta, w.min()


def algorithm_2(X, y, b, strength, floor, epsilon, r, delta, rounds):
    """Algorithm 2 with errata N5 and N14 mended, line by line: theta, cumulative budget and floor of every run."""
    sigma = (lambda a: 1 / a) if delta == 0 else (lambda a: math.sqrt(a - math.log(delta)) / a)
    theta, least = reweighted(X, y, b, strength, floor)
    done = [(theta, 0.0, floor)]
    gained = max(0.0, (1 - r) * epsilon * (1 - floor / least))
    total = 0.0
    for _ in range(rounds):
        if gained > 0:
            total += gained
            floor = max(floor, least)
            again = b * sigma(r * epsilon + total) / sigma(r * epsilon)
            theta, least = reweighted(X, y, again, strength, floor)
            gained = max(0.0, ((1 - r) * epsilon - total) * (1 - floor / least))
        done.append((theta, total, floor))
    return done


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = rng.uniform(-0.5, 0.5, (3, 60, 4))
    y = X @ np.array([1.0, 0.6, 0.0, 0.0]) + 0.2 * rng.standard_normal((3, 60))
    return X, y, rng.normal(0, 1.0, (3, 4))


@pytest.mark.parametrize(("epsilon", "r", "delta"), [(0.8, 0.5, 0.0), (1.0, 0.3, 1e-4)])
def test_recycling_is_algorithm_2_mended(data, epsilon, r, delta):
    X, y, b = data
    strengths, floor = np.array([1.0, 0.4]), noise.floor(BOUNDS, epsilon, r)
    found = retrieval.recycle(
        limit.problems("squared", X, y), b, Scheme("lasso", floor, moor=True), strengths, variant="erm",
        budget=Budget(epsilon, delta), share=r, rounds=3, solver={"tolerance": 1e-12},
    )  # fmt: skip
    assert len(found) == 4
    for k, strength in enumerate(strengths):
        for i in range(3):
            expected = algorithm_2(X[i], y[i], b[i], strength, floor, epsilon, r, delta, 3)
            for run, (theta, total, low) in zip(found, expected, strict=True):
                np.testing.assert_allclose(run.theta[i, k], theta, atol=2e-4)
                assert run.credit[i, k] * (1 - r) * epsilon == pytest.approx(total, abs=2e-4)
                assert run.floors[i, k] == pytest.approx(low, rel=1e-3)
    assert 0 < found[1].credit.max() < 1


def test_budgets_telescope(data):
    """After every run, (1 - r) epsilon Lambda0/min_j w_j is what remains with the Jacobian."""
    X, y, b = data
    scheme = Scheme("lasso", 1.25, moor=True)
    strengths = np.array([2.0, 0.8, 0.2])
    for variant, sign in (("erm", b), ("vs_plus", np.abs(b))):
        runs = retrieval.recycle(
            limit.problems("squared", X, y), sign, scheme, strengths, variant=variant, budget=Budget(0.8), share=0.5,
            rounds=4,
        )  # fmt: skip
        for run in runs:
            with np.errstate(divide="ignore"):
                own = np.maximum(strengths[:, None] / np.abs(run.theta), run.floors[..., None])
            np.testing.assert_allclose(run.credit + run.share, 1 - 1.25 / own.min(axis=-1), atol=1e-12)
            np.testing.assert_allclose(run.credit, 1 - 1.25 / run.floors, atol=1e-12)
        for before, after in itertools.pairwise(runs):
            assert (after.credit >= before.credit).all() and (after.floors >= before.floors).all()


def test_an_empty_model_gives_all_back_and_stays_empty(data):
    X, y, b = data
    runs = retrieval.recycle(
        limit.problems("squared", X, y), b, LASSO, np.array([1e4, 1e-3]), variant="erm", budget=Budget(1.0), share=0.5,
        rounds=2,
    )  # fmt: skip
    for run in runs:
        assert not run.theta[:, 0].any() and np.isfinite(run.theta).all() and run.converged.all()
    assert (runs[0].share[:, 0] == 1).all() and (runs[1].credit[:, 0] == 1).all() and (runs[2].share[:, 0] == 0).all()
    assert np.isinf(runs[1].floors[:, 0]).all() and (runs[2].factor[:, 0] == 0.5).all()
    # Nothing to retrieve: the first run stands.
    assert (runs[2].factor[:, 1] == 1).all()
    np.testing.assert_array_equal(runs[2].theta[:, 1], runs[0].theta[:, 1])


def test_as_printed_it_stops_after_one_round_with_the_factor_of_line_6(data):
    X, y, b = data
    args = (limit.problems("squared", X, y), b, Scheme("lasso", 1.0, moor=True), np.array([1.0]))
    options = {"variant": "erm", "budget": Budget(1.0, 1e-4), "share": 0.5, "rounds": 5}
    printed = retrieval.recycle(*args, **options, algorithm="printed")
    assert len(printed) == 2
    credit = printed[1].credit
    assert 0 < credit.max() < 1
    np.testing.assert_allclose(printed[1].factor, 0.5 / (0.5 + 0.5 * credit))
    mended = retrieval.recycle(*args, **options)
    assert (mended[1].factor >= printed[1].factor).all() and (mended[1].factor > printed[1].factor).any()
    # Eq 13 as printed retrieves nothing, so that nothing is ever recycled.
    none = retrieval.recycle(*args, **options, form="printed")
    assert all((run.credit == 0).all() for run in none)
    # Without the 2 half is retrieved of whatever there is.
    half = retrieval.recycle(*args, **{**options, "rounds": 3}, form="without_two")
    assert (half[3].credit >= 1 - 0.5**3 - 1e-12).all()


def test_ridge_retrieves_once_and_by_public_numbers_alone(data):
    X, y, b = data
    strengths = np.array([5.0, 0.5])
    for shift in (0.0, 3.0):
        runs = retrieval.recycle(
            limit.problems("squared", X, y + shift), b, Scheme("ridge", 1.0, moor=False), strengths, variant="erm",
            budget=Budget(0.8), share=0.5, rounds=3,
        )  # fmt: skip
        np.testing.assert_allclose(runs[1].credit, np.tile([0.8, 0.0], (3, 1)))
        np.testing.assert_array_equal(runs[3].credit, runs[1].credit)


def test_split_inverts_the_floor_and_is_proved():
    for r in (0.1, 0.5, 0.9):
        assert retrieval.split(BOUNDS, 0.8, noise.floor(BOUNDS, 0.8, r)) == pytest.approx(r, rel=1e-12)
    share = retrieval.split(BOUNDS, 0.8, 10.0)
    for delta in (0.0, 1e-4):
        _, _, guarantee = noise.calibrate(
            BOUNDS, Budget(0.8, delta), share=share, variant="erm", calibration="corrected", features=16
        )
        assert guarantee == "proved_exact"
    with pytest.raises(InvalidBudget, match="of epsilon=0"):
        retrieval.split(BOUNDS, 0.8, 0.6)


def test_what_cannot_be_recycled(data):
    X, y, b = data
    args = (limit.problems("squared", X, y), b)
    options = {"variant": "erm", "budget": Budget(1.0), "share": 0.5}
    with pytest.raises(ValueError, match="moor=True"):
        retrieval.recycle(*args, SUM, np.array([1.0]), **options)
    with pytest.raises(ValueError, match="rounds=-1"):
        retrieval.recycle(*args, LASSO, np.array([1.0]), **options, rounds=-1)
    with pytest.raises(InvalidBudget, match="share=1"):
        retrieval.recycle(*args, LASSO, np.array([1.0]), **{**options, "share": 1})
    with pytest.raises(ValueError, match="algorithm='literal'"):
        retrieval.recycle(*args, LASSO, np.array([1.0]), **options, algorithm="literal")
    with pytest.raises(ValueError, match="form='max'"):
        retrieval.retrieved(LASSO, 1.0, THETA, form="max")
    with pytest.raises(ValueError, match="among='some'"):
        retrieval.retrieved(LASSO, 1.0, THETA, among="some")
