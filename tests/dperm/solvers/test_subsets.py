"""All subsets: brute force by BVLS, exact rational arithmetic, bijections, and records that can only add to a score."""

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from dperm.errors import DataError
from dperm.solvers import subsets

# p, s, records, kind of columns, half width of the box
PROBLEMS = [
    (8, 3, 30, "plain", 1.0),
    (8, 4, 30, "plain", 0.05),
    (8, 4, 3, "plain", 1.0),
    (7, 3, 20, "duplicated", 0.5),
    (7, 4, 20, "duplicated", 100.0),
    (6, 2, 10, "zero", 1.0),
    (5, 3, 1, "plain", 1.0),
    (6, 6, 40, "plain", 0.3),
    (6, 6, 20, "duplicated", 0.3),
    (7, 1, 15, "zero", 0.2),
    (8, 6, 12, "near", 2.0),
]


def data(p, records, kind, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (records, p))
    if kind == "duplicated":
        X = X[:, np.arange(p) // 2] * rng.choice([-1.0, 1.0, 2.0], p)
    elif kind == "zero":
        X[:, ::3] = 0.0
    elif kind == "near":
        X = X[:, :2] @ rng.normal(size=(2, p)) + 1e-8 * X
    return X, X @ rng.normal(size=p) + 0.3 * rng.normal(size=records)


def gram(X, y):
    return X.T @ X, X.T @ y, y @ y


def colexicographic(p, s):
    return sorted(combinations(range(p), s), key=lambda Z: Z[::-1])


def loss(X, y, Z, theta):
    return 0.5 * np.sum((y - X[:, list(Z)] @ theta) ** 2)


def by_lsq_linear(X, y, Z, bound):
    best = lsq_linear(X[:, list(Z)], y, (-bound, bound), method="bvls", tol=1e-14, lsq_solver="exact").x
    return loss(X, y, Z, best)


def exact(X, y, Z, bound):
    """min 1/2 ||y - X_Z theta||^2 over the box in rational numbers: the best stationary point of any face."""
    columns, target, best = [[Fraction(v) for v in X[:, z]] for z in Z], [Fraction(v) for v in y], None
    for sides in product((None, -1, 1), repeat=len(Z)):
        theta = [None if side is None else side * Fraction(bound) for side in sides]
        free = [i for i, side in enumerate(sides) if side is None]
        rest = [
            t - sum(theta[i] * columns[i][row] for i in range(len(Z)) if i not in free) for row, t in enumerate(target)
        ]
        rows = [
            [sum(a * b for a, b in zip(columns[i], columns[k], strict=True)) for k in free]
            + [sum(a * b for a, b in zip(columns[i], rest, strict=True))]
            for i in free
        ]
        solution = eliminated(rows)
        # A singular face is passed over: some minimiser is the only stationary point of a smaller one.
        if solution is None or any(abs(value) > bound for value in solution):
            continue
        for i, value in zip(free, solution, strict=True):
            theta[i] = value
        left = [t - sum(theta[i] * columns[i][row] for i in range(len(Z))) for row, t in enumerate(target)]
        value = sum(v * v for v in left) / 2
        best = value if best is None else min(best, value)
    return best


def eliminated(rows):
    """Solve linear equations in place by Gauss and Jordan; None if they are singular."""
    for i in range(len(rows)):
        pivot = next((k for k in range(i, len(rows)) if rows[k][i] != 0), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for k in range(len(rows)):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


@together.over(("p", "s", "records", "kind", "bound"), PROBLEMS)
def test_every_score_is_that_of_bounded_least_squares_on_the_data(p, s, records, kind, bound):
    X, y = data(p, records, kind)
    found = subsets.search(*gram(X, y), s, bound=bound, records=records)
    order = colexicographic(p, s)
    assert found.scores.shape == (len(order),)
    expected = np.array([by_lsq_linear(X, y, Z, bound) for Z in order])
    # BVLS stops at its own tolerance, and only above the minimum.
    np.testing.assert_allclose(found.scores, expected, rtol=1e-9, atol=1e-12 * (y @ y))
    assert (found.scores <= expected + found.gap).all()
    assert found.gap <= 1e-11 * (np.linalg.norm(y) + s * bound * np.sqrt(records)) ** 2


@together.over(("p", "s", "records", "kind", "bound"), PROBLEMS)
def test_coefficients_are_in_the_box_and_have_the_score(p, s, records, kind, bound):
    X, y = data(p, records, kind, seed=1)
    found = subsets.search(*gram(X, y), s, bound=bound, records=records)
    for index, Z in enumerate(colexicographic(p, s)):
        theta = subsets.coefficients(*gram(X, y), Z, bound=bound)
        assert (np.abs(theta) <= bound).all()
        assert loss(X, y, Z, theta) == pytest.approx(found.scores[index], abs=2 * found.gap)
        turned = subsets.coefficients(*gram(X, y), Z[::-1], bound=bound)
        np.testing.assert_array_equal(turned, theta[::-1])


def test_some_bounds_are_active_and_some_are_not():
    """Or else the tests above would see one branch alone."""
    X, y = data(8, 30, "plain")
    sizes = [np.abs(subsets.coefficients(*gram(X, y), Z)) for Z in combinations(range(8), 3)]
    active = [(size == 1.0).sum() for size in sizes]
    assert {0, 1, 2} <= set(active)


@pytest.mark.parametrize("scale", [1e-9, *(pytest.param(scale, marks=pytest.mark.slow) for scale in (1.0, 1e6))])
@pytest.mark.parametrize("kind", ["plain", "duplicated", "zero", "near", "uneven"])
@pytest.mark.parametrize("s", [1, 2, 3])
def test_the_gap_bounds_the_error_in_exact_arithmetic(kind, s, scale):
    X, y = data(6, 7, kind, seed=2)
    if kind == "uneven":
        X = X * 10.0 ** np.arange(-6, 6, 2)
    y = scale * y
    found = subsets.search(*gram(X, y), s, bound=0.5, records=len(X))
    for index, Z in enumerate(colexicographic(6, s)):
        error = abs(Fraction(found.scores[index]) - exact(X, y, Z, 0.5))
        assert error <= Fraction(found.gap)
    longest = np.sort(np.linalg.norm(X, axis=0))[-s:].sum()
    S = np.linalg.norm(y) + 0.5 * longest
    assert found.gap <= 1.01 * (16 * s + 3 * (len(X) + 2 * s + 4)) * 2.0**-53 * S**2


def test_scores_found_by_hand():
    X = np.array([[2.0, 0.0, 1.0], [0.0, 4.0, 1.0]])
    y = np.array([1.0, 2.0])
    found = subsets.search(*gram(X, y), 2)
    # {0, 2} would need theta = (-1/2, 2); at theta = (0, 1) the residual is (0, 1).
    np.testing.assert_allclose(found.scores, [0.0, 0.5, 0.0], rtol=0, atol=found.gap)
    alone = subsets.search(*gram(X, y), 1)
    # min 1/2 ((1 - 2t)^2 + 4) = 2, min 1/2 (1 + (2 - 4t)^2) = 1/2, and t = 1 is at the bound: 1/2 (0 + 1).
    np.testing.assert_allclose(alone.scores, [2.0, 0.5, 0.5], rtol=0, atol=alone.gap)
    np.testing.assert_allclose(subsets.coefficients(*gram(X, y), [2]), [1.0], atol=1e-15)


def test_the_certificate_holds_for_points_that_are_no_minimisers():
    """The duality gap alone is believed: of a point that is not the minimiser it is at least the excess."""
    X, y = data(8, 30, "plain")
    G, c, _ = gram(X, y)
    rng = np.random.default_rng(3)
    for Z in combinations(range(8), 3):
        A, b, g = np.ascontiguousarray(G[np.ix_(Z, Z)]), c[list(Z)], np.empty(3)
        theta = rng.uniform(-0.4, 0.4, 3)
        gap = subsets.duality_gap(A, b, 0.4, theta, g)
        excess = loss(X, y, Z, theta) - by_lsq_linear(X, y, Z, 0.4)
        assert 0 < excess <= gap
        np.testing.assert_allclose(g, A @ theta - b, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), s=st.integers(1, 4), kind=st.sampled_from(["plain", "duplicated", "zero"]))
def test_a_record_never_lowers_a_score_and_adds_at_most_its_own_largest_loss(seed, s, kind):
    """Erratum K5: monotone, and with |x_j|, |theta_j| <= 1 and |y| <= s by at most (2s)^2/2."""
    rng = np.random.default_rng(seed)
    X, y = data(6, 9, kind, seed=seed)
    X, y = X / max(1.0, np.abs(X).max()), np.clip(y, -s, s)
    more_X, more_y = np.vstack([X, rng.choice([-1.0, 1.0], 6)]), np.append(y, rng.uniform(-s, s))
    before = subsets.search(*gram(X, y), s, records=9)
    after = subsets.search(*gram(more_X, more_y), s, records=10)
    change, tau = after.scores - before.scores, before.gap + after.gap
    assert (change >= -tau).all()
    assert (change <= 2 * s**2 + tau).all()


@settings(max_examples=60, deadline=None)
@given(p=st.integers(2, 9), s=st.integers(1, 5), seed=st.integers(0, 1000), bound=st.floats(0.01, 10))
def test_a_larger_subset_or_box_never_has_a_larger_score(p, s, seed, bound):
    s = min(s, p - 1)
    X, y = data(p, 6, "plain", seed)
    small = subsets.search(*gram(X, y), s, bound=bound, records=6)
    wide = subsets.search(*gram(X, y), s, bound=2 * bound, records=6)
    large = subsets.search(*gram(X, y), s + 1, bound=bound, records=6)
    assert (wide.scores <= small.scores + small.gap + wide.gap).all()
    for index in range(len(large.scores)):
        for Z in combinations(subsets.subset(index, p, s + 1), s):
            assert large.scores[index] <= small.scores[subsets.rank(Z)] + small.gap + large.gap


@pytest.mark.parametrize(("p", "s"), [(1, 1), (5, 1), (7, 3), (9, 4), (6, 6), (8, 5)])
def test_the_order_is_colexicographic(p, s):
    order = colexicographic(p, s)
    assert subsets.count(p, s) == len(order)
    assert [subsets.subset(index, p, s) for index in range(len(order))] == order
    assert [subsets.rank(Z) for Z in order] == list(range(len(order)))


@given(st.data())
def test_rank_and_subset_are_inverse_to_each_other(draw):
    p = draw.draw(st.integers(1, 5000))
    s = draw.draw(st.integers(1, min(p, 6)))
    index = draw.draw(st.integers(0, comb(p, s) - 1))
    Z = subsets.subset(index, p, s)
    assert len(set(Z)) == s and list(Z) == sorted(Z) and Z[0] >= 0 and Z[-1] < p
    assert subsets.rank(Z) == index
    assert subsets.rank(draw.draw(st.permutations(Z))) == index
    other = draw.draw(st.lists(st.integers(0, p - 1), min_size=s, max_size=s, unique=True))
    assert subsets.subset(subsets.rank(other), p, s) == tuple(sorted(other))


def test_the_order_of_a_large_search_is_that_of_subset():
    """Columns of which each has a score of its own: 1/2 (yy - c_i^2 - c_j^2) for orthonormal columns."""
    c = 0.9 ** np.arange(40)
    yy = c @ c
    found = subsets.search(np.eye(40), c, yy, 3, bound=1.0)
    pairs = np.array([subsets.subset(index, 40, 3) for index in range(comb(40, 3))])
    np.testing.assert_allclose(found.scores, (yy - (c[pairs] ** 2).sum(axis=1)) / 2, rtol=0, atol=found.gap)


def test_a_score_of_nothing_left_is_not_below_zero():
    """What rounding leaves of yy/2 - <c, theta>/2 has either sign."""
    for seed in range(20):
        X, _ = data(5, 5, "plain", seed)
        y = X @ np.full(5, 0.3)
        found = subsets.search(*gram(X, y), 5)
        assert 0 <= found.scores[0] <= found.gap


def test_no_records_and_overflowing_quotients_are_no_trouble():
    nothing = subsets.search(np.zeros((4, 4)), np.zeros(4), 0.0, 2)
    np.testing.assert_array_equal(nothing.scores, np.zeros(6))
    assert nothing.gap == 0.0
    G = np.diag([1e-300, 1e-300, 1.0])
    tiny = subsets.search(G, np.array([1e-130, 1e-130, 1e10]), 1e40, 2, bound=1e30)
    assert np.isfinite(tiny.scores).all() and np.isfinite(tiny.gap)


def test_the_same_input_has_the_same_bytes_and_stays_as_it_is():
    X, y = data(8, 30, "plain")
    G, c, yy = gram(X, y)
    kept = G.copy(), c.copy()
    first, second = subsets.search(G, c, yy, 3), subsets.search(np.asfortranarray(G), c, yy, 3)
    np.testing.assert_array_equal(first.scores, second.scores)
    np.testing.assert_array_equal(G, kept[0])
    np.testing.assert_array_equal(c, kept[1])


@together.over(
    "changed, words",
    [
        ({"s": 0}, "s=0"),
        ({"s": 9}, "s=9"),
        ({"s": 2.0}, "s=2.0"),
        ({"s": True}, "s=True"),
        ({"bound": 0.0}, "bound=0"),
        ({"bound": np.inf}, "bound=inf"),
        ({"records": -1}, "records=-1"),
    ],
)
def test_numbers_outside_their_range_are_refused(changed, words):
    X, y = data(8, 30, "plain")
    with pytest.raises(ValueError, match=words):
        subsets.search(*gram(X, y), **{"s": 2, **changed})


def test_too_many_subsets_are_refused_before_anything_is_looked_at():
    with pytest.raises(ValueError, match=r"40,432,700 subsets, more than MOST_SUBSETS=10,000,000; take a smaller s"):
        subsets.search(None, np.full(178, np.nan), 1.0, 4)


@together.over(
    ("G", "c", "yy", "words"),
    [
        (np.eye(3), np.zeros(2), 1.0, "shapes"),
        (np.eye(2), np.zeros((2, 1)), 1.0, "shapes"),
        (np.eye(2), np.zeros(2), np.ones(1), "shapes"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), np.zeros(2), 1.0, "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros(2), 1.0, "Cauchy"),
        (np.eye(2), np.array([2.0, 0.0]), 1.0, "Cauchy"),
        (np.diag([1.0, -1.0]), np.zeros(2), 1.0, "negative"),
        (np.eye(2), np.zeros(2), -1.0, "negative"),
        (np.diag([1.0, np.nan]), np.zeros(2), 1.0, "NaN"),
        (np.eye(2), np.zeros(2), np.inf, "infinity"),
        (np.eye(2), np.array([1e101, 0.0]), 1.0, "1e\\+100"),
    ],
)
def test_what_is_no_gram_matrix_is_refused(G, c, yy, words):
    with pytest.raises(DataError, match=words):
        subsets.search(G, c, yy, 1)


@together.over("features", [[], [0, 0], [-1, 2], [0, 8], [0.0, 1.0]])
def test_features_that_make_no_subset_are_refused(features):
    X, y = data(8, 30, "plain")
    with pytest.raises(ValueError, match="feature"):
        subsets.coefficients(*gram(X, y), features)
    if 8 not in features:
        with pytest.raises(ValueError, match="feature"):
            subsets.rank(features)


@together.over("index, p, s", [(-1, 5, 2), (10, 5, 2), (0, 0, 1), (0, 3, 4)])
def test_places_outside_the_order_are_refused(index, p, s):
    with pytest.raises(ValueError, match="must be an integer"):
        subsets.subset(index, p, s)
