"""Certificates of what cvxpy states: against closed forms, in each cone, and from points that are wrong."""

import cvxpy as cp
import numpy as np
import pytest
import together
from scipy import optimize, special

from dperm.feasible import Region, Regularizer
from dperm.solvers import cones, conic, general

P = 6
NONE, EVERYWHERE = Regularizer(), Region()


def shrunk(size, weight):
    return np.maximum(1 - weight / np.maximum(size, 1e-300), 0.0)


def simplex(c):
    ranked = np.sort(c)[::-1]
    excess = (np.cumsum(ranked) - 1) / np.arange(1, len(c) + 1)
    return np.maximum(c - excess[(ranked > excess).sum() - 1], 0.0)


def nuclear(c, weight=0.7):
    U, values, V = np.linalg.svd(c.reshape(2, 3, order="F"), full_matrices=False)
    return (U * np.maximum(values - weight, 0.0) @ V).ravel(order="F")


def semidefinite(c):
    values, Q = np.linalg.eigh(0.5 * (c.reshape(3, 3) + c.reshape(3, 3).T))
    return ((Q * np.maximum(values, 0.0)) @ Q.T).ravel()


def power(c):
    # z + 1.5 sign(z) sqrt(|z|) = c: a quadratic in sqrt(|z|).
    return np.sign(c) * (-0.75 + np.sqrt(0.5625 + np.abs(c))) ** 2


def square_root(c):
    return np.array([optimize.brentq(lambda u, one=one: u - one - 0.5 / np.sqrt(u), 1e-12, 100) for one in c])


# argmin |z - c|^2/2 + r(z) over F: r, F, and a closed form.
PROXIES = {
    "l1": (Regularizer(l1=0.7), EVERYWHERE, lambda c: c * shrunk(np.abs(c), 0.7)),
    "ball": (NONE, Region(radius=0.5, low=-9.0), lambda c: c * min(1.0, 0.5 / np.linalg.norm(c))),
    "box": (NONE, Region(low=-0.3, high=0.4), lambda c: np.clip(c, -0.3, 0.4)),
    "simplex": (NONE, Region(constraints=lambda z: [z >= 0, cp.sum(z) == 1]), simplex),
    "group": (Regularizer(expression=cp.norm2), EVERYWHERE, lambda c: c * shrunk(np.linalg.norm(c), 1.0)),
    "nuclear": (
        Regularizer(expression=lambda z: 0.7 * cp.normNuc(cp.reshape(z, (2, 3), order="F"))), EVERYWHERE, nuclear
    ),
    "entropy": (
        Regularizer(expression=lambda z: -cp.sum(cp.entr(z))), EVERYWHERE,
        lambda c: special.lambertw(np.exp(c - 1)).real,
    ),
    "square": (Regularizer(expression=cp.sum_squares), EVERYWHERE, lambda c: c / 3),
    "power": (Regularizer(expression=lambda z: cp.sum(cp.power(cp.abs(z), 1.5))), EVERYWHERE, power),
    "power cone": (
        Regularizer(expression=lambda z: -cp.sum(cp.power(z, 0.5, approx=False))), EVERYWHERE, square_root
    ),
}  # fmt: skip


@pytest.mark.parametrize("size", [1.0, 30.0])
@pytest.mark.parametrize("name", PROXIES)
def test_the_gap_bounds_the_distance_from_a_closed_form(name, size):
    regularizer, region, exact = PROXIES[name]
    c = size * np.random.default_rng(0).normal(size=(4, P))
    found = general.minimise(np.eye(P), c, regularizer, region)
    away = np.linalg.norm(found.theta - np.array([exact(one) for one in c]), axis=1)
    # Closed forms are right to rounding.
    assert (away <= np.sqrt(2 * found.gap) + 1e-14 * size).all()
    # Newton's steps polish all but the entropy, whose minimiser has entries of exp(-20).
    assert (np.sqrt(2 * found.gap) < (1e-4 if name == "entropy" else 1e-5) * size).all()


def test_matrices_that_are_symmetric_by_equations_that_repeat():
    """theta = its transpose: rows of zeros, and each equation twice."""

    def constraints(z):
        S = cp.reshape(z, (3, 3), order="F")
        return [S >> 0, S == S.T]

    c = np.random.default_rng(1).normal(size=(3, 9))
    found = general.minimise(np.eye(9), c, NONE, Region(constraints=constraints))
    away = np.linalg.norm(found.theta - np.array([semidefinite(one) for one in c]), axis=1)
    assert (away <= np.sqrt(2 * found.gap)).all() and (np.sqrt(2 * found.gap) < 1e-5).all()


@pytest.mark.parametrize("name", PROXIES)
def test_a_gap_is_right_whatever_point_it_is_asked_for(name):
    """Points and multipliers moved by noise of many sizes: the certificate takes nothing on a solver's word."""
    regularizer, region, exact = PROXIES[name]
    rng = np.random.default_rng(2)
    program, own, linear, at = general.conic_form(regularizer, region, P)
    own[at, at] += np.eye(P)
    certifier = conic.Certifier(program, own)
    for size in 10.0 ** np.arange(-9, 1):
        c = rng.normal(size=P)
        q = linear.copy()
        q[at] -= c
        x, z, _ = program.solve(own, q)
        x, gap = certifier.certify(q, x + size * rng.normal(size=len(x)), z + size * rng.normal(size=len(z)))
        assert np.linalg.norm(x[at] - exact(c)) <= np.sqrt(2 * gap) + 1e-14
        assert gap < 100 * (size + size**2) * (len(x) + len(z)) + 1e-9


def test_the_gap_bounds_the_objective_for_random_quadratics():
    """Lasso with correlated columns, where coordinate descent in extended precision is exact."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        X = rng.normal(size=(20, P)) @ rng.normal(size=(P, P))
        H, c = X.T @ X + 0.1 * np.eye(P), X.T @ rng.normal(size=20) * 3
        exact = np.zeros(P, np.longdouble)
        for _ in range(20_000):
            before = exact.copy()
            for j in range(P):
                rest = c[j] - H[j] @ exact + H[j, j] * exact[j]
                exact[j] = np.sign(rest) * max(abs(rest) - 2.0, 0) / H[j, j]
            if (exact == before).all():
                break
        found = general.minimise(H, c[None], Regularizer(l1=2.0), EVERYWHERE)
        away = np.asarray(found.theta[0] - exact, float)
        assert 0.5 * away @ H @ away <= found.gap[0] < 1e-9 * (1 + c @ np.linalg.solve(H, c))


def bounded(z):
    return [cp.norm_inf(z) <= 1]


# h is about R^2 and c about R, as where rows are of length R. Closed forms of the minimiser, but for fused lasso.
SCALED = {
    "fused": (Regularizer(expression=lambda z: cp.norm1(cp.diff(z))), EVERYWHERE, None),
    "nuclear": (*PROXIES["nuclear"][:2], lambda c, h: nuclear(c, 0.7 / h)),
    "norm_inf": (NONE, Region(constraints=bounded), lambda c, _: np.clip(c, -1, 1)),
    "simplex": (*PROXIES["simplex"][:2], lambda c, _: simplex(c)),
}


@pytest.mark.parametrize("R", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("name", SCALED)
def test_rows_of_any_length_are_solved_alike(name, R):
    regularizer, region, exact = SCALED[name]
    c, h = R * np.random.default_rng(0).normal(size=(4, P)), 0.25 * R**2
    found = general.minimise(h * np.eye(P), c, regularizer, region)
    bound = np.sqrt(2 * found.gap / h)
    assert (bound < 1e-4 * np.linalg.norm(c, axis=1) / h).all()
    if exact is not None:
        away = np.linalg.norm(found.theta - np.array([exact(one / h, h) for one in c]), axis=1)
        assert (away <= bound + 1e-14 * np.linalg.norm(c, axis=1) / h).all()


@together.over("size", [np.nan, np.inf, 1e300, 1e200])
@together.over("name", ["fused", "nuclear", "simplex"])
def test_numbers_out_of_reach_are_a_gap_without_end_and_no_error(name, size):
    regularizer, region, _ = SCALED[name]
    for H, c in ((np.eye(P), np.full((2, P), size)), (np.diag(np.full(P, size)), np.ones((2, P)))):
        found = general.minimise(H, c, regularizer, region)
        assert np.isnan(found.theta).all() and (found.gap == np.inf).all()


def test_a_panic_of_clarabel_is_a_gap_without_end(monkeypatch):
    import clarabel

    def fails(kind):
        def solver(*_):
            raise kind("Eigval error")

        monkeypatch.setattr(clarabel, "DefaultSolver", solver)
        return general.minimise(np.eye(P), np.ones((1, P)), NONE, EVERYWHERE).gap

    assert fails(type("PanicException", (BaseException,), {}))[0] == np.inf
    with pytest.raises(KeyboardInterrupt):
        fails(KeyboardInterrupt)


def test_of_a_matrix_that_is_not_semidefinite_nothing_is_shown():
    program, own, q, at = general.conic_form(NONE, Region(low=-1.0, high=1.0), P)
    own[at, at] += np.diag([1.0] * (P - 1) + [-1e-6])
    x, z, _ = program.solve(own + 1e-3 * np.eye(len(own)), q)
    assert conic.Certifier(program, own).certify(q, x, z)[1] == np.inf


def test_where_nothing_can_be_shown_the_gap_is_infinite():
    """A set without inner points, and a variable that nothing holds."""
    c = np.ones((1, P))
    flat = Region(constraints=lambda z: [z[0] <= 0, z[0] >= 0])
    assert general.minimise(np.eye(P), c, NONE, flat).gap[0] == np.inf
    stated = general.minimise(np.eye(P), c, NONE, Region(constraints=lambda z: [z[0] == 0]))
    assert stated.gap[0] < 1e-12 and abs(stated.theta[0, 0]) < 1e-12


def test_equations_know_how_far_a_point_is_from_a_solution():
    rng = np.random.default_rng(4)
    M = rng.normal(size=(3, 5))
    doubled = conic.Equations(np.vstack([M, -M[:1], np.zeros((1, 5))]))
    v, r = rng.normal(size=5), rng.normal(size=3)
    solution = v - np.linalg.pinv(M) @ (M @ v - r)
    all_r = np.array([*r, -r[0], 0.0])
    assert np.linalg.norm(v - solution) <= doubled.distance(v, all_r)
    nearest = doubled.nearest(v, all_r)
    np.testing.assert_allclose(nearest, solution, atol=1e-12)
    assert doubled.distance(nearest, all_r) < 1e-12
    # Equations that contradict each other, or whose rank is open, have no solution that is known of.
    assert doubled.distance(v, np.array([*r, r[0], 0.0])) == doubled.distance(v, np.array([*r, -r[0], 1.0])) == np.inf
    assert conic.Equations(np.vstack([M, M[:1] + 1e-16 * M[1:2]])).distance(v, all_r[:4]) == np.inf


FACTORS = [
    cones.Cone("nonneg", slice(0, 2)), cones.Cone("soc", slice(2, 5)), cones.Cone("psd", slice(5, 11)),
    cones.Cone("exp", slice(11, 14)), cones.Cone("power", slice(14, 18), (0.2, 0.5, 0.3)),
]  # fmt: skip


def member(one, v):
    """The cones as they are defined; matrices by their minors."""
    if one.kind == "nonneg":
        return (v >= 0).all()
    if one.kind == "soc":
        return v[0] >= 0 and v[0] ** 2 >= v[1] ** 2 + v[2] ** 2
    if one.kind == "psd":
        a, b, c, d, e, f = v / np.array([1, np.sqrt(2), 1, np.sqrt(2), np.sqrt(2), 1])
        S = np.array([[a, b, d], [b, c, e], [d, e, f]])
        minors = [a, c, f, a * c - b * b, a * f - d * d, c * f - e * e, np.linalg.det(S)]
        return min(minors) >= 0
    if one.kind == "exp":
        return v[1] > 0 and v[1] * np.exp(v[0] / v[1]) <= v[2]
    return (v[:3] >= 0).all() and np.prod(v[:3] ** np.array(one.exponents)) >= abs(v[3])


@pytest.mark.parametrize("one", FACTORS, ids=[one.kind for one in FACTORS])
def test_balls_inside_a_cone_are_inside(one):
    rng = np.random.default_rng(5)
    alone = [cones.Cone(one.kind, slice(0, one.rows.stop - one.rows.start), one.exponents)]
    center = cones.middle(alone)
    assert member(one, center) and cones.inside(center, 0.01, alone) and not cones.inside(-center, 0.0, alone)
    said = 0
    for _ in range(400):
        v, radius = center + rng.normal(size=len(center)) * rng.uniform(0, 1.5), 10 ** rng.uniform(-3, 0)
        if not cones.inside(v, radius, alone):
            continue
        said += 1
        directions = rng.normal(size=(50, len(v)))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        assert all(member(one, v + radius * (1 - 1e-9) * d) for d in directions)
    assert said > 10
    # Of the dual: products with members are not negative, and the map takes it into the cone.
    members = [m for m in center + rng.normal(size=(4000, len(center))) if member(one, m)]
    onto, said = cones.from_dual(alone), 0
    for z in np.linalg.solve(onto, (center + 0.7 * rng.normal(size=(200, len(center)))).T).T:
        if cones.inside(z, 1e-3, alone, dual=True):
            said += 1
            assert member(one, onto @ z) and min(z @ m for m in members) > 0
    assert said > 10


@pytest.mark.parametrize("one", FACTORS[:3], ids=["nonneg", "soc", "psd"])
def test_projections_are_nearest_and_their_derivatives_right(one):
    rng = np.random.default_rng(6)
    alone = [cones.Cone(one.kind, slice(0, one.rows.stop - one.rows.start))]
    for _ in range(50):
        v = 2 * rng.normal(size=alone[0].rows.stop)
        nearest, derivative = cones.projection(v, alone)
        # Moreau: the rest is in the polar cone, at a right angle.
        assert abs(nearest @ (v - nearest)) < 1e-12
        lifted = cones.middle(alone) * 1e-10
        assert cones.inside(nearest + lifted, 0.0, alone) and cones.inside(nearest - v + lifted, 0.0, alone)
        direction = rng.normal(size=len(v))
        after, before = (cones.projection(v + step * direction, alone)[0] for step in (1e-6, -1e-6))
        np.testing.assert_allclose(derivative @ direction, (after - before) / 2e-6, atol=1e-4)
