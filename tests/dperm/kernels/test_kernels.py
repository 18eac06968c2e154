"""Kernels against brute force, their explicit maps, and what they refuse."""

import itertools
import math
import pickle

import numpy as np
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from dperm import kernels
from dperm.errors import DomainViolation

KERNELS = {
    "linear": (kernels.linear(), lambda x, v: x @ v),
    "quadratic": (kernels.polynomial(1.0, 2, 0.5), lambda x, v: (x @ v + 0.5) ** 2),
    "cubic": (kernels.polynomial(), lambda x, v: (x @ v + 1) ** 3),
    "degree 7": (kernels.polynomial(1.0, 7, 0.0), lambda x, v: (x @ v) ** 7),
    "gaussian": (kernels.gaussian(0.7), lambda x, v: math.exp(-((x - v) @ (x - v)) / (2 * 0.49))),
    "custom": (kernels.custom(lambda X, V: np.minimum(np.abs(X) @ np.ones((4, 1)), 1) * np.ones(len(V)), 2.0), None),
}


def ball(n, d, seed=0):
    """Rows in the unit ball, some of them on the sphere."""
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1)[:, None] * np.minimum(rng.random(n) * 1.5, 1)[:, None]


@together.over("name", [name for name, (_, formula) in KERNELS.items() if formula])
@together.over("kinds", ["dd", "ds", "sd", "ss"])
def test_kernels_are_their_formulas(name, kinds):
    kernel, formula = KERNELS[name]
    X, V = ball(7, 4), ball(5, 4, seed=1)
    X[2, 1] = V[0, :2] = 0
    given = [sparse.csr_array(rows) if kind == "s" else rows for kind, rows in zip(kinds, (X, V), strict=True)]
    expected = [[formula(x, v) for v in V] for x in X]
    found = kernel(*given)
    assert type(found) is np.ndarray and found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(given[0]), [formula(x, x) for x in X], rtol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_pickled_where_they_are_ours(name):
    kernel, formula = KERNELS[name]
    if formula is not None:
        X = ball(3, 4)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(X, X), kernel(X, X))


def test_sparse_products_of_many_columns_are_the_same():
    rng = np.random.default_rng(0)
    X = sparse.random_array((6, 3_000_000), density=1e-5, rng=rng, format="csr")
    V = sparse.random_array((5, 3_000_000), density=1e-5, rng=rng, format="csr")
    V = sparse.vstack([X[:3], V[3:]], format="csr")
    np.testing.assert_allclose(kernels.linear()(X, V), (X @ V.T).toarray())


@pytest.mark.parametrize("name", ["linear", "quadratic", "cubic", "degree 7", "gaussian"])
def test_R_and_the_lipschitz_constant_hold_and_are_attained(name):
    kernel = KERNELS[name][0]
    X = ball(400, 3)
    assert math.sqrt(kernel.diagonal(X).max()) <= kernel.R * (1 + 1e-12)
    assert math.sqrt(kernel.diagonal(X).max()) >= kernel.R * (1 - 1e-9)

    def stretch(x, v):
        apart = kernel(x[None], x[None]) + kernel(v[None], v[None]) - 2 * kernel(x[None], v[None])
        return math.sqrt(max(apart.item(), 0)) / np.linalg.norm(x - v)

    stretches = [stretch(x, v) for x, v in itertools.combinations(X[:60], 2)]
    # The largest stretch is along the radius at the surface (Gaussian: anywhere).
    x = np.array([1.0, 0, 0])
    assert max(stretches) <= kernel.lipschitz * (1 + 1e-9)
    assert kernel.lipschitz * (1 - 1e-3) <= stretch(x, x * (1 - 1e-4)) <= kernel.lipschitz * (1 + 1e-6)


def test_jain2013s_kernel_has_R_squared_8():
    np.testing.assert_allclose(kernels.polynomial().R, math.sqrt(8))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 7))
def test_monomials_have_the_kernels_products(seed, degree, offset, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, d)) * (rng.random((6, d)) < 0.6)
    phi = kernels.monomials(sparse.csr_array(X), degree, offset)
    assert phi.shape == (6, math.comb(d + degree, degree)) and phi.has_sorted_indices
    assert all(len(set(phi.indices[a:b])) == b - a for a, b in itertools.pairwise(phi.indptr))
    expected = (X @ X.T + offset) ** degree
    np.testing.assert_allclose((phi @ phi.T).toarray(), expected, rtol=1e-9, atol=1e-9)


def test_monomials_against_their_definition():
    x = np.array([0.0, 2.0, 3.0])
    phi = kernels.monomials(x[None], 2, 5.0)
    z = np.array([math.sqrt(5), *x])
    # Pairs (i, j), i <= j, by j and then i; the column of the pair is its place in that list.
    expected = [(1 if i == j else math.sqrt(2)) * z[i] * z[j] for j in range(4) for i in range(j + 1)]
    np.testing.assert_allclose(phi.toarray()[0], expected)
    wider = kernels.monomials(np.append(x, 7.0)[None], 2, 5.0).toarray()[0]
    np.testing.assert_allclose(wider[: len(expected)], expected)


def test_one_hot_rows_of_two_million_columns_have_few_monomials():
    X = sparse.csr_array((np.full(6, 0.5), np.array([0, 999_999, 1_999_999] * 2), [0, 3, 6]), shape=(2, 2_000_000))
    phi = kernels.monomials(X, 2)
    assert phi.nnz == 2 * 10
    assert list(phi.indices[:10]) == list(phi.indices[10:])
    np.testing.assert_allclose(phi.data[:10] @ phi.data[10:], 1.75**2)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, "mixed"], ids=["dense", "sparse", "mixed"])
def test_far_from_the_origin_gaussian_kernels_stay_what_they_are(form):
    """||x||^2 - 2 <x, v> + ||v||^2 has no digit left at 1e8: K would be off by 1 and not positive semi-definite."""
    X = np.round(np.random.default_rng(0).uniform(-1, 1, (40, 3)), 3)
    # Multiples of 1/64 are exact there.
    X = np.round(X * 64) / 64 * (np.random.default_rng(1).random((40, 3)) < 0.7)
    far, kernel = X + 1e8, kernels.gaussian(0.7)
    left, right = (sparse.csr_array, np.asarray) if form == "mixed" else (form, form)
    np.testing.assert_allclose(kernel(left(far), right(far[:30])), kernel(X, X[:30]), rtol=1e-12)
    np.testing.assert_allclose(kernel(left(X), right(X[:30])), kernel(X, X[:30]), rtol=1e-12)
    assert np.linalg.eigvalsh(kernel(left(far), right(far))).min() > -1e-12


def test_within_refuses_rows_above_R():
    X = ball(5, 3)
    assert kernels.within(kernels.polynomial(), X) is X
    with pytest.raises(DomainViolation, match=r"rows with sqrt\(K\(x, x\)\) above R=2.82843"):
        kernels.within(kernels.polynomial(), np.vstack([X, [[1.0001, 0, 0]]]))
    with pytest.raises(DomainViolation, match=r"linear kernel has a K\(x, x\) that is negative, NaN or infinite"):
        kernels.within(kernels.linear(), np.vstack([X, [[np.nan, 0, 0]]]))
    with pytest.raises(DomainViolation, match="above R=2 of the custom kernel"):
        kernels.within(kernels.custom(lambda X, V: 5 + 0 * (X @ V.T), 2.0), X[:3])


def test_gram_is_symmetric_and_the_kernel():
    Z = ball(40, 3)
    K = kernels.gram(kernels.gaussian(), Z)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, kernels.gaussian()(Z, Z), atol=1e-14)


def test_gram_takes_a_matrix_of_low_rank():
    Z = np.repeat(ball(3, 2), 50, axis=0)
    assert kernels.gram(kernels.polynomial(), Z).shape == (150, 150)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, V: np.tanh(2 * X @ V.T - 1) + 1, "is not positive semi-definite on Z"),
        (lambda X, V: X @ np.triu(np.ones((3, 3))) @ V.T, "not finite and symmetric on Z|negative"),
    ],
)
def test_gram_refuses_what_is_no_kernel(function, message):
    Z = ball(20, 3)
    with pytest.raises(DomainViolation, match=message):
        kernels.gram(kernels.custom(function, 10.0), Z)


def test_gram_says_how_much_memory_it_wants():
    Z = np.zeros((7000, 2))
    with pytest.raises(DomainViolation, match=r"T=7000 public points need 1,176 MB .* at most T=6688"):
        kernels.gram(kernels.linear(), Z)
    with pytest.raises(DomainViolation, match="T=100 public points need 0 MB"):
        kernels.gram(kernels.linear(), Z[:100], memory=1000)


def test_monomials_say_how_much_memory_they_want():
    with pytest.raises(DomainViolation, match=r"2,860 monomials need 0 MB, and memory=1000"):
        kernels.monomials(np.ones((10, 10)), 3, memory=1000)
    with pytest.raises(DomainViolation, match=r"monomials of degree 3; take the kernel"):
        kernels.monomials(sparse.csr_array((1, 2**31)), 3)


@together.over(
    "make, message",
    [
        (lambda: kernels.linear(0), "x_norm"),
        (lambda: kernels.polynomial(1.0, 0), "degree=0"),
        (lambda: kernels.polynomial(1.0, 2.5), "degree=2.5"),
        (lambda: kernels.polynomial(1.0, True), "degree=True"),
        (lambda: kernels.polynomial(1.0, 2, -1), "offset=-1"),
        (lambda: kernels.gaussian(math.nan), "bandwidth"),
        (lambda: kernels.custom(np.dot, -1.0), "R=-1"),
        (lambda: kernels.monomials(np.ones((1, 1)), 3, -2), "offset=-2"),
    ],
)
def test_values_out_of_range_are_named(make, message):
    with pytest.raises(DomainViolation, match=message):
        make()
